"""How a survey says that people take part: one spelling, in its digest, and shown where it is not once."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import deniable as dn
from deniable.service.clock import window_of
from deniable.survey import PARTICIPATIONS, PRESETS, WINDOWS, first_hour, first_minute, next_turn, window_number

NEEDED: dict[str, dict[str, Any]] = {
    "warner": {},
    **{name: {"symbols": 3} for name in ("krr", "krappor", "oue", "subset", "hadamard", "projective", "ordered")},
    "number": {"low": 0, "high": 1},
    **{name: {"cohorts": 2, "seed": bytes(16)} for name in ("orr", "olh", "orappor")},
    "discovery": {"length": 3, "cohorts": 4, "seed": bytes(16)},
}
NEEDED |= {
    "sensitive": {"symbols": 3, "sensitive": [1]},
    "blocks": {"groups": [[0, 1], [2]]},
    "channel": {"matrix": [[0.7, 0.3], [0.4, 0.6]]},
}
for name in ("orr", "orappor"):
    NEEDED[name]["cells"] = 4


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_takes_it(preset: str) -> None:
    once = PRESETS[preset](epsilon=1, **NEEDED[preset])
    assert once.participation == "once"
    assert once == PRESETS[preset](epsilon=1, participation="once", **NEEDED[preset])
    assert "participation" not in once.to_json()
    found = {PRESETS[preset](epsilon=1, participation=how, **NEEDED[preset]) for how in PARTICIPATIONS}
    assert len({survey.digest for survey in found}) == len(found) == 5
    assert all(dn.Survey.from_json(survey.to_json()) == survey for survey in found)


@pytest.mark.parametrize(
    ("given", "canonical", "window", "words"),
    [
        ("once", "once", None, ""),
        ("window", "window:day", "day", ", answered once a day"),
        ("window:hour", "window:hour", "hour", ", answered once an hour"),
        ("window:day", "window:day", "day", ", answered once a day"),
        ("window:week", "window:week", "week", ", answered once a week"),
        ("window:week:turnover=0.1", "window:week:turnover=0.1", "week", ", answered once a week"),
        ("window:day:turnover=0.1:change=0.25", "window:day:turnover=0.1:change=0.25", "day", ", answered once a day"),
        ("window:day:change=1", "window:day:change=1", "day", ", answered once a day"),
        ("window:day:share=1/7", "window:day:share=1/7", "day", ", answered in one day of 7"),
        ("window:week:share=1/99999", "window:week:share=1/99999", "week", ", answered in one week of 99999"),
        ("event", "event", None, ", answered at every event"),
    ],
)
def test_one_spelling_and_what_is_shown(given: str, canonical: str, window: str | None, words: str) -> None:
    survey = dn.warner(epsilon=1, participation=given)
    assert (survey.participation, survey.window) == (canonical, window)
    assert repr(survey) == f"<Survey: W-RR, 2 symbols, epsilon 1{words}, digest {survey.digest[:8]}>"
    assert ("answered" in survey._repr_html_()) == bool(words)
    assert words.removeprefix(", answered ") in survey._repr_html_()


@pytest.mark.parametrize(
    ("wrong", "shown"),
    [("daily", "'daily'"), ("window:month", "'window:month'"), ("", "''"), (None, "NoneType"), (["event"], "list")],
)
def test_anything_else_is_refused(wrong: Any, shown: str) -> None:
    with pytest.raises(dn.SurveyError) as caught:
        dn.warner(epsilon=1, participation=wrong)
    assert str(caught.value) == (
        f"participation must be 'once', 'window:hour', 'window:day', 'window:week' or 'event', got {shown}"
    )


def test_windows_are_those_of_the_calendar_and_of_the_collector() -> None:
    start = datetime(2024, 12, 20, tzinfo=UTC)
    before: dict[str, int] = {}
    for hour in range(24 * 30):
        now = start + timedelta(hours=hour)
        hours = int(now.timestamp() // 3600)
        begins = {"hour": True, "day": now.hour == 0, "week": now.hour == 0 and now.isoweekday() == 1}
        for window in WINDOWS:
            number = window_number(window, hours)
            assert number - before.get(window, number) == (begins[window] and hour > 0), "one more where one begins"
            assert first_hour(window, number) == window_of(window, hours) <= hours
            before[window] = number
    assert first_minute("week", window_number("week", 0)) == "1969-12-29T00:00Z"


def test_a_turnover_is_part_of_the_digest_and_of_nothing_a_device_does() -> None:
    plain = dn.warner(epsilon=1, participation="window:day")
    stated = dn.warner(epsilon=1, participation="window:day:turnover=0.05")
    assert (plain.turnover, stated.turnover, stated.window) == (None, 0.05, "day")
    assert dn.warner(epsilon=1, participation="window:day:turnover=1").turnover == 1.0
    assert plain.digest != stated.digest
    assert dn.Survey.from_json(stated.to_json()) == stated
    assert stated.mechanism == plain.mechanism


def test_a_change_is_part_of_the_digest_and_of_nothing_a_device_does() -> None:
    stated = dn.warner(epsilon=1, participation="window:day:turnover=0.05")
    both = dn.warner(epsilon=1, participation="window:day:turnover=0.05:change=0.1")
    alone = dn.warner(epsilon=1, participation="window:day:change=0.1")
    assert [(one.turnover, one.change) for one in (stated, both, alone)] == [(0.05, None), (0.05, 0.1), (None, 0.1)]
    assert len({stated.digest, both.digest, alone.digest}) == 3
    assert all(dn.Survey.from_json(one.to_json()) == one for one in (both, alone))
    assert both.mechanism == stated.mechanism
    assert both.window == "day"


@pytest.mark.parametrize(
    "wrong",
    [
        "window:day:turnover=",
        "window:hour:turnover=1.5",
        "once:turnover=0.1",
        "window:day:change=0.10",
        "window:day:change=0.1:turnover=0.1",
        "event:change=0.1",
    ],
)
def test_a_turnover_or_change_that_cannot_be_is_refused_in_a_sentence(wrong: str) -> None:
    with pytest.raises(dn.SurveyError) as caught:
        dn.warner(epsilon=1, participation=wrong)
    assert str(caught.value) == (
        "turnover and change must follow a window, in this order, from 0 to 1 with at most four digits after the "
        f"point, as in 'window:day:turnover=0.05:change=0.1', got {wrong!r}"
    )


def test_a_share_is_part_of_the_digest_and_no_window_shares_noise() -> None:
    plain = dn.warner(epsilon=1, participation="window:day")
    turns = dn.warner(epsilon=1, participation="window:day:share=1/7")
    assert (plain.every, turns.every, turns.turnover, turns.window) == (1, 7, None, "day")
    assert [plain.repeats_noise, turns.repeats_noise] == [True, False]
    assert plain.digest != turns.digest
    assert dn.Survey.from_json(turns.to_json()) == turns
    one = dn.warner(epsilon=1)
    form = dn.form(a=one, b=one, epsilon=2, participation="window:hour:share=1/3")
    assert (form.every, form.window, form.repeats_noise) == (3, "hour", False)
    assert dn.form(a=one, b=one, epsilon=2, participation="window:day:turnover=0.05").window == "day"


@pytest.mark.parametrize(
    "wrong", ["window:day:share=", "window:day:share=1/1", "once:share=1/7", "window:day:share=2/7"]
)
def test_a_share_that_cannot_be_is_refused_in_a_sentence(wrong: str) -> None:
    with pytest.raises(dn.SurveyError) as caught:
        dn.warner(epsilon=1, participation=wrong)
    assert str(caught.value) == (
        "share must follow a window, from 1/2 to 1/99999, as in 'window:day:share=1/7', and without a turnover, "
        f"got {wrong!r}"
    )


def test_turns_come_round() -> None:
    for every in (1, 2, 7):
        for turn in range(every):
            found = [next_turn(number, every, turn) for number in range(20)]
            assert all(number <= window < number + every for number, window in enumerate(found))
            assert {window % every for window in found} == {turn}
