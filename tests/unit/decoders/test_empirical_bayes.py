"""The prior that is learned from the estimates, the posterior, and the decoder made of them."""

from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import deniable as dn
from deniable.decoders import prior, propagation, shrinkage
from deniable.decoders.base import Decoder
from deniable.decoders.empirical_bayes import shrink
from deniable.decoders.guard import no_worse
from deniable.decoders.normal_equations import Belief, Dense, Random
from deniable.decoders.posterior import Posterior, spike_and_slab
from deniable.decoders.prior import Observations, posterior
from deniable.decoders.simplex import project
from deniable.decoders.tuned_constants import EmpiricalBayesSettings
from deniable.matrices import design_of

Floats = npt.NDArray[np.float64]


def noisy(p: Floats, deviation: float, seed: int = 0) -> Observations:
    error = np.random.default_rng(seed).normal(0, deviation, len(p))
    return Observations(p + error - error.mean(), np.full(len(p), deviation**2), 0.0)


def l1(found: Floats, p: Floats) -> float:
    return float(np.abs(found - p).sum())


def test_posterior_is_that_of_a_known_prior() -> None:
    """Two sizes of shares, well apart: the posterior of each is the one a person who knew them would have."""
    p = np.repeat([0.001, 0.01], [600, 40])
    seen = noisy(p, 0.002)
    found = posterior(seen).means
    odds = 40 / 600 * np.exp((-((seen.values - 0.01) ** 2) + (seen.values - 0.001) ** 2) / (2 * 0.002**2))
    known = 0.001 + 0.009 * odds / (1 + odds)
    plain = l1(project(seen.values), p)
    assert np.abs(found - known).max() < 0.003
    assert l1(found, known) < 0.2 * plain
    assert l1(found, p) < 0.25 * plain


def test_masses_add_up_and_moments_are_theirs() -> None:
    known = posterior(noisy(dn.lab.zipf(100, 1), 0.003))
    np.testing.assert_allclose(known.masses.sum(axis=1) + known.zero, 1, rtol=1e-12)
    assert (known.masses >= 0).all()
    assert (known.variances > 0).all()
    by_hand = Posterior(np.array([[1.0, 3.0]]), np.array([[0.25, 0.25]]), np.array([0.5]))
    assert by_hand.means == pytest.approx([1.0])
    assert by_hand.variances == pytest.approx([0.25 + 9 * 0.25 - 1])


def test_quantiles_have_one_level_and_the_sum() -> None:
    places = np.tile(np.linspace(0.01, 1, 100), (3, 1)) * np.array([[0.1], [0.4], [1.0]])
    known = Posterior(places, np.full((3, 100), 0.01), np.zeros(3))
    found = known.quantiles(1.0)
    assert found.sum() == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(found / found[2], [0.1, 0.4, 1.0], rtol=1e-6)
    nothing = Posterior(places, np.zeros((3, 100)), np.ones(3))
    np.testing.assert_allclose(nothing.quantiles(0.6), [0.2, 0.2, 0.2])


@pytest.mark.parametrize("slope", [0.0, 1e-5, 1e-3, -1e-6])
def test_log_likelihood_has_the_stated_moments(slope: float) -> None:
    """Its curvature at the observation is one over the variance base + slope x."""
    x = np.array([0.02])
    seen = Observations(x, np.array([4e-6]), slope)
    step = 1e-6
    around = seen.log_likelihood(x[:, None] + np.array([[-step, 0.0, step]]))[0]
    bend = (around[0] - 2 * around[1] + around[2]) / step**2
    assert -1 / bend == pytest.approx(4e-6 + slope * 0.02, rel=2e-2 if slope <= 0 else 1e-3)


def test_few_counts_are_poisson() -> None:
    """Three reports seen where two were noise: the likelihood of the share is that of a Poisson count."""
    n, miss = 1000, 0.002
    seen = Observations(np.array([3 / n - miss]), np.array([miss / n]), 1 / n)
    shares = np.array([[0.0, 0.001, 0.005]])
    count = 3 * np.log(n * (miss + shares)) - n * (miss + shares)
    np.testing.assert_allclose(np.diff(seen.log_likelihood(shares)), np.diff(count), rtol=1e-9)
    below = Observations(np.array([-0.01]), np.array([miss / n]), 1 / n)  # less than any count gives
    np.testing.assert_allclose(np.diff(below.log_likelihood(shares)), -n * np.diff(shares), rtol=1e-9)


def test_nothing_but_the_data_decides() -> None:
    seen = noisy(dn.lab.geometric(300, 60), 0.004)
    order = np.random.default_rng(1).permutation(300)
    turned = Observations(seen.values[order], seen.base[order], seen.slope)
    np.testing.assert_allclose(shrink(turned), shrink(seen)[order], atol=1e-12)
    assert (prior._fixed_orders(50, 4) == prior._fixed_orders(50, 4)).all()
    assert len({tuple(row) for row in prior._fixed_orders(50, 4).tolist()}) == 4
    assert sorted(prior._fixed_orders(50, 4)[3].tolist()) == list(range(50))


def test_max_projected_symbols_are_projected_and_more_are_not() -> None:
    for size in (2, 4):
        seen = noisy(dn.lab.zipf(size, 1), 0.1)
        np.testing.assert_array_equal(shrink(seen), project(seen.values))
        assert not dn.EmpiricalBayes().learns(size)
    five = noisy(np.array([1.0, 0, 0, 0, 0]), 0.05)
    assert l1(shrink(five), project(five.values)) > 0
    assert dn.EmpiricalBayes().learns(5)


@pytest.mark.parametrize("loss", ["l1", "l2"])
@pytest.mark.parametrize("size", [9, 100, 3000])
def test_answers_are_distributions(size: int, loss: str) -> None:
    for total in (1.0, 0.3):
        found = shrink(noisy(total * dn.lab.zipf(size, 1), 0.01), loss, total)
        assert found.min() >= 0
        assert found.sum() == pytest.approx(total, abs=1e-9)
    assert not shrink(noisy(np.zeros(size), 0.01), loss, 0.0).any()


def test_loss_must_be_known() -> None:
    with pytest.raises(dn.DecodeError, match=r"^loss must be 'l1' or 'l2', got 'l3'$"):
        dn.EmpiricalBayes("l3")


def test_it_is_the_default_and_error_bars_stay_those_of_the_unbiased_estimate() -> None:
    survey = dn.subset(symbols=40, epsilon=1)
    tally = dn.simulate(survey, dn.lab.zipf(40, 1), 10**5, np.random.default_rng(0))
    default, plain = dn.decode(tally), dn.decode(tally, constraint=dn.Projected())
    assert default.decoder == dn.EmpiricalBayes()
    assert plain.decoder == dn.Inversion()
    np.testing.assert_array_equal(default.raw, plain.raw)
    np.testing.assert_array_equal(default.intervals(), plain.intervals())
    hashed = dn.orr(epsilon=2, cells=8, cohorts=64, seed=bytes(16))
    tally = dn.simulate(hashed, dn.lab.zipf(40, 1), 10**5, np.random.default_rng(0), symbols=range(40))
    default, plain = (dn.decode(tally, candidates=range(40), constraint=c) for c in (None, dn.Projected()))
    assert plain.decoder == dn.LeastSquares()
    np.testing.assert_array_equal(default.intervals(), plain.intervals())


@pytest.mark.parametrize(("cells", "cohorts"), [(8, 32), (8, 40), (2, 200)])
def test_a_few_common_answers_are_found_with_fewer_equations_than_symbols(cells: int, cohorts: int) -> None:
    """Least squares has its worst error here; the belief that most shares are small makes up for the equations."""
    p = dn.lab.zipf(256, 2)
    survey = dn.orr(symbols=256, epsilon=4, cells=cells, cohorts=cohorts, seed=bytes(16))
    tally = dn.simulate(survey, p, 10**6, np.random.default_rng(2))
    plain = l1(dn.decode(tally, constraint=dn.Projected()).probabilities, p)
    assert l1(dn.decode(tally).probabilities, p) < 0.4 * plain


def test_what_no_candidate_explains_is_kept_apart() -> None:
    survey = dn.orr(epsilon=3, cells=16, cohorts=128, seed=bytes(16))
    p = dn.lab.zipf(60, 1)
    tally = dn.simulate(survey, p, 10**6, np.random.default_rng(3), symbols=range(60))
    some = dn.decode(tally, candidates=range(30))
    assert some.unallocated is not None
    assert some.unallocated.value == pytest.approx(p[30:].sum(), abs=0.04)
    assert some.probabilities.sum() + some.unallocated.value == pytest.approx(1, abs=1e-9)
    assert l1(some.probabilities, p[:30]) < 0.1
    every = dn.decode(tally, candidates=range(60))
    assert every.unallocated is not None
    assert every.unallocated.value < 0.02


def test_the_rest_is_nothing_unless_the_data_insist() -> None:
    none, _ = spike_and_slab(0.01, 0.02**2)
    some, spread = spike_and_slab(0.3, 0.02**2)
    assert none < 0.003
    assert some == pytest.approx(0.3, abs=1e-3)
    assert spread == pytest.approx(0.02**2, rel=1e-2)


def test_empty_cohorts_weigh_nothing() -> None:
    survey = dn.orr(symbols=30, epsilon=3, cells=8, cohorts=64, seed=bytes(16))
    tally = dn.simulate(survey, dn.lab.zipf(30, 1), 10**6, np.random.default_rng(4))
    counts, reports = tally.counts.copy(), tally.reports.copy()
    counts[::2], reports[::2] = 0, 0
    found = dn.decode(dn.Tally(survey, counts, reports))
    assert l1(found.probabilities, dn.lab.zipf(30, 1)) < 0.03


def test_cavities_without_beliefs_are_least_squares() -> None:
    survey = dn.orr(symbols=600, epsilon=2, cells=16, cohorts=256, seed=bytes(16))
    design = design_of(survey)
    p = dn.lab.geometric(600, 120)
    weights = np.ones((256, 16))
    right = design.adjoint(design.forward(p))
    nothing = Belief(np.zeros(600), np.zeros(600))
    dense = Dense(design.weighted_gram(weights), right)
    values, variances = dense.cavities(nothing)
    np.testing.assert_allclose(values, p, atol=1e-9)
    np.testing.assert_allclose(variances, np.diag(np.linalg.inv(design.gram)), rtol=1e-6)
    # The law of random matrices gives the same diagonal, nearly, with beliefs and without.
    seats = float(design.adjoint(weights).mean())
    overlap = (design.gram.sum() - np.trace(design.gram)) / (600 * 599) / seats
    random = Random(design, weights, right, overlap, 256 * 15)
    for belief in (nothing, Belief(np.full(600, 100.0), np.full(600, 100.0 / 600))):
        mean, spread = random._solved(belief)
        exact_mean, exact = dense._solved(belief)
        np.testing.assert_allclose(mean, exact_mean, atol=1e-6)
        np.testing.assert_allclose(spread.mean(), exact.mean(), rtol=0.01)
        np.testing.assert_allclose(spread, exact, rtol=0.06)


def test_large_systems_are_iterated_and_agree_with_small_ones() -> None:
    p = dn.lab.geometric(300, 60)
    survey = dn.orr(symbols=300, epsilon=2, cells=8, cohorts=128, seed=bytes(16))
    tally = dn.simulate(survey, p, 10**6, np.random.default_rng(5))
    dense = dn.decode(tally).probabilities
    iterated = dn.EmpiricalBayes(settings=EmpiricalBayesSettings(max_dense_unknowns=1))
    assert l1(dn.decode(tally, decoder=iterated).probabilities, dense) < 0.1 * l1(dense, p)


def test_like_candidates_do_not_drift_into_what_is_unallocated() -> None:
    """One heavy answer and 199 alike, whose sum looks like what no candidate explains: .89 after six rounds."""
    survey = dn.orr(epsilon=1.4, cells=5, cohorts=100, seed=bytes(16))
    p = np.append(0.3, np.full(199, 0.7 / 199))
    rng = np.random.default_rng(0)
    tallies = [dn.simulate(survey, p, n=100_000, rng=rng, symbols=range(200)) for _ in range(6)]
    assert max(l1(e.probabilities, p) for e in dn.decode_all(tallies, candidates=range(200))) < 0.2


def test_a_posterior_wider_than_its_cavity_gives_no_pull_but_its_mean() -> None:
    """Evenly spread shares, hardly any noise, crowded cohorts: 1.19 of weighted least squares, were it otherwise."""
    survey = dn.orr(symbols=50, epsilon=1.4, cells=5, cohorts=24, seed=bytes(16))
    p = np.arange(1.0, 51)
    p /= p.sum()
    rng = np.random.default_rng(1)
    tallies = [dn.simulate(survey, p, n=10**6, rng=rng) for _ in range(8)]
    ours, theirs = (
        np.mean([l1(e.probabilities, p) for e in dn.decode_all(tallies, decoder=decoder)])
        for decoder in (None, dn.WeightedLeastSquares())
    )
    assert ours < 1.03 * theirs


def on_a_ramp(symbols: int, n: int, tallies: int, seed: int, decoder: Decoder | None = None) -> float:
    """A decoder's loss on evenly spread shares, relative to the projected estimate's."""
    survey = dn.subset(symbols=symbols, epsilon=2)
    p = np.arange(1.0, symbols + 1)
    p /= p.sum()
    rng = np.random.default_rng(seed)
    drawn = [dn.simulate(survey, p, n=n, rng=rng) for _ in range(tallies)]
    ours, plain = (
        np.mean([l1(e.probabilities, p) for e in dn.decode_all(drawn, decoder=decoder)])
        for decoder in (decoder, dn.Inversion())
    )
    return float(ours / plain)


@pytest.mark.parametrize(("symbols", "n"), [(50, 10**7), (30, 10**5)])
def test_evenly_spread_shares_lose_little(symbols: int, n: int) -> None:
    """Where there is nothing to learn from the others; the mutant takes small promises at their word."""
    trusting = dn.EmpiricalBayes(settings=EmpiricalBayesSettings(min_saving=0.0))
    ours, mutant = (on_a_ramp(symbols, n=n, tallies=40, seed=4, decoder=decoder) for decoder in (None, trusting))
    assert ours < 1.012
    assert mutant - 1 > 2 * (ours - 1)


def test_max_projected_symbols_over_crowded_cohorts_lose_little() -> None:
    """Fewer equations than symbols, and few symbols: near least squares; the mutant believes in what it made up."""
    p = 1.0 + np.arange(12) / 12
    p /= p.sum()
    rng = np.random.default_rng(5)
    tallies = []
    for _ in range(12):
        survey = dn.orr(symbols=12, epsilon=1, cells=4, cohorts=2, seed=rng.bytes(16))
        tallies.append(dn.simulate(survey, p, n=10**6, rng=rng))

    def loss(decoder: Decoder | None = None) -> float:
        return float(np.mean([l1(dn.decode(tally, decoder=decoder).probabilities, p) for tally in tallies]))

    plain = min(loss(dn.LeastSquares()), loss(dn.WeightedLeastSquares()))
    assert loss() < 1.08 * plain
    assert loss(dn.EmpiricalBayes(settings=EmpiricalBayesSettings(max_doubted_symbols=0))) > 1.11 * plain


def test_one_cohort_decides_nothing_between_symbols_of_a_cell() -> None:
    """24 symbols in 21 cells: least squares shares a cell out evenly; the mutant lets beliefs choose one of them."""
    p = dn.lab.geometric(24, 24 / 5)
    rng = np.random.default_rng(1)
    ours: list[float] = []
    mutant: list[float] = []
    plain: list[float] = []
    for _ in range(8):
        survey = dn.orr(symbols=24, epsilon=3, cells=21, cohorts=1, seed=rng.bytes(16))
        tally = dn.simulate(survey, p, n=10**6, rng=rng)
        trusting = dn.EmpiricalBayes(settings=EmpiricalBayesSettings(crowded_from=9.0))
        for found, decoder in ((ours, None), (mutant, trusting), (plain, dn.WeightedLeastSquares())):
            found.append(l1(dn.decode(tally, decoder=decoder).probabilities, p))
    assert ours == pytest.approx(plain, rel=1e-9)
    assert np.mean(mutant) > 1.2 * np.mean(plain)


def test_the_answer_does_not_depend_on_how_symbols_are_numbered() -> None:
    seen = noisy(dn.lab.geometric(40, 8), 0.002)
    turned = np.random.default_rng(3).permutation(40)
    other = Observations(seen.values[turned], seen.base[turned], seen.slope)
    np.testing.assert_allclose(shrink(other), shrink(seen)[turned], atol=1e-9)


@pytest.mark.parametrize("times", [1, 30])
def test_levels_take_few_sums(times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also far below one half, where shares are believed to be much larger than their sum allows."""
    rng = np.random.default_rng(0)
    sums: list[float] = []
    shares = rng.dirichlet(np.full(500, 0.3)) * times
    known = posterior(Observations(shares + rng.normal(0, 1e-3, 500), np.full(500, 1e-6), 0.0))
    at = Posterior._at

    def counted(self: Posterior, level: float) -> tuple[Floats, Floats]:
        sums.append(level)
        return at(self, level)

    monkeypatch.setattr(Posterior, "_at", counted)
    level = known.level(1.0)
    assert len(sums) <= 20
    assert float(known.at(level).sum()) == pytest.approx(1, rel=1e-8)


def test_the_last_digit_moves_no_guard() -> None:
    """A belief in shares that are all too large expects the same l1 loss of every answer with one sum."""
    places = np.full((3, 1), 2.0)
    sure = Posterior(places, np.ones((3, 1)), np.zeros(3))
    found, projected = np.array([0.2, 0.3, 0.5]), np.array([0.3, 0.3, 0.4]) + 1e-14
    kept = no_worse(found, projected, [(1.0, sure)], lambda known: projected, "l1")
    np.testing.assert_array_equal(kept, found)


def test_rounds_whose_answer_is_thrown_away_are_not_guarded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer equations than candidates: twelve rounds, the last six are averaged. Only these are guarded."""
    calls = {"learned": 0, "no_worse": 0}

    def counted(module: ModuleType, name: str) -> None:
        wrapped = getattr(module, name)

        def call(*args: Any, **options: Any) -> Any:
            calls[name] += 1
            return wrapped(*args, **options)

        monkeypatch.setattr(module, name, call)

    counted(propagation, "learned")
    counted(shrinkage, "no_worse")
    survey, names = dn.orr(epsilon=2, cells=16, cohorts=40, seed=bytes(16)), list(range(700))
    tally = dn.simulate(survey, dn.lab.zipf(700, 1), 10**6, np.random.default_rng(0), symbols=names)
    dn.decode(tally, candidates=names)
    assert calls == {"learned": 12, "no_worse": 6}
