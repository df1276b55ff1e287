"""The background column: what an unlisted answer looks like on average, and the mass that it is given."""

import numpy as np
import pytest

import deniable as dn
from deniable.matrices import OpenDesign, design_of
from deniable.survey import Survey
from deniable.theory.score_law import ScoreLaw

NAMES = [f"name {i}" for i in range(30)]
SURVEYS = {
    "orr": dn.orr(epsilon=3, cells=5, cohorts=12, seed=bytes(16)),
    "orr-sparse": dn.orr(epsilon=5, cells=64, cohorts=4, seed=bytes(16)),
    "orappor": dn.orappor(epsilon=3, cells=9, cohorts=6, hashes=1, seed=bytes(16)),
    "bloom": dn.orappor(epsilon=4, cells=12, cohorts=6, hashes=3, seed=bytes(16)),
}


def both(survey: Survey) -> tuple[OpenDesign, np.ndarray]:
    design = design_of(survey, NAMES, background=True)
    assert isinstance(design, OpenDesign)
    h = np.zeros((survey.cohorts, survey.cells, 31))
    for cohort in range(survey.cohorts):
        for place, name in enumerate(NAMES):
            h[cohort, list(survey.encode(cohort, name)), place] = 1
    h[:, :, 30] = 1 - (1 - 1 / survey.cells) ** survey.hashes
    return design, h


@pytest.mark.parametrize("survey", SURVEYS.values(), ids=SURVEYS)
def test_products_are_those_of_the_matrix_with_one_more_column(survey: Survey) -> None:
    design, h = both(survey)
    rng = np.random.default_rng(0)
    p, v, w = rng.random(31), rng.random((2, *h.shape[:2])), rng.random(h.shape[:2])
    flat = h.reshape(-1, 31)
    assert design.symbols == 31
    np.testing.assert_allclose(design.forward(p), h @ p)
    np.testing.assert_allclose(design.adjoint(v), v.reshape(2, -1) @ flat)
    np.testing.assert_allclose(design.adjoint(v[0]), v[0].ravel() @ flat)
    np.testing.assert_allclose(design.weighted_gram(w), flat.T @ (w.ravel()[:, None] * flat))
    np.testing.assert_allclose(design.gram, flat.T @ flat)
    np.testing.assert_allclose(design.cohort_scores(w), np.einsum("cks,ck->sc", h, w))
    assert design.factor.rank == np.linalg.matrix_rank(flat)
    kept = np.arange(survey.cohorts) != 1
    part = design.only(kept)
    np.testing.assert_allclose(part.forward(p), (h @ p)[kept])
    assert design.only(np.ones(survey.cohorts, bool)) is design
    assert design.is_sparse == (survey.cells == 64)
    assert design_of(survey, NAMES, background=True) is design
    assert design_of(survey, NAMES).symbols == 30


@pytest.mark.parametrize("name", ["orr", "orappor", "bloom"])
def test_the_column_is_the_average_of_unlisted_answers(name: str) -> None:
    survey = SURVEYS[name]
    cells = design_of(survey, [f"unlisted {i}" for i in range(4000)]).forward(np.full(4000, 1 / 4000))
    design, _ = both(survey)
    error = np.sqrt(design.level * (1 - design.level) / 4000)
    assert np.abs(cells - design.level).max() < 5 * error
    assert abs(cells.mean() - design.level) < 5 * error / np.sqrt(cells.size)


def test_two_cells_are_taken_together_as_often_as_the_covariance_says() -> None:
    """With h > 1 the covariance of bits of unlisted answers is that of many random answers."""
    survey, r = SURVEYS["bloom"], float(SURVEYS["bloom"].mechanism.hit - SURVEYS["bloom"].mechanism.miss)
    design, h = both(survey)
    alone = np.zeros(31)
    alone[-1] = 1.0
    inverse = np.full(survey.cohorts, 1e-3)
    found = ScoreLaw.of(design, survey.mechanism, alone, inverse).matrix()
    many = [f"unlisted {i}" for i in range(3000)]
    listed = design_of(survey, many)
    x = np.full(survey.cells, design.level)
    expected = np.zeros((31, 31))
    for c in range(survey.cohorts):
        patterns = listed._patterns(c)
        k = patterns.T @ patterns / len(many)
        np.fill_diagonal(k, design.level)
        m = float(survey.mechanism.miss) + r * x
        gamma = r**2 * (k - np.outer(x, x))
        np.fill_diagonal(gamma, m * (1 - m))
        expected += h[c].T @ gamma @ h[c] * 1e-3 / r**2
    np.testing.assert_allclose(found, expected, rtol=0.02, atol=0.02 * np.abs(expected).max())


def test_what_is_missing_no_longer_leaks_into_the_candidates() -> None:
    """Two candidates of a hundred: without the background each gains (missing mass) / k, and projection hides it."""
    survey = dn.orr(epsilon=3, cells=8, cohorts=256, seed=bytes(16))
    names = [f"name {i}" for i in range(100)]
    tally = dn.simulate(survey, np.full(100, 0.01), 10**7, np.random.default_rng(0), symbols=names)
    leaky = dn.decode(tally, candidates=names[:2], complete=True)
    assert leaky.unallocated is None
    assert leaky.raw.min() > 0.1
    assert leaky.probabilities.sum() == pytest.approx(1)
    estimate = dn.decode(tally, candidates=names[:2])
    assert estimate.unallocated is not None
    np.testing.assert_allclose(estimate.raw, 0.01, atol=0.01)
    assert estimate.unallocated.raw == pytest.approx(1 - estimate.raw.sum(), abs=1e-9)
    assert estimate.unallocated.value == pytest.approx(0.98, abs=0.02)
    assert estimate.probabilities.sum() + estimate.unallocated.value == pytest.approx(1)


@pytest.mark.parametrize("per_cohort", [True, False])
def test_unallocated_is_one_minus_the_sum(per_cohort: bool) -> None:
    survey = SURVEYS["orr"]
    tally = dn.simulate(survey, np.full(30, 1 / 30), 5000, np.random.default_rng(1), symbols=NAMES)
    decoder = dn.LeastSquares(per_cohort=per_cohort)
    estimate = dn.decode(tally, candidates=NAMES[:20], decoder=decoder, constraint=dn.Unconstrained())
    assert estimate.unallocated is not None
    assert estimate.unallocated.raw == pytest.approx(1 - estimate.raw.sum(), abs=1e-9)
    assert estimate.unallocated.value == estimate.unallocated.raw
    total = np.sqrt(estimate.covariance.sum())
    assert estimate.unallocated.standard_error == pytest.approx(total, rel=1e-6)
    assert estimate.covariance.shape == (20, 20)


def test_a_rest_that_no_report_can_tell_from_the_candidates_is_not_determined() -> None:
    """Two cells and one cohort: two candidates that differ explain every tally."""
    survey = dn.orr(epsilon=3, cells=2, cohorts=1, seed=bytes(16))
    pair = ["a", "c"]
    assert len({survey.encode(0, name) for name in pair}) == 2
    estimate = dn.decode(dn.Tally(survey, [[700, 300]]), candidates=pair)
    assert estimate.unallocated is not None
    assert np.isinf(estimate.unallocated.standard_error)
    assert np.isinf(estimate.standard_errors).all()
    assert not estimate.unallocated.is_determined
    assert repr(estimate.unallocated).endswith("(not determined by the reports)>")
    assert np.isfinite(dn.decode(dn.Tally(survey, [[700, 300]]), candidates=pair, complete=True).standard_errors).all()


def test_what_is_not_determined_is_said_without_the_variances_of_all_candidates() -> None:
    """More candidates than equations: finding all variances took half a minute, to answer -inf to inf."""
    survey, names = dn.orr(epsilon=3, cells=8, cohorts=20, seed=bytes(16)), list(range(300))
    tally = dn.simulate(survey, dn.lab.zipf(300, 1), 10_000, np.random.default_rng(0), symbols=names)
    estimate = dn.decode(tally, candidates=names)
    assert estimate.unallocated is not None
    assert estimate.unallocated.interval() == (-np.inf, np.inf)
    assert "_spread" not in estimate.__dict__
