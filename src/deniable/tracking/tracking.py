"""`track`: a sequence of estimates, one a window, each from the reports of all windows."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, overload

import numpy as np

from deniable.decoders import check_part
from deniable.errors import DecodeError
from deniable.tally import FormTally, Tally
from deniable.tracking.averaging import Series
from deniable.tracking.calendar import in_order, label_gaps, period_of, places_of
from deniable.tracking.observed import Observed
from deniable.tracking.overlap import Attendance, Lives, learn_kept
from deniable.tracking.tracked import Tracked

__all__ = ["lives_of", "track", "tracked_of", "trackers_of"]

PARTICIPATIONS = ("once", "window", "event")
trackers_of: dict[type, Callable[..., Any]] = {}  # what tracks tallies of other agreements: a form's

_STEADY = 0.3  # relative change of a symbol's variance over time up to which it is treated as constant


@overload
def track(
    tallies: Iterable[Tally] | Mapping[Any, Tally],
    *,
    windows: Sequence[object] | None = None,
    candidates: Iterable[object] | None = None,
    turnover: float | None = None,
    change: float | None = None,
    participation: str | None = None,
) -> Tracked: ...
@overload
def track(
    tallies: Iterable[FormTally] | Mapping[Any, FormTally],
    *,
    windows: Sequence[object] | None = None,
    candidates: Mapping[str, Iterable[object]] | None = None,
    turnover: float | None = None,
    change: float | None = None,
    participation: str | None = None,
) -> Any: ...
def track(
    tallies: Any,
    *,
    windows: Sequence[object] | None = None,
    candidates: Any = None,
    turnover: float | None = None,
    change: float | None = None,
    participation: str | None = None,
) -> Any:
    """Estimates of a distribution that changes: one a window, each from the reports of all windows.

    Parameters
    ----------
    tallies
        One tally a window, in the order of time; or a mapping from the windows' labels to them, in any order: a
        window that came late is one more entry. Windows of other surveys with the same symbols continue the series (a
        survey that was rotated).
    windows
        Labels: whole numbers, dates, or texts such as "2026-11-18", "2026-11-18T09" or "2026-W47", between which
        missing windows are noticed; other texts are names. Without labels windows follow each other.
    candidates
        The symbols to look for, where the alphabet is open; of a form by the names of its questions.
    turnover
        The part of the devices that are replaced from one window to the next, where people take part in every window
        (`participation`). If it is not given, that of the last survey that says one, or learnt from the windows.
    change
        The part of the devices that stay and draw their answer anew from one window to the next; by default likewise.
    participation
        How people took part, in place of what the survey says: "once", "window" or "event". Devices that take part
        again repeat their noise.

    Returns
    -------
    Tracked
        A sequence of windows. Of tallies of a form a `TrackedForm`: such a sequence for each question, by its name.

    Raises
    ------
    DecodeError
        If there are fewer than two windows, if they come out of order or overlap, or if their symbols differ.

    Examples
    --------
    >>> import deniable as dn, numpy as np
    >>> survey, rng = dn.krr(symbols=["a", "b", "c"], epsilon=2), np.random.default_rng(1)
    >>> days = [dn.simulate(survey, [0.6, 0.3, 0.1], n=1000, rng=rng) for _ in range(30)]
    >>> tracked = dn.track(days)
    >>> bool(tracked[-1].standard_errors.max() < dn.decode(days[-1]).standard_errors.max() / 3)
    True
    """
    if isinstance(tallies, Mapping):
        if windows is not None:
            raise DecodeError("windows must not be given beside a mapping: its keys are the windows")
        pairs = list(tallies.items())
        pairs = [pairs[place] for place in in_order([label for label, _ in pairs])]
        windows, tallies = [label for label, _ in pairs], [tally for _, tally in pairs]
    if isinstance(tallies, Tally) or not isinstance(tallies, Iterable):
        kind = type(tallies).__name__
        raise DecodeError(f"tallies must be a list of tallies, one a window, got {kind}; decode takes a single one")
    given = list(tallies)
    if len(given) < 2:
        raise DecodeError(f"tallies must be of at least two windows, got {len(given)}; decode takes a single one")
    wanted: type[Tally | FormTally] = FormTally if isinstance(given[0], FormTally) else Tally
    for tally in given:
        if not isinstance(tally, wanted):
            raise DecodeError(f"tallies must be tallies, one a window, got {type(tally).__name__}")
        if any(part.windows is None for part in getattr(tally, "parts", [tally])):
            raise DecodeError(
                "tallies must know their windows, got one of a file that does not say them; if it is of one window, "
                "dn.Tally(tally.survey, tally.counts, tally.reports) says so"
            )
    if windows is not None and not isinstance(windows, Iterable):
        raise DecodeError(
            f"windows must be labels, one a tally, got {type(windows).__name__}; leave them out, or list them"
        )
    labels: list[object] = list(range(len(given))) if windows is None else list(windows)
    if len(labels) != len(given):
        raise DecodeError(f"windows must be as many as tallies, {len(given)}, got {len(labels)}")
    if participation not in (None, *PARTICIPATIONS):
        raise DecodeError(f"participation must be 'once', 'window' or 'event', got {participation!r}")
    if wanted is FormTally:
        return trackers_of[FormTally](given, labels, candidates, turnover, change, participation)
    lives = lives_of(given, turnover, change)
    seen = Observed.of(given, None if candidates is None else list(candidates), participation, lives)
    return tracked_of(given, labels, seen, lives)


def lives_of(given: list[Tally], turnover: float | None, change: float | None) -> Lives:
    """The turnover and the change that were given, or the last that a survey states."""

    def last(name: str, part: float | None) -> float | None:
        stated = [found for tally in given if (found := getattr(tally.survey, name)) is not None]
        return check_part(name, stated[-1] if part is None and stated else part)

    return Lives(last("turnover", turnover), last("change", change))


def tracked_of(given: list[Tally], labels: list[object], seen: Observed, lives: Lives) -> Tracked:
    """The sequence of windows, from what was observed in each of them."""
    places = np.array(places_of(labels))
    count = int(places[-1]) + 1
    sizes, continues = np.zeros(count), np.zeros(count, np.bool_)
    sizes[places] = [tally.n for tally in given]
    named: list[object] = label_gaps(labels, places.tolist())
    same = ""
    for place, tally in zip(places.tolist(), given, strict=True):
        continues[place] = tally.survey.digest == same
        same = tally.survey.digest
    continues |= sizes == 0
    values, variances = (np.ones((len(seen.values), count)) for _ in range(2))
    values[:, places], variances[:, places] = seen.values, seen.variances
    calendar = period_of(labels, places.tolist())
    series = Series(values, variances, seen.permanent, sizes > 0, calendar)
    devices = Attendance(sizes, continues, lives, seen.returns)
    moving, overlap, least = learn_kept(series, devices)
    ratio = seen.relative(moving.smoothed[:, places])
    if np.abs(ratio[:, sizes[places] > 0] - 1).max() > _STEADY:  # the variance depends on the share: run again
        variances[:, places] *= ratio
        series = replace(series, variances=variances)
        moving, overlap, least = learn_kept(series, devices)
    size = len(seen.symbols)
    totals = np.ones(count) if len(values) == size else np.clip(1 - moving.smoothed[size], 0.0, 1.0)
    chosen, unlisted = np.arange(size), seen.unlisted[:size]
    return Tracked(
        seen.symbols, tuple(named), devices, series[chosen], overlap, least, seen.tails(sizes),
        unlisted, seen.doubt, moving[chosen].with_unlisted(unlisted), totals,
    )  # fmt: skip
