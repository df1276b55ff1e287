"""Maximum likelihood against independent solvers, and its promised duality gaps."""

import numpy as np
import numpy.typing as npt
import pytest
from scipy.optimize import minimize

import deniable as dn
from deniable.decoders.cohort_likelihood import CohortLikelihood, maximize
from deniable.decoders.likelihood import composite_bits, water_fill
from deniable.matrices import design_of
from deniable.mechanisms import BitFlip
from tests.surveys import LARGE, SMALL, named, symbols_of


def test_hand_checked_water_filling() -> None:
    p = water_fill([420, 210, 160, 120, 90], 0.5)
    np.testing.assert_allclose(p, [131 / 158, 13 / 79, 1 / 158, 0, 0], atol=1e-15)


def test_water_filling_without_cuts_is_inversion() -> None:
    survey = dn.krr(symbols=4, epsilon=2)
    tally = dn.Tally(survey, [[400, 300, 200, 250]])
    ml = dn.decode(tally, decoder=dn.Likelihood(), constraint=dn.Unconstrained())
    inverted = dn.decode(tally, decoder=dn.Inversion(), constraint=dn.Unconstrained())
    np.testing.assert_allclose(ml.probabilities, inverted.probabilities, atol=1e-14)


def test_water_filling_needs_reports() -> None:
    with pytest.raises(dn.DecodeError, match="counts must hold at least one report"):
        water_fill([0, 0], 0.5)


@pytest.mark.parametrize("epsilon", [0.1, 1, 4, 10])
@pytest.mark.parametrize(
    "counts", [[700, 400, 350], [0, 0, 0], [1000, 1000, 1000], [1, 999, 500], [0, 0, 1], [1000, 0, 0]]
)
def test_composite_bits_closes_the_gap(epsilon: float, counts: list[int]) -> None:
    mechanism = dn.krappor(symbols=3, epsilon=epsilon).mechanism
    hit, miss = float(mechanism.hit), float(mechanism.miss)
    p, gap = composite_bits(counts, 1000, hit, miss)
    assert gap <= 1e-9
    assert p.min() >= 0
    assert p.sum() == pytest.approx(1, abs=1e-12)

    def loss(q: npt.NDArray[np.float64]) -> float:
        m = miss + (hit - miss) * q
        return -float((np.array(counts) * np.log(m) + (1000 - np.array(counts)) * np.log1p(-m)).sum())

    for start in (np.full(3, 1 / 3), np.array([0.8, 0.1, 0.1])):
        other = minimize(
            loss, start, bounds=[(0, 1)] * 3, constraints={"type": "eq", "fun": lambda q: q.sum() - 1}, method="SLSQP"
        )
        feasible = np.maximum(other.x, 0) / np.maximum(other.x, 0).sum()  # SLSQP keeps the sum only to 1e-7
        assert loss(p) <= loss(feasible) * (1 + 1e-12)


def test_composite_bits_at_a_thousand_symbols() -> None:
    survey = dn.krappor(symbols=1000, epsilon=2)
    tally = dn.simulate(survey, dn.lab.zipf(1000, 1), 10**6, np.random.default_rng(0))
    mechanism = survey.mechanism
    p, gap = composite_bits(tally.counts[0], tally.n, float(mechanism.hit), float(mechanism.miss))
    assert gap <= 1e-9
    assert p.sum() == pytest.approx(1)


def kkt(tally: dn.Tally, p: npt.NDArray[np.float64], symbols: tuple[object, ...] | None) -> tuple[float, float]:
    """By plain dense algebra: the spread of the gradient on the support, and how far it is undercut elsewhere."""
    survey = tally.survey
    names = symbols_of(survey, len(p)) if symbols is None else symbols
    h = np.zeros((survey.cohorts, survey.cells, len(p)))
    for cohort in range(survey.cohorts):
        for place, symbol in enumerate(names):
            h[cohort, list(survey.encode(cohort, symbol)), place] = 1
    hit, miss = float(survey.mechanism.hit), float(survey.mechanism.miss)
    m = miss + (hit - miss) * (h @ p)
    slope = tally.counts / m
    if isinstance(survey.mechanism.permanent, BitFlip):
        slope -= (tally.reports[:, None] - tally.counts) / (1 - m)
    gradient = (hit - miss) * np.einsum("cks,ck->s", h, slope) / tally.n
    support = p > 1e-12
    level = float(gradient @ p)
    return float(np.abs(gradient[support] - level).max()), float((gradient - level).max())


@pytest.mark.parametrize("population", ["geometric", "zipf"])
@pytest.mark.parametrize("name", [name for name in LARGE if name.startswith("or")])
def test_cohort_likelihood_is_stationary(name: str, population: str) -> None:
    survey = LARGE[name]
    p = dn.lab.geometric(40, 8) if population == "geometric" else dn.lab.zipf(40, 2)
    tally = dn.simulate(survey, p, 50_000, np.random.default_rng(4), **named(survey, 40))
    candidates = symbols_of(survey, 40) if survey.symbols is None else None
    found = dn.decode(
        tally, candidates=candidates, decoder=dn.Likelihood(), constraint=dn.Unconstrained(), complete=True
    )
    spread, undercut = kkt(tally, found.probabilities, candidates)
    assert spread < 1e-10
    assert undercut < 1e-10
    # A solution that is one part in ten thousand off does not pass for one.
    wrong = found.probabilities * np.where(np.arange(40) % 2, 1.0001, 0.9999)
    assert kkt(tally, wrong / wrong.sum(), candidates)[0] > 1e-7


def test_orr_with_one_cohort_is_water_filling() -> None:
    orr = dn.orr(symbols=12, epsilon=1, cells=12, cohorts=1, seed=bytes(16))
    krr = dn.krr(symbols=12, epsilon=1)
    counts = np.random.default_rng(0).multinomial(3000, dn.lab.zipf(12, 2))
    order = [orr.encode(0, s)[0] for s in range(12)]
    permuted = np.zeros((1, 12), np.int64)
    permuted[0, order] = counts
    a = dn.decode(dn.Tally(orr, permuted), decoder=dn.Likelihood()).probabilities
    b = dn.decode(dn.Tally(krr, counts[None]), decoder=dn.Likelihood()).probabilities
    np.testing.assert_allclose(a, b, atol=1e-10)


def test_an_impossible_tolerance_is_said_so() -> None:
    survey = LARGE["orr-closed"]
    tally = dn.simulate(survey, dn.lab.zipf(40, 1), 10_000, np.random.default_rng(0))
    with pytest.raises(dn.DecodeError, match=r"likelihood must converge to a relative gap of -1, got .*; raise"):
        maximize(CohortLikelihood(tally, design_of(survey)), np.full(40, 1 / 40), -1.0)  # rounding may close it to 0
    with pytest.raises(dn.DecodeError, match="likelihood must converge to a gap of -1, got"):
        composite_bits([700, 400, 350], 1000, 0.73, 0.27, tolerance=-1.0)


def test_likelihood_beats_projection_in_likelihood() -> None:
    for name in ("orr-closed", "krr"):
        survey = LARGE[name]
        tally = dn.simulate(survey, dn.lab.zipf(40, 1), 20_000, np.random.default_rng(1))
        likelihood = CohortLikelihood(tally, design_of(survey))
        values = [
            likelihood.value(likelihood.design.forward(dn.decode(tally, decoder=d).probabilities))
            for d in (dn.Likelihood(), dn.LeastSquares())
        ]
        assert values[0] <= values[1]


def test_warner_likelihood_is_the_clipped_share() -> None:
    tally = dn.Tally(SMALL["warner"], [[900, 100]])
    np.testing.assert_allclose(dn.decode(tally, decoder=dn.Likelihood()).probabilities, [1, 0], atol=1e-15)
