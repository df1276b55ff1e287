"""The expected l1 and squared l2 loss of a survey's unconstrained estimate: two numbers of `expected_loss`."""

from collections.abc import Sequence

import numpy.typing as npt

from deniable.errors import DeniableError
from deniable.matrices import BlockDesign, design_of
from deniable.survey import Survey
from deniable.theory.arguments import count_of, distribution
from deniable.theory.deviation import mean_absolute_deviation
from deniable.theory.loss import check_symbols, column_means, expected_loss


def l2_risk(
    survey: Survey,
    p: npt.ArrayLike,
    n: int,
    *,
    symbols: Sequence[object] | None = None,
    per_cohort: bool = True,
) -> float:
    """Expected squared l2 loss of the unconstrained estimate from n reports of a population p.

    Candidates that share all of their cells are estimated with a bias. Its square is part of the risk.

    Paper: `prop:rr_perf`, `prop:rappor_perf`; for O-RR and O-RAPPOR the trace of the exact covariance.
    Claim: the mean loss of simulated surveys.
    Proof: tests/statistical/test_theory.py::test_survey_risks_are_the_simulated_ones

    Parameters
    ----------
    survey : Survey
        The survey whose reports are decoded.
    p : array_like
        The population: one probability a symbol, which add up to one.
    n : int
        People, one report from each; at least 1.
    symbols : sequence of symbols, optional
        The candidates that p is about; only for an open alphabet.
    per_cohort : bool
        Whether `LeastSquares` divides counts by the reports of each cohort, or by n / C as in the paper.

    Returns
    -------
    float
        The expected squared Euclidean distance to p.

    Raises
    ------
    DeniableError
        If p does not fit the survey, or `symbols` is missing or superfluous.

    Examples
    --------
    >>> import deniable as dn, numpy as np
    >>> p = np.full(10, 0.1)
    >>> round(l2_risk(dn.krr(symbols=10, epsilon=1), p, 1000), 6)
    0.041858
    >>> survey = dn.orr(symbols=10, epsilon=1, cells=4, cohorts=64, seed=bytes(16))
    >>> 0.02 < l2_risk(survey, p, 1000) < 0.06
    True
    """
    Survey.check(survey)
    return expected_loss(survey, p, n, symbols=symbols, per_cohort=per_cohort).squared_l2


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

    By default this is the paper's large-n formula: each error is taken as normal, with the exact bias and variance. The
    exact expectation is available for k-RR and k-RAPPOR, where each count is binomial.

    Paper: `prop:rr_perf`, `prop:rappor_perf`.
    Claim: the exact value is the mean loss at every n; the ratio of the two tends to 1.
    Proof: tests/statistical/test_theory.py::test_exact_l1_is_the_simulated_risk_at_small_n

    Parameters
    ----------
    survey, p, n
        As for `l2_risk`.
    exact : bool
        Whether to compute the expectation itself at this n, in place of its limit for large n.
    symbols : sequence of symbols, optional
        The candidates that p is about; only for an open alphabet.
    per_cohort : bool
        Whether `LeastSquares` divides counts by the reports of each cohort, or by n / C as in the paper.

    Returns
    -------
    float
        The expected sum of absolute errors.

    Raises
    ------
    DeniableError
        If p does not fit the survey, `symbols` is missing or superfluous, or `exact` is asked of a survey without
        binomial counts.

    Examples
    --------
    >>> import deniable as dn
    >>> survey, p = dn.warner(epsilon=2), [0.2, 0.8]
    >>> round(l1_risk(survey, p, 10), 4), round(l1_risk(survey, p, 10, exact=True), 4)
    (0.2947, 0.3002)
    """
    Survey.check(survey)
    if not exact:
        return expected_loss(survey, p, n, symbols=symbols, per_cohort=per_cohort).l1
    people = count_of("n", n, 1)
    check_symbols(survey, symbols)
    design = design_of(survey, symbols)
    if not isinstance(design, BlockDesign) or design.blocks > 1:
        raise DeniableError(
            f"exact must be False for {survey.title}, got True; only where each symbol has its own cells in one "
            "block is the error of each estimate a binomial's"
        )
    means = design.adjoint(column_means(survey, design, distribution(p, design.symbols)))
    _, r = survey.mechanism.affine
    return float(mean_absolute_deviation(people, means).sum() / (people * r * design.distance))
