"""What is found beside one heavy answer that is not listed: `python -m studies.beside`, then `studies.candidates_page`.

30,000 candidates, none or a few of them there. One unlisted answer has much of the mass or all of it, and sits in one
cell of every cohort: among so many candidates one meets it in far more cohorts than most. What is asked is how many
tallies have a false discovery, which one in twenty may, and whether those that are there are still found.
"""

import csv
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import deniable as dn
from deniable.decoders import ScreenedEstimate
from deniable.lab.streams import stream_of

__all__ = ["SETTINGS", "Found", "Setting", "measure", "read"]

RESULTS = Path(__file__).parents[1] / "docs" / "results"
NAMES = tuple(f"candidate {i}" for i in range(30_000))


@dataclass(frozen=True)
class Setting:
    """O-RR; `light` unlisted answers share alike what the heavy one and the candidates leave."""

    cells: int
    cohorts: int
    epsilon: float
    n: int
    heavy: float
    light: int
    there: tuple[float, ...]  # shares of candidates
    tallies: int


SETTINGS = (
    Setting(32, 40, 3.3, 40_000, 1.0, 0, (), 160),
    Setting(48, 96, 3.3, 400_000, 1.0, 0, (), 60),
    Setting(32, 40, 3.3, 40_000, 0.5, 300, (), 160),
    Setting(32, 56, 3.0, 200_000, 0.5, 300, (), 100),
    Setting(64, 32, 4.0, 10**6, 0.3, 300, (), 100),
    Setting(32, 40, 4.0, 10**6, 0.5, 100, (0.1, 0.05, 0.02, 0.02, 0.01), 40),
    Setting(64, 64, 4.0, 10**6, 0.3, 300, (0.05, 0.02, 0.01, 0.01, 0.005, 0.005), 40),
)


@dataclass(frozen=True)
class Found:
    """How many tallies had a false discovery, how large the largest was, and what was found of what is there."""

    setting: Setting
    wrong: int
    largest: float
    found: int
    covered: int  # of the found: those whose 95 % interval holds the share
    seconds: float  # of processor time, a tally


def measure(setting: Setting, tallies: int | None = None) -> Found:
    """The same for the same arguments."""
    there, count = np.array(setting.there), tallies or setting.tallies
    left = 1 - setting.heavy - float(there.sum())
    shares = np.concatenate([[setting.heavy], np.full(setting.light, left / max(setting.light, 1)), there])
    answers = ["heavy", *(f"light {i}" for i in range(setting.light)), *NAMES[: len(there)]]
    wrong, largest, found, covered, spent = 0, 0.0, 0, 0, 0.0
    for repeat in range(count):
        rng = stream_of(0, "beside", setting, repeat)
        survey = dn.orr(epsilon=setting.epsilon, cells=setting.cells, cohorts=setting.cohorts, seed=rng.bytes(16))
        tally = dn.simulate(survey, shares / shares.sum(), setting.n, rng, symbols=answers)
        began = time.process_time()
        estimate = dn.decode(tally, candidates=NAMES)
        spent += time.process_time() - began
        assert isinstance(estimate, ScreenedEstimate)
        true, false = (estimate.kept[(estimate.kept < len(there)) == real] for real in (True, False))
        wrong += bool(len(false))
        largest = max([largest, *estimate.probabilities[false].tolist()])
        low, high = estimate.intervals()[true].T
        found, covered = found + len(true), covered + int(((low <= there[true]) & (there[true] <= high)).sum())
    return Found(setting, wrong, largest, found, covered, spent / count)


_FIELDS = ("cells", "cohorts", "epsilon", "n", "heavy", "light")


def read(path: Path = RESULTS / "beside.csv") -> list[Found]:
    """The rows of a run."""
    rows = []
    with path.open(newline="") as file:
        for line in csv.DictReader(file):
            there = tuple(float(share) for share in line["there"].split())
            cells, cohorts, n, light, tallies = (int(line[k]) for k in ("cells", "cohorts", "n", "light", "tallies"))
            setting = Setting(cells, cohorts, float(line["epsilon"]), n, float(line["heavy"]), light, there, tallies)
            counts = int(line["found"]), int(line["covered"])
            rows.append(Found(setting, int(line["wrong"]), float(line["largest"]), *counts, float(line["seconds"])))
    return rows


def main() -> None:
    with (RESULTS / "beside.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*_FIELDS, "there", "tallies", "wrong", "largest", "found", "covered", "seconds"])
        for setting in SETTINGS:
            row = measure(setting)
            known = [getattr(setting, name) for name in _FIELDS]
            there = " ".join(f"{share:g}" for share in setting.there)
            measured = [row.wrong, f"{row.largest:.4f}", row.found, row.covered, f"{row.seconds:.2f}"]
            writer.writerow([*known, there, setting.tallies, *measured])
            file.flush()
            print(f"{setting}: {row.wrong} of {setting.tallies}", file=sys.stderr)


if __name__ == "__main__":
    main()
