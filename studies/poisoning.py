"""Planted reports against every mechanism and defence: `python -m studies.poisoning` writes the table (ten minutes).

`python -m studies.poisoning_page` makes docs/results/poisoning.md and its chart from it.
"""

import csv
import zlib
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
import numpy.typing as npt

import deniable as dn
from deniable.decoders.planted import reports_to_plant
from deniable.survey import Survey

FILE = Path(__file__).parents[1] / "docs" / "results" / "poisoning.csv"
SEED = bytes(16)
K, N, REPEATS = 100, 100_000, 10
SHARES = (0.01, 0.05, 0.1)
POPULATIONS = {"geometric": dn.lab.geometric(K, K / 5), "Zipf 2": dn.lab.zipf(K, 2)}  # a flat one, and a steep one
RARE = range(30, K)  # symbols that an attacker raises: hardly anyone answers them
ETA = 0.05  # the share of planted reports that LDPRecover assumes

SURVEYS: dict[str, Survey] = {
    "k-RR": dn.krr(symbols=K, epsilon=1),
    "k-RR, epsilon 3": dn.krr(symbols=K, epsilon=3),
    "k-RAPPOR": dn.krappor(symbols=K, epsilon=1),
    "OUE": dn.oue(symbols=K, epsilon=1),
    "subset selection": dn.subset(symbols=K, epsilon=1),
    "Hadamard": dn.hadamard(symbols=K, epsilon=1, blocks=1),
    "projective": dn.projective(symbols=K, epsilon=1),
    "OLH": dn.olh(symbols=K, epsilon=1, cohorts=64, seed=SEED),
    "O-RR": dn.orr(symbols=K, epsilon=1, cells=8, cohorts=32, seed=SEED),
    "O-RAPPOR": dn.orappor(symbols=K, epsilon=1, cells=32, cohorts=8, hashes=1, seed=SEED),
}
ATTACKS = ("one symbol", "one symbol, ordinary", "five symbols", "five symbols, ordinary", "lie", "random")
DEFENCES = ("unbiased", "subtract-min", "cut and rescale", "projected", "default", "LDPRecover", "contaminated")

Floats = npt.NDArray[np.float64]
FIELDS = ("population", "mechanism", "attack", "share", "defence", "gain", "l1", "alarms", "covered", "covered_targets")


def drawn(survey: Survey, hits: Floats, placed: Floats, rng: np.random.Generator) -> dn.Tally:
    """Planted reports that hit columns so often."""
    sizes, mechanism = np.rint(placed).astype(np.int64), survey.mechanism
    if mechanism.one_column:
        counts = rng.multinomial(sizes, hits / hits.sum(axis=1, keepdims=True))
    elif mechanism.hits is None:
        counts = rng.binomial(sizes[:, None], np.clip(hits, 0.0, 1.0))
    else:  # sets of one size: their sums, as even as they can be
        counts = np.rint(sizes[:, None] * hits).astype(np.int64)
        counts[0, counts[0].argmin()] += mechanism.hits * int(sizes[0]) - int(counts.sum())
    return dn.Tally(survey, counts, sizes)


def planted(
    survey: Survey, p: Floats, attack: str, share: float, targets: list[int], rng: np.random.Generator
) -> dn.Tally:
    """Some of N reports, made by an attacker who knows what a first survey of honest people found."""
    count = round(share * N)
    if attack == "lie":
        wanted = np.zeros(K)
        wanted[targets] = 1 / len(targets)
        return dn.simulate(survey, wanted, count, rng)
    if attack == "random":
        mechanism = survey.mechanism
        hits = 1 / 2 if mechanism.hits is None else mechanism.hits / survey.columns
        return drawn(
            survey,
            np.full((survey.cohorts, survey.columns), hits),
            np.full(survey.cohorts, count / survey.cohorts),
            rng,
        )
    first = dn.decode(dn.simulate(survey, p, N, rng), constraint=dn.Projected())
    sent = reports_to_plant(first.fit, np.array(targets), share, careful="ordinary" in attack)
    return drawn(survey, *sent, rng)


def defended(tally: dn.Tally, plain: dn.Estimate) -> dict[str, Floats]:
    """The shares that each defence reports."""
    raw = plain.raw
    least = raw - raw.min()
    positive = raw > 0
    mechanism = tally.survey.mechanism
    miss, r = mechanism.affine
    # What planted shares add up to, without knowledge of the attack; over cohorts they add up to one.
    mass = (1 - K * miss) / r if tally.survey.encoding.own_cells else 1.0
    eta = ETA / (1 - ETA)
    recovered = (1 + eta) * raw - eta * mass * positive / max(int(positive.sum()), 1)
    return {
        "unbiased": raw,
        "subtract-min": least / least.sum(),
        "cut and rescale": dn.Normalized().apply(raw),
        "projected": plain.probabilities,
        "default": dn.decode(tally).probabilities,
        "LDPRecover": dn.Projected().apply(recovered),
        "contaminated": dn.decode(tally, decoder=dn.Contaminated()).probabilities,
    }


def rows_of(population: str, name: str, attack: str, share: float) -> Iterator[dict[str, object]]:
    """One row per defence: means over the repeats."""
    survey, p = SURVEYS[name], POPULATIONS[population]
    rng = np.random.default_rng(zlib.crc32(f"{population} {name} {attack} {share}".encode()))
    gains: dict[str, list[float]] = {each: [] for each in DEFENCES}
    losses: dict[str, list[float]] = {each: [] for each in DEFENCES}
    alarms, covered, inside = [], [], []
    for _ in range(REPEATS):
        targets = sorted(rng.choice(RARE, 5 if attack.startswith("five") else 1, replace=False).tolist())
        count = round(share * N)
        tally = dn.simulate(survey, p, N - count, rng)
        if count:
            tally += planted(survey, p, attack, share, targets, rng)
        plain = dn.decode(tally, constraint=dn.Projected())
        for defence, shares in defended(tally, plain).items():
            gains[defence].append(float(shares[targets].sum() - p[targets].sum()))
            losses[defence].append(float(np.abs(shares - p).sum()))
        alarms.append(bool(plain.diagnostics.alarms))
        low, high = plain.intervals(0.95).T
        holds = (low <= p) & (high >= p)
        covered.append(float(np.delete(holds, targets).mean()))
        inside.append(float(holds[targets].mean()))
    for defence in DEFENCES:
        yield {
            "population": population, "mechanism": name, "attack": attack, "share": share, "defence": defence,
            "gain": f"{np.mean(gains[defence]):.4f}", "l1": f"{np.mean(losses[defence]):.4f}",
            "alarms": f"{np.mean(alarms):.2f}", "covered": f"{np.mean(covered):.3f}",
            "covered_targets": f"{np.mean(inside):.3f}",
        }  # fmt: skip


def main() -> None:
    """Write the table."""
    with FILE.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        for population, name in product(POPULATIONS, SURVEYS):
            writer.writerows(rows_of(population, name, "none", 0.0))
            for attack, share in product(ATTACKS, SHARES):
                writer.writerows(rows_of(population, name, attack, share))
            print(population, name, flush=True)


if __name__ == "__main__":
    main()
