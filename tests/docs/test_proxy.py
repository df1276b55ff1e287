"""The nginx lines of docs/how-to/operations.md, before a collector: as they stand, but for addresses, files and rates.

The rates are lower here: a slow machine would never send as fast as those of the page.
"""

import contextlib
import datetime
import http.client
import os
import shutil
import socket
import ssl
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.collector import ADMIN, Server, one_cell_each, records, serving
from tests.docs.blocks import ROOT, blocks
from tests.waiting import PATIENCE, wait_for

SURVEY = one_cell_each(1024)
PATH = f"/v1/surveys/{SURVEY.digest}/reports"
RELAY = "127.0.0.7"
MISSING = "nginx must be installed for this test: apt-get install nginx (`make test` does so where it may)"

Send = Callable[..., int]
Connect = Callable[..., http.client.HTTPConnection]


def certificate(folder: Path) -> None:
    """A certificate for the name in the page, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "reports.example.org")])
    now = datetime.datetime.now(datetime.UTC)
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = made.serial_number(1).not_valid_before(now).not_valid_after(now + datetime.timedelta(days=2))
    (folder / "cert.pem").write_bytes(made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    form = serialization.PrivateFormat.PKCS8
    secret = key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
    (folder / "cert.key").write_bytes(secret)


def configured(folder: Path, port: int, collector: int) -> Path:
    """The lines of the page in a file that nginx can start with; nothing but these words is replaced."""
    (block,) = [block.code for block in blocks(ROOT / "docs" / "how-to" / "operations.md") if block.language == "nginx"]
    for word, other in (
        ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
        ("http://127.0.0.1:8765", f"http://127.0.0.1:{collector}"),
        ("/etc/ssl/reports.example.org.pem", str(folder / "cert.pem")),
        ("/etc/ssl/reports.example.org.key", str(folder / "cert.key")),
        ("192.0.2.7 ", f"{RELAY} "),
        ("zone=senders:10m rate=2r/s", "zone=senders:10m rate=1r/m"),
        ("zone=large:10m rate=6r/m", "zone=large:10m rate=1r/m"),
    ):
        assert block.count(word) == 1, word
        block = block.replace(word, other)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    places = "".join(f"{kind}_temp_path {folder}/{kind};\n" for kind in kinds)
    user = "user root;\n" if os.geteuid() == 0 else ""
    path = folder / "nginx.conf"
    path.write_text(
        f"{user}daemon off;\nmaster_process off;\npid {folder}/pid;\nerror_log {folder}/errors;\n"
        f"events {{}}\nhttp {{\n{places}{block}}}\n"
    )
    return path


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[tuple[Server, Send, Connect]]:
    """A collector, what sends a request through the proxy and returns the status, and what only connects to that."""
    program = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    assert program is not None, MISSING
    certificate(tmp_path)
    options = ("--open-batch", "500", "--public-url", "https://reports.example.org")
    with serving(str(tmp_path / "store"), tmp_path, *options) as server, socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
        free.close()
        server.create(SURVEY, minimum=1)
        command = [program, "-c", str(configured(tmp_path, port, server.port)), "-p", str(tmp_path)]
        command += ["-e", str(tmp_path / "errors")]
        tried = subprocess.run([*command, "-t"], capture_output=True, text=True)
        assert tried.returncode == 0, tried.stderr
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
            trusting = ssl.create_default_context(cafile=str(tmp_path / "cert.pem"))
            trusting.check_hostname = False

            def connect(source: str = "") -> http.client.HTTPConnection:
                where = (source, 0) if source else None
                return http.client.HTTPSConnection(
                    "127.0.0.1", port, timeout=PATIENCE, context=trusting, source_address=where
                )

            def send(method: str, path: str, body: object = None, *, source: str = "", **headers: str) -> int:
                with contextlib.closing(connect(source)) as line:
                    fields = {"Content-Type": "application/octet-stream", **headers}
                    line.request(method, path, body=body, headers=fields, encode_chunked=body is not None)  # type: ignore[arg-type]
                    answer = line.getresponse()
                    answer.read()
                    return answer.status

            def listens() -> bool:
                with contextlib.suppress(OSError):
                    return send("GET", "/healthz") == 200
                return False

            try:
                wait_for(listens, "nginx to listen")
                yield server, send, connect
            finally:
                process.terminate()


def sent_until_refused(send: Send, size: int, first: int) -> int:
    """How many uploads of so many reports are taken before the first that is not."""
    for taken in range(500):
        numbers = range(first + size * taken, first + size * (taken + 1))
        status = send("POST", PATH, records(SURVEY, [number % 1024 for number in numbers]))
        if status != 200:
            assert status == 503
            return taken
    raise AssertionError("nothing was refused")


def test_the_documented_proxy_counts_reports(proxy: tuple[Server, Send, Connect]) -> None:
    server, send, _ = proxy
    assert send("GET", "/") == 200
    assert send("POST", PATH, bytes((1 << 20) + 1)) == 413
    assert sent_until_refused(send, 500, 0) >= 6, "one and a burst of five"
    assert send("POST", PATH, iter([records(SURVEY, [1])]), **{"Transfer-Encoding": "chunked"}) == 503, "no length"
    assert send("POST", PATH, records(SURVEY, range(14))) == 200, "small ones are counted apart"
    assert sent_until_refused(send, 1, 0) >= 5
    token = server.ask("POST", f"/v1/surveys/{SURVEY.digest}/tokens", b'{"kind": "upload"}', token=ADMIN).json()[
        "token"
    ]
    whole = records(SURVEY, range(600))
    assert send("POST", PATH, whole, source=RELAY) == 413, "the collector's own limit, without a token"
    for _ in range(40):
        assert send("POST", PATH, whole, source=RELAY, Authorization=f"Bearer {token}") == 200


def half_sent(line: http.client.HTTPConnection, body: bytes) -> None:
    """A request whose body stops half-way."""
    line.putrequest("POST", PATH)
    line.putheader("Content-Type", "application/octet-stream")
    line.putheader("Content-Length", str(len(body)))
    line.endheaders(body[: len(body) // 2])


@pytest.mark.slow
def test_a_body_that_comes_slowly_does_not_reach_the_collector(proxy: tuple[Server, Send, Connect]) -> None:
    """It stops for longer than the collector waits for anybody; then the rest comes, and is counted."""
    server, _, connect = proxy
    body = records(SURVEY, range(10))
    with contextlib.closing(connect()) as through, contextlib.closing(server.connect()) as direct:
        half_sent(through, body)
        half_sent(direct, body)
        with contextlib.suppress(ConnectionError):  # the collector has given this one up
            assert direct.getresponse().status == 408
        through.send(body[len(body) // 2 :])
        assert through.getresponse().status == 200
    assert server.ask("GET", f"/v1/surveys/{SURVEY.digest}/counters").json()["counters"] == {"accepted": 10}
