"""Everything that reads reports says the same of every row of one table: good or bad, for which reason, which cells.

Spark has the same table in tests/spark/test_count.py, files and databases in test_files.py.
"""

import base64
import json
import subprocess
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import deniable as dn
from deniable.columns import batches
from deniable.service.entries import Entry, Rules
from deniable.service.envelope import open_envelope
from deniable.service.records import REASONS, RecordShape
from deniable.survey import Alphabet, Direct, Survey, report_format, sql
from deniable.tally import checking
from tests.contracts.test_js_client import JS, node
from tests.good_and_bad import SURVEYS, Packed, arrow_table, by_verdict, counts_of, packed_rows, table_rows
from tests.surveys import SMALL
from tests.toy.band import Band

every_survey = pytest.mark.parametrize("survey", SURVEYS.values(), ids=SURVEYS.keys())
# The words of an error that go with each word of the collector.
SENTENCES = {
    "version": "report must have wire version 1, got ",
    "survey": "report must be for survey ",
    "length": " bytes, got ",
    "cohort": "report cohort must be below ",
    "response": "report response must be one that the mechanism can produce",
}


def said(sentence: str) -> str:
    return next(word for word, part in SENTENCES.items() if part in sentence)


@every_survey
def test_the_table_has_every_reason_and_every_length(survey: Survey) -> None:
    """Each rule has rows that only it refuses, and each field values at both of its ends."""
    form, rows = survey.report_format, table_rows(survey)
    assert {row.reason for row in rows} == {None, *(rule.reason for rule in form.rules)}
    assert {row.cohort for row in rows if row.reason is None} >= {0, survey.cohorts - 1}
    assert {row.cohort for row in rows} >= {None, -1, survey.cohorts, survey.cohorts + 1}
    if form.response.bits:
        assert {len(row.response) for row in rows if isinstance(row.response, bytes)} >= {
            *range(form.response.size + 3)
        }
        hit = {cell for row in rows for cell in row.cells}
        assert hit == set(range(survey.columns))
        bits = [int.from_bytes(r.response, "little") for r in rows if isinstance(r.response, bytes)]
        assert all(any(value >> place & 1 for value in bits) for place in range(8 * form.response.size))
    else:
        assert {row.response for row in rows} >= {None, -1, 0, survey.columns - 1, survey.columns}
    packed = packed_rows(survey)
    possible = {"version", "survey", "length", None}
    possible |= {"cohort"} if survey.cohorts < 1 << 8 * form.cohort.size else set()
    full = survey.columns == 1 << 8 * form.response.size if not form.response.bits else survey.columns % 8 == 0
    possible |= set() if full and form.response.ones is None else {"response"}
    assert {row.reason for row in packed} == possible
    assert {len(row.wire) for row in packed} >= set(range(form.length + 2))


@every_survey
def test_one_row_at_a_time(survey: Survey) -> None:
    for row in table_rows(survey):
        broken = survey.report_format.refusal(row.cohort, row.response)
        assert (None if broken is None else broken.reason) == row.reason, row


@every_survey
def test_one_packed_report_at_a_time(survey: Survey) -> None:
    for row in packed_rows(survey):
        if row.reason is None:
            report = dn.Report.unpack(survey, row.wire)
            assert report.cohort == row.cohort
            assert report.pack() == row.wire
            tally = dn.Tally(survey)
            tally.accumulate(report)
            assert np.argwhere(tally.counts).tolist() == [[row.cohort, cell] for cell in row.cells]
        else:
            with pytest.raises(dn.WireError) as caught:
                dn.Report.unpack(survey, row.wire)
            assert said(str(caught.value)) == row.reason, row


def columns_disagree(survey: Survey, cast: Callable[[pa.Table], pa.Table] = lambda table: table) -> list[str | None]:
    """The verdicts whose rows the column code judges otherwise."""
    wrong = []
    for verdict, rows in by_verdict(table_rows(survey)).items():
        refused: dict[str, int] = {}
        tally = dn.count(survey, cast(arrow_table(survey, rows)), refused=refused)
        if (tally, refused) != counts_of(survey, rows):
            wrong.append(verdict)
    return wrong


@every_survey
def test_columns(survey: Survey) -> None:
    assert columns_disagree(survey) == []


@pytest.mark.parametrize("name", ["small-orr-open", "small-orappor-open", "large-subset", "cells-256", "bits-9"])
def test_columns_of_other_types(name: str) -> None:
    survey = SURVEYS[name]

    def large_and_encoded(table: pa.Table) -> pa.Table:
        kind = pa.large_binary() if survey.report_format.response.bits else pa.int64()
        response = table["response"].cast(kind).dictionary_encode()
        return pa.table({"cohort": table["cohort"].dictionary_encode(), "response": response})

    assert columns_disagree(survey, large_and_encoded) == []
    good = by_verdict(table_rows(survey))[None]
    narrow = arrow_table(survey, good)
    size = survey.report_format.response.size
    kinds = {"cohort": pa.uint8(), "response": pa.binary(size) if survey.report_format.response.bits else pa.uint16()}
    assert dn.count(survey, narrow.cast(pa.schema(kinds))) == counts_of(survey, good)[0]


@every_survey
def test_arrays(survey: Survey) -> None:
    """`ReportTable`, whose rows have both values and responses of one length."""
    size = survey.report_format.response.size
    for verdict, rows in by_verdict(table_rows(survey)).items():
        if verdict in ("no cohort", "no response", "response of another length"):
            continue
        cohorts: Any = np.array([row.cohort for row in rows], np.int64)
        if survey.report_format.response.bits:
            data = b"".join(row.response for row in rows if isinstance(row.response, bytes))
            responses: Any = np.frombuffer(data, np.uint8).reshape(-1, size)
        else:
            responses = np.array([row.response for row in rows], np.int64)
        table = dn.ReportTable(survey, cohorts, responses)
        refused: dict[str, int] = {}
        assert (dn.count(survey, table, refused=refused), refused) == counts_of(survey, rows)
        if verdict is not None:
            with pytest.raises(dn.WireError, match=f"{len(rows):,} {verdict}"):
                dn.count(survey, table)


def collector_disagrees(survey: Survey) -> list[Packed]:
    """The packed reports that the collector judges otherwise."""
    shape = RecordShape(survey)
    rows = [row for row in packed_rows(survey) if len(row.wire) == shape.length]
    array = np.frombuffer(b"".join(row.wire for row in rows), np.uint8).reshape(-1, shape.length)
    codes = [REASONS[code] for code in shape.check(array)]
    wrong = [row for row, code in zip(rows, codes, strict=True) if code != (row.reason or "accepted")]
    for place, row in enumerate(rows):
        if row.reason is None and not wrong:
            vector = np.zeros(shape.size, np.int64)
            places, counts = shape.count(array[place : place + 1])
            vector[places] = counts
            tally = dn.Tally(survey)
            tally.accumulate(row.wire)
            wrong += [] if shape.tally(vector) == tally else [row]
    return wrong


@every_survey
def test_the_collector(survey: Survey) -> None:
    assert collector_disagrees(survey) == []


@every_survey
def test_the_collectors_envelope(survey: Survey) -> None:
    """It cuts records to their length, so that a report of another one is refused for that, whatever it begins with."""
    rows = packed_rows(survey)
    items = [{"id": f"{place:032x}", "report": base64.b64encode(row.wire).decode()} for place, row in enumerate(rows)]
    entry = Entry(1, survey, Rules(), 0, 0)
    found = open_envelope(entry, b"application/json", b"", json.dumps({"reports": items}).encode(), None)
    (upload,), (places,) = found.uploads, found.places or []
    length = survey.report_format.length
    assert [REASONS[code] for _, _, code in found.refused] == ["length" for row in rows if len(row.wire) != length]
    assert places == [place for place, row in enumerate(rows) if len(row.wire) == length]
    assert upload.records == b"".join(bytes.fromhex(f"{place:032x}") + rows[place].wire for place in places)


def database_disagrees(survey: Survey) -> list[str | None]:
    """The verdicts whose rows DuckDB judges otherwise, with the query of the survey."""
    database, wrong = duckdb.connect(), []
    for verdict, rows in by_verdict(table_rows(survey)).items():
        database.register("reports", arrow_table(survey, rows))
        refused: dict[str, int] = {}
        tally = dn.count(survey, database.sql(survey.sql()).fetchall(), refused=refused)
        if (tally, refused) != counts_of(survey, rows):
            wrong.append(verdict)
    return wrong


@every_survey
def test_sql(survey: Survey) -> None:
    assert database_disagrees(survey) == []


def test_javascript() -> None:
    tables = {name: packed_rows(survey) for name, survey in SURVEYS.items()}
    given = [
        {"survey": SURVEYS[name].to_json(), "wires": [row.wire.hex() for row in rows]} for name, rows in tables.items()
    ]
    script = [node(), str(JS / "test" / "reading.js")]
    done = subprocess.run(script, input=json.dumps(given), capture_output=True, text=True, check=True)
    for (name, rows), answers in zip(tables.items(), json.loads(done.stdout), strict=True):
        for row, answer in zip(rows, answers, strict=True):
            if row.reason is None:
                assert answer == {"cohort": row.cohort, "cells": list(row.cells)}, (name, row)
            else:
                assert said(answer["message"]) == row.reason, (name, row)


def test_a_mechanism_that_nobody_knows_is_read_by_all() -> None:
    """A channel of any shape states its columns, and every reader of this side has it: nothing is registered."""
    survey = Survey(Alphabet.closed(9), Direct(9), Band(9, 2))
    test_one_row_at_a_time(survey)
    test_one_packed_report_at_a_time(survey)
    assert columns_disagree(survey) == []
    assert collector_disagrees(survey) == []
    assert database_disagrees(survey) == []


# What must be seen: a reader that leaves a test out, and a format that is off by one.
KINDS = [SMALL[name] for name in ("orr-open", "orappor-open", "subset")]
READERS: dict[str, tuple[dict[str, Any], Callable[[Survey], Any], Callable[..., Any]]] = {
    "columns": (checking.TESTS, columns_disagree, lambda *_: None),
    "arrow": (batches.ARROW_TESTS, columns_disagree, lambda *_: None),
    "collector": (checking.TESTS, collector_disagrees, lambda *_: None),
    "sql": (sql.CONDITIONS, database_disagrees, lambda *_: ["FALSE"]),
}


def notices(judge: Callable[[Survey], Any], survey: Survey) -> bool:
    """Whether a survey's table shows that something is wrong, by a verdict or by an error."""
    try:
        return bool(judge(survey))
    except Exception:
        return True


@pytest.mark.parametrize(("reader", "test"), [(reader, test) for reader in READERS for test in READERS[reader][0]])
def test_a_reader_that_leaves_a_test_out_is_seen(monkeypatch: pytest.MonkeyPatch, reader: str, test: str) -> None:
    table, judge, never = READERS[reader]
    monkeypatch.setitem(table, test, never)
    assert any(notices(judge, survey) for survey in KINDS)


@pytest.mark.parametrize("test", report_format.TESTS)
def test_reading_one_row_that_leaves_a_test_out_is_seen(monkeypatch: pytest.MonkeyPatch, test: str) -> None:
    monkeypatch.setitem(report_format.TESTS, test, lambda value, field: False)
    assert any(notices(test_one_row_at_a_time, survey) for survey in KINDS)


# A survey, and what its format says wrongly: a field, what is changed of it, and by how much.
OFF_BY_ONE = [
    (SMALL[name], field, attribute, off)
    for name, field, attribute in [
        ("orr-open", "cohort", "limit"),
        ("orr-open", "response", "limit"),
        ("orappor-open", "cohort", "limit"),
        ("orappor-open", "response", "limit"),
        ("subset", "response", "limit"),
        ("subset", "response", "ones"),
    ]
    for off in (-1, 1)
]


@pytest.mark.parametrize("judge", [columns_disagree, collector_disagrees, database_disagrees, test_one_row_at_a_time])
@pytest.mark.parametrize(("survey", "name", "attribute", "off"), OFF_BY_ONE)
def test_a_format_that_is_off_by_one_is_seen(judge: Any, survey: Survey, name: str, attribute: str, off: int) -> None:
    """In the format itself, so that every reader that is made from it is wrong in the same way."""
    form = survey.report_format
    right = getattr(form, name)
    wrong = replace(right, **{attribute: getattr(right, attribute) + off})
    rules = tuple(replace(rule, field=wrong) if rule.field is right else rule for rule in form.rules)
    object.__setattr__(survey, "report_format", replace(form, **{name: wrong}, rules=rules))
    try:
        assert notices(judge, survey)
    finally:
        object.__setattr__(survey, "report_format", form)


def test_every_reader_has_every_test() -> None:
    """A test that is added to the format must be added to each of these tables."""
    every = set(report_format.TESTS)
    assert set(sql.CONDITIONS) == every
    assert set(checking.TESTS) | set(checking.SETTLED) == every
    assert set(batches.ARROW_TESTS) == set(checking.SETTLED)
    assert {rule.test for survey in SURVEYS.values() for rule in survey.report_format.rules} == every
