"""What is found when nobody has a list: `python -m studies.discovery` writes docs/results/discovery.md.

`--counts FILE` takes the counts of queries from a file; `--only PART` runs one of the parts again, or one `--setting`
of it, `--processes` at once and for `--seconds` at most. Every tally has a random stream of its own, so none of that
changes its numbers.
"""

import argparse
import csv
import os
import resource
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import numpy as np

import deniable as dn
from deniable.cli.progress import Reporter
from deniable.columns import cell_rows, keys_of
from deniable.decoders import Screening, unbias
from deniable.decoders.extending import Extension
from deniable.decoders.levels import level_design, level_tally
from deniable.lab.streams import stream_of
from studies.discovery_people import HARD, LETTERS, People, domains, hard, queries

__all__ = ["PARTS", "RESULTS", "scored"]

RESULTS = Path(__file__).parents[1] / "docs" / "results"
TOP = 32  # texts that a list of the most frequent ones has
_REPEATS = 20
_NULLS = 1000  # tallies of each hard population
_PEM = {"steps of 1": ((2, 3, 4, 5, 6), 64), "steps of 2": ((2, 4, 6), 64)}  # lengths in bytes, beginnings kept
_BITS = {
    "16 bits": (16, 16, 64),
    "14 bits": (20, 14, 64),
    "8 bits": (16, 8, 64),
    "4 bits": (16, 4, 64),
}  # first bits, bits of a step, beginnings kept
_SEARCHES = ("PEM", "TreeHist", "SFP")  # of pure-ldp
_LONGEST = 3600.0  # seconds of wall time of one of them
_GROUPS = 1024  # cohorts of a survey, whatever its levels, where it is not the default that is looked at
Line = dict[str, str | float]
Task = tuple[str, Callable[..., Line], tuple[Any, ...]]  # of which setting, what makes it, and from what


def scored(found: Iterable[str], truth: Iterable[str]) -> float:
    """The F1 score of a list: the harmonic mean of precision and recall.

    >>> round(scored(["a", "b"], ["a", "c", "d"]), 2)
    0.4
    """
    found, truth = set(found), set(truth)
    return 2 * len(found & truth) / max(len(found) + len(truth), 1)


def _tallied(survey: dn.Survey, people: People, n: int, rng: np.random.Generator) -> dn.Tally:
    """`simulate`, without a table of the cells of 120,978 texts in 1,024 cohorts; the same law."""
    miss, slope = survey.mechanism.affine
    words, sizes = keys_of(survey, people.texts), rng.multinomial(n, np.full(survey.cohorts, 1 / survey.cohorts))
    counts = np.zeros((survey.cohorts, survey.cells), np.int64)
    for row, size, (cells,) in zip(counts, sizes, cell_rows(survey.encoding, words), strict=True):
        chances = miss + slope * np.bincount(cells, people.shares, survey.cells)
        row[:] = rng.multinomial(size, chances / chances.sum())
    return dn.Tally(survey, counts)


def _drawn(
    people: People, n: int, epsilon: float, repeat: int, cohorts: int | None = None
) -> tuple[np.random.Generator, dn.Survey, dn.Tally]:
    rng = stream_of(0, "discovery", epsilon, repeat)
    survey = dn.discovery(epsilon=epsilon, length=6, cohorts=cohorts, seed=rng.bytes(16))
    return rng, survey, _tallied(survey, people, n, rng)


def _measure(counts: Path | None, epsilon: float, repeat: int) -> Line:
    """One tally of web queries: what is found."""
    people = _people(counts)
    truth, n = people.texts[:TOP], round(float(people.counts.sum()))
    _, _, tally = _drawn(people, n, epsilon, repeat)
    began = time.process_time()
    found = dn.discover(tally)
    spent = time.process_time() - began
    wrote = dict(zip(people.texts, people.shares.tolist(), strict=True))
    low, high = found.intervals().T
    true = np.array([wrote.get(str(text), 0.0) for text in found.symbols])
    declared = scored(map(str, found.symbols[:TOP]), truth)
    line: Line = {"part": "queries", "setting": f"epsilon {epsilon:g}", "n": n, "tallies": 1}
    line |= {"declared": declared, "squares": declared**2, "seconds": spent}
    largest = scored(map(str, found.leading(TOP)), truth)
    line |= {"largest": largest, "largest squares": largest**2, "found": len(found.symbols)}
    line["looked at"] = len(set(map(str, found.tested.symbols)) & set(truth))
    line |= {"false": int((true == 0).sum()), "covered": int(((low <= true) & (true <= high)).sum())}
    return line


def _beside_it(counts: Path | None, epsilon: float, repeat: int) -> Line:
    """What prefix extension and an oracle find among the people of `_measure`, with other reports."""
    people = _people(counts)
    truth, n = people.texts[:TOP], round(float(people.counts.sum()))
    rng, survey, _ = _drawn(people, n, epsilon, repeat, cohorts=_GROUPS)
    line: Line = {"part": "others", "setting": f"epsilon {epsilon:g}", "n": n, "tallies": 1}
    line["pem"] = max(_extended(people, n, epsilon, rng, *how, truth) for how in _PEM.values())
    line["bits"] = max(_extended_by_bits(people, n, epsilon, rng, *how) for how in _BITS.values())
    known = dn.orr(epsilon=epsilon, cells=survey.cells, cohorts=_GROUPS, seed=rng.bytes(16))
    whole = _tallied(known, people, n, rng)
    oracle = dn.decode(whole, candidates=people.texts, decoder=Screening())
    line["oracle"] = scored([people.texts[i] for i in np.argsort(-oracle.raw)[:TOP]], truth)
    line["oracle declared"] = scored([people.texts[i] for i in oracle.kept][:TOP], truth)  # type: ignore[attr-defined]
    return line


def _one_step(counts: Path | None, epsilon: float, repeat: int, step: str) -> Line:
    """What prefix extension finds with one step, whatever the others find in the same tally."""
    people, rng = _people(counts), stream_of(4, "discovery", epsilon, step, repeat)
    n, truth = round(float(people.counts.sum())), people.texts[:TOP]
    if step in _PEM:
        score = _extended(people, n, epsilon, rng, *_PEM[step], truth)
    else:
        score = _extended_by_bits(people, n, epsilon, rng, *_BITS[step])
    line: Line = {"part": "steps", "setting": f"epsilon {epsilon:g}, {step}", "n": n, "tallies": 1}
    return line | {"largest": score, "largest squares": score**2}


def _extended(
    people: People, n: int, epsilon: float, rng: np.random.Generator, lengths: tuple[int, ...], kept: int,
    truth: list[str],
) -> float:  # fmt: skip
    """F1 of prefix extension (PEM): groups of one size, the `kept` largest sums of each are extended, no test."""
    levels = [(length, _GROUPS // len(lengths)) for length in lengths]
    survey = dn.discovery(epsilon=epsilon, length=6, levels=levels, seed=rng.bytes(16))
    tally = _tallied(survey, people, n, rng)
    extension, found, before = Extension(survey.alphabet), [b""], 0
    for number, length in enumerate(lengths):
        part = level_tally(tally, number)
        grown = extension.grown(found, length - before, 1 << 22)
        sums = level_design(part, grown).scores(unbias(part)[None])[0]
        most = TOP if length == lengths[-1] else kept
        found, before = [grown[i] for i in np.argsort(-sums)[:most].tolist()], length
    return scored([text[:-1].decode() for text in found if text.endswith(b"\xff")], truth)


def _extended_by_bits(
    people: People, n: int, epsilon: float, rng: np.random.Generator, start: int, step: int, kept: int
) -> float:
    """F1 of prefix extension as published: texts of 48 bits, groups of one size, local hashing, all bits are possible.

    Estimates have the variance of local hashing, and are normal: with a hash function a person they are independent.
    """
    texts = np.array([int.from_bytes(text.encode()[:6].ljust(6, b"\0"), "big") for text in people.texts], np.uint64)
    k = round(np.exp(epsilon)) + 1
    p, q = np.exp(epsilon) / (np.exp(epsilon) + k - 1), 1 / k
    ends = [*range(start, 48, step), 48]
    error = np.sqrt(q * (1 - q) * len(ends) / n) / (p - q)
    candidates, before = np.zeros(1, np.uint64), 0
    for end in ends:
        grown = np.arange(1 << (end - before), dtype=np.uint64)
        candidates = ((candidates[:, None] << np.uint64(end - before)) | grown).ravel()
        begun, inverse = np.unique(texts >> np.uint64(48 - end), return_inverse=True)
        shares = np.bincount(inverse, people.shares)
        places = np.minimum(np.searchsorted(begun, candidates), len(begun) - 1)
        true = np.where(begun[places] == candidates, shares[places], 0.0)
        most = TOP if end == 48 else kept
        seen = true + error * rng.standard_normal(len(true))
        candidates, before = candidates[np.argpartition(-seen, most)[:most]], end
    return len(set(candidates.tolist()) & set(texts[:TOP].tolist())) / TOP


def _null(name: str, epsilon: float, repeat: int) -> Line:
    """One tally of a hard population: whether a text is declared that nobody wrote."""
    rng = stream_of(1, "discovery", name, epsilon, repeat)
    people = hard(name, rng)
    survey = dn.discovery(epsilon=epsilon, length=6, cohorts=256, seed=rng.bytes(16))
    tally = _tallied(survey, people, 50_000, rng)
    if name == "planted":  # one report in a hundred names the first cell of its cohort
        junk = np.zeros_like(tally.counts)
        junk[:, 0] = rng.multinomial(500, np.full(survey.cohorts, 1 / survey.cohorts))
        tally.add(junk, junk.sum(axis=1))
    found = dn.discover(tally, alphabet=LETTERS)
    wrote = dict(zip(people.texts, people.shares.tolist(), strict=True))
    true = np.array([wrote.get(str(text), 0.0) for text in found.symbols])
    low, high = found.intervals().T
    error = (found.raw - true) / found.standard_errors
    line: Line = {"part": "nulls", "setting": f"{name}, epsilon {epsilon:g}", "n": tally.n, "tallies": 1}
    line |= {
        "found": len(true),
        "false": int((true == 0).any()),
        "covered": int(((low <= true) & (true <= high)).sum()),
    }
    return line | {"bias": float(error[true > 0.02].sum()), "heavy": int((true > 0.02).sum())}


def _names(n: int, epsilon: float, length: int) -> Line:
    """One tally of domain names."""
    people = domains()
    rng = stream_of(2, "discovery", n, epsilon, length)
    survey = dn.discovery(epsilon=epsilon, length=length, cohorts=_GROUPS, seed=rng.bytes(16))
    tally = _tallied(survey, people, n, rng)
    began = time.process_time()
    found = dn.discover(tally, alphabet="domains")
    spent = time.process_time() - began
    known = {text if len(text) <= length else text[:length] + "\N{HORIZONTAL ELLIPSIS}" for text in people.texts}
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    line: Line = {"part": "names", "setting": f"{length} bytes, 10^{np.log10(n):.0f} reports", "n": n, "tallies": 1}
    line |= {"declared": scored(map(str, found.symbols[:TOP]), people.texts[:TOP]), "seconds": spent}
    return line | {"found": len(found.symbols), "false": len(set(found.symbols) - known), "memory": largest}


@cache
def _people(counts: Path | None) -> People:
    return queries(counts)


def _beside(counts: Path | None, method: str, epsilon: float) -> Line:
    """One search among the same people, who told all methods their letters: ours, or one of pure-ldp's."""
    people, rng = _people(counts), stream_of(3, "discovery", epsilon)
    truth, letters = people.texts[:TOP], "".join(sorted(set("".join(people.texts))))
    line: Line = {
        "part": "peers",
        "setting": f"{method}, epsilon {epsilon:g}",
        "n": int(people.counts.sum()),
        "tallies": 1,
    }
    if method == "deniable":
        survey = dn.discovery(epsilon=epsilon, length=6, cohorts=_GROUPS, seed=rng.bytes(16))
        answers = [
            text for text, count in zip(people.texts, people.counts.tolist(), strict=True) for _ in range(int(count))
        ]
        began = time.process_time()
        reports = dn.privatize(survey, answers)
        sent = time.process_time()
        found = dn.discover(dn.count(survey, reports), alphabet=letters)
        line |= {"seconds": time.process_time() - sent, "clients": sent - began}
        line["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        line |= {"declared": scored(map(str, found.symbols[:TOP]), truth), "found": len(found.symbols)}
        return line | {"largest": scored(map(str, found.leading(TOP)), truth)}
    from benchmarks.peers.process import Library

    # Theirs have one length, so an end is a letter of its own.
    padded = {text.ljust(6, "_"): int(count) for text, count in zip(people.texts, people.counts.tolist(), strict=True)}
    asked = {
        "method": method,
        "people": padded,
        "epsilon": epsilon,
        "letters": letters + "_",
        "fragment": 2,
        "top": TOP,
    }
    with Library("pure-ldp") as library:
        answer = library.ask("texts", limit=_LONGEST, **asked)
    if "found" not in answer:
        return line | {"seconds": _LONGEST}
    line["largest"] = scored([text.rstrip("_") for text in answer["found"]], truth)
    return line | {name: answer[name] for name in ("seconds", "clients", "memory")}


def _queries(counts: Path | None) -> Iterator[Task]:
    for repeat in range(_REPEATS):
        for epsilon in (4.0, 3.0, 2.0, 1.0):
            yield f"epsilon {epsilon:g}", _measure, (counts, epsilon, repeat)


def _others(counts: Path | None) -> Iterator[Task]:
    for repeat in range(_REPEATS):
        for epsilon in (4.0, 3.0, 2.0, 1.0):
            yield f"epsilon {epsilon:g}", _beside_it, (counts, epsilon, repeat)


def _steps(counts: Path | None) -> Iterator[Task]:
    for repeat in range(_REPEATS):
        for epsilon in (4.0, 3.0, 2.0, 1.0):
            for step in (*_BITS, *_PEM):
                yield f"epsilon {epsilon:g}, {step}", _one_step, (counts, epsilon, repeat, step)


def _nulls(_: Path | None) -> Iterator[Task]:
    for repeat in range(_NULLS):
        for name in HARD:
            yield f"{name}, epsilon 3", _null, (name, 3.0, repeat)


def _domains(_: Path | None) -> Iterator[Task]:
    for n, length in ((10**6, 30), (10**8, 30), (10**5, 30), (10**7, 30), (10**6, 10), (10**6, 20)):
        yield f"{length} bytes, 10^{np.log10(n):.0f} reports", _names, (n, 4.0, length)


def _done(task: Task) -> Line:
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    _, work, given = task
    return work(*given)


def _lines(tasks: Iterable[Task], processes: int, seconds: float, *, fresh: bool) -> Iterator[Line]:
    """What tasks give, in their order, as far as time allows; `fresh`: each in a process whose memory is its own."""
    end = time.monotonic() + seconds
    with Pool(processes, maxtasksperchild=1 if fresh else None) as pool:
        for line in pool.imap(_done, tasks):
            yield line
            if time.monotonic() > end:
                return


def _peers(counts: Path | None) -> Iterator[Task]:
    for method in ("deniable", *_SEARCHES):
        for epsilon in (2.0, 4.0):
            yield f"{method}, epsilon {epsilon:g}", _beside, (counts, method, epsilon)


def _left(tasks: Iterable[Task], setting: str | None, done: Mapping[str, int]) -> Iterator[Task]:
    """The tasks of one setting, or all, but for so many of each that were done before."""
    passed: Counter[str] = Counter()
    for task in tasks:
        passed[task[0]] += 1
        if setting in (None, task[0]) and passed[task[0]] > done.get(task[0], 0):
            yield task


PARTS = {
    "queries": _queries, "others": _others, "steps": _steps, "nulls": _nulls, "names": _domains, "peers": _peers,
}  # fmt: skip
_WITH_MEMORY = ("names", "peers")  # parts that say how much memory a search takes
_FIELDS = (
    "part", "setting", "n", "tallies", "declared", "squares", "largest", "largest squares", "looked at", "pem", "bits",
    "oracle", "oracle declared", "found", "false", "covered", "bias", "heavy", "seconds", "clients", "memory",
)  # fmt: skip


def _table(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def _numbers(row: dict[str, str]) -> Line:
    found: Line = {name: value if name in ("part", "setting") else float(value) for name, value in row.items() if value}
    return found | {"n": round(float(row["n"]))}


def _added(path: Path, part: str, setting: str | None, lines: Iterable[Line], *, more: bool) -> None:
    """A table's other parts, and this one anew, or with more tallies: they are added up by setting."""
    before = _table(path)
    kept = [row for row in before if row["part"] != part]
    same = {row["setting"]: _numbers(row) for row in before if row["part"] == part}
    sums = {name: row for name, row in same.items() if more or setting not in (None, name)}
    for line in lines:
        total = sums.setdefault(str(line["setting"]), {})
        for name, value in line.items():
            text = isinstance(value, str) or name in ("n", "memory")
            total[name] = value if text else float(total.get(name, 0.0)) + float(value)
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, _FIELDS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(kept)
            for row in sums.values():
                writer.writerow({k: round(v, 6) if isinstance(v, float) else v for k, v in row.items()})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--counts", type=Path)
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--setting", help="one row of a part")
    parser.add_argument("--to", type=Path, default=RESULTS)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--more", action="store_true", help="go on with the tallies that a part has not had yet")
    parser.add_argument("--table", action="store_true", help="the table alone, without its page")
    args = parser.parse_args()
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    with Reporter("discovery"):
        for part in [args.only] if args.only else PARTS:
            path = args.to / "discovery.csv"
            rows = [row for row in _table(path) if row["part"] == part and args.more]
            done = {row["setting"]: round(float(row["tallies"])) for row in rows}
            tasks = _left(PARTS[part](args.counts), args.setting, done)
            lines = _lines(tasks, args.processes, args.seconds, fresh=part in _WITH_MEMORY)
            _added(path, part, args.setting, lines, more=args.more)
    if not args.table:
        from studies.discovery_page import write_page

        write_page(args.to)


if __name__ == "__main__":
    main()
