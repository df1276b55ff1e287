"""`dn.crowd`: the figures it was asked for, what it refuses, and what it tells people."""

from fractions import Fraction
from types import SimpleNamespace

import pytest

import deniable as dn
from deniable.charts import crowd_chart
from deniable.crowds import shown
from deniable.crowds.divergence import Pair
from deniable.crowds.variations import variations
from deniable.mechanisms import Channel

SEED = bytes(16)


@pytest.mark.parametrize(
    ("survey", "most", "ratio"),
    [
        (dn.warner(epsilon=4), 0.1182, 0.67),
        (dn.krr(symbols=100, epsilon=4), 0.0686, 0.99),
        (dn.orr(epsilon=4, cells=56, cohorts=1, seed=SEED), 0.0823, 0.99),
    ],
    ids=["general", "k-RR", "local hashing"],
)
def test_the_figures_of_public_accountants_are_not_exceeded(survey: dn.Survey, most: float, ratio: float) -> None:
    found = dn.crowd(survey, n=100_000)
    assert ratio * found.epsilon < found.lower <= found.epsilon <= most


def test_without_others_a_report_is_all_there_is() -> None:
    found = dn.crowd(dn.krr(symbols=5, epsilon="1/3"), n=1)
    assert found.epsilon == found.local
    assert Fraction(1, 3) <= Fraction(found.local) < Fraction(1, 3) + Fraction(1, 10**15)


def test_two_stages_count_with_what_one_report_spends() -> None:
    twice, once = dn.krr(symbols=5, epsilon=4, epsilon_report=1), dn.krr(symbols=5, epsilon=1)
    assert dn.crowd(twice, n=1_000).epsilon == pytest.approx(dn.crowd(once, n=1_000).epsilon, rel=1e-3)


def test_people_of_other_cohorts_hide_nobody() -> None:
    one, many = (dn.crowd(dn.orr(epsilon=2, cells=8, cohorts=c, seed=SEED), n=4_000) for c in (1, 4))
    alone = dn.crowd(dn.krr(symbols=8, epsilon=2), n=1_000)
    assert one.epsilon < many.epsilon
    assert many.epsilon == pytest.approx(alone.epsilon, rel=0.1)


def test_a_curve_ends_where_the_crowd_adds_nothing() -> None:
    curve = dn.crowd(dn.krr(symbols=9, epsilon=2), n=1_000).curve((0, 0.5, 0.9, 0.999))
    epsilons = [epsilon for _, epsilon in curve]
    assert epsilons == sorted(epsilons)
    assert curve[-1] == (0.999, 2.0)


def test_a_chart_of_nothing_is_refused() -> None:
    with pytest.raises(dn.DeniableError, match=r"a chart of a crowd must have points, got none; Crowd.curve has them"):
        crowd_chart([], local=1.0)


def test_words_say_both_numbers_and_round_up() -> None:
    found = dn.crowd(dn.warner(epsilon=1), n=1_000)
    assert found.words == (
        "For anyone who sees only the counts of 1,000 reports, epsilon is at most "
        f"{shown(found.epsilon)} (delta 1e-06); for whoever sees a single report it is 1."
    )
    assert float(shown(found.epsilon)) >= found.epsilon
    assert [shown(x) for x in (0.0684321, 0.99999, 123456.0)] == ["0.06844", "1", "123456"]
    page = found._repr_html_()
    assert "What the crowd adds" in page
    assert "one round" in page
    assert "cohorts" not in page


def test_what_is_asked_for_wrongly_is_refused() -> None:
    survey = dn.warner(epsilon=1)
    with pytest.raises(dn.SurveyError, match=r"n must be at least 1, got 0"):
        dn.crowd(survey, n=0)
    for delta in (0, 1, True, float("nan"), "small"):
        with pytest.raises(dn.SurveyError, match=r"delta must be above 0 and below 1, got .*; 1e-6 is usual"):
            dn.crowd(survey, n=10, delta=delta)  # type: ignore[arg-type]
    with pytest.raises(
        dn.SurveyError, match=r"shares must be at least 0 and below 1, got 1; 0.5 is half of the people"
    ):
        dn.crowd(survey, n=10).curve((1,))


def test_reports_that_give_an_answer_away_are_refused() -> None:
    rows = [(6, 2, 0), (2, 4, 2)]
    table = SimpleNamespace(weights=lambda cells: rows[cells[0]], cells=2, span=8)
    message = (
        "a survey must hide every answer from every report for a crowd to add anything, got one with reports that "
        "some answers cannot lead to; what its outputs give away, no crowd hides"
    )
    with pytest.raises(dn.SurveyError, match=message):
        variations.entries[Channel](table, None)  # type: ignore[arg-type]


def test_rows_of_any_channel_are_covered_pair_by_pair() -> None:
    rows = [(5, 2, 1), (1, 5, 2), (2, 2, 4), (3, 3, 2), (2, 3, 3)]
    table = SimpleNamespace(weights=lambda cells: rows[cells[0]], cells=5, span=8)
    found = variations.entries[Channel](table, None)  # type: ignore[arg-type]
    assert found.odds == 5
    distances = [blanket.own * 4 for blanket in found.blankets]
    assert distances[0] == Fraction(1, 2)
    assert distances == sorted(distances, reverse=True)
    assert all(2 * blanket.each + blanket.rest <= 1 for blanket in found.blankets)


def test_a_pair_that_is_none_is_an_error_of_the_program() -> None:
    half, tenth = Fraction(1, 2), Fraction(1, 10)
    message = "a pair of answers must not have two kinds of reports that speak for the first"
    with pytest.raises(RuntimeError, match=message):
        Pair((half, half), (tenth, tenth), (tenth, tenth)).divergence(3, Fraction(2))
