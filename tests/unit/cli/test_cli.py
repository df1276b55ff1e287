"""The command line as a whole: help, exit codes, one sentence for what is wrong, and the demo."""

import errno
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import deniable as dn
from deniable import cli
from deniable.cli import main

COMMANDS = [
    [],
    ["demo"],
    ["plan"],
    ["survey"],
    ["survey", "new"],
    ["survey", "show"],
    ["survey", "notice"],
    ["survey", "sql"],
    ["privatize"],
    ["count"],
    ["decode"],
    ["simulate"],
    ["reproduce"],
]


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def refused(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    """The one sentence that a command ends with."""
    assert main(argv) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("deniable: ")
    assert captured.err.count("\n") == 1
    return captured.err.removeprefix("deniable: ").rstrip("\n")


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_is_printed(capsys: pytest.CaptureFixture[str], command: list[str]) -> None:
    assert main([*command, "--help"]) == 0
    assert capsys.readouterr().out.startswith(" ".join(["usage: deniable", *command]))


@pytest.mark.parametrize("command", [[], ["survey"]])
def test_without_arguments_the_help_is_printed(capsys: pytest.CaptureFixture[str], command: list[str]) -> None:
    assert main(command) == 0
    assert capsys.readouterr().out.startswith("usage: deniable")


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"deniable {dn.__version__}\n"


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_loads_nothing_heavy(command: list[str]) -> None:
    """What makes it answer at once; `make bench` has the time."""
    code = "import sys; from deniable.cli import main; main(sys.argv[1:]); print(*sys.modules, file=sys.stderr)"
    argv = [sys.executable, "-c", code, *command, "--help"]
    loaded = set(subprocess.run(argv, check=True, capture_output=True, text=True).stderr.split())
    assert "deniable.cli" in loaded
    assert not loaded & {"numpy", "scipy", "pyarrow", "altair", "uvicorn", "asyncio", "http.client", "multiprocessing"}


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["nosuch"], "there is no command 'nosuch'; see `deniable --help`"),
        (["survey", "nosuch"], "there is no action 'nosuch'; see `deniable survey --help`"),
        (["--nosuch"], "unrecognized arguments: --nosuch; see `deniable --help`"),
        (["decode"], "the following arguments are required: TALLY; see `deniable decode --help`"),
        (["demo", "--people", "5"], "--people must be at least 100, got 5; see `deniable demo --help`"),
        (["demo", "--people", "1.5"], "--people must be a whole number, got '1.5'; see `deniable demo --help`"),
        (["demo", "--people", "1e9"], "--people must be at most 100000000, got 1e9; see `deniable demo --help`"),
        (
            ["demo", "--epsilon", "two"],
            "epsilon must be a positive finite number, decimal text or a fraction, got 'two'",
        ),
        (
            ["demo", "--chart", "x.docx"],
            "--chart must end in .svg, .png, .html or .json, got '.docx'; name the file for its format, "
            "or give --chart-format",
        ),
        (
            ["demo", "--chart", "x.svg", "--no-chart"],
            "argument --no-chart: not allowed with argument --chart; see `deniable demo --help`",
        ),
        (["demo", "-o", "/dev/null/x"], "/dev/null/x cannot be written: not a directory"),
        (["demo", "--out", "/dev/null"], "-o must be a folder, got /dev/null; several files are written into it"),
        (["reproduce", "-o", "-"], "-o must be a folder, got standard output; several files are written into it"),
    ],
)
def test_bad_arguments_end_with_one_sentence(
    capsys: pytest.CaptureFixture[str], argv: list[str], sentence: str
) -> None:
    assert refused(capsys, *argv) == sentence


def test_the_demo_tells_the_whole_story(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["demo", "--people", "20000"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "any report is at most 7.4 times likelier than under another answer." in out
    assert "The true answer is sent with probability 40 %, each of the 11 others with probability 5.4 %." in out
    assert "10 bytes left it" in out
    assert "intervals hold the truth" in out
    assert all(answer in out for answer in cli.demo.ANSWERS)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"demo.survey.json", "demo.tally", "demo.svg"}


def test_the_demo_suggests_commands_that_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--people", "1000", "--no-chart"]) == 0
    lines = capsys.readouterr().out.partition("Next:\n")[2].splitlines()
    suggested = [line.split("deniable ", 1)[1].split() for line in lines if "deniable " in line]
    assert len(suggested) == 6
    assert suggested.pop() == ["serve", "--demo"]  # runs until it is stopped; tests/unit/cli/test_serve.py starts it
    for argv in suggested:
        assert main([*argv, "--repeats", "2"] if argv[0] == "simulate" else argv) == 0


def test_what_fewer_people_would_give_is_the_same_table_at_fewer_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--people", "20000", "--epsilon", "3", "--no-chart"]) == 0
    lines = capsys.readouterr().out.splitlines()
    (line,) = [line for line in lines if line.strip().startswith("what fewer people would give")]
    argv = line.split("deniable ")[1].split()
    assert argv == ["demo", "--people", "200", "--epsilon", "3", "-o", "out/fewer"]
    assert main(argv) == 0
    fewer = capsys.readouterr().out.splitlines()
    assert fewer[2].startswith("200 simulated people answered")
    # Of 200 people 1.6 named the tax office, to within 4 or so: its interval reaches below zero, where it is cut.
    limits = [tuple(map(float, found)) for found in re.findall(r"(-?[0-9.]+) to (-?[0-9.]+) %", "\n".join(fewer))]
    assert len(limits) == len(cli.demo.ANSWERS)
    assert all(0 <= low < high <= 100 for low, high in limits)
    assert min(low for low, _ in limits) == 0
    names = [line.split("  ")[0] for line in lines if line.endswith(("█", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "truth)"))]
    assert [line.split("  ")[0] for line in fewer if line.split("  ")[0] in cli.demo.ANSWERS] == names
    assert len(names) == len(cli.demo.ANSWERS)
    assert dn.Tally.load("out/demo.tally").n == 20_000
    assert dn.Tally.load("out/fewer/demo.tally").n == 200


def test_the_demo_as_json_is_nothing_but_json_and_covers_the_truth(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--people", "50000", "--epsilon", "3", "--json", "--chart", "demo.json"]) == 0
    captured = capsys.readouterr()
    result = json.loads(captured.out)
    assert captured.err == ""
    assert result["people"] == 50_000
    assert result["epsilon_spent"] <= 3
    assert abs(sum(e["truth"] for e in result["estimates"]) - 1) < 1e-9
    # Twelve intervals of level 0.95: eight or more misses have probability below 1e-7.
    assert sum(e["raw_low"] <= e["truth"] <= e["raw_high"] for e in result["estimates"]) >= 5
    assert json.loads(Path("demo.json").read_text())["layer"]
    assert dn.Tally.load(result["files"]["tally"]).n == 50_000


@pytest.mark.parametrize("n", [100, 101, 999, 12_345])
def test_the_demo_asks_exactly_as_many_people_as_it_says(n: int) -> None:
    assert sum(cli.demo._people(n)) == n


def test_a_full_disk_is_a_sentence(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    found = refused(capsys, "survey", "new", "--mechanism", "warner", "--epsilon", "1")
    assert found == "survey.json cannot be written: no space left on device"
    assert os.listdir() == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["--help"], "output cannot be written or read: no space left on device"),
        (
            ["survey", "new", "--mechanism", "warner", "--epsilon", "1", "-o", "-"],
            "standard output cannot be written: no space left on device",
        ),
    ],
)
def test_output_that_cannot_be_written_is_a_sentence(argv: list[str], sentence: str) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "deniable", *argv], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 2
    assert done.stderr == f"deniable: {sentence}\n"


def test_a_reader_that_leaves_is_no_error() -> None:
    """As in `deniable --help | head -0`."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "deniable", "--help"], stdout=writer, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writer)
    assert done.returncode == 128 + signal.SIGPIPE
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("problem", "status", "sentence"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (MemoryError(), 2, "this does not fit into memory; use fewer people, symbols, cells or cohorts"),
        (PermissionError(13, "Permission denied", "x"), 2, "x cannot be written or read: permission denied"),
    ],
)
def test_what_stops_a_command_is_a_sentence(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    problem: BaseException,
    status: int,
    sentence: str,
) -> None:
    def stop(argv: object) -> int:
        raise problem

    monkeypatch.setattr(cli, "_run", stop)
    assert main([]) == status
    assert capsys.readouterr().err == f"deniable: {sentence}\n"
