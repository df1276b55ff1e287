"""Faults, and what they do to reports: each function makes one happen under load and counts what was lost or doubled.

Every report of the load has a cell of its own. After the fault the load sends again whatever was not acknowledged, as
clients do, and some of what was; then each acknowledged report must be in the tally once.
"""

import asyncio
import contextlib
import http.client
import os
import random
import shutil
import socket
import sqlite3
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import deniable as dn
from deniable.service.backends import read_store
from deniable.service.sqlite import FILE, SQLiteStore
from tests.cluster import Cluster
from tests.collector import Caller, Server, Ticking, ask, counted, one_cell_each, records, serving
from tests.waiting import PATIENCE

__all__ = ["FAULTS", "Verdict", "limit_pages"]

SURVEY = one_cell_each(1 << 18)
PATH = f"/v1/surveys/{SURVEY.digest}/reports"


@dataclass(frozen=True)
class Verdict:
    """What a fault did: of so many acknowledged reports, how many are missing and how many are there twice."""

    fault: str
    sent: int
    acknowledged: int
    lost: int
    doubled: int
    note: str = ""

    @property
    def sound(self) -> bool:
        return self.lost == self.doubled == 0 < self.acknowledged

    def __str__(self) -> str:
        counts = f"acknowledged {self.acknowledged:>7,}  lost {self.lost}  doubled {self.doubled}"
        return f"{self.fault:<34} {counts}" + (f"  ({self.note})" if self.note else "")


def judge(fault: str, tally: dn.Tally, acknowledged: set[int], sent: int, note: str = "") -> Verdict:
    counts = counted(tally)
    known = np.fromiter(acknowledged, np.int64, len(acknowledged))
    lost, doubled = int((counts[known] == 0).sum()), int((counts > 1).sum())
    doubled += int((counts[sent:] > 0).sum())  # what nobody sent
    return Verdict(fault, sent, len(acknowledged), lost, doubled, note)


class Load:
    """Clients that send reports, one to twenty a request, and send again whatever was not acknowledged."""

    def __init__(self, server: Callable[[], Server], *, clients: int = 4, seed: int = 0) -> None:
        self._server, self._stop, self._lock = server, threading.Event(), threading.Lock()
        self._random = random.Random(seed)
        self.sent = 0
        self.acknowledged: set[int] = set()
        self.open: list[list[int]] = []
        self.refused: set[str] = set()
        self.missing = 0
        self._threads = [threading.Thread(target=self._client, daemon=True) for _ in range(clients)]

    def __enter__(self) -> "Load":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.finish()

    def finish(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(600)

    def _next(self) -> list[int]:
        with self._lock:
            if self.open and (len(self.open) > 20 or self._random.random() < 0.5):
                return self.open.pop(self._random.randrange(len(self.open)))
            size = self._random.choice([1, 1, 1, 5, 20])
            first, self.sent = self.sent, self.sent + size
            assert self.sent < 1 << 18, "the survey has no cell for more reports"
            return list(range(first, first + size))

    def _client(self) -> None:
        connection: http.client.HTTPConnection | None = None
        while not self._stop.is_set():
            numbers = self._next()
            try:
                connection = connection or self._server().connect()
                self.send(connection, numbers)
            except (OSError, http.client.HTTPException):
                with self._lock:
                    self.open.append(numbers)
                if connection is not None:
                    connection.close()
                connection = None
                time.sleep(0.01)
        if connection is not None:
            connection.close()

    def send(self, connection: http.client.HTTPConnection, numbers: list[int]) -> None:
        """Send reports; they are acknowledged, or open again."""
        answer = ask(connection, "POST", PATH, records(SURVEY, numbers))
        with self._lock:
            if answer.status == 200 and not answer.json()["refused"]:
                self.acknowledged |= set(numbers)
            else:
                self.refused.add(answer.body.decode())
                self.open.append(numbers)

    def settle(self) -> None:
        """Send what is open until all of it is acknowledged, and a tenth of what was once more."""
        with contextlib.closing(self._server().connect()) as connection:
            end = time.monotonic() + 600
            while self.open and time.monotonic() < end:
                self.send(connection, self.open.pop())
            assert not self.open, f"not acknowledged after ten minutes: {self.refused}"
            assert len(self.acknowledged) == self.sent
            again = sorted(self.acknowledged)[::10]
            for start in range(0, len(again), 1000):
                answer = ask(connection, "POST", PATH, records(SURVEY, again[start : start + 1000])).json()
                self.missing += answer["accepted"]  # acknowledged, and new all the same: it had been lost

    def judge(self, fault: str, store: str, note: str = "") -> Verdict:
        """What became of all that was acknowledged."""
        found = judge(fault, _tally(store), self.acknowledged, self.sent, note)
        return replace(found, lost=found.lost + self.missing)


@contextlib.contextmanager
def folder(where: str | None = None) -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="deniable-fault-", dir=where))
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _tally(store: str) -> dn.Tally:
    opened = read_store(store)
    entry = opened.entry(SURVEY.digest)
    assert entry is not None
    found = opened.tally(entry)
    assert list(opened.check()) == []
    opened.close()
    return found


def _kill(
    name: str,
    store: str,
    home: Path,
    rounds: int,
    between: Callable[[], None] | None = None,
    program: Sequence[str] = ("-m", "deniable"),
) -> Verdict:
    """Kill the process at random moments, again and again; acknowledgements are checked after every round."""
    chance = random.Random(f"{name} {rounds}")
    server = Server(store, home, program=program).start()
    server.create(SURVEY)
    load, worst = Load(lambda: server, seed=rounds), Verdict(name, 0, 0, 0, 0)
    try:
        with load:
            for _ in range(rounds):
                time.sleep(chance.uniform(0.02, 0.5))
                server.kill()
                time.sleep(0.05)  # answers that were on their way are read
                with load._lock:
                    known = set(load.acknowledged)
                if between is not None:
                    between()
                found = judge(name, _tally(store), known, load.sent)
                worst = found if found.lost + found.doubled > worst.lost + worst.doubled else worst
                if worst.lost or worst.doubled:
                    break
                server.start()
            time.sleep(0.2)
        if worst.lost or worst.doubled:
            return worst
        load.settle()
    finally:
        server.kill()
    return load.judge(name, store, f"{rounds} rounds")


def kill_sqlite(rounds: int, cluster: Cluster) -> Verdict:
    with folder() as home:
        return _kill("kill -9, SQLite", str(home / "store"), home, rounds)


def kill_postgres(rounds: int, cluster: Cluster) -> Verdict:
    with folder() as home:
        return _kill("kill -9, PostgreSQL", cluster.fresh(), home, rounds)


def corrupt_tail(rounds: int, cluster: Cluster) -> Verdict:
    """Each time the process dies, half a page of rubbish is left at the end of its log."""
    with folder() as home:

        def spoil() -> None:
            with open(home / "store" / f"{FILE}-wal", "ab") as log:
                log.write(os.urandom(2000))

        return _kill("corrupt tail of the log, SQLite", str(home / "store"), home, rounds, spoil)


def kill_a_database_server(rounds: int, cluster: Cluster) -> Verdict:
    """PostgreSQL itself crashes and starts again while several collectors write to it."""
    address = cluster.fresh()
    with folder() as one, folder() as two, serving(address, one) as first, serving(address, two) as second:
        first.create(SURVEY)
        turn = iter([first, second] * 10_000)
        load = Load(lambda: next(turn), clients=6, seed=rounds)
        with load:
            for place in range(rounds):
                time.sleep(0.4)
                cluster.stop("immediate" if place % 2 == 0 else "fast")
                time.sleep(0.1)
                cluster.start()
            time.sleep(0.5)
        load.settle()
        note = f"{rounds} restarts, 2 collectors"
        return load.judge("PostgreSQL restarted", address, note)


def graceful_stop(rounds: int, cluster: Cluster) -> Verdict:
    """SIGTERM under load: what was taken is answered, and the process ends by itself with 0."""
    with folder() as home:
        server = Server(str(home / "store"), home).start()
        server.create(SURVEY)
        load = Load(lambda: server, seed=rounds)
        with load:
            for _ in range(rounds):
                time.sleep(0.2)
                assert server.stop() == 0, server.log()
                assert '"event": "stopped"' in server.log()
                server.start()
        load.settle()
        assert server.stop() == 0
        return load.judge("stopped under load", str(home / "store"), f"{rounds} stops")


def _in_process(
    name: str, home: Path, trouble: "Callable[[SQLiteStore], contextlib.AbstractContextManager[str]]"
) -> Verdict:
    """A store that cannot be written for a while: every upload then is refused with 503, and taken afterwards."""
    store = SQLiteStore(home / "store")
    acknowledged: set[int] = set()
    told: list[str] = []
    entered: list[str] = []

    async def scene() -> None:
        async with Caller(store) as call:
            await call.create(SURVEY)
            for start in range(0, 2000, 100):
                numbers = list(range(start, start + 100))
                if start == 1000:
                    with trouble(store) as expected:
                        entered.append(expected)
                        filler = 0
                        while not told and filler < 3000:
                            # A disk is not full at once: what still fits is acknowledged, and stays.
                            more = list(range(10_000 + 20 * filler, 10_020 + 20 * filler))
                            answer = await call.upload(SURVEY, records(SURVEY, more))
                            filler += 1
                            if answer.status == 200:
                                acknowledged.update(more)
                            else:
                                told.append(answer.json()["detail"])
                                assert answer.status == 503
                                assert answer.headers["retry-after"] == "2"
                        refused = await asyncio.gather(
                            *[call.upload(SURVEY, records(SURVEY, numbers)) for _ in range(5)]
                        )
                        if any(answer.status == 200 for answer in refused):
                            acknowledged.update(numbers)
                        assert (await call("GET", "/healthz")).status == 200
                        assert (await call.admin("GET", f"/v1/surveys/{SURVEY.digest}/counters")).status == 200
                for _ in range(2):
                    answer = await call.upload(SURVEY, records(SURVEY, numbers))
                    assert answer.status == 200, answer
                    acknowledged.update(numbers)

    asyncio.run(scene())
    (expected,) = entered
    assert told, "nothing was refused, so the fault did not happen"
    assert expected in told[0], told
    return judge(name, _tally(str(home / "store")), acknowledged, 1 << 18, told[0].split(": ")[1].split(";")[0])


def limit_pages(store: SQLiteStore, pages: int) -> None:
    """Let the database grow to so many pages and no further: a small disk."""
    store.database._connection.raw.execute(f"PRAGMA max_page_count = {pages}")


def disk_full(rounds: int, cluster: Cluster) -> Verdict:
    """SQLite's own limit on pages stands for a disk: it refuses in the same way."""

    @contextlib.contextmanager
    def full(store: SQLiteStore) -> Iterator[str]:
        limit_pages(store, 1)  # no further page
        yield "reports cannot be stored now: the disk is full; send the same bytes again"
        limit_pages(store, 1 << 30)

    with folder() as home:
        return _in_process("disk full (pages limited)", home, full)


def read_only(rounds: int, cluster: Cluster) -> Verdict:
    @contextlib.contextmanager
    def unwritable(store: SQLiteStore) -> Iterator[str]:
        store.database._connection.run("PRAGMA query_only = ON")
        yield "reports cannot be stored now: the disk can only be read; send the same bytes again"
        store.database._connection.run("PRAGMA query_only = OFF")

    with folder() as home:
        return _in_process("read-only (query_only)", home, unwritable)


def locked(rounds: int, cluster: Cluster) -> Verdict:
    @contextlib.contextmanager
    def held(store: SQLiteStore) -> Iterator[str]:
        store.database._connection.run("PRAGMA busy_timeout = 50")
        with contextlib.closing(sqlite3.connect(store.database.path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            yield "reports cannot be stored now: the database is locked by another process"
            other.execute("ROLLBACK")

    with folder() as home:
        return _in_process("locked by another process", home, held)


@contextlib.contextmanager
def _small_disk(megabytes: int) -> Iterator[Path | None]:
    """A real file system of a few megabytes, or None where mounting is not allowed."""
    with folder() as home:
        options = ["-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(home)]
        mounted = (
            subprocess.run(["mount", *options], capture_output=True).returncode == 0 if shutil.which("mount") else False
        )
        try:
            yield home if mounted else None
        finally:
            if mounted:
                subprocess.run(["umount", "-l", str(home)], capture_output=True)


def real_disk_full(rounds: int, cluster: Cluster) -> Verdict | None:
    """A tmpfs filled by somebody else while the collector writes, then freed."""
    with _small_disk(24) as disk:
        if disk is None:
            return None

        @contextlib.contextmanager
        def full(store: SQLiteStore) -> Iterator[str]:
            hog = disk / "hog"
            with open(hog, "wb") as file, contextlib.suppress(OSError):
                while True:
                    file.write(bytes(1 << 16))
                    file.flush()
            yield "reports cannot be stored now: the disk is full"
            hog.unlink()

        return _in_process("disk full (tmpfs)", disk, full)


def real_read_only(rounds: int, cluster: Cluster) -> Verdict | None:
    """A tmpfs that can only be read from one moment to the next, as a failing disk is remounted."""
    with _small_disk(24) as disk:
        if disk is None:
            return None
        with serving(str(disk / "store"), disk) as server:
            server.create(SURVEY)
            load = Load(lambda: server, seed=rounds)
            with load:
                time.sleep(0.5)
                # A file system with files open for writing is not remounted; the collector is killed by that instead.
                server.kill()
                subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True, capture_output=True)
                refused = subprocess.run(server._command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
                assert refused.returncode == 2, refused.stderr
                assert refused.stderr.startswith("deniable: "), refused.stderr
                subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True, capture_output=True)
                server.start()
                time.sleep(0.5)
            load.settle()
            server.kill()
            note = " ".join(refused.stderr.split())[10:80]
            return load.judge("read-only (tmpfs)", str(disk / "store"), note)


def clock_jumps(rounds: int, cluster: Cluster) -> Verdict:
    """The wall clock jumps a year ahead and back while reports with days come in and everything old is purged."""
    chance = random.Random(rounds)
    acknowledged: set[int] = set()
    jumps = [24 * 365, -24 * 365, 24 * 40, -24 * 40, 3, -3]

    async def scene(home: Path) -> int:
        clock, sent = Ticking(), 0
        store = SQLiteStore(home / "store")
        async with Caller(store, clock=clock) as call:
            await call.create(SURVEY, window="hour", horizon=7)
            outbox: list[tuple[int, list[int]]] = []
            for _ in range(max(rounds, 3) * len(jumps)):
                clock.jump(chance.choice(jumps))
                today = clock.day()
                outbox.append((today, list(range(sent, sent + 20))))
                sent += 20
                for day, numbers in chance.sample(outbox, min(4, len(outbox))):
                    answer = await call.upload(SURVEY, records(SURVEY, numbers), f"?day={day}")
                    assert answer.status == 200
                    reasons = {refused["reason"] for refused in answer.json()["refused"]}
                    assert reasons <= {"too_old", "too_early"}
                    if not reasons:
                        acknowledged.update(numbers)
                if clock.trusted:
                    purged = clock.day()
                    await call.app.writer.call(lambda: store.purge(today=purged))  # noqa: B023
                if chance.random() < 0.3:  # a restart trusts the clock that it finds
                    clock.trusted = True
                    clock._offset = clock._wall() - clock._steady()
        return sent

    with folder() as home:
        sent = asyncio.run(scene(home))
        return judge("clock jumps", _tally(str(home / "store")), acknowledged, sent)


def slow_connections(rounds: int, cluster: Cluster) -> Verdict:
    """Two hundred connections that send half a head, half a body, or nothing; others are served meanwhile, and the
    slow ones are closed."""
    with folder() as home, serving(str(home / "store"), home, "--patience", "1") as server:
        server.create(SURVEY)
        head = f"POST {PATH} HTTP/1.1\r\nHost: x\r\nContent-Type: application/octet-stream\r\nContent-Length: 2700\r\n"
        starts = [b"", b"POST ", head.encode(), head.encode() + b"\r\n" + records(SURVEY, [5])]
        held = []
        for place in range(200):
            connection = socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)
            with contextlib.suppress(ConnectionError):  # a slow machine may have lost one already
                connection.sendall(starts[place % 4])
            held.append(connection)
        load = Load(lambda: server, seed=rounds)
        with load:
            ended = 0
            for connection in held:
                connection.settimeout(PATIENCE)
                with contextlib.suppress(ConnectionResetError):
                    said = connection.recv(1000)
                    assert not said or b" 408 " in said, said
                ended += 1
                connection.close()
        load.settle()
        server.stop()
        note = f"{ended} of 200 ended by the collector"
        return load.judge("slow and half-open connections", str(home / "store"), note)


def several_clients_one_id(rounds: int, cluster: Cluster) -> Verdict:
    """Every report is sent by four clients at the same time, to two collectors that share a database."""
    address = cluster.fresh()
    total = 200 * max(rounds, 1)
    with folder() as one, folder() as two, serving(address, one) as first, serving(address, two) as second:
        first.create(SURVEY)
        accepted = [0] * 4

        def client(place: int) -> None:
            with contextlib.closing((first, second)[place % 2].connect()) as connection:
                for start in range(0, total, 20):
                    body = records(SURVEY, range(start, start + 20))
                    accepted[place] += ask(connection, "POST", PATH, body).json()["accepted"]

        threads = [threading.Thread(target=client, args=(place,)) for place in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(accepted) == total, accepted
        return judge("one id from four clients", _tally(address), set(range(total)), total)


def _delete(name: str, rounds: int, servers: Sequence[Server], store: str) -> Verdict:
    """Delete the survey under load and register it anew, again and again. What a deletion says has gone and what is
    there in the end are together what clients were told is accepted: nothing is acknowledged into nothing."""
    servers[0].create(SURVEY, minimum=0)
    stop, chance = threading.Event(), random.Random(name)
    accepted, refused, next_number = [0] * 4, [0] * 4, iter(range(0, 1 << 18, 20))

    def client(place: int) -> None:
        with contextlib.closing(servers[place % len(servers)].connect()) as connection:
            while not stop.is_set():
                start = next(next_number)
                for _ in range(1000):  # as often as it takes, as a client that keeps what an unknown survey refused
                    answer = ask(connection, "POST", PATH, records(SURVEY, range(start, start + 20)))
                    if answer.status == 200:
                        accepted[place] += answer.json()["accepted"]
                        break
                    word = answer.json()["type"].rpartition(":")[2]
                    assert (answer.status, word) in ((404, "unknown-survey"), (503, "unavailable")), answer
                    refused[place] += 1
                    time.sleep(0.01)

    threads = [threading.Thread(target=client, args=(place,)) for place in range(4)]
    for thread in threads:
        thread.start()
    gone = 0
    for place in range(rounds):
        time.sleep(chance.uniform(0.1, 0.5))
        answer = servers[place % len(servers)].ask("DELETE", PATH.removesuffix("/reports"))
        assert answer.status == 200, answer
        gone += answer.json()["reports"]
        time.sleep(chance.choice([0.0, 0.1]))
        servers[0].create(SURVEY, minimum=0)
    time.sleep(0.2)
    stop.set()
    for thread in threads:
        thread.join()
    counts = counted(_tally(store))
    told, kept = sum(accepted), gone + int(counts.sum())
    doubled = int((counts > 1).sum()) + max(0, kept - told)
    return Verdict(name, told, told, max(0, told - kept), doubled, f"{gone:,} deleted, {sum(refused)} requests refused")


def delete_sqlite(rounds: int, cluster: Cluster) -> Verdict:
    with folder() as home, serving(str(home / "store"), home) as server:
        return _delete("deleted under load, SQLite", rounds, [server], str(home / "store"))


def delete_postgres(rounds: int, cluster: Cluster) -> Verdict:
    address = cluster.fresh()
    with folder() as one, folder() as two, serving(address, one) as first, serving(address, two) as second:
        return _delete("deleted under load, PostgreSQL", rounds, [first, second], address)


# Each with how many rounds the tests and the soak give it. None: it needs a mount, which is not allowed here.
FAULTS: dict[str, tuple[Callable[[int, Cluster], Verdict | None], int, int]] = {
    "kill-sqlite": (kill_sqlite, 3, 30),
    "kill-postgres": (kill_postgres, 2, 30),
    "corrupt-tail": (corrupt_tail, 2, 10),
    "postgres-restart": (kill_a_database_server, 1, 10),
    "graceful-stop": (graceful_stop, 1, 10),
    "disk-full": (disk_full, 1, 1),
    "disk-full-tmpfs": (real_disk_full, 1, 1),
    "read-only": (read_only, 1, 1),
    "read-only-tmpfs": (real_read_only, 1, 1),
    "locked": (locked, 1, 1),
    "clock": (clock_jumps, 20, 300),
    "slow": (slow_connections, 1, 1),
    "one-id": (several_clients_one_id, 1, 20),
    "delete-sqlite": (delete_sqlite, 3, 30),
    "delete-postgres": (delete_postgres, 3, 30),
}
