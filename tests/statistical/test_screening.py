"""Among 20,001 candidates nothing is found that is not there, and what is found is covered; and what would not be."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.special import bdtr, bdtrc, log_ndtr, ndtri

import deniable as dn
from deniable.decoders import ScreenedEstimate, robust, screening
from deniable.decoders.drawn import judged
from deniable.decoders.robust import RobustFit
from tests.statistical.harness import accept, generator, reject

pytestmark = pytest.mark.slow

NAMES = tuple(range(20_001))
TALLIES, SMALL = 10, 6.5e-4


def screened(tally: dn.Tally) -> ScreenedEstimate:
    found = dn.decode(tally, candidates=NAMES)
    assert isinstance(found, ScreenedEstimate)
    return found


# Cohorts, cells, reports, epsilon, hashes (0: O-RR), shares that are unlisted, shares that are listed.
FAMILIES = {
    "a heavy unlisted answer": (64, 32, 10**6, 3.0, 0, [0.5], []),
    "few reports": (64, 64, 3000, 4.0, 0, [0.1] * 5, [0.3]),
    "heavy on both sides": (64, 32, 10**7, 4.0, 0, [0.2], [0.1, 0.05]),
    "bits": (32, 64, 10**6, 4.0, 2, [0.3], [0.2]),
    # Least squares that took what it left for the noise of unlisted answers found something in every third tally here.
    "everything unlisted": (60, 16, 10**6, 4.0, 0, [1.0], []),
}


def too_many(case: str, tallies: int = TALLIES) -> float:
    """How likely so many tallies with a false discovery are, if one in twenty may have one (and a point more)."""
    cohorts, cells, n, epsilon, hashes, unlisted, listed = FAMILIES[case]
    rng, wrong = generator(f"screening {case}"), 0
    names = [f"unlisted {i}" for i in range(len(unlisted) + 1000)] + list(NAMES[: len(listed)])
    dust = np.full(1000, (1 - sum(unlisted) - sum(listed)) / 1000)
    shares = np.concatenate([unlisted, dust, listed])
    for _ in range(tallies):
        seed = rng.bytes(16)
        survey = dn.orr(epsilon=epsilon, cells=cells, cohorts=cohorts, seed=seed)
        if hashes:
            survey = dn.orappor(epsilon=epsilon, cells=cells, cohorts=cohorts, hashes=hashes, seed=seed)
        found = screened(dn.simulate(survey, shares, n, rng, symbols=names))
        wrong += bool((found.kept >= len(listed)).any())
        assert set(range(len(listed))) <= set(found.kept.tolist()) or case == "few reports"
        rest = found.unallocated
        assert rest is not None
        low, high = rest.interval(1 - 1e-9)
        assert low < high
        assert found.kept.size or low <= 1.0 <= high  # what nobody explains is everything
    return float(bdtrc(wrong - 1, tallies, 0.06)) if wrong else 1.0


@pytest.mark.parametrize("case", FAMILIES)
def test_nothing_is_found_that_is_not_there(case: str) -> None:
    accept("screening-family", too_many(case, 40 if case == "everything unlisted" else TALLIES))


def test_a_test_that_forgets_what_it_should_not_finds_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutants: no correction for the number of candidates; sums over drawn cells as if their law were normal; what a
    likelihood ratio says counted twice."""
    real = screening._Screen.__init__

    def one_by_one(self: screening._Screen, decoder: dn.Screening, *others: Any) -> None:
        real(self, decoder, *others)
        self.strict = 1 - decoder.level

    def normal(table: npt.NDArray[np.float64], statistic: float, draws: int, chance: float) -> tuple[float, float]:
        deviation = float(np.sqrt(draws * table.var(axis=1).sum()))
        return float(log_ndtr(-(statistic - draws * table.mean(axis=1).sum()) / deviation)), 0.0

    def twice(table: npt.NDArray[np.float64], statistic: float, draws: int, chance: float) -> tuple[float, float]:
        mean = draws * float(table.mean(axis=1).sum())
        return judged(table, mean + 2 * (statistic - mean), draws, chance)

    with monkeypatch.context() as patch:
        patch.setattr(screening._Screen, "__init__", one_by_one)
        reject("screening-family", too_many("heavy on both sides"))
    with monkeypatch.context() as patch:
        patch.setattr(screening, "judged", normal)
        patch.setattr(screening, "drawn_z", lambda table, sums, draws: sums / np.sqrt(table.var(axis=1).sum()))
        patch.setattr(screening._Plain, "rounds", 2)  # it would go on finding more
        patch.setattr(RobustFit, "suits", lambda tally: False)  # which would find them out
        reject("screening-family", too_many("a heavy unlisted answer"))
    with monkeypatch.context() as patch:
        patch.setattr(robust, "judged", twice)
        reject("screening-family", too_many("heavy on both sides"))


def around_the_threshold() -> list[tuple[ScreenedEstimate, npt.NDArray[np.float64]]]:
    """400 shares that are found one time in a few, and a few large ones: what is found of them is what was lucky."""
    rng, found = generator("screening coverage"), []
    truth = np.zeros(len(NAMES))
    truth[:400], truth[400:402] = SMALL, 0.05
    dust = np.full(3000, (1 - truth.sum()) / 3000)
    p, symbols = np.concatenate([truth[:402], dust]), [*NAMES[:402], *(f"dust {i}" for i in range(3000))]
    for _ in range(6):
        survey = dn.orr(epsilon=4, cells=64, cohorts=128, seed=rng.bytes(16))
        found.append((screened(dn.simulate(survey, p, 10**7, rng, symbols=symbols)), truth))
    return found


def short(inside: list[bool], level: float) -> float:
    """How likely so few are if coverage is two points below the level, or better."""
    return float(bdtr(sum(inside), len(inside), level - 0.02))


def test_intervals_of_what_was_kept_cover_and_plain_ones_do_not() -> None:
    tallies = around_the_threshold()
    for level in (0.9, 0.95):
        inside, plain, below = [], [], []
        for found, truth in tallies:
            kept = found.kept
            low, high = found.intervals(level).T
            inside += ((low <= truth) & (truth <= high))[kept].tolist()
            reach = -ndtri((1 - level) / 2) * found.standard_errors
            plain += (np.abs(found.raw - truth) <= reach)[kept].tolist()
            out = np.setdiff1d(np.flatnonzero(truth), kept)
            below += (truth <= high)[out].tolist()
        accept("screening-coverage", short(inside, level))
        accept("screening-coverage", short(below, level))
        reject("screening-coverage", short(plain, level))
