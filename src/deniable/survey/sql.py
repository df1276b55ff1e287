"""SQL that counts reports with a `GROUP BY`, for reports that are already in a database.

Reports are rows with a cohort and a response, as `ReportTable` lays them out: a whole number, or the packed bits as
bytes. Rows that no client could have sent are counted by reason, as `ReportFormat.rules` says.
`deniable.count(survey, result)` reads what the query returns.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from deniable.errors import SurveyError
from deniable.survey.report_format import Field, ReportFormat

__all__ = ["DIALECTS", "group_by", "sql_refusals"]


def _doubled(mark: str) -> Callable[[str], str]:
    return lambda name: mark + name.replace(mark, 2 * mark) + mark


def _backslashed(name: str) -> str:
    """BigQuery reads the escapes of its strings in quoted names too."""
    escaped = name.replace("\\", "\\\\").replace("`", "\\`").replace("\n", "\\n").replace("\r", "\\r")
    return f"`{escaped}`"


def _spark_byte(value: str, place: int) -> str:
    return f"CAST(conv(hex(substring({value}, {place + 1}, 1)), 16, 10) AS INT)"


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one database quotes names and reads bits of bytes; `bit` and `ones` take an SQL expression of bytes."""

    quote: Callable[[str], str]
    length: str
    bit: Callable[[str, int], str]
    ones: Callable[[str, int], str]
    array: str = "ARRAY[{}]"
    integer: str = "BIGINT"
    no_array: str = "CAST(ARRAY[] AS BIGINT[])"
    text: str = "VARCHAR"
    absent: str = "{} IS NULL"  # whether a struct is not there, whatever its fields are


# Bit j of a response is bit j % 8, counted from the lowest, of byte j // 8. PostgreSQL's get_bit counts like that;
# DuckDB's counts from the highest bit of the first byte.
DIALECTS = {
    "duckdb": Dialect(
        _doubled('"'),
        "octet_length",
        lambda value, j: f"get_bit({value}::BIT, {j - j % 8 + 7 - j % 8})",
        lambda value, width: f"bit_count({value}::BIT)",
        "[{}]",
        no_array="CAST([] AS BIGINT[])",
    ),
    "postgresql": Dialect(
        _doubled('"'),
        "octet_length",
        lambda value, j: f"get_bit({value}, {j})",
        lambda value, width: f"bit_count({value})",
        absent="{} IS NOT DISTINCT FROM NULL",  # IS NULL holds for a row whose fields are all null, too
    ),
    "bigquery": Dialect(
        _backslashed,
        "BYTE_LENGTH",
        lambda value, j: f"(TO_CODE_POINTS({value})[OFFSET({j // 8})] >> {j % 8} & 1)",
        lambda value, width: f"BIT_COUNT({value})",
        "[{}]",
        "INT64",
        "CAST([] AS ARRAY<INT64>)",
        "STRING",
    ),
    "spark": Dialect(
        _doubled("`"),
        "octet_length",
        lambda value, j: f"(shiftright({_spark_byte(value, j // 8)}, {j % 8}) & 1)",
        lambda value, width: "(" + " + ".join(f"bit_count({_spark_byte(value, i)})" for i in range(width)) + ")",
        "array({})",
        no_array="CAST(array() AS ARRAY<BIGINT>)",
        text="STRING",
    ),
}


# SQL conditions for each of `report_format.TESTS`. A value is wrong if one of them holds.
CONDITIONS: dict[str, Callable[[Dialect, str, Field], list[str]]] = {
    "missing": lambda speak, value, field: [f"{value} IS NULL"],
    "length": lambda speak, value, field: [f"{speak.length}({value}) <> {field.size}"],
    "range": lambda speak, value, field: [f"{value} NOT BETWEEN 0 AND {field.limit - 1}"],
    "padding": lambda speak, value, field: [f"{speak.bit(value, j)} <> 0" for j in range(field.limit, 8 * field.size)],
    "ones": lambda speak, value, field: [f"{speak.ones(value, field.size)} <> {field.ones}"],
}


def sql_refusals(form: ReportFormat, dialect: str, columns: Mapping[str, str]) -> list[tuple[str, str]]:
    """The SQL conditions that find invalid rows, in order, each with the reason for refusing the row.

    Parameters
    ----------
    form
        The format of the survey's reports.
    dialect
        One of `DIALECTS`.
    columns
        The SQL expression of each field, by its name; a field that is not named is not tested.

    Examples
    --------
    >>> import deniable as dn
    >>> sql_refusals(dn.warner(epsilon=1).report_format, "spark", {"response": "r"})
    [('r IS NULL', 'no response'), ('r NOT BETWEEN 0 AND 1', 'response out of range')]
    """
    return [
        (condition, rule.reason)
        for rule in form.rules
        if rule.field.name in columns
        for condition in CONDITIONS[rule.test](DIALECTS[dialect], columns[rule.field.name], rule.field)
    ]


def group_by(form: ReportFormat, dialect: str, table: str | Sequence[str], cohort: str | None, response: str) -> str:
    """The query; see `Survey.sql`."""
    speak = dialect_of(dialect)
    source = source_of(speak, table)
    columns = {"response": speak.quote(_name("response", response))}
    if cohort is not None:
        columns["cohort"] = speak.quote(_name("cohort", cohort))
    elif form.cohort.limit > 1:
        raise SurveyError(f"cohort must name a column: this survey has {form.cohort.limit} cohorts")
    tests = (f"      WHEN {test} THEN '{reason}'" for test, reason in sql_refusals(form, dialect, columns))
    lines = ["SELECT", "  CASE WHEN reason IS NULL THEN cohort END AS cohort,"]
    if form.response.bits:
        seen = "CASE WHEN reason IS NULL THEN response END"
        lines.append(f"  {sums_of(speak, form, seen)} AS cells,")
    else:
        lines.append("  CASE WHEN reason IS NULL THEN response END AS cell,")
    lines += ["  COUNT(*) AS reports,", "  reason", "FROM ("]
    lines += [f"  SELECT {columns.get('cohort', 0)} AS cohort, {columns['response']} AS response,", "    CASE", *tests]
    lines += ["    END AS reason", f"  FROM {source}", ") AS report"]
    return "\n".join([*lines, "GROUP BY 1, 4" if form.response.bits else "GROUP BY 1, 2, 4"]) + "\n"


def dialect_of(name: str) -> Dialect:
    """The dialect of a name."""
    if name not in DIALECTS:
        raise SurveyError(f"dialect must be one of {', '.join(DIALECTS)}, got {str(name)[:40]!r}")
    return DIALECTS[name]


def source_of(speak: Dialect, table: str | Sequence[str]) -> str:
    """The name of a table, or the parts of one, quoted."""
    parts = [table] if isinstance(table, str) else list(table)
    return ".".join(speak.quote(_name("table", part)) for part in parts or [""])


def sums_of(speak: Dialect, form: ReportFormat, value: str) -> str:
    """The array of how often each bit of some responses is set."""
    # Not null for refused rows either: an array of BigQuery's may not hold one.
    sums = (f"CAST(COALESCE(SUM({speak.bit(value, j)}), 0) AS {speak.integer})" for j in range(form.response.limit))
    return speak.array.format(",\n    ".join(sums))


def _name(what: str, name: object) -> str:
    if not isinstance(name, str) or not name or "\0" in name:
        shown = "no text" if not isinstance(name, str) else "an empty one" if not name else "one with a NUL character"
        raise SurveyError(f"{what} must be a name, got {shown}")
    return name
