"""A tally is a commutative monoid, and its file holds exactly it."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import deniable as dn
from deniable.survey import Survey
from deniable.tally import Tally
from tests.surveys import SMALL

DAILY = dn.krr(symbols=3, epsilon=2, participation="window")
surveys = st.sampled_from([*SMALL.values(), DAILY, dn.oue(symbols=3, epsilon=1, participation="event")])
once = st.sampled_from(list(SMALL.values()))


@st.composite
def batches(draw: st.DrawFn, survey: Survey) -> list[dn.Report]:
    size = survey.mechanism.payload_bytes
    reports = st.builds(
        lambda cohort, response: dn.Report(survey, cohort, response.to_bytes(size, "little")),
        st.integers(0, survey.cohorts - 1),
        st.integers(0, survey.mechanism.outputs - 1).filter(survey.mechanism.allows),
    )
    return draw(st.lists(reports, max_size=30))


def tally_of(survey: Survey, reports: list[dn.Report]) -> Tally:
    tally = Tally(survey)
    tally.accumulate(reports)
    return tally


@given(st.data(), surveys)
def test_commutative_monoid(data: st.DataObject, survey: Survey) -> None:
    a, b, c = (tally_of(survey, data.draw(batches(survey))) for _ in range(3))
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert a + Tally(survey) == a
    assert sum([a, b, c]) == a + b + c
    total = a + b + c
    assert total.windows is not None
    assert sum(total.windows) == total.n
    assert Tally.from_bytes(total.to_bytes()) == total


@given(st.lists(st.integers(0, 5), max_size=6), st.permutations(range(6)))
def test_windows_are_remembered_in_any_order(sizes: list[int], order: list[int]) -> None:
    days = [Tally(DAILY, [[size, 0, 0]]) for size in sizes]
    shuffled = [days[place] for place in order if place < len(days)]
    assert sum(days, Tally(DAILY)) == sum(shuffled, Tally(DAILY))
    assert sum(days, Tally(DAILY)).windows == tuple(sorted((size for size in sizes if size), reverse=True))


@given(st.data(), once)
def test_order_and_grouping_do_not_matter(data: st.DataObject, survey: Survey) -> None:
    reports = data.draw(batches(survey))
    shuffled = data.draw(st.permutations(reports))
    cut = data.draw(st.integers(0, len(reports)))
    whole = tally_of(survey, reports)
    assert (
        whole == tally_of(survey, list(shuffled)) == tally_of(survey, reports[:cut]) + tally_of(survey, reports[cut:])
    )
    assert whole.n == len(reports)
    assert np.array_equal(whole.reports, np.bincount([r.cohort for r in reports], minlength=survey.cohorts))


@given(st.data(), surveys)
def test_bytes_round_trip(data: st.DataObject, survey: Survey) -> None:
    tally = tally_of(survey, data.draw(batches(survey)))
    assert Tally.from_bytes(tally.to_bytes()) == tally


@given(st.binary(max_size=200))
def test_no_bytes_crash_the_reader(data: bytes) -> None:
    for start in (b"", b"deniable-tally/1\n"):
        try:
            Tally.from_bytes(start + data)
        except dn.TallyError:
            continue
        raise AssertionError("random bytes were taken for a tally")
