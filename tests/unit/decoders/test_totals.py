"""Sums of symbols, the family-wise test, and what an Arrow table holds of them."""

import itertools

import numpy as np
import pytest
from scipy.stats import beta

import deniable as dn
from deniable.decoders.intervals import _inverting
from deniable.matrices import BlockDesign
from deniable.survey import Survey
from tests.surveys import LARGE, SMALL, named, symbols_of


def decoded(survey: Survey, n: int = 20_000, **options: object) -> dn.Estimate:
    tally = dn.simulate(survey, dn.lab.zipf(40, 1), n, np.random.default_rng(3), **named(survey, 40))
    if survey.symbols is None:
        options["candidates"] = symbols_of(survey, 40)
    return dn.decode(tally, **options)  # type: ignore[call-overload,no-any-return]


@pytest.mark.parametrize("survey", LARGE.values(), ids=LARGE.keys())
def test_a_total_is_the_sum_with_its_own_error(survey: Survey) -> None:
    estimate = decoded(survey)
    some = [estimate.symbols[i] for i in (1, 4, 5)]
    total = estimate.total(some)
    assert total.raw == pytest.approx(estimate.raw[[1, 4, 5]].sum())
    assert total.value == pytest.approx(estimate.probabilities[[1, 4, 5]].sum())
    expected = np.sqrt(estimate.covariance[np.ix_([1, 4, 5], [1, 4, 5])].sum())
    assert total.standard_error == pytest.approx(expected, rel=1e-6)
    low, high = total.interval(0.95)
    assert low < total.raw < high
    assert (high - low) / (2 * 1.96 * expected) == pytest.approx(1, abs=0.04)
    # One symbol's total is that symbol, whatever the road.
    one = estimate.total([estimate.symbols[4]])
    np.testing.assert_allclose(one.interval(0.9), estimate.intervals(0.9)[4], atol=0.1 * one.standard_error)
    assert one.exact == (survey.title == "k-RR")
    assert repr(one).startswith("<Mass ")


@pytest.mark.parametrize("name", ["hadamard", "hadamard-blocks", "projective", "krappor"])
def test_weights_of_the_inverse_are_its_rows(name: str) -> None:
    estimate = decoded(LARGE[name])
    design = estimate.design
    assert isinstance(design, BlockDesign)
    rng = np.random.default_rng(0)
    inside, u = rng.random(40), rng.random((1, design.cells))
    assert float((_inverting(design, inside) * u).sum()) == pytest.approx(float(inside @ design.invert(u)))


def test_a_total_of_krr_is_exactly_binomial() -> None:
    survey = dn.krr(symbols=["a", "b", "c"], epsilon=1)
    estimate = dn.decode(dn.Tally(survey, [[600, 300, 100]]))
    total = estimate.total(["b", "c"])
    assert total.exact
    miss, r = float(survey.mechanism.miss), float(survey.mechanism.hit - survey.mechanism.miss)
    low, high = beta.ppf(0.025, 400, 601), beta.ppf(0.975, 401, 600)
    np.testing.assert_allclose(total.interval(), ((low - 2 * miss) / r, (high - 2 * miss) / r))
    whole = estimate.total("abc"[i] for i in range(3))
    assert whole.raw == pytest.approx(1)
    assert whole.interval()[1] == pytest.approx(1)


def test_totals_of_what_is_not_determined_are_infinite() -> None:
    survey = dn.orr(epsilon=3, cells=8, cohorts=1, seed=bytes(16))
    names = [f"name {i}" for i in range(12)]
    tally = dn.simulate(survey, np.full(12, 1 / 12), 10**5, np.random.default_rng(0), symbols=names)
    estimate = dn.decode(tally, candidates=names, complete=True)
    group = estimate.groups[0]
    assert estimate.total(group.symbols[:1]).interval() == (-np.inf, np.inf)
    together = estimate.total(group.symbols)
    assert together.standard_error == pytest.approx(group.standard_error)
    assert np.isfinite(together.interval()).all()


def test_totals_refuse_with_a_sentence() -> None:
    estimate = dn.decode(dn.Tally(dn.krr(symbols=["a", "b"], epsilon=1), [[6, 4]]))
    with pytest.raises(dn.DecodeError, match="symbols must be a collection of symbols, got one str"):
        estimate.total("a")
    with pytest.raises(dn.DecodeError, match="symbols must be a collection of symbols, got one int"):
        estimate.total(3)  # type: ignore[arg-type]
    with pytest.raises(dn.DecodeError, match="symbols must hold at least one symbol, got none"):
        estimate.total([])
    with pytest.raises(dn.DecodeError, match="symbol must be one of the 2 that were decoded"):
        estimate.total(["c"])


@pytest.mark.parametrize("survey", LARGE.values(), ids=LARGE.keys())
def test_significance_and_its_column(survey: Survey) -> None:
    estimate = decoded(survey, 10**6)
    marks = estimate.significant(0.95)
    assert marks.dtype == bool
    assert marks[0]
    table = estimate.to_arrow()
    rest = [] if survey.symbols is not None else [None]
    assert table.column("significant").to_pylist() == marks.tolist() + rest
    assert table.column("symbol").to_pylist() == [*estimate.names, *rest]
    if estimate.unallocated:
        last = [table.column(name)[-1].as_py() for name in ("probability", "raw", "standard_error", "low", "high")]
        mass = estimate.unallocated
        assert last == [mass.value, mass.raw, mass.standard_error, *mass.interval(0.95)]
    # What the simultaneous intervals keep above zero is significant: Holm rejects at least what Bonferroni does.
    low = estimate.intervals(0.9, simultaneous=True)[:, 0]  # two-sided at 90 % is one-sided at 95 %
    assert marks[low > 0].all()
    assert estimate.interval_kind == ("exact" if estimate._limits.exact else "approximate")
    alone = {"krr", "krappor", "oue", "subset", "projective", "projective-space"}
    kind = next(name for name, value in LARGE.items() if value is survey)
    if kind in alone:
        assert estimate.interval_kind == "exact"
    if kind.startswith("or") or kind == "hadamard-blocks":
        assert estimate.interval_kind == "approximate"


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 2, 30])
@pytest.mark.parametrize("survey", SMALL.values(), ids=SMALL.keys())
def test_a_handful_of_reports_has_limits_around_its_estimate(survey: Survey, n: int) -> None:
    """All answers alike, one to thirty reports: no NaN, no estimate outside its own interval, nothing that warns."""
    p = np.zeros(len(symbols_of(survey)))
    p[0] = 1.0
    tally = dn.simulate(survey, p, n, np.random.default_rng(n), **named(survey))
    decoders = (None, dn.LeastSquares(), dn.LeastSquares(per_cohort=False), dn.Likelihood())
    lists = (None,) if survey.symbols is not None else (symbols_of(survey), symbols_of(survey)[:1])
    for decoder, candidates in itertools.product(decoders, lists):
        estimate = dn.decode(tally, candidates=candidates, decoder=decoder)
        (low, high), raw = estimate.intervals(0.95).T, estimate.raw
        wide = estimate.intervals(0.95, simultaneous=True)
        assert np.all((wide[:, 0] <= low) & (low <= raw + 1e-9) & (raw <= high + 1e-9) & (high <= wide[:, 1]))
        for mass in (estimate.total(estimate.symbols[:2]), estimate.unallocated):
            if mass is not None:
                below, above = mass.interval(0.95)
                assert below <= mass.raw + 1e-9
                assert mass.raw <= above + 1e-9
        found = estimate.diagnostics
        assert 0 <= found.influence < np.inf
        assert str(found)
        assert all(0 <= test.p_value <= 1 for test in (found.fit, found.cohorts) if test is not None)
        assert not dn.difference(estimate, estimate).changed().any()
