"""A collector that fails as it is told to: what a client must survive, on a real socket."""

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from deniable.errors import WireError
from deniable.reports import Report
from deniable.survey import Survey

# What one request meets. `lost`: counted, but the answer never arrives; `deaf`: neither.
Fault = str | int | tuple[int, dict[str, str], bytes]


class Collector:
    """Counts reports by id, in memory; refuses what is no report of its survey. Faults are used up one a request."""

    def __init__(self, survey: Survey, faults: list[Fault]) -> None:
        self.survey, self.faults = survey, faults
        self.counted: dict[str, bytes] = {}
        self.seen: list[tuple[str, bytes]] = []  # every id and report that ever arrived, resends included
        self.days: dict[str, set[str]] = {}  # the days that an id came with
        self.by_path: dict[str, list[tuple[str, bytes]]] = {}
        self.requests: list[tuple[str, dict[str, str], int]] = []
        self.url, self.closed = "", False

    def take(self, records: list[tuple[str, bytes]]) -> dict[str, object]:
        accepted = duplicate = 0
        refused = []
        for index, (name, report) in enumerate(records):
            try:
                Report.unpack(self.survey, report)
            except WireError as problem:
                refused.append({"index": index, "id": name, "reason": str(problem)})
                continue
            if name in self.counted:
                duplicate += 1
            else:
                accepted, self.counted[name] = accepted + 1, report
        return {"accepted": accepted, "duplicate": duplicate, "refused": refused}

    def check(self) -> None:
        """One id, one report: nothing was ever sent again with other noise."""
        reports: dict[str, set[bytes]] = {}
        for name, report in self.seen:
            reports.setdefault(name, set()).add(report)
        assert all(len(found) == 1 for found in reports.values()), "an id was sent with two different reports"
        assert all(len(found) == 1 for found in self.days.values()), "an id was sent with two different days"


@contextmanager
def collecting(survey: Survey, *faults: Fault) -> Iterator[Collector]:
    collector = Collector(survey, list(faults))
    size = len(Report(survey, 0, bytes(survey.mechanism.payload_bytes)).payload) + 9
    size += ((survey.cohorts - 1).bit_length() + 7) // 8

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            fault = collector.faults.pop(0) if collector.faults else "ok"
            if self.headers["Content-Type"] == "application/json":
                rows = json.loads(body)["reports"]
                records = [(row["id"], base64.b64decode(row["report"], validate=True)) for row in rows]
            else:
                step = 16 + size
                assert len(body) % step == 0, "records of one length"
                records = [(body[i : i + 16].hex(), body[i + 16 : i + step]) for i in range(0, len(body), step)]
            path, _, query = self.path.partition("?")
            collector.requests.append((path, dict(self.headers), len(records)))
            collector.seen += records
            for name, _ in records:
                collector.days.setdefault(name, set()).add(query)
            collector.by_path.setdefault(path, []).extend(records)
            if fault == "deaf":
                self.close_connection = True
                return
            if collector.closed:
                fields = {"type": "urn:deniable:problem:closed", "status": 410, "survey": survey.digest}
                fault = (410, {}, json.dumps(fields).encode())
            if isinstance(fault, int):
                fault = (fault, {}, b"")
            if isinstance(fault, tuple):
                self.reply(*fault)
                return
            answer = json.dumps(collector.take(records)).encode()
            if fault == "lost":
                self.close_connection = True
                return
            if fault == "half":
                self.reply(200, {}, answer[:-3])
                return
            self.reply(200, {"Content-Type": "application/json"}, answer)

        def do_GET(self) -> None:
            raise AssertionError("a POST was turned into a GET")

        def reply(self, status: int, headers: dict[str, str], body: bytes) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    collector.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield collector
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
