"""A survey that people answer every day: ranges, differences and trends know that the same devices took part."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import deniable as dn
from deniable.errors import StoreError
from deniable.service import tallies
from deniable.service.sqlite import SQLiteStore
from tests.collector import Caller, Ticking, run

SURVEY = dn.krr(symbols=["no", "perhaps", "soon", "yes", "never", "always"], epsilon=3, participation="window")
COUNTS = (400, 200, 150, 120, 80, 50)


async def fed(call: Caller, clock: Ticking, days: Sequence[tuple[int, ...]], **rules: Any) -> str:
    """The path of a survey with so many reports of each cell a day: the same devices with the same noise."""
    path = await call.create(SURVEY, minimum=20, window="day", **rules)
    sent = 0
    for counts in days:
        cells = [cell for cell, count in enumerate(counts) for _ in range(count)]
        body = b"".join(
            (sent + i).to_bytes(16, "big") + dn.Report(SURVEY, 0, bytes([cell])).pack() for i, cell in enumerate(cells)
        )
        assert (await call.upload(SURVEY, body)).json()["accepted"] == len(cells)
        sent += len(cells)
        clock.pass_hours(24)
    return path


def test_ranges_have_the_error_bars_of_devices_that_repeat_their_noise(tmp_path: Path) -> None:
    async def story() -> None:
        clock = Ticking()
        store = SQLiteStore(tmp_path)
        async with Caller(store, clock=clock) as call:
            path = await fed(call, clock, [COUNTS] * 5)
            assert store.tally(store.entries()[0]).windows == (1000,) * 5
            whole = (await call.admin("GET", path + "/estimate")).json()
            assert whole["shared_noise"].startswith("5 windows may be of the same devices, which repeat their noise")
            starts = [one["start"] for one in (await call.admin("GET", path + "/windows")).json()["windows"]]
            one = (await call.admin("GET", f"{path}/estimate?to={starts[1]}")).json()
            assert one["shared_noise"] is None
            errors = [[row["standard_error"] for row in told["estimates"]] for told in (whole, one)]
            assert errors[0] == pytest.approx(errors[1], rel=1e-3)
            known = (await call.admin("POST", path + "/estimate", {"turnover": 0.5})).json()
            assert known["shared_noise"].startswith("5 windows share devices, which repeat their noise, but for a turn")
            assert known["estimates"][0]["standard_error"] < 0.8 * errors[0][0]
            both = (await call.admin("POST", path + "/estimate", {"turnover": 0.5, "change": 0.4})).json()
            assert "and 40 % of answers that are drawn anew each window" in both["shared_noise"]
            assert both["estimates"][0]["standard_error"] < 0.95 * known["estimates"][0]["standard_error"]
            wrong = await call.admin("POST", path + "/estimate", {"turnover": 0.5, "change": -1})
            assert wrong.json()["detail"] == "change must be a number from 0 to 1, for instance 0.1"
            wrong = await call.admin("POST", path + "/estimate", {"turnover": 1.5})
            assert wrong.json()["detail"] == "turnover must be a number from 0 to 1, for instance 0.05"
            change = (await call.admin("GET", f"{path}/difference?against_to={starts[2]}&from={starts[2]}")).json()
            assert change["shared_noise"].startswith("The same devices may be in both")
            assert [row["raw_high"] for row in change["changes"]] == pytest.approx([0.0] * 6)
            tally = dn.Tally.from_bytes((await call.admin("GET", path + "/tally")).body)
            assert tally.windows == (1000,) * 5
            csv = await call.admin("GET", path + "/estimate?format=csv")
            assert csv.status == 200

    run(story())


def test_counts_that_are_not_those_of_their_windows_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        clock, store = Ticking(), SQLiteStore(tmp_path)
        async with Caller(store, clock=clock) as call:
            await fed(call, clock, [COUNTS] * 2)
            monkeypatch.setattr(tallies, "windows_in", lambda *_: {0: {"accepted": 7}})
            told = "stored counts must be those of their windows (windows must add up to the reports, 2000, got 7)"
            with pytest.raises(StoreError, match=re.escape(f"{told}; run deniable store check")):
                store.tally(store.entries()[0])

    run(story())


def test_readers_do_not_learn_how_large_single_windows_are(tmp_path: Path) -> None:
    """Days of 1,000, 10 and 90 reports, the last two in one block: its tally is of equal windows."""

    async def story() -> None:
        clock = Ticking()
        async with Caller(SQLiteStore(tmp_path), clock=clock) as call:
            days = [COUNTS, (4, 2, 1, 1, 1, 1), (36, 18, 14, 11, 7, 4)]
            path = await fed(call, clock, days, results="public")
            clock.pass_seconds(600)
            own = dn.Tally.from_bytes((await call.admin("GET", path + "/tally")).body)
            assert own.windows == (1000, 90, 10)
            seen = dn.Tally.from_bytes((await call("GET", path + "/tally")).body)
            assert seen.windows == (367, 367, 366)
            assert (seen.counts == own.counts).all()
            wide, narrow = (dn.decode(tally).standard_errors for tally in (seen, own))
            assert (wide >= narrow).all()
            told = (await call("GET", path + "/estimate")).json()
            assert told["estimates"][0]["standard_error"] == pytest.approx(wide[0])

    run(story())


def test_a_trend_is_smooth_and_holds_the_last_day_against_a_normal_one(tmp_path: Path) -> None:
    async def story() -> None:
        clock = Ticking()
        async with Caller(SQLiteStore(tmp_path), clock=clock) as call:
            moved = (300, 300, 150, 120, 80, 50)
            path = await fed(call, clock, [COUNTS] * 6 + [moved])
            told = (await call.admin("GET", path + "/trend")).json()
            assert told["problem"] is None
            assert 0 <= told["turnover"] <= 1
            assert [one["changed"] for one in told["windows"]] == [[]] * 6 + [["no", "perhaps"]]
            for one in told["windows"]:
                assert len(one["smooth"]) == len(one["estimates"]) == 6
                assert sum(row["probability"] for row in one["smooth"]) == pytest.approx(1)
            latest = {row["symbol"]: row for row in told["latest"]}
            assert latest["no"]["unusual"]
            assert latest["perhaps"]["raw_low"] > 0
            assert not latest["yes"]["unusual"]
            assert latest["perhaps"]["raw"] > latest["perhaps"]["normal"]
            few = (await call.admin("POST", path + "/trend", {"top": 2})).json()
            assert [len(one["smooth"]) for one in few["windows"]] == [2] * 7
            assert len(few["latest"]) == 2

    run(story())


def test_windows_that_cannot_be_followed_are_shown_one_by_one(tmp_path: Path) -> None:
    async def story() -> None:
        clock = Ticking()
        survey = dn.orr(epsilon=3, cells=2, cohorts=1, seed=bytes(16))
        async with Caller(SQLiteStore(tmp_path), clock=clock) as call:
            path = await call.create(survey, minimum=1, window="day")
            for day in range(2):
                body = (day).to_bytes(16, "big") + dn.Report(survey, 0, b"\x00").pack()
                assert (await call.upload(survey, body)).json()["accepted"] == 1
                clock.pass_hours(24)
            told = (await call.admin("POST", path + "/trend", {"candidates": ["a", "b", "c"]})).json()
            assert told["problem"] == "tallies must determine every symbol that is tracked; give fewer candidates"
            assert [(one["n"], one["smooth"], one["changed"]) for one in told["windows"]] == [(1, None, [])] * 2
            assert told["latest"] is None

    run(story())
