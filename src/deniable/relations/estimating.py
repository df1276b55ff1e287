"""From a likelihood to an estimate: searches from several starts, standard errors, and which parameters have none.

It knows nothing of tables and formulas: studies feed it matrices.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.relations.collapsing import CollapsedRows
from deniable.relations.fitting import FAR, Fit, covariance, maximise
from deniable.relations.outcome_models import Logit
from deniable.relations.problem import ReportLikelihood
from deniable.relations.variance import sandwich

Floats = npt.NDArray[np.float64]

STARTS = 4  # searches beside the first one, from points of a Kronecker sequence
LOOK = 4000  # rows that those searches see, about; the best of them is then followed on all rows
BLIND = 100.0  # a standard error in log odds, of covariates of mean square one, beyond which nothing is known
AMPLITUDE = 3.0  # how far a start may be from the first one, in log odds


@dataclass(frozen=True, slots=True)
class Estimated:
    """The highest maximum that was found, and how sure it is.

    Parameters
    ----------
    fit : Fit
        Where the best search ended.
    covariance : ndarray
        Of the parameters; infinite on the diagonal where nothing is known.
    unknown : ndarray of bool
        Where that is.
    freedom : float
        Degrees of freedom of intervals: infinite (normal) without clusters.
    kind : str
        "observed information", "robust" or "clustered".
    tried : tuple of float
        The log-likelihood at the end of each search on all rows.
    """

    fit: Fit
    covariance: Floats
    unknown: npt.NDArray[np.bool_]
    freedom: float
    kind: str
    tried: tuple[float, ...]


def estimated(
    problem: ReportLikelihood,
    rows: CollapsedRows,
    *,
    starts: int = STARTS,
    robust: bool = False,
    cluster: Any = None,
    stratum: Any = None,
) -> Estimated:
    """Maximum likelihood; `robust` errors are also those of clusters and strata.

    >>> survey = np.array([[0.8, 0.2], [0.2, 0.8]])  # P(report | answer)
    >>> rows = CollapsedRows(None, np.array([70.0, 30.0]), np.array([70.0, 30.0]), np.array([70.0, 30.0]), 0, 100)
    >>> one = ReportLikelihood(Logit(2, 0), (np.ones((2, 1)),), survey, np.zeros(2), rows.weights)
    >>> found = estimated(one, rows)
    >>> (1 / (1 + np.exp(-found.fit.theta))).round(4).tolist(), found.kind
    ([0.1667], 'observed information')
    """
    fit, tried = search(problem, starts)
    _, _, observed, complete, _ = problem.parts(fit.theta)
    bread, unknown = covariance(observed, complete)
    if isinstance(problem.model, Logit):  # log odds, not units of a number
        with np.errstate(invalid="ignore"):
            unknown |= (np.abs(fit.theta) > FAR) | ~(np.sqrt(np.diag(bread)) < BLIND)
        bread[unknown, :] = bread[:, unknown] = 0.0
        bread[unknown, unknown] = np.inf
    if not (robust or cluster is not None or stratum is not None):
        return Estimated(fit, bread, unknown, np.inf, "observed information", tried)
    bread, freedom = sandwich(bread, unknown, problem.scores(fit.theta), rows, cluster, stratum)
    return Estimated(fit, bread, unknown, freedom, "robust" if cluster is None else "clustered", tried)


def in_other_units(found: Estimated, back: Floats) -> Estimated:
    """The same estimate with its first parameters multiplied by a matrix, as `well_conditioned` makes it.

    What depends on a parameter without an estimate has none either.
    """
    whole = np.eye(len(found.unknown))
    whole[: len(back), : len(back)] = back
    unknown = (whole != 0)[:, found.unknown].any(axis=1)
    known = np.where(found.unknown[:, None] | found.unknown, 0.0, found.covariance)
    cov = whole @ known @ whole.T
    cov[unknown, :] = cov[:, unknown] = 0.0
    cov[unknown, unknown] = np.inf
    fit = replace(found.fit, theta=whole @ found.fit.theta)
    return replace(found, fit=fit, covariance=cov, unknown=unknown)


def search(problem: ReportLikelihood, starts: int) -> tuple[Fit, tuple[float, ...]]:
    """The best of several searches, and the log-likelihood at the end of each."""
    first = plain_start(problem)
    best = maximise(problem.value, problem.parts, first, problem.reach)
    tried = [best.value]
    if starts:
        look = problem.thinned(max(1, len(problem.likely) // LOOK))
        points = [_point(number + 1, problem.size) for number in range(starts)]
        ends = [maximise(look.value, look.parts, first + AMPLITUDE * (2 * point - 1), look.reach) for point in points]
        here = maximise(look.value, look.parts, best.theta, look.reach).value if look is not problem else best.value
        for end in sorted(ends, key=lambda end: -end.value)[: 1 if len(look.likely) < len(problem.likely) else starts]:
            if len(look.likely) == len(problem.likely):
                tried.append(end.value)
                best = max(best, end, key=lambda each: each.value)
            elif end.value > here + 1e-3:
                followed = maximise(problem.value, problem.parts, end.theta, problem.reach)
                tried.append(followed.value)
                best = max(best, followed, key=lambda each: each.value)
    return best, tuple(tried)


def _point(number: int, size: int) -> Floats:
    """A point of the unit cube that is far from the others: multiples of irrational steps (Kronecker's sequence)."""
    return np.asarray((0.5 + number * np.sqrt(np.arange(2, size + 2) * 1.7)) % 1.0)


def plain_start(problem: ReportLikelihood) -> Floats:
    """The estimate without covariates: a few steps of expectation maximisation, put into the constant column."""
    likely, w = problem.likely, problem.weights
    p = np.full(likely.shape[1], 1 / likely.shape[1])
    for _ in range(200):
        joint = likely * p
        p = w @ (joint / np.maximum(joint.sum(axis=1, keepdims=True), 1e-300)) / w.sum()
    p = np.maximum(p, 1e-3)
    theta = np.zeros(problem.size)
    x = problem.x[0]
    constant = np.flatnonzero(np.ptp(x, axis=0) < 1e-12)
    if isinstance(problem.model, Logit):
        others = [s for s in range(len(p)) if s != problem.model.base]
        if len(constant):
            theta[: problem.outcome_size].reshape(len(others), -1)[:, constant[0]] = (
                np.log(p[others] / p[problem.model.base]) / x[0, constant[0]]
            )
    else:
        edges = np.asarray(problem.model.edges)  # type: ignore[attr-defined]
        middle = np.concatenate([[edges[1]], (edges[1:-2] + edges[2:-1]) / 2, [edges[-2]]])
        mean = float(p @ middle / p.sum())
        if len(constant):
            theta[constant[0]] = mean / x[0, constant[0]]
        theta[problem.outcome_size - 1] = np.log(max(np.sqrt(p @ (middle - mean) ** 2 / p.sum()), 1e-3))
    return theta
