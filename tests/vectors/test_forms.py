"""Forms: the code agrees with the golden files, and so does the second implementation."""

import hashlib
import json
from typing import Any

import pytest

import deniable as dn
from tests.exact.scripted import ScriptedEntropy
from tests.vectors import forms, reference
from tests.vectors.test_vectors import rows

Row = dict[str, Any]
TEXTS = {row["title"]: row["text"] for row in rows("forms")}


def answers_of(row: Row) -> dict[str, Any]:
    return {name: reference.value_of(value) for name, value in row["answers"].items()}


def test_forms() -> None:
    known = forms.forms()
    for row in rows("forms"):
        form = dn.Form.from_json(row["text"])
        assert form == known[row["title"]]
        assert (form.digest, form.to_json()) == (row["digest"], row["text"])
        fields = json.loads(row["text"])
        assert fields.pop("digest") == row["digest"]
        canonical = json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
        assert hashlib.sha256(canonical).hexdigest() == row["digest"]
    assert {row["form"] for row in rows("form_reports")} == set(TEXTS)


def test_reports_from_given_words() -> None:
    for row in rows("form_reports"):
        text, words = TEXTS[row["form"]], [int(word) for word in row["words"]]
        form = dn.Form.from_json(text)
        with ScriptedEntropy(64, words) as entropy:
            client = dn.Client(form, memoize=False, entropy=entropy)
            report = client.report(answers_of(row))
        assert list(client.questions) == row["questions"]  # type: ignore[attr-defined]
        assert report.pack().hex() == row["report"]
        assert dn.Report.unpack(form, bytes.fromhex(row["report"])) == report
        assert reference.fresh_form(text, answers_of(row), words).hex() == row["report"]


def test_permanent_reports() -> None:
    for row in rows("form_permanent"):
        text, secret = TEXTS[row["form"]], bytes.fromhex(row["secret"])
        client, words = dn.Client(dn.Form.from_json(text)), [int(word) for word in row.get("words", [])]
        client._cohort, client._secret = int(row["cohort"]), secret
        with ScriptedEntropy(64, words) as client._entropy:
            assert client.report(answers_of(row)).pack().hex() == row["report"]
        assert list(client.questions) == row["questions"]  # type: ignore[attr-defined]
        assert reference.permanent_form(text, answers_of(row), int(row["cohort"]), secret, words).hex() == row["report"]


def test_a_form_has_one_text() -> None:
    """Another client would refuse other words for the same form, or read another form."""
    fields = json.loads(TEXTS["conditions"])
    for other in (fields | {"participation": "once"}, fields | {"when": fields["when"][::-1]}):
        with pytest.raises(dn.SurveyError) as caught:
            dn.Form.from_fields(other)
        assert str(caught.value) == (
            "form must be written as its to_json writes it: no empty list, and conditions in the order of questions"
        )


def test_the_vectors_skip_leave_out_and_draw() -> None:
    given = [row["answers"] for row in rows("form_reports")]
    assert sum(None in answers.values() for answers in given) > 5
    assert len({tuple(row["questions"]) for row in rows("form_reports") if row["form"] == "sample 1 of 3"}) == 3
    shown = {row["report"][18:20] for row in rows("form_reports") if row["form"] == "conditions"}
    assert shown == {"01", "07"}


@pytest.mark.parametrize("row", rows("bad_forms"), ids=lambda row: row["reason"][:60])
def test_bad_form_is_refused(row: Row) -> None:
    with pytest.raises(dn.SurveyError) as caught:
        dn.Form.from_json(row["text"])
    assert row["reason"] in str(caught.value)


@pytest.mark.parametrize("row", rows("bad_form_reports"), ids=lambda row: row["reason"][:60])
def test_bad_report_of_a_form_is_refused(row: Row) -> None:
    with pytest.raises(dn.WireError) as caught:
        dn.Report.unpack(dn.Form.from_json(TEXTS[row["form"]]), bytes.fromhex(row["report"]))
    assert row["reason"] in str(caught.value)
