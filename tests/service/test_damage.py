"""Damaged stores: `store check` finds the damage and says it in a sentence, and no command answers with a traceback."""

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from deniable.cli import main
from deniable.errors import StoreError
from deniable.service.backends import open_store
from deniable.service.entries import Rules, Token, Upload
from deniable.service.records import pack_counts
from deniable.service.sqlite import FILE, SQLiteStore
from deniable.service.store import Store
from tests.cluster import Cluster
from tests.collector import name_of, one_cell_each, records

SURVEY, OTHER = one_cell_each(1024), one_cell_each(1024, "another")
NOW = 480_000
SIZE = 1024
ONE = UUID(bytes=name_of(305))  # of a report with a day


def fill(store: Store) -> None:
    """Two surveys: folded counts, appended ones, a shard, a token, ids with and without a day."""
    entry, _ = store.create(SURVEY, Rules())
    other, _ = store.create(OTHER, Rules(window="hour"))
    store.write([Upload(entry, records(SURVEY, range(300)))], hours=NOW)
    store.write([Upload(entry, records(SURVEY, range(300, 310)), day=NOW // 24)], hours=NOW + 24)
    store.write([Upload(other, records(OTHER, range(5)))], hours=NOW)
    store.fold(entry)
    store.write([Upload(entry, records(SURVEY, range(310, 320)))], hours=NOW + 24)
    store.take_shard("elsewhere", OTHER, Rules(window="hour"), {NOW: (_counts([7]), '{"accepted":1}')})
    store.add_token(Token("a" * 64, entry.key, "upload", 50, 20, "build 7"))


def _counts(places: list[int], count: int = 1) -> bytes:
    return pack_counts(SIZE, np.array(places), np.full(len(places), count))


def flipped(data: bytes, place: int) -> bytes:
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


Run = Callable[..., Any]


def change_counts(run: Run, change: Callable[[bytes], bytes]) -> None:
    ((window, counts),) = run("SELECT win, counts FROM tally ORDER BY win LIMIT 1")
    run("UPDATE tally SET counts = ? WHERE win = ?", [change(bytes(counts)), window])


# What is done to the rows, in either database, and what is said.
ROWS: dict[str, tuple[Callable[[Run], Any], str]] = {
    "a flipped bit of a place": (
        lambda run: change_counts(run, lambda data: flipped(data, 6)),
        "stored counts must be readable",
    ),
    "a flipped bit of a count": (
        lambda run: change_counts(run, lambda data: flipped(data, len(data) - 8)),
        "stored counts must be readable",
    ),
    "counts of a wrong length": (
        lambda run: change_counts(run, lambda data: data[:-1]),
        "stored counts must be readable",
    ),
    "counts of another survey": (
        lambda run: change_counts(run, lambda _: _counts([SIZE + 5])),
        "stored counts must be readable",
    ),
    "negative counts": (
        lambda run: change_counts(run, lambda _: _counts([3], -1)),
        "counts must not be negative",
    ),
    "other counts, well packed": (
        lambda run: change_counts(run, lambda _: _counts([3, 4])),
        "counts must hold the 320 reports that were accepted, got 22",
    ),
    "counts swapped between windows": (
        lambda run: [
            run("UPDATE tally SET counters = '{\"accepted\":10}' WHERE win = ?", [NOW]),
            run("UPDATE tally SET counters = '{\"accepted\":300}' WHERE win = ?", [NOW + 24]),
        ],
        "counts must hold the reports that were accepted, got others in 2024-10-04T00",
    ),
    "no counts": (lambda run: run("DELETE FROM tally"), "ids must belong to a report"),
    "counters that are no JSON": (
        lambda run: run("UPDATE tally SET counters = 'accepted'"),
        "stored counters must be readable; the store is damaged, restore a backup",
    ),
    "negative counters": (
        lambda run: run("UPDATE delta SET counters = '{\"accepted\":-3}'"),
        "stored counters must be readable",
    ),
    "a window that begins anywhere": (
        lambda run: run("UPDATE tally SET win = win + 5"),
        "a window must begin where a day does, got 2024-10-04T05",
    ),
    "a text that is no survey": (
        lambda run: run("UPDATE survey SET body = '{}' WHERE digest = ?", [OTHER.digest]),
        "its row must be readable",
    ),
    "rules that are no JSON": (lambda run: run("UPDATE survey SET rules = 'none'"), "its row must be readable"),
    "a survey closed before 1970": (lambda run: run("UPDATE survey SET floor = -1"), "numbers must not be negative"),
    "a digest that is another survey's": (
        lambda run: run("UPDATE survey SET digest = ? WHERE digest = ?", ["0" * 64, SURVEY.digest]),
        "its text must be that of the survey, got the one of",
    ),
    "a survey that is gone": (
        lambda run: run("DELETE FROM survey WHERE digest = ?", [OTHER.digest]),
        "must belong to a survey, got some of number",
    ),
    "counts of no survey": (
        lambda run: run("INSERT INTO shard (source, survey, win, counters, seal) VALUES ('x', 99, 0, '{}', 0)"),
        "rows of table shard must belong to a survey, got some of number 99, which is not there",
    ),
    "a token of no kind": (lambda run: run("UPDATE token SET kind = 'any'"), "must have a hash, a kind"),
    "a token that is overdrawn": (lambda run: run("UPDATE token SET used = 51"), "at most its quota"),
    "another layout": (
        lambda run: run("UPDATE meta SET value = '99' WHERE name = 'schema'"),
        "layout must be 4 or older, got '99'; use the version that made the store",
    ),
    "an older layout than its tables have": (
        lambda run: run("UPDATE meta SET value = '2' WHERE name = 'schema'"),
        "layout must be 4, got 2 with tables of a later one; restore a backup",
    ),
    "no layout": (lambda run: run("DELETE FROM meta WHERE name = 'schema'"), "layout must be 4 or older, got 'None'"),
    "no name": (lambda run: run("DELETE FROM meta WHERE name = 'store'"), "the name that it was born with, got none"),
    "a window before all others": (
        lambda run: run("UPDATE delta SET win = -7890048"),
        "table delta: a window must be named by an hour since 1970, got -7890048",
    ),
    "another hour of a commit that is not folded": (
        lambda run: run("UPDATE delta SET win = win + 1 WHERE survey = 2"),
        "table delta: a row must be as it was written, got another checksum in 2024-10-04T01",
    ),
    "another day of a commit that is not folded": (
        lambda run: run("UPDATE delta SET win = win + 24 WHERE survey = 1"),
        "table delta: a row must be as it was written, got another checksum in 2024-10-06T00",
    ),
    "another day of folded counts": (
        lambda run: run("UPDATE tally SET win = win + 240"),
        "table tally: a row must be as it was written, got another checksum in 2024-10-14T00",
    ),
    "another hour of a shard": (
        lambda run: run("UPDATE shard SET win = win - 1"),
        "table shard: a row must be as it was written, got another checksum in 2024-10-03T23",
    ),
    "a shard of another store": (
        lambda run: run("UPDATE shard SET source = 'elsewherf'"),
        "table shard: a row must be as it was written, got another checksum in 2024-10-04T00",
    ),
    "a commit of another survey of the same shape": (
        lambda run: run("UPDATE delta SET survey = 2 WHERE survey = 1"),
        "table delta: a row must be as it was written, got another checksum in 2024-10-05T00",
    ),
    "a token of another survey": (
        lambda run: run("UPDATE token SET survey = 2"),
        f"table token: a row must be as it was written, got another checksum of {'a' * 16}",
    ),
    "a token that has used less": (
        lambda run: run("UPDATE token SET used = used - 1"),
        f"table token: a row must be as it was written, got another checksum of {'a' * 16}",
    ),
    "another hour up to which windows were shown": (
        lambda run: run("UPDATE survey SET shown = shown + 24"),
        f"survey {SURVEY.digest[:8]}: a row must be as it was written, got another checksum",
    ),
    "another minimum": (
        lambda run: run("UPDATE survey SET rules = REPLACE(rules, '100', '101')"),
        f"survey {SURVEY.digest[:8]}: a row must be as it was written, got another checksum",
    ),
    "another name": (
        lambda run: run("UPDATE meta SET value = 'another' WHERE name = 'store'"),
        "the store must have the name that it was born with, got another checksum",
    ),
    "a missing table": (lambda run: run("DROP TABLE delta"), "table delta must have the columns"),
    "a missing column": (
        lambda run: run("ALTER TABLE token DROP COLUMN quota"),
        "table token must have the columns hash, survey, kind, quota, used, name, got none called quota",
    ),
}
# What is done to the rows of SQLite alone, where ids are kept otherwise.
IDS: dict[str, tuple[Callable[[Run], Any], str]] = {
    "ids of a wrong length": (lambda run: run("UPDATE ids SET ids = x'0011'"), "ids must be of 16 bytes each"),
    "ids without a day": (lambda run: run("UPDATE ids SET day = -1"), "ids must be of 16 bytes each, with a day"),
    "ids that are there twice": (
        lambda run: run("INSERT INTO ids SELECT survey, day, ids, seal FROM ids"),
        "each id must be kept once, got one twice",
    ),
    "a changed id": (
        lambda run: run("UPDATE ids SET ids = CAST(x'ff' || SUBSTR(ids, 2) AS BLOB) WHERE day = 0"),
        "table ids: a row must be as it was written, got another checksum",
    ),
    "another day of ids": (
        lambda run: run("UPDATE ids SET day = day + 1 WHERE day > 0"),
        "table ids: a row must be as it was written, got another checksum",
    ),
    "a window that is no number": (
        lambda run: run("UPDATE tally SET win = win || 'x'"),
        "table tally: a window must be named by an hour since 1970, got 480000x",
    ),
    "ids of no survey": (
        lambda run: run("INSERT INTO ids VALUES (99, 0, x'00112233445566778899aabbccddeeff', 0)"),
        "rows of table ids must belong to a survey, got some of number 99",
    ),
}


def _middle(data: bytearray) -> bytearray:
    data[4096 * 3 : 4096 * 4] = bytes(4096)
    return data


def _ids_out_of_reach(data: bytearray) -> bytearray:
    """The first row of ids gets a number after the last one's: it is met on the way, and not found by its number."""
    copy = bytearray(data)
    copy[18:20] = b"\x01\x01"  # no write-ahead log
    with closing(sqlite3.connect(":memory:")) as database:
        database.deserialize(bytes(copy))
        ((page,),) = database.execute("SELECT rootpage FROM sqlite_master WHERE name = 'ids'").fetchall()
    start = 4096 * (page - 1)
    cell = start + int.from_bytes(data[start + 8 : start + 10], "big")
    number = cell + 1 + (data[cell] >> 7)  # after the length of the row, which has one byte or two
    assert data[number] == 1
    data[number] = 100
    return data


# What is done to the bytes of the file.
FILES: dict[str, tuple[Callable[[bytearray], bytes | bytearray], str]] = {
    "cut off": (lambda data: data[: len(data) // 2], "must"),
    "cut off in a page": (lambda data: data[:5000], "must"),
    "an empty file": (lambda _: b"", "a database without its tables"),
    "a text": (lambda _: b"not a database at all\n" * 400, "file is not a database"),
    "a page of zeros": (_middle, "must"),
    "a row of ids that cannot be reached": (_ids_out_of_reach, "must"),
    "a name of a table that is no text": (
        lambda data: data.replace(b"tabledelta", b"table\xe1elta").replace(
            b"CREATE TABLE delta", b"CREATE TABBE delta"
        ),
        "the store must be readable",
    ),
    "a first page of zeros": (lambda data: bytes(4096) + data[4096:], "file is not a database"),
}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sound")
    store = SQLiteStore(folder)
    fill(store)
    # As a killed process leaves it, so that appended counts are there, too: closing folds them.
    with closing(sqlite3.connect(folder / FILE)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    store.database.close()
    return folder


def judged(capsys: pytest.CaptureFixture[str], store: str) -> str:
    """What `store check` says of a store that is not sound."""
    assert main(["store", "check", store]) == 2
    said = capsys.readouterr()
    assert "Traceback" not in said.err
    assert "is sound" not in said.out
    assert "error:" in said.err or "must" in said.err
    return said.err


def no_tracebacks(capsys: pytest.CaptureFixture[str], folder: Path, tmp_path: Path) -> None:
    """Other commands work or refuse in a sentence; which, depends on what they need."""
    for command in (
        ["export", str(folder), SURVEY.digest, "-o", str(tmp_path / "a.tally")],
        ["backup", str(folder), str(tmp_path / "copy")],
        ["merge", str(tmp_path / "into"), str(folder)],
    ):
        assert main(["store", *command]) in (0, 2), command
        assert "Traceback" not in capsys.readouterr().err


def test_a_sound_store_is_called_so(sound: Path, cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["store", "check", str(sound)]) == 0
    address = cluster.fresh()
    store = open_store(address)
    fill(store)
    store.close()
    assert main(["store", "check", address]) == 0
    assert capsys.readouterr().out.count("is sound: 2 surveys") == 2


@pytest.mark.parametrize("name", [*ROWS, *IDS])
def test_damaged_rows_are_found(sound: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    damage, sentence = (ROWS | IDS)[name]
    folder = tmp_path / "store"
    shutil.copytree(sound, folder)
    with closing(sqlite3.connect(folder / FILE, isolation_level=None)) as database:
        damage(lambda sql, values=(): database.execute(sql, values).fetchall())
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert sentence in judged(capsys, str(folder))
    no_tracebacks(capsys, folder, tmp_path)


# And to those of PostgreSQL.
IDS_OF_POSTGRESQL: dict[str, tuple[Callable[[Run], Any], str]] = {
    "ids without a day": (lambda run: run("UPDATE ids SET day = -1"), "ids must have a day"),
    "a changed id": (
        lambda run: run("UPDATE ids SET id = 'ffffffff-0000-0000-0000-000000000001' WHERE day > 0 AND id = ?", [ONE]),
        "table ids: a row must be as it was written, got another checksum",
    ),
    "another day of ids": (
        lambda run: run("UPDATE ids SET day = day + 1 WHERE day > 0"),
        "table ids: a row must be as it was written, got another checksum",
    ),
    "an id of another survey": (
        lambda run: run("UPDATE ids SET survey = 2 WHERE day > 0 AND id = ?", [ONE]),
        "table ids: a row must be as it was written, got another checksum",
    ),
    "another checksum of an id": (
        lambda run: run("UPDATE ids SET seal = seal # 1024 WHERE id = ?", [ONE]),
        "table ids: a row must be as it was written, got another checksum",
    ),
    "ids without a checksum": (lambda run: run("ALTER TABLE ids DROP COLUMN seal"), "got none called seal"),
}


@pytest.mark.parametrize("name", [*ROWS, *IDS_OF_POSTGRESQL])
def test_damaged_rows_of_postgresql_are_found(cluster: Cluster, capsys: pytest.CaptureFixture[str], name: str) -> None:
    damage, sentence = (ROWS | IDS_OF_POSTGRESQL)[name]
    address = cluster.fresh()
    store = open_store(address)
    fill(store)
    with store.writing() as session:

        def do(sql: str, values: Any = ()) -> Any:
            found = session.run(sql, values)
            return found.fetchall() if sql.startswith("SELECT") else None

        damage(do)
    store.close()
    assert sentence in judged(capsys, address)


@pytest.mark.parametrize("name", FILES)
def test_damaged_files_are_found(sound: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    damage, sentence = FILES[name]
    folder = tmp_path / "store"
    shutil.copytree(sound, folder)
    for more in folder.glob(f"{FILE}-*"):
        more.unlink()
    (folder / FILE).write_bytes(damage(bytearray((folder / FILE).read_bytes())))
    assert sentence in judged(capsys, str(folder))
    no_tracebacks(capsys, folder, tmp_path)


def test_what_a_collector_would_stumble_over_is_said_when_it_opens_a_store(sound: Path, tmp_path: Path) -> None:
    for name, damage, sentence in (
        (
            "ids",
            "UPDATE ids SET ids = x'0011'",
            "must be a sound store: ids must be of 16 bytes each; restore a backup",
        ),
        (
            "name",
            "DELETE FROM meta WHERE name = 'store'",
            "the store must have the name that it was born with, got none; restore a backup",
        ),
    ):
        shutil.copytree(sound, tmp_path / name)
        with closing(sqlite3.connect(tmp_path / name / FILE, isolation_level=None)) as database:
            database.execute(damage)
        with pytest.raises(StoreError, match=sentence):
            SQLiteStore(tmp_path / name).name()


def test_a_foreign_database_is_no_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with closing(sqlite3.connect(tmp_path / FILE)) as database:
        database.execute("CREATE TABLE people (name TEXT)")
    assert "the file must be a collector's store, got a database without its tables" in judged(capsys, str(tmp_path))
    missing = str(tmp_path / "nowhere")
    assert f"must be a store, got no {FILE} in it" in judged(capsys, missing)


def test_every_bit_of_counts_is_checked(sound: Path, tmp_path: Path) -> None:
    """Whichever byte of stored counts is changed, it is found: they carry a checksum."""
    folder = tmp_path / "store"
    shutil.copytree(sound, folder)
    with closing(sqlite3.connect(folder / FILE, isolation_level=None)) as database:
        ((window, counts),) = database.execute("SELECT win, counts FROM tally ORDER BY win DESC LIMIT 1").fetchall()
        store = SQLiteStore(folder, write=False)
        assert list(store.check()) == []
        for place in range(len(counts)):
            database.execute("UPDATE tally SET counts = ? WHERE win = ?", [flipped(counts, place), window])
            assert list(store.check()) != [], place
        database.execute("UPDATE tally SET counts = ? WHERE win = ?", [counts, window])
        assert list(store.check()) == []
        assert json.loads(database.execute("SELECT counters FROM tally").fetchone()[0])["accepted"] > 0


Cell = tuple[str, str, int, object]  # a table, a column, the number of a row, and its value


@pytest.fixture
def loose(sound: Path, tmp_path: Path) -> tuple[SQLiteStore, list[Cell], Callable[[Cell, object], list[str]]]:
    """A store without the rules of its tables, which SQLite's own check knows; everything in it; and what `check` says
    once something else is in the place of one value."""
    folder, kept = tmp_path / "store", tmp_path / "kept.sqlite"
    shutil.copytree(sound, folder)
    cells: list[Cell] = []
    with closing(sqlite3.connect(folder / FILE, isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = DELETE")
        names = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE sql LIKE 'CREATE TABLE%'")]
        for table in [name for name in names if not name.startswith("sqlite_")]:
            database.execute(f"CREATE TABLE copied AS SELECT * FROM {table}")
            database.execute(f"DROP TABLE {table}")
            database.execute(f"ALTER TABLE copied RENAME TO {table}")
            columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})").fetchall()]
            for number, *values in database.execute(f"SELECT rowid, * FROM {table}").fetchall():
                cells += [(table, name, number, value) for name, value in zip(columns, values, strict=True)]
    shutil.copy(folder / FILE, kept)
    store = SQLiteStore(folder, write=False)

    def judge(cell: Cell, value: object) -> list[str]:
        table, column, number, _ = cell
        shutil.copy(kept, folder / FILE)
        with closing(sqlite3.connect(folder / FILE, isolation_level=None)) as database:
            database.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", [value, number])
        return list(store.check())

    return store, [cell for cell in cells if cell[1] != "seq"], judge  # the database's own number says nothing


Loose = tuple[SQLiteStore, list[Cell], Callable[[Cell, object], list[str]]]


def test_nothing_in_the_place_of_any_value_is_reported(loose: Loose) -> None:
    store, cells, judge = loose
    assert list(store.check()) == []
    tried = [cell for cell in cells if cell[3] is not None]
    found = {cell[:3]: judge(cell, None) for cell in tried}
    assert [name for name, faults in found.items() if not faults] == []
    assert all("must" in fault for faults in found.values() for fault in faults)
    assert {cell[:2] for cell in tried} == {cell[:2] for cell in cells}, "every column is among them"


def test_a_flipped_bit_of_any_value_is_reported(loose: Loose) -> None:
    """Of numbers, texts and bytes, ids and checksums themselves."""
    _, cells, judge = loose
    draw = np.random.default_rng(16)
    sound = []
    for cell in cells:
        table, column, _, value = cell
        if value is None:
            continue
        for _ in range(2):
            if isinstance(value, int):
                other: object = value ^ 1 << int(draw.integers(20))
            else:
                data = value.encode() if isinstance(value, str) else bytes(value)  # type: ignore[call-overload]
                data = flipped(data, int(draw.integers(len(data))))
                other = data.decode() if isinstance(value, str) else data
            if not judge(cell, other):
                sound.append((table, column, value, other))
    assert sound == []


def test_a_damaged_row_is_not_folded(sound: Path, tmp_path: Path) -> None:
    """It would get a checksum that is right, and nobody would know any more."""
    folder = tmp_path / "store"
    shutil.copytree(sound, folder)
    with closing(sqlite3.connect(folder / FILE, isolation_level=None)) as database:
        database.execute("UPDATE delta SET win = win + 24 WHERE survey = 1")
        damaged = database.execute("SELECT * FROM delta WHERE survey = 1").fetchall()
    store = SQLiteStore(folder)
    store.purge(today=NOW // 24)
    store.close()
    with closing(sqlite3.connect(folder / FILE, isolation_level=None)) as database:
        assert database.execute("SELECT * FROM delta").fetchall() == damaged, "the row of the other survey is folded"
    assert len(list(store.check())) == 1


def test_a_damaged_row_of_ids_is_not_joined_with_others(sound: Path, tmp_path: Path) -> None:
    folder = tmp_path / "store"
    shutil.copytree(sound, folder)
    with closing(sqlite3.connect(folder / FILE, isolation_level=None)) as database:
        database.execute("UPDATE ids SET ids = CAST(x'ff' || SUBSTR(ids, 2) AS BLOB) WHERE rowid = 1")
    store = SQLiteStore(folder)
    store.purge(today=NOW // 24)
    store.close()
    assert "table ids: a row must be as it was written, got another checksum" in next(iter(store.check()))


def test_a_store_whose_windows_are_no_numbers_is_not_merged(sound: Path, tmp_path: Path) -> None:
    folder = tmp_path / "store"
    shutil.copytree(sound, folder)
    with closing(sqlite3.connect(folder / FILE, isolation_level=None)) as database:
        database.execute("UPDATE tally SET win = win || 'x'")
    store = SQLiteStore(folder, write=False)
    with pytest.raises(StoreError, match="stored windows must be numbers; the store is damaged, restore a backup"):
        store.own_tallies(store.entries()[0])
