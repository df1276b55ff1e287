"""Reports as other people's files and tables hold them: the same rows in every format, some of them bad."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import deniable as dn
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


def with_bad_rows(survey: Survey) -> tuple[pa.Table, dict[str, int]]:
    """Good reports with a bad row of every kind among them, and how many of each reason there are."""
    good = some_reports(survey, 60).to_arrow()
    cohorts = good.column("cohort").to_pylist()
    responses = good.column("response").to_pylist()
    bits = not survey.mechanism.one_column
    width = survey.mechanism.payload_bytes
    fine = responses[0]
    bad: list[tuple[int | None, object]] = [(None, fine), (None, None), (0, None), (survey.cohorts, fine), (-1, fine)]
    reasons = {"no cohort": 2, "no response": 1, "cohort out of range": 2}
    if bits:
        bad += [(0, b"\xff" * (width + 1)), (survey.cohorts, b""), (0, b"\xff" * width)]
        reasons["response of another length"] = 2
        all_ones_fit = survey.columns == 8 * width and survey.mechanism.hits is None
        reasons |= {} if all_ones_fit else {"response that the mechanism cannot produce": 1}
    else:
        bad += [(0, survey.columns), (0, -1), (survey.cohorts, survey.columns)]
        reasons |= {"response out of range": 2, "cohort out of range": 3}
    for place, (cohort, response) in enumerate(bad):
        cohorts.insert(7 * place, cohort)
        responses.insert(7 * place, response)
    kind = pa.binary() if bits else pa.int64()
    return pa.table({"cohort": pa.array(cohorts, pa.int64()), "response": pa.array(responses, kind)}), reasons


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


def naive_counts(survey: Survey, table: dn.ReportTable) -> tuple[list[list[int]], list[int]]:
    """What a tally must hold, one report at a time."""
    counts = np.zeros((survey.cohorts, survey.columns), int)
    reports = np.zeros(survey.cohorts, int)
    for report in table:
        reports[report.cohort] += 1
        for column in survey.mechanism.columns_hit(report.response):
            counts[report.cohort, column] += 1
    return counts.tolist(), reports.tolist()
