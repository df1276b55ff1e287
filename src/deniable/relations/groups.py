"""What a cross-table must know of one group: from its tally, or from two tallies that tell who always says the same.

People who do not play by the rules say one thing whatever the dice show (Clark and Desharnais, 1998). Two groups of the
same kind of people with different dice have shares of what is said that are linear in three shares: honest no, honest
yes, always no. Least squares, weighted by how exactly each share is known, solves for them without bias.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from deniable.decoders import Estimate
from deniable.errors import DecodeError
from deniable.tally import Tally
from deniable.theory import expected_loss

Floats = npt.NDArray[np.float64]

SMOOTHED = 0.5  # people added to each thing that is said, for the weights: none is then known without error


@dataclass(frozen=True, slots=True)
class GroupShares:
    """Shares within one group, and how well they are known.

    Parameters
    ----------
    symbols : tuple
        The answers.
    n : int
        Reports.
    raw, probabilities, covariance : ndarray
        Unbiased shares, shares for people to look at, and the covariance of the unbiased ones.
    limits : callable
        Confidence limits of the shares for a level.
    null : callable
        The covariance in a population with other shares, for the test of independence.
    support : tuple
        For each survey that was asked: its digest, how many reports, and how often each kind of report was seen.
    is_whole : bool
        Whether the shares add up to one.
    """

    symbols: tuple[Any, ...]
    n: int
    raw: Floats
    probabilities: Floats
    covariance: Floats
    limits: Callable[[float], Floats]
    null: Callable[[Floats], Floats]
    support: tuple[tuple[str, int, Floats], ...]
    is_whole: bool


def group_of(estimate: Estimate) -> GroupShares:
    """A group whose reports were decoded.

    >>> import deniable as dn
    >>> group_of(dn.decode(dn.Tally(dn.krr(["no", "yes"], epsilon=2), [[70, 30]]))).n
    100
    """
    survey, closed = estimate.tally.survey, estimate.rest is None

    def null(pooled: Floats) -> Floats:
        if closed and not survey.repeats_noise and survey.cohorts == 1:
            return expected_loss(survey, pooled, estimate.n).covariance
        return estimate.covariance

    return GroupShares(
        tuple(estimate.symbols),
        estimate.n,
        estimate.raw,
        estimate.probabilities,
        estimate.covariance,
        lambda level: estimate.intervals(level, exact=False),
        null,
        ((survey.digest, estimate.n, support_of(estimate)),),
        closed,
    )


def support_of(estimate: Estimate) -> Floats:
    """How many reports speak for each answer; with one cohort, how often each kind of report was seen.

    >>> import deniable as dn
    >>> support_of(dn.decode(dn.Tally(dn.krr(["no", "yes"], epsilon=2), [[70, 30]]))).tolist()
    [70.0, 30.0]
    """
    counts = estimate.tally.counts
    if len(counts) == 1:
        return np.asarray(counts.ravel(), np.float64)
    return np.asarray(estimate.design.adjoint(counts.astype(np.float64))[: len(estimate.symbols)])


def expected_counts(groups: Sequence[GroupShares]) -> Floats:
    """How often each kind of report is expected if all groups have one distribution.

    Groups that were asked with one survey then have the reports of all of them together, each its share.

    >>> import deniable as dn
    >>> survey = dn.krr(["no", "yes"], epsilon=2)
    >>> expected_counts([group_of(dn.decode(dn.Tally(survey, [row]))) for row in ([20, 0], [10, 10])]).tolist()
    [15.0, 5.0, 15.0, 5.0]
    """
    every = [each for group in groups for each in group.support]
    shares = {}
    for digest, _, _ in every:
        alike = [(n, counts) for other, n, counts in every if other == digest]
        shares[digest] = sum(counts for _, counts in alike) / sum(n for n, _ in alike)
    return np.concatenate([n * shares[digest] for digest, n, _ in every])


def with_always(name: Any, tallies: object, always: object) -> GroupShares:
    """A group that was asked with two different dice or more; the share of those who always say the same is found.

    >>> import deniable as dn
    >>> a, b = dn.design("forced", p=0.7, yes=0.2), dn.design("forced", p=0.7, yes=0.1)
    >>> both = {"a": dn.count(a, {"yes": 3485, "no": 6515}), "b": dn.count(b, {"yes": 2635, "no": 7365})}
    >>> group = with_always("all", both, "no")
    >>> group.symbols, group.raw.round(3).tolist()
    (('no', 'yes', '(always no)'), [0.595, 0.255, 0.15])
    """
    if not isinstance(tallies, Mapping) or len(tallies) < 2:
        raise DecodeError(
            f"group {name!r} must be a dict of two tallies or more, of surveys with different odds, for noncompliance"
        )
    every = list(tallies.values())
    for tally in every:
        if not isinstance(tally, Tally):
            raise DecodeError(f"group {name!r} must be given as tallies, got {type(tally).__name__}; count its reports")
        if not tally.n:
            raise DecodeError(f"group {name!r} must have reports of each of its surveys, got none of one")
        _check(tally)
    symbols = every[0].survey.symbols
    said = every[0].survey.mechanism.said or symbols
    if any(tally.survey.symbols != symbols or (tally.survey.mechanism.said or symbols) != said for tally in every):
        raise DecodeError(f"surveys of group {name!r} must have the same answers, got different ones")
    if always not in said:
        raise DecodeError(f"noncompliance must be one of {', '.join(map(repr, said[:8]))}, got {str(always)[:40]!r}")
    size = len(symbols) + 1
    honest = np.eye(size)[:, :-1] - np.eye(size)[:, -1:]  # shares add up to one: the last follows
    information, right = np.zeros((size - 1, size - 1)), np.zeros(size - 1)
    for tally in every:
        law = np.zeros((len(said), size))
        mechanism = tally.survey.mechanism
        for cell in range(len(symbols)):
            law[:, cell] = [float(mechanism.probability(y, (cell,))) for y in range(len(said))]
        law[said.index(always), -1] = 1.0
        share = tally.counts[0] / tally.n
        smooth = (tally.counts[0] + SMOOTHED) / (tally.n + SMOOTHED * len(said))
        weight = tally.n * np.linalg.inv(np.diag(smooth[:-1]) - np.outer(smooth[:-1], smooth[:-1]))
        step = (law @ honest)[:-1]
        information += step.T @ weight @ step
        right += step.T @ weight @ (share - law[:, -1])[:-1]
    if np.linalg.cond(information) > 1e12:
        raise DecodeError(
            f"surveys of group {name!r} must have different odds to tell who always says the same, got the same odds"
        )
    inner = np.linalg.inv(information)
    free = inner @ right
    raw = np.append(free, 1 - free.sum())
    covariance = honest @ inner @ honest.T
    errors = np.sqrt(np.diag(covariance))

    def limits(level: float) -> Floats:
        reach = -ndtri((1 - level) / 2) * errors
        return np.stack([raw - reach, raw + reach], axis=-1)

    return GroupShares(
        (*symbols, f"(always {always})"),
        sum(tally.n for tally in every),
        raw,
        _nearest(free, information),
        covariance,
        limits,
        lambda pooled: covariance,
        tuple((tally.survey.digest, tally.n, np.asarray(tally.counts[0], np.float64)) for tally in every),
        True,
    )


def _nearest(free: Floats, information: Floats) -> Floats:
    """The shares of least squares, weighted as the estimate is, none below zero: nearly those of maximum likelihood."""
    from scipy.optimize import nnls

    root = np.linalg.cholesky(information).T
    heavy = 1e3 * np.linalg.norm(root)  # the weight of the rule that all shares add up to one
    rows = np.vstack([np.column_stack([root, np.zeros(len(free))]), np.full(len(free) + 1, heavy)])
    found, _ = nnls(rows, np.append(root @ free, heavy))
    return np.asarray(found / found.sum())


def _check(tally: Tally) -> None:
    survey = tally.survey
    said = survey.mechanism.said or survey.symbols or ()
    if survey.symbols is None or not survey.mechanism.one_column or survey.cohorts > 1 or survey.columns != len(said):
        raise DecodeError(
            "noncompliance must be modelled for answers that are said as they are; use dn.design or dn.krr"
        )
