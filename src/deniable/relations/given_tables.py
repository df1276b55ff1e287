"""Tables of any kind as Arrow: pandas, Polars, DuckDB, Parquet and CSV files, mappings of columns."""

import contextlib
import os
from collections.abc import Mapping, Sequence
from typing import Any

from deniable.errors import DataError
from deniable.reports import Report
from deniable.survey import Survey

CSV = (".csv", ".csv.gz")  # ends of names of files that are read as such; others are Parquet


def read_table(data: Any, wanted: Sequence[str]) -> Any:
    """Some columns of a table as an Arrow table; packed reports in place of `Report` objects, floats of decimals.

    >>> read_table({"a": [1, 2], "b": [3, 4]}, ["b"]).column_names
    ['b']
    """
    return without_decimals(_arrow_table(data, wanted))


def without_decimals(table: Any) -> Any:
    """An Arrow table with floats in place of decimals, of which pandas would make categories.

    >>> import pyarrow as pa
    >>> without_decimals(pa.table({"x": pa.array([1], pa.decimal128(9, 2))})).schema.types
    [DataType(double)]
    """
    import pyarrow as pa

    for place, (name, column) in enumerate(zip(table.column_names, table.columns, strict=True)):
        if pa.types.is_decimal(column.type):
            table = table.set_column(place, name, column.cast(pa.float64()))
    return table


def _arrow_table(data: Any, wanted: Sequence[str]) -> Any:
    import pyarrow as pa

    if isinstance(data, (str, os.PathLike)):
        check_names(file_names(data), wanted)
        try:
            return _file(data, wanted)
        except (pa.ArrowException, OSError) as problem:
            raise _not_a_table(data, problem) from None
    if isinstance(data, Mapping):
        check_names(list(data), wanted)
        columns = {name: _column(data[name], name) for name in wanted}
        if len({len(column) for column in columns.values()}) > 1:
            told = ", ".join(f"{len(column):,} in {name!r}" for name, column in columns.items())
            raise DataError(f"columns must be of one length, got {told}")
        return pa.table(columns)
    if hasattr(data, "columns") and hasattr(data, "iloc"):  # pandas
        check_names([str(name) for name in data.columns], wanted)
        return pa.table({name: _column(data[name], name) for name in wanted})
    if hasattr(data, "__arrow_c_stream__"):
        with contextlib.suppress(pa.ArrowInvalid):  # of a single column
            table = pa.table(data)
            check_names(table.column_names, wanted)
            return table.select(list(wanted))
    raise DataError(
        "data must be a pandas, Polars or Arrow table, a Parquet or CSV file, or a mapping of columns, got "
        f"{type(data).__name__}"
    )


def file_names(path: str | os.PathLike[str]) -> list[str]:
    """The names of the columns of a file.

    Parameters
    ----------
    path : path
        A Parquet or CSV file.

    Raises
    ------
    DataError
        If it cannot be read.
    """
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    try:
        if os.fspath(path).lower().endswith(CSV):
            return list(pyarrow.csv.open_csv(path).schema.names)
        return list(pyarrow.parquet.read_schema(path).names)
    except (pa.ArrowException, OSError) as problem:
        raise _not_a_table(path, problem) from None


def _file(path: str | os.PathLike[str], wanted: Sequence[str]) -> Any:
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    if not os.fspath(path).lower().endswith(CSV):
        return pyarrow.parquet.read_table(path, columns=list(wanted))
    # An empty field and NA are missing values also among texts, unless they stand between quotes.
    options = pyarrow.csv.ConvertOptions(
        include_columns=list(wanted), strings_can_be_null=True, quoted_strings_can_be_null=False
    )
    table = pyarrow.csv.read_csv(path, convert_options=options)
    if any(pa.types.is_binary(kind) for kind in table.schema.types):  # what it makes of text that is not UTF-8
        raise pa.ArrowInvalid
    return table


def _not_a_table(path: str | os.PathLike[str], problem: Exception) -> DataError:
    if os.fspath(path).lower().endswith(CSV) and not isinstance(problem, OSError):  # its own words show a row
        return DataError(f"data must be a CSV file in UTF-8 with as many fields in every row, got {os.fspath(path)!r}")
    return DataError(f"data must be a Parquet or CSV file or a table, got {os.fspath(path)!r}: {problem}")


def _column(values: Any, name: str) -> Any:
    import pyarrow as pa

    if isinstance(values, str) or not hasattr(values, "__len__"):
        raise DataError(f"columns must be lists of values, got {type(values).__name__}; put a single one into a list")
    if len(values) and isinstance(next(iter(values)), Report):
        values = [None if value is None else value.pack() for value in values]
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError):  # Arrow's own words name a value, which is somebody's
        raise DataError(
            f"columns must have values of one kind, got several in {name!r}; make all of them numbers, or text"
        ) from None


def check_names(names: Sequence[str], wanted: Sequence[str]) -> None:
    for name in wanted:
        if name not in names:
            shown = ", ".join(map(repr, names[:8])) + (", ..." if len(names) > 8 else "")
            dotted = [other for other in names if other.startswith(f"{name}.")]
            more = f"; in a formula a name with a dot stands between backticks, `{dotted[0]}`" if dotted else ""
            raise DataError(f"formula and options must name columns of the data, got {name!r}; there are {shown}{more}")
        if names.count(name) > 1:
            raise DataError(f"columns of the data must have different names, got {name!r} twice")


def outcome_columns(data: Any, name: str, survey: Survey) -> list[str]:
    """The columns that hold the reports of an outcome: its own, and that of cohorts where there are several.

    >>> import deniable as dn
    >>> outcome_columns({"smokes": []}, "smokes", dn.warner(epsilon=1))
    ['smokes']
    """
    if survey.cohorts == 1:
        return [name]
    names = list(data) if isinstance(data, Mapping) else [str(n) for n in getattr(data, "columns", ())]
    if hasattr(data, "column_names"):
        names = list(data.column_names)
    if isinstance(data, (str, os.PathLike)):
        names = file_names(data)
    return [name, *[other for other in (f"{name}_cohort", "cohort") if other in names][:1]]
