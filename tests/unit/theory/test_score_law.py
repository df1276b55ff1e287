"""The covariance of the unbiased frequencies, as a matrix and as the variance of one sum."""

import numpy as np
import pytest

import deniable as dn
from deniable.matrices import design_of
from deniable.survey import Survey
from deniable.theory.score_law import ScoreLaw
from tests.surveys import LARGE, SEED, symbols_of

LONG = {name: survey for name, survey in LARGE.items() if name.startswith("o") and survey.cohorts > 1}


def gamma(survey: Survey, h: np.ndarray, p: np.ndarray, m: np.ndarray) -> np.ndarray:
    """The covariance of one report of a cohort, from the law of one answer: H_c is `h`, shape (k, S)."""
    mechanism = survey.mechanism
    if mechanism.one_column:
        return np.diag(m) - np.outer(m, m)
    bits = float(mechanism.miss) + float(mechanism.hit - mechanism.miss) * h  # given the answer, independent
    found = np.asarray((bits * p) @ bits.T - np.outer(m, m))
    np.fill_diagonal(found, m * (1 - m))
    return found


@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize("background", [False, True])
@pytest.mark.parametrize("survey", LONG.values(), ids=LONG)
def test_a_variance_is_the_quadratic_form_of_the_matrix(survey: Survey, background: bool, joint: bool) -> None:
    design = design_of(survey, symbols_of(survey, 40), background=background and survey.symbols is None)
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(design.symbols))
    inverse, n = (None, 5000) if joint else (rng.random(survey.cohorts) / 100, None)
    law = ScoreLaw.of(design, survey.mechanism, p, inverse, n=n)
    found = law.matrix()
    np.testing.assert_allclose(found, found.T, rtol=1e-12)
    inside = rng.normal(size=design.symbols)
    expected = float(inside @ found @ inside)
    assert law.variance(design.forward(inside)) == pytest.approx(expected, rel=1e-9)


# With as little noise as there can be.
LOUD = LONG | {
    f"loud-{cells}": dn.orappor(symbols=40, epsilon=64, cells=cells, cohorts=6, hashes=2, seed=SEED) for cells in (2, 8)
}


@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize("survey", LOUD.values(), ids=LOUD)
def test_the_matrix_is_the_sum_over_cohorts_of_its_definition(survey: Survey, joint: bool) -> None:
    design = design_of(survey, symbols_of(survey, 40))
    h = np.stack([design.forward(unit) for unit in np.eye(40)], axis=-1)  # (C, k, S)
    rng = np.random.default_rng(0)
    p, weights, n = rng.dirichlet(np.ones(40)), rng.random(survey.cohorts) / 100, 5000
    miss, r = float(survey.mechanism.miss), float(survey.mechanism.hit - survey.mechanism.miss)
    m = miss + r * h @ p
    expected, total = np.zeros((40, 40)), np.zeros(40)
    for c in range(survey.cohorts):
        spread = gamma(survey, h[c], p, m[c])
        if joint:
            spread = survey.cohorts / n * (spread + np.outer(m[c], m[c]))
            total += h[c].T @ m[c]
        else:
            spread = weights[c] * spread
        expected += h[c].T @ spread @ h[c]
    if joint:
        expected -= np.outer(total, total) / n
    law = ScoreLaw.of(design, survey.mechanism, p, None if joint else weights, n=n if joint else None)
    np.testing.assert_allclose(law.matrix(), expected / r**2, rtol=1e-9, atol=1e-12 * np.abs(expected).max() / r**2)
