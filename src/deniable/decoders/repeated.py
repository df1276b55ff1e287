"""What it costs a tally that its windows are of the same devices: wider error bars, in numbers and in words.

Not to be confused with `tracking`, which has every window. Here windows were added up, and only their sizes are known.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deniable.errors import DecodeError
from deniable.survey import Survey
from deniable.tally import Tally
from deniable.theory import permanent_share, repeated_reports

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Repeated:
    """How many reports of one device a tally may have.

    Parameters
    ----------
    windows
        The windows that were added up; None if the tally does not know them.
    others
        Reports of the same device beside one, on average: an upper bound (`repeated_reports`).
    turnover
        The part of the devices that are replaced each window, as it was given; None if it was not.

    Examples
    --------
    >>> import deniable as dn
    >>> survey = dn.krr(symbols=2, epsilon=1, participation="window")
    >>> week = sum(dn.Tally(survey, [[60, 40]]) for _ in range(7))
    >>> Repeated.of(week).others, Repeated.of(week).effects(survey, np.array([0.5])).tolist()
    (6.0, [7.0])
    >>> print(Repeated.of(week, turnover=1.0))
    <BLANKLINE>
    >>> print(Repeated.of(week))
    7 windows may be of the same devices, which repeat their noise: the wider error bars of that bound are shown, 2.65 \
times those of as many people. Give the turnover if devices are replaced.
    """

    windows: int | None
    others: float
    turnover: float | None = None

    @classmethod
    def of(cls, tally: Tally, turnover: float | None = None) -> "Repeated":
        """That of a tally, with the survey's turnover if none is given; none is repeated where people answer once."""
        sizes = tally.windows
        turnover = tally.survey.turnover if turnover is None else turnover
        if not tally.survey.repeats_noise or not tally.n:
            return cls(1, 0.0)
        return cls(None if sizes is None else len(sizes), repeated_reports(sizes, tally.n, turnover), turnover)

    def effects(self, survey: Survey, shares: Floats) -> Floats:
        """The factor of the variance of each share, 1 or more."""
        if not self.others:
            return np.ones_like(shares)
        return 1 + permanent_share(survey, shares) * self.others

    def __str__(self) -> str:
        """A sentence; empty where nothing is repeated."""
        if not self.others:
            return ""
        if self.windows is None:
            return (
                "The tally does not say which windows it has, so all of its reports may be of one device: the widest "
                "error bars are shown. Name the sizes of its windows, Tally(survey, counts, reports, windows=[...])."
            )
        wider = f"{np.sqrt(1 + self.others):.3g} times those of as many people"
        if self.turnover is None:
            return (
                f"{self.windows} windows may be of the same devices, which repeat their noise: the wider error bars of "
                f"that bound are shown, {wider}. Give the turnover if devices are replaced."
            )
        return (
            f"{self.windows} windows share devices, which repeat their noise, but for a turnover of "
            f"{100 * self.turnover:g} % a window: error bars are {wider}."
        )


def check_turnover(turnover: object) -> float | None:
    """`turnover` if it is None or a number from 0 to 1, else a sentence that names it."""
    if turnover is None:
        return None
    if isinstance(turnover, bool) or not isinstance(turnover, (int, float, np.floating)) or not 0 <= turnover <= 1:
        raise DecodeError(f"turnover must be between 0 and 1, got {turnover!r}")
    return float(turnover)
