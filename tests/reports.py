"""Reports as other people's files and tables hold them: the same rows in every format, some of them bad."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import deniable as dn
from deniable.columns.counting import add_bits, add_cells
from deniable.engines.writing import report_writer
from deniable.survey import Survey
from tests.surveys import symbols_of

FORMATS = ("parquet", "arrow", "arrows", "csv", "jsonl", "csv.gz", "jsonl.zst")


def some_reports(survey: Survey, rows: int = 700) -> dn.ReportTable:
    symbols = symbols_of(survey)
    return dn.privatize(survey, [symbols[i % len(symbols)] for i in range(rows)])


def write(table: dn.ReportTable, path: Path) -> Path:
    """The reports in a file of any format, in several batches where the format has them."""
    if path.suffix == ".arrows":
        found = table.to_arrow()
        with pa.ipc.new_stream(path, found.schema) as writer:
            writer.write_table(found, max_chunksize=100)
        return path
    with report_writer(table.survey, str(path)) as writing:
        half = len(table) // 2
        for part in (slice(0, half), slice(half, None)):
            writing(dn.ReportTable(table.survey, table.cohorts[part], table.responses[part]))
    return path


def write_rows(table: pa.Table, path: Path) -> Path:
    """Rows as they are, bad ones too."""
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    elif path.suffix in (".arrow", ".arrows"):
        with (pa.ipc.new_file if path.suffix == ".arrow" else pa.ipc.new_stream)(path, table.schema) as writer:
            writer.write_table(table)
    else:
        rows = [
            {name: value.hex() if isinstance(value, bytes) else value for name, value in row.items()}
            for row in table.to_pylist()
        ]
        lines = [json.dumps(row) for row in rows]
        if path.suffix == ".csv":
            # A quoted field is there, even if it is empty; one that is not quoted is missing.
            lines = [",".join("" if v is None else f'"{v}"' for v in row.values()) for row in rows]
            lines.insert(0, ",".join(table.column_names))
        path.write_text("".join(line + "\n" for line in lines))
    return path


def count_cells(cohorts: Any, responses: Any, cohort_count: int, columns: int) -> tuple[Any, Any]:
    """Counts and reports of index reports that are all good."""
    counts = np.zeros((cohort_count, columns), np.int64)
    add_cells(counts, cohorts, responses)
    return counts, counts.sum(axis=1)


def count_bits(cohorts: Any, packed: Any, cohort_count: int, columns: int) -> tuple[Any, Any]:
    """Counts and reports of bit reports that are all good."""
    counts = np.zeros((cohort_count, columns), np.int64)
    add_bits(counts, cohorts, packed)
    return counts, np.bincount(cohorts, minlength=cohort_count)


def naive_counts(survey: Survey, table: dn.ReportTable) -> tuple[list[list[int]], list[int]]:
    """What a tally must hold, one report at a time."""
    counts = np.zeros((survey.cohorts, survey.columns), int)
    reports = np.zeros(survey.cohorts, int)
    for report in table:
        reports[report.cohort] += 1
        for column in survey.mechanism.columns_hit(report.response):
            counts[report.cohort, column] += 1
    return counts.tolist(), reports.tolist()
