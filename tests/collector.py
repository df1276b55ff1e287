"""Collectors for the tests: the application called in this process, and `deniable serve` as a process to be killed.

Test reports have a cell of their own each, so that a tally shows every single one: 1 if it was counted, 0 if it was
lost, 2 if it was counted twice.
"""

import asyncio
import base64
import contextlib
import http.client
import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Coroutine, Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

import deniable as dn
from deniable.service.app import App
from deniable.service.clock import Clock
from deniable.service.configuration import Options
from deniable.service.store import Store
from deniable.survey import Agreement, Survey
from tests.waiting import PATIENCE

__all__ = ["ADMIN", "Answer", "Caller", "Server", "Ticking", "envelope", "one_cell_each", "records", "run"]

ADMIN = "an administrator's secret"
# Tests bring many reports at once without a token; those of the limits say so.
UNLIMITED: dict[str, Any] = {"open_batch": 1 << 16, "open_rate": None}
_T = TypeVar("_T")


def one_cell_each(size: int = 1 << 16, name: str = "") -> Survey:
    """A survey whose reports can be told apart: as many cells as test reports."""
    return dn.orr(epsilon=1, cells=256, cohorts=size // 256, seed=bytes(16), name=name)


def wire(survey: Survey, number: int) -> bytes:
    """The packed report of one cell."""
    cohort, cell = divmod(number, survey.columns)
    return dn.Report(survey, cohort, cell.to_bytes(survey.mechanism.payload_bytes, "little")).pack()


def name_of(number: int) -> bytes:
    return b"test" + number.to_bytes(12, "big")


def records(survey: Survey, numbers: "list[int] | range") -> bytes:
    """Records of id and report, as in an octet stream."""
    return b"".join(name_of(number) + wire(survey, number) for number in numbers)


def envelope(survey: Survey, numbers: "list[int] | range", **more: object) -> bytes:
    """The same as JSON."""
    listed = [{"id": name_of(n).hex(), "report": base64.b64encode(wire(survey, n)).decode(), **more} for n in numbers]
    return json.dumps({"reports": listed}).encode()


class Answer:
    """Status, headers and body of a response."""

    def __init__(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.status, self.headers, self.body = status, headers, body

    def json(self) -> Any:
        return json.loads(self.body)

    def __repr__(self) -> str:
        return f"<{self.status} {self.body[:300]!r}>"


def run(work: Coroutine[Any, Any, _T]) -> _T:
    return asyncio.run(work)


class Ticking(Clock):
    """A clock that tests set; without `jump` it moves as a real one does."""

    def __init__(self, hours: int = 480_000) -> None:
        self.now, self.up = hours * 3600.0, 0.0
        super().__init__(lambda: self.now, lambda: self.up)

    def pass_hours(self, hours: int) -> None:
        self.now += hours * 3600
        self.up += hours * 3600

    def pass_seconds(self, seconds: float) -> None:
        self.now += seconds
        self.up += seconds

    def jump(self, hours: int) -> None:
        self.now += hours * 3600


class Caller:
    """The application, called as a server would call it."""

    def __init__(self, store: Store, **options: Any) -> None:
        # A minute for a plan or a decoding is plenty, except where other work has the processor.
        names = {field.name for field in fields(Options)}
        settings = {"decode_seconds": 900.0, **UNLIMITED, **{name: options[name] for name in options if name in names}}
        others = {name: options[name] for name in options if name not in names}
        self.app = App(store, Options(store.where, **settings), admin_token=ADMIN, **others)

    async def __aenter__(self) -> "Caller":
        await self.app.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.app.stop()

    async def __call__(
        self,
        method: str,
        path: str,
        body: bytes | object = b"",
        *,
        token: str | None = None,
        kind: str | None = None,
        accept: str = "*/*",
    ) -> Answer:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = [(b"content-type", (kind or "application/json").encode()), (b"content-length", b"%d" % len(data))]
        headers.append((b"accept", accept.encode()))
        if token is not None:
            headers.append((b"authorization", b"Bearer " + token.encode()))
        route, _, query = path.partition("?")
        scope = {"type": "http", "method": method, "path": route, "query_string": query.encode(), "headers": headers}
        sent: list[Any] = []

        async def receive() -> Any:
            return {"type": "http.request", "body": data, "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        found = {key.decode(): value.decode() for key, value in sent[0]["headers"]}
        return Answer(sent[0]["status"], found, b"".join(part.get("body", b"") for part in sent[1:]))

    async def admin(self, method: str, path: str, body: object = b"") -> Answer:
        return await self(method, path, body, token=ADMIN)

    async def create(self, survey: Agreement, **rules: object) -> str:
        """Add a survey and give the path of it."""
        made = await self.admin("POST", "/v1/surveys", {"survey": json.loads(survey.to_json()), "rules": rules})
        assert made.status in (200, 201), made
        return f"/v1/surveys/{survey.digest}"

    async def upload(self, survey: Agreement, body: bytes, query: str = "", **options: Any) -> Answer:
        options = {"kind": "application/octet-stream"} | options
        return await self("POST", f"/v1/surveys/{survey.digest}/reports{query}", body, **options)


class Server:
    """`deniable serve` as a process of its own, on a port of its own choice."""

    def __init__(
        self,
        store: str,
        folder: Path,
        *options: str,
        program: Sequence[str] = ("-m", "deniable"),
        python: str = sys.executable,
    ) -> None:
        self._token = folder / "token"
        self._token.write_text(ADMIN)
        self._token.chmod(0o600)
        self._command = [python, *program, "serve", "--store", store, "--port", "0"]
        # A minute for a plan is plenty, except where other work has the processor.
        self._command += ["--admin-token-file", str(self._token), "--decode-seconds", "900"]
        self._command += ["--open-batch", "65536", "--open-rate", "0", *options]
        self._log = folder / "log"
        self.process: subprocess.Popen[bytes] | None = None
        self.port = 0

    def start(self, *, seconds: float = PATIENCE) -> "Server":
        self._log.write_bytes(b"")
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(self._command, stderr=log, stdin=subprocess.DEVNULL)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = re.search(r'"address": "http://127\.0\.0\.1:(\d+)"', self._log.read_text())
            if found:
                self.port = int(found[1])
                with contextlib.suppress(OSError), contextlib.closing(self.connect()) as connection:
                    connection.request("GET", "/healthz")
                    if connection.getresponse().status == 200:
                        return self
            if self.process.poll() is not None:
                break
            time.sleep(0.02)
        raise AssertionError(f"the collector did not start: {self.log()}")

    def log(self) -> str:
        return self._log.read_text()

    def connect(self, *, timeout: float = PATIENCE) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def ask(
        self, method: str, path: str, body: bytes = b"", *, token: str | None = ADMIN, kind: str = "application/json"
    ) -> Answer:
        with contextlib.closing(self.connect()) as connection:
            return ask(connection, method, path, body, token=token, kind=kind)

    def create(self, survey: Survey, **rules: object) -> None:
        body = json.dumps({"survey": json.loads(survey.to_json()), "rules": rules}).encode()
        answer = self.ask("POST", "/v1/surveys", body)
        assert answer.status in (200, 201), answer

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)

    def memory(self, name: str = "VmHWM") -> int:
        """Peak (or present, VmRSS) memory in bytes."""
        assert self.process is not None
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(rf"{name}:\s+(\d+)", status)[1]) * 1024  # type: ignore[index]


def ask(
    connection: http.client.HTTPConnection,
    method: str,
    path: str,
    body: bytes = b"",
    *,
    token: str | None = None,
    kind: str = "application/octet-stream",
) -> Answer:
    headers = {"Content-Type": kind} | ({} if token is None else {"Authorization": f"Bearer {token}"})
    connection.request(method, path, body, headers)
    response = connection.getresponse()
    return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())


def counted(tally: dn.Tally) -> np.ndarray[Any, np.dtype[np.int64]]:
    """How often each test report is in a tally."""
    return tally.counts.ravel()


@contextlib.contextmanager
def serving(store: str, folder: Path, *options: str, python: str = sys.executable) -> Iterator[Server]:
    server = Server(store, folder, *options, python=python).start()
    try:
        yield server
    finally:
        if server.process is not None and server.process.poll() is None:
            server.kill()
