"""Windows of the same devices that were added up: error bars as wide as their shared noise asks for."""

import numpy as np
import pytest

import deniable as dn
from deniable.decoders import Repeated, ScreenedEstimate
from deniable.theory import repeated_reports
from tests.surveys import SEED

SURVEYS = {
    "krr": dn.krr(symbols=6, epsilon=2, participation="window"),
    "oue": dn.oue(symbols=6, epsilon=2, participation="window"),
    "hadamard-blocks": dn.hadamard(symbols=12, epsilon=3, blocks=4, participation="window"),
    "orr": dn.orr(symbols=6, epsilon=2, cells=4, cohorts=16, seed=SEED, participation="window"),
}


def day(survey: dn.Survey, n: int = 1000, seed: int = 1) -> dn.Tally:
    size = len(survey.symbols or ())
    return dn.simulate(survey, dn.lab.zipf(size, 1), n, np.random.default_rng(seed))


def times(tally: dn.Tally, days: int) -> dn.Tally:
    """So many windows of the same devices, which repeat their reports."""
    return sum([tally] * (days - 1), tally)


@pytest.mark.parametrize("name", SURVEYS)
def test_the_same_devices_every_day_tell_no_more_than_one_day(name: str) -> None:
    """Twenty copies of one window: the estimate is that of one, and so are its error bars, sums and tests."""
    one = day(SURVEYS[name])
    total = dn.decode(times(one, 20), constraint=dn.Projected())
    alone = dn.decode(one, constraint=dn.Projected())
    assert total.raw == pytest.approx(alone.raw)
    assert total.standard_errors == pytest.approx(alone.standard_errors, rel=0.02)
    assert total.intervals() == pytest.approx(alone.intervals(), abs=0.02 * alone.standard_errors.max())
    assert total.covariance == pytest.approx(alone.covariance, abs=0.02 * alone.covariance.max())
    few = list(alone.symbols[:2])
    assert total.total(few).standard_error == pytest.approx(alone.total(few).standard_error, rel=0.02)
    assert total.total(few).interval() == pytest.approx(alone.total(few).interval(), abs=1e-3)
    assert total.diagnostics.alarms == alone.diagnostics.alarms == ()
    if alone.diagnostics.cohorts:
        assert total.diagnostics.cohorts is not None
        assert total.diagnostics.cohorts.p_value == pytest.approx(alone.diagnostics.cohorts.p_value, abs=0.01)
    if alone.diagnostics.fit:
        assert total.diagnostics.fit is not None
        assert total.diagnostics.fit.p_value == pytest.approx(alone.diagnostics.fit.p_value, abs=0.01)
    assert total.interval_kind == "approximate"


def test_a_second_stage_averages_out_and_the_first_does_not() -> None:
    survey = dn.krr(symbols=6, epsilon=2, epsilon_report=1, participation="window")
    one = day(survey)
    alone = dn.decode(one).standard_errors
    week, year = (dn.decode(times(one, days)).standard_errors for days in (7, 365))
    permanent = dn.theory.permanent_share(survey, dn.decode(one).raw)
    assert week / alone == pytest.approx(np.sqrt(permanent + (1 - permanent) / 7), rel=1e-3)
    assert year / alone == pytest.approx(np.sqrt(permanent + (1 - permanent) / 365), rel=1e-3)


def test_a_turnover_makes_error_bars_narrower() -> None:
    one = day(SURVEYS["krr"])
    total = times(one, 20)
    alone = dn.decode(one).standard_errors
    for turnover, wider in ((None, 20.0), (0.0, 20.0), (0.05, 14.62), (0.5, 2.8), (1.0, 1.0)):
        found = dn.decode(total, turnover=turnover).standard_errors / alone
        assert found == pytest.approx(np.sqrt(wider / 20), rel=0.02), turnover


@pytest.mark.parametrize("name", ["krr", "orr"])
def test_a_change_leaves_what_comes_back(name: str) -> None:
    """o_st = stay^d ((1 - r) keep^d + r): those that keep their answer, and those that return to its cells."""
    survey = SURVEYS[name]
    total = times(day(survey), 20)
    plain = dn.decode(total)
    r = dn.theory.returning_share(survey, plain.raw, symbols=plain.symbols)
    assert 0.05 < r < 0.95
    apart = np.abs(np.subtract.outer(np.arange(20), np.arange(20)))
    for turnover, change in ((None, 0.1), (0.05, 0.1), (0.05, 1.0), (0.05, 0.0)):
        stay, keep = 1 - (turnover or 0.0), 1 - change
        shared = stay**apart * ((1 - r) * keep**apart + r)
        found = dn.decode(total, turnover=turnover, change=change)
        permanent = dn.theory.permanent_share(survey, found.raw)
        effects = 1 + permanent * (shared.sum() / 20 - 1)
        assert found.fit.effects == pytest.approx(effects)
        assert found.fit.repeated.kept == pytest.approx(stay * ((1 - r) * keep + r) if change else stay)
    stated = dn.Survey.from_json(survey.to_json())
    assert dn.decode(times(day(stated), 20), change=0.0).standard_errors == pytest.approx(plain.standard_errors)


def test_repeated_reports_are_those_of_the_largest_overlap() -> None:
    sizes = [40, 10, 25, 25]
    total = sum(min(a, b) for i, a in enumerate(sizes) for j, b in enumerate(sizes) if i != j)
    assert repeated_reports(sizes, 100) == pytest.approx(total / 100)
    rng = np.random.default_rng(2)
    for _ in range(20):  # no order of the windows shares more
        order = rng.permutation(sizes)
        apart = np.abs(np.subtract.outer(np.arange(4), np.arange(4)))
        shared = 0.7**apart * np.minimum.outer(order, order)
        assert repeated_reports(sizes, 100, 0.3) >= (shared.sum() - 100) / 100 - 1e-12
    assert repeated_reports([], 0) == 0


def test_what_is_said() -> None:
    survey = SURVEYS["krr"]
    one = day(survey)
    assert (dn.decode(one).shared_noise, dn.decode(one).sharing) == ("", None)
    assert dn.decode(times(one, 20)).shared_noise == (
        "20 windows may be of the same devices, which repeat their noise: the wider error bars of that bound are "
        "shown, 4.47 times those of as many people. Give the turnover if devices are replaced."
    )
    assert dn.decode(times(one, 20), turnover=0.05).shared_noise == (
        "20 windows share devices, which repeat their noise, but for a turnover of 5 % a window: error bars are 3.82 "
        "times those of as many people."
    )
    assert dn.decode(times(one, 20), turnover=0.05, change=0.1).shared_noise.startswith(
        "20 windows share devices, which repeat their noise, but for a turnover of 5 % a window and 10 % of answers "
        "that are drawn anew each window: error bars are "
    )
    assert dn.decode(times(one, 20), change=0.1).shared_noise.startswith(
        "20 windows share devices, which repeat their noise, but for 10 % of answers that are drawn anew each window: "
    )
    assert dn.decode(times(one, 20)).sharing == {
        "case": "all",
        "windows": 20,
        "wider": pytest.approx(np.sqrt(20)),
        "turnover": None,
        "change": None,
    }
    some = dn.decode(times(one, 20), turnover=0.05, change=0.1).sharing
    assert some is not None
    assert [some[name] for name in ("case", "turnover", "change")] == ["some", 0.05, 0.1]
    with pytest.raises(dn.DecodeError, match="change must be between 0 and 1, got -1"):
        dn.decode(one, change=-1)
    once = day(dn.krr(symbols=6, epsilon=2))
    assert dn.decode(times(once, 20)).shared_noise == ""
    with pytest.raises(dn.DecodeError, match=r"turnover must be between 0 and 1, got 1\.5"):
        dn.decode(one, turnover=1.5)
    with pytest.raises(dn.DecodeError, match="turnover must be between 0 and 1, got True"):
        dn.decode(one, turnover=True)


def test_a_tally_that_does_not_know_its_windows_may_be_of_one_device() -> None:
    unknown = day(SURVEYS["krr"])
    unknown._merged = None
    found = dn.decode(unknown)
    assert found.shared_noise == (
        "The tally does not say which windows it has, so all of its reports may be of one device: the widest error "
        "bars are shown. Name the sizes of its windows, Tally(survey, counts, reports, windows=[...])."
    )
    assert Repeated.of(unknown).others == unknown.n - 1
    assert (found.standard_errors > 0.4).all()
    assert found.intervals()[:, 1].min() > 0.9


def test_screened_candidates_are_found_in_spite_of_repeated_noise() -> None:
    """Fresh reports find what a year of repeated ones must not: noise that is counted often is still noise."""
    survey = dn.orr(epsilon=3, cells=32, cohorts=64, seed=bytes(16), participation="window")
    rng = np.random.default_rng(0)
    names = [f"a{i}" for i in range(30_000)]
    one = dn.simulate(survey, [0.6, 0.4], 20_000, rng, symbols=["a17", "unlisted"])
    week = dn.decode(times(one, 7), candidates=names)
    assert isinstance(week, ScreenedEstimate)
    assert [week.symbols[place] for place in week.kept] == ["a17"]
    alone = dn.decode(one, candidates=names)
    assert week.standard_errors == pytest.approx(alone.standard_errors, rel=0.05)
    assert week.shared_noise.startswith("7 windows may be of the same devices")


def test_differences_of_windows_say_what_they_know() -> None:
    survey, rng = SURVEYS["krr"], np.random.default_rng(4)
    monday, friday = dn.lab.panel(survey, [dn.lab.zipf(6, 1)] * 2, 2000, rng, turnover=0.05)
    change = dn.difference(dn.decode(friday), dn.decode(monday))
    fresh = np.hypot(change.first.standard_errors, change.second.standard_errors)
    assert (change.standard_errors < 0.6 * fresh).all()
    assert change.shared_noise == (
        "The same devices may be in both: what the counts show of the noise that both share is left out of the error "
        "bars, and true change counts as noise."
    )
    two = dn.warner(epsilon=1, participation="window")
    few = dn.difference(*(dn.decode(dn.Tally(two, [[60, 40]])) for _ in range(2)))
    assert few.shared_noise == (
        "The same devices may be in both, which makes them more alike, but the counts do not show how much: the wider "
        "error bars of different people are shown."
    )
    assert few.standard_errors == pytest.approx(np.hypot(few.first.standard_errors, few.second.standard_errors))
    other = dn.krr(symbols=6, epsilon=2)
    plain = dn.difference(*(dn.decode(day(other, seed=seed)) for seed in (1, 2)))
    assert (plain.shared_noise, plain.sharing) == ("", None)
    assert [one.sharing and one.sharing["case"] for one in (change, few)] == ["left_out", "unknown"]
    assert plain.standard_errors == pytest.approx(np.hypot(plain.first.standard_errors, plain.second.standard_errors))


def test_windows_that_are_the_same_do_not_differ() -> None:
    one = dn.decode(day(SURVEYS["krr"]))
    same = dn.difference(one, one)
    assert (same.intervals() == 0).all()
    assert not same.changed().any()


def test_a_change_shows_among_devices_that_stay() -> None:
    """A shift that two groups of people would hide is plain among the same people."""
    survey, rng = dn.krr(symbols=32, epsilon=3, participation="window"), np.random.default_rng(7)
    before = dn.lab.zipf(32, 1)
    after = before.copy()
    after[:2] += (-0.03, 0.03)
    days = dn.lab.panel(survey, [before, after], 2000, rng, change=0.02)
    first, second = (dn.decode(tally) for tally in reversed(days))
    change = dn.difference(first, second)
    assert change.changed()[:2].all()
    fresh = np.hypot(first.standard_errors, second.standard_errors)
    assert (np.abs(change.raw[:2]) < 3.2 * fresh[:2]).all(), "Bonferroni over 32 symbols"
