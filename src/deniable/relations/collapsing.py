"""Rows of a regression: tables of any kind, collapsed to counts of rows that are equal in all that the model sees."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.columns import check_digest, said_codes
from deniable.errors import DataError, WireError
from deniable.relations.given_tables import check_names, read_table, without_decimals
from deniable.reports import Report
from deniable.survey import Survey
from deniable.tally import refused_rows

Floats = npt.NDArray[np.float64]

_MOST_PEOPLE = 2**53  # up to here sums of counts are exact


@dataclass(frozen=True, slots=True)
class CollapsedRows:
    """Distinct rows: how many people each stands for, the sums of their weights and of their squares, their columns."""

    table: Any
    counts: Floats
    weights: Floats
    squares: Floats
    dropped: int
    people: int


def collapsed(
    data: Any, keys: Sequence[str], *, weights: str | None, counts: str | None, missing: str, apart: bool
) -> CollapsedRows:
    """The distinct rows of some columns of a table.

    Parameters
    ----------
    data : table, path or mapping
        pandas, Polars, Arrow, DuckDB, Spark, a Parquet or CSV file, or a mapping of columns.
    keys : sequence of str
        The columns that the model sees.
    weights, counts : str, optional
        Columns of survey weights, and of how many people a row stands for.
    missing : str
        "drop" or "raise": what becomes of rows with a missing value.
    apart : bool
        Whether every row stays on its own.

    Examples
    --------
    >>> found = collapsed({"y": [1, 1, 0, None], "x": ["a", "a", "b", "a"]}, ["y", "x"], weights=None, counts=None,
    ...     missing="drop", apart=False)
    >>> sorted(found.counts.tolist()), found.dropped, found.people
    ([1.0, 2.0], 1, 3)
    """
    import pyarrow as pa

    wanted = list(dict.fromkeys([*keys, *(name for name in (weights, counts) if name)]))
    if hasattr(data, "groupBy") and hasattr(data, "sparkSession"):
        table, counts = _spark_counts(data, wanted, counts), "__people"
        wanted = [*wanted, "__people"] if "__people" not in wanted else wanted
    else:
        table = read_table(data, wanted)
    if counts is not None and not (pa.types.is_integer(table[counts].type) or pa.types.is_floating(table[counts].type)):
        raise DataError(f"counts must be a column of numbers, got {table[counts].type} in {counts!r}")
    before = table.num_rows if counts is None else _people(table, counts)
    kept = _without_missing(table)
    if counts is None and weights is None and not apart:
        return _counted(kept, keys, before, missing)
    people = np.ones(kept.num_rows) if counts is None else _numbers(kept, counts, "counts")
    dropped = _dropped(before, int(people.sum()), missing)
    each = np.ones(kept.num_rows) if weights is None else _numbers(kept, weights, "weights")
    if not np.isfinite(each).all() or (each <= 0).any():
        bad = int((~(np.isfinite(each) & (each > 0))).sum())
        raise DataError(
            f"weights must be positive numbers, got {bad:,} that are not; leave out the rows that count nothing"
        )
    each = each / each.max()  # of mean one, as if people had been asked as often: without an overflow of their sum
    each *= people.sum() / (people @ each)
    sums = pa.table(
        {**{name: kept[name] for name in keys}, "__n": people, "__w": people * each, "__s": people * each**2}
    )
    if not apart:
        found = sums.group_by(list(keys)).aggregate([("__n", "sum"), ("__w", "sum"), ("__s", "sum")])
        sums = found.rename_columns(
            [name.removesuffix("_sum") if name.startswith("__") else name for name in found.column_names]
        )
    n, w, s = (sums[name].to_numpy() for name in ("__n", "__w", "__s"))
    return CollapsedRows(sums.select(list(keys)), n, w, s, dropped, int(people.sum()))


def _counted(kept: Any, keys: Sequence[str], before: int, missing: str) -> CollapsedRows:
    """Of rows that stand for one person each: nothing is added up, which takes as long as counting does."""
    dropped = _dropped(before, kept.num_rows, missing)
    found = kept.group_by(list(keys)).aggregate([([], "count_all")])
    n = np.asarray(found["count_all"].to_numpy(), float)
    return CollapsedRows(found.select(list(keys)), n, n, n, dropped, kept.num_rows)


def _dropped(before: int, people: int, missing: str) -> int:
    """How many people had a missing value, where that is allowed."""
    if before - people and missing == "raise":
        raise DataError(
            f"rows must have no missing values, got {before - people:,} with one; pass missing='drop' to leave them out"
        )
    if not before:
        raise DataError("data must have people, got none: no rows, or rows that stand for nobody")
    if not people:
        raise DataError(f"data must have rows without missing values, got none of {before:,}")
    return before - people


def _without_missing(table: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = {}
    for name in table.column_names:
        column = table[name]
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if pa.types.is_string_view(column.type) or pa.types.is_binary_view(column.type):
            column = column.cast(pa.string() if pa.types.is_string_view(column.type) else pa.binary())
        if pa.types.is_nested(column.type):
            raise DataError(f"columns must have one value in each row, got lists or tables of them in {name!r}")
        if pa.types.is_floating(column.type) and pc.any(pc.is_nan(column)).as_py():
            column = pc.if_else(pc.is_nan(column), None, column)
        columns[name] = column
    found = pa.table(columns)
    return found.drop_null() if any(column.null_count for column in found.columns) else found


def _people(table: Any, counts: str) -> int:
    """How many people rows with a count stand for."""
    found = _numbers(table, counts, "counts")
    found = found[~np.isnan(found)]
    if (found != np.floor(found)).any() or (found < 0).any() or found.sum() > _MOST_PEOPLE:
        raise DataError(f"column {counts!r} must hold whole numbers of people from 0 on, 2**53 in all, got others")
    return int(found.sum())


def _numbers(table: Any, name: str, what: str) -> Floats:
    import pyarrow as pa

    try:
        return np.asarray(table[name].to_numpy(), float)
    except (pa.ArrowException, ValueError, TypeError):
        raise DataError(f"{what} must be a column of numbers, got {table[name].type} in {name!r}") from None


def _spark_counts(frame: Any, wanted: Sequence[str], counts: str | None) -> Any:
    """One group-by on Spark: the distinct rows, and how many people each has."""
    check_names(frame.columns, wanted)
    keys = [name for name in wanted if name != counts]
    grouped = frame.groupBy(*keys)
    found = grouped.count() if counts is None else grouped.sum(counts)
    return without_decimals(found.toDF(*keys, "__people").toArrow())


def whole_numbers(column: Any) -> Any:
    """A column of floating-point numbers that are all whole as integers: pandas has made them where some are missing.

    >>> import pyarrow as pa
    >>> whole_numbers(pa.array([1.0, 0.0])).type, whole_numbers(pa.array([0.5])).type
    (DataType(int64), DataType(double))
    """
    import pyarrow as pa

    if not pa.types.is_floating(column.type):
        return column
    try:
        return column.cast(pa.int64())
    except pa.ArrowInvalid:
        return column


def reports_of(survey: Survey, table: Any, columns: Sequence[str]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Cohorts and responses of the reports in a table, checked; or what people said.

    >>> import deniable as dn, pyarrow as pa
    >>> cohorts, responses = reports_of(dn.warner(epsilon=1), pa.table({"smokes": [0, 1, 1]}), ["smokes"])
    >>> responses.tolist()
    [0, 1, 1]
    """
    import pyarrow as pa

    column = table[columns[0]]
    check_digest(survey, table.schema)
    if survey.mechanism.said:
        codes = said_codes(survey, column)
        if (codes < 0).any():
            named = ", ".join(map(repr, survey.mechanism.said))
            raise WireError(
                f"column {columns[0]!r} must hold {named}, got others; name what the data have with answers= of "
                "dn.design"
            )
        return np.zeros(len(codes), np.int64), codes
    size = survey.report_format.length
    binary = pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type)
    binary = binary or pa.types.is_fixed_size_binary(column.type)
    bits = survey.report_format.response.bits
    if binary and (not bits or (len(columns) == 1 and (len(column) == 0 or len(column[0].as_py()) == size))):
        found = [Report.unpack(survey, wire) for wire in column.to_pylist()]
        cohorts = np.array([report.cohort for report in found], np.int64)
        if bits:
            payload = b"".join(report.payload for report in found)
            return cohorts, np.frombuffer(payload, np.uint8).reshape(len(found), -1)
        return cohorts, np.array([report.response for report in found], np.int64)
    if survey.cohorts > 1 and len(columns) == 1:
        raise WireError(
            f"column {columns[0]!r} must hold packed reports, or have a column 'cohort' or {columns[0] + '_cohort'!r} "
            f"beside it, for a survey of {survey.cohorts} cohorts"
        )
    cohorts = whole_numbers(table[columns[1]]).to_numpy() if len(columns) > 1 else np.zeros(table.num_rows, np.int64)
    if bits:
        if not binary:
            raise WireError(
                f"column {columns[0]!r} must hold reports of this survey as bytes, got {column.type}; a CSV file has "
                "none, write Parquet"
            )
        width = survey.report_format.response.size
        payload = b"".join(column.to_pylist())
        if len(payload) != width * len(column):
            raise WireError(f"column {columns[0]!r} must hold {width} bytes a report, got other lengths")
        responses: npt.NDArray[Any] = np.frombuffer(payload, np.uint8).reshape(len(column), width)
    else:
        column = whole_numbers(column)
        if not (pa.types.is_integer(column.type) or pa.types.is_boolean(column.type)):
            raise WireError(
                f"column {columns[0]!r} must hold reports of the survey (numbers of cells, or packed bytes), got "
                f"{column.type}; true answers are randomised first, with dn.privatize"
            )
        responses = column.to_numpy().astype(np.int64)
    wrong = {rule.reason: int(rows.sum()) for rule, rows in refused_rows(survey.report_format, cohorts, responses)}
    if any(wrong.values()):
        told = ", ".join(f"{count:,} {reason}" for reason, count in wrong.items() if count)
        raise WireError(
            f"column {columns[0]!r} must hold reports of this survey, got others ({told}); name the survey that they "
            "answer"
        )
    return cohorts, responses
