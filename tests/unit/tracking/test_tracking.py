"""`track`: windows in, a sequence of estimates out; what it refuses, and what its contrasts are."""

import json
from dataclasses import replace
from datetime import date, datetime, timedelta

import numpy as np
import pytest

import deniable as dn
from deniable.errors import DecodeError
from deniable.tracking.calendar import label_gaps, places_of
from deniable.tracking.overlap import Lives
from tests.surveys import SEED

P = np.array([0.5, 0.3, 0.15, 0.05])
SURVEY = dn.krr(symbols=["a", "b", "c", "d"], epsilon=2)


def days(count: int, n: int = 2000, survey: dn.Survey = SURVEY, seed: int = 1) -> list[dn.Tally]:
    rng = np.random.default_rng(seed)
    return [dn.simulate(survey, P, n=n, rng=rng) for _ in range(count)]


def test_shares_are_positive_and_add_up_to_one() -> None:
    tracked = dn.track(days(12, n=200))
    assert len(tracked) == 12
    for window in tracked:
        assert window.probabilities.min() >= 0
        assert window.probabilities.sum() == pytest.approx(1)
        assert window.n == 200


def test_a_window_borrows_from_the_others() -> None:
    tallies = days(30)
    tracked = dn.track(tallies)
    alone = np.array([dn.decode(tally, constraint=dn.Projected()).raw for tally in tallies])
    together = np.array([window.raw for window in tracked])
    assert ((together - P) ** 2).mean() < ((alone - P) ** 2).mean() / 5


def test_the_last_window_is_as_it_is_known_today() -> None:
    tracked = dn.track(days(6))
    assert np.allclose(tracked[-1].raw, tracked.as_of(-1).raw)
    assert not np.allclose(tracked[0].raw, tracked.as_of(0).raw)
    assert [window.window for window in tracked[1:3]] == [1, 2]
    with pytest.raises(IndexError, match="window must be below 6, got 9"):
        tracked[9]


def test_symbols_have_their_shares_by_name() -> None:
    window = dn.track(days(5))[2]
    assert dict(window)["a"] == window["a"] == window.probabilities[0]
    with pytest.raises(KeyError):
        window["z"]


def test_missing_windows_are_filled_in_and_labelled() -> None:
    labels = ["2026-11-01", "2026-11-02", "2026-11-05"]
    tracked = dn.track(dict(zip(labels, days(3), strict=True)))
    assert tracked.windows == ("2026-11-01", "2026-11-02", "2026-11-03", "2026-11-04", "2026-11-05")
    assert [window.n for window in tracked] == [2000, 2000, 0, 0, 2000]
    assert np.isfinite(tracked[2].standard_errors).all()
    with pytest.raises(DecodeError, match="window must have reports, got 2026-11-03, which has none"):
        tracked.difference(-1, 2)
    with pytest.raises(DecodeError, match="weights must be zero for windows without reports"):
        tracked.contrast([0, 0, 1, 0, -1])


def test_a_window_without_reports_is_a_missing_one() -> None:
    tallies = days(3)
    tracked = dn.track([tallies[0], dn.Tally(SURVEY), tallies[2]])
    assert tracked[1].n == 0
    assert tracked[1].standard_errors.max() >= tracked[0].standard_errors.max()


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        (["2026-11-02", "2026-11-01"], "windows must be in the order of time, got '2026-11-01' after '2026-11-02'"),
        (["2026-11-01", "2026-11-01"], "windows must not overlap, got '2026-11-01' twice"),
        (["2026-11-01"], "windows must be as many as tallies, 2, got 1"),
        (["2026-12", "2026-13"], "windows must be dates that exist, got '2026-13'"),
        (["2026-00", "2026-01"], "windows must be dates that exist, got '2026-00'"),
        (["2026-01-01T23", "2026-01-01T24"], "windows must be dates that exist, got '2026-01-01T24'"),
        (
            [date(2026, 1, 2), date(2026, 1, 1)],
            r"windows must be in the order of time, got datetime.date",
        ),
        ([date(2026, 1, 2), "2026-01-01"], "windows must be in the order of time, got '2026-01-01'"),
        (list(np.array([2, 1])), "windows must be in the order of time, got .*1"),
        ([1.5, 2.5], "windows must be whole numbers, dates or texts, got float; write dates as '2026-11-18'"),
        (
            [datetime(2026, 1, 1, 9, 30), datetime(2026, 1, 1, 10, 30)],
            "windows must be whole hours, days, weeks or months, got '2026-01-01 09:30:00'",
        ),
    ],
)
def test_windows_that_cannot_be(labels: list[object], told: str) -> None:
    with pytest.raises(DecodeError, match=told):
        dn.track(days(2), windows=labels)


def test_labels_of_every_kind() -> None:
    assert places_of(["2026-11-18T09", "2026-11-18T11"]) == [0, 1]
    assert places_of(["2026-W01", "2026-W02", "2026-W05"]) == [0, 1, 4]
    assert places_of(["2026-01", "2026-02", "2027-01"]) == [0, 1, 12]
    assert places_of(["spring", "summer", "autumn"]) == [0, 1, 2]
    assert places_of([3, 5, 9]) == places_of(list(np.array([3, 5, 9]))) == [0, 1, 3]
    assert places_of([date(2026, 11, 18), "2026-11-19", date(2026, 11, 22)]) == [0, 1, 4]
    assert places_of([datetime(2026, 11, 18), datetime(2026, 11, 19), datetime(2026, 11, 22)]) == [0, 1, 4]
    assert places_of(["2026-11-01", "2026-11-02", "2027-11-01"]) == [0, 1, 2]  # no even calendar


def test_missing_labels_of_every_kind() -> None:
    for labels in (
        ["2026-11-18T22", "2026-11-19T01", "2026-11-19T02"],
        ["2026-W51", "2027-W01"],
        ["2026-11", "2027-02"],
    ):
        places = places_of(labels)
        filled = label_gaps(labels, places)
        assert [filled[place] for place in places] == labels
        assert places_of(filled) == list(range(len(filled)))
    assert label_gaps(["a", "b"], [0, 1]) == ["a", "b"]


def test_what_is_refused() -> None:
    one = days(1)
    with pytest.raises(DecodeError, match="tallies must be of at least two windows, got 1; decode takes a single one"):
        dn.track(one)
    with pytest.raises(DecodeError, match="tallies must be tallies, one a window, got str"):
        dn.track([*one, "day.tally"])  # type: ignore[list-item]
    with pytest.raises(DecodeError, match="tallies must be of surveys with the same symbols"):
        dn.track([*one, dn.simulate(dn.krr(symbols=4, epsilon=2), P, n=100, rng=np.random.default_rng(0))])
    with pytest.raises(DecodeError, match="tallies must hold reports, got none in any window"):
        dn.track([dn.Tally(SURVEY), dn.Tally(SURVEY)])
    with pytest.raises(DecodeError, match="turnover must be between 0 and 1, got 2"):
        dn.track(days(2), turnover=2)
    with pytest.raises(DecodeError, match="windows must not be given beside a mapping"):
        dn.track({"a": one[0], "b": one[0]}, windows=["a", "b"])
    tracked = dn.track(days(3))
    with pytest.raises(DecodeError, match=r"level must be between 0 and 1, got 1\.5"):
        tracked.changes(1.5)
    with pytest.raises(DecodeError, match="level must be between 0 and 1, got 0"):
        tracked[0].intervals(0)
    with pytest.raises(DecodeError, match=r"mean_windows must be more than 1 and at most 1e\+09, got 1"):
        tracked.alarms(1)
    with pytest.raises(DecodeError, match=r"weights must be 3 numbers, one a window, got shape \(2,\)"):
        tracked.contrast([1, -1])
    each = np.tile([1.0, -1.0, 0.0], (4, 1))
    assert np.allclose(tracked.contrast(each).standard_errors, tracked.difference(0, 1).standard_errors)
    with pytest.raises(DecodeError, match="an average must be over at least one window with reports, got none"):
        tracked.average(2, 2)


def test_days_and_weeks_overlap() -> None:
    told = (
        "windows must all be as long, or they overlap, got '2026-11-16' and '2026-W47'; add up the shorter ones first"
    )
    with pytest.raises(DecodeError, match=told):
        dn.track(days(2), windows=["2026-11-16", "2026-W47"])


def test_a_window_that_comes_late_is_one_more_entry() -> None:
    three = days(3)
    late = {"2026-11-01": three[0], "2026-11-03": three[2], "2026-11-02": three[1]}
    tracked = dn.track(late)
    assert tracked.windows == ("2026-11-01", "2026-11-02", "2026-11-03")
    assert np.allclose(tracked[1].raw, dn.track(three)[1].raw)


DAILY = dn.krr(symbols=["a", "b", "c", "d"], epsilon=2, participation="window")


def test_a_tally_must_know_its_windows() -> None:
    one, unknown = days(2, survey=DAILY)
    unknown._merged = None
    with pytest.raises(DecodeError, match="tallies must know their windows, got one of a file that does not say them"):
        dn.track([one, unknown])
    again = dn.Tally(unknown.survey, unknown.counts, unknown.reports)
    assert len(dn.track([one, again])) == 2


def test_weeks_that_were_added_up_from_days_have_the_noise_of_the_same_devices() -> None:
    """Seven copies of a day tell no more than the day does."""
    some = days(4, survey=DAILY)
    weeks, plain = dn.track([sum([day] * 6, day) for day in some]), dn.track(some)
    assert np.allclose(weeks.series.variances, plain.series.variances, rtol=1e-3)
    assert np.allclose(weeks.average().standard_errors, plain.average().standard_errors, rtol=1e-2)
    fresh = dn.track([dn.Tally(SURVEY, 7 * day.counts) for day in days(4)])
    assert (weeks.average().standard_errors > 2.5 * fresh.average().standard_errors).all()


def test_a_window_is_held_against_those_before_it_since_the_last_change() -> None:
    rng = np.random.default_rng(8)
    after = np.array([0.3, 0.5, 0.15, 0.05])
    paths = [P] * 6 + [after] * 6 + [P]
    tracked = dn.track([dn.simulate(SURVEY, p, n=2000, rng=rng) for p in paths])
    usual = tracked.against_normal(-2)
    assert (np.abs(usual.values) < 4 * usual.standard_errors).all(), "the shares after the step are normal by now"
    low, high = tracked.against_normal().intervals(simultaneous=True).T
    assert 0 < low[0] < 0.2 < high[0]
    assert high[1] < 0
    with pytest.raises(DecodeError, match="window must have one with reports before it, since the last change, got"):
        tracked.against_normal(0)
    for compared in (tracked.against_normal, lambda window: tracked.difference(window, 0)):
        with pytest.raises(DecodeError, match="window must be from -13 to 12, got 13"):
            compared(13)


def week(*, jump: int, last: int) -> dn.Tracked:
    """Days whose weekends differ by far, with exact counts, and a share that jumps on one day."""
    counts = []
    for day in range(last):
        other, more = 250 * (day % 7 > 4), 200 * (day >= jump)
        counts.append([4000 - other - more, 3000 + other, 2000 + more, 1000])
    first = date(2026, 9, 7)  # a Monday
    labels = [first + timedelta(day) for day in range(last)]
    return dn.track([dn.Tally(SURVEY, [row]) for row in counts], windows=labels)


def test_a_large_step_is_no_week() -> None:
    """In four weeks a step after eighteen days has the power of a week, and is not explained by one."""
    rng, before, after = np.random.default_rng(1), [0.4, 0.3, 0.2, 0.1], [0.3, 0.3, 0.2, 0.2]
    survey = dn.krr(symbols=4, epsilon=3, participation="window")
    path = [np.array(after if day >= 18 else before) for day in range(28)]
    labels = [date(2026, 11, 1) + timedelta(day) for day in range(28)]
    made = dn.lab.panel(survey, path, 5000, rng, change=0.02, turnover=0.03)
    tracked = dn.track(made, windows=labels, turnover=0.03)
    assert tracked._cycles(np.zeros_like(tracked.series.values))
    assert tracked.cycle is None
    assert [change.window for change in tracked.changes()] == 2 * [date(2026, 11, 19)]


def test_a_weekend_is_held_against_weekends_and_is_no_change() -> None:
    tracked = week(jump=100, last=62)  # the last day is a Saturday
    assert (tracked.cycle, tracked.changes()) == (7, [])
    assert np.abs(tracked.against_normal().values).max() < 1e-12
    assert np.abs(tracked.against_normal(-2).values).max() < 1e-12
    assert dn.track(days(14), windows=[date(2026, 9, 7) + timedelta(day) for day in range(14)]).cycle is None


def test_a_jump_beside_a_week_is_named_and_the_days_after_it_are_held_against_each_other() -> None:
    """No Saturday is left since the jump: what Saturdays were apart from those days before it still holds."""
    tracked = week(jump=59, last=62)
    assert {(change.symbol, change.window) for change in tracked.changes()} == {
        ("a", date(2026, 11, 5)),
        ("c", date(2026, 11, 5)),
    }
    assert np.abs(tracked.against_normal().values).max() < 1e-12


def test_contrasts_are_those_of_single_windows() -> None:
    tallies = days(4)
    tracked = dn.track(tallies)
    raw = [dn.decode(tally, constraint=dn.Projected()).raw for tally in tallies]
    assert np.allclose(tracked.difference(-1, 0).values, raw[3] - raw[0])
    assert np.allclose(tracked.average(1, 3).values, (raw[1] + raw[2]) / 2)
    alone = dn.decode(sum(tallies[1:], tallies[0]), constraint=dn.Projected()).standard_errors * 2  # of one window
    assert np.allclose(tracked.difference(-1, 0).standard_errors, alone * np.sqrt(2))
    assert np.allclose(tracked.average().standard_errors, alone / 2)


def test_a_rotated_survey_continues_the_series() -> None:
    second = dn.krr(symbols=["a", "b", "c", "d"], epsilon=1, name="version 2")
    tracked = dn.track(days(10) + days(10, survey=second, n=8000, seed=2))
    assert len(tracked) == 20
    assert abs(tracked[-1].raw - P).max() < 0.03


def test_candidates_of_an_open_survey_are_tracked_beside_what_is_unlisted() -> None:
    survey = dn.orr(epsilon=3, cells=16, cohorts=32, seed=SEED)
    rng = np.random.default_rng(5)
    names, law = ["red", "green", "blue", "pink"], np.array([0.4, 0.3, 0.2, 0.1])
    tallies = [dn.simulate(survey, law, n=4000, rng=rng, symbols=names) for _ in range(8)]
    tracked = dn.track(tallies, candidates=["red", "green", "white"])
    last = tracked[-1]
    assert last.symbols == ("red", "green", "white")
    assert abs(last["red"] - 0.4) < 0.05
    assert last["white"] < 0.05
    assert 0.6 < last.probabilities.sum() < 0.8


@pytest.mark.parametrize("listed", [4, 8])
def test_windows_of_the_same_devices_have_the_noise_of_one(listed: int) -> None:
    """What devices repeat is not taken for unlisted answers, which are no noise: they cancel in differences."""
    names, rng = [f"s{place}" for place in range(8)], np.random.default_rng(8)
    survey = dn.orr(epsilon=2, cells=8, cohorts=32, seed=SEED, participation="window")
    law = np.tile(dn.lab.zipf(8, 1), (12, 1))
    days = dn.lab.panel(survey, law, 4000, rng, symbols=names, turnover=0.1)
    tracked = dn.track(days, candidates=names[:listed], turnover=0.1, change=0.0)
    alone = dn.decode(days[0], candidates=names[:listed])
    own = np.sqrt(alone.fit.spread.own[:listed])
    assert tracked.series.unit[:, 0] == pytest.approx(own, rel=0.05)
    if listed == 8:
        assert tracked.unlisted == pytest.approx(np.zeros(8), abs=0.1 * float((own**2).min()))
    else:
        heavy = np.median([dn.decode(day, candidates=names[:4]).fit.spread.unlisted for day in days])
        assert tracked.unlisted == pytest.approx(heavy * alone.fit.spread.meeting[:4], rel=0.2)
    variances = tracked.average().standard_errors ** 2 - tracked.unlisted
    weights = np.full(12, 1 / 12)
    assert variances == pytest.approx(replace(tracked, unlisted=0 * variances).contrast(weights).standard_errors ** 2)
    assert (tracked.moving.smoothed_variance > tracked.unlisted[:, None]).all()
    others = replace(tracked, unlisted=np.ones(listed))
    assert (others.difference(-1, 0).standard_errors == tracked.difference(-1, 0).standard_errors).all()


def test_a_step_is_named_once_with_its_size() -> None:
    rng = np.random.default_rng(6)
    after = np.array([0.3, 0.5, 0.15, 0.05])
    tallies = [dn.simulate(SURVEY, P if day < 7 else after, n=2000, rng=rng) for day in range(14)]
    tracked = dn.track(tallies, windows=[f"2026-11-{day + 1:02}" for day in range(14)])
    changes = tracked.changes()
    assert {(change.symbol, change.window) for change in changes} == {("a", "2026-11-08"), ("b", "2026-11-08")}
    for change in changes:
        assert change.p_value < 0.05
        assert change.interval[0] < (-0.2 if change.symbol == "a" else 0.2) < change.interval[1]
    assert ("b", "2026-11-08") in tracked.alarms(200)


def test_a_step_that_is_beyond_doubt_is_where_it_is() -> None:
    """The same reports every day, and then others: hundreds of standard errors, which no correction may turn around."""
    one, other = dn.Tally(DAILY, [[500, 300, 150, 50]]), dn.Tally(DAILY, [[400, 400, 150, 50]])
    changes = dn.track([one] * 6 + [other]).changes()
    assert [(change.symbol, change.window) for change in changes] == [("a", 6), ("b", 6)]


def test_whoever_changes_an_answer_draws_noise_anew() -> None:
    """Devices that all stay and repeat their noise: only those that move make the size of a change uncertain."""
    rng, after = np.random.default_rng(9), np.array([0.4, 0.4, 0.15, 0.05])
    inside = []
    for _ in range(25):
        tracked = dn.track(dn.lab.panel(DAILY, [P] * 5 + [after] * 5, 1000, rng), turnover=0)
        (change,) = [one for one in tracked.changes() if one.symbol == "b"]
        inside.append(change.interval[0] <= 0.1 <= change.interval[1])
        low, high = tracked.difference(-1, 0).intervals().T
        inside.append(bool(low[1] <= 0.1 <= high[1]))
    assert sum(inside) >= 40  # of 50, in pairs: fewer once in a thousand if 95 % cover


def test_what_died_out_is_drawn() -> None:
    """By the last window alone the chart left out the answer that lost most."""
    survey = dn.krr(symbols=8, epsilon=4)
    old, new = np.array([0.7, 0.09, *[0.035] * 6]), np.array([0.0, 0.4, *[0.1] * 6])
    rng = np.random.default_rng(1)
    tracked = dn.track([dn.simulate(survey, old if day < 10 else new, n=5000, rng=rng) for day in range(20)])
    assert '"name": "0"' in json.dumps(tracked.chart(top=2).to_dict())


def test_a_table_of_all_windows() -> None:
    table = dn.track(days(3)).to_arrow()
    assert table.column_names == ["window", "n", "symbol", "probability", "raw", "low", "high"]
    assert table.num_rows == 12
    assert repr(dn.track(days(3))) == "<Tracked 4 symbols over 3 windows, 6000 reports>"


def test_a_turnover_of_the_survey_is_used_unless_another_is_given() -> None:
    law, rng = np.full((12, 8), 1 / 8), np.random.default_rng(5)
    plain = dn.krr(symbols=8, epsilon=1, participation="window")
    stated = dn.krr(symbols=8, epsilon=1, participation="window:day:turnover=0.5")
    days = dn.lab.panel(plain, law, 500, rng, turnover=0.5)
    said = [dn.Tally(stated, day.counts) for day in days]
    total, known = sum(days, dn.Tally(plain)), sum(said, dn.Tally(stated))
    assert dn.decode(known).standard_errors == pytest.approx(dn.decode(total, turnover=0.5).standard_errors)
    assert (dn.decode(known).standard_errors < dn.decode(total).standard_errors).all()
    assert dn.decode(known, turnover=0.0).standard_errors == pytest.approx(dn.decode(total).standard_errors)
    assert dn.track(said).devices.lives == Lives(0.5, None)
    assert dn.track(said, turnover=0.1).devices.lives == Lives(0.1, None)
    assert dn.track(days).devices.lives == Lives()
    # Half of the devices of two windows are others, whatever the counts look like.
    same, again = dn.decode(said[0]), dn.decode(said[0])
    assert (dn.difference(same, again).intervals()[:, 1] > 0).all()
    first, second = dn.decode(days[0]), dn.decode(days[0])
    assert (dn.difference(first, second).intervals()[:, 1] == 0).all()


def test_a_change_of_the_survey_is_used_unless_another_is_given() -> None:
    law, rng = [dn.lab.zipf(8, 1)] * 6, np.random.default_rng(8)
    plain = dn.krr(symbols=8, epsilon=1, participation="window")
    stated = dn.krr(symbols=8, epsilon=1, participation="window:day:turnover=0.1:change=0.2")
    days = dn.lab.panel(plain, law, 500, rng, turnover=0.1, change=0.2)
    said = [dn.Tally(stated, day.counts) for day in days]
    total, known = sum(days, dn.Tally(plain)), sum(said, dn.Tally(stated))
    both = dn.decode(total, turnover=0.1, change=0.2)
    assert dn.decode(known).standard_errors == pytest.approx(both.standard_errors)
    assert (both.standard_errors < dn.decode(total, turnover=0.1).standard_errors).all()
    for tracked in (dn.track(said), dn.track(days, turnover=0.1, change=0.2)):
        assert tracked.devices.lives == Lives(0.1, 0.2)
        assert tracked.average().standard_errors == pytest.approx(both.standard_errors, rel=0.02)
        assert tracked.turnover == pytest.approx(1 - 0.9 * 0.8)
        assert tracked.shared_noise == (
            "Devices take part again and repeat their noise: error bars follow from the turnover and the answers that "
            "change."
        )
    wider = dn.track(days, turnover=0.1)
    assert (wider.average().standard_errors > 1.05 * both.standard_errors).all()
    assert wider.shared_noise.endswith("averages have those of devices that all keep their answers. Give the change "
                                       "if answers do.")  # fmt: skip
    alone = dn.track(days, change=0.2)
    assert alone.devices.lives == Lives(None, 0.2)
    assert "of devices that all stay, some with other answers. Give the turnover" in alone.shared_noise
    assert (alone.average().standard_errors < dn.track(days).average().standard_errors).all()
    with pytest.raises(DecodeError, match="change must be between 0 and 1, got 2"):
        dn.track(days, change=2)
    # Two windows differ by what those who answer anew draw, whatever the counts look like.
    same, again = dn.decode(said[0]), dn.decode(said[0])
    alike = dn.krr(symbols=8, epsilon=1, participation="window:day:turnover=0.1")
    fewer = [dn.decode(dn.Tally(alike, said[0].counts)) for _ in range(2)]
    assert (dn.difference(same, again).intervals()[:, 1] > dn.difference(*fewer).intervals()[:, 1]).all()


def test_no_bad_input_is_counted_twice() -> None:
    """The list of what goes wrong with windows: each gets a sentence before anything is estimated."""
    first, second = days(2, survey=DAILY)
    unknown = dn.Tally(DAILY, first.counts, first.reports)
    unknown._merged = None
    other = dn.simulate(dn.krr(symbols=["a", "b", "e"], epsilon=2), P[:3] / P[:3].sum(), 100, np.random.default_rng(0))
    for given, windows, told in (
        ([first, second], ["2026-11-02", "2026-11-01"], "windows must be in the order of time"),
        ([first, other], None, "tallies must be of surveys with the same symbols"),
        ([first, second], ["2026-11-02", "2026-11-02"], "windows must not overlap, got '2026-11-02' twice"),
        ([first, second], ["2026-11-02", "2026-W45"], "windows must all be as long, or they overlap"),
        # A sum of all days beside them, and a slip of the pen that would switch off both checks before it.
        ([first, first + second], ["2026-11-02", "total"], "windows must all be times, all be numbers or all be other"),
        ([first, second], ["2026-11-02", 3], "windows must all be times, .*, got '2026-11-02' and 3; leave out"),
        ([first, second], ["2026-11-30", "2026-11-31"], "windows must be dates that exist, got '2026-11-31'"),
        ([first, unknown], None, "tallies must know their windows"),
        ([first + unknown, second], None, "tallies must know their windows"),
        ([first], None, "tallies must be of at least two windows, got 1"),
    ):
        with pytest.raises(DecodeError, match=told):
            dn.track(given, windows=windows)
    # A running total that goes down, taken apart into windows.
    with pytest.raises(dn.TallyError, match="counts must not be negative, got -"):
        dn.Tally(DAILY, first.counts - (first + second).counts)
    with pytest.raises(dn.TallyError, match="tally is for survey"):
        _ = first + days(1)[0]


@pytest.mark.parametrize("how", ["window:day:share=1/4", "once"])
def test_windows_of_devices_that_take_turns_share_no_noise(how: str) -> None:
    """Sums, bands and averages are those of other people: the noise of each report is fresh."""
    survey = dn.krr(symbols=["a", "b", "c", "d"], epsilon=2, participation=how)
    panel = dn.lab.panel(survey, [P] * 12, 4000, np.random.default_rng(3), memoized=how != "once")
    if how != "once":
        assert sum(tally.n for tally in panel[:4]) == 4000, "each device has one turn in four windows"
        assert all(900 < tally.n < 1100 for tally in panel)
    total = sum(panel[1:], panel[0])
    assert dn.decode(total).shared_noise == ""
    tracked = dn.track(panel)
    assert not tracked.is_shared
    alone = dn.decode(panel[0], constraint=dn.Projected()).standard_errors
    assert np.allclose(tracked.average().standard_errors, alone / 12**0.5, rtol=0.1)
    again = dn.track(panel, participation="window")
    assert again.is_shared, "unless somebody says otherwise"
