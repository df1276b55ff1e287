"""However rows are split over batches, blocks and files, and wherever the bad ones are, the tally is the same."""

import json
import tempfile
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deniable as dn
import deniable.engines.local as local
import deniable.engines.text_files as text
from deniable.engines import count_files
from tests.reports import count_bits, count_cells, write_rows
from tests.surveys import SMALL

SURVEY = SMALL["orr-closed"]
BITS = SMALL["orappor-closed"]

# Fields as text: most of them good, some of them none.
fields = st.sampled_from(["0", "1", "1", "0", "2", "-1", "", "x", "99", "0x1", "1.0"])
lines = st.lists(st.tuples(fields, fields).map(",".join) | st.sampled_from(["", "1", "1,1,1", '"1","0"']), max_size=40)


def one_at_a_time(rows: list[str]) -> tuple[int, int]:
    """How many lines are reports, and how many are not, by reading each in a file of its own."""
    good = bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for row in rows:
            path = Path(folder, "one.csv")
            path.write_text(f"cohort,response\n{row}\n")
            tally, refused = count_files(SURVEY, path)
            good, bad = good + tally.n, bad + sum(refused.values())
    return good, bad


@given(lines, st.integers(24, 200))
@settings(max_examples=40)
def test_text_in_blocks_of_any_size(rows: list[str], size: int) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        path = Path(folder, "rows.csv")
        path.write_text("\n".join(["cohort,response", *rows]) + "\n")
        whole = count_files(SURVEY, path)
        assert (whole[0].n, sum(whole[1].values())) == one_at_a_time(rows)
        patch.setattr(text, "_BLOCK", size)
        patch.setattr(text, "_HEAD", size)
        assert count_files(SURVEY, path) == whole


numbers = st.none() | st.integers(-1, 4)
wrong = st.sampled_from(['{"cohort":0', "[]", '{"cohort":"0","response":1}', '{"cohort":0.5,"response":1}', "", "{}"])
objects = st.tuples(numbers, numbers).map(lambda pair: json.dumps({"cohort": pair[0], "response": pair[1]}))


@given(st.lists(objects | objects | wrong, max_size=40), st.integers(1, 200))
@settings(max_examples=40)
def test_json_lines_in_blocks_of_any_size(rows: list[str], size: int) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        path = Path(folder, "rows.jsonl")
        path.write_text("\n".join(['{"cohort":0,"response":0}', *rows]))
        whole = count_files(SURVEY, path)
        lines = 1 + sum(bool(row) for row in rows)
        assert whole[0].n + sum(whole[1].values()) == lines
        patch.setattr(text, "_BLOCK", size)
        patch.setattr(text, "_HEAD", 64)
        assert count_files(SURVEY, path) == whole


@given(st.lists(st.tuples(numbers, numbers), max_size=60), st.lists(st.integers(0, 60), max_size=4), st.integers(1, 9))
@settings(max_examples=40)
def test_tables_in_files_of_any_size(rows: list[tuple[int | None, int | None]], cuts: list[int], group: int) -> None:
    kinds = pa.schema({"cohort": pa.int16(), "response": pa.int32()})
    table = pa.Table.from_pylist([{"cohort": c, "response": r} for c, r in rows], kinds)
    refused: dict[str, int] = {}
    whole = dn.count(SURVEY, table, refused=refused), refused
    edges = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(local, "_BATCH", 1)
        for place, (start, end) in enumerate(pairwise(edges)):
            part = table.slice(start, end - start)
            if place % 2:
                write_rows(part, Path(folder, f"{place}.arrow"))
            else:
                pq.write_table(part, Path(folder, f"{place}.parquet"), row_group_size=group)
        assert count_files(SURVEY, folder) == whole


@given(
    st.integers(1, 40),
    st.integers(1, 300),
    st.integers(1, 5),
    st.integers(0, 2**32 - 1),
    st.sampled_from([1, 2, 7, 255]),
)
@settings(max_examples=60)
def test_bits_add_up_place_by_place(cohorts: int, rows: int, width: int, seed: int, skew: int) -> None:
    rng = np.random.default_rng(seed)
    packed = rng.integers(0, 256, (rows, width)).astype(np.uint8) | rng.integers(0, 2, (rows, 1)).astype(np.uint8) * 255
    of = rng.integers(0, cohorts, rows) // skew
    expected = np.zeros((cohorts, 8 * width), int)
    np.add.at(expected, of, np.unpackbits(packed, axis=1, bitorder="little").astype(int))
    counts, reports = count_bits(of, packed, cohorts, 8 * width)
    assert counts.tolist() == expected.tolist()
    assert reports.tolist() == np.bincount(of, minlength=cohorts).tolist()


def test_bits_in_full_groups_of_full_lines() -> None:
    """All ones, in as many rows as one block of counters can hold and around it: every counter is full."""
    for rows in (1, 2, 254, 255, 256, 511, 2**17, 2**17 + 1):
        packed = np.full((rows, 16), 255, np.uint8)
        assert count_bits(np.zeros(rows, np.uint8), packed, 1, 128)[0].tolist() == [[rows] * 128]
        assert count_bits(np.arange(rows) % 2, packed, 2, 128)[0].tolist() == [[-(-rows // 2)] * 128, [rows // 2] * 128]


def test_large_tallies_count_like_small_ones() -> None:
    rng = np.random.default_rng(3)
    cohorts, cells = rng.integers(0, 1024, 200_000).astype(np.uint16), rng.integers(0, 128, 200_000).astype(np.uint16)
    counts, reports = count_cells(cohorts, cells, 1024, 128)
    expected = np.bincount(cohorts.astype(np.int64) * 128 + cells, minlength=1024 * 128)
    assert np.array_equal(counts.ravel(), expected)
    assert np.array_equal(reports, np.bincount(cohorts, minlength=1024))


def test_bit_reports_in_text_and_tables_are_the_same(tmp_path: Path) -> None:
    table = dn.privatize(BITS, [0, 1, 2, 3, 4] * 30).to_arrow()
    tallies = [count_files(BITS, write_rows(table, tmp_path / f"r.{suffix}")) for suffix in ("csv", "jsonl", "arrow")]
    assert tallies == [(dn.count(BITS, table), {})] * 3
