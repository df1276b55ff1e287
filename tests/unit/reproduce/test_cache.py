"""The store of results: what goes in comes out, from the disk too, and every file that will not do is a sentence."""

import math
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from deniable.errors import DeniableError
from deniable.reproduce.cache import ResultCache
from tests.waiting import PATIENCE

ODD = [0.1, 1 / 3, -0.0, 5e-324, 1.7976931348623157e308, math.inf, -math.inf, math.nan]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cells.sqlite"


def refused(path: Path) -> str:
    with pytest.raises(DeniableError) as problem:
        ResultCache(path, seed=0)
    return str(problem.value).removeprefix(str(path))


def in_a_process(code: str, path: Path) -> subprocess.CompletedProcess[str]:
    start = "import os, signal, sys; from deniable.reproduce.cache import ResultCache; "
    return subprocess.run(
        [sys.executable, "-c", start + code, str(path)], capture_output=True, text=True, check=False, timeout=PATIENCE
    )


def test_numbers_come_back_as_they_were(path: Path) -> None:
    with ResultCache(path, seed=1) as store:
        store.put({"odd": ODD, "none": [], "text 'é\n": [7]}, seconds=1.0)
        fresh = store.get_many(["odd", "none", "text 'é\n", "absent"])
    with ResultCache(path, seed=1) as store:
        again = store.get_many(["odd", "none", "text 'é\n", "absent"])
    assert repr(fresh) == repr(again) == repr({"none": [], "odd": ODD, "text 'é\n": [7.0]})


def test_seeds_are_kept_apart(path: Path) -> None:
    with ResultCache(path, seed=1) as store:
        store.put({"a": [1.0]}, seconds=1.0)
    with ResultCache(path, seed=2) as store:
        assert store.get_many(["a"]) == {}
        store.put({"a": [2.0]}, seconds=1.0)
    with ResultCache(path, seed=1) as store:
        assert store.get_many(["a"]) == {"a": [1.0]}


def test_many_keys_at_once_and_the_seconds_behind_them(path: Path) -> None:
    keys = [f"cell {i}" for i in range(1234)]
    with ResultCache(path, seed=0) as store:
        store.put({key: [float(i)] for i, key in enumerate(keys)}, seconds=123.4)
        store.put({"more": [0.0]}, seconds=5.0)
        found = store.get_many([*keys, *keys])
        assert store.seconds([]) == 0
        assert math.isclose(store.seconds([*keys[:10], *keys[:10], "more", "absent"]), 6.0)
    assert {key: [float(i)] for i, key in enumerate(keys)} == found


def test_putting_twice_counts_once(path: Path) -> None:
    with ResultCache(path, seed=0) as store:
        store.put({"a": [1.0]}, seconds=1.0)
        store.put({"a": [1.0]}, seconds=2.0)
        assert store.seconds(["a"]) == 2.0


def test_closing_leaves_one_file(path: Path) -> None:
    with ResultCache(path, seed=0) as store:
        store.put({"a": [1.0]}, seconds=1.0)
    assert [file.name for file in path.parent.iterdir()] == ["cells.sqlite"]


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
def test_what_was_put_survives_a_kill(path: Path) -> None:
    code = "s = ResultCache(sys.argv[1], seed=0); s.put({'a': [1.0]}, 1.0); os.kill(os.getpid(), signal.SIGKILL)"
    assert in_a_process(code, path).returncode == -signal.SIGKILL
    with ResultCache(path, seed=0) as store:
        assert store.get_many(["a"]) == {"a": [1.0]}


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
def test_what_was_put_only_in_part_is_not_there(path: Path) -> None:
    code = (
        "s = ResultCache(sys.argv[1], seed=0); s.put({'a': [1.0]}, 1.0); s._file.execute('BEGIN EXCLUSIVE'); "
        "s._file.execute('INSERT INTO cells VALUES (0, ?, ?, 1)', ('b' * 10**6, '[1.0]')); "
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert in_a_process(code, path).returncode == -signal.SIGKILL
    with ResultCache(path, seed=0) as store:
        assert store.get_many(["a", "b" * 10**6]) == {"a": [1.0]}


def test_a_store_is_one_runs_at_a_time(path: Path) -> None:
    sentence = " is in use by another run; wait for it, or choose another folder"
    with ResultCache(path, seed=0) as store:
        assert refused(path) == sentence
        done = in_a_process("ResultCache(sys.argv[1], seed=1)", path)
        assert done.stderr.endswith(f"{path}{sentence}\n")
        store.put({"a": [1.0]}, seconds=1.0)
    ResultCache(path, seed=0).close()


def test_a_file_of_something_else_is_refused_and_stays(path: Path) -> None:
    path.write_text("key,number\n" * 1000)
    assert refused(path) == " is not a store of results; choose another folder"
    assert path.read_text() == "key,number\n" * 1000


def test_a_database_of_something_else_is_refused_and_stays(path: Path) -> None:
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE songs (name TEXT)")
    other.close()
    before = path.read_bytes()
    assert refused(path) == " is not a store of results; choose another folder"
    assert path.read_bytes() == before


def test_a_store_of_another_format_is_refused(path: Path) -> None:
    ResultCache(path, seed=0).close()
    other = sqlite3.connect(path)
    other.execute("PRAGMA user_version = 2")
    other.close()
    said = " must be of format 1, got 2: another version of deniable wrote it; choose another folder"
    assert refused(path) == said


def test_an_empty_file_is_a_new_store(path: Path) -> None:
    """A run that was killed in its first moment may leave one."""
    path.touch()
    with ResultCache(path, seed=0) as store:
        assert store.get_many(["a"]) == {}


@pytest.mark.parametrize("damage", ["middle", "end"])
def test_a_damaged_store_is_noticed_when_it_is_opened(path: Path, damage: str) -> None:
    with ResultCache(path, seed=0) as store:
        store.put({f"cell {i}": [float(i)] * 9 for i in range(5000)}, seconds=1.0)
    data = path.read_bytes()
    half = len(data) // 2
    path.write_bytes(data[:half] + bytes(20_000) + data[half + 20_000 :] if damage == "middle" else data[:half])
    said = refused(path)
    assert said.startswith(" is damaged: ")
    assert said.endswith("; remove it, and what it held is computed again")


@pytest.mark.parametrize("text", ["[1.0", '{"a": 1}', '["x"]', "7"])
def test_numbers_that_cannot_be_read_are_damage(path: Path, text: str) -> None:
    with ResultCache(path, seed=0) as store:
        store._file.execute("INSERT INTO cells VALUES (0, 'a', ?, 1.0)", [text])
        with pytest.raises(DeniableError, match="is damaged: the numbers of a cannot be read; remove it"):
            store.get_many(["a"])


def test_a_full_disk_is_a_sentence_and_keeps_what_is_there(path: Path) -> None:
    with ResultCache(path, seed=0) as store:
        store.put({"a": [1.0]}, seconds=1.0)
        store._file.execute("PRAGMA max_page_count = 3")
        with pytest.raises(DeniableError, match=r"cells\.sqlite cannot be written: database or disk is full$"):
            store.put({"b": [1.0] * 10_000}, seconds=1.0)
        assert store.get_many(["a", "b"]) == {"a": [1.0]}
        store.put({"c": [1.0]}, seconds=1.0)


def test_a_place_that_cannot_be_written_is_a_sentence(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert refused(path / "cells.sqlite") == " cannot be written: unable to open database file"
    path.mkdir()
    assert refused(path) == " cannot be written: unable to open database file"
    monkeypatch.setattr(os, "access", lambda place, mode: False)
    assert refused(path) == " cannot be written: permission denied"


@contextmanager
def nobody() -> Iterator[Path]:
    """A folder of a user who is not root: root may write anywhere, so it stands back for a while."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        root = os.geteuid() == 0
        if root:
            os.chown(folder, 65534, 65534)
            os.setresuid(65534, 65534, 0)
        try:
            yield folder
        finally:
            folder.chmod(0o755)
            if root:
                os.setresuid(0, 0, 0)


@pytest.mark.skipif(not hasattr(os, "setresuid"), reason="permission bits are POSIX")
@pytest.mark.parametrize("mode", [0o444, 0o644])
def test_a_folder_that_may_only_be_read_is_a_sentence(mode: int) -> None:
    with nobody() as folder:
        path = folder / "cells.sqlite"
        ResultCache(path, seed=0).close()
        path.chmod(mode)
        folder.chmod(0o555)
        assert refused(path) == " cannot be written: permission denied"
