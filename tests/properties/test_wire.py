"""What crosses the wire, over random surveys: round trips, and every damage that can be seen is refused."""

import json
import unicodedata

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import deniable as dn
from deniable.errors import WireError
from tests.properties.strategies import canonical, reports, surveys, symbols, texts


@given(reports())
def test_report_goes_there_and_back(report: dn.Report) -> None:
    again = dn.Report.unpack(report.survey, report.pack())
    assert again == report
    assert again.pack() == report.pack()
    assert again.response == report.response


@given(reports(), st.binary(min_size=1, max_size=5))
def test_truncated_and_extended_reports_are_refused(report: dn.Report, tail: bytes) -> None:
    wire = report.pack()
    for length in range(len(wire)):
        with pytest.raises(WireError):
            dn.Report.unpack(report.survey, wire[:length])
    with pytest.raises(WireError):
        dn.Report.unpack(report.survey, wire + tail)


@given(reports())
def test_a_flipped_bit_is_refused_or_another_report(report: dn.Report) -> None:
    """The header is checked in full; past it, what is not refused is a report that the survey can produce."""
    wire, survey = report.pack(), report.survey
    for bit in range(8 * len(wire)):
        damaged = bytearray(wire)
        damaged[bit // 8] ^= 1 << bit % 8
        try:
            other = dn.Report.unpack(survey, bytes(damaged))
        except WireError:
            continue
        assert bit >= 8 * 9
        assert other != report
        assert other.survey == survey
        assert other.cohort < survey.cohorts
        assert survey.mechanism.allows(other.response)
        assert other.pack() == bytes(damaged)


@given(surveys(), surveys())
def test_a_report_of_another_survey_is_refused(ours: dn.Survey, theirs: dn.Survey) -> None:
    assume(ours.digest != theirs.digest)
    wire = dn.Client(theirs).report((theirs.symbols or ("a",))[0]).pack()
    with pytest.raises(WireError):
        dn.Report.unpack(ours, wire)


@given(st.binary(max_size=40))
def test_noise_is_never_a_report(wire: bytes) -> None:
    with pytest.raises(WireError):
        dn.Report.unpack(dn.krr(symbols=4, epsilon=1), wire)


@given(surveys())
def test_survey_goes_there_and_back(survey: dn.Survey) -> None:
    text = survey.to_json()
    again = dn.Survey.from_json(text)
    assert again == survey
    assert again.digest == survey.digest
    assert again.to_json() == text
    assert dn.Survey.from_json(survey.to_json(indent=2)) == survey
    assert dn.Survey.from_json(json.dumps(json.loads(text), indent=3)).to_json() == text


@given(surveys(), st.data())
def test_every_answer_gives_a_report_of_the_same_length(survey: dn.Survey, data: st.DataObject) -> None:
    answers = [data.draw(symbols) for _ in range(3)] if survey.symbols is None else list(survey.symbols)
    client = dn.Client(survey)
    wires = {client.report(answer).pack() for answer in answers}
    assert len({len(wire) for wire in wires}) == 1
    for wire in wires:
        dn.Report.unpack(survey, wire).check()


@given(surveys(), st.data())
def test_cells_are_sorted_distinct_and_in_range(survey: dn.Survey, data: st.DataObject) -> None:
    answer = data.draw(symbols if survey.symbols is None else st.sampled_from(survey.symbols))
    cohort = data.draw(st.integers(0, survey.cohorts - 1))
    cells = survey.encode(cohort, answer)
    assert 1 <= len(cells) <= survey.hashes
    assert list(cells) == sorted(set(cells))
    assert all(0 <= cell < survey.cells for cell in cells)
    assert survey.encode(cohort, answer) == cells


@given(surveys(), texts)
def test_text_has_one_encoding_in_all_normal_forms(survey: dn.Survey, text: str) -> None:
    assume(survey.symbols is None)
    forms = [unicodedata.normalize(form, text) for form in ("NFC", "NFD")]
    assert len({survey.encode(0, form) for form in forms}) == 1


@given(surveys(), symbols)
def test_a_report_never_depends_on_how_an_answer_was_spelled(survey: dn.Survey, answer: object) -> None:
    """A client refuses with an error of the package, or reports the same bytes for the same symbol twice."""
    client = dn.Client(survey)
    try:
        wire = client.report(answer).pack()
    except dn.AlphabetError:
        return
    assert client.report(canonical(answer)).pack() == wire
