"""Error bars of solved estimates: against dense matrices, beyond the size where those may stay, and their refusals."""

import numpy as np
import pytest

import deniable as dn
from deniable.decoders import least_squares, spread
from deniable.decoders.base import unbias
from deniable.decoders.rows import EstimateRows
from deniable.matrices import OpenDesign, lookup
from deniable.survey import Survey
from tests.surveys import LARGE, SEED, named, symbols_of

SOLVED = {name: survey for name, survey in LARGE.items() if name.startswith("o") and survey.cohorts > 1}


def decoded(survey: Survey, *, per_cohort: bool = True, seed: int = 3, complete: bool = False) -> dn.Estimate:
    """Forty answers of which three are not on the list where it need not be complete."""
    tally = dn.simulate(survey, dn.lab.zipf(40, 1), 20_000, np.random.default_rng(seed), **named(survey, 40))
    candidates = symbols_of(survey, 40)[3:] if survey.symbols is None else None
    return dn.decode(tally, candidates=candidates, decoder=dn.LeastSquares(per_cohort=per_cohort), complete=complete)


def numbers(estimate: dn.Estimate, other: dn.Estimate) -> list[np.ndarray]:
    """All that is said about an estimate's errors, and about its difference from another."""
    masses = [estimate.total(estimate.symbols[2:9]), estimate.unallocated]
    found: list[np.ndarray] = [estimate.standard_errors, estimate.intervals(0.9, simultaneous=True)]
    found += [np.array([mass.standard_error, *mass.interval()]) for mass in masses if mass is not None]
    found += [estimate.significant(), np.array([estimate.rank, estimate.diagnostics.influence])]
    change = dn.difference(estimate, other)
    return [*found, change.standard_errors, change.intervals(simultaneous=True), change.changed()]


@pytest.fixture
def nothing_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """All lists are as if they were longer than a matrix that may stay in memory."""
    monkeypatch.setattr(spread, "_KEPT_AT_MOST", 3)
    monkeypatch.setattr(least_squares, "_FACTOR_ALWAYS", 3)
    monkeypatch.setattr(least_squares, "_FACTOR_AT_MOST", 3)
    lookup._CACHE.clear()  # or factors would be there already


@pytest.mark.parametrize("per_cohort", [True, False])
@pytest.mark.parametrize("complete", [True, False])
@pytest.mark.parametrize("survey", SOLVED.values(), ids=SOLVED)
def test_variances_are_the_diagonal_of_the_dense_covariance(survey: Survey, complete: bool, per_cohort: bool) -> None:
    """And a total's is the sum over its part: the way that used to be taken."""
    estimate = decoded(survey, per_cohort=per_cohort, complete=complete)
    system = estimate.fit.system
    gram = np.linalg.inv(system.gram)
    scores = estimate.fit.law.scores(estimate.tally, system, per_cohort=per_cohort)
    covariance = gram @ (scores.matrix() + estimate.fit.spread.noise(system)) @ gram
    assert (estimate.fit.spread.unlisted > 0) == (survey.symbols is None and not complete)
    np.testing.assert_allclose(estimate.fit.spread.variances, np.diag(covariance), rtol=1e-9)
    np.testing.assert_allclose(estimate.fit.covariance, covariance, rtol=1e-9, atol=1e-9 * np.abs(covariance).max())
    inside = np.zeros(system.symbols)
    inside[2:9] = 1.0
    total = estimate.total(estimate.symbols[2:9])
    assert total.standard_error**2 == pytest.approx(float(inside @ covariance @ inside), rel=1e-9)
    if estimate.unallocated is not None:
        assert estimate.unallocated.standard_error**2 == pytest.approx(covariance[-1, -1], rel=1e-9)


@pytest.mark.parametrize("per_cohort", [True, False])
@pytest.mark.parametrize("name", [name for name, survey in SOLVED.items() if survey.symbols is None])
def test_unlisted_answers_are_seen_by_what_the_residuals_vary_more(name: str, per_cohort: bool) -> None:
    """Q by its definition, with H and the projection on what it explains as dense matrices."""
    estimate = decoded(SOLVED[name], per_cohort=per_cohort)
    design, law, tally = estimate.fit.system, estimate.fit.law, estimate.tally
    assert isinstance(design, OpenDesign)
    k, r = design.cells, float(tally.survey.mechanism.hit - tally.survey.mechanism.miss)
    h = np.stack([design.forward(unit).ravel() for unit in np.eye(design.symbols)], axis=1)
    left = np.eye(len(h)) - h @ np.linalg.pinv(h)
    within = np.kron(np.eye(design.cohorts), np.ones((k, k)))
    apart = (design.level - design.both) * np.eye(len(h)) + (design.both - design.level**2) * within
    m = law.columns
    each = m * (1 - m) * law.inverse[:, None] if per_cohort else (design.cohorts * m - m**2) / tally.n
    scores = law.scores(tally, design, per_cohort=per_cohort).matrix()
    own = each.sum() / r**2 - np.trace(np.linalg.inv(h.T @ h) @ scores)
    residual = left @ unbias(tally, per_cohort=per_cohort).ravel()
    expected = (residual @ residual - own) / np.trace(left @ apart)
    assert estimate.fit.spread.unlisted == pytest.approx(expected, rel=1e-9)
    assert expected > 0


@pytest.mark.parametrize("survey", SOLVED.values(), ids=SOLVED)
def test_long_lists_have_the_same_errors(survey: Survey, request: pytest.FixtureRequest) -> None:
    """Beyond what may stay in memory nothing is kept, sums are iterated for, and all numbers are the same."""
    short = decoded(survey)
    assert not short.takes_minutes
    expected = numbers(short, decoded(survey, seed=4))
    request.getfixturevalue("nothing_stays")
    long = decoded(survey)
    assert long.takes_minutes
    for found, known in zip(numbers(long, decoded(survey, seed=4)), expected, strict=True):
        np.testing.assert_allclose(found, known, rtol=1e-8, atol=1e-12)
    assert 0.5 * long.condition < short.condition < long.condition * (1 + 1e-9)  # LAPACK's estimate is from below
    assert not long.fit.system.is_factored
    assert "gram" not in long.fit.system.__dict__
    with pytest.raises(
        dn.DecodeError,
        match=r"covariance must have at most 3 candidates, got \d+; standard_errors, intervals and total need no "
        "matrix",
    ):
        _ = long.covariance


@pytest.mark.usefixtures("nothing_stays")
def test_block_designs_have_errors_of_any_length() -> None:
    """Their closed forms need no matrix, for sums of symbols neither; least squares on one does."""
    survey = dn.krappor(symbols=40, epsilon=2)
    tally = dn.simulate(survey, dn.lab.zipf(40, 1), 20_000, np.random.default_rng(0))
    estimate = dn.decode(tally)
    assert not estimate.takes_minutes
    assert np.isfinite(estimate.total(range(5)).interval()).all()
    survey = dn.hadamard(symbols=40, epsilon=2, blocks=1)
    tally = dn.simulate(survey, dn.lab.zipf(40, 1), 20_000, np.random.default_rng(0))
    assert np.isfinite(dn.decode(tally).total(range(5)).interval()).all()
    with pytest.raises(
        dn.DecodeError,
        match="standard errors of least squares on a block design must have at most 3 candidates, got 40; "
        r"decode with Inversion\(\)",
    ):
        _ = dn.decode(tally, decoder=dn.LeastSquares()).standard_errors


@pytest.mark.usefixtures("nothing_stays")
def test_too_many_candidates_are_refused_with_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    short = dn.orr(epsilon=1, cells=4, cohorts=2, seed=SEED)  # 7 equations
    estimate = dn.decode(dn.Tally(short, [[1, 1, 1, 1], [1, 1, 1, 1]]), candidates=range(12), decoder=dn.LeastSquares())
    with pytest.raises(
        dn.DecodeError,
        match="candidates must number at most 3 where the reports do not determine all of them, got 12; "
        r"decode a shorter candidate list, or with Screening\(\)",
    ):
        _ = estimate.standard_errors
    monkeypatch.setattr(spread, "_AT_MOST", 20)
    with pytest.raises(
        dn.DecodeError,
        match="standard errors must have at most 20 candidates, got 40; "
        r"decode a shorter candidate list, or with Screening\(\)",
    ):
        _ = decoded(LARGE["orr-closed"]).standard_errors


@pytest.mark.usefixtures("nothing_stays")
def test_who_has_no_patience_gets_the_estimate_without_errors() -> None:
    estimate = decoded(LARGE["orr-closed"])
    rows = EstimateRows(estimate, patient=False)
    assert rows.problem == (
        "error bars must not take minutes here, got 40 candidates; decode the tally with the command line, or name "
        "fewer candidates"
    )
    assert "_spread" not in estimate.__dict__
    assert rows.to_json()["estimates"][0]["standard_error"] is None
    assert EstimateRows(estimate).problem is None
    assert EstimateRows(estimate).to_json()["estimates"][0]["standard_error"] > 0


def test_exact_least_squares_has_errors_as_far_as_it_reaches() -> None:
    """The list that `decode` still solves for at once is the longest that has error bars."""
    from deniable.decoders import decoding

    assert spread._AT_MOST == decoding._SCREENED_FROM == 20_000
