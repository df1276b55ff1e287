"""What the command line prints: symbols, columns, numbers, privacy in words, and the progress bar."""

import io
import math
import re
from fractions import Fraction

import pytest

import deniable as dn
from deniable.cli.parser import whole
from deniable.cli.progress import Reporter
from deniable.cli.text import bar, columns_of, fit, pad, shown, table
from deniable.cli.words import at_most, belief_after, chance, notice, odds_sentence, report_bytes, truth_sentence
from tests.waiting import wait_for

SURVEYS = [
    dn.warner(epsilon=1),
    dn.krr(symbols=12, epsilon=2, name="q"),
    dn.krappor(symbols=20, epsilon=1),
    dn.oue(symbols=20, epsilon=1),
    dn.subset(symbols=20, epsilon=1),
    dn.hadamard(symbols=20, epsilon=1),
    dn.projective(symbols=20, epsilon=2),
    dn.orr(epsilon=2, cells=8, cohorts=64),
    dn.orappor(epsilon=2, cells=128, cohorts=8, hashes=2),
    dn.orappor(symbols=300, epsilon=2, cells=16, cohorts=8),
]


@pytest.mark.parametrize(
    ("text", "width"),
    [("abc", 3), ("日本語", 6), ("🦊", 2), ("é", 1), ("e\u0301", 1), ("👩\u200d🔬", 2), ("❤\ufe0f", 1), ("العربية", 7)],
)
def test_wide_and_combining_characters_are_measured(text: str, width: int) -> None:
    assert columns_of(text) == width


def test_tables_line_up() -> None:
    lines = table(["symbol", "n"], [["日本", "1"], ["a" * 60, "22"], ["🦊", "333"]], "lr").splitlines()
    assert {columns_of(line) for line in lines} == {40 + 2 + 3}
    assert lines[2].startswith("a" * 39 + "…")


def test_fit_and_pad_count_columns() -> None:
    assert fit("日本語", 5) == "日本…"
    assert pad("日", 4) == "日  "
    assert pad("日", 4, right=True) == "  日"


def test_symbols_cannot_disturb_a_terminal() -> None:
    assert shown("\x1b[31mred\x1b[0m") == "\\x1b[31mred\\x1b[0m"
    assert shown("a\nb\u202ec") == "a\\nb\\u202ec"
    assert shown(b"\x00\xff") == "0x00ff"
    assert shown(-3) == "-3"
    assert shown("") == '""'


@pytest.mark.parametrize(("value", "length"), [(0.5, 24), (0.25, 12), (0.0, 0), (-1.0, 0), (0.001, 0)])
def test_bars_are_in_proportion(value: float, length: int) -> None:
    assert len(bar(value, 0.5)) == length


@pytest.mark.parametrize("text", ["", "x", "1.5", "-1", "1e", "1e999", "9" * 30, "\u0661"])
def test_numbers_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(Exception, match="must be a whole number"):
        whole(0)(text)


@pytest.mark.parametrize("numerator", range(1001, 99_999, 777))
def test_at_most_is_never_below(numerator: int) -> None:
    ratio = Fraction(numerator, 1000)
    said = Fraction(at_most(ratio).replace(",", ""))
    assert ratio <= said <= ratio * Fraction(11, 10)


def test_chances_round_to_the_nearest_or_up() -> None:
    assert [chance(Fraction(n, 1000)) for n in (500, 55, 999, 1)] == ["50 %", "5.5 %", "99.90 %", "0.10 %"]
    assert chance(Fraction(451, 1000), up=True) == "46 %"
    assert chance(Fraction(1, 2**40)) == "0.000000000091 %"


def test_belief_is_bayes_rule() -> None:
    odds = dn.krr(symbols=12, epsilon=2).mechanism.odds
    assert math.isclose(belief_after(Fraction(1, 10), odds), 0.1 * odds / (0.1 * odds + 0.9))


@pytest.mark.parametrize("survey", SURVEYS, ids=lambda survey: survey.title)
def test_words_come_from_the_surveys_own_integers(survey: dn.Survey) -> None:
    text = "\n".join(paragraph for _, paragraph in notice(survey))
    assert odds_sentence(survey) in text
    assert chance(survey.mechanism.hit) in truth_sentence(survey)
    assert chance(survey.mechanism.miss) in text
    assert f"{report_bytes(survey)} bytes" in text
    assert len(dn.Client(survey).report(survey.symbols[0] if survey.symbols else "x").pack()) == report_bytes(survey)
    assert survey.digest in text
    assert ("your group number" in text) == (survey.cohorts > 1)


@pytest.mark.parametrize(
    ("epsilon", "sentence"),
    [
        (1, "You can honestly deny any answer."),
        (2, "You can honestly deny any answer."),
        ("2.01", "You can deny any answer, but a report makes yours a good deal likelier."),
        (4, "You can deny any answer, but a report makes yours a good deal likelier."),
        (8, "That is hardly any protection: a report can make your answer nearly certain."),
    ],
)
def test_a_notice_does_not_promise_what_epsilon_cannot_keep(epsilon: object, sentence: str) -> None:
    assert sentence in dict(notice(dn.krr(symbols=4, epsilon=epsilon)))["What that protects"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_drawn_for_someone_who_watches_and_wiped() -> None:
    watched, unwatched = Terminal(), io.StringIO()
    with Reporter("counting", stream=watched) as report:
        for item in report.each(range(4)):
            wait_for(lambda: f"counting [{'#' * (30 * item // 4)}" in watched.getvalue(), "the bar")  # noqa: B023
    lines = watched.getvalue().split("\r\x1b[K")
    assert f"counting [{'.' * 30}] 0 %" in lines
    assert any(line.startswith(f"counting [{'#' * 22}{'.' * 8}] 75 %, about ") for line in lines)
    assert lines[-1] == "", "wiped"
    with Reporter("counting", stream=unwatched) as report:
        assert list(report.each(range(4))) == [0, 1, 2, 3]
    assert unwatched.getvalue() == ""


def test_progress_waits_before_it_appears() -> None:
    screen = Terminal()
    with Reporter("counting", after=3600, stream=screen) as report:
        report("counting", 1, 3)
    assert screen.getvalue() == ""


def test_a_long_step_shows_that_it_is_at_work_and_wipes_it() -> None:
    watched, measured = Terminal(), Terminal()
    with Reporter("thinking", after=0.05, stream=watched):
        wait_for(lambda: " s" in watched.getvalue(), "the seconds")
    with Reporter("thinking", after=0.05, stream=measured) as report:
        report.part("thinking")(500_000, 1_000_000)
        wait_for(lambda: " left" in measured.getvalue(), "the time left")
    assert re.search(r"thinking \.\.\. \d+ s", watched.getvalue())
    assert re.search(rf"thinking \[{'#' * 15}{'[.]' * 15}\] 50 %, about \d+ s left", measured.getvalue())
    assert watched.getvalue().endswith("\r\x1b[K")


def test_progress_is_wiped_when_the_work_fails() -> None:
    screen = Terminal()

    def work() -> None:
        with Reporter("thinking", stream=screen):
            wait_for(lambda: " s" in screen.getvalue(), "the seconds")
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        work()
    assert screen.getvalue().endswith("\r\x1b[K")


@pytest.mark.parametrize("size", [5, 6, 12])
def test_a_projective_survey_with_one_cell_a_symbol_has_numbers_and_no_boxes(size: int) -> None:
    survey = dn.projective(symbols=size, epsilon=2)
    assert survey.hashes == 1
    sent = dict(notice(survey))["What is sent"]
    start = f"A public rule gives every possible answer a number of its own from 1 to {survey.cells}. "
    assert sent.startswith(start)
    assert f"one of the {survey.cells - 1} other numbers, each equally likely" in sent
    assert "box" not in sent
    assert "group" not in sent
    assert truth_sentence(survey).startswith("The true number is sent with probability ")
