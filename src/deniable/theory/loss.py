"""`expected_loss`: the expected error of a survey, or of a setting of parameters, before anyone has answered.

Without a decoder it is the unconstrained estimate: `Inversion` for block designs (k-RR and k-RAPPOR among them, the
paper's empirical estimators), `LeastSquares` for O-RR and O-RAPPOR. Bias and covariance are exact for a survey, and
those of its `ErrorModel` for anything else. The loss of a decoder has no closed form. But an unbiased estimate is the
truth plus noise that is nearly normal, and `Decoder.surrogate` decodes such an estimate. So its loss is the mean over
normal draws. The same draws for every setting (common random numbers) make losses smooth in n and epsilon, and make
the difference of two losses more precise than either of them.

Losses are against the population, sampling included. The paper's simulations measure them against the drawn sample,
which takes the term (1 - sum p**2) / n out of the squared l2 loss.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import ClassVar, Protocol

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from deniable.columns import fixed_words
from deniable.errors import DeniableError
from deniable.matrices import BlockDesign, design_of
from deniable.survey import Survey
from deniable.theory.arguments import Floats, count_of, distribution
from deniable.theory.covariance import inversion_covariance, inversion_variances, least_squares_moments
from deniable.theory.deviation import folded_normal_mean
from deniable.theory.error_model import ErrorModel

_READ_OFF = 400  # draws; from so many on a quantile is the empirical one, below it that of a fitted distribution
_ROWS = 200  # of draws, where none are given: a mean loss has a standard error of a few hundredths of itself
_EULER = 0.5772156649  # Euler's constant, the mean of Gumbel's distribution


class Surrogate(Protocol):
    """The one method of a decoder that is used here (`deniable.decoders.Decoder`)."""

    def surrogate(
        self, estimates: Floats, base: float, slope: float, *, teacher: int = 0, quick: bool = False
    ) -> Floats: ...


def losses_of(found: Floats, p: Floats) -> Floats:
    """The l1, l2 and largest error of every row, shape (3, rows).

    Parameters
    ----------
    found : ndarray
        Estimates, one a row, shape (rows, S).
    p : ndarray
        One share a symbol.

    Returns
    -------
    ndarray
        Shape (3, rows), in the order of `Losses.METRICS`.

    Examples
    --------
    >>> losses_of(np.array([[0.6, 0.4]]), np.array([0.5, 0.5])).round(3).ravel()
    array([0.2  , 0.141, 0.1  ])
    """
    error = np.abs(found - p)
    return np.stack([error.sum(axis=1), np.sqrt((error**2).sum(axis=1)), error.max(axis=1)])


@dataclass(frozen=True)
class Losses:
    """The losses of many draws, by metric: "l1", "l2" (the Euclidean norm) or "max".

    Parameters
    ----------
    rows : ndarray
        Shape (3, draws), as from `losses_of`.

    Examples
    --------
    >>> losses = Losses(losses_of(np.array([[0.6, 0.4], [0.5, 0.5]]), np.array([0.5, 0.5])))
    >>> round(losses.mean("l1"), 3), losses.quantile("l1", 0.9) > 0.1
    (0.1, True)
    """

    METRICS: ClassVar = ("l1", "l2", "max")  # the order of the rows

    rows: Floats  # (3, draws)

    def mean(self, metric: str) -> float:
        """The mean loss.

        Parameters
        ----------
        metric : str
            "l1", "l2" or "max".

        Returns
        -------
        float
            The mean over the draws.
        """
        return float(self.rows[self.METRICS.index(metric)].mean())

    def quantile(self, metric: str, level: float) -> float:
        """The `level` quantile: the empirical one of at least 400 draws, else that of a normal distribution, or of
        Gumbel's for the largest error, with the same mean and standard deviation.

        Parameters
        ----------
        metric : str
            "l1", "l2" or "max".
        level : float
            Between 0 and 1.

        Returns
        -------
        float
            The loss that a share `level` of draws stays below.
        """
        found = self.rows[self.METRICS.index(metric)]
        if len(found) >= _READ_OFF:
            return float(np.quantile(found, level))
        from scipy.special import ndtri

        reach = float(ndtri(level))
        if metric == "max":  # the maximum of many errors: Gumbel's distribution
            reach = (-np.log(-np.log(level)) - _EULER) * np.sqrt(6) / np.pi
        return float(found.mean() + reach * found.std(ddof=1))


@dataclass(frozen=True, eq=False)
class ExpectedLoss:
    """Bias, variances and covariance of the unbiased estimate, and the losses that follow.

    Parameters
    ----------
    bias, variances : ndarray
        Of the unbiased estimate of each symbol. The bias is not zero where candidates cannot be told apart.
    decoded : Losses, optional
        Losses of the decoder, one a draw; None without a decoder.
    _covariance : callable
        Computes the covariance when it is first asked for.

    Examples
    --------
    >>> import deniable as dn
    >>> expected = expected_loss(dn.warner(epsilon=1), [0.5, 0.5], 100)
    >>> bool(np.isclose(np.trace(expected.covariance), expected.squared_l2))
    True
    """

    bias: Floats
    variances: Floats
    decoded: Losses | None
    _covariance: Callable[[], Floats]

    @cached_property
    def covariance(self) -> Floats:
        """The covariance of the unbiased estimate, S x S."""
        return self._covariance()

    @property
    def l1(self) -> float:
        """The mean l1 loss; without a decoder for large n, where each error is normal."""
        if self.decoded is not None:
            return self.decoded.mean("l1")
        return float(folded_normal_mean(self.bias, self.variances).sum())

    @property
    def squared_l2(self) -> float:
        """The mean of the squared l2 loss."""
        if self.decoded is not None:
            return float((self.decoded.rows[Losses.METRICS.index("l2")] ** 2).mean())
        return float(self.variances.sum() + self.bias @ self.bias)


def expected_loss(
    source: Survey | ErrorModel,
    p: npt.ArrayLike,
    n: float,
    decoder: Surrogate | None = None,
    *,
    symbols: Sequence[object] | None = None,
    per_cohort: bool = True,
    normals: Floats | None = None,
) -> ExpectedLoss:
    """The expected loss from n reports of a population p.

    Parameters
    ----------
    source
        A survey, or the `ErrorModel` of a setting that is not one yet.
    p
        One share a symbol.
    n
        Reports, one from each person.
    decoder
        The decoder whose loss is wanted; None for the unconstrained estimate.
    symbols
        The candidates that p is about, for a survey with an open alphabet.
    per_cohort
        Whether `LeastSquares` divides by the reports of each cohort, or by n / C as in the paper.
    normals
        Standard normal draws for the loss of a decoder, one row a survey, with S + 1 columns. Without them 200 rows of
        fixed numbers, the same in every call: equal draws make the losses of two sources comparable.

    Returns
    -------
    ExpectedLoss

    Raises
    ------
    DeniableError
        If `symbols` is missing or superfluous.

    Paper: `prop:rr_perf`, `prop:rappor_perf`; for O-RR and O-RAPPOR the exact covariance.
    Claim: the mean loss of simulated surveys, and their covariance.
    Proof: tests/statistical/test_expected_loss.py::test_covariance_is_that_of_simulated_surveys

    Examples
    --------
    >>> import deniable as dn
    >>> p, survey = np.full(10, 0.1), dn.krr(symbols=10, epsilon=1)
    >>> plain = expected_loss(survey, p, 1000)
    >>> round(plain.squared_l2, 6), plain.covariance.shape
    (0.041858, (10, 10))
    >>> expected_loss(survey, p, 1000, dn.EmpiricalBayes()).l1 < 0.7 * plain.l1
    True
    """
    covariance: Callable[[], Floats]
    if isinstance(source, ErrorModel):
        population = np.asarray(p, np.float64)
        bias, variances = source.moments(population, n)
        covariance = partial(source.covariance, population, n)
    else:
        people = count_of("n", n, 1)
        population, bias, variances, covariance = _exact(source, p, people, symbols, per_cohort)
    if decoder is None:
        return ExpectedLoss(bias, variances, None, covariance)
    if normals is None:
        normals = _fixed_normals(_ROWS, len(population) + 1)
    if isinstance(source, ErrorModel):
        estimates = drawn_estimates(source, population, n, normals)
        base, slope = float(source.variance(0.0, float(population @ population))) / n, float(source.slope) / n
    else:
        values, vectors = np.linalg.eigh(covariance())
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        estimates = population + bias + normals[:, : len(population)] @ root.T
        base, slope = _line(variances, population, people)
    found = decoder.surrogate(estimates, base, slope, quick=True)
    return ExpectedLoss(bias, variances, Losses(losses_of(found, population)), covariance)


def _fixed_normals(rows: int, columns: int) -> Floats:
    """Numbers that never change and pass for standard normal draws.

    >>> found = _fixed_normals(200, 50)
    >>> found.shape, round(float(found.std()), 2)
    ((200, 50), 1.0)
    """
    words = fixed_words(rows * columns)
    return np.asarray(ndtri((words >> np.uint64(11)) * 2.0**-53 + 2.0**-54).reshape(rows, columns))


def drawn_estimates(model: ErrorModel, p: Floats, n: float, normals: Floats) -> Floats:
    """Normal draws of the unbiased estimate, one a row.

    Parameters
    ----------
    model : ErrorModel
        Of one setting.
    p : ndarray
        One share a symbol.
    n : float
        Reports.
    normals : ndarray
        Standard normal draws, shape (rows, S + 1).

    Returns
    -------
    ndarray
        Shape (rows, S).

    Examples
    --------
    >>> from deniable.theory import support_model
    >>> model = support_model(0.75, 0.25, unseen=0.0)
    >>> round(float(drawn_estimates(model, np.array([0.5, 0.5]), 100, np.ones((1, 3))).sum()), 12)
    1.0
    """
    bias, variances = model.moments(p, n)
    if model.unseen is None:
        return np.asarray(p + bias + normals[:, :-1] * np.sqrt(variances))
    wide, beside = model.free_variances(p, n)
    noise = normals[:, :-1] * np.sqrt(wide)
    total = noise.sum(axis=1, keepdims=True) + normals[:, -1:] * beside**0.5
    return np.asarray(p + bias + noise - total * (wide / (wide.sum() + beside)))


def _exact(
    survey: Survey, p: npt.ArrayLike, n: int, symbols: Sequence[object] | None, per_cohort: bool
) -> tuple[Floats, Floats, Floats, Callable[[], Floats]]:
    """Population, bias, variances and covariance of a survey's unconstrained estimate."""
    check_symbols(survey, symbols)
    design = design_of(survey, symbols)
    population = distribution(p, design.symbols)
    if isinstance(design, BlockDesign):
        columns, mechanism = column_means(survey, design, population), survey.mechanism
        variances = inversion_variances(design, mechanism, columns, n)
        return (
            population,
            np.zeros_like(variances),
            variances,
            lambda: inversion_covariance(design, mechanism, columns, n),
        )
    mean, covariance = least_squares_moments(survey, population, n, symbols=symbols, per_cohort=per_cohort)
    return population, mean - population, np.maximum(np.diagonal(covariance), 0.0), lambda: covariance


def column_means(survey: Survey, design: BlockDesign, p: Floats) -> Floats:
    """m = miss + r H p, shape (1, b)."""
    miss, r = survey.mechanism.affine
    return miss + r * design.forward(p)


def check_symbols(survey: Survey, symbols: Sequence[object] | None) -> None:
    Survey.check(survey)
    if survey.alphabet.is_open and symbols is None:
        raise DeniableError("symbols must be given for an open alphabet, got None; name the candidates that p is about")
    if not survey.alphabet.is_open and symbols is not None:
        raise DeniableError("symbols must not be given for a closed alphabet; give p over its symbols, in their order")


def _line(variances: Floats, p: Floats, n: int) -> tuple[float, float]:
    """(base, slope) of the variances, which are base + slope p - p**2 / n where reports support symbols."""
    straight, spread = variances + p**2 / n, p - p.mean()
    square = float(spread @ spread)
    slope = max(float(spread @ straight) / square, 0.0) if square > 1e-12 else 0.0
    return max(float(straight.mean()) - slope * float(p.mean()), 0.1 * float(variances.min())), slope
