"""Clients and the collector as one: what was queued is in the tally exactly once, whoever dies meanwhile.

The survey's epsilon is so large that every report names its own answer, and every answer is given once: a tally shows
each single report, 1 if it was counted, 0 if it was lost, 2 if it was counted twice.
"""

import contextlib
import dataclasses
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import deniable as dn
from deniable.client import Refusal
from deniable.service.sqlite import SQLiteStore
from tests.collector import Server, serving
from tests.contracts.test_js_client import JS, node
from tests.waiting import wait_for

pytestmark = pytest.mark.slow

EACH = 96
DEVICES = 2
SURVEY = dn.krr(symbols=[f"answer {i}" for i in range(EACH * DEVICES)], epsilon=40)
PATH = f"/v1/surveys/{SURVEY.digest}"
HERE = Path(__file__).parents[1]


def answers(device: int) -> list[str]:
    return [f"answer {i}" for i in range(EACH * device, EACH * (device + 1))]


@contextlib.contextmanager
def home() -> Iterator[Path]:
    """In memory where there is such a folder: hundreds of fsyncs are not what is tested."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as made:
        SURVEY.save(Path(made) / "survey.json")
        yield Path(made)


def counts(server: Server) -> list[int]:
    tally = dn.Tally.from_bytes(server.ask("GET", f"{PATH}/tally").body)
    return [int(count) for count in tally.counts.ravel()]


def accepted(server: Server) -> int:
    return int(server.ask("GET", f"{PATH}/counters").json()["counters"].get("accepted", 0))


def stay(server: Server) -> None:
    """Start at the same port from now on, as a collector with an address does."""
    server._command += ["--port", str(server.port)]


def disturb(server: Server, chance: random.Random) -> None:
    """Kill the collector, or stop it, and start it again."""
    time.sleep(chance.uniform(0.02, 0.2))
    if chance.random() < 0.7:
        server.kill()
    else:
        assert server.stop() == 0
    time.sleep(chance.uniform(0.0, 0.2))
    server.start()


def sent_by_python(place: Path, mutant: str = "") -> tuple[list[int], int, dict[str, int]]:
    """How often each answer was counted, how many lives the devices had, and the collector's counters."""
    for device in range(DEVICES):
        client = dn.Client(SURVEY, state=place / f"{device}.json")
        for answer in answers(device):
            client.queue(answer)
        assert len(client.outbox) == EACH
    with serving(str(place / "store"), place) as server:
        stay(server)
        server.create(SURVEY, minimum=0)
        url = f"http://127.0.0.1:{server.port}"
        command = [sys.executable, "-m", "tests.sending", str(place / "survey.json")]
        mutants = [mutant] if mutant else []
        running = [
            subprocess.Popen(
                [*command, str(place / f"{device}.json"), url, str(device), str(place / "gate"), *mutants],
                stdout=subprocess.PIPE, text=True,
            )
            for device in range(DEVICES)
        ]  # fmt: skip
        chance = random.Random("together")
        for _ in range(3):
            before = accepted(server)
            enough = EACH * DEVICES - 24
            wait_for(lambda: accepted(server) > before or accepted(server) >= enough, "a report")  # noqa: B023
            assert all(device.poll() is None for device in running), "they wait for the gate"
            disturb(server, chance)
        (place / "gate").touch()
        told = [device.communicate(timeout=600)[0] for device in running]
        assert [device.returncode for device in running] == [0] * DEVICES
        counters = server.ask("GET", f"{PATH}/counters").json()["counters"]
        return counts(server), sum(json.loads(text)["lives"] for text in told), counters


def test_python_devices_and_the_collector_die_and_every_report_is_counted_once() -> None:
    with home() as place:
        found, lives, counters = sent_by_python(place)
        assert found == [1] * (EACH * DEVICES)
        assert lives > 5 * DEVICES
        assert counters["accepted"] == EACH * DEVICES
        assert counters["duplicate"] > 0, "some died after the collector had counted and before they knew"
        for device in range(DEVICES):
            client = dn.Client(SURVEY, state=place / f"{device}.json")
            assert client.outbox == ()
            assert client.ledger[SURVEY].memoised == EACH
        store = SQLiteStore(place / "store", write=False)
        with store.reading() as session:
            days = {day for (day,) in session.run("SELECT day FROM ids").fetchall()}
        today = int(time.time() // 86_400)
        assert days <= {today - 1, today}, "ids are kept by the day that the clients said"
        assert days


def test_a_client_that_sends_anew_is_found_out() -> None:
    """Mutant: the same devices, but what waits gets new ids after a restart."""
    with home() as place:
        found, _, _ = sent_by_python(place, "mutant")
    assert max(found) > 1
    assert min(found) == 1


def test_a_javascript_device_and_the_collector_die_and_every_report_is_counted_once() -> None:
    values, chance = answers(0), random.Random("javascript")
    arrived: set[int] = set()
    with home() as place, serving(str(place / "store"), place) as server:
        stay(server)
        server.create(SURVEY, minimum=0)
        command = [node(), str(HERE / "sending.mjs"), str(JS), str(place / "survey.json")]
        command += [str(place / "state"), f"http://127.0.0.1:{server.port}"]
        ran = subprocess.run([*command, *values], capture_output=True, text=True, check=True)
        assert json.loads(ran.stdout)["waiting"] == EACH
        limits = os.environ | {"MOST": "2"}  # the first may repeat what the life before was not told of
        for deaths in range(1, 13):
            before = accepted(server)
            device = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=limits)
            # It lives until something more of it was counted, and a moment longer, which may be in the middle of
            # anything: on any machine it dies on the way.
            wait_for(lambda: accepted(server) > before or device.poll() is not None, "a report")  # noqa: B023
            time.sleep(chance.uniform(0, 0.005))
            device.kill()
            device.communicate()
            arrived.add(accepted(server))
            if deaths in (2, 5, 9):
                disturb(server, chance)
        device = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        told, _ = device.communicate(timeout=600)
        assert (device.returncode, json.loads(told)["waiting"]) == (0, 0)
        assert len(arrived - {0, EACH}) >= 2, "it died on the way, and not only before and after"
        assert counts(server) == [1] * EACH + [0] * (EACH * (DEVICES - 1))


def test_what_a_closed_survey_refuses_leaves_the_outbox_of_both_clients_alike(tmp_path: Path) -> None:
    """The real collector's words, and the same status from Python and JavaScript."""
    SURVEY.save(tmp_path / "survey.json")
    client = dn.Client(SURVEY, state=tmp_path / "me.json")
    with serving(str(tmp_path / "store"), tmp_path) as server:
        url = f"http://127.0.0.1:{server.port}"
        command = [node(), str(HERE / "sending.mjs"), str(JS), str(tmp_path / "survey.json"), str(tmp_path / "js"), url]

        def javascript(*values: str) -> dict[str, object]:
            ran = subprocess.run([*command, *values], capture_output=True, text=True)
            assert ran.returncode == 0, ran.stderr
            told: dict[str, object] = json.loads(ran.stdout)
            return told

        def python() -> dict[str, object]:
            names = {"total_spent": "totalSpent", "total_worst": "totalWorst"}
            return {names.get(name, name): value for name, value in dataclasses.asdict(client.status()).items()}

        server.create(SURVEY, minimum=0)
        for count in (2, 4):
            for answer in answers(0)[:count]:
                client.queue(answer)
            assert python() == javascript(*answers(0)[:count])
            assert python()["waiting"] == count
            if count == 4:
                assert server.ask("POST", f"{PATH}/close").status == 200
            found = client.send(url)
            assert (found.accepted, len(found.refused)) == ((2, 0) if count == 2 else (0, 4))
            assert python() == javascript()
        assert python() == {
            "cohort": 0, "waiting": 0, "refused": {"closed": 4}, "spent": 40.0, "worst": 240.0, "totalSpent": 40.0,
            "totalWorst": 240.0,
        }  # fmt: skip
        assert counts(server)[:5] == [2, 2, 0, 0, 0]


def test_what_is_not_taken_stays_with_a_sentence_and_what_never_will_be_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = dn.Client(SURVEY, state=tmp_path / "me.json")
    now = time.time()
    for answer in answers(0)[:5]:
        client.queue(answer)
    waiting = client.outbox
    with serving(str(tmp_path / "store"), tmp_path) as server:
        url = f"http://127.0.0.1:{server.port}"

        def refused(**options: str) -> str:
            with pytest.raises(dn.DeliveryError) as caught:
                client.send(url, **options)  # type: ignore[arg-type]
            assert client.outbox == waiting
            start, end = f"{url}{PATH}/reports must take reports, but answered ", "; the reports wait in the outbox"
            assert str(caught.value).startswith(start)
            assert str(caught.value).endswith(end)
            return str(caught.value)[len(start) : -len(end)]

        for day in (0, 29, 30):  # it drops on the last of these, but not what comes after it is known
            monkeypatch.setattr("time.time", lambda day=day: now + day * 86_400)
            if day < 30:
                assert refused() == f"404 (survey {SURVEY.digest[:8]} is not known here)"
        assert {refusal.reason for refusal in client.send(url).refused} == {"unknown-survey"}
        assert client.status().refused == {"unknown-survey": 5}
        monkeypatch.undo()
        for answer in answers(0)[:5]:
            client.queue(answer)
        waiting = client.outbox
        server.create(SURVEY, uploads="token", minimum=0)
        made = {
            kind: server.ask("POST", f"{PATH}/tokens", json.dumps({"kind": kind}).encode()).json()["token"]
            for kind in ("upload", "read")
        }
        assert refused() == "401 (uploads to this survey must carry an upload token)"
        for wrong in ("nonsense", made["read"]):
            assert refused(token=wrong) == "403 (the token must be an upload token of this survey)"
        assert client.send(url, token=made["upload"]).accepted == 5

        # A device that was away for too long is told so; one whose clock is ahead is counted all the same.
        for days in (-40, 400):
            monkeypatch.setattr("time.time", lambda days=days: now + days * 86_400)
            client.queue(answers(0)[6 if days < 0 else 7])
        monkeypatch.undo()
        old, _ = sorted(client.outbox, key=lambda w: w.day or 0)
        found = client.send(url, token=made["upload"])
        assert (found.accepted, found.refused, found.waiting) == (1, (Refusal(old.id, "too_old"),), 0)

        client.queue(answers(0)[8])
        (last,) = client.outbox
        assert server.ask("POST", f"{PATH}/close").status == 200
        found = client.send(url, token=made["upload"])
        assert (found.refused, found.waiting) == ((Refusal(last.id, "closed"),), 0)
        assert found.problem == (
            f"{url}{PATH}/reports must take reports, but answered 410 "
            f"(survey {SURVEY.digest[:8]} is closed and takes no reports); 1 report was dropped"
        )
        assert client.status().refused == {"unknown-survey": 5, "refused": 1, "closed": 1}
        expected = np.zeros(EACH * DEVICES, int)
        expected[[0, 1, 2, 3, 4, 7]] = 1
        assert counts(server) == expected.tolist()
        assert server.stop() == 0
