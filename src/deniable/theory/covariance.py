"""Exact mean and covariance of the least-squares estimators of O-RR and O-RAPPOR, for any population.

Write r = hit - miss, x_c = H_c p for the occupied cells of cohort c and m_c = miss + r x_c for its columns. One report
of cohort c is a random 0/1 vector with mean m_c and covariance Gamma_c:

    index reports   Gamma_c = diag(m_c) - m_c m_c'                                       (one column a report)
    bit reports     Gamma_c = diag(m_c (1 - m_c)) off-diagonal r**2 (K_c - x_c x_c')     (K_c = H_c diag(p) H_c')
    sets            the same, K_c = 0, plus a + b (x_i + x_j) off the diagonal: bits of one set exclude each other

The estimator is p_hat = G^+ H' u with G = H' H and u = (m_hat - miss) / r, so its mean is G^+ G p and its covariance
is G^+ M G^+ with M = Cov(H' u), computed here cohort by cohort without forming H:

    per cohort      m_hat_c = counts_c / n_c:      M = r**-2 sum_c H_c' Gamma_c H_c / n_c          (given the n_c)
    joint           m_hat_c = C counts_c / n:      M = C / (n r**2) (sum_c H_c' (Gamma_c + m_c m_c') H_c - a a' / C)
                                                   with a = H' m: the random cohort sizes add their own noise
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from deniable.errors import DecodeError
from deniable.matrices import BlockDesign, design_of
from deniable.mechanisms import Mechanism
from deniable.survey import Survey
from deniable.theory.arguments import count_of, distribution
from deniable.theory.score_law import ScoreLaw, excess_of

Floats = npt.NDArray[np.float64]


def least_squares_moments(
    survey: Survey,
    p: npt.ArrayLike,
    n: int,
    *,
    symbols: Sequence[object] | None = None,
    per_cohort: bool = True,
) -> tuple[Floats, Floats]:
    """Mean and covariance of the unconstrained least-squares estimate from n reports of a population p.

    With `per_cohort` the estimator divides each cohort's counts by that cohort's reports, and the covariance averages
    1 / n_c over the cohort sizes that n reports can have, given that no cohort is empty.

    Paper: `eq:rr_strings_regression`.
    Claim: exact for the joint normalisation at every n; for the other, exact given the cohort sizes.
    Proof: tests/statistical/test_covariance.py::test_covariance_matches_simulation

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
    tuple of ndarray
        The mean, shape (S,), and the covariance, shape (S, S).

    Raises
    ------
    DecodeError
        If there are fewer than 8 reports a cohort in the per-cohort normalisation: empty cohorts have no closed form.

    Examples
    --------
    >>> import deniable as dn, numpy as np
    >>> survey = dn.orr(symbols=8, epsilon=2, cells=4, cohorts=16, seed=bytes(16))
    >>> mean, covariance = least_squares_moments(survey, np.full(8, 1 / 8), n=10_000)
    >>> np.allclose(mean, 1 / 8), covariance.shape
    (True, (8, 8))
    """
    design = design_of(survey, symbols)
    population = distribution(p, design.symbols)
    n = count_of("n", n, 1)
    if per_cohort and survey.cohorts > 1 and n < 8 * survey.cohorts:
        raise DecodeError(
            f"n must be at least 8 reports a cohort ({8 * survey.cohorts}) for the per-cohort normalisation, got {n}: "
            "empty cohorts have no closed form; use per_cohort=False"
        )
    inverse = np.full(survey.cohorts, expected_inverse(n, survey.cohorts)) if per_cohort else None
    middle = ScoreLaw.of(design, survey.mechanism, population, inverse, n=n).matrix()
    factor = design.factor
    half = factor.solve(middle)
    covariance = factor.solve(half.T)
    return factor.solve(design.gram @ population), (covariance + covariance.T) / 2


def expected_inverse(n: int, cohorts: int) -> float:
    """E[1 / N | N > 0] for N ~ Binomial(n, 1 / cohorts): what an average cohort's size costs.

    >>> expected_inverse(1000, 1), round(expected_inverse(1000, 10) * 100, 4)
    (0.001, 1.0092)
    """
    if cohorts == 1:
        return 1.0 / n
    if n > 10**6 * cohorts:  # 1 / mean * (1 + variance / mean**2), to 1e-11
        return cohorts / n * (1 + (1 - 1 / cohorts) * cohorts / n)
    from scipy.special import gammaln, xlog1py, xlogy

    q = 1.0 / cohorts
    centre, spread = n * q, 12 * np.sqrt(n * q * (1 - q)) + 40
    sizes = np.arange(max(1, int(centre - spread)), min(n, int(centre + spread)) + 1, dtype=np.float64)
    log_mass = gammaln(n + 1) - gammaln(sizes + 1) - gammaln(n - sizes + 1) + xlogy(sizes, q) + xlog1py(n - sizes, -q)
    mass = np.exp(log_mass - log_mass.max())
    return float((mass / sizes).sum() / mass.sum())


def inversion_covariance(design: BlockDesign, mechanism: Mechanism, columns: Floats, n: int) -> Floats:
    """The covariance of `BlockDesign.invert` from n reports.

    The estimate is affine in the column counts, with the matrix L / (n r), so this is L Gamma L' / (n r**2).

    Claim: exact at every n.
    Proof: tests/contracts/test_blocks.py::test_covariance_is_that_of_the_exact_law

    Parameters
    ----------
    design : BlockDesign
        Whose closed-form inverse is the estimator.
    mechanism : Mechanism
        Of the survey.
    columns : ndarray
        The probability that each column is hit, shape (1, b).
    n : int
        Reports.

    Returns
    -------
    ndarray
        Shape (S, S).

    Examples
    --------
    >>> import deniable as dn
    >>> from deniable.matrices import design_of
    >>> survey = dn.krr(2, epsilon=2)
    >>> inversion_covariance(design_of(survey), survey.mechanism, np.full((1, 2), 0.5), 100).shape
    (2, 2)
    """
    miss, r = mechanism.affine
    e = columns if mechanism.one_column else columns - miss
    d = columns if mechanism.one_column else columns * (1 - columns) + e**2
    a, b = excess_of(mechanism)
    d = d - a - 2 * b * e / r
    pulled, ones = design.invert(e), design.invert(np.ones_like(e))
    middle = design.inverse_gram(d) - np.outer(pulled, pulled)
    if a or b:
        middle += a * np.outer(ones, ones) + b / r * (np.outer(pulled, ones) + np.outer(ones, pulled))
    return middle / (n * r**2)


def inversion_cumulants(design: BlockDesign, mechanism: Mechanism, columns: Floats, n: int) -> tuple[Floats, float]:
    """The third cumulants of `BlockDesign.invert` for index reports, and the largest effect of one report.

    A report is in a symbol's cells (weight 1 - c with c = l / s), beside them in its block (weight -c), or elsewhere.

    Parameters
    ----------
    design : BlockDesign
        Whose closed-form inverse is the estimator.
    mechanism : Mechanism
        With index reports.
    columns : ndarray
        The probability that each column is hit, shape (1, b).
    n : int
        Reports.

    Returns
    -------
    tuple of ndarray and float
        The third cumulants, shape (S,), and the largest change of an estimate by one report.

    Examples
    --------
    >>> import deniable as dn
    >>> from deniable.matrices import design_of
    >>> survey = dn.krr(2, epsilon=2)
    >>> inversion_cumulants(design_of(survey), survey.mechanism, np.full((1, 2), 0.5), 100)[0]
    array([0., 0.])
    """
    c = design.shared / design.occupied
    scale = mechanism.affine[1] * design.distance
    inside = design.adjoint(columns)
    beside = design.block_sums(columns) - inside
    first = (1 - c) * inside - c * beside
    second = (1 - c) ** 2 * inside + c**2 * beside
    third = (1 - c) ** 3 * inside - c**3 * beside - 3 * first * second + 2 * first**3
    return third / (n**2 * scale**3), (1 - c) / (n * scale)


def inversion_variances(
    design: BlockDesign, mechanism: Mechanism, columns: Floats, n: int, *, edge: float = 0.0
) -> Floats:
    """The diagonal of `inversion_covariance`, without the rest.

    With one block the reports in a symbol's cells are binomial. With several, a report is in the symbol's cells, beside
    them in its block, or elsewhere: a multinomial with three outcomes.

    Parameters
    ----------
    design, mechanism, columns, n
        As for `inversion_covariance`.
    edge : float
        Probabilities are kept at least this far from 0 and 1.

    Returns
    -------
    ndarray
        Shape (S,).

    Examples
    --------
    >>> import deniable as dn
    >>> from deniable.matrices import design_of
    >>> survey = dn.krr(2, epsilon=2)
    >>> inversion_variances(design_of(survey), survey.mechanism, np.full((1, 2), 0.5), 100).round(6)
    array([0.00431, 0.00431])
    """
    _, r = mechanism.affine
    found = design.adjoint(columns)
    inside = np.clip(found, edge, 1 - edge)
    if design.blocks == 1:
        spread = inside * (1 - inside)
    else:
        c = design.shared / design.occupied
        beside = np.maximum(design.block_sums(columns) - found, edge)
        spread = (1 - c) ** 2 * inside + c**2 * beside - ((1 - c) * inside - c * beside) ** 2
    return np.asarray(spread / (n * (r * design.distance) ** 2))
