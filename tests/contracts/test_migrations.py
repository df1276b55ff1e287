"""Stores that earlier versions wrote: upgraded at the start, all or nothing, to what their own version said of them.

`tests/vectors/stores/make.py` says which version wrote which file.
"""

import json
import logging
import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from deniable.cli import main
from deniable.errors import StoreError
from deniable.service import sqlite as sqlite_module
from deniable.service.backends import open_store, read_store
from deniable.service.copies import restore
from deniable.service.entries import Entry
from deniable.service.migrations import LAYOUT, STEPS
from deniable.service.seals import SEALED
from deniable.service.sqlite import FILE
from deniable.service.store import Store
from deniable.survey import Survey
from tests.cluster import Cluster
from tests.vectors.stores.make import DAYS, NOW, OVER, SHUT, again, told
from tests.waiting import wait_for

FOLDER = Path(__file__).parents[1] / "vectors" / "stores"
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))
KINDS = ("sqlite", "postgres")
TABLES = ("meta", *SEALED)
Place = Callable[[str, str], str]


def layout_of(name: str) -> int:
    return int(name.removeprefix("layout")[0])


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """Puts a store of a kind where a collector finds it."""

    def put(name: str, kind: str) -> str:
        if kind == "sqlite":
            folder = tmp_path / name
            folder.mkdir()
            shutil.copy(FOLDER / f"{name}.sqlite", folder / FILE)
            return str(folder)
        cluster: Cluster = request.getfixturevalue("cluster")
        address = cluster.fresh()
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute((FOLDER / f"{name}.sql").read_bytes())
        return address

    return put


def content(where: str) -> list[Any]:
    """All rows of all tables with the names of their columns, read past the collector's own code."""
    if where.startswith("postgresql://"):
        found = []
        with psycopg.connect(where) as connection:
            for table in TABLES:
                cursor = connection.execute(f"SELECT * FROM {table} AS t ORDER BY t::text")
                names = [column.name for column in cursor.description or ()]
                found.append([table, names, [tuple(row) for row in cursor.fetchall()]])
        return found
    path = Path(where)
    with closing(sqlite3.connect(path / FILE if path.is_dir() else path)) as database:
        return list(database.iterdump())


def layout(store: Store) -> str:
    with store.reading() as session:
        return str(session.run("SELECT value FROM meta WHERE name = 'schema'").fetchone()[0])


def known(name: str, kind: str) -> Any:
    return json.loads((FOLDER / f"{name}.json").read_text())[kind]


def named(store: Store, survey: Survey) -> Entry:
    """The survey as its version made it: in layout 1 the same call made another text, and so another digest."""
    (entry,) = [entry for entry in store.entries() if entry.survey.name == survey.name]
    return entry


def judge(store: Store, name: str, kind: str) -> None:
    """An upgraded store says what its own version said, also to every report that is sent again."""
    expected = known(name, kind)
    assert layout(store) == str(LAYOUT)
    assert list(store.check()) == []
    assert json.loads(json.dumps(told(store))) == expected["told"]
    assert again(store, expected["sent"]) == expected["again"]
    tallies = {digest: said["tally"] for digest, said in told(store).items()}
    assert tallies == {digest: said["tally"] for digest, said in expected["told"].items()}, "nothing counts twice"
    assert list(store.check()) == []


def test_there_is_a_step_to_each_layout_and_a_store_of_each_before() -> None:
    assert sorted(STEPS) == list(range(2, LAYOUT + 1))
    assert {layout_of(name) for name in NAMES} == set(range(1, LAYOUT))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NAMES)
def test_a_store_of_an_earlier_layout_says_the_same_after_its_upgrade(place: Place, name: str, kind: str) -> None:
    where = place(name, kind)
    reader = read_store(where)
    assert json.loads(json.dumps(told(reader))) == known(name, kind)["told"], "it can be read as it is"
    assert list(reader.check()) == []
    reader.close()
    store = open_store(where)
    judge(store, name, kind)
    with pytest.raises(StoreError, match="is closed for good"):
        store.reopen(named(store, OVER).survey.digest, minute=60 * NOW)
    changed = store.change(named(store, DAYS).survey.digest, {"introduction": "Hello"})
    assert changed is not None
    assert changed.rules.introduction == "Hello"
    if layout_of(name) > 1:
        opened = store.reopen(SHUT.digest, minute=60 * NOW)
        assert opened is not None
        assert not opened.closed
        sent = [one for one in known(name, kind)["sent"] if one[0] == SHUT.digest]
        assert again(store, sent) == [[0, 9, []]], "a survey that is opened again knows what it has counted"
    store.close()
    reopened = open_store(where)
    assert list(reopened.check()) == []
    reopened.close()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NAMES)
def test_an_upgraded_store_has_the_tables_of_a_new_one(
    place: Place, tmp_path: Path, cluster: Cluster, name: str, kind: str
) -> None:
    upgraded = open_store(place(name, kind))
    new = open_store(cluster.fresh() if kind == "postgres" else str(tmp_path / "new"))
    with upgraded.reading() as one, new.reading() as two:
        for table in TABLES:
            assert upgraded.database.columns(one, table) == new.database.columns(two, table), table
    for store in (upgraded, new):
        store.close()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NAMES)
def test_what_was_or_can_have_been_shown_stays_together(place: Place, name: str, kind: str) -> None:
    """Days of 99, 1, 100 and 20 reports at a minimum of 100. Layouts 1 and 2 kept no note of what was shown. The first
    purge must not delete the 99 alone, after which the one would be the difference between two answers."""
    store = open_store(place(name, kind))
    entry = named(store, DAYS)

    def reports() -> tuple[list[int], int]:
        return [block.reports for block in store.blocks(entry)[2]], store.tally(entry).n

    assert reports() == ([100, 100], 220)
    store.purge(today=NOW // 24 + 4)
    assert reports() == ([100, 100], 220)
    store.purge(today=NOW // 24 + 5)
    assert reports() == ([100], 120)
    store.close()


@pytest.mark.parametrize("name", NAMES)
def test_a_backup_is_left_beside_a_store_that_is_upgraded(place: Place, tmp_path: Path, name: str) -> None:
    where = place(name, "sqlite")
    before, number = content(where), layout_of(name)
    taken = Path(where) / f"collector-layout{number}.sqlite"
    taken.write_text("somebody's own file")
    open_store(where).close()
    backup = Path(where) / f"collector-layout{number}-2.sqlite"
    assert taken.read_text() == "somebody's own file"
    assert content(str(backup)) == before
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    open_store(where).close()
    assert {path.name for path in Path(where).glob("*layout*")} == {taken.name, backup.name}, "one upgrade, one backup"
    restore(str(backup), str(tmp_path / "restored"), complete=True)
    assert list((tmp_path / "restored").glob("*layout*")) == [], "what it was made from is the backup"
    store = open_store(str(tmp_path / "restored"))
    judge(store, name, "sqlite")
    store.close()


@pytest.mark.parametrize(
    "problem", [sqlite3.OperationalError("database or disk is full"), OSError(28, "No space left on device")]
)
def test_without_room_for_a_backup_nothing_is_upgraded(
    place: Place, monkeypatch: pytest.MonkeyPatch, problem: Exception
) -> None:
    where = place("layout1", "sqlite")
    before = content(where)

    def full(*_: object) -> None:
        raise problem

    monkeypatch.setattr(sqlite_module, "copy_database", full)
    with pytest.raises(
        StoreError, match=r"a backup must be made .* (full|left on device.*); make room, then start again"
    ):
        open_store(where)
    assert content(where) == before
    assert [path.name for path in Path(where).iterdir() if "layout" in path.name] == []
    monkeypatch.undo()
    store = open_store(where)
    judge(store, "layout1", "sqlite")
    store.close()


def test_collectors_that_start_together_upgrade_a_store_once(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    where = place("layout1", "postgres")
    with caplog.at_level(logging.INFO), ThreadPoolExecutor(4) as pool:
        stores = list(pool.map(open_store, [where] * 4))
    assert [record.message for record in caplog.records if record.name == "deniable.service"] == ["store"]
    judge(stores[2], "layout1", "postgres")
    for store in stores:
        store.close()


def test_a_damaged_file_is_not_upgraded(place: Place) -> None:
    where = place("layout1", "sqlite")
    path = Path(where) / FILE
    data = bytearray(path.read_bytes())
    data[4096 * 9 + 8 : 4096 * 10] = bytes(4096 - 8)
    path.write_bytes(data)
    with pytest.raises(StoreError, match=r"must be a sound database: .*; use an earlier backup"):
        open_store(where)
    assert path.read_bytes() == data
    assert [name.name for name in Path(where).glob("*layout*")] == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_row_of_layout_3_does_not_get_a_new_seal(place: Place, kind: str) -> None:
    where = place("layout3", kind)
    sql = "UPDATE tally SET win = win + 24 WHERE win = 493056 AND survey = 1"
    if kind == "postgres":
        with psycopg.connect(where) as connection:
            connection.execute(sql)
    else:
        with closing(sqlite3.connect(Path(where) / FILE, isolation_level=None)) as database:
            database.execute(sql)
    store = open_store(where)
    assert "a row must be as it was written, got another checksum" in next(iter(store.check()))
    store.close()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NAMES)
def test_an_upgrade_can_be_refused(
    place: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, kind: str
) -> None:
    where = place(name, kind)
    before = content(where)
    token = tmp_path / "token"
    token.write_text("correct horse battery staple\n")
    token.chmod(0o600)
    options = ["--store", where, "--port", "0", "--admin-token-file", str(token)]
    assert main(["serve", *options, "--no-migrate"]) == 2
    sentence = (
        f"deniable: store must have layout {LAYOUT}, got {layout_of(name)}; start once without --no-migrate to upgrade "
        "it, or use the version that made it\n"
    )
    assert capsys.readouterr().err == sentence
    assert content(where) == before
    if kind == "sqlite":
        assert {path.name for path in Path(where).iterdir()} <= {FILE, "lock", f"{FILE}-wal", f"{FILE}-shm"}
    store = open_store(where)
    judge(store, name, kind)
    store.close()
    open_store(where, migrate=False).close()  # and now there is nothing to refuse


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", ["5", "99", "0", "-1", "3.0", "", "\u0663"])
def test_a_layout_from_the_future_is_refused(
    place: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, value: str
) -> None:
    where = place("layout3", kind)
    sql = "UPDATE meta SET value = {} WHERE name = 'schema'"
    if kind == "postgres":
        with psycopg.connect(where) as connection:
            connection.execute(sql.format("%s"), [value])
    else:
        with closing(sqlite3.connect(Path(where) / FILE, isolation_level=None)) as database:
            database.execute(sql.format("?"), [value])
    before = content(where)
    sentence = f"layout must be {LAYOUT} or older, got {value!r}; use the version that made the store"
    for migrate in (True, False):
        with pytest.raises(StoreError) as refused:
            open_store(where, migrate=migrate)
        assert str(refused.value) == sentence
    commands = [["check", where], ["export", where, DAYS.digest, "-o", str(tmp_path / "tally")]]
    if kind == "sqlite":
        commands.append(["merge", str(tmp_path / "into"), where])
    for command in commands:
        assert main(["store", *command]) == 2, command
        assert sentence in capsys.readouterr().err
    assert content(where) == before


def test_a_collector_of_an_older_version_cannot_write_after_the_upgrade(place: Place) -> None:
    """It would leave rows without a seal. It may still be running: PostgreSQL has room for many."""
    where = place("layout1", "postgres")
    open_store(where).close()
    with psycopg.connect(where, autocommit=True) as connection:
        for sql in (
            "INSERT INTO ids (survey, id, day) VALUES (1, '00000000-0000-0000-0000-00000000ffff', 0)",
            "INSERT INTO delta (survey, win, counts, counters) VALUES (1, 493056, NULL, '{}')",
        ):
            with pytest.raises(psycopg.errors.NotNullViolation):
                connection.execute(sql)


def kill_upgrades(where: str, *mutant: str) -> int:
    """Kill an upgrade at one point after another for as long as the rows are those of before; how often that was."""
    before = content(where)
    command = [sys.executable, "-m", "tests.killed_upgrade", where, *mutant]
    killed = 0
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for line in process.stdout:
            found = json.loads(line)
            killed += found["killed"]
            if content(where) != before:
                break
            assert found["killed"], found
            process.stdin.write("on\n")
            process.stdin.flush()
        process.stdin.write("enough\n")
    return killed


SLOW = [name for name in NAMES if name != "layout3"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["layout3", *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)])
def test_an_upgrade_that_is_killed_leaves_the_old_store_or_the_new_one(place: Place, name: str, kind: str) -> None:
    where = place(name, kind)
    before = content(where)
    assert kill_upgrades(where) > 20, "it was killed in between"
    assert layout(read_store(where)) == str(LAYOUT), "what is not the old store is the new one"
    store = open_store(where)
    judge(store, name, kind)
    store.close()
    if kind == "sqlite":
        left = {path.name for path in Path(where).iterdir()} - {FILE, "lock", f"{FILE}-wal", f"{FILE}-shm"}
        backup = f"collector-layout{layout_of(name)}.sqlite"
        assert left == {backup}, "one backup, however often it was killed, and nothing half made"
        assert content(str(Path(where) / backup)) == before


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_an_upgrade_in_several_transactions_is_found_out(place: Place, kind: str) -> None:
    where = place("layout1", kind)
    kill_upgrades(where, "mutant")
    assert layout(read_store(where)) == "1"
    with pytest.raises(StoreError):
        open_store(where)


def enlarged(where: str) -> None:
    """More ids than an upgrade seals in a moment; and, in a store that is sound, a report for each."""
    with closing(sqlite3.connect(Path(where) / FILE, isolation_level=None)) as database:
        database.execute("BEGIN")
        rows = ((1, 0, os.urandom(16)) for _ in range(30_000))
        database.executemany("INSERT INTO ids (survey, day, ids) VALUES (?, ?, ?)", rows)
        database.execute("COMMIT")


def test_a_collector_that_is_killed_while_it_upgrades_leaves_the_old_store(place: Place) -> None:
    """A real `deniable serve`, and kill -9 from outside as soon as the backup is there; then once more, to the end."""
    where = place("layout1", "sqlite")
    enlarged(where)
    before = content(where)
    command = [sys.executable, "-m", "deniable", "serve", "--store", where, "--port", "0"]
    backup = Path(where) / "collector-layout1.sqlite"
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            wait_for(backup.exists, "the backup")
        finally:
            process.kill()
        assert process.wait() == -signal.SIGKILL
    assert content(where) == before
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            lines = [json.loads(process.stderr.readline())]
            while lines[-1].get("event") != "listening":
                lines.append(json.loads(process.stderr.readline()))
        finally:
            process.terminate()
        process.stderr.read()
    assert process.returncode == 0
    upgraded = [line for line in lines if line.get("event") == "upgraded"]
    assert upgraded == [
        {"level": "info", "message": "store", "event": "upgraded", "from": 1, "to": LAYOUT, "backup": str(backup)}
    ]
    assert content(str(backup)) == before
    store = read_store(where)
    assert layout(store) == str(LAYOUT)
    # It has begun to work, too: of the survey with a retention, and of ids with a day, it has purged what is old.
    expected = {said["name"]: said["tally"] for said in known("layout1", "sqlite")["told"].values()}
    found = {said["name"]: said["tally"] for said in told(store).values()}
    assert {name for name in expected if found[name] != expected[name]} <= {DAYS.name}
    with store.reading() as session:
        (ids,) = session.run("SELECT SUM(LENGTH(ids)) / 16 FROM ids WHERE survey = 1 AND day = 0").fetchone()
    assert ids == 30_000 + 215
