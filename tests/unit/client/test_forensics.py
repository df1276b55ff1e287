"""What a device keeps and shows, byte by byte."""

import contextlib
import itertools
import json
import os
import stat
import traceback
from collections import Counter
from pathlib import Path
from random import Random
from typing import IO, Any

import pytest

import deniable as dn
from deniable.client import Waiting
from deniable.client import state as room
from deniable.client.state import Contents
from deniable.noise import Entropy
from tests.exact.scripted import ScriptedEntropy
from tests.failing_collector import collecting
from tests.forensics import leaves_of, modes_of, module_roots, posix
from tests.forensics import watched as watched

KRR = dn.krr(symbols=["rosebud", "b", "c"], epsilon=2)
OPEN = dn.orr(epsilon=1, cells=8, cohorts=500, seed=bytes(16))
WEAK = dn.krr(symbols=3, epsilon="0.5")


def test_the_file_is_the_same_for_every_answer(tmp_path: Path) -> None:
    """But for the packed report, its random id and the check: what is kept does not depend on what was answered."""
    shapes = set()
    for answer, times in itertools.product(("rosebud", "b", "c"), (1, 3)):
        path = tmp_path / f"{answer}{times}.json"
        secret = [0, 11, 12, 13, 14]
        client = dn.Client(KRR, state=path, entropy=ScriptedEntropy(64, secret + [3] * 2 * 3))
        for _ in range(times):
            client.report(answer)
        fields = json.loads(path.read_bytes())
        assert fields["outbox"] == []
        shapes.add((times, path.read_bytes()))
    assert len(shapes) == 2


class Treacherous:
    """A value whose own method fails with the value in the error."""

    def __index__(self) -> int:
        raise ValueError("rosebud")


@pytest.mark.parametrize("kept", [True, False], ids=["on disk", "in memory"])
@pytest.mark.parametrize("way", ["report", "queue"])
def test_no_traceback_shows_an_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: bool, way: str) -> None:
    """Not in the error, what is chained to it, or the local names of any frame of this package."""
    path = tmp_path / "me.json" if kept else None
    survey = dn.krr(symbols=["a", "b"], epsilon=2)
    secret_answers: list[tuple[object, type[Exception]]] = [
        ("rosebud", dn.AlphabetError),
        (Treacherous(), dn.AlphabetError),
        ("rosebud \ud800", dn.AlphabetError),
        ("a", dn.BudgetError),
        ("rosebud", dn.BudgetError),  # of which nobody has asked yet whether it is a symbol
    ]
    for value, kind in secret_answers:
        client = dn.Client(survey, state=path, cap=1 if kind is dn.BudgetError else 9)
        with pytest.raises(kind) as caught:
            getattr(client, way)(value)
        errors = [e for e in (caught.value, caught.value.__context__, caught.value.__cause__) if e is not None]
        stacks = [traceback.TracebackException.from_exception(e, capture_locals=True).stack for e in errors]
        frames = [frame for stack in stacks for frame in stack if "tests" not in frame.filename]
        assert way in [frame.name for frame in frames]
        assert all("value" not in (frame.locals or {}) for frame in frames)
        assert "rosebud" not in str([(frame.locals, str(e)) for frame in frames for e in errors])
        assert "rosebud" not in repr(caught.value)
    with pytest.raises(dn.AlphabetError, match="symbol must be text, an integer or bytes, got one that cannot be read"):
        dn.Client(survey).report(Treacherous())


def test_contents_do_not_print_the_secret() -> None:
    contents = Contents(bytes(range(32)), outbox={"a": Waiting("s", "a", b"r")})
    assert bytes(range(32)).hex() not in repr(contents)
    assert "secret" not in repr(contents)


def kept_by(
    folder: Path, survey: dn.Survey, answer: object, secret: int, *, memoize: bool
) -> tuple[bytes, list[bytes]]:
    """The report of an answer on scripted words, and every byte of the device's folder at each step."""
    folder.mkdir()
    noise = [] if memoize else [Random(secret).getrandbits(64)]
    words = [0, secret, 12, 13, 14, *noise, 21, 22]
    client = dn.Client(survey, state=folder / "me.json", memoize=memoize, entropy=ScriptedEntropy(64, words))
    stores = []

    def read() -> None:
        stores.append(b"\0".join(path.name.encode() + path.read_bytes() for path in sorted(folder.iterdir())))

    read()
    report = client.queue(answer)
    read()
    with collecting(survey) as collector:
        client.send(collector.url)
    read()
    return report.pack(), stores


@pytest.mark.parametrize("memoize", [True, False])
def test_two_answers_that_gave_the_same_report_leave_the_same_bytes(tmp_path: Path, memoize: bool) -> None:
    met = 0
    for secret in range(12):
        folders = [tmp_path / f"{secret}-{answer}" for answer in range(3)]
        runs = [kept_by(folder, WEAK, i, secret, memoize=memoize) for i, folder in enumerate(folders)]
        for (one, stores), (two, others) in itertools.combinations(runs, 2):
            met += one == two
            assert one != two or stores == others
    assert met >= 3, "too few answers met for the test to say anything; choose other secrets"


def remembered_by(answer: int, secret: int, way: str, *, memoize: bool) -> tuple[bytes, Counter[object]]:
    """The report of an answer on scripted words, and all that is in memory then."""
    words = [0, *([secret, 12, 13, 14] if memoize else [Random(secret).getrandbits(64)])]
    client = dn.Client(WEAK, memoize=memoize, entropy=ScriptedEntropy(64, [*words, *([21, 22] * (way == "queue"))]))
    report = getattr(client, way)(answer).pack()
    client.status()
    return report, Counter(leaves_of(client, *module_roots()))


@pytest.mark.parametrize("memoize", [True, False])
@pytest.mark.parametrize("way", ["report", "queue"])
def test_two_answers_that_gave_the_same_report_leave_the_same_memory(way: str, memoize: bool) -> None:
    """In the client, its modules and classes, and the environment: also cells, which no needle stands for."""
    remembered_by(0, 0, way, memoize=memoize)  # what is loaded late
    met = 0
    for secret in range(12):
        runs = [remembered_by(answer, secret, way, memoize=memoize) for answer in range(3)]
        for (one, memory), (two, other) in itertools.combinations(runs, 2):
            met += one == two
            assert one != two or memory == other
    assert met >= 3, "too few answers met for the test to say anything; choose other secrets"


def test_a_delivered_report_is_gone_from_every_byte(tmp_path: Path) -> None:
    """From the file, from the one that it replaced, and from what a crash left behind."""
    path = tmp_path / "me.json"
    client = dn.Client(OPEN, state=path)
    report = client.queue("rosebud").pack()
    (waiting,) = client.outbox
    (tmp_path / ".me.json.new").write_bytes(path.read_bytes())
    before = path.open("rb")  # whoever reads the blocks that the old files had
    left = (tmp_path / ".me.json.new").open("rb")
    with before, left, collecting(OPEN) as collector:
        assert report.hex().encode() in before.read()
        assert client.send(collector.url).accepted == 1
        for file in (before, left):
            file.seek(0)
            assert not file.read().strip(b"\0")
    data = b"".join(entry.read_bytes() for entry in tmp_path.iterdir())
    for trace in (report, report.hex().encode(), waiting.id.encode()):
        assert trace not in data
    assert json.loads(path.read_bytes())["outbox"] == []


@pytest.mark.parametrize("kept", [True, False], ids=["on disk", "in memory"])
def test_a_delivered_report_is_gone_from_memory(tmp_path: Path, kept: bool) -> None:
    """With its id: whoever reads this process later could tell which of a collector's reports were made here."""
    client = dn.Client(OPEN, state=tmp_path / "me.json" if kept else None)
    report = client.queue("rosebud").pack()
    (waiting,) = client.outbox

    def remembered() -> bool:
        leaves = set(leaves_of(client, *module_roots()))
        return bool(leaves & {waiting.id, bytes.fromhex(waiting.id), report, report.hex()})

    assert remembered() != kept, "until then it waits there, unless it waits in the file"
    with collecting(OPEN) as collector:
        assert client.send(collector.url).accepted == 1
    assert not remembered()


@posix
def test_a_file_with_another_name_is_not_wiped(tmp_path: Path) -> None:
    """A backup by hard links: what it holds is its own."""
    path = tmp_path / "me.json"
    client = dn.Client(OPEN, state=path)
    os.link(path, tmp_path / "backup.json")
    kept = path.read_bytes()
    client.report("rosebud")
    assert (tmp_path / "backup.json").read_bytes() == kept
    (tmp_path / "backup.json").unlink()


@posix
def test_the_state_is_read_whole_while_it_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody opens the file, another process replaces and wipes it, and then it is read."""
    path = tmp_path / "me.json"
    client = dn.Client(OPEN, state=path)
    real, pending = os.fstat, [lambda: dn.Client(OPEN, state=path).report("a")]

    def late(handle: int) -> os.stat_result:
        found = real(handle)
        if pending:
            pending.pop()()
        return found

    monkeypatch.setattr(os, "fstat", late)
    assert client.status().spent == 1.0


@posix
def test_no_file_is_open_to_others_for_a_moment(tmp_path: Path) -> None:
    with modes_of(tmp_path) as seen:
        client = dn.Client(OPEN, state=tmp_path / "me.json")
        client.queue("rosebud")
        client.report("rosebud")
    assert seen == {("me.json", 0o600), ("me.json.lock", 0o600), (".me.json.new", 0o600)}


@posix
def test_a_file_that_is_open_to_others_for_a_moment_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.open

    def lax(path: Any, flags: int, mode: int = 0o777) -> int:
        made = real(path, flags, 0o644)
        os.fchmod(made, mode)
        return made

    monkeypatch.setattr(os, "open", lax)
    with modes_of(tmp_path) as seen:
        dn.Client(OPEN, state=tmp_path / "me.json")
    assert (".me.json.new", 0o644) in seen


@posix
def test_a_write_that_failed_leaves_no_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was written for it is wiped: it holds the secret, and a report that nobody was given."""
    client = dn.Client(OPEN, state=tmp_path / "me.json")
    with contextlib.ExitStack() as stack:
        files: list[IO[bytes]] = []

        def fail(source: Path, _: Path) -> None:
            files.append(stack.enter_context(source.open("rb")))
            raise OSError(5, "Input/output error")

        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", fail)
            with pytest.raises(dn.StateError):
                client.queue("rosebud")
        (file,) = files
        assert not file.read().strip(b"\0")
    assert not client.outbox


@posix
def test_the_new_file_is_durable_before_it_has_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the name before the old file is wiped, and the zeros before anyone is told."""
    client = dn.Client(OPEN, state=tmp_path / "me.json")
    calls: list[str] = []

    def noted(name: str) -> None:
        real = getattr(os, name)

        def call(*given: Any) -> Any:
            is_folder = name == "fsync" and stat.S_ISDIR(os.fstat(given[0]).st_mode)
            calls.append(f"{name} of the folder" if is_folder else name)
            return real(*given)

        monkeypatch.setattr(os, name, call)

    for name in ("fsync", "replace", "pwrite"):
        noted(name)
    client.queue("rosebud")
    assert calls == ["fsync", "replace", "fsync of the folder", "pwrite", "fsync"]


@posix
@pytest.mark.parametrize("planted", ["a link", "a file"])
def test_a_file_that_somebody_puts_in_the_way_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planted: str
) -> None:
    """In a folder that others may write to: between the removal of what a crash left and the writing."""
    client = dn.Client(OPEN, state=tmp_path / "me.json")
    theirs, way = tmp_path / "theirs", tmp_path / ".me.json.new"
    theirs.touch()

    def late(path: Path) -> None:
        if planted == "a link":
            path.symlink_to(theirs)
        else:
            os.link(theirs, path)
        monkeypatch.undo()

    monkeypatch.setattr(room, "_wipe", late)
    with pytest.raises(dn.StateError, match="cannot be read or written"):
        client.queue("rosebud")
    assert theirs.read_bytes() == b""
    way.unlink(missing_ok=True)


def test_an_outbox_in_memory_shows_no_order() -> None:
    client = dn.Client(OPEN)
    made = [client.queue(f"number {i}").pack() for i in range(40)]
    ids = [waiting.id for waiting in client.outbox]
    assert ids == sorted(ids)
    assert sorted(waiting.report for waiting in client.outbox) == sorted(made)
    with collecting(OPEN) as collector:
        assert client.send(collector.url, batch=7).accepted == 40
    assert [name for name, _ in collector.seen] == ids, "nor does what is sent"


def test_an_upload_has_these_headers_and_no_others() -> None:
    client = dn.Client(KRR)
    client.queue("b")
    with collecting(KRR, 503) as collector:
        client.send(collector.url)
        client.send(collector.url, token="let-me-in")
    (_, plain, _), (_, named, _) = collector.requests
    expected = {
        "Accept-Encoding": "identity",
        "Accept": "application/json",
        "Connection": "close",
        "Content-Length": "26",
        "Content-Type": "application/octet-stream",
        "Host": collector.url.removeprefix("http://"),
        "User-Agent": "deniable",
    }
    assert {name.title(): value for name, value in plain.items()} == expected
    assert {name.title(): value for name, value in named.items()} == expected | {"Authorization": "Bearer let-me-in"}


class Fails(Entropy):
    """Randomness that ends, or a signal that comes while an answer is randomised."""

    def __init__(self, words: int, problem: BaseException) -> None:
        self.left, self.problem = words, problem

    def word(self) -> int:
        self.left -= 1
        if self.left < 0:
            raise self.problem
        return 2**63


@pytest.mark.parametrize("problem", [OSError("no entropy"), KeyboardInterrupt(), TimeoutError("too long")], ids=repr)
@pytest.mark.parametrize("kept", [True, False], ids=["on disk", "in memory"])
@pytest.mark.parametrize("way", ["report", "queue"])
def test_an_end_in_the_midst_of_an_answer_shows_nothing_of_it(
    tmp_path: Path, problem: BaseException, kept: bool, way: str
) -> None:
    """Programs that report errors send the local names of their frames along; `watched` reads those."""
    survey = dn.orappor(epsilon=1, cells=64, cohorts=4, hashes=2, seed=bytes(16))
    path = tmp_path / "me.json" if kept else None
    client = dn.Client(survey, state=path, memoize=False, entropy=Fails(5 if kept else 1, problem))
    with pytest.raises((type(problem), dn.StateError)) as caught:
        getattr(client, way)("rosebud")
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert not {"_randomized", "randomize"} & {frame.name for frame in frames}
    assert client.status().waiting == client.status().worst == 0


@posix
def test_a_signal_while_the_state_is_written_shows_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client = dn.Client(OPEN, state=tmp_path / "me.json")

    def stop(_: int) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", stop)  # and once more, while what was begun is removed
        with pytest.raises(KeyboardInterrupt):
            client.queue("rosebud")
    assert client.status().waiting == 0
    assert {path.name for path in tmp_path.iterdir()} == {"me.json", "me.json.lock"}


@posix
def test_a_link_in_the_place_of_the_lock_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "theirs").touch()
    (tmp_path / "me.json.lock").symlink_to(tmp_path / "theirs")
    with pytest.raises(dn.StateError, match=r"me\.json cannot be read or written: too many levels of symbolic links"):
        dn.Client(OPEN, state=tmp_path / "me.json")
    assert (tmp_path / "theirs").read_bytes() == b""
    assert not (tmp_path / "me.json").exists()
