"""The tally as a `GROUP BY`: text for people who have their reports in a warehouse and want nothing else.

Reports are rows with a cohort and a response, as `ReportTable` lays them out: a whole number, or the packed bits as
bytes. Rows that no client could have sent are counted by reason, in the order and under the names that the column code
gives. `deniable.count(survey, result)` reads what the query returns.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable.errors import SurveyError

if TYPE_CHECKING:
    from deniable.survey.survey import Survey

__all__ = ["DIALECTS", "group_by"]


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
    """How one engine quotes a name, and looks into bytes: `bit` and `ones` are given an expression of bytes."""

    quote: Callable[[str], str]
    length: str
    bit: Callable[[str, int], str]
    ones: Callable[[str, int], str]
    array: str = "ARRAY[{}]"
    integer: str = "BIGINT"


# Bit j of a response is bit j % 8, counted from the lowest, of byte j // 8. PostgreSQL's get_bit counts like that;
# DuckDB's counts from the highest bit of the first byte.
DIALECTS = {
    "duckdb": Dialect(
        _doubled('"'),
        "octet_length",
        lambda value, j: f"get_bit({value}::BIT, {j - j % 8 + 7 - j % 8})",
        lambda value, width: f"bit_count({value}::BIT)",
        "[{}]",
    ),
    "postgresql": Dialect(
        _doubled('"'),
        "octet_length",
        lambda value, j: f"get_bit({value}, {j})",
        lambda value, width: f"bit_count({value})",
    ),
    "bigquery": Dialect(
        _backslashed,
        "BYTE_LENGTH",
        lambda value, j: f"(TO_CODE_POINTS({value})[OFFSET({j // 8})] >> {j % 8} & 1)",
        lambda value, width: f"BIT_COUNT({value})",
        "[{}]",
        "INT64",
    ),
    "spark": Dialect(
        _doubled("`"),
        "octet_length",
        lambda value, j: f"(shiftright({_spark_byte(value, j // 8)}, {j % 8}) & 1)",
        lambda value, width: "(" + " + ".join(f"bit_count({_spark_byte(value, i)})" for i in range(width)) + ")",
        "array({})",
    ),
}


def group_by(survey: "Survey", dialect: str, table: str | Sequence[str], cohort: str | None, response: str) -> str:
    """The query; see `Survey.sql`."""
    if dialect not in DIALECTS:
        raise SurveyError(f"dialect must be one of {', '.join(DIALECTS)}, got {str(dialect)[:40]!r}")
    speak = DIALECTS[dialect]
    parts = [table] if isinstance(table, str) else list(table)
    source = ".".join(speak.quote(_name("table", part)) for part in parts or [""])
    answer = speak.quote(_name("response", response))
    group = None if cohort is None else speak.quote(_name("cohort", cohort))
    if group is None and survey.cohorts > 1:
        raise SurveyError(f"cohort must name a column: this survey has {survey.cohorts} cohorts")
    width, bits = survey.mechanism.payload_bytes, not survey.mechanism.one_column
    tests = [] if group is None else [(f"{group} IS NULL", "no cohort")]
    tests.append((f"{answer} IS NULL", "no response"))
    if bits:
        tests.append((f"{speak.length}({answer}) <> {width}", "response of another length"))
    if group is not None:
        tests.append((f"{group} NOT BETWEEN 0 AND {survey.cohorts - 1}", "cohort out of range"))
    if bits:
        wrong = [f"{speak.bit(answer, j)} <> 0" for j in range(survey.columns, 8 * width)]
        if survey.mechanism.hits is not None:
            wrong.append(f"{speak.ones(answer, width)} <> {survey.mechanism.hits}")
        tests += [(test, "response that the mechanism cannot produce") for test in wrong]
    else:
        tests.append((f"{answer} NOT BETWEEN 0 AND {survey.columns - 1}", "response out of range"))
    reason = "\n".join(f"      WHEN {test} THEN '{name}'" for test, name in tests)
    lines = ["SELECT", "  CASE WHEN reason IS NULL THEN cohort END AS cohort,"]
    if bits:
        seen = "CASE WHEN reason IS NULL THEN response END"
        # Not null for refused rows either: an array of BigQuery's may not hold one.
        sums = (f"CAST(COALESCE(SUM({speak.bit(seen, j)}), 0) AS {speak.integer})" for j in range(survey.columns))
        lines.append("  " + speak.array.format(",\n    ".join(sums)) + " AS cells,")
    else:
        lines.append("  CASE WHEN reason IS NULL THEN response END AS cell,")
    lines += ["  COUNT(*) AS reports,", "  reason", "FROM ("]
    lines += [f"  SELECT {group or 0} AS cohort, {answer} AS response,", f"    CASE\n{reason}\n    END AS reason"]
    lines += [f"  FROM {source}", ") AS report", "GROUP BY 1, 4" if bits else "GROUP BY 1, 2, 4"]
    return "\n".join(lines) + "\n"


def _name(what: str, name: object) -> str:
    if not isinstance(name, str) or not name or "\0" in name:
        shown = "no text" if not isinstance(name, str) else "an empty one" if not name else "one with a NUL character"
        raise SurveyError(f"{what} must be a name, got {shown}")
    return name
