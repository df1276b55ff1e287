"""Files of forms: Parquet, read a batch at a time. Other formats are refused with what to do."""

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from deniable.columns import FormTable, count_forms, privatize_forms
from deniable.errors import DataError
from deniable.survey import Form
from deniable.tally import FormTally

__all__ = ["count_form_files", "privatize_form_files"]

_ROWS = 1 << 17  # rows of a file that are read at once


def count_form_files(form: Form, reports: Any, *, refused: dict[str, int] | None = None) -> FormTally:
    """`count` of a form: tables, packed reports, or one Parquet file or a list of them."""
    paths = _paths(reports)
    if paths is None:
        return count_forms(form, reports, refused=refused)
    tally = FormTally(form)
    for batch in _batches(paths):
        part = count_forms(form, batch, refused=refused)
        tally.add([(own.counts, own.reports) for own in part.parts], part.n)
    return tally


def privatize_form_files(form: Form, data: Any) -> FormTable:
    """`privatize` of a form: a table, or one Parquet file or a list of them, with a column for each question."""
    paths = _paths(data)
    if paths is None:
        return privatize_forms(form, data)
    tables = [privatize_forms(form, batch) for batch in _batches(paths)]
    if not tables:
        return privatize_forms(form, {question.name: [] for question in (*form.questions, *form.public)})
    slots = [
        tuple(np.concatenate([table.slots[place][side] for table in tables]) for side in (0, 1))
        for place in range(len(form.parts))
    ]
    return FormTable(form, np.concatenate([table.answered for table in tables]), tuple(slots))  # type: ignore[arg-type]


def _paths(given: Any) -> list[str] | None:
    several = given if isinstance(given, list) else [given]
    if not several or not all(isinstance(one, (str, os.PathLike)) and os.path.splitext(one)[1] for one in several):
        return None
    paths = [os.fspath(one) for one in several]
    for path in paths:
        if not path.lower().endswith(".parquet"):
            raise DataError(f"files of forms must be Parquet files, got {path!r}; read it into a table and pass that")
    return paths


def _batches(paths: list[str]) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    for path in paths:
        try:
            with pq.ParquetFile(path) as file:
                for batch in file.iter_batches(batch_size=_ROWS):
                    table = pa.Table.from_batches([batch])
                    yield table.replace_schema_metadata(file.schema_arrow.metadata)
        except pa.ArrowInvalid:
            raise DataError(f"{path} must be a Parquet file, got something else, or a damaged one") from None
