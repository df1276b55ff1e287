"""`deniable doctor`: what it says of this machine, and of one that is not fit."""

import json
import os
import subprocess
import time
from pathlib import Path

import pytest

import deniable as dn
from deniable.cli import doctor, main
from deniable.errors import EXTRAS

Capture = pytest.CaptureFixture[str]


def told(capsys: Capture) -> tuple[int, dict[str, dict[str, str]]]:
    status = main(["doctor", "--json"])
    said = json.loads(capsys.readouterr().out)
    assert said["fit"] == (status == 0)
    return status, {one["name"]: one for one in said["findings"]}


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_machine_that_is_fit(capsys: Capture, tmp_path: Path) -> None:
    status, found = told(capsys)
    assert status == 0
    assert {*EXTRAS, "python", "java", "node", "documentation", "randomness", "clock", "disk"} == set(found)
    assert found["analysis"]["state"] == "ok"
    assert f"deniable {dn.__version__}" in found["python"]["detail"]
    assert list(tmp_path.iterdir()) == [], "nothing is left behind"


def test_the_table_has_a_line_for_each_and_a_verdict(capsys: Capture) -> None:
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["part", "state", "detail"]
    assert lines[-1] == "fit to use"


def test_a_package_that_is_missing_is_no_fault_and_has_its_command(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "is_installed", lambda package: package not in ("scipy", "pyspark"))
    status, found = told(capsys)
    assert status == 0
    assert found["analysis"]["state"] == "missing"
    assert found["analysis"]["detail"] == "lacks scipy"
    assert found["analysis"]["advice"] == "pip install 'deniable[analysis]'"
    assert found["spark"]["detail"] == "lacks scipy, pyspark"
    assert found["charts"]["state"] == "ok"
    assert main(["doctor"]) == 0
    assert "analysis: pip install 'deniable[analysis]'\n" in capsys.readouterr().out


def test_a_program_that_is_missing_too_old_or_broken(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert {told(capsys)[1][name]["state"] for name in ("java", "node")} == {"missing"}
    for name, script in (("java", "echo 'openjdk version \"11.0.2\"' >&2"), ("node", "exit 3")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    status, found = told(capsys)
    assert status == 0
    assert found["java"]["detail"] == "Spark needs version 17 or newer, found 'openjdk version \"11.0.2\"'"
    assert found["node"]["state"] == "missing"


@pytest.mark.parametrize("drawn", [bytes(doctor.SAMPLE), bytes(range(16)) * (doctor.SAMPLE // 16)])
def test_randomness_that_repeats_itself_is_not_fit(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, drawn: bytes
) -> None:
    monkeypatch.setattr(os, "urandom", lambda size: drawn[:size])
    status, found = told(capsys)
    assert status == 1
    assert found["randomness"]["state"] == "bad"
    assert main(["doctor"]) == 1
    assert capsys.readouterr().out.endswith("not fit: see what is bad above\n")


def test_bits_that_lean_are_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """No block repeats, but six of ten bits are ones."""
    numbers = [n for n in range(1 << 16) if n.bit_count() == 10][: doctor.SAMPLE // 2]
    monkeypatch.setattr(os, "urandom", lambda size: b"".join(n.to_bytes(2, "big") for n in numbers))
    assert doctor._randomness().state == "bad"


def test_randomness_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(size: int) -> bytes:
        raise NotImplementedError("no source")

    monkeypatch.setattr(os, "urandom", none)
    assert doctor._randomness().detail == "the operating system gives none: no source"


def test_a_clock_before_the_release_is_not_fit(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: 86_400.0)
    status, found = told(capsys)
    assert status == 1
    assert found["clock"]["detail"] == "says 1970-01-02 00:00 UTC, before this version was made"


def test_a_disk_that_is_full_or_closed_is_not_fit(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "ROOM", 1 << 62)
    assert told(capsys)[1]["disk"]["advice"] == "make room: a collector needs about 1 GiB"

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.TemporaryDirectory", full)
    status, found = told(capsys)
    assert status == 1
    assert found["disk"]["detail"] == "this folder cannot be written: no space left on device"


def test_a_program_that_hangs_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    def hangs(*_: object, **__: object) -> None:
        raise subprocess.TimeoutExpired("java", 20)

    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr("subprocess.run", hangs)
    assert doctor._program("java", ["java"], 17, "Spark", "install it").detail == "does not run"
