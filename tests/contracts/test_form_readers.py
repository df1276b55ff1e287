"""Everything that reads tables of a form's reports says the same of every row of one table.

Packed reports are in test_forms.py, Spark in tests/spark/test_forms.py.
"""

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import duckdb
import psycopg
import pyarrow as pa
import pytest

import deniable as dn
from deniable.columns import batches
from deniable.survey import Form, form_sql, sql
from deniable.tally import checking
from tests.cluster import Cluster
from tests.forms_good_and_bad import READ, TOGETHER, form_arrow, form_counts, form_rows

every_form = pytest.mark.parametrize("form", READ.values(), ids=READ.keys())


@every_form
def test_the_table_has_every_reason(form: Form) -> None:
    rules = {f"{part.name}: {rule.reason}" for part in form.parts for rule in part.survey.report_format.rules}
    found = {row.reason for row in form_rows(form)}
    if len(form.parts) < 6:
        assert found == {None, TOGETHER, *rules}
    else:
        assert found - {None, TOGETHER} < rules


def arrow_disagrees(form: Form) -> bool:
    rows, refused = form_rows(form), dict[str, int]()
    tally = dn.count(form, form_arrow(form, rows), refused=refused)
    return (tally, refused) != form_counts(form, rows)


@every_form
def test_columns(form: Form) -> None:
    assert not arrow_disagrees(form)


def database_disagrees(form: Form) -> bool:
    rows, refused = form_rows(form), dict[str, int]()
    database = duckdb.connect()
    database.register("reports", form_arrow(form, rows))
    tally = dn.count(form, database.sql(form.sql()).fetchall(), refused=refused)
    return (tally, refused) != form_counts(form, rows)


@every_form
def test_sql(form: Form) -> None:
    assert not database_disagrees(form)


def test_results_in_every_library() -> None:
    form = READ["related"]
    rows = form_rows(form)
    database = duckdb.connect()
    database.register("reports", form_arrow(form, rows))
    found = database.sql(form.sql())
    names = found.columns
    results = {
        "relation": database.sql(form.sql()),
        "pandas": found.df(),
        "polars": found.pl(),
        "dictionaries": [dict(zip(names, row, strict=True)) for row in found.fetchall()],
    }
    for name, result in results.items():
        refused: dict[str, int] = {}
        tally = dn.count(form, result, refused=refused)
        assert (tally, refused) == form_counts(form, rows), name


@every_form
def test_postgresql(form: Form, cluster: Cluster) -> None:
    rows = form_rows(form)
    table = form_arrow(form, rows)
    kinds = ["slot_number" if part.survey.mechanism.one_column else "slot_bytes" for part in form.parts]
    with psycopg.connect(cluster.address()) as connection:
        connection.execute("CREATE TYPE pg_temp.slot_number AS (cohort bigint, response bigint)")
        connection.execute("CREATE TYPE pg_temp.slot_bytes AS (cohort bigint, response bytea)")
        columns = ", ".join(f'"{part.name}" pg_temp.{kind}' for part, kind in zip(form.parts, kinds, strict=True))
        connection.execute(f'CREATE TEMPORARY TABLE "reports ""of"" the; day" ({columns})')
        slot = "CASE WHEN %s THEN ROW(%s::bigint, %s::{})::pg_temp.{} END"
        types = {"slot_number": "bigint", "slot_bytes": "bytea"}
        values = ", ".join(slot.format(types[kind], kind) for kind in kinds)
        given = [
            [
                v
                for s in row.values()
                for v in ((False, None, None) if s is None else (True, s["cohort"], s["response"]))
            ]
            for row in table.to_pylist()
        ]
        with connection.cursor() as cursor:
            cursor.executemany(f'INSERT INTO "reports ""of"" the; day" VALUES ({values})', given)
            query = form.sql(dialect="postgresql", table='reports "of" the; day')
            result = cursor.execute(query).fetchall()
    refused: dict[str, int] = {}
    assert (dn.count(form, result, refused=refused), refused) == form_counts(form, rows)


def test_a_statement_says_each_rule_once_and_reads_the_table_once() -> None:
    form = READ["words of SQL"]
    rules = sum(
        len(sql.sql_refusals(part.survey.report_format, "duckdb", {"cohort": "c", "response": "r"}))
        for part in form.parts
    )
    for dialect in sql.DIALECTS:
        query = form.sql(dialect=dialect, table=("lake", "day"))
        assert query.count(" THEN '") == rules + 1
        assert query.count("lake") == 1
        assert query.count("GROUP BY") == len(form.parts) + 1
        assert "report_" in query
        assert "reason_" in query


def test_each_dialect_has_its_own_words() -> None:
    form = READ["related"]
    asked = {name: form.sql(dialect=name) for name in sql.DIALECTS}
    assert "TO_CODE_POINTS((report.`likes`).`response`)[OFFSET(0)] >> 2 & 1" in asked["bigquery"]
    assert "CAST([] AS ARRAY<INT64>) AS cells" in asked["bigquery"]
    assert "CAST(NULL AS STRING) AS reason" in asked["bigquery"]
    assert 'report."likes" IS NOT DISTINCT FROM NULL' in asked["postgresql"]
    assert "CAST(array() AS ARRAY<BIGINT>) AS cells" in asked["spark"]
    with pytest.raises(
        dn.SurveyError, match="dialect must be one of duckdb, postgresql, bigquery, spark, got 'oracle'"
    ):
        form.sql(dialect="oracle")
    with pytest.raises(dn.SurveyError, match="table must be a name, got an empty one"):
        form.sql(table="")


SPLIT = READ["split"]
NAMES = "part, cohort, cell, reports, reason"


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([("smokes", 0, 1)], f"a row must be ({NAMES}), got 3 fields"),
        (
            [{"part": None}],
            f"a row must have the fields {NAMES}, got ['part']; use the query that this form's sql() prints",
        ),
        ([("sport", 0, 1, 3, None)], "part must be one of this form's in every row, got 'sport'"),
        ([(None, None, None, "3", None)], "reports must be a whole number in every row, got str"),
        ([("smokes", 0, 2, 3, None)], "cell must be from 0 to 1 in every row, got 2"),
        ([(None, None, None, 3, "age: no cohort")], "got 3 rows that are not (3 age: no cohort)"),
        ([("smokes", 0, 1, 3, None), (None, None, None, 3, None)], "answers must be those of 3 forms, 3 parts each"),
    ],
)
def test_results_that_are_no_counts(rows: Any, sentence: str) -> None:
    with pytest.raises(dn.DeniableError) as caught:
        dn.count(SPLIT, rows)
    assert sentence in str(caught.value)


# What must be seen: a reader that leaves a test out, and a format that is off by one.
KINDS = [READ[name] for name in ("sample", "related", "conditions")]
READERS: dict[str, tuple[dict[str, Any], Callable[[Form], bool], Callable[..., Any]]] = {
    "columns": (checking.TESTS, arrow_disagrees, lambda *_: None),
    "arrow": (batches.ARROW_TESTS, arrow_disagrees, lambda *_: None),
    "sql": (sql.CONDITIONS, database_disagrees, lambda *_: ["FALSE"]),
}


def notices(judge: Callable[[Form], bool], form: Form) -> bool:
    """Whether a form's table shows that something is wrong, by a verdict or by an error."""
    try:
        return judge(form)
    except Exception:
        return True


@pytest.mark.parametrize(("reader", "test"), [(reader, test) for reader in READERS for test in READERS[reader][0]])
def test_a_reader_that_leaves_a_test_out_is_seen(monkeypatch: pytest.MonkeyPatch, reader: str, test: str) -> None:
    table, judge, never = READERS[reader]
    monkeypatch.setitem(table, test, never)
    assert any(notices(judge, form) for form in KINDS)


@pytest.mark.parametrize("judge", [arrow_disagrees, database_disagrees])
@pytest.mark.parametrize(
    ("name", "field", "off"),
    [
        ("sample two", "drawn", -1),
        ("sample two", "drawn", 1),
        ("conditions", "optional", -2),
        ("conditions", "optional", 1),
    ],
)
def test_a_form_that_allows_other_parts_is_seen(judge: Callable[[Form], bool], name: str, field: str, off: int) -> None:
    form = READ[name]
    right = form.report_format
    object.__setattr__(form, "report_format", replace(right, **{field: getattr(right, field) + off}))
    try:
        assert notices(judge, form)
    finally:
        object.__setattr__(form, "report_format", right)


def test_bad_rows_are_counted_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """A statement that counts the good parts of a row with a bad one is seen."""
    form, query = READ["split"], form_sql.count_parts
    monkeypatch.setattr(
        sys.modules["deniable.survey.form"],
        "count_parts",
        lambda *given: query(*given).replace("report.reason IS NULL AND", ""),
    )
    assert notices(database_disagrees, form)


def test_values_of_no_type_and_of_another() -> None:
    form = READ["related"]
    slot = {"cohort": None, "response": None}
    table = pa.table({part.name: [slot, None] for part in form.parts})
    refused: dict[str, int] = {}
    assert dn.count(form, table, refused=refused).n == 0
    assert refused == {"smokes, age: no cohort": 1, TOGETHER: 1}
