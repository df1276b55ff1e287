"""`deniable serve` and `deniable store` on the command line: what they do, and how they refuse."""

import json
import os
import re
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import deniable as dn
from deniable.cli import main
from deniable.errors import MissingExtra, StoreError
from deniable.service import Options, open_store
from deniable.service.copies import backup, restore
from deniable.service.entries import Entry, Outcome, Rules, Upload
from deniable.service.server import admin_token, serve
from deniable.service.sqlite import FILE, SQLiteStore
from tests.cluster import Cluster
from tests.collector import ADMIN, counted, one_cell_each, records, serving

SURVEY = one_cell_each(1024)
NOW = 480_000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A store with twenty reports in two windows."""
    store = SQLiteStore(tmp_path / "store")
    entry, _ = store.create(SURVEY, Rules())
    for day in range(2):
        numbers = range(10 * day, 10 * day + 10)
        store.write([Upload(entry, records(SURVEY, numbers))], hours=NOW + 24 * day)
    store.close()
    return tmp_path


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(list(arguments)) == 2
    return capsys.readouterr().err


def test_a_backup_of_a_running_store_is_one_state_and_can_be_restored(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    running = SQLiteStore(folder / "store")
    entry = running.entries()[0]
    running.write([Upload(entry, records(SURVEY, range(20, 25)))], hours=NOW)
    assert main(["store", "backup", str(folder / "store"), str(folder / "copy")]) == 0
    running.write([Upload(entry, records(SURVEY, range(25, 30)))], hours=NOW)
    running.close()
    assert stat.S_IMODE(os.stat(folder / "copy").st_mode) == 0o600
    assert main(["store", "restore", str(folder / "copy"), str(folder / "again")]) == 0
    assert "restored" in capsys.readouterr().out
    again = SQLiteStore(folder / "again")
    assert counted(again.tally(entry)).tolist()[:30] == [1] * 25 + [0] * 5
    (outcome,) = again.write([Upload(entry, records(SURVEY, range(30)))], hours=NOW)
    assert isinstance(outcome, Outcome)
    assert (outcome.accepted, outcome.duplicate) == (5, 25), "clients that send again are counted once"
    again.close()


def shown(store: SQLiteStore, entry: Entry, hour: int) -> list[int]:
    """What readers see at an hour: the reports of each block."""
    store.show(entry, hour=hour)
    return [block.reports for block in store.blocks(entry)[2]]


def lost(folder: Path, days: list[range], *, rules: Rules, more: range) -> tuple[str, list[int]]:
    """A backup of a survey of so many reports a day, and what readers saw before the store was lost, with what came to
    the last of those days after the backup."""
    store = SQLiteStore(folder / "lost")
    entry, _ = store.create(SURVEY, rules)
    for day, numbers in enumerate(days):
        store.write([Upload(entry, records(SURVEY, numbers))], hours=NOW + 24 * day)
    backup(str(folder / "lost"), str(folder / "lost.sqlite"))
    if more:
        store.write([Upload(entry, records(SURVEY, more))], hours=NOW + 24 * (len(days) - 1))
    seen = shown(store, entry, NOW + 24 * len(days))
    store.close()
    return str(folder / "lost.sqlite"), seen


def test_what_a_backup_held_is_shown_with_the_minimum_of_new_reports(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A day of 199 reports at the backup and 200 when it was shown: without its one report that is lost, it would show
    which one that is."""
    file, seen = lost(folder, [range(199)], rules=Rules(minimum=100), more=range(199, 200))
    assert seen == [200]
    assert main(["store", "restore", file, str(folder / "new")]) == 0
    assert "; readers see 199 reports of it again with new ones\n" in capsys.readouterr().out
    store = SQLiteStore(folder / "new")
    entry = store.entries()[0]
    assert shown(store, entry, NOW + 24) == []
    store.write([Upload(entry, records(SURVEY, range(300, 399)))], hours=NOW + 24)
    assert shown(store, entry, NOW + 48) == []
    store.write([Upload(entry, records(SURVEY, range(399, 401)))], hours=NOW + 48)
    assert shown(store, entry, NOW + 72) == [300]
    store.write([Upload(entry, records(SURVEY, range(500, 600)))], hours=NOW + 72)
    assert shown(store, entry, NOW + 96) == [300, 100]
    assert list(store.check()) == []
    store.close()


def test_a_restored_store_that_is_purged_shows_no_single_report(folder: Path) -> None:
    """Nobody had asked before the backup; then blocks of 99 and 1 reports and of 100 were shown. Once retention has
    deleted the 99 alone, the one must not be shown with the 100."""
    days = [range(99), range(99, 100), range(100, 200)]
    file, seen = lost(folder, days, rules=Rules(minimum=100, retention=3), more=range(0))
    assert seen == [100, 100]
    restore(file, str(folder / "new"))
    store = SQLiteStore(folder / "new")
    entry = store.entries()[0]
    store.purge(today=NOW // 24 + 4)
    assert store.tally(entry).n == 101
    assert shown(store, entry, NOW + 96) == []
    store.write([Upload(entry, records(SURVEY, range(200, 300)))], hours=NOW + 96)
    assert shown(store, entry, NOW + 120) == [201]
    store.close()


def test_a_backup_to_which_nothing_was_added_shows_what_it_showed(folder: Path) -> None:
    file, seen = lost(folder, [range(99), range(99, 100), range(100, 200)], rules=Rules(minimum=100), more=range(0))
    assert main(["store", "restore", file, str(folder / "new"), "--complete"]) == 0
    store = SQLiteStore(folder / "new")
    assert shown(store, store.entries()[0], NOW + 72) == seen == [100, 100]
    store.end(SURVEY.digest)
    store.close()
    backup(str(folder / "new"), str(folder / "closed"))
    assert restore(str(folder / "closed"), str(folder / "newer")) == 0, "closed for good, it can have lost nothing"
    store = SQLiteStore(folder / "newer")
    assert shown(store, store.entries()[0], NOW) == seen
    store.close()


def test_backup_and_restore_refuse_what_would_destroy_something(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, copy = str(folder / "store"), str(folder / "copy")
    backup(store, copy)
    assert "copy exists already; name another file, or replace it with --force" in refused(
        capsys, "store", "backup", store, copy
    )
    with pytest.raises(FileExistsError):
        backup(store, copy)
    assert "must not be a store yet; restore into a new directory, then move it" in refused(
        capsys, "store", "restore", copy, store
    )
    assert "must be a backup file, got nothing there" in refused(capsys, "store", "restore", copy + "x", store)
    Path(copy).write_bytes(b"rubbish" * 1000)
    with pytest.raises(StoreError, match="must be a sound database: file is not a database; use an earlier backup"):
        restore(copy, str(folder / "new"))
    assert "must be a store, got no collector.sqlite in it" in refused(capsys, "store", "check", str(folder))


def test_a_damaged_copy_is_refused(folder: Path) -> None:
    backup(str(folder / "store"), str(folder / "copy"))
    data = bytearray((folder / "copy").read_bytes())
    for place in range(4096, len(data), 4096):
        data[place : place + 8] = os.urandom(8)
    (folder / "copy").write_bytes(data)
    with pytest.raises(StoreError, match=r"must be a sound database: .*; use an earlier backup"):
        restore(str(folder / "copy"), str(folder / "new"))


def test_check_says_what_is_wrong(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = str(folder / "store")
    assert main(["store", "check", store]) == 0
    assert "is sound: 1 surveys" in capsys.readouterr().out
    with sqlite3.connect(folder / "store" / FILE) as database:
        database.execute("UPDATE tally SET counters = '{\"accepted\": 9}'")
    database.close()
    said = refused(capsys, "store", "check", store)
    assert "counts must hold the 18 reports that were accepted, got 20" in said
    assert "must be sound, got 1 faults; restore a backup" in said


def test_export_writes_a_tally_that_decode_reads(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store, out = str(folder / "store"), str(folder / "day.tally")
    assert main(["store", "export", store, SURVEY.digest[:10], "-o", out]) == 0
    assert dn.Tally.load(out).n == 20
    assert main(["store", "export", store, SURVEY.digest, "-o", out, "--force", "--from", "2024-10-05"]) == 0
    assert dn.Tally.load(out).n == 10
    assert main(["store", "export", store, SURVEY.digest, "-o", out, "--force", "--to", "2024-10-05"]) == 0
    assert dn.Tally.load(out).n == 10
    capsys.readouterr()
    assert "DIGEST must name one survey of" in refused(capsys, "store", "export", store, "xyz", "-o", out, "--force")
    assert "a time must be like 2026-11-15" in refused(
        capsys, "store", "export", store, SURVEY.digest, "-o", out, "--force", "--from", "soon"
    )


def test_merge_adds_shards_once(folder: Path, cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    other = SQLiteStore(folder / "other")
    entry, _ = other.create(SURVEY, Rules())
    other.write([Upload(entry, records(SURVEY, range(100, 107)))], hours=NOW)
    other.close()
    address = cluster.fresh()
    for into, total in ((str(folder / "store"), 27), (address, 7)):
        for _ in range(2):
            assert main(["store", "merge", into, str(folder / "other")]) == 0
            assert "holds 7 reports of other stores" in capsys.readouterr().out
        found = open_store(into)
        assert found.tally(found.entries()[0]).n == total
        assert counted(found.tally(found.entries()[0])).max() == 1
        found.close()
    assert main(["store", "check", address]) == 0


def test_the_administrators_secret_is_made_once_and_kept_from_others(tmp_path: Path) -> None:
    options = Options(str(tmp_path))
    secret = admin_token(options)
    assert len(secret) == 64
    assert admin_token(options) == secret
    assert stat.S_IMODE(os.stat(tmp_path / "admin-token").st_mode) == 0o600
    with pytest.raises(
        StoreError, match="--admin-token-file must be given with PostgreSQL: a file that holds the secret"
    ):
        admin_token(Options("postgres://localhost/x"))
    (tmp_path / "short").write_text("abc\n")
    (tmp_path / "short").chmod(0o600)
    with pytest.raises(StoreError, match="admin token must have at least 16 characters, got 3"):
        admin_token(Options("postgres://localhost/x", admin_token_file=str(tmp_path / "short")))


def test_a_port_that_is_taken_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(str(tmp_path / "one"), tmp_path) as server:
        command = [sys.executable, "-m", "deniable", "serve", "--store", str(tmp_path / "two")]
        done = subprocess.run([*command, "--port", str(server.port)], capture_output=True, text=True)
        assert done.returncode == 2
        assert f"port must be free on 127.0.0.1, got {server.port}: address already in use" in done.stderr
        again = subprocess.run(server._command, capture_output=True, text=True)
        assert again.returncode == 2
        wanted = "must have one writing process, got a second; for several use PostgreSQL or a store each"
        assert wanted in again.stderr


def test_the_log_is_json_and_says_nothing_about_requests(tmp_path: Path) -> None:
    with serving(str(tmp_path / "store"), tmp_path) as server:
        server.create(SURVEY)
        path = f"/v1/surveys/{SURVEY.digest}/reports"
        for _ in range(3):
            server.ask("POST", path, records(SURVEY, [1]), kind="application/octet-stream", token=None)
            server.ask("GET", "/nowhere-in-particular")
        server.ask("POST", path, b"rubbish", kind="application/octet-stream")
        assert server.stop() == 0
        lines = [json.loads(line) for line in server.log().splitlines()]
    assert [line["event"] for line in lines] == ["listening", "created", "stopped"]
    assert ADMIN not in server.log()
    assert "nowhere" not in server.log()


def test_what_is_not_installed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(
        MissingExtra, match=r"uvicorn must be installed to run the collector, .* run pip install 'deniable\[serve\]'"
    ):
        serve(Options(str(tmp_path)))
    monkeypatch.setitem(sys.modules, "deniable.service.postgres", None)
    libpq = "psycopg must find PostgreSQL's library, libpq, and did not; run pip install 'deniable[postgres]'"
    with pytest.raises(MissingExtra, match=re.escape(libpq)):
        open_store("postgres://localhost/x")
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(
        MissingExtra, match=r"psycopg must be installed to open a PostgreSQL store, .* install 'deniable\[postgres\]'"
    ):
        open_store("postgres://localhost/x")
