"""`deniable reproduce` on small tasks: what it prints, what it refuses, and what is left when it is stopped."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

import deniable.reproduce
from deniable.cli import main
from deniable.cli.progress import Reporter
from deniable.reproduce.cache import ResultCache
from deniable.reproduce.claims import Claim
from tests.tasks import Draw, Fail, claim, stand_ins
from tests.waiting import PATIENCE, wait_for

ROOT = Path(__file__).parents[3]
CLAIMS = [
    claim("holds"),
    claim("holds", id="c2"),
    claim("holds except", id="c3", sentence="It always rains. " * 12, exceptions="on Sundays"),
    claim("does not hold", id="c4"),
]


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture(autouse=True)
def _with_stand_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, [Draw(("a", "b")), Draw(("c",))])


def use(monkeypatch: pytest.MonkeyPatch, tasks: Sequence[Draw], claims: Sequence[Claim] = CLAIMS) -> None:
    for name, module in stand_ins(tasks, claims).items():
        monkeypatch.setitem(sys.modules, name, module)
        monkeypatch.setattr(deniable.reproduce, name.rpartition(".")[2], module, raising=False)


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    assert main(["reproduce", "--processes", "1", *argv]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def refused(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    assert main(["reproduce", "--processes", "1", *argv]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return captured.err.removeprefix("deniable: ").rstrip("\n")


def test_the_summary_says_what_was_done_and_where_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    first, second = (run(capsys).splitlines() for _ in range(2))
    assert first[0] == second[0] == f"3 figures in {Path('reproduction', 'index.html')}"
    assert first[1] == "4 claims: 2 hold, 1 holds except in places, 1 does not hold"
    assert re.match(r"3 results computed in this run, 0 in earlier ones; \d s on 1 process; ", first[2])
    assert second[2].startswith("0 results computed in this run, 3 in earlier ones; ")
    assert re.search(r"; CPU time \d s for all results$", second[2])
    assert first[3] == "This was a quick run: --full repeats everything as often as the paper."
    assert sorted(path.name for path in Path("reproduction").iterdir()) == ["cells.sqlite", "index.html"]


def test_a_full_run_uses_what_a_quick_one_has_found(capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys)
    out = run(capsys, "--full", "--exhaustive")
    assert "0 results computed in this run, 3 in earlier ones" in out
    assert "quick" not in out


def test_another_seed_gives_other_results(capsys: pytest.CaptureFixture[str]) -> None:
    pages = []
    for seed in ("0", "1", "0"):
        run(capsys, "--seed", seed, "-o", "some/where")
        pages.append(Path("some/where/index.html").read_text())
    assert pages[0] == pages[2] != pages[1]


def test_claims_are_printed_and_nothing_is_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    out = run(capsys, "--claims")
    assert out.startswith("holds          It rains. (4.4, c1)\n               3 of 4 days\n\nholds ")
    assert "\n               except: on Sundays\n" in out
    assert out.endswith("\n\n4 claims: 2 hold, 1 holds except in places, 1 does not hold\n")
    assert max(map(len, out.splitlines())) <= 100
    assert not Path("reproduction", "index.html").exists()


def test_json_is_nothing_but_json(capsys: pytest.CaptureFixture[str]) -> None:
    result = json.loads(run(capsys, "--json", "--figure", "decoders"))
    assert result["figures"] == ["decoders"]
    assert result["files"] == ["reproduction/index.html"]
    assert result["claims"][2]["exceptions"] == "on Sundays"
    assert [told["verdict"] for told in result["claims"]] == ["holds", "holds", "holds except", "does not hold"]
    assert result["facts"]["run"] == "quick"
    assert json.loads(run(capsys, "--json", "--claims"))["files"] == []


def test_figures_are_named_with_commas_or_one_by_one_and_come_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    for argv in (["--figure", "l2_decoders,decoders"], ["--figure", "l2_decoders", "--figure", " decoders"]):
        assert json.loads(run(capsys, "--json", *argv))["figures"] == ["decoders", "l2_decoders"]


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["--figure", "decodrs"], "there is no figure 'decodrs'; did you mean decoders or l2_decoders?"),
        (["--figure", "decoders,"], "there is no figure ''; there are decoders, l2_decoders, krr_vs_rappor"),
        (["--figure", "7"], "there is no figure '7'; there are decoders, l2_decoders, krr_vs_rappor"),
        (["--processes", "0"], "--processes must be at least 1, got 0; see `deniable reproduce --help`"),
        (["--seed", "x"], "--seed must be a whole number, got 'x'; see `deniable reproduce --help`"),
        (["-o", "/dev/null/x"], "/dev/null/x cannot be written: not a directory"),
    ],
)
def test_bad_arguments_are_refused_before_any_work(
    capsys: pytest.CaptureFixture[str], argv: list[str], sentence: str
) -> None:
    assert refused(capsys, *argv) == sentence
    assert not Path("reproduction").exists()


def test_a_folder_in_use_and_a_store_that_is_none_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    path = Path("reproduction", "cells.sqlite")
    path.parent.mkdir()
    with ResultCache(path, seed=0):
        assert refused(capsys) == f"{path} is in use by another run; wait for it, or choose another folder"
    path.write_text("hello, world! " * 100)
    assert refused(capsys) == f"{path} is not a store of results; choose another folder"


def test_a_task_that_fails_is_named(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, [Fail(("some cell",))])
    said = "some cell failed: TallyMismatch: these do not fit; what was finished before is kept"
    assert refused(capsys) == said


def test_the_time_left_follows_from_the_part_that_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [90.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    monkeypatch.setenv("COLUMNS", "72")
    report = Reporter("starting", stream=io.StringIO())
    clock[0] = 100.0
    assert report.line(clock[0]) == "starting ... 10 s"
    said = []
    for now, what, done, total in (
        (100.0, "cells", 0.0, 40.0),
        (130.0, "cells", 1.0, 40.0),
        (160.0, "a stage with a long name", 30.0, 40.0),
        (160.0, "cells", 40.0, 40.0),
        (180.0, "drawing decoders", 0.0, 0.0),
    ):
        clock[0] = now
        report(what, done, total)
        said.append(report.line(now))
    assert said == [
        f"cells [{'.' * 30}] 0 %",
        f"cells [{'.' * 30}] 2 %, about 20 min left",
        f"a stage with a … [{'#' * 22}{'.' * 8}] 75 %, about 20 s left",
        f"cells [{'#' * 30}] 100 %",
        "drawing decoders ... 90 s",
    ]


needs_signals = pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL and process groups")


def begin(folder: Path, log: Path, *, quick: int = 30) -> "subprocess.Popen[str]":
    """The command with 30 tasks, in a process group of its own; all but the first `quick` of them sleep for an hour."""
    code = f"import tests.tasks; tests.tasks.command({str(folder)!r}, {str(log)!r}, 30, {quick})"
    return subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def begun(log: Path) -> int:
    return log.read_text().count("\n") if log.exists() else 0


def commits(folder: Path) -> int:
    """How many results are on disk, at least, by the size of SQLite's log: a running command locks the file itself."""
    log, head, frame, creation = folder / "cells.sqlite-wal", 32, 24 + 4096, 2
    return max(0, (log.stat().st_size - head) // frame - creation) if log.exists() else 0


def kept(folder: Path) -> set[str]:
    with ResultCache(folder / "cells.sqlite", seed=0) as store:
        return set(store.get_many(f"lot {i}" for i in range(30)))


@needs_signals
def test_a_run_that_was_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    folder, log = tmp_path / "killed", tmp_path / "log"
    # The first eight results come at once, the others never: it is killed in the middle on any machine.
    with begin(folder, log, quick=8) as process:
        wait_for(lambda: begun(log) >= 10 and commits(folder) >= 4, "ten tasks that began and four that were kept")
        process.kill()
        # The workers hold the pipe too: its end is only seen when the last of them has gone.
        process.communicate(timeout=PATIENCE)
    assert process.returncode == -signal.SIGKILL
    before = kept(folder)
    assert 4 <= len(before) <= 8
    log.unlink()
    with begin(folder, log) as process:
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (0, "")
    assert f"{30 - len(before)} results computed in this run, {len(before)} in earlier ones" in out
    again = log.read_text().splitlines()
    assert sorted(again) == sorted({f"lot {i}" for i in range(30)} - before)
    whole = tmp_path / "whole"
    with begin(whole, tmp_path / "log of the whole") as process:
        process.communicate(timeout=PATIENCE)
    assert (whole / "index.html").read_text() == (folder / "index.html").read_text()


@needs_signals
@pytest.mark.parametrize("started", [0, 6])
def test_ctrl_c_stops_the_workers_and_keeps_what_was_finished(tmp_path: Path, started: int) -> None:
    folder, log = tmp_path / "stopped", tmp_path / "log"
    # Whoever waits for tasks that sleep for an hour does not come back in time.
    finished = started // 2
    with begin(folder, log, quick=started) as process:
        wait_for(lambda: begun(log) > started and commits(folder) >= finished, "a task that sleeps")
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the workers too
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert out == ""
    sentence = f"deniable: what was finished is kept in {folder}; the same command goes on from there\n"
    assert re.sub("\r.*\r", "", err) == sentence + "deniable: interrupted\n"
    assert len(kept(folder)) >= finished
