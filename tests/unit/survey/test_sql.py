"""Queries and their results: names that are quoted, and rows that are no counts."""

from typing import Any

import pytest

import deniable as dn
from tests.surveys import SMALL

SURVEY = SMALL["orr-open"]


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([(0, 1)], "a row must be (cohort, cell, reports) or end with a reason, got 2 fields"),
        ([{"cohort": 0, "n": 1}], "a row must have the fields cohort, cell and reports, got ['cohort', 'n']"),
        ([{"cohort": 0, "n": 1}], "; use the query that this survey's sql() prints"),
        ([(0, 1, "3")], "reports must be a whole number in every row, got str"),
        ([(0, 1.5, 3)], "cell must be a whole number in every row, got float"),
        ([(0, 3, 3)], "cell must be from 0 to 2 in every row, got 3"),
        ([(-1, 1, 3)], "cohort must be from 0 to 2 in every row, got -1"),
        ([(0, 1, -3)], "reports must be from 0 to 9223372036854775807 in every row, got -3"),
        ([(None, None, 3, "no response")], "got 3 rows that are not (3 no response)"),
        ([(None, None, 1, "no response")], "got 1 row that is not (1 no response)"),
    ],
)
def test_results_that_are_no_counts(rows: Any, sentence: str) -> None:
    with pytest.raises(dn.WireError) as caught:
        dn.count(SURVEY, rows)
    assert sentence in str(caught.value)


def test_results_of_bit_reports_must_be_whole_lists() -> None:
    for cells in ([1, 2], 3):
        with pytest.raises(dn.WireError, match="cells must be a list of 3 numbers in every row"):
            dn.count(SMALL["krappor"], [(0, cells, 5)])
    with pytest.raises(dn.TallyError, match="counts must not exceed the reports of their cohort"):
        dn.count(SMALL["krappor"], [(0, [1, 2, 9], 5)])


def test_queries_need_names() -> None:
    for names, sentence in (
        ({"dialect": "oracle"}, "dialect must be one of duckdb, postgresql, bigquery, spark, got 'oracle'"),
        ({"table": ""}, "table must be a name, got an empty one"),
        ({"table": ()}, "table must be a name, got an empty one"),
        ({"response": "a\0b"}, "response must be a name, got one with a NUL character"),
        ({"cohort": 7}, "cohort must be a name, got no text"),
        ({"cohort": None}, "cohort must name a column: this survey has 3 cohorts"),
    ):
        with pytest.raises(dn.SurveyError) as caught:
            SURVEY.sql(**names)
        assert str(caught.value) == sentence


def test_names_are_quoted_for_each_dialect() -> None:
    name = 'a`b"c\\d\ne'
    assert '"a`b""c\\d\ne"' in SURVEY.sql(dialect="duckdb", response=name)
    assert '"a`b""c\\d\ne"' in SURVEY.sql(dialect="postgresql", response=name)
    assert '`a``b"c\\d\ne`' in SURVEY.sql(dialect="spark", response=name)
    assert '`a\\`b"c\\\\d\\ne`' in SURVEY.sql(dialect="bigquery", response=name)
    bits = SMALL["krappor"]
    assert "(TO_CODE_POINTS(CASE WHEN reason IS NULL THEN response END)[OFFSET(0)] >> 2 & 1)" in bits.sql(
        dialect="bigquery"
    )
    assert "conv(hex(substring(" in bits.sql(dialect="spark")
    assert "bit_count(CAST(conv(hex(substring(`response`, 1, 1)), 16, 10) AS INT))" in SMALL["subset"].sql(
        dialect="spark"
    )
