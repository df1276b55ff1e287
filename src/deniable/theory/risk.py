"""The expected loss of a survey before anyone has answered: for every mechanism, from its realised probabilities.

The estimator is the unconstrained one: `Inversion` for k-RR and k-RAPPOR (the paper's empirical estimators) and for
every other block design, `LeastSquares` for O-RR and O-RAPPOR. A constraint such as `Projected` can only be simulated;
it does better on skewed populations. The loss is measured against p. The paper's simulations measure it against the
drawn sample instead, which takes the term (1 - sum p**2) / n out of the squared l2 loss.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from deniable.design import BlockDesign, design_of
from deniable.errors import DeniableError
from deniable.survey import Survey
from deniable.theory.arguments import Floats, count_of, distribution
from deniable.theory.covariance import inversion_variances, least_squares_moments
from deniable.theory.deviation import folded_normal_mean, mean_absolute_deviation

__all__ = ["l1_risk", "l2_risk"]


def l2_risk(
    survey: Survey,
    p: npt.ArrayLike,
    n: int,
    *,
    symbols: Sequence[object] | None = None,
    per_cohort: bool = True,
) -> float:
    """Expected squared l2 loss of the unconstrained estimate from n reports of a population p.

    `symbols` names the candidates that p is about, for an open alphabet. Candidates that cannot be told apart are
    estimated with a bias, whose square is part of the risk. `per_cohort` chooses the normalisation of `LeastSquares`.

    Paper: `prop:rr_perf`, `prop:rappor_perf`; for O-RR and O-RAPPOR the trace of the exact covariance.
    Claim: the mean loss of simulated surveys.
    Proof: tests/statistical/test_theory.py::test_survey_risks_are_the_simulated_ones

    >>> import deniable as dn
    >>> p = np.full(10, 0.1)
    >>> round(l2_risk(dn.krr(symbols=10, epsilon=1), p, 1000), 6)
    0.041858
    >>> survey = dn.orr(symbols=10, epsilon=1, cells=4, cohorts=64, seed=bytes(16))
    >>> 0.02 < l2_risk(survey, p, 1000) < 0.06
    True
    """
    bias, variance = _bias_and_variance(survey, p, n, symbols, per_cohort)
    return float(variance.sum() + bias @ bias)


def l1_risk(
    survey: Survey,
    p: npt.ArrayLike,
    n: int,
    *,
    exact: bool = False,
    symbols: Sequence[object] | None = None,
    per_cohort: bool = True,
) -> float:
    """Expected l1 loss of the unconstrained estimate from n reports of a population p.

    By default the paper's large-n formula: each error is taken as normal, with the exact bias and variance. `exact`
    gives the expectation itself at every n, for k-RR and k-RAPPOR, where each count is a binomial.

    Paper: `prop:rr_perf`, `prop:rappor_perf`.
    Claim: the exact value is the mean loss at every n; the ratio of the two tends to 1.
    Proof: tests/statistical/test_theory.py::test_exact_l1_is_the_simulated_risk_at_small_n

    >>> import deniable as dn
    >>> survey, p = dn.warner(epsilon=2), [0.2, 0.8]
    >>> round(l1_risk(survey, p, 10), 4), round(l1_risk(survey, p, 10, exact=True), 4)
    (0.2947, 0.3002)
    """
    if not exact:
        return float(folded_normal_mean(*_bias_and_variance(survey, p, n, symbols, per_cohort)).sum())
    _refuse_symbols(survey, symbols)
    design = design_of(survey, symbols)
    if not isinstance(design, BlockDesign) or design.blocks > 1:
        raise DeniableError(
            f"exact must be False for {survey.title}, got True; only where each symbol has its own cells in one "
            "block is the error of each estimate a binomial's"
        )
    means = design.adjoint(_column_means(survey, design, p))
    _, r = survey.mechanism.affine
    return float(mean_absolute_deviation(n, means).sum() / (n * r * design.distance))


def _bias_and_variance(
    survey: Survey, p: npt.ArrayLike, n: int, symbols: Sequence[object] | None, per_cohort: bool
) -> tuple[Floats, Floats]:
    people = count_of("n", n, 1)
    _refuse_symbols(survey, symbols)
    design = design_of(survey, symbols)
    if isinstance(design, BlockDesign):
        variances = inversion_variances(design, survey.mechanism, _column_means(survey, design, p), people)
        return np.zeros_like(variances), variances
    population = distribution(p, len(survey.alphabet) if symbols is None else len(symbols))
    mean, covariance = least_squares_moments(survey, population, people, symbols=symbols, per_cohort=per_cohort)
    return mean - population, np.maximum(np.diagonal(covariance), 0.0)


def _column_means(survey: Survey, design: BlockDesign, p: npt.ArrayLike) -> Floats:
    """m = miss + r H p, shape (1, b)."""
    miss, r = survey.mechanism.affine
    return miss + r * design.forward(distribution(p, design.symbols))


def _refuse_symbols(survey: Survey, symbols: Sequence[object] | None) -> None:
    Survey.check(survey)
    if survey.alphabet.is_open and symbols is None:
        raise DeniableError("symbols must be given for an open alphabet, got None; name the candidates that p is about")
    if not survey.alphabet.is_open and symbols is not None:
        raise DeniableError("symbols must not be given for a closed alphabet; give p over its symbols, in their order")
