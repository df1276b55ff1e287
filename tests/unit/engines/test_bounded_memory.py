"""Rows are a matter of time, not of memory: a hundred times the rows take hardly more of it."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import deniable as dn

ROWS = 20_000_000
SURVEY = dn.orr(epsilon=4, cells=128, cohorts=1024, seed=bytes(16))

COUNT = """
import json, resource, sys
import deniable as dn
from deniable.engines import count_files
tally, refused = count_files(dn.Survey.load(sys.argv[1]), sys.argv[2])
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
print(json.dumps({"n": tally.n, "refused": refused, "peak": peak}))
"""


def counted(folder: Path, path: Path) -> dict[str, int]:
    """What a process of its own counts, and the most memory it held, in MiB."""
    command = [sys.executable, "-c", COUNT, str(folder / "survey.json"), str(path)]
    found: dict[str, int] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_memory_does_not_grow_with_the_rows(suffix: str, tmp_path: Path) -> None:
    """One row group of 20 million rows is 80 MB of columns; reading it whole would show."""
    SURVEY.save(tmp_path / "survey.json")
    rows = ROWS if suffix == "parquet" else ROWS // 10
    rng = np.random.default_rng(0)
    table = pa.table(
        {
            "cohort": rng.integers(0, 1024, rows).astype(np.uint16),
            "response": rng.integers(0, 128, rows).astype(np.uint16),
        }
    )
    few, many = tmp_path / f"few.{suffix}", tmp_path / f"many.{suffix}"
    for path, part in ((few, table.slice(0, rows // 100)), (many, table)):
        if suffix == "parquet":
            pq.write_table(part, path, row_group_size=rows, use_dictionary=False, compression="none")
        else:
            pa.csv.write_csv(part, path)
    del table
    small, large = counted(tmp_path, few), counted(tmp_path, many)
    assert (small["n"], large["n"]) == (rows // 100, rows)
    assert large["peak"] - small["peak"] < 48, (small, large)
