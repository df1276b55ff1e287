"""Intervals cover: at least nominally where they are exact, within a point of it elsewhere; and what would not.

One symbol a tally, so that tallies are independent trials and tails are exact binomial ones.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from scipy.special import bdtr, bdtrc

import deniable as dn
from deniable.decoders import Difference
from deniable.decoders.limits import Collisions
from deniable.decoders.simplex import project
from deniable.decoders.spread import Misfit
from deniable.survey import Alphabet, Direct, Survey
from tests.statistical.harness import accept, generator, reject
from tests.toy.band import Band

pytestmark = pytest.mark.slow

Floats = npt.NDArray[np.float64]

SIZE, REPEATS = 32, 700
PLAIN = dn.Projected()  # what is tested belongs to the unbiased estimate, whatever stands beside it
P = np.concatenate([[0.5, 0.2, 0.1, 0.05], np.full(12, 0.15 / 12), np.zeros(16)])
NAMES = tuple(range(SIZE))
# (a survey for a seed, reports, candidates that are listed)
CASES: dict[str, tuple[Callable[[bytes], Survey], int, int]] = {
    "krr": (lambda seed: dn.krr(symbols=SIZE, epsilon=4), 300, SIZE),
    "krappor": (lambda seed: dn.krappor(symbols=SIZE, epsilon=2), 300, SIZE),
    "band": (lambda seed: Survey(Alphabet.closed(SIZE), Direct(SIZE), Band(SIZE, 4)), 300, SIZE),
    "hadamard-blocks": (lambda seed: dn.hadamard(symbols=SIZE, epsilon=5, blocks=8), 300, SIZE),
    "orr": (lambda seed: dn.orr(epsilon=2, cells=8, cohorts=32, seed=seed), 1000, SIZE),
    "orr-sparse": (lambda seed: dn.orr(epsilon=8, cells=64, cohorts=8, seed=seed), 200, SIZE),
    "orr-sparser": (lambda seed: dn.orr(epsilon=8, cells=256, cohorts=4, seed=seed), 100, SIZE),
    "orr-few-a-cohort": (lambda seed: dn.orr(epsilon=3, cells=16, cohorts=64, seed=seed), 200, SIZE),
    "orr-closed": (lambda seed: dn.orr(symbols=SIZE, epsilon=1, cells=4, cohorts=64, seed=seed), 10_000, SIZE),
    "bloom": (lambda seed: dn.orappor(epsilon=4, cells=64, cohorts=8, hashes=2, seed=seed), 1000, SIZE),
    "orr-incomplete": (lambda seed: dn.orr(epsilon=4, cells=32, cohorts=16, seed=seed), 20_000, SIZE - 1),
}


def decoded(name: str, repeats: int) -> list[tuple[dn.Estimate, int, float, float]]:
    """Estimates with a symbol each, its mass, and the mass that is not listed; the heaviest are left out first."""
    make, n, listed = CASES[name]
    rng, found = generator(f"coverage {name}"), []
    for _ in range(repeats):
        survey = make(rng.bytes(16))
        closed = survey.symbols is not None
        tally = dn.simulate(survey, P, n, rng, symbols=None if closed else NAMES)
        estimate = dn.decode(tally, candidates=None if closed else NAMES[SIZE - listed :], constraint=PLAIN)
        place = int(rng.integers(listed))
        found.append((estimate, place, float(P[SIZE - listed + place]), float(P[: SIZE - listed].sum())))
    return found


def short(covered: list[bool], level: float) -> float:
    """How likely so few are if coverage is one point below the level, or better."""
    return float(bdtr(sum(covered), len(covered), level - 0.01))


@pytest.mark.parametrize("name", CASES)
def test_intervals_cover_what_they_say(name: str) -> None:
    trials = decoded(name, REPEATS)
    exact = name.startswith("kr")
    assert {estimate.interval_kind for estimate, *_ in trials} == {"exact" if exact else "approximate"}
    for level in (0.9, 0.95, 0.99):
        inside = []
        for estimate, place, mass, _ in trials:
            low, high = estimate.intervals(level)[place]
            inside.append(bool(low <= mass <= high))
        accept("coverage", short(inside, level))
    rest, total = [], []
    for estimate, _, _, missing in trials:
        if estimate.unallocated:
            low, high = estimate.unallocated.interval(0.95)
            rest.append(bool(low <= missing <= high))
        low, high = estimate.total(estimate.symbols[:5]).interval(0.95)
        start = SIZE - len(estimate.symbols)
        total.append(bool(low <= P[start : start + 5].sum() <= high))
    if rest:
        accept("coverage", short(rest, 0.95))
    accept("coverage", short(total, 0.95))


def test_intervals_around_the_projected_estimate_do_not() -> None:
    """A naive bootstrap: tallies drawn anew from the one observed, each decoded and projected."""
    rng, survey, inside = generator("bootstrap"), dn.krr(symbols=SIZE, epsilon=2), []
    hit, miss = float(survey.mechanism.hit), float(survey.mechanism.miss)
    for _ in range(REPEATS):
        estimate = dn.decode(dn.simulate(survey, P, 2000, rng), constraint=PLAIN)
        again = rng.multinomial(2000, estimate.tally.counts[0] / 2000, size=40)
        spread = np.std([project((counts / 2000 - miss) / (hit - miss)) for counts in again], axis=0)
        place = int(rng.integers(16))  # one that has mass
        inside.append(bool(abs(estimate.probabilities[place] - P[place]) <= 1.96 * spread[place]))
    assert 0.7 < np.mean(inside) < 0.9
    reject("coverage", short(inside, 0.95))


def test_normal_intervals_of_rare_symbols_do_not() -> None:
    trials = [trial for trial in decoded("orr-sparser", REPEATS) if 0 < trial[2] < 0.02]
    inside = [abs(e.raw[place] - mass) <= 1.96 * e.standard_errors[place] for e, place, mass, _ in trials]
    reject("coverage", short(inside, 0.95))


def test_without_the_background_an_incomplete_list_is_not_covered() -> None:
    inside = []
    for estimate, place, mass, _ in decoded("orr-incomplete", 200):
        leaky = dn.decode(estimate.tally, candidates=estimate.symbols, complete=True, constraint=PLAIN)
        low, high = leaky.intervals(0.95)[place]
        inside.append(bool(low <= mass <= high))
    reject("coverage", short(inside, 0.95))


def test_simultaneous_intervals_and_significance_hold_for_all_at_once() -> None:
    trials = decoded("orr", 400)
    together, silent = [], []
    for estimate, *_ in trials:
        low, high = estimate.intervals(0.95, simultaneous=True).T
        together.append(bool(((low <= P) & (high >= P)).all()))
        silent.append(not estimate.significant(0.95)[P == 0].any())
    accept("coverage", short(together, 0.95))
    accept("coverage", short(silent, 0.95))
    pairs = [e.intervals(0.95).T for e, *_ in trials]
    single = [bool(((low <= P) & (high >= P)).all()) for low, high in pairs]
    reject("coverage", short(single, 0.95))


@pytest.mark.parametrize("name", ["krr", "orr"])
def test_differences_cover(name: str) -> None:
    """Two groups, one a quarter of the other, which has moved a tenth of its mass."""
    make, n, _ = CASES[name]
    rng, inside, outside = generator(f"difference {name}"), [], []
    other = P.copy()
    other[[0, 5]] += (-0.1, 0.1)
    survey = make(rng.bytes(16))
    named = None if survey.symbols is not None else NAMES
    for _ in range(REPEATS):
        both = ((P, n), (other, n // 4))
        pair = [
            dn.decode(dn.simulate(survey, p, m, rng, symbols=named), candidates=named, constraint=PLAIN)
            for p, m in both
        ]
        place = int(rng.integers(SIZE))
        truth = P[place] - other[place]
        low, high = dn.difference(*pair).intervals(0.95)[place]
        inside.append(bool(low <= truth <= high))
        low, high = pair[0].intervals(0.95)[place] - pair[1].raw[place]  # the mutant forgets one of the errors
        outside.append(bool(low <= truth <= high))
    accept("coverage", short(inside, 0.95))
    reject("coverage", short(outside, 0.95))


# Cells, cohorts, epsilon, reports, the share that is not listed, shares that are; ten candidates more have none.
FEW = {
    "one cohort": (30, 1, 5.0, 10**6, 0.5, (0.3, 0.2)),
    "two cohorts": (60, 2, 5.0, 10**5, 0.9, (0.1,)),
    "three cohorts": (30, 3, 5.0, 10**6, 0.5, (0.3, 0.2)),
}


def beside_a_heavy_answer(name: str, repeats: int) -> tuple[list[bool], list[bool], list[bool]]:
    """Whether all intervals held at once, no mark was false, and the unlisted mass was covered, tally by tally."""
    cells, cohorts, epsilon, n, unlisted, listed = FEW[name]
    rng, together, silent, rest = generator(f"few cohorts {name}"), [], [], []
    truth = np.append(listed, np.zeros(10))
    for _ in range(repeats):
        survey = dn.orr(epsilon=epsilon, cells=cells, cohorts=cohorts, seed=rng.bytes(16))
        p = np.append(listed, unlisted)
        tally = dn.simulate(survey, p, n, rng, symbols=[*range(len(listed)), "unlisted"])
        estimate = dn.decode(tally, candidates=range(len(truth)), constraint=PLAIN)
        low, high = estimate.intervals(0.95, simultaneous=True).T
        together.append(bool(((low <= truth) & (truth <= high)).all()))
        silent.append(not estimate.significant(0.95)[truth == 0].any())
        assert estimate.unallocated is not None
        low, high = estimate.unallocated.interval(0.95)
        rest.append(bool(low <= unlisted <= high))
    return together, silent, rest


@pytest.mark.parametrize("name", FEW)
def test_few_cohorts_do_not_take_an_unlisted_answer_for_a_candidate(name: str) -> None:
    for found in beside_a_heavy_answer(name, 400):
        accept("coverage", short(found, 0.95))


def test_what_a_heavy_answer_leaves_is_not_all_that_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutant goes by the residuals alone: whoever has all cells of a candidate leaves none."""

    def as_it_looks(self: Collisions, reach: Floats, squares: Floats) -> Floats:
        return np.sqrt(reach**2 + self.unlisted * np.where(np.isfinite(squares), squares, 0.0))

    monkeypatch.setattr(Collisions, "widened", as_it_looks)
    for found in beside_a_heavy_answer("one cohort", 400):
        reject("coverage", short(found, 0.95))


def changes(before: float, after: float, repeats: int, level: float) -> tuple[list[bool], list[bool]]:
    """Whether the change of a candidate without share, and that of the unlisted mass, is in its interval.

    Two windows of one survey; one answer of this share before and after is not listed, and hash functions change.
    """
    rng, symbols, rest = generator(f"changes {before} {after} {level}"), [], []
    for _ in range(repeats):
        survey = dn.orr(epsilon=3, cells=20, cohorts=10, seed=rng.bytes(16))
        windows = [
            dn.simulate(survey, [missing, 1 - missing], 10**6, rng, symbols=["unlisted", 0])
            for missing in (before, after)
        ]
        change = dn.difference(*dn.decode_all(windows, candidates=range(8), constraint=PLAIN))
        low, high = change.intervals(level)[int(rng.integers(1, 8))]
        symbols.append(bool(low <= 0 <= high))
        assert change.unallocated is not None
        low, high = change.unallocated.interval(level)
        rest.append(bool(low <= before - after <= high))
    return symbols, rest


def idle(covered: list[bool], level: float) -> float:
    """How likely so many are if coverage is eight points above the level, or worse: intervals that say nothing."""
    return float(bdtrc(sum(covered) - 1, len(covered), level + 0.08))


def test_differences_of_one_survey_do_not_count_what_cancels(monkeypatch: pytest.MonkeyPatch) -> None:
    """More than half is unlisted on both days; the mutant adds what each day says about it."""
    for found in changes(0.6, 0.6, 300, 0.5):
        accept("coverage", idle(found, 0.5))
        accept("coverage", short(found, 0.5))
    monkeypatch.setattr(Difference, "_misfit", None)
    for found in changes(0.6, 0.6, 100, 0.5):
        reject("coverage", idle(found, 0.5))


def test_differences_cover_what_changes_among_the_unlisted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutant takes for granted that nothing does."""
    for found in changes(0.6, 0.3, 300, 0.95):
        accept("coverage", short(found, 0.95))
    monkeypatch.setattr(Misfit, "unlisted", 0.0)
    for found in changes(0.6, 0.3, 100, 0.95):
        reject("coverage", short(found, 0.95))
