"""What a result is called once it leaves the page: file names that every system takes, headings, dates."""

import json
import re
from typing import Any

import pytest

import deniable as dn
from deniable.decoders.rows import EstimateRows
from tests.contracts.test_pages import ask

DIGEST = "3f9a1b2c" + "0" * 56
NAMES = {
    "Have you ever lied to get a day off?": "have-you-ever-lied-to-get-a-day-off",
    "هل كذبت يومًا للحصول على إجازة؟": "هل-كذبت-يومًا-للحصول-على-إجازة",
    "休みを取るために嘘をついたことがありますか": "休みを取るために嘘をついたことがありますか",
    "🦊 or 🐺?": "or",
    "🦊🦊🦊": "results",
    "": "results",
    "CON": "con",
    'a/b\\c:d*e?f"g<h>i|j': "a-b-c-d-e-f-g-h-i-j",
    "../../etc/passwd": "etc-passwd",
    "trailing dots...   ": "trailing-dots",
    "\u202egnp.exe": "gnp-exe",
    "line\nbreak\x00": "line-break",
}


@pytest.mark.parametrize("question", NAMES)
def test_a_file_is_named_for_its_question(question: str) -> None:
    (name,) = ask(("naming.js", "fileName", [question, DIGEST, "csv"]))
    assert name == f"{NAMES[question]}-3f9a1b2c.csv"


@pytest.mark.parametrize("letter", ["a", "ض", "𠀀", "e\u0301", "a "])
def test_long_questions_make_names_that_file_systems_take(letter: str) -> None:
    (name,) = ask(("naming.js", "fileName", [letter * 500, DIGEST, "survey.json"]))
    assert len(name.encode()) <= 255
    assert re.fullmatch(r"[^\x00-\x1f<>:\"/\\|?*]+[^. ]", name), "as Windows wants it"
    assert name.endswith("-3f9a1b2c.survey.json")
    assert "--" not in name


def test_lines_lose_nothing_and_fit() -> None:
    for text, most in (("to be or not to be", 8), ("嘘" * 130, 60), ("one", 60), ("a" * 60 + " b", 60)):
        (lines,) = ask(("naming.js", "lines", [text, most]))
        assert max(map(len, lines)) <= most
        assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert ask(("naming.js", "lines", ["to be or not", 8])) == [["to be or", "not"]]


@pytest.mark.parametrize(
    ("first", "last", "window", "said"),
    [
        ("2026-11-01T00", "2026-11-16T00", "day", "1 Nov 2026 to 15 Nov 2026"),
        ("2026-11-15T00", "2026-11-16T00", "day", "15 Nov 2026"),
        ("2026-11-09T00", "2026-11-16T00", "week", "9 Nov 2026 to 15 Nov 2026"),
        ("2026-11-15T09", "2026-11-15T12", "hour", "15 Nov 2026, 09:00 to 15 Nov 2026, 12:00"),
    ],
)
def test_dates_are_days_unless_windows_are_hours(first: str, last: str, window: str, said: str) -> None:
    assert ask(("naming.js", "dates", [first, last, window])) == [said]


def test_a_picture_says_what_was_asked_of_how_many_and_when() -> None:
    survey = dn.krr(["no", "yes"], epsilon=2, name="Did you?")
    told: dict[str, Any] = EstimateRows(dn.decode(dn.Tally(survey, [[700, 534]])), level=0.9).to_json()
    told |= {"from": "2026-11-01T00", "to": "2026-11-16T00"}
    assert ask(("naming.js", "heading", [json.loads(json.dumps(told)), "day"])) == [
        {
            "text": ["Did you?"],
            "subtitle": ["1,234 randomised answers, 1 Nov 2026 to 15 Nov 2026 (UTC), epsilon 2.00, 90% intervals"],
        }
    ]
