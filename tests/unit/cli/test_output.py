"""Every output of every command, on everything that can be written to: one rule, and nothing that is destroyed."""

import argparse
import contextlib
import io
import os
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pytest

import deniable as dn
from deniable.charts import FORMATS, estimate_chart, save_chart
from deniable.cli import build_parser, main, output
from deniable.service.entries import Rules, Upload
from deniable.service.sqlite import SQLiteStore
from deniable.survey import output_file, write_atomically
from tests.collector import one_cell_each, records
from tests.docs.test_cli_docs import parsers
from tests.waiting import PATIENCE

STORED = one_cell_each(256)
NOBODY = 65534

# What writes one file, by (command, argument): its arguments, with {} for the path, and how its output begins.
CASES: dict[tuple[str, str], tuple[str, bytes]] = {
    ("demo", "chart"): ("demo --people 100 --chart {} --chart-format json", b"{"),
    ("plan", "output"): ("plan --symbols 2 --n 1000 --epsilon 1 -o {}", b"{"),
    ("plan", "chart"): ("plan --symbols 2 --n 1000 --epsilon 1 --chart {} --chart-format json", b"{"),
    ("survey new", "output"): ("survey new --mechanism warner --epsilon 1 -o {}", b"{"),
    ("survey form", "output"): ("survey form a=s.json b=s.json --epsilon 1 -o {}", b"{"),
    ("privatize", "output"): (
        "privatize data.csv --column answer --survey s.json -o {} --output-format csv",
        b"cohort,response\n",
    ),
    ("count", "output"): ("count reports.csv --survey s.json -o {}", b"deniable-tally"),
    ("decode", "chart"): ("decode day.tally --chart {} --chart-format json", b"{"),
    ("discover", "chart"): ("discover texts.tally --alphabet ab --chart {} --chart-format json", b"{"),
    ("crosstab", "chart"): ("crosstab --group a=day.tally --group b=next.tally --chart {} --chart-format json", b"{"),
    ("track", "chart"): ("track day.tally next.tally --chart {} --chart-format json", b"{"),
    ("simulate", "output"): ("simulate s.json --n 100 -o {}", b"deniable-tally"),
    ("simulate", "chart"): ("simulate s.json --n 100 --repeats 2 --chart {} --chart-format json", b"{"),
    ("store backup", "file"): ("store backup store {}", b"SQLite format 3"),
    ("store export", "output"): (f"store export store {STORED.digest[:8]} -o {{}}", b"deniable-tally"),
}
FOLDERS = {("demo", "output"), ("reproduce", "output")}
READ = {
    ("privatize", "files"),
    ("count", "files"),
    ("store restore", "file"),
    ("survey register", "file"),
    ("survey new", "matrix"),
    ("regress", "data"),
    ("plan", "form"),
    ("plan", "survey"),
}
KEPT = {("discover", "state")}  # read first: another file than its own is refused, never replaced (test_discover.py)

each = pytest.mark.parametrize(("command", "start"), CASES.values(), ids=[f"{a} {b}" for a, b in CASES])


@pytest.fixture(autouse=True, scope="module")
def _things_to_work_on() -> Iterator[None]:
    """In a folder that everybody may enter, for the test that is nobody."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        os.chdir(folder)
        survey = dn.warner(epsilon=1)
        survey.save("s.json")
        Path("data.csv").write_text("answer\nno\nyes\n")
        Path("reports.csv").write_text("cohort,response\n0,1\n0,0\n")
        dn.Tally(survey, [[60, 40]]).save("day.tally")
        dn.Tally(survey, [[50, 50]]).save("next.tally")
        texts = dn.discovery(epsilon=8, length=2, cohorts=64, seed=bytes(16))
        dn.simulate(texts, [0.6, 0.4], 20_000, np.random.default_rng(0), symbols=["ab", "b"]).save("texts.tally")
        store = SQLiteStore("store")
        entry, _ = store.create(STORED, Rules())
        store.write([Upload(entry, records(STORED, range(9)))], hours=480_000)
        store.close()
        yield
        os.chdir(before)


@pytest.fixture
def place() -> Iterator[Path]:
    """An empty folder beside them."""
    folder = Path("here")
    folder.mkdir()
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)
    for made in ("out", "survey.json"):
        shutil.rmtree(made, ignore_errors=True)
        Path(made).unlink(missing_ok=True)


def run(command: str, path: object, *more: str) -> int:
    return main([*(str(path) if part == "{}" else part for part in command.split()), *more])


def refused(capsys: pytest.CaptureFixture[str], command: str, path: object, *more: str) -> str:
    capsys.readouterr()
    assert run(command, path, *more) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return captured.err.removeprefix("deniable: ").rstrip("\n")


def test_these_are_all_outputs() -> None:
    """An option or argument that names a file writes it, unless it is a `--something-file` or listed as read."""
    named, told = set(), set()
    for parser in parsers(build_parser()):
        command = parser.prog.removeprefix("deniable").strip()
        outputs = parser.get_default("outputs") or {}
        told |= {(command, name) for name in outputs}
        for action in parser._actions:
            to_read = action.option_strings and action.option_strings[-1].endswith("-file")
            if action.metavar in ("FILE", "PATH", "FOLDER", "DIR") and not to_read:
                named.add((command, action.dest))
            assert ("-o" in action.option_strings) == ("--output" in action.option_strings)
        assert ("force" in {action.dest for action in parser._actions}) == bool(outputs), command
    assert named == told | FOLDERS | READ | KEPT
    assert told == set(CASES)
    assert FORMATS == output.CHARTS


@each
def test_a_new_file(place: Path, command: str, start: bytes) -> None:
    assert run(command, place / "new") == 0
    assert (place / "new").read_bytes().startswith(start)
    assert os.listdir(place) == ["new"], "nothing temporary is left"


@each
def test_a_file_that_exists_is_replaced_with_force_alone(
    place: Path, command: str, start: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    file = place / "old"
    file.write_text("what was there")
    file.chmod(0o640)
    inode = file.stat().st_ino
    assert refused(capsys, command, file) == f"{file} exists already; name another file, or replace it with --force"
    assert file.read_text() == "what was there"
    assert run(command, file, "--force") == 0
    assert file.read_bytes().startswith(start)
    assert file.stat().st_ino != inode, "renamed into its place, not cut and written"
    assert stat.S_IMODE(file.stat().st_mode) == (0o600 if "backup" in command else 0o640)
    assert os.listdir(place) == ["old"]


@each
def test_a_link_stays_and_what_it_points_to_is_written(
    place: Path, command: str, start: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "elsewhere").mkdir()
    target, link = place / "elsewhere" / "target", place / "link"
    link.symlink_to("elsewhere/target")
    assert run(command, link) == 0, "a link to nothing: its target is made"
    assert link.is_symlink()
    assert target.read_bytes().startswith(start)
    target.write_text("what was there")
    assert refused(capsys, command, link) == f"{link} exists already; name another file, or replace it with --force"
    assert target.read_text() == "what was there"
    assert run(command, link, "--force") == 0
    assert link.is_symlink()
    assert target.read_bytes().startswith(start)
    assert os.listdir(place / "elsewhere") == ["target"]


def reading(open_it: Callable[[], contextlib.AbstractContextManager[BinaryIO]]) -> tuple[threading.Thread, list[bytes]]:
    """A thread that reads to the end."""
    found: list[bytes] = []

    def work() -> None:
        with open_it() as file:
            found.append(file.read())

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread, found


@contextlib.contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    with open(path, "rb") as file:
        yield file


@each
def test_a_pipe_is_written_through(place: Path, command: str, start: bytes) -> None:
    os.mkfifo(place / "pipe")
    thread, found = reading(partial(opened, place / "pipe"))
    assert run(command, place / "pipe") == 0
    thread.join(PATIENCE)
    assert found[0].startswith(start)
    assert stat.S_ISFIFO(os.stat(place / "pipe").st_mode)
    assert os.listdir(place) == ["pipe"]


@contextlib.contextmanager
def accepted(server: socket.socket) -> Iterator[BinaryIO]:
    with server.accept()[0] as connection, connection.makefile("rb") as file:
        yield file


@each
def test_a_socket_is_written_through(place: Path, command: str, start: bytes) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(place / "socket"))
        server.listen()
        thread, found = reading(partial(accepted, server))
        assert run(command, place / "socket") == 0
        thread.join(PATIENCE)
    assert found[0].startswith(start)
    assert stat.S_ISSOCK(os.stat(place / "socket").st_mode)


@each
def test_devices_are_written_through(
    place: Path, command: str, start: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(command, "/dev/null") == 0
    (place / "link").symlink_to("/dev/full")
    for path in ("/dev/full", str(place / "link")):
        assert refused(capsys, command, path) in (
            f"{path} cannot be written: no space left on device",
            f"{path} cannot be written or read: no space left on device",
        )
    for device in ("/dev/null", "/dev/full"):
        assert stat.S_ISCHR(os.stat(device).st_mode)
    assert (place / "link").is_symlink()


@each
@pytest.mark.parametrize("path", ["-", "/dev/stdout", "link"])
def test_standard_output_gets_the_output_and_nothing_else(
    place: Path, command: str, start: bytes, path: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    if path == "link":
        path = str(place / "link")
        (place / "link").symlink_to("/dev/stdout")
    assert run(command, path) == 0
    captured = capfdbinary.readouterr()
    assert captured.out.startswith(start)
    assert b"wrote" not in captured.out
    assert captured.err.count(b"\n") > 0, "what the command says"
    assert not Path("-").exists()
    assert run(command, place / "file") == 0
    written = (place / "file").read_bytes()
    if "privatize" not in command and "demo" not in command:  # which are random
        assert captured.out[:200] == written[:200]
        assert len(captured.out) == len(written)


@each
def test_folders_are_refused(place: Path, command: str, start: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(capsys, command, place) == f"{place} must be a file, got a folder; name a file in it"
    assert refused(capsys, command, place / "no" / "x") == (
        f"{place / 'no' / 'x'} cannot be written: no such file or directory"
    )
    assert os.listdir(place) == []


@each
def test_a_folder_that_may_not_be_written_is_told_before_the_work(
    place: Path, command: str, start: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    place.chmod(0o555)
    with unprivileged():
        assert refused(capsys, command, place / "x") == f"{place / 'x'} cannot be written: permission denied"


@contextlib.contextmanager
def unprivileged() -> Iterator[None]:
    """A block that is not the superuser's, whom no permission stops."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(before)


def test_a_redirected_dev_stdout_is_not_replaced(place: Path) -> None:
    """As in `deniable count ... -o /dev/stdout >> all`, and for the other descriptors that a shell opens."""
    command = f"{sys.executable} -m deniable count reports.csv --survey s.json"
    for number, path in ((1, "/dev/stdout"), (5, "/dev/fd/5")):
        (place / "all").write_bytes(b"before\n")
        shell = f"exec {number}>>{place}/all; {command} -o {path}"
        done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert (place / "all").read_bytes().startswith(b"before\ndeniable-tally")
        assert (done.stderr if number == 1 else done.stdout).startswith(f"wrote {path}: <Tally")


class Terminal(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("command", "flag"),
    [
        ("count reports.csv --survey s.json -o {}", "-o"),
        ("privatize data.csv --column answer --survey s.json -o {} --output-format parquet", "-o"),
        ("decode day.tally --chart {} --chart-format png", "--chart"),
        ("store backup store {}", "FILE"),
    ],
)
def test_no_binary_on_a_terminal(
    command: str, flag: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = Terminal(io.BytesIO())
    monkeypatch.setattr(sys, "stdout", screen)
    assert run(command, "-") == 2
    assert capsys.readouterr().err == (
        f"deniable: {flag} must not be a terminal for this format, got -; redirect it or name a file\n"
    )
    assert screen.buffer.getvalue() == b""  # type: ignore[attr-defined]


@pytest.mark.parametrize(("command", "start"), [CASES["survey new", "output"], CASES["privatize", "output"]])
def test_text_on_a_terminal(command: str, start: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal(io.BytesIO())
    monkeypatch.setattr(sys, "stdout", screen)
    assert run(command, "-") == 0
    assert screen.buffer.getvalue().startswith(start)  # type: ignore[attr-defined]


def test_two_outputs_are_not_mixed(capsys: pytest.CaptureFixture[str]) -> None:
    command = "plan --symbols 2 --n 1000 --epsilon 1 -o {} --chart /dev/stdout --chart-format svg"
    assert refused(capsys, command, "-") == (
        "-o and --chart must not both be standard output; name a file for one of them"
    )


def test_a_name_without_a_format(capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(capsys, "decode day.tally --chart {}", "-") == (
        "--chart must end in .svg, .png, .html or .json, got none; name the file for its format, or give --chart-format"
    )
    assert refused(capsys, "privatize data.csv --column answer --survey s.json -o {}", "-") == (
        "- must end in .parquet, .arrow, .csv or .jsonl (the last two also with .gz or .zst), so that the format is "
        "known; or name it with --output-format"
    )


@pytest.mark.parametrize("kind", ["parquet", "arrow", "csv", "jsonl"])
def test_reports_in_every_format_go_through_a_pipe(place: Path, kind: str) -> None:
    os.mkfifo(place / "pipe")
    thread, found = reading(partial(opened, place / "pipe"))
    command = f"privatize data.csv --column answer --survey s.json -o {{}} --output-format {kind}"
    assert run(command, place / "pipe") == 0
    thread.join(PATIENCE)
    (place / f"r.{kind}").write_bytes(found[0])
    assert dn.count(dn.Survey.load("s.json"), place / f"r.{kind}").n == 2


@pytest.mark.parametrize("kind", FORMATS)
def test_charts_in_every_format_go_to_standard_output(kind: str, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run(f"decode day.tally --chart {{}} --chart-format {kind}", "-") == 0
    start = {"svg": b"<svg", "png": b"\x89PNG", "html": b"<!DOCTYPE html>", "json": b"{"}[kind]
    captured = capfdbinary.readouterr()
    assert captured.out.startswith(start)
    assert b"symbol" in captured.err, "the table"


def test_strict_writes_nothing_into_a_pipe_either(place: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    (place / "data.csv").write_text("answer\n" + 100_000 * "no\n" + "perhaps\n")
    command = f"privatize {place}/data.csv --column answer --survey s.json -o {{}} --output-format csv --strict"
    assert run(command, "-") == 2
    captured = capfdbinary.readouterr()
    assert captured.out == b""
    assert b"rows must all hold an answer" in captured.err


def test_a_reader_that_leaves_is_no_error(place: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "deniable", "count", "reports.csv", "--survey", "s.json", "-o", "-"]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert done.returncode == 141


@pytest.mark.parametrize("thing", ["survey", "tally", "chart"])
def test_the_library_writes_through_too(place: Path, thing: str) -> None:
    survey = dn.warner(epsilon=1)
    save: Callable[[Path], None] = {
        "survey": survey.save,
        "tally": dn.Tally(survey).save,
        "chart": lambda path: save_chart(estimate_chart(["no"], [1.0], [[0.9, 1.0]]), path),
    }[thing]
    os.mkfifo(place / "pipe.json")
    thread, found = reading(partial(opened, place / "pipe.json"))
    save(place / "pipe.json")
    thread.join(PATIENCE)
    assert stat.S_ISFIFO(os.stat(place / "pipe.json").st_mode)
    (place / "link.json").symlink_to("target.json")
    for _ in range(2):  # made, and replaced
        save(place / "link.json")
    assert (place / "link.json").is_symlink()
    assert (place / "target.json").read_bytes() == found[0]
    (place / "full.json").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left on device") as caught:
        save(place / "full.json")
    assert caught.value.filename == str(place / "full.json")
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)


def test_a_plain_file_has_the_mode_that_the_umask_leaves(place: Path) -> None:
    before = os.umask(0o077)
    try:
        write_atomically(place / "private", b"")
        os.umask(0o022)
        write_atomically(place / "public", b"")
        write_atomically(place / "private", b"again")
    finally:
        os.umask(before)
    assert [stat.S_IMODE((place / name).stat().st_mode) for name in ("private", "public")] == [0o600, 0o644]


def test_a_file_that_came_just_now_is_kept(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def late(file: Path) -> None:
        with output_file(file, replace=False) as out:
            out.write(b"ours")
            file.write_text("theirs")

    for name in ("one", "two"):
        with pytest.raises(FileExistsError) as caught:
            late(place / name)
        assert caught.value.filename == str(place / name)
        assert (place / name).read_text() == "theirs"
        monkeypatch.setattr(os, "link", no_links)  # as on FAT
    write_atomically(place / "three", b"ours", replace=False)
    assert sorted(os.listdir(place)) == ["one", "three", "two"]


def no_links(source: str, target: str) -> None:
    raise PermissionError(1, "Operation not permitted", source)


def test_links_that_lead_nowhere(place: Path) -> None:
    (place / "loop").symlink_to("loop")
    with pytest.raises(OSError, match="Too many levels of symbolic links"):
        write_atomically(place / "loop", b"")
    with pytest.raises(IsADirectoryError):
        write_atomically(place, b"")


def test_arguments_of_outputs_are_plain(capsys: pytest.CaptureFixture[str]) -> None:
    """`prepared` leaves a command without outputs alone."""
    with output.prepared(argparse.Namespace()):
        print("said")
    assert capsys.readouterr().out == "said\n"
