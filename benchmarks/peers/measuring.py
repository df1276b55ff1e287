"""Every table of the comparison: each library does the same work in turn, and the best of a few rounds counts.

Times are CPU seconds on one core, which other work on the machine disturbs least.
"""

import math
import resource
import subprocess
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

import deniable as dn
from benchmarks.peers.comparing import BARE, DECODES, DEFAULT, DEVICE, NUMPY, UNBIASED
from benchmarks.peers.environments import OURS, PEERS, python_of, size_of
from benchmarks.peers.figures import Cell, Figure
from benchmarks.peers.ours import (
    estimated,
    numpy_encode,
    numpy_estimate,
    our_decode,
    our_encode,
    our_estimate,
    our_whole,
    survey,
)
from benchmarks.peers.process import Library, environment

__all__ = ["LIMIT", "MECHANISMS", "TABLES"]

MECHANISMS = ("GRR", "SUE", "OUE", "OLH", "SS", "HR")
SIZES = (256, 4096)

FAST = "pure-ldp, fast"
ROUNDS, SECONDS = 3, 0.06
LIMIT = 1.0  # CPU seconds that a peer may take for one figure
DECODER = {"pure-ldp": "unbiased", "opendp": "unbiased", "multi-freq-ldpy": "clipped", "ldp-toolbox": "clipped"}
N_ACCURACY, S_ACCURACY, REPEATS = 10_000, 64, 20
REPORTS = (10**2, 10**3, 10**4, 10**5, 10**6)


def _asked(libraries: list[Library], mechanism: str) -> list[tuple[str, Library, str]]:
    """Who does `mechanism`, by which library and under which name there."""
    found = [(library.name, library, mechanism) for library in libraries]
    if mechanism == "OLH":
        found += [(FAST, library, "OLH, few hashes") for library in libraries if library.name == "pure-ldp"]
    return found


def encode(libraries: list[Library]) -> Iterator[Figure]:
    for mechanism in MECHANISMS:
        for symbols in SIZES:
            for epsilon in (1.0, math.log(symbols)):
                yield from _encode(libraries, Cell("encode", mechanism, symbols, epsilon))


def _encode(libraries: list[Library], cell: Cell) -> Iterator[Figure]:
    best: dict[str, float] = {}
    failed: dict[str, str] = {}
    ours: dict[str, Callable[..., float]] = {DEFAULT: our_encode, NUMPY: numpy_encode}
    for _ in range(ROUNDS):
        for who, work in ours.items():
            took = work(cell.mechanism, cell.symbols, cell.epsilon, SECONDS)
            best[who] = min(took, best.get(who, math.inf))
        for who, library, name in _asked(libraries, cell.mechanism):
            if who in failed:
                continue
            answer = library.ask("encode", mechanism=name, symbols=cell.symbols, epsilon=cell.epsilon, seconds=SECONDS)
            if "seconds" in answer:
                best[who] = min(answer["seconds"], best.get(who, math.inf))
            else:
                failed[who] = answer.get("failed", "")
    yield from (Figure(cell, who, value) for who, value in best.items())
    yield from (Figure(cell, who, None, note=note) for who, note in failed.items() if note)


def estimate(libraries: list[Library]) -> Iterator[Figure]:
    for mechanism in MECHANISMS:
        for symbols in SIZES:
            yield from _estimate(libraries, mechanism, symbols, 1.0)


def _estimate(libraries: list[Library], mechanism: str, symbols: int, epsilon: float) -> Iterator[Figure]:
    wanted = REPORTS[-2:]
    best: dict[tuple[str, int], float] = {}
    rounds = 1 if symbols > 256 and mechanism != "GRR" else ROUNDS

    def keep(who: str, n: int, took: float) -> None:
        best[who, n] = min(took, best.get((who, n), math.inf))

    for _ in range(rounds):
        for n in wanted:
            counted, unbiased, default = our_estimate(mechanism, symbols, epsilon, n)
            keep(UNBIASED, n, counted + unbiased)
            keep(DEFAULT, n, counted + default)
            keep(NUMPY, n, numpy_estimate(mechanism, symbols, epsilon, n))
    for n in wanted:
        for who in (UNBIASED, DEFAULT, NUMPY):
            yield Figure(Cell("estimate", mechanism, symbols, epsilon, n), who, best[who, n])
    for who, library, name in _asked(libraries, mechanism):
        sizes = REPORTS[-1:] if who == FAST else REPORTS
        points: dict[int, float] = {}
        answer: dict[str, object] = {}
        for _ in range(ROUNDS):
            answer = library.ask(
                "estimate",
                mechanism=name,
                symbols=symbols,
                epsilon=epsilon,
                sizes=sizes,
                decoder=DECODER[library.name],
                limit=LIMIT if who != FAST else 100.0,
            )
            found = answer.get("found", [])
            assert isinstance(found, list)
            for size, took in found:
                points[size] = min(took, points.get(size, math.inf))
            if not points or sum(points.values()) > LIMIT / 2:
                break
        for n in wanted:
            cell = Cell("estimate", mechanism, symbols, epsilon, n)
            if points:
                yield Figure(cell, who, *_at(points, n))
            elif "failed" in answer:
                yield Figure(cell, who, None, note=str(answer["failed"]))


def _at(points: dict[int, float], n: int) -> tuple[float, float, str]:
    """What `n` reports take: measured, or on the line through the two largest that were.

    >>> _at({100: 1.0, 1000: 1.9}, 10_000)[0]
    10.9
    """
    if n in points:
        return points[n], 0.0, ""
    if len(points) == 1:  # larger than asked for, or the only one that was quick enough
        ((size, took),) = points.items()
        return took * max(1.0, n / size), 0.0, f"from {size:,} reports"
    (before, lower), (size, took) = sorted(points.items())[-2:]
    slope = max(took - lower, 0.0) / (size - before)
    return took + slope * (n - size), 0.0, f"from {size:,} reports"


Losses = tuple[float, float]


def _losses(found: npt.ArrayLike, population: npt.NDArray[np.float64]) -> Losses:
    off = np.asarray(found) - population
    return float(np.abs(off).sum()), float((off**2).sum())


def _on_theirs(mechanism: str, epsilon: float, counts: list[int]) -> npt.NDArray[np.float64]:
    """What our default decoder says of a peer's reports: its channel is the same, and these are its counts."""
    size = sum(counts) // N_ACCURACY
    same = mechanism == "SS"
    asked = dn.subset(S_ACCURACY, epsilon=epsilon, size=size) if same else survey(mechanism, S_ACCURACY, epsilon)
    return estimated(dn.Tally(asked, [counts], [N_ACCURACY]), S_ACCURACY, "default").probabilities


def accuracy(libraries: list[Library]) -> Iterator[Figure]:
    """The same people asked by each, `REPEATS` times, and every decoder beside our default on the same reports."""
    for mechanism in MECHANISMS:
        for epsilon in (1.0, math.log(S_ACCURACY)):
            yield from _accuracy(libraries, mechanism, epsilon)


def _accuracy(libraries: list[Library], mechanism: str, epsilon: float) -> Iterator[Figure]:
    population = dn.lab.geometric(S_ACCURACY, mean=S_ACCURACY / 5)
    losses: dict[str, list[Losses]] = {}
    beside: dict[str, list[Losses]] = {}  # ours, on the reports that a peer's were decoded from
    failed: dict[str, str] = {}
    rng = np.random.default_rng(7)
    for _ in range(REPEATS):
        people = rng.choice(S_ACCURACY, N_ACCURACY, p=population)
        asked = survey(mechanism, S_ACCURACY, epsilon)
        tally = dn.count(asked, dn.privatize(asked, people))
        for who, decoder in ((DEFAULT, "default"), (UNBIASED, "unbiased")):
            found = estimated(tally, S_ACCURACY, decoder).probabilities
            losses.setdefault(who, []).append(_losses(found, population))
        for who, library, name in _asked(libraries, mechanism):
            answer = library.ask(
                "accuracy", mechanism=name, symbols=S_ACCURACY, epsilon=epsilon, answers=people.tolist()
            )
            if "failed" in answer:
                failed[who] = str(answer["failed"])
            for decoder, said in answer.get("said", {}).items():
                losses.setdefault(f"{who}, {decoder}", []).append(_losses(said, population))
            if answer.get("counts"):
                mine = _losses(_on_theirs(mechanism, epsilon, answer["counts"]), population)
                for decoder in answer["said"]:
                    beside.setdefault(f"{who}, {decoder}", []).append(mine)
    for place, table in enumerate(("l1", "l2")):
        cell = Cell(table, mechanism, S_ACCURACY, epsilon, N_ACCURACY)
        for who, each in losses.items():
            values = np.array(each)[:, place]
            yield Figure(cell, who, float(values.mean()), float(values.std(ddof=1) / math.sqrt(len(values))))
        yield from (Figure(cell, who, None, note=note) for who, note in failed.items())
        cell = Cell(f"same {table}", mechanism, S_ACCURACY, epsilon, N_ACCURACY)
        yield Figure(cell, DEFAULT, 1.0)
        for who, each in beside.items():
            theirs, ours = np.array(losses[who])[:, place], np.array(each)[:, place]
            ratio = float(theirs.mean() / ours.mean())
            error = float((theirs - ratio * ours).std(ddof=1) / math.sqrt(len(ours)) / ours.mean())
            yield Figure(cell, who, ratio, error)


def growth(libraries: list[Library]) -> Iterator[Figure]:
    """From answers to the unbiased estimate, for ten times as many people each time."""
    for mechanism in ("GRR", "OUE", "OLH"):
        for power in range(3, 8):
            took = min(our_whole(mechanism, 256, 1.0, 10**power) for _ in range(2 if power < 7 else 1))
            yield Figure(Cell("growth", mechanism, 256, 1.0, 10**power), DEFAULT, took)
        for who, library, name in _asked(libraries, mechanism):
            for power in range(2, 8):
                n = 10**power
                answer = library.ask(
                    "whole", mechanism=name, symbols=256, epsilon=1.0, n=n, decoder=DECODER[library.name]
                )
                if "seconds" not in answer:
                    break
                yield Figure(Cell("growth", mechanism, 256, 1.0, n), who, answer["seconds"])
                soon = 2.5 * LIMIT if who != FAST else 10 * LIMIT  # most of what it takes is fixed
                if answer["seconds"] * 10 > soon:
                    break


def decoding(libraries: list[Library]) -> Iterator[Figure]:
    """The estimate alone from a tally of 10**6 people; peers keep no tally, so theirs is of 1000 reports."""
    for mechanism in MECHANISMS:
        for symbols in (64, 256, 1024, 4096):
            cell = Cell("decode", mechanism, symbols, 1.0, 10**6)
            for who, decoder in ((UNBIASED, "unbiased"), (DEFAULT, "default")):
                took = min(our_decode(mechanism, symbols, 1.0, decoder) for _ in range(1 if symbols > 1024 else 2))
                yield Figure(cell, who, took)
            for who, library, name in _asked(libraries, mechanism):
                if who == FAST and symbols > 256:  # it is in the table before, and takes long
                    continue
                answer = library.ask(
                    "estimate",
                    mechanism=name,
                    symbols=symbols,
                    epsilon=1.0,
                    sizes=[1000],
                    decoder=DECODER[library.name],
                    limit=LIMIT,
                )
                for _, took in answer.get("found", []):
                    yield Figure(cell, who, took, note="1,000 reports")


def imports(libraries: list[Library]) -> Iterator[Figure]:
    cell = Cell("import")
    programs = {DEFAULT: "import deniable", DECODES: "from deniable import count, decode"}
    commands = {who: [str(python_of(OURS)), "-c", text] for who, text in programs.items()}
    for library in libraries:
        commands[library.name] = [str(python_of(library.name)), "-c", f"import {PEERS[library.name]}"]
    commands[BARE] = [str(python_of(OURS)), "-c", ""]
    best = dict.fromkeys(commands, math.inf)
    for _ in range(5):
        for who, command in commands.items():
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(command, check=True, env=environment(), cwd="/", capture_output=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            best[who] = min(best[who], took)
    yield from (Figure(cell, who, took) for who, took in best.items())


def sizes(libraries: list[Library]) -> Iterator[Figure]:
    cell = Cell("install")
    yield Figure(cell, DEFAULT, size_of(OURS) / 1e6)
    yield Figure(cell, DEVICE, size_of(OURS, "deniable") / 1e6)
    for library in libraries:
        yield Figure(cell, library.name, size_of(library.name) / 1e6)


TABLES: dict[str, Callable[[list[Library]], Iterator[Figure]]] = {
    "encode": encode,
    "estimate": estimate,
    "accuracy": accuracy,
    "decode": decoding,
    "growth": growth,
    "import": imports,
    "install": sizes,
}
