"""What readers can make a collector hold: a hundred of them, each with a question of its own about a large survey."""

import contextlib
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import deniable as dn
from deniable.service.entries import Rules, Upload
from deniable.service.sqlite import SQLiteStore
from tests.collector import Server, name_of, serving, wire
from tests.waiting import PATIENCE, wait_for

SIDE, WINDOWS, CLIENTS = 1024, 12, 100
SURVEY = dn.orr(epsilon=1, cells=SIDE, cohorts=SIDE, seed=bytes(16))
PATH = f"/v1/surveys/{SURVEY.digest}"
# A tally of this survey is 8 MiB. Twelve windows for each of a hundred clients are 9 GiB, which the collector of the
# first issue held (measured: 3.7 GiB for six clients). One process that decodes has 350 MiB here, the rest 70.
MOST, MOST_IN_ALL = 256 << 20, 1 << 30


def family(process: int) -> list[int]:
    """A process and all that it has started."""
    found = [process]
    with contextlib.suppress(OSError):
        for children in Path(f"/proc/{process}/task").glob("*/children"):
            for child in children.read_text().split():
                found += family(int(child))
    return found


def resident(process: int) -> int:
    with contextlib.suppress(OSError):
        if found := re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{process}/status").read_text()):
            return int(found[1]) * 1024
    return 0


def is_decoding(process: int) -> bool:
    with contextlib.suppress(OSError):
        return b"deniable.service.worker" in Path(f"/proc/{process}/cmdline").read_bytes()
    return False


class Scale:
    """Weighs a server again and again, from another thread."""

    def __init__(self, server: Server) -> None:
        assert server.process is not None
        self._process, self._over = server.process.pid, threading.Event()
        self.own = self.all = 0
        self._thread = threading.Thread(target=self._weigh, daemon=True)

    def _weigh(self) -> None:
        while not self._over.wait(0.02):
            members = family(self._process)
            self.own = max(self.own, resident(self._process))
            self.all = max(self.all, sum(map(resident, members)))

    def __enter__(self) -> "Scale":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def decoding(self) -> list[int]:
        return [member for member in family(self._process) if is_decoding(member)]


@contextlib.contextmanager
def asking(server: Server, count: int, question: str) -> Iterator[list[socket.socket]]:
    """So many connections that have asked, each something else, and have read nothing yet."""
    with contextlib.ExitStack() as stack:
        opened = []
        for place in range(count):
            line = stack.enter_context(socket.create_connection(("127.0.0.1", server.port)))
            line.sendall(f"GET {PATH}/{question}&level=0.9{place:03} HTTP/1.1\r\nhost: a\r\n\r\n".encode())
            line.setblocking(False)
            opened.append(line)
        yield opened


def statuses(lines: list[socket.socket]) -> list[bytes]:
    """What was answered so far, without taking it."""
    found = []
    for line in lines:
        with contextlib.suppress(BlockingIOError):
            found.append(line.recv(12, socket.MSG_PEEK)[9:])
    return found


def test_the_process_that_decodes_does_not_count_what_its_parent_has() -> None:
    """A collector with many open ids is large; what it starts is not, and is not ended for it."""
    child = "from deniable.service.worker import _peak; print(_peak())"
    parent = (
        "import subprocess, sys; held = b'x' * (600 << 20); "
        f"print(subprocess.run([sys.executable, '-P', '-c', {child!r}], capture_output=True, text=True).stdout)"
    )
    done = subprocess.run([sys.executable, "-c", parent], capture_output=True, text=True, timeout=PATIENCE)
    assert 0 < int(done.stdout) < 1 << 29, done.stderr


@pytest.mark.slow
def test_a_hundred_readers_take_little_memory_and_what_they_leave_is_cancelled(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "store")
    entry, _ = store.create(SURVEY, Rules(minimum=1, results="public"))
    today = int(time.time()) // 86400
    for day in range(WINDOWS):
        numbers = range(100 * day, 100 * day + 50)
        body = b"".join(name_of(n) + wire(SURVEY, n * 977 % SIDE**2) for n in numbers)
        store.write([Upload(entry, body)], hours=24 * (today - 20 + day))
    store.close()
    with serving(str(tmp_path / "store"), tmp_path) as server, Scale(server) as scale:
        for question in ("trend", "estimate"):
            with asking(server, CLIENTS, f"{question}?candidates=a,b") as lines:
                refused = CLIENTS - 24 - 1  # whoever finds no place is told so; one may have been answered meanwhile
                wait_for(lambda: statuses(lines).count(b"503") >= refused, "answers where there is no place")  # noqa: B023
                # A process that still loads is left to those who ask next.
                wait_for(lambda: b"200" in statuses(lines), "an answer, with others behind it")
            wait_for(lambda: not scale.decoding(), "the end of what nobody waits for")
        assert scale.own < MOST, f"{scale.own >> 20} MiB"
        assert scale.all < MOST_IN_ALL, f"{scale.all >> 20} MiB"
        assert '"trace"' not in server.log()
        # And it goes on: those who are left get their answers.
        assert server.ask("GET", f"{PATH}/estimate?candidates=a,b", token=None).status == 200
