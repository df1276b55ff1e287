"""The windows of a tally: what `+` remembers where people take part again, in memory and in files."""

import hashlib
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import deniable as dn

DAILY = dn.krr(symbols=["a", "b", "c"], epsilon=2, participation="window")
ONCE = dn.krr(symbols=["a", "b", "c"], epsilon=2)


def day(n: int = 10, survey: dn.Survey = DAILY) -> dn.Tally:
    return dn.Tally(survey, [[n - 3, 2, 1]])


def rewritten(tally: dn.Tally, change: Callable[[dict[str, Any]], object]) -> bytes:
    """The file of a tally with another header, and a checksum that is right."""
    magic, line, rest = tally.to_bytes().split(b"\n", 2)
    header = json.loads(line)
    change(header)
    body = b"\n".join([magic, json.dumps(header).encode(), rest[:-32]])
    return body + hashlib.sha256(body).digest()


def test_a_tally_is_of_one_window_and_a_sum_has_those_of_both() -> None:
    assert dn.Tally(DAILY).windows == ()
    assert day().windows == (10,)
    assert (day(10) + day(30) + day(10)).windows == (30, 10, 10)
    assert sum([day(10), day(20)], dn.Tally(DAILY)).windows == (20, 10)
    assert (day() + dn.Tally(DAILY)).windows == (10,)


def test_reports_that_are_counted_are_of_this_window() -> None:
    tally = day(10)
    tally.accumulate(dn.Report(DAILY, 0, b"\x00"))
    tally.add(np.array([[1, 1, 2]]), np.array([4]))
    tally.accumulate(dn.privatize(DAILY, ["a", "b"]))
    assert tally.windows == (17,)
    grown = tally + day(30)
    grown.accumulate(dn.Report(DAILY, 0, b"\x00"))
    assert grown.windows == (30, 18), "what is counted later is of the same window as before"
    tables = [dn.privatize(DAILY, ["a"] * 5), dn.privatize(DAILY, ["b"] * 6)]
    assert dn.count(DAILY, tables).windows == (11,), "one count is one window, however many tables"


def test_copies_and_a_tally_that_is_added_to_itself() -> None:
    tally = day(10) + day(20)
    twin = tally.copy()
    assert twin == tally
    twin.accumulate(dn.Report(DAILY, 0, b"\x00"))
    assert (tally.windows, twin.windows) == ((20, 10), (20, 11))
    tally += tally
    assert tally.windows == (20, 20, 10, 10)
    assert tally.n == 60


def test_equal_counts_of_other_windows_are_other_tallies() -> None:
    both = dn.Tally(DAILY, [[14, 4, 2]])
    assert day() + day() != both
    assert day() + day() == dn.Tally(DAILY, [[14, 4, 2]], windows=[10, 10])
    assert day(10, ONCE) + day(10, ONCE) == dn.Tally(ONCE, [[14, 4, 2]]), "nobody is in two windows"
    assert (day(10, ONCE) + day(10, ONCE)).windows == (20,)


def test_files_keep_windows() -> None:
    tally = day(10) + day(10) + day(30)
    again = dn.Tally.from_bytes(tally.to_bytes())
    assert again == tally
    assert again.windows == (30, 10, 10)
    one = dn.Tally.from_bytes(day(10).to_bytes())
    one.accumulate(dn.Report(DAILY, 0, b"\x00"))
    assert one.windows == (11,), "a window that goes on in the next process"
    assert b"windows" not in day(10, ONCE).to_bytes(), "the files of other surveys are what they were"


def test_a_file_without_windows_says_that_it_does_not_know() -> None:
    old = dn.Tally.from_bytes(rewritten(day() + day(), lambda header: header.pop("windows")))
    assert old.windows is None
    assert (old + day()).windows is None
    assert (day() + old).windows is None
    assert old != day() + day()
    assert dn.Tally.from_bytes(old.to_bytes()).windows is None
    assert dn.Tally(old.survey, old.counts, old.reports, windows=[10, 10]) == day() + day()
    empty = dn.Tally.from_bytes(rewritten(dn.Tally(DAILY), lambda header: header.pop("windows")))
    assert empty.windows == ()


@pytest.mark.parametrize(
    "windows",
    [
        {"10": 1},
        {"20": 2},
        {"-20": 1},
        {"020": 1},
        {"20.0": 1},
        {"0": 3, "20": 1},
        {"20": True},
        {"20": 0},
        {"9" * 5000: 1},
        [20],
        None,
        "20",
    ],
)
def test_windows_of_a_file_that_cannot_be(windows: object) -> None:
    data = rewritten(day() + day(), lambda header: header.update(windows=windows))
    told = "tally windows must be sizes and how many windows have each, which add up to its reports"
    with pytest.raises(dn.TallyError, match=told):
        dn.Tally.from_bytes(data)


def test_windows_that_cannot_be() -> None:
    with pytest.raises(dn.TallyError, match="windows must add up to the reports, 10, got 11"):
        dn.Tally(DAILY, [[7, 2, 1]], windows=[5, 6])
    with pytest.raises(dn.TallyError, match="windows must be numbers of reports, one a window, got 20; list them"):
        dn.Tally(DAILY, [[7, 2, 1]], windows=20)  # type: ignore[arg-type]
    with pytest.raises(dn.TallyError, match=r"windows must be numbers of reports, got 2\.5"):
        dn.Tally(DAILY, [[7, 2, 1]], windows=[2.5])  # type: ignore[list-item]
    told = "windows must be left out for a survey that people answer once: nobody is in two of them"
    with pytest.raises(dn.TallyError, match=told):
        dn.Tally(ONCE, [[7, 2, 1]], windows=[5, 5])
    with pytest.raises(dn.TallyError, match="tally must not name windows: people answer its survey once"):
        dn.Tally.from_bytes(rewritten(day(10, ONCE), lambda header: header.update(windows={"10": 1})))
    with pytest.raises(dn.TallyError, match="counts must not be negative, got -1"):
        day().add(np.array([[-1, 0, 0]]), np.array([-1]))  # counts that go down
