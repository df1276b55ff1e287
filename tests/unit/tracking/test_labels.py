"""Labels of windows, places, levels and weights: what is the same window, and what is a sentence."""

import re
from collections.abc import Callable
from datetime import date
from typing import Any

import pytest

import deniable as dn
from deniable.errors import DecodeError
from deniable.tracking.calendar import label_gaps, period_of, places_of

TALLY = dn.Tally(dn.krr(symbols=["a", "b", "c"], epsilon=2), [[500, 300, 200]])


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (["2026-01-02T09", "2026-01-02T09:00Z"], "windows must not overlap, got '2026-01-02T09:00Z' twice"),
        ([date(2026, 1, 2), "2026-01-02"], "windows must not overlap, got '2026-01-02' twice"),
        (["20260102", 20260102], "windows must not overlap, got 20260102 twice"),
        (["20260103", "20260102"], "windows must be in the order of time"),
        ([["a"], ["b"]], "windows must be whole numbers, dates or texts, got list"),
        (2, "windows must be labels, one a tally, got int; leave them out, or list them"),
    ],
)
def test_one_window_has_one_spelling(labels: Any, said: str) -> None:
    with pytest.raises(DecodeError, match=re.escape(said)):
        dn.track([TALLY, TALLY], windows=labels)


def test_dates_without_hyphens_are_days() -> None:
    """As numbers, 70 windows would be missing between two months."""
    assert places_of([20261129, 20261130, 20261201]) == places_of(["20261129", "20261130", "20261201"]) == [0, 1, 2]
    assert label_gaps([20261130, 20261202], [0, 2]) == [20261130, "2026-12-01", 20261202]
    assert places_of([20261132, 20261133]) == [0, 1]  # no dates: numbers


def test_what_is_no_place_level_or_weight_is_a_sentence() -> None:
    tracked = dn.track({"mon": TALLY, "tue": TALLY})
    wrong: list[tuple[Callable[[], object], str]] = [
        (lambda: tracked["tue"], "window must be a place, a whole number, as windows.index('tue') is, got 'tue'"),
        (lambda: tracked.as_of(1.0), "window must be a place, a whole number, counted from 0, got 1.0"),  # type: ignore[arg-type]
        (lambda: tracked.difference("tue", 0), "window must be a place"),  # type: ignore[arg-type]
        (lambda: tracked.changes("x"), "level must be between 0 and 1, got x"),  # type: ignore[arg-type]
        (lambda: tracked[0].intervals(95), "level must be between 0 and 1, got 95"),
        (lambda: tracked.alarms(float("inf")), "mean_windows must be more than 1 and at most 1e+09, got inf"),
        (lambda: tracked.alarms("x"), "mean_windows must be more than 1 and at most 1e+09, got 'x'"),  # type: ignore[arg-type]
        (lambda: tracked.contrast([float("nan"), 0]), "weights must be finite numbers, one a window, got others"),
        (lambda: tracked.contrast("ab"), "weights must be finite numbers, one a window, got others"),
    ]
    for call, said in wrong:
        with pytest.raises(DecodeError, match=re.escape(said)):
            call()


@pytest.mark.parametrize(
    ("labels", "period"),
    [
        (["2026-11-29", "2026-11-30"], 7),
        (["2026-11-29T00", "2026-11-30T00"], 7),
        (["2026-11-29T00", "2026-11-29T02"], 12),
        (["2026-11-29T00", "2026-11-29T05"], None),
        (["2026-11-29T00", "2026-11-29T12"], None),  # two windows a day are no cycle to be seen
        (["2026-10", "2026-11"], 12),
        (["2026-W10", "2026-W11"], None),
        (["2026-11-02", "2026-11-09"], None),
        ([1, 2], None),
        (["spring", "autumn"], None),
    ],
)
def test_the_calendar_has_cycles(labels: list[object], period: int | None) -> None:
    assert period_of(labels, places_of(labels)) == period
