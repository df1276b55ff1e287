"""The collector under load from `wrk`: durable acknowledgements, memory, and the time to the first of them.

Against the same server with an empty handler, and against the databases written to directly.
"""

import os
import re
import secrets
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import deniable as dn
from benchmarks.measure import Line
from tests.cluster import Cluster
from tests.collector import Server, records, serving
from tests.waiting import wait_for

SURVEY = dn.orr(epsilon=2, cells=8, cohorts=64, seed=bytes(16))
PATH = f"/v1/surveys/{SURVEY.digest}/reports"
REPORT = dn.Report(SURVEY, 3, b"\x05").pack()
OPEN, MANY = 10**6, 10**7
SECONDS = 5
LUA = str(Path(__file__).with_name("upload.lua"))


class Burst:
    """What one run of wrk measured."""

    def __init__(
        self, port: int, *, connections: int, per: int = 1, batch: bool = False, seconds: int = SECONDS
    ) -> None:
        names = {"BENCH_PATH": PATH, "BENCH_PER": str(per), "BENCH_REPORT": REPORT.hex()}
        names["BENCH_BATCH"] = "yes" if batch else "no"
        command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}", "--timeout", "10", "-s", LUA]
        command.append(f"http://127.0.0.1:{port}")
        done = subprocess.run(command, env=os.environ | names, capture_output=True, text=True, check=True)
        found = re.search(r"RESULT (\d+) (\d+) ([\d.]+) (\d+)", done.stdout)
        assert found is not None, done.stdout + done.stderr
        self.requests, duration, p99, self.errors = int(found[1]), int(found[2]), float(found[3]), int(found[4])
        assert self.errors < self.requests / 100, f"{self.errors} requests were refused or lost"
        self.each = duration / 1e6 / (self.requests * per)
        self.p99 = p99 / 1e6


@contextmanager
def collector(store: str | None = None) -> Iterator[tuple[Server, Path]]:
    with tempfile.TemporaryDirectory(prefix="deniable-bench-") as folder:
        home = Path(folder)
        with serving(store or str(home / "store"), home) as server:
            server.create(SURVEY, minimum=0)
            yield server, home


def cold_empty() -> float:
    """From nothing to the first answer of the empty server."""
    start = time.perf_counter()
    with empty(pause=0) as port:
        wait_for(lambda: _answers(port), "the empty server")
        return time.perf_counter() - start


def _answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=10) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


@contextmanager
def empty(pause: float = 0.5) -> Iterator[int]:
    command = [sys.executable, "-m", "benchmarks.empty_server"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            port = int(process.stdout.readline())
            time.sleep(pause)
            yield port
        finally:  # the end of the block waits for the process, also after an error
            process.terminate()


def appended(rows: int) -> float:
    """Seconds a row of `executemany` into a table without an index, in one transaction: the least that SQLite takes."""
    with tempfile.TemporaryDirectory(prefix="deniable-bench-") as folder:
        database = sqlite3.connect(Path(folder) / "plain.sqlite", isolation_level=None)
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        database.execute("CREATE TABLE report (id BLOB, report BLOB)")
        values = [(secrets.token_bytes(16), REPORT) for _ in range(rows)]
        start = time.perf_counter()
        database.execute("BEGIN")
        database.executemany("INSERT INTO report VALUES (?, ?)", values)
        database.execute("COMMIT")
        took = time.perf_counter() - start
        database.close()
        return took / rows


def copied(cluster: Cluster, rows: int) -> float:
    """Seconds a row of `COPY` into a table with a unique index, in one transaction: the least that PostgreSQL takes."""
    import psycopg

    with psycopg.connect(cluster.fresh()) as database, database.cursor() as cursor:
        cursor.execute("CREATE TABLE report (id bytea PRIMARY KEY, report bytea)")
        values = [(secrets.token_bytes(16), REPORT) for _ in range(rows)]
        start = time.perf_counter()
        with cursor.copy("COPY report FROM STDIN") as copy:
            for value in values:
                copy.write_row(value)
        database.commit()
        return (time.perf_counter() - start) / rows


def counted(server: Server) -> int:
    answer = server.ask("GET", f"/v1/surveys/{SURVEY.digest}/counters").json()["counters"]
    return int(answer.get("accepted", 0))


def fill(server: Server, target: int) -> None:
    """Bring the collector to at least so many reports with open ids of their own."""
    while counted(server) < target:
        Burst(server.port, connections=8, per=5000, seconds=2)


def filled(server: Server, target: int) -> tuple[int, int]:
    """Reports and resident bytes at the first look at which that many are there: a burst goes on past it."""
    with ThreadPoolExecutor(1) as pool:
        while True:
            burst = pool.submit(Burst, server.port, connections=8, per=5000, seconds=2)
            while not burst.done():
                if (reports := counted(server)) >= target:
                    return reports, server.memory()
                time.sleep(0.02)


def cold_start() -> float:
    """From nothing to the first acknowledged report, the survey's creation included."""
    start = time.perf_counter()
    with collector() as (server, _):
        answer = server.ask("POST", PATH, records(SURVEY, [1]), kind="application/octet-stream")
        assert answer.json()["accepted"] == 1
        return time.perf_counter() - start


def check() -> None:
    """End with a sentence where `wrk` is missing: before the first part is measured, not half an hour later."""
    if shutil.which("wrk") is None:
        raise SystemExit("benchmarks: wrk must be installed for the load: apt-get install wrk")


def lines() -> Iterator[Line]:
    ours, theirs = min(cold_start() for _ in range(3)), min(cold_empty() for _ in range(3))
    yield Line("deniable serve, to the first report", "the same server, empty", ours, theirs, 4)

    with empty() as port, collector() as (server, _):
        Burst(server.port, connections=256, seconds=2)
        pairs = [(Burst(port, connections=256), Burst(server.port, connections=256)) for _ in range(3)]
    theirs, ours = min(pair[0].each for pair in pairs), min(pair[1].each for pair in pairs)
    yield Line("one report a request, SQLite", "an empty ASGI handler", ours, theirs, 1 / 0.4)
    ours, theirs = min(pair[1].p99 for pair in pairs), min(pair[0].p99 for pair in pairs)
    yield Line("the same, p99, best of three runs", "an empty ASGI handler", ours, theirs, 8)

    with collector() as (server, _):
        fill(server, OPEN)
        turns = [(Burst(server.port, connections=16, per=1000).each, appended(300_000)) for _ in range(3)]
        best, reference = min(ours for ours, _ in turns), min(theirs for _, theirs in turns)
        yield Line("1000 a request, an id each, SQLite", "executemany, one transaction", best, reference, 4)

    with collector() as (server, _):
        before = server.memory()
        reports, memory = filled(server, MANY)
        what, plain = f"memory, {reports / 1e6:.1f} M reports with open ids", before + 16 * reports
        yield Line(what, "itself at the start, and the ids' bytes", memory / 2**20, plain / 2**20, 1.5, unit="MiB")

    with empty() as port, collector() as (server, home):
        how: dict[str, Any] = {"connections": 16, "per": 1000, "batch": True}
        turns = [(Burst(server.port, **how).each, Burst(port, **how).each) for _ in range(3)]
        best, reference = min(ours for ours, _ in turns), min(theirs for _, theirs in turns)
        yield Line("1000 a request, one id, SQLite", "an empty ASGI handler", best, reference, 8)
        while counted(server) < MANY:
            Burst(server.port, connections=16, per=1000, batch=True)
        reports, ids = counted(server), counted(server) // 1000
        server.stop()
        size = sum(file.stat().st_size for file in (home / "store").iterdir())
        allowed = 64 * ids + 32 * 8 * SURVEY.cohorts * SURVEY.columns + 2**20
        yield Line(f"store after {reports / 1e6:.0f} M reports", "64 bytes an open id, counters", size / 2**20,
                   allowed / 2**20, 1, unit="MiB")  # fmt: skip

    cluster = Cluster()
    try:
        with collector(cluster.fresh()) as (server, _):
            turns = [(Burst(server.port, connections=16, per=1000).each, copied(cluster, 300_000)) for _ in range(3)]
        best, reference = min(ours for ours, _ in turns), min(theirs for _, theirs in turns)
        yield Line("1000 a request, an id each, PostgreSQL", "COPY into a plain table", best, reference, 8)
    finally:
        cluster.remove()
