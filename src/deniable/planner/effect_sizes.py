"""How likely a survey is to show a difference of two groups, or a coefficient: the variance of either, and the power.

Both are tested by their distance from zero in standard errors (Wald). The variance of a difference is that of two
unbiased shares; that of a coefficient follows from the expected information of a report, with the truth summed out.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Protocol

import numpy as np
import numpy.typing as npt

from deniable.errors import DeniableError
from deniable.survey import Survey
from deniable.theory import expected_loss

Floats = npt.NDArray[np.float64]

MAX_REPORTS = 4096  # different reports of a survey whose coefficients are planned: each has its chance
FARTHEST = 8.0  # of a coefficient times a covariate, in log odds: shares beyond are 0 or 1


class Effect(Protocol):
    """What a plan must know of an effect of some size."""

    @property
    def largest(self) -> float: ...

    def variance(self, survey: Survey | None, size: float) -> float:
        """Times the number of people; None stands for true answers."""
        ...


@dataclass(frozen=True, slots=True)
class ShareDifference:
    """The share of one answer in a group less that in another.

    Parameters
    ----------
    share : float
        In the first group.
    group : float
        The second group's part of all people.
    place, answers : int
        Which answer, of how many; the others share the rest evenly.

    Examples
    --------
    >>> ShareDifference(0.5, 0.5, 1, 2).variance(None, 0.0)
    1.0
    """

    share: float
    group: float
    place: int
    answers: int

    @property
    def largest(self) -> float:
        return 1.0 - self.share

    def variance(self, survey: Survey | None, size: float) -> float:
        parts = ((self.share, 1 - self.group), (self.share + size, self.group))
        return sum(self._own(survey, share) / part for share, part in parts)

    def _own(self, survey: Survey | None, share: float) -> float:
        if survey is None:
            return share * (1 - share)
        p = np.full(self.answers, (1 - share) / (self.answers - 1))
        p[self.place] = share
        return float(expected_loss(survey, p, 1).covariance[self.place, self.place])


@dataclass(frozen=True, slots=True)
class Coefficient:
    """By how much the log odds of the second of two answers grow with a covariate.

    Parameters
    ----------
    share : float
        Where the covariate is at its mean.
    values : tuple of float
        The covariate's values, equally likely.

    Examples
    --------
    >>> round(Coefficient(0.5, (-1.0, 1.0)).variance(None, 1e-9), 3)
    4.0
    """

    share: float
    values: tuple[float, ...]

    @property
    def largest(self) -> float:
        return FARTHEST / max(float(np.abs(self._away).max()), 1e-12)

    @property
    def _away(self) -> Floats:
        values = np.asarray(self.values)
        return np.asarray(values - values.mean())

    def variance(self, survey: Survey | None, size: float) -> float:
        away = self._away
        pi = 1 / (1 + np.exp(-(math.log(self.share / (1 - self.share)) + size * away)))
        law = np.eye(2) if survey is None else report_law(survey)
        chance = (1 - pi)[:, None] * law[0] + pi[:, None] * law[1]
        kept = np.where(chance > 0, chance, 1.0)
        # The score of a report by the log odds is P(yes | report) - pi.
        each = (chance * (np.where(chance > 0, pi[:, None] * law[1], 0.0) / kept - pi[:, None]) ** 2).sum(axis=1)
        information = np.array([[each.sum(), each @ away], [each @ away, each @ away**2]]) / len(away)
        free = information[1, 1] - information[0, 1] ** 2 / max(information[0, 0], 1e-300)
        return float(1 / free) if free > 0 else math.inf


def report_law(survey: Survey) -> Floats:
    """The chance of every report, a row for each of two answers; reports of different cohorts are different ones.

    >>> import deniable as dn
    >>> report_law(dn.design("forced", p="1/2", yes="1/4")).tolist()
    [[0.75, 0.25], [0.25, 0.75]]
    """
    mechanism = survey.mechanism
    if survey.symbols is None or len(survey.symbols) != 2:
        raise DeniableError(
            "a coefficient must be planned for two answers, got another survey; plan the difference of a share instead"
        )
    if mechanism.outputs * survey.cohorts > MAX_REPORTS:
        raise DeniableError(
            f"a coefficient must be planned for a survey of at most {MAX_REPORTS:,} different reports, got "
            f"{mechanism.outputs * survey.cohorts:,}"
        )
    allowed = [y for y in range(mechanism.outputs) if mechanism.permanent.allows(y)]
    return np.array(
        [
            [
                float(mechanism.probability(y, survey.encode(cohort, symbol))) / survey.cohorts
                for cohort in range(survey.cohorts)
                for y in allowed
            ]
            for symbol in survey.symbols
        ]
    )


def power_of(size: float, variance: float, n: float, alpha: float) -> float:
    """The probability that an effect is told from zero by n people.

    >>> round(power_of(0.1, 1.0, 785, 0.05), 2)
    0.8
    """
    away = abs(size) / math.sqrt(variance / n)
    z = NormalDist().inv_cdf(1 - alpha / 2)
    return NormalDist().cdf(away - z) + NormalDist().cdf(-away - z)


def people_for(size: float, variance: float, power: float, alpha: float) -> float:
    """How many people an effect needs.

    >>> round(people_for(0.1, 1.0, 0.8, 0.05))
    785
    """
    reach = NormalDist().inv_cdf(1 - alpha / 2) + NormalDist().inv_cdf(power)
    return (reach / abs(size)) ** 2 * variance


def covariate_values(values: Sequence[float]) -> tuple[float, ...]:
    """The values of a covariate, checked.

    >>> covariate_values([0, 1])
    (0.0, 1.0)
    """
    try:
        found = tuple(float(value) for value in values)
    except (TypeError, ValueError):
        raise DeniableError("covariate must be a list of numbers, its equally likely values, got others") from None
    if not all(map(math.isfinite, found)) or len(set(found)) < 2:
        raise DeniableError(f"covariate must have two different finite values or more, got {len(set(found))}")
    return found
