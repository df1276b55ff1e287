"""What it costs a tally that its windows are of the same devices: wider error bars, in numbers and in words.

Not to be confused with `tracking`, which has every window. Here windows were added up, and only their sizes are known.
"""

from dataclasses import dataclass
from typing import Any

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
    turnover, change
        The part of the devices that are replaced each window, and of the others that draw their answer anew, as they
        were given; None if they were not.
    kept
        The part of a window's permanent noise that is in the next one, too: an upper bound.

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
    change: float | None = None
    kept: float = 1.0

    @classmethod
    def of(
        cls, tally: Tally, turnover: float | None = None, change: float | None = None, returns: float = 1.0
    ) -> "Repeated":
        """That of a tally, with the survey's turnover and change if none are given; none where people answer once.

        `returns` is the chance that a device that draws its answer anew repeats its noise (`theory.returning_share`).
        By default it always does, so that a change makes nothing narrower.
        """
        survey, sizes = tally.survey, tally.windows
        if not survey.repeats_noise or not tally.n:
            return cls(1, 0.0)
        turnover = survey.turnover if turnover is None else turnover
        change = survey.change if change is None else change
        if returns == 1:
            change = None
        stay, keep = 1 - (turnover or 0.0), 1 - (change or 0.0)
        others = returns * repeated_reports(sizes, tally.n, 1 - stay)
        if returns < 1:
            others += (1 - returns) * repeated_reports(sizes, tally.n, 1 - stay * keep)
        kept = stay * (returns + (1 - returns) * keep)
        return cls(None if sizes is None else len(sizes), others, turnover, change, kept)

    def effects(self, survey: Survey, shares: Floats) -> Floats:
        """The factor of the variance of each share, 1 or more."""
        if not self.others:
            return np.ones_like(shares)
        return 1 + permanent_share(survey, shares) * self.others

    @property
    def facts(self) -> dict[str, Any] | None:
        """What the sentence says, as a case and numbers, for whoever says it in another language; None without one."""
        if not self.others:
            return None
        if self.windows is None:
            return sharing("unnamed")
        case = "some" if self._less else "all"
        wider = float(np.sqrt(1 + self.others))
        return sharing(case, windows=self.windows, wider=wider, turnover=self.turnover, change=self.change)

    @property
    def _less(self) -> list[str]:
        """Why not all devices repeat their noise in all windows."""
        less = _told(self.turnover, "a turnover of {} a window")
        return less + _told(self.change, "{} of answers that are drawn anew each window")

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
        less = self._less
        if not less:
            return (
                f"{self.windows} windows may be of the same devices, which repeat their noise: the wider error bars of "
                f"that bound are shown, {wider}. Give the turnover if devices are replaced."
            )
        return (
            f"{self.windows} windows share devices, which repeat their noise, but for {' and '.join(less)}: error bars "
            f"are {wider}."
        )


def sharing(
    case: str,
    *,
    windows: int | None = None,
    wider: float | None = None,
    turnover: float | None = None,
    change: float | None = None,
) -> dict[str, Any]:
    """Which error bars are shown where devices repeat their noise, as programs read it.

    Parameters
    ----------
    case : str
        Of a sum of windows: `unnamed` (the tally does not say which), `all` or `some` (all devices may be in all of
        them, or turnover and change say how many). Of a difference: `left_out` (of the error bars) or `unknown`.
    windows : int, optional
        How many were added up.
    wider : float, optional
        The factor of the error bars of as many people.
    turnover, change : float, optional
        As they were given.

    Returns
    -------
    dict
        All of these by name.
    """
    return {"case": case, "windows": windows, "wider": wider, "turnover": turnover, "change": change}


def _told(part: float | None, words: str) -> list[str]:
    return [] if part is None else [words.format(f"{100 * part:g} %")]


def check_part(name: str, part: object) -> float | None:
    """`part` if it is None or a number from 0 to 1, else a sentence that names it."""
    if part is None:
        return None
    if isinstance(part, bool) or not isinstance(part, (int, float, np.floating)) or not 0 <= part <= 1:
        raise DecodeError(f"{name} must be between 0 and 1, got {part!r}")
    return float(part)
