"""The serving part of `make bench`: it ends when something is missing or fails, and says what."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("part", [[], ["--only", "serving"]])
def test_without_wrk_it_says_so_and_ends_before_anything_is_measured(tmp_path: Path, part: list[str]) -> None:
    command = [sys.executable, "-m", "benchmarks", *part, "--json", str(tmp_path / "bench.json")]
    names = os.environ | {"PATH": str(tmp_path)}
    done = subprocess.run(command, env=names, capture_output=True, text=True, timeout=600)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == "benchmarks: wrk must be installed for the load: apt-get install wrk\n"


def test_the_reference_server_ends_with_whoever_failed() -> None:
    """Leaving its block waits for the process, which nobody had ended: that was for ever."""
    code = "from benchmarks import serving\nwith serving.empty():\n    raise SystemExit(3)"
    assert subprocess.run([sys.executable, "-c", code], timeout=600).returncode == 3
