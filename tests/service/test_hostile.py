"""What an attacker or a careless operator may try: it ends in a refusal or a closed connection, never in a trace."""

import asyncio
import contextlib
import gzip
import hmac
import os
import socket
import stat
from collections.abc import Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

import deniable as dn
from deniable.errors import StoreError
from deniable.service import copies, tokens
from deniable.service.configuration import Options
from deniable.service.connections import LARGEST_HEAD, MOST_FIELDS, guarded
from deniable.service.entries import Rules
from deniable.service.problems import RequestError, Unavailable
from deniable.service.requests import Room, bearer, read_body
from deniable.service.server import _allow_files, admin_token
from deniable.service.sqlite import SQLiteStore
from tests.collector import ADMIN, Caller, one_cell_each, records, run, serving
from tests.waiting import PATIENCE, wait_for

SURVEY = one_cell_each(1024)
PATH = f"/v1/surveys/{SURVEY.digest}"
REQUEST = b"POST / HTTP/1.1\r\nhost: x\r\n"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    made = SQLiteStore(tmp_path)
    yield made
    made.close()


# Connections.
class Line:
    """A connection to a server that answers with so many bytes once the body is there."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def say(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def ends(self, within: float = PATIENCE) -> bytes:
        """All that was answered before the other side closed, which it must do."""
        answer = bytearray()
        async with asyncio.timeout(within):
            try:
                while part := await self.reader.read(1 << 16):
                    answer += part
            except ConnectionError:
                pass
        return bytes(answer)


@asynccontextmanager
async def listening(answer: bytes = b"ok", *, patience: float, **options: Any) -> Any:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        try:
            await read_body(scope, receive, limit=1000, seconds=1.5 * patience, room=Room())
            status = 200
        except RequestError as error:
            status = error.status
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": answer})

    config = uvicorn.Config(app, lifespan="off", ws="none", log_config=None, access_log=False)
    config.load()
    protocol = guarded(patience=patience, body_limit=1000, **options)
    server = await asyncio.get_running_loop().create_server(lambda: protocol(config, ServerState(), {}), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    opened: list[Line] = []

    async def connect() -> Line:
        opened.append(Line(*await asyncio.open_connection("127.0.0.1", port)))
        return opened[-1]

    try:
        yield connect
    finally:
        for line in opened:
            line.writer.transport.abort()
        server.close()


async def drip(line: Line, data: bytes, every: float) -> None:
    while True:
        await line.say(data)
        await asyncio.sleep(every)


async def nothing(line: Line) -> None:
    await asyncio.sleep(600)


async def half_a_head(line: Line) -> None:
    await line.say(REQUEST)
    await asyncio.sleep(600)


async def a_head_a_byte_at_a_time(line: Line) -> None:
    await line.say(REQUEST + b"x: ")
    await drip(line, b"a", 0.01)


async def no_body(line: Line) -> None:
    await line.say(REQUEST + b"content-length: 10\r\n\r\n")
    await asyncio.sleep(600)


async def a_chunk_that_never_begins(line: Line) -> None:
    await line.say(REQUEST + b"transfer-encoding: chunked\r\n\r\n5;")
    await drip(line, b"a", 0.01)


async def a_body_a_byte_at_a_time(line: Line) -> None:
    await line.say(REQUEST + b"content-length: 900\r\n\r\n")
    await drip(line, b"a", 0.01)


async def trailers_without_an_end(line: Line) -> None:
    await line.say(REQUEST + b"transfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n")
    await drip(line, b"x: " + b"a" * 100 + b"\r\n", 0.0001)


async def a_body_that_goes_on_after_its_answer(line: Line) -> None:
    await line.say(REQUEST + b"content-length: 1000000000\r\n\r\n" + bytes(2000))
    await drip(line, b"a", 0.01)


async def blank_lines_after_a_request(line: Line) -> None:
    await line.say(REQUEST + b"content-length: 0\r\n\r\n")
    await asyncio.sleep(0.05)
    await line.say(b"\r\n")  # which ends the server's own timer
    await asyncio.sleep(600)


async def blank_lines_before_a_request(line: Line) -> None:
    await drip(line, b"\r\n", 0.1)


async def blank_lines_after_a_request_again_and_again(line: Line) -> None:
    await line.say(REQUEST + b"content-length: 0\r\n\r\n")
    await drip(line, b"\r\n", 0.1)


async def an_upgrade(line: Line) -> None:
    await line.say(REQUEST + b"connection: upgrade\r\nupgrade: h2c\r\ncontent-length: 5\r\n\r\n")
    await drip(line, b"a", 0.01)


SLOW = [
    (nothing, b""),
    (half_a_head, b""),
    (a_head_a_byte_at_a_time, b""),
    (no_body, b""),
    (a_chunk_that_never_begins, b""),
    (a_body_a_byte_at_a_time, b" 408 "),
    (trailers_without_an_end, b""),
    (a_body_that_goes_on_after_its_answer, b" 413 "),
    (blank_lines_after_a_request, b" 200 "),
    (blank_lines_before_a_request, b""),
    (blank_lines_after_a_request_again_and_again, b" 200 "),
    (an_upgrade, b""),
]


@pytest.mark.slow
def test_a_connection_that_only_holds_a_place_is_closed() -> None:
    """All at once, so that the server may wait for seconds: a stalled machine does not look like an attack."""

    async def scene() -> None:
        async with listening(patience=2.0, idle=4.0) as connect:

            async def ended(attack: Callable[[Line], Awaitable[None]]) -> bytes:
                line = await connect()
                attacking = asyncio.ensure_future(attack(line))
                answer = await line.ends()
                attacking.cancel()
                return bytes(answer)

            answers = await asyncio.gather(*(ended(attack) for attack, _ in SLOW))
            wrong = {
                attack.__name__: answer
                for (attack, status), answer in zip(SLOW, answers, strict=True)
                if status not in answer
            }
            assert wrong == {}

    run(scene())


@pytest.mark.slow
def test_the_connection_tests_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutant: the same server without the guard, as uvicorn has it, holds all of them but one."""
    monkeypatch.setitem(globals(), "guarded", lambda **_: HttpToolsProtocol)

    async def scene() -> None:
        async with listening(patience=1.0) as connect:

            async def holds(attack: Callable[[Line], Awaitable[None]]) -> bool:
                line = await connect()
                attacking = asyncio.ensure_future(attack(line))
                try:
                    await line.ends(within=3)
                except TimeoutError:
                    return True
                finally:
                    attacking.cancel()
                return False

            assert sum(await asyncio.gather(*(holds(attack) for attack, _ in SLOW))) >= 8

    run(scene())


@pytest.mark.parametrize(
    "part",
    [b"x: " + b"a" * 50_000 + b"\r\n", b"a" * 50_000, b"x: a\r\n" * 50],
    ids=["long fields", "one field without an end", "many fields"],
)
def test_a_head_without_an_end_is_refused(part: bytes) -> None:
    async def scene() -> None:
        async with listening(patience=3600) as connect:  # so that nothing but the size can end it
            line = await connect()
            await line.say(REQUEST + b"x: ")
            asking = asyncio.ensure_future(drip(line, part, 0.001))
            answer = await line.ends()
            asking.cancel()
            assert answer.startswith(b"HTTP/1.1 431 ") or answer == b"", "a reset may overtake it"
            usual = await connect()
            await usual.say(
                REQUEST + b"y: a\r\n" * (MOST_FIELDS - 5) + b"z: " + b"a" * (LARGEST_HEAD // 2) + b"\r\n\r\n"
            )
            assert (await usual.reader.readline()).startswith(b"HTTP/1.1 200"), "a large head that ends is none"

    run(scene())


@pytest.mark.parametrize(
    "fields",
    [b"x: a\r\n" * (MOST_FIELDS + 1), b"x: " + b"a" * LARGEST_HEAD + b"\r\n"],
    ids=["many fields", "a long field"],
)
@pytest.mark.parametrize("ended", [True, False])
def test_a_head_that_comes_in_one_read_is_not_larger_than_others(fields: bytes, ended: bool) -> None:
    """As the parser's caller gets it from the system: up to 256 KiB at once."""

    async def scene() -> None:
        async with listening(patience=3600) as connect:
            line = await connect()
            await line.say(REQUEST + fields + (b"\r\n" if ended else b"x: a" * 40_000))
            if not ended:
                await line.say(b"a" * (2 * LARGEST_HEAD))
            answer = await line.ends()
            assert answer.startswith(b"HTTP/1.1 431 ") or answer == b"", "a reset may overtake it"
            assert b" 200 " not in answer

    run(scene())


@pytest.mark.slow
def test_an_answer_that_nobody_reads_is_given_up() -> None:
    async def scene() -> None:
        async with listening(bytes(1 << 26), patience=2.0) as connect:
            line = await connect()
            line.writer.transport.pause_reading()
            await line.say(REQUEST + b"content-length: 0\r\n\r\n")
            await asyncio.sleep(5.0)
            line.writer.transport.resume_reading()
            assert len(await line.ends()) < 1 << 26
        async with listening(bytes(1 << 26), patience=3600) as connect:
            slow = await connect()
            await slow.say(REQUEST + b"connection: close\r\n\r\n")
            assert len(await slow.ends()) > 1 << 26, "who reads it gets it whole"

    run(scene())


async def sipped(line: Line, size: int) -> int:
    """How much is answered to whoever reads so many bytes at a time, with a pause after each."""
    read = 0
    with contextlib.suppress(ConnectionError):
        while part := await line.reader.read(size):
            read += len(part)
            await asyncio.sleep(0.02)
    return read


@pytest.mark.slow
def test_an_answer_that_is_read_slowly_is_given_up_in_the_end() -> None:
    """It goes on all the time, and much faster than a kilobyte a second: only the whole takes too long."""
    large = bytes(1 << 26)

    async def scene() -> None:
        async with listening(large, patience=0.5, grace=1.0, least_rate=1e12) as connect:
            line = await connect()
            await line.say(REQUEST + b"content-length: 0\r\n\r\n")
            assert await sipped(line, 1 << 16) < len(large)
        async with listening(large[: 1 << 23], patience=3600, grace=1.0, least_rate=1.0) as connect:
            line = await connect()
            await line.say(REQUEST + b"connection: close\r\ncontent-length: 0\r\n\r\n")
            assert await sipped(line, 1 << 17) > 1 << 23, "who is as fast as the least rate gets it whole"

    run(scene())


def test_the_last_answer_of_a_connection_is_not_waited_for_longer_than_others() -> None:
    """The server closes it when all is written, which is not when all is read."""

    async def scene() -> None:
        async with listening(bytes(1 << 24), patience=0.5) as connect:
            line = await connect()
            line.writer.transport.pause_reading()
            await line.say(REQUEST + b"connection: close\r\ncontent-length: 0\r\n\r\n")
            port = line.writer.get_extra_info("peername")[1]
            while connected(port) > 0:  # the system's view: nobody reads here, so nothing tells us
                await asyncio.sleep(0.1)

    run(asyncio.wait_for(scene(), PATIENCE))


def connected(port: int) -> int:
    """How many connections to a port the system holds, as the server sees them."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(row[1].endswith(f":{port:04X}") and row[3] == "01" for row in rows)


def stored(folder: Path, survey: dn.Survey) -> None:
    """A survey in the store of `serving`, registered without a request, which may take longer than --patience."""
    made = SQLiteStore(folder / "store")
    made.create(survey, Rules())
    made.close()


def test_connections_that_ask_and_do_not_read_leave_no_traceback(tmp_path: Path) -> None:
    """Twenty connections with twenty requests each, of 700 KB an answer."""
    large = dn.krr(symbols=[f"symbol number {i} of many, with a long name" for i in range(15_000)], epsilon=3)
    stored(tmp_path, large)
    with serving(str(tmp_path / "store"), tmp_path, "--patience", "1") as server, contextlib.ExitStack() as stack:
        request = f"GET /v1/surveys/{large.digest} HTTP/1.1\r\nhost: a\r\n\r\n".encode()
        for _ in range(20):
            line = stack.enter_context(socket.socket())
            line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            line.connect(("127.0.0.1", server.port))
            line.sendall(request * 20)
        wait_for(lambda: connected(server.port) == 0, "the end of connections that nobody reads from")
        assert server.ask("GET", "/healthz").status == 200
        assert "trace" not in server.log()


def test_neither_a_request_nor_a_sender_is_in_the_log(tmp_path: Path) -> None:
    stored(tmp_path, SURVEY)
    with serving(str(tmp_path / "store"), tmp_path, "--patience", "3") as server:
        before = server.log()
        rubbish = (
            b"\x16\x03\x01\x02",
            b"GET \xff HTTP/1.1\r\n\r\n",
            b"GET / HTTP/9.9\r\n\r\n",
            REQUEST + b"upgrade: h2c\r\nconnection: upgrade\r\n\r\n",
            REQUEST + b"content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n",
        )
        for data in rubbish:
            with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as line:
                line.sendall(data)
                line.recv(1000)
        answer = server.ask("POST", f"{PATH}/reports", b"firefox", kind="text/plain; agent=sender@example.org")
        assert answer.status == 415
        assert server.log() == before
        assert server.stop() == 0


# Bodies.
def test_unfinished_bodies_share_what_room_there_is() -> None:
    room = Room(25)

    async def scene() -> None:
        go = asyncio.Event()

        async def upload(size: int) -> int:
            parts = [{"type": "http.request", "body": bytes(size), "more_body": True}]
            parts.append({"type": "http.request", "body": b"", "more_body": False})

            async def receive() -> Any:
                if len(parts) == 1:
                    await go.wait()
                return parts.pop(0)

            return len(await read_body({"headers": []}, receive, limit=20, seconds=5, room=room))

        held = [asyncio.ensure_future(upload(10)) for _ in range(2)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        with pytest.raises(RequestError, match="too many bodies are on their way; send the same bytes again") as busy:
            await upload(10)
        assert (busy.value.status, busy.value.retry) == (503, 2)
        assert room.left == 5
        go.set()
        assert await asyncio.gather(*held) == [10, 10]
        assert await upload(20) == 20
        assert room.left == 25

    run(scene())


def test_what_waits_is_bounded_in_bytes_too(store: SQLiteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deniable.service.writer._MOST_BYTES", 27 * 10)

    async def scene() -> None:
        async with Caller(store) as call:
            await call.create(SURVEY)
            many = [call.upload(SURVEY, records(SURVEY, [n, n + 500])) for n in range(20)]
            found = [answer.status for answer in await asyncio.gather(*many)]
            assert found.count(200) >= 5
            assert set(found) == {200, 503}
            assert call.app.writer._held == call.app.writer.waiting == 0
            alone = await call.upload(SURVEY, records(SURVEY, range(20)))
            assert alone.status == 200, "one that is larger than all the room gets through by itself"

    run(scene())


def test_a_compressed_body_is_refused_and_never_unpacked(store: SQLiteStore) -> None:
    async def scene() -> None:
        async with Caller(store) as call:
            await call.create(SURVEY)
            bomb = gzip.compress(bytes(1 << 26))
            sent: list[Any] = []

            async def receive() -> Any:
                return {"type": "http.request", "body": bomb, "more_body": False}

            async def send(message: Any) -> None:
                sent.append(message)

            headers = [(b"content-type", b"application/octet-stream"), (b"content-encoding", b"GZIP")]
            scope = {
                "type": "http",
                "method": "POST",
                "path": f"{PATH}/reports",
                "query_string": b"",
                "headers": headers,
            }
            await call.app(scope, receive, send)
            assert sent[0]["status"] == 415
            assert "body must not be compressed; send the reports as they are" in sent[1]["body"].decode()

    run(scene())


# Tokens and files.
def test_every_token_is_compared_and_in_constant_time(store: SQLiteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    real, compared = hmac.compare_digest, []

    def compare(a: Any, b: Any) -> bool:
        compared.append((a, b))
        return real(a, b)

    async def scene() -> None:
        async with Caller(store) as call:
            await call.create(SURVEY, uploads="token")
            made = [
                (kind, (await call.admin("POST", f"{PATH}/tokens", {"kind": kind})).json()["token"])
                for kind in ("read", "upload") * 4
            ]
            monkeypatch.setattr("deniable.service.tokens.hmac.compare_digest", compare)
            for kind, secret in [*made, ("upload", "0" * 64), ("read", ADMIN[:-1])]:
                compared.clear()
                if kind == "upload":
                    await call.upload(SURVEY, records(SURVEY, [1]), token=secret)
                    assert len(compared) == 4
                else:
                    await call("GET", f"{PATH}/windows", token=secret)
                    assert len(compared) == 5, "the administrator's, and every read token's"

    run(scene())


def test_a_secret_need_not_be_ascii() -> None:
    for secret in ("sésame öffne dich 芝麻", "plain"):
        scope = {"headers": [(b"authorization", b"Bearer " + secret.encode())]}
        found = bearer(scope)
        assert found is not None
        assert tokens.same(tokens.hash_of(secret), found)
    assert bearer({"headers": [(b"authorization", b"bearer \xff\xfe")]}) is not None
    for header in (b"Bearer", b"Bearer ", b"Basic abc", b"", b"Bearerabc"):
        assert bearer({"headers": [(b"authorization", header)]}) is None


def test_a_token_file_is_for_few(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text(ADMIN + "\n")
    options = Options("store", admin_token_file=str(path))
    for mode in (0o644, 0o604, 0o602):
        path.chmod(mode)
        with pytest.raises(StoreError) as refused:
            admin_token(options)
        assert str(refused.value) == f"admin token file {path} must not be open to all users; run chmod 600 on it"
    for mode in (0o600, 0o640, 0o400):
        path.chmod(mode)
        assert admin_token(options) == ADMIN
    path.write_bytes(b"\xff" * 20)
    with pytest.raises(StoreError, match=r"admin token file .* must hold text in UTF-8"):
        admin_token(options)
    path.unlink()
    with pytest.raises(StoreError, match=r"admin token file .* must be readable: no such file or directory"):
        admin_token(options)


def test_what_is_stored_is_for_its_owner(tmp_path: Path) -> None:
    """Also in a directory that is open to all, and with a umask that hides nothing."""
    folder = tmp_path / "open"
    folder.mkdir()
    before = os.umask(0)
    try:
        store = SQLiteStore(folder)
        admin_token(Options(str(folder)))
        store.create(SURVEY, Rules())
        copies.backup(str(folder), str(tmp_path / "copy"))
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in [*folder.iterdir(), tmp_path / "copy"]}
        store.close()
        copies.restore(str(tmp_path / "copy"), str(tmp_path / "again"))
        modes["again"] = stat.S_IMODE((tmp_path / "again" / "collector.sqlite").stat().st_mode)
    finally:
        os.umask(before)
    assert set(modes.values()) == {0o600}, modes
    assert {"collector.sqlite", "collector.sqlite-wal", "lock", "admin-token", "copy"} <= set(modes)


def test_answers_are_not_kept_or_guessed_at(store: SQLiteStore) -> None:
    async def scene() -> None:
        async with Caller(store) as call:
            await call.create(SURVEY)
            for answer in (await call.admin("GET", PATH), await call("GET", "/nowhere")):
                assert answer.headers["cache-control"] == "no-store"
                assert answer.headers["x-content-type-options"] == "nosniff"

    run(scene())


def test_the_log_says_once_that_the_store_is_gone(
    store: SQLiteStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="deniable.service")

    def full(*_: object, **__: object) -> None:
        raise Unavailable("the disk is full")

    async def scene() -> None:
        async with Caller(store) as call:
            await call.create(SURVEY)
            monkeypatch.setattr(store, "write", full)
            for number in range(5):
                assert (await call.upload(SURVEY, records(SURVEY, [number]))).status == 503
            monkeypatch.undo()
            assert (await call.upload(SURVEY, records(SURVEY, [1]))).status == 200

    run(scene())
    told = [record.message for record in caplog.records if record.message.startswith("the store")]
    assert told == ["the store cannot be written", "the store can be written again"]


def test_the_process_may_have_the_connections_it_was_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    import resource

    limits: list[tuple[int, int]] = [(1024, 4096)]
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits[-1])
    monkeypatch.setattr(resource, "setrlimit", lambda _, pair: limits.append(pair))
    _allow_files(1000)
    assert limits[1:] == [(1256, 4096)]
    assert caplog.messages == []
    _allow_files(5000)
    assert limits[2:] == [(4096, 4096)]
    assert caplog.messages == ["fewer files than connections"]
    _allow_files(100)
    assert limits[3:] == []
