"""A device's state: lost, foreign, shared, full, read-only; its ledger and caps; and no answer in any of it."""

import errno
import json
import multiprocessing
import os
import struct
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

import deniable as dn
from deniable.client import Account
from deniable.client import state as room
from deniable.client.state import StateFile, _checksum
from deniable.noise import OsEntropy
from tests.exact.scripted import ScriptedEntropy
from tests.forensics import watched as watched
from tests.unit.reproduce.test_cache import nobody
from tests.waiting import PATIENCE

KRR = dn.krr(symbols=["rosebud", "b", "c"], epsilon=2)
TWICE = dn.krr(symbols=["rosebud", "b", "c"], epsilon=2, epsilon_report="1/2")
OPEN = dn.orr(epsilon=1, cells=8, cohorts=500, seed=bytes(16))
BLOOM = dn.orappor(epsilon=1, cells=8, cohorts=5, hashes=2, seed=bytes(16))


def test_a_state_that_is_gone_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "me.json"
    client = dn.Client(OPEN, state=path)
    path.unlink()
    sentence = (
        f"client state {path} is gone, but me.json.lock says that this device had one; restore it, or delete "
        "me.json.lock too and accept that earlier reports and new ones can be combined"
    )
    for attempt in (lambda: dn.Client(OPEN, state=path), lambda: client.report("a"), lambda: client.queue("a")):
        with pytest.raises(dn.StateError) as caught:
            attempt()
        assert str(caught.value) == sentence
    assert not path.exists()
    (tmp_path / "me.json.lock").unlink()
    assert dn.Client(OPEN, state=path).ledger.worst == 0


def test_a_crash_before_the_first_state_is_no_loss(tmp_path: Path) -> None:
    (tmp_path / "me.json.lock").touch()
    dn.Client(OPEN, state=tmp_path / "me.json")


def test_surveys_of_a_device_share_its_file(tmp_path: Path) -> None:
    path = tmp_path / "me.json"
    first, second = dn.Client(KRR, state=path), dn.Client(OPEN, state=path)
    first.report("b")
    second.queue("x")
    assert first._secret == second._secret
    assert first.ledger == second.ledger
    assert first.outbox == ()
    assert len(second.outbox) == 1
    assert dn.Client(OPEN, state=path).cohort == second.cohort
    assert first.ledger.spent == 3.0
    assert repr(first.ledger) == "<Ledger: 2 reports to 2 surveys; spent 3 if answers stayed the same, at most 3>"
    assert [account.survey for account in first.ledger] == sorted([KRR.digest, OPEN.digest])
    assert len(first.ledger) == 2
    assert first.ledger[TWICE] == Account.of(TWICE)


def test_a_file_of_version_0_1_is_read_and_counts_as_used(tmp_path: Path) -> None:
    path = tmp_path / "me.json"
    fields: dict[str, object] = {"format": "deniable-client/1", "survey": OPEN.digest, "cohort": 7}
    fields["secret"] = bytes(range(32)).hex()
    fields["check"] = room._checksum(fields)
    path.write_text(json.dumps(fields, sort_keys=True))
    path.chmod(0o600)
    with pytest.raises(dn.StateError) as caught:
        dn.Client(KRR, state=path)
    assert str(caught.value) == (
        f"client state {path} is for survey {OPEN.digest[:8]}, not {KRR.digest[:8]}, and of version 0.1; "
        "open it once with its own survey"
    )
    client = dn.Client(OPEN, state=path)
    assert (client.cohort, client._secret) == (7, bytes(range(32)))
    assert client.ledger.spent == 1.0
    assert json.loads(path.read_bytes())["format"] == "deniable-client/2"
    assert dn.Client(KRR, state=path)._secret == client._secret


def test_another_devices_file_is_refused(tmp_path: Path) -> None:
    mine, theirs = tmp_path / "mine.json", tmp_path / "theirs.json"
    client = dn.Client(KRR, state=mine)
    dn.Client(KRR, state=theirs)
    os.replace(theirs, mine)
    for attempt in (lambda: client.report("b"), lambda: client.ledger, lambda: client._settle(("x",), {})):
        with pytest.raises(dn.StateError) as caught:
            attempt()
        assert str(caught.value) == (
            f"client state {mine} must stay the one that this client read, got another device's; make a new Client"
        )


@pytest.mark.parametrize(
    ("change", "value"),
    [
        ("cohort", 500),
        ("cohort", -1),
        ("cohort", True),
        ("memoised", -1),
        ("fresh", 1.5),
        ("answers", "3"),
        ("epsilon", "1/0"),
        ("epsilon", None),
    ],
)
def test_a_state_with_impossible_numbers_is_damaged(tmp_path: Path, change: str, value: object) -> None:
    path = tmp_path / "me.json"
    dn.Client(OPEN, state=path)
    fields = json.loads(path.read_bytes())
    del fields["check"]
    fields["surveys"][OPEN.digest][change] = value
    fields["check"] = room._checksum(fields)
    path.write_text(json.dumps(fields, sort_keys=True))
    with pytest.raises(dn.StateError, match="is damaged or not a client's state"):
        dn.Client(OPEN, state=path)


@pytest.mark.parametrize(
    "change", [{"format": "deniable-client/3"}, {"more": 1}, {"secret": "00"}, {"outbox": [["a"]]}]
)
def test_a_state_of_another_shape_is_damaged(tmp_path: Path, change: dict[str, object]) -> None:
    path = tmp_path / "me.json"
    dn.Client(OPEN, state=path)
    fields = json.loads(path.read_bytes()) | change
    del fields["check"]
    fields["check"] = room._checksum(fields)
    path.write_text(json.dumps(fields, sort_keys=True))
    with pytest.raises(dn.StateError, match="is damaged or not a client's state"):
        dn.Client(OPEN, state=path)


def _hold(path: str, ready: object, done: object) -> None:
    with StateFile(path).change(OPEN):
        ready.set()  # type: ignore[attr-defined]
        done.wait()  # type: ignore[attr-defined]


def test_two_processes_wait_for_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "me.json"
    client = dn.Client(OPEN, state=path)
    spawn = multiprocessing.get_context("spawn")
    ready, done = spawn.Event(), spawn.Event()
    other = spawn.Process(target=_hold, args=(str(path), ready, done))
    other.start()
    try:
        assert ready.wait(PATIENCE)
        monkeypatch.setattr(room, "PATIENCE", 0.05)
        with pytest.raises(dn.StateError) as caught:
            client.report("a")
        assert str(caught.value) == f"client state {path} is in use by another process; wait until it is done"
        monkeypatch.setattr(room, "PATIENCE", PATIENCE)
    finally:
        done.set()
    client.report("a")
    other.join(PATIENCE)
    assert other.exitcode == 0
    assert client.ledger.worst == 1.0


def test_a_link_to_a_state_is_followed(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    link, target = tmp_path / "me.json", tmp_path / "there" / "state.json"
    link.symlink_to(target)
    dn.Client(OPEN, state=link).report("a")
    assert link.is_symlink()
    assert dn.Client(OPEN, state=target).ledger.worst == 1.0


FULL = """
import resource, signal, sys
import deniable as dn
survey, path = dn.Survey.load(sys.argv[1]), sys.argv[2]
client = dn.Client(survey, state=path)
first = client.queue("rosebud").pack()
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
for attempt in (client.report, client.queue):
    try:
        attempt("rosebud")
    except dn.StateError as problem:
        print(problem)
print(len(client.outbox), client.ledger.worst, client.outbox[0].report == first)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits on file sizes are set with setrlimit")
def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    """The kernel refuses the 101st byte; what was there stays, and nothing is reported that is not on disk."""
    KRR.save(tmp_path / "survey.json")
    path = tmp_path / "me.json"
    ran = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path / "survey.json"), str(path)], capture_output=True, text=True
    )
    assert ran.stderr == ""
    sentence = f"client state {path} cannot be read or written: file too large; what it held is kept, try again"
    assert ran.stdout.splitlines() == [sentence, sentence, "1 2.0 True"]
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["me.json", "me.json.lock", "survey.json"]
    assert len(dn.Client(KRR, state=path).outbox) == 1


@pytest.mark.parametrize("call", ["fsync", "replace", "open"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EIO])
def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, code: int) -> None:
    path = tmp_path / "me.json"
    client = dn.Client(KRR, state=path)
    client.queue("b")
    before = path.read_bytes()

    def refuse(*_: object, **__: object) -> int:
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patch:
        patch.setattr(os, call, refuse)
        for attempt in (client.report, client.queue):
            with pytest.raises(dn.StateError) as caught:
                attempt("rosebud")
            assert str(caught.value) == (
                f"client state {path} cannot be read or written: {os.strerror(code).lower()}; "
                "what it held is kept, try again"
            )
    assert path.read_bytes() == before
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["me.json", "me.json.lock"]


@pytest.mark.skipif(not hasattr(os, "setresuid"), reason="permission bits are POSIX")
def test_a_folder_that_may_only_be_read() -> None:
    """A real one, of a user who is not root: nothing is reported that cannot be kept, and later all is as it was."""
    with nobody() as folder:
        path = folder / "me.json"
        client = dn.Client(KRR, state=path)
        first = client.queue("rosebud").pack()
        folder.chmod(0o555)
        for attempt in (client.report, client.queue):
            with pytest.raises(
                dn.StateError, match="cannot be read or written: permission denied; what it held is kept"
            ):
                attempt("rosebud")
        assert (len(client.outbox), client.ledger.worst) == (1, 2.0)
        folder.chmod(0o755)
        assert client.queue("rosebud").pack() == first
        assert len(client.outbox) == 2


def test_no_folder_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(dn.StateError, match="cannot be read or written: no such file or directory; what it held is"):
        dn.Client(KRR, state=tmp_path / "nowhere" / "me.json")


def test_accounts() -> None:
    """spent: if the answer stayed the same; worst: whatever was answered."""
    once = Account("x", Fraction(2), Fraction(2), 3, memoised=1)
    assert (once.spent, once.worst) == (2.0, 2.0)
    often = Account("x", Fraction(2), Fraction(2), 3, memoised=100)
    assert (often.spent, often.worst) == (2.0, 6.0)  # three answers exist
    chained = Account("x", Fraction(2), Fraction(1, 2), None, memoised=3)
    assert (chained.spent, chained.worst) == (1.5, 1.5)
    chained = Account("x", Fraction(2), Fraction(1, 2), None, memoised=100)
    assert (chained.spent, chained.worst) == (2.0, 50.0)
    fresh = Account("x", Fraction(2), Fraction(1, 2), 3, memoised=1, fresh=10)
    assert (fresh.spent, fresh.worst) == (5.5, 5.5)
    closed = dn.orr(symbols=40, epsilon=1, cells=8, cohorts=2)
    assert [Account.of(survey).answers for survey in (KRR, OPEN, BLOOM, closed)] == [3, 8, None, 8]


@pytest.mark.parametrize("kept", [True, False], ids=["on disk", "in memory"])
def test_caps(tmp_path: Path, kept: bool) -> None:
    path = tmp_path / "me.json" if kept else None
    client = dn.Client(KRR, state=path, cap=2)
    for answer in ("b", "c", "b", "b"):
        client.queue(answer)
    assert (client.ledger.spent, client.ledger.worst) == (2.0, 6.0)
    hard = dn.Client(KRR, state=path, hard_cap="4.5")
    for _ in range(0 if kept else 2):  # a client in memory has an account of its own
        hard.report("b")
    with pytest.raises(dn.BudgetError) as caught:
        hard.report("b")
    assert str(caught.value) == (
        "hard_cap must not be exceeded: this report would bring the total to epsilon 6 of 4.5; ask this device no more"
    )
    shot = dn.Client(KRR, state=path, memoize=False, cap=3)
    if not kept:
        shot.report("b")
    sentence = "cap must not be exceeded: this report would bring the total to epsilon 4 of 3"
    with pytest.raises(dn.BudgetError, match=sentence):
        shot.queue("b")
    assert len(client.outbox) == 4
    with pytest.raises(dn.SurveyError, match="cap must be a positive finite number, decimal text or a fraction"):
        dn.Client(KRR, cap=-1)


def test_a_refused_report_is_neither_counted_nor_queued(tmp_path: Path) -> None:
    client = dn.Client(KRR, state=tmp_path / "me.json", cap=1)
    for attempt in (client.report, client.queue):
        for answer in ("b", "lynx", None, "\ud800"):
            # Nothing tells an answer that the survey takes from one that it does not: it is not looked at.
            with pytest.raises(dn.BudgetError):
                attempt(answer)
    open_to_more = dn.Client(KRR, state=tmp_path / "me.json")
    for attempt in (open_to_more.report, open_to_more.queue):
        with pytest.raises(dn.AlphabetError):
            attempt("lynx")
    assert client.ledger.worst == 0
    assert client.outbox == ()


@pytest.mark.parametrize("answer", ["b", "lynx"])
def test_a_device_that_can_make_no_report_does_not_look_at_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    client = dn.Client(KRR, state=tmp_path / "me.json")
    client.queue("b")
    monkeypatch.setattr("deniable.client.client.MAX_WAITING", 1)
    with pytest.raises(dn.StateError, match="the outbox must hold at most 1 reports; send them first"):
        client.queue(answer)
    (tmp_path / "me.json").unlink()
    for attempt in (client.report, client.queue):
        with pytest.raises(dn.StateError, match="is gone, but"):
            attempt(answer)


@pytest.mark.parametrize("memoize", [True, False])
@pytest.mark.parametrize("kept", [True, False])
def test_an_id_is_128_fresh_bits_and_nothing_else(tmp_path: Path, kept: bool, memoize: bool) -> None:
    """Two words that nothing else was made of: an id that follows from a report, or from the secret, would name it."""
    drawn: list[tuple[int, ...]] = []

    class Noting(OsEntropy):
        __slots__ = ()

        def words(self, count: int) -> Sequence[int]:
            drawn.append(tuple(super().words(count)))
            return drawn[-1]

    client = dn.Client(KRR, state=tmp_path / "me.json" if kept else None, memoize=memoize, entropy=Noting())
    for number in range(1, 9):
        drawn.clear()
        client.queue("rosebud")
        assert len(client.outbox) == number
        pairs = {struct.pack("<2Q", *words).hex() for words in drawn if len(words) == 2}
        assert len(pairs & {waiting.id for waiting in client.outbox}) == 1


def test_the_outbox_is_bounded_and_shows_no_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "me.json"
    client = dn.Client(OPEN, state=path)
    sent = [client.queue(f"answer {i}").pack() for i in range(20)]
    waiting = client.outbox
    assert sorted(w.report for w in waiting) == sorted(sent)
    assert [w.id for w in waiting] == sorted(w.id for w in waiting)
    assert [row[1] for row in json.loads(path.read_bytes())["outbox"]] == [w.id for w in waiting]
    assert all(len(w.id) == 32 and w.survey == OPEN.digest for w in waiting)
    assert len({w.id for w in waiting}) == 20
    monkeypatch.setattr("deniable.client.client.MAX_WAITING", 20)
    with pytest.raises(dn.StateError, match=r"^the outbox must hold at most 20 reports; send them first$"):
        client.queue("one more")
    assert client.ledger[OPEN].memoised == 20


def test_a_state_whose_reports_have_no_day_is_read_and_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "me.json"
    client = dn.Client(OPEN, state=path)
    client.queue("a")
    with StateFile(path).change(OPEN) as kept:
        kept.outbox = {name: replace(waiting, day=None) for name, waiting in kept.outbox.items()}
    old = path.read_bytes()
    assert [len(row) for row in json.loads(old)["outbox"]] == [3]
    again = dn.Client(OPEN, state=path)
    assert path.read_bytes() == old
    assert [w.day for w in again.outbox] == [None]
    again.queue("b")
    assert sorted(len(row) for row in json.loads(path.read_bytes())["outbox"]) == [3, 4]
    for wrong in (-1, "20800", 1.5, True):
        fields = json.loads(old)
        fields["outbox"][0].append(wrong)
        del fields["check"]
        path.write_text(json.dumps(fields | {"check": _checksum(fields)}))
        with pytest.raises(dn.StateError, match="is damaged or not a client's state"):
            dn.Client(OPEN, state=path)


def test_report_ids_are_two_words() -> None:
    survey = dn.warner(epsilon=1)
    with ScriptedEntropy(64, [0, 5, 6, 7, 8, 1, 2**64 - 1]) as entropy:
        client = dn.Client(survey, entropy=entropy)
        client.queue("yes")
    assert [w.id for w in client.outbox] == ["0100000000000000" + "ff" * 8]
