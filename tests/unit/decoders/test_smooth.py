"""The smooth decoder: smooth where the population is, sharp where it is not, and total in every corner."""

import numpy as np
import numpy.typing as npt
import pytest

import deniable as dn
from deniable.decoders.smooth import smooth_shares
from deniable.matrices import NeighbourDesign, design_of


def decoded(p: npt.ArrayLike, epsilon: float, n: int, seed: int = 0) -> npt.NDArray[np.float64]:
    survey = dn.ordered(len(np.asarray(p)), epsilon)
    return dn.decode(dn.simulate(survey, p, n=n, rng=np.random.default_rng(seed))).probabilities


def apart(found: npt.NDArray[np.float64], p: npt.NDArray[np.float64]) -> float:
    return float(np.abs(np.cumsum(found - p)).max())


def test_a_point_is_found_as_one() -> None:
    p = np.zeros(200)
    p[71] = 1.0
    assert decoded(p, 2, 20_000)[71] > 0.95


def test_a_uniform_population_stays_flat() -> None:
    p = np.full(256, 1 / 256)
    assert apart(decoded(p, 1, 100_000), p) < 0.02


def test_spikes_on_a_smooth_ground_are_both_there() -> None:
    x = np.arange(128)
    p = 0.6 * np.exp(-0.5 * ((x - 60) / 20) ** 2)
    p /= p.sum() / 0.6
    p[40] += 0.4
    found = decoded(p, 3, 10**6)
    assert abs(found[40] - p[40]) < 0.03
    assert apart(found, p) < 0.02


def test_it_is_far_better_than_projected_least_squares_and_is_the_default() -> None:
    x = np.arange(256) / 256
    p = x**4 * (1 - x)
    p /= p.sum()
    survey = dn.number(0, 1, 1, bins=256)
    tally = dn.simulate(survey, p, n=50_000, rng=np.random.default_rng(1))
    ours, plain = (dn.decode(tally, decoder=d).probabilities for d in (None, dn.WeightedLeastSquares()))
    assert apart(ours, p) < 0.3 * apart(plain, p)
    assert isinstance(dn.decode(tally).decoder, dn.EmpiricalBayes)


@pytest.mark.parametrize("size", [2, 3, 5, 6, 63, 64, 65, 300])
@pytest.mark.parametrize("n", [1, 2, 50, 10**17])
def test_shares_add_up_and_are_not_negative_whatever_the_counts(size: int, n: int) -> None:
    survey = dn.ordered(size, 1)
    p = np.random.default_rng(size).dirichlet(np.ones(size))
    found = dn.decode(dn.simulate(survey, p, n=n, rng=np.random.default_rng(n % 97))).probabilities
    assert found.sum() == pytest.approx(1)
    assert (found >= 0).all()


def test_all_reports_in_one_cell() -> None:
    survey = dn.ordered(40, 2)
    counts = np.zeros((1, survey.cells), np.int64)
    counts[0, 7] = 1000
    design = design_of(survey)
    assert isinstance(design, NeighbourDesign)
    found = smooth_shares(dn.Tally(survey, counts), design)
    assert np.isfinite(found).all()
    assert found.sum() == pytest.approx(1)
