"""The device's client: its state on disk, its memory, and what it refuses."""

import copy
import json
import os
import pickle
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import deniable as dn
from deniable.client import Client, state
from deniable.errors import StateError
from deniable.mechanisms import BitFlip
from deniable.survey import Alphabet, Direct, Survey
from tests.exact.scripted import ScriptedEntropy
from tests.forensics import Watch
from tests.forensics import watched as watched
from tests.waiting import PATIENCE

SEED = bytes(range(16))
SURVEY = dn.orappor(epsilon=1, cells=64, cohorts=1000, hashes=2, seed=SEED)
ANSWERS = ("rosebud", "caf\u00e9", 42, b"\xff")


def test_state_survives_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "me.json"
    first = Client(SURVEY, state=path)
    sent = [first.report(answer).pack() for answer in ANSWERS]
    for _ in range(3):
        again = Client(SURVEY, state=str(path))
        assert again.cohort == first.cohort
        assert [again.report(answer).pack() for answer in ANSWERS] == sent
    assert Client(SURVEY).report(ANSWERS[0]).pack() != sent[0]


def test_state_holds_no_answer_and_is_private(tmp_path: Path) -> None:
    path = tmp_path / "me.json"
    old = os.umask(0)
    try:
        client = Client(SURVEY, state=path)
    finally:
        os.umask(old)
    for answer in ANSWERS:
        client.report(answer)
    assert {entry.name for entry in tmp_path.iterdir()} == {"me.json", "me.json.lock"}
    assert all(stat.S_IMODE(entry.stat().st_mode) == 0o600 for entry in tmp_path.iterdir())
    fields = json.loads(path.read_bytes())
    assert sorted(fields) == ["check", "format", "outbox", "secret", "surveys"]
    assert fields["outbox"] == []
    (entry,) = fields["surveys"].values()
    assert sorted(entry) == ["answers", "cohort", "epsilon", "epsilon_report", "fresh", "memoised"]
    assert b"rosebud" not in path.read_bytes()


def damaged(path: Path, secret: str) -> None:
    with pytest.raises(StateError) as caught:
        Client(SURVEY, state=path)
    assert str(caught.value) == (
        f"client state {path} is damaged or not a client's state; restore it, or delete it with me.json.lock "
        "and accept that earlier reports and new ones can be combined"
    )
    # Nor does what Python chains to the error hold the text of the file, and with it the device's secret.
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    assert secret not in repr(caught.value)


def test_every_truncation_and_every_changed_byte_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "me.json"
    Client(SURVEY, state=path).queue("rosebud")
    good = path.read_bytes()
    secret = json.loads(good)["secret"]
    for length in range(len(good) - 1):
        path.write_bytes(good[:length])
        damaged(path, secret)
    for position in range(len(good) - 1):
        path.write_bytes(good[:position] + bytes([good[position] ^ 1]) + good[position + 1 :])
        damaged(path, secret)
    path.write_bytes(good)
    Client(SURVEY, state=path)


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"null", b"3", b'"text"', b"[]", b"{}", b"[" * 100_000, b"\xff\xfe", b'{"check": 5, "format": "x"}'),
        *(b'{"check": "\xc3\xa9", "format": "deniable-client/1"}', b'{"check": null, "format": "deniable-client/1"}'),
    ],
    ids=lambda content: repr(content[:20]),
)
def test_foreign_files_are_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "me.json"
    path.write_bytes(content)
    damaged(path, "secret")
    assert path.read_bytes() == content
    assert (tmp_path / "me.json.lock").read_bytes() == b""  # which would say that a client's state was here


def test_memory_can_be_switched_off() -> None:
    client = Client(SURVEY, memoize=False)
    assert len({client.report("rosebud").pack() for _ in range(20)}) == 20


def test_two_devices_share_nothing() -> None:
    survey = dn.krappor(symbols=64, epsilon=1)
    assert len({Client(survey).report(5).pack() for _ in range(20)}) == 20


def test_permanent_words_differ_by_answer_cohort_and_survey() -> None:
    client = Client(SURVEY)
    other = Client(dn.orappor(epsilon=1, cells=64, cohorts=1000, hashes=2, seed=SEED, name="another"))
    other._secret, other._cohort = client._secret, client._cohort
    seen = set[int]()
    for source in (client._permanent_words((1, 2)), client._permanent_words((1, 3)), client._permanent_words((1,))):
        seen.update(source.words(8))
    seen.update(other._permanent_words((1, 2)).words(8))
    client._cohort = (client._cohort + 1) % 1000
    seen.update(client._permanent_words((1, 2)).words(8))
    assert len(seen) == 40


def test_entropy_must_fit_the_survey() -> None:
    with pytest.raises(ValueError, match=r"^entropy must give 64-bit words, got 8-bit words$"):
        Client(SURVEY, entropy=ScriptedEntropy(8, []))


def test_small_words_are_never_memoised() -> None:
    """Permanent words have 64 bits; against thresholds of 8 bits they would practically never flip a bit."""
    survey = Survey(Alphabet.closed(4), Direct(4), BitFlip(4, 1, 2, 8))
    with pytest.raises(
        ValueError, match=r"^a memoised survey must use 64-bit words, got 8-bit words; pass memoize=False$"
    ):
        Client(survey, entropy=ScriptedEntropy(8, []))


def test_repr_shows_the_device_not_the_answer(tmp_path: Path) -> None:
    survey = dn.warner(epsilon=1)
    whose = f"<Client of survey {survey.digest[:8]}, cohort 0 of 1, "
    path = tmp_path / "me.json"
    assert repr(Client(survey)) == whose + "memoised in memory only>"
    assert repr(Client(survey, memoize=False)) == whose + "not memoised>"
    assert repr(Client(survey, state=path)) == whose + f"memoised, state in {path}>"
    assert repr(Client(survey, state=path, memoize=False)) == whose + f"not memoised, state in {path}>"
    client = Client(SURVEY)
    report = client.report("rosebud")
    assert "rosebud" not in repr(client)
    assert repr(report) == f"Report(survey={SURVEY.digest[:8]}, cohort={client.cohort}, payload={report.payload.hex()})"
    assert client.survey is SURVEY


def test_client_keeps_no_trace_of_an_answer() -> None:
    """Every slot is the same object before and after: an answer leaves nothing behind."""
    client = Client(SURVEY)
    before = {name: getattr(client, name) for name in Client.__slots__}
    for answer in ANSWERS:
        client.report(answer)
    assert not hasattr(client, "__dict__")
    assert all(getattr(client, name) is value for name, value in before.items())


def test_answers_of_numpy_types_are_the_plain_ones() -> None:
    client = Client(SURVEY)
    assert client.report(np.int64(42)) == client.report(42)
    assert client.report(np.str_("rosebud")) == client.report("rosebud")


def test_the_catch_all_takes_what_is_no_symbol_at_all() -> None:
    survey = dn.krr(symbols=["a", "b"], epsilon=1, other="else")
    for value in (None, 2.5, True, "\ud800", object(), ["a"]):
        assert survey.encode(0, value) == (2,)
    with pytest.raises(dn.AlphabetError):
        dn.krr(symbols=["a", "b"], epsilon=1).encode(0, None)


def test_clients_that_start_at_once_share_one_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is first writes, and all end up with that cohort and secret."""
    monkeypatch.setattr(state, "PATIENCE", PATIENCE)  # forty changes reach the disk one after the other
    survey = dn.orr(epsilon=1, cells=4, cohorts=1000, seed=bytes(16))
    path, start = tmp_path / "state.json", threading.Barrier(8)

    def one(_: int) -> list[dn.Report]:
        start.wait()
        client = dn.Client(survey, state=path)
        return [client.report(i) for i in range(5)]

    with ThreadPoolExecutor(8) as pool:
        reports = list(pool.map(one, range(8)))
    assert all(found == reports[0] for found in reports)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["state.json", "state.json.lock"]
    assert dn.Client(survey, state=path).ledger[survey].memoised == 40


def test_a_state_that_others_can_read_is_refused(tmp_path: Path, watched: Watch) -> None:
    watched.shared = True
    survey = dn.warner(epsilon=1)
    path = tmp_path / "state.json"
    client = dn.Client(survey, state=path)
    path.chmod(0o644)
    for attempt in (lambda: dn.Client(survey, state=path), lambda: client.report("yes"), lambda: client.ledger):
        with pytest.raises(dn.StateError) as caught:
            attempt()
        assert str(caught.value) == f"client state {path} must be readable by its owner only; run chmod 600 on it"


def test_a_report_out_of_range_is_not_packed() -> None:
    with pytest.raises(dn.WireError, match="report cohort must be below 1, got 300"):
        dn.Report(dn.warner(epsilon=1), 300, b"\x00").pack()


def test_a_client_is_not_copied() -> None:
    client = dn.Client(dn.warner(epsilon=1))
    sentence = "a client is one device and holds its secret: it must not be pickled or copied"
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match=sentence):
            attempt(client)


def test_a_number_in_an_array_is_no_symbol() -> None:
    survey = dn.krr(symbols=[0, 1], epsilon=1)
    assert survey.encode(0, np.array(1)) == (1,)
    for value in (np.array(1.5), np.array([1]), np.array("1")):
        with pytest.raises(dn.AlphabetError, match="symbol must be text, an integer or bytes, got ndarray"):
            dn.Client(survey).report(value)
