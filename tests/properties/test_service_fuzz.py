"""Whatever bytes come from outside, the collector's parsers answer or refuse; nothing else may happen.

The budget is that of a test. `DENIABLE_FUZZ=100000 python -m pytest tests/properties/test_service_fuzz.py` is longer.
"""

import contextlib
import json
import os
from urllib.parse import urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deniable as dn
from deniable.errors import DeniableError, StoreError, SurveyError, TallyError, WireError
from deniable.service.clock import WINDOWS, hour_of
from deniable.service.entries import Entry, Rules, Upload
from deniable.service.envelope import open_envelope
from deniable.service.inputs import read_json, read_query
from deniable.service.models import DifferenceRequest
from deniable.service.problems import RequestError
from deniable.service.records import RecordShape
from deniable.survey import Survey
from tests.collector import one_cell_each
from tests.properties.strategies import reports, surveys

BUDGET = int(os.environ.get("DENIABLE_FUZZ", "100"))
long = settings(max_examples=BUDGET)
ENTRY = Entry(1, one_cell_each(1024), Rules(), False, 0)
KINDS = st.sampled_from([b"application/json", b"application/octet-stream", b"", b"text/plain", b"application/json;a=b"])
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
items = st.fixed_dictionaries(
    {},
    optional={
        "id": st.one_of(values, st.binary(min_size=16, max_size=16).map(bytes.hex)),
        "report": st.one_of(values, st.text("abcAB+/=", max_size=20)),
        "day": values,
        "other": values,
    },
)
bodies = st.one_of(
    st.binary(max_size=200),
    st.lists(items | values, max_size=5).map(lambda found: json.dumps({"reports": found}).encode()),
    values.map(lambda found: json.dumps(found).encode()),
)
queries = st.one_of(st.binary(max_size=40), st.text("daybtch=&%0123456789abcdef", max_size=60).map(str.encode))


@long
@given(KINDS, queries, bodies)
def test_any_envelope_is_opened_or_refused(kind: bytes, query: bytes, body: bytes) -> None:
    refused_with: set[int] = set()
    try:
        found = open_envelope(ENTRY, kind, query, body, None)
    except RequestError as problem:
        refused_with.add(problem.status)
        return
    finally:
        assert refused_with <= {400, 413, 415}
    places = [place for place, _, _ in found.refused]
    for number, upload in enumerate(found.uploads):
        assert isinstance(upload, Upload)
        assert len(upload.records) % (ENTRY.shape.length + (0 if upload.batch else 16)) == 0
        assert 0 <= upload.day < 1 << 20
        places += range(upload.count) if found.places is None else found.places[number]
    assert sorted(places) == list(range(len(places))), "every report is taken or refused, once"


@long
@given(surveys(), st.binary(max_size=80))
def test_any_bytes_are_a_report_or_refused(survey: Survey, wire: bytes) -> None:
    try:
        report = dn.Report.unpack(survey, wire)
    except WireError:
        return
    assert report.pack() == wire


@long
@given(reports(), st.data())
def test_a_damaged_report_is_another_report_or_refused(report: dn.Report, data: st.DataObject) -> None:
    wire = bytearray(report.pack())
    for _ in range(data.draw(st.integers(1, 4))):
        wire[data.draw(st.integers(0, len(wire) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(wire[: data.draw(st.integers(0, len(wire)))])
    for damaged in (bytes(wire), cut, bytes(wire) + b"\x00"):
        try:
            assert dn.Report.unpack(report.survey, damaged).pack() == damaged
        except WireError:
            continue


@long
@given(surveys(), st.data())
def test_a_damaged_survey_is_refused_or_the_same(survey: Survey, data: st.DataObject) -> None:
    text = survey.to_json()
    start = data.draw(st.integers(0, len(text) - 1))
    stop = data.draw(st.integers(start, min(len(text), start + 12)))
    damaged = text[:start] + data.draw(st.text(max_size=6)) + text[stop:]
    try:
        found = Survey.from_json(damaged.encode("utf-8", "surrogatepass"))
    except SurveyError:
        return
    assert found == survey, "a survey that reads is the one its digest names"


@long
@given(values)
def test_any_json_is_a_survey_or_refused(value: object) -> None:
    with contextlib.suppress(SurveyError):
        assert Survey.from_json(json.dumps(value)).digest
    with contextlib.suppress(StoreError):
        assert Rules.read(value).window in WINDOWS


@long
@given(reports(), st.data())
def test_a_damaged_tally_is_refused(report: dn.Report, data: st.DataObject) -> None:
    tally = dn.Tally(report.survey)
    tally.accumulate(report)
    whole = bytearray(tally.to_bytes())
    place = data.draw(st.integers(0, len(whole) - 1))
    whole[place] ^= data.draw(st.integers(1, 255))
    try:
        dn.Tally.from_bytes(bytes(whole))
    except TallyError:
        return
    raise AssertionError("an altered tally was read")


@long
@given(st.sampled_from(["GET", "POST"]), st.dictionaries(st.text(max_size=9), st.text(max_size=20)), bodies)
def test_any_question_is_understood_or_refused(method: str, query: dict[str, str], body: bytes) -> None:
    try:
        raw = urlencode(query, errors="surrogatepass").encode()
        asked = read_json(DifferenceRequest, body) if method == "POST" else read_query(DifferenceRequest, raw)
    except RequestError:
        return
    assert asked is not None
    assert 0 < asked.level < 1
    for text in (asked.from_, asked.to, asked.against_from, asked.against_to):
        if text is not None:
            try:
                hour_of(text)
            except DeniableError:
                continue


@pytest.mark.slow
@given(reports())
def test_every_report_of_a_survey_has_the_length_of_its_rows(report: dn.Report) -> None:
    assert RecordShape(report.survey).length == len(report.pack())
