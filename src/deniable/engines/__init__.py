"""Randomise and count files and tables of any size: Parquet, Arrow, CSV, JSON lines, and Arrow's C interface.

`count` and `privatize` do what those of `columns` do, and accept files as well. The command line uses `count_files` and
`privatize_files`.
"""

import os
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from deniable import columns
from deniable.columns import FormTable, ReportTable, settle_refused
from deniable.engines.form_files import count_form_files, privatize_form_files
from deniable.engines.input_files import paths_of, sources
from deniable.engines.local import FileProgress, count_files, survey_in
from deniable.engines.privatizing import privatize_files, privatized_tables, refuse_answers
from deniable.engines.readers import open_reader
from deniable.engines.writing import output_format
from deniable.errors import AlphabetError
from deniable.survey import Agreement, Form, Survey
from deniable.tally import FormTally, Tally

__all__ = [
    "FileProgress",
    "count",
    "count_files",
    "open_reader",
    "output_format",
    "privatize",
    "privatize_files",
    "sources",
    "survey_in",
]


@overload
def count(survey: Survey, reports: Any, *, refused: dict[str, int] | None = None) -> Tally: ...
@overload
def count(survey: Form, reports: Any, *, refused: dict[str, int] | None = None) -> FormTally: ...
def count(survey: Agreement, reports: Any, *, refused: dict[str, int] | None = None) -> Tally | FormTally:
    """Count reports into a tally.

    Files are read as a stream: CSV, JSON lines, Parquet or Arrow IPC.

    Parameters
    ----------
    survey : Survey or Form
        What the reports answer.
    reports : path, table or iterable
        One path or a list of them (files, folders, patterns); a `ReportTable`; a table with Arrow's C interface (Arrow,
        pandas, Polars, DuckDB), of reports or the result of `survey.sql()`; or an iterable of tables, of reports or of
        packed bytes. For a survey that people run by hand (`dn.design`) the column of what they said, or a mapping of
        how often each thing was said.
    refused : dict, optional
        If given, rows that are no reports of the survey are left out, and counted in it by reason. Otherwise such a row
        is an error.

    Returns
    -------
    Tally
        The counts.

    Raises
    ------
    WireError
        If a row is refused and `refused` was not given, or the columns are not those of reports.
    DataError
        If a file is damaged or of an unknown format, is named twice, or a pattern matches none.
    OSError
        If a file cannot be opened.

    Examples
    --------
    >>> import deniable as dn, pyarrow as pa
    >>> survey = dn.krr(symbols=["a", "b"], epsilon=1)
    >>> dn.count(survey, dn.privatize(survey, ["a", "b", "b"])).n
    3
    >>> refused = {}
    >>> dn.count(survey, pa.table({"response": [0, 1, 7]}), refused=refused).n, refused
    (2, {'response out of range': 1})
    """
    if isinstance(survey, Form):
        return count_form_files(survey, reports, refused=refused)
    Survey.check(survey, "it comes first: dn.count(survey, reports)")
    # A list of text is what people said, where they answer by hand; elsewhere it is names of files.
    said = bool(survey.mechanism.said) and not isinstance(reports, (str, os.PathLike))
    paths = None if said else paths_of(reports)
    if paths is None:
        return columns.count(survey, reports, refused=refused)
    tally, bad = count_files(survey, paths)
    settle_refused(bad, refused)
    return tally


@overload
def privatize(
    survey: Survey,
    data: Any,
    *,
    column: str | None = None,
    cohorts: npt.ArrayLike | None = None,
    refused: dict[str, int] | None = None,
) -> ReportTable: ...
@overload
def privatize(survey: Form, data: Any) -> FormTable: ...
def privatize(
    survey: Agreement,
    data: Any,
    *,
    column: str | None = None,
    cohorts: npt.ArrayLike | None = None,
    refused: dict[str, int] | None = None,
) -> ReportTable | FormTable:
    """Randomise a column of answers, one report a row, with the operating system's randomness.

    Missing answers, and values outside a closed alphabet without a catch-all, are refused. Messages say how many
    and never show them.

    Parameters
    ----------
    survey : Survey or Form
        What the answers belong to. Those to a form are a table, or a Parquet file, with a column for each question.
    data : array, list, table or path
        The answers: a NumPy array, an Arrow array (dictionary-encoded is fastest), a list, or anything that Arrow can
        read. With `column`, a table with Arrow's C interface (Arrow, pandas, Polars, DuckDB), or one path or a list of
        them. A closed survey over the symbols 0 .. S-1 takes integer codes as they are.
    column : str, optional
        The column of the table or the files that holds the answers.
    cohorts : array_like of int, optional
        The cohort of each row, if the respondents already have one; not with `column` or `refused`. By default cohorts
        are drawn.
    refused : dict, optional
        If given, rows that are refused are left out, and counted in it by reason. Otherwise such a row is an error.

    Returns
    -------
    ReportTable
        The reports, in the order of the rows.

    Raises
    ------
    AlphabetError
        If a row is refused and `refused` was not given, or `data` has no such column.

    Examples
    --------
    >>> import deniable as dn, numpy as np, pyarrow as pa
    >>> survey = dn.orr(symbols=256, epsilon=2.0, cells=8, cohorts=64)
    >>> len(dn.privatize(survey, np.arange(1000) % 256))
    1000
    >>> table = pa.table({"browser": ["lynx", None, "firefox"]})
    >>> refused = {}
    >>> dn.privatize(dn.krr(symbols=["firefox", "lynx"], epsilon=1), table, column="browser", refused=refused)
    <ReportTable of survey 5634a55a: 2 reports>
    >>> refused
    {'no answer': 1}
    """
    if isinstance(survey, Form):
        if column is not None or cohorts is not None or refused is not None:
            raise AlphabetError(
                "column, cohorts and refused must not be given for a form, which has a column a question"
            )
        return privatize_form_files(survey, data)
    Survey.check(survey, "it comes first: dn.privatize(survey, column)")
    if column is None:
        _refuse_tables(data)
    if column is None and refused is None:
        return columns.privatize(survey, data, cohorts=cohorts)
    if cohorts is not None:
        raise AlphabetError("cohorts must not be given with column= or refused=; pass the column itself")
    bad: dict[str, int] = {}
    tables = list(privatized_tables(survey, data, column, bad))
    settle_refused(bad, refused, refuse_answers)
    tables = tables or [columns.privatize(survey, [])]
    return ReportTable(
        survey, np.concatenate([t.cohorts for t in tables]), np.concatenate([t.responses for t in tables])
    )


def _refuse_tables(data: Any) -> None:
    """A table, or the name of a file, has columns of which one is meant: it must be named."""
    if isinstance(data, (str, os.PathLike)):
        if os.path.splitext(data)[1]:
            raise AlphabetError(f"column must be named for a file, got none; write column=... beside {str(data)!r}")
        return
    names = getattr(data, "column_names", None)  # Arrow
    names = getattr(data, "columns", None) if names is None else names  # pandas, Polars, DuckDB
    if names is None and hasattr(data, "schema"):
        names = getattr(data.schema, "names", None)
    if names is None or callable(names):
        return
    listed = [str(name) for name in names]
    shown = ", ".join(repr(name) for name in listed[:8]) + (", ..." if len(listed) > 8 else "")
    raise AlphabetError(
        f"column must be named for a table, got none; write column=... with one of its columns: {shown or 'none'}"
    )
