"""Reports that went through files: the law of each is the client's, and batches share no noise."""

from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deniable as dn
import deniable.engines.privatizing as room
from deniable.columns.table import ReportTable
from deniable.engines import open_reader, sources
from deniable.survey import Survey
from tests.exact.laws import published
from tests.statistical.harness import accept, binomial_p_value, law_p_value, reject
from tests.surveys import SMALL, symbols_of

N, BATCH = 240_000, 120_000
NAMES = ["krr", "krappor", "orr-open", "subset-again"]


def through_files(survey: Survey, folder: Path) -> ReportTable:
    """One answer over and over, from a Parquet file in two batches to a file of reports and back."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"answer": [symbols_of(survey)[0]] * N}), folder / "data.parquet", row_group_size=BATCH)
    room.privatize_files(survey, folder / "data.parquet", "answer", str(folder / "reports.arrow"))
    reader = open_reader(sources(folder / "reports.arrow")[0])
    batches = list(reader.batches({"cohort": "number", "response": "number"}, N, {}))
    table = ReportTable.from_arrow(survey, pa.Table.from_batches(batches))
    reader.close()
    return table


def codes_of(table: ReportTable) -> list[tuple[int, int]]:
    responses = table.responses if table.responses.ndim == 1 else table.responses[:, 0]
    return list(zip(table.cohorts.tolist(), responses.tolist(), strict=True))


def law_of_files(survey: Survey, folder: Path) -> float:
    counts = {
        dn.Report(survey, c, int(r).to_bytes(survey.mechanism.payload_bytes, "little")).pack(): k
        for (c, r), k in Counter(codes_of(through_files(survey, folder))).items()
    }
    return law_p_value(counts, published(survey, symbols_of(survey)[0]))


def repeats_of_files(survey: Survey, folder: Path) -> float:
    """How often a row of the second batch equals the same row of the first: as often as any two reports do."""
    codes = codes_of(through_files(survey, folder))
    law = published(survey, symbols_of(survey)[0])
    equal = sum((p * p for p in law.values()), Fraction(0))
    return binomial_p_value(sum(a == b for a, b in zip(codes[:BATCH], codes[BATCH:], strict=True)), BATCH, float(equal))


@pytest.fixture(autouse=True)
def _in_small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "_ROWS", BATCH)


@pytest.mark.parametrize("name", NAMES)
def test_reports_from_files_follow_the_published_channel(name: str, tmp_path: Path) -> None:
    accept("file-law", law_of_files(SMALL[name], tmp_path))


@pytest.mark.parametrize("name", NAMES)
def test_batches_share_no_noise(name: str, tmp_path: Path) -> None:
    accept("file-batches", repeats_of_files(SMALL[name], tmp_path))


def test_answers_that_pass_unrandomised_are_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = room.reports_of

    def honest_to_a_fault(survey: Survey, answers: Any, *rest: Any) -> ReportTable:
        table = real(survey, answers, *rest)
        truth = np.where(np.arange(len(table)) % 50 == 0, 0, table.responses)  # every fiftieth row as it is
        return ReportTable(survey, table.cohorts, truth.astype(table.responses.dtype))

    monkeypatch.setattr(room, "reports_of", honest_to_a_fault)
    reject("file-law", law_of_files(SMALL["krr"], tmp_path))


def test_noise_that_batches_share_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, kept = room.reports_of, list[ReportTable]()

    def once(survey: Survey, answers: Any, *rest: Any) -> ReportTable:
        if not kept:
            kept.append(real(survey, answers, *rest))
        return kept[0]

    monkeypatch.setattr(room, "reports_of", once)
    reject("file-batches", repeats_of_files(SMALL["krr"], tmp_path))
