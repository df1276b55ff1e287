"""What is found when nobody has a list: `python -m studies.discovery` writes docs/results/discovery.md.

`--counts FILE` takes the counts of queries from a file; `--only PART` runs one of the parts again.
"""

import argparse
import csv
import os
import resource
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

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
_REPEATS = 2
_NULLS = 1000  # tallies of each hard population
_PEM = {"steps of 1": ((2, 3, 4, 5, 6), 64), "steps of 2": ((2, 4, 6), 64)}  # lengths in bytes, beginnings kept
_GROUPS = 1024  # cohorts of a survey, whatever its levels
Line = dict[str, str | float]


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


def _measure(people: People, epsilon: float, repeat: int) -> Line:
    """One tally of web queries: what is found, and what prefix extension and an oracle find among the same people."""
    truth, n = people.texts[:TOP], round(float(people.counts.sum()))
    rng = stream_of(0, "discovery", epsilon, repeat)
    survey = dn.discovery(epsilon=epsilon, length=6, cohorts=_GROUPS, seed=rng.bytes(16))
    tally = _tallied(survey, people, n, rng)
    began = time.process_time()
    found = dn.discover(tally)
    spent = time.process_time() - began
    wrote = dict(zip(people.texts, people.shares.tolist(), strict=True))
    low, high = found.intervals().T
    true = np.array([wrote.get(str(text), 0.0) for text in found.symbols])
    line: Line = {"part": "queries", "setting": f"epsilon {epsilon:g}", "n": n, "tallies": 1}
    line |= {"declared": scored(map(str, found.symbols[:TOP]), truth), "seconds": spent}
    line |= {"largest": scored(map(str, found.leading(TOP)), truth), "found": len(found.symbols)}
    line |= {"false": int((true == 0).sum()), "covered": int(((low <= true) & (true <= high)).sum())}
    line["pem"] = max(_extended(people, n, epsilon, rng, *how, truth) for how in _PEM.values())
    known = dn.orr(epsilon=epsilon, cells=survey.cells, cohorts=_GROUPS, seed=rng.bytes(16))
    whole = _tallied(known, people, n, rng)
    oracle = dn.decode(whole, candidates=people.texts, decoder=Screening())
    line["oracle"] = scored([people.texts[i] for i in np.argsort(-oracle.raw)[:TOP]], truth)
    line["oracle declared"] = scored([people.texts[i] for i in oracle.kept][:TOP], truth)  # type: ignore[attr-defined]
    return line


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


def _names(people: People, n: int, epsilon: float, length: int) -> Line:
    """One tally of domain names."""
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


def _queries(counts: Path | None) -> Iterator[Line]:
    people = queries(counts)
    for repeat in range(_REPEATS):
        for epsilon in (1.0, 2.0, 3.0, 4.0):
            yield _measure(people, epsilon, repeat)


def _nulls(_: Path | None) -> Iterator[Line]:
    for repeat in range(_NULLS):
        for name in HARD:
            yield _null(name, 3.0, repeat)


def _domains(_: Path | None) -> Iterator[Line]:
    people = domains()
    for n in (10**6, 10**8, 10**5, 10**7):
        yield _names(people, n, 4.0, 30)
    for length in (10, 20):
        yield _names(people, 10**6, 4.0, length)


PARTS = {"queries": _queries, "nulls": _nulls, "names": _domains}
_FIELDS = (
    "part", "setting", "n", "tallies", "declared", "largest", "pem", "oracle", "oracle declared", "found", "false",
    "covered", "bias", "heavy", "seconds", "memory",
)  # fmt: skip


def _added(path: Path, part: str, lines: Iterable[Line]) -> None:
    """A table's other parts, and this one anew: its tallies added up by setting."""
    kept = []
    if path.exists():
        with path.open(newline="") as file:
            kept = [line for line in csv.DictReader(file) if line["part"] != part]
    sums: dict[str, Line] = {}
    for line in lines:
        before = sums.setdefault(str(line["setting"]), {})
        for name, value in line.items():
            text = isinstance(value, str) or name in ("n", "memory")
            before[name] = value if text else float(before.get(name, 0.0)) + float(value)
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, _FIELDS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(kept)
            for row in sums.values():
                writer.writerow({k: round(v, 3) if isinstance(v, float) else v for k, v in row.items()})


def main() -> None:
    from studies.discovery_page import write_page

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--counts", type=Path)
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--to", type=Path, default=RESULTS)
    args = parser.parse_args()
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    with Reporter("discovery"):
        for part in [args.only] if args.only else PARTS:
            _added(args.to / "discovery.csv", part, PARTS[part](args.counts))
    write_page(args.to)


if __name__ == "__main__":
    main()
