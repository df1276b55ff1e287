"""`deniable serve` without the command line: open the store, run the application, shut down without losing a report.

The log has one JSON object a line, about the store, surveys and the process. No request is logged, so no network
address, user agent or time of arrival is.
"""

import json
import logging
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from deniable.errors import StoreError, require
from deniable.service.backends import BACKENDS, open_store
from deniable.service.configuration import Options
from deniable.service.tokens import check_admin, new_secret
from deniable.survey import write_atomically

_WARM_AFTER = 1.0  # seconds after the start before the decoder is loaded, so that waiting uploads come first


class _Lines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {"level": record.levelname.lower(), "message": record.getMessage()}
        line |= getattr(record, "fields", {})
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


def _logging() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines())
    # A warning of the server is a line about a request: not here, and not as many as somebody likes to send.
    for name, level in (("deniable.service", logging.INFO), ("uvicorn", logging.ERROR), ("asyncio", logging.ERROR)):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)


def admin_token(options: Options) -> str:
    """The administrator's secret: from its file, or made at the first start and left in the store's directory."""
    path = options.admin_token_file
    if path is None:
        if options.store.startswith(tuple(BACKENDS)):
            raise StoreError("--admin-token-file must be given with PostgreSQL: a file that holds the secret")
        path = str(Path(options.store) / "admin-token")
        if not os.path.exists(path):
            write_atomically(path, new_secret().encode() + b"\n", mode=0o600)
            fields = {"event": "made", "file": path}
            logging.getLogger("deniable.service").info("the administrator's token", extra={"fields": fields})
    return check_admin(_secret(path))


def _secret(path: str) -> str:
    """What a file of one secret holds, if nobody else can read it."""
    try:
        with open(path, "rb") as file:
            if os.fstat(file.fileno()).st_mode & 0o007:
                raise StoreError(f"admin token file {path} must not be open to all users; run chmod 600 on it")
            return file.read(1 << 16).decode().strip()
    except OSError as problem:
        why = (problem.strerror or str(problem)).lower()
        raise StoreError(f"admin token file {path} must be readable: {why}") from None
    except UnicodeDecodeError:
        raise StoreError(f"admin token file {path} must hold text in UTF-8") from None


def _allow_files(connections: int) -> None:
    """Let the process have as many connections as it was told: the usual limit is 1024 files."""
    wanted = connections + 256
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    if most < wanted:
        fields = {"event": "limit", "files": most, "connections": connections}
        logging.getLogger("deniable.service").warning("fewer files than connections", extra={"fields": fields})


def serve(options: Options, announce: Callable[[str, str], None] | None = None) -> None:
    """Serve until SIGTERM or SIGINT. Then accept no new connection, finish and commit what was received, and return.

    Parameters
    ----------
    options : Options
        The settings.
    announce : callable, optional
        Called with the public address and the administrator's secret once the port is open.

    Raises
    ------
    StoreError
        If the store cannot be opened.

    Examples
    --------
    >>> serve(Options("store"), announce=print)  # doctest: +SKIP
    """
    require("to run the collector", "serve")
    import uvicorn

    from deniable.service.app import App
    from deniable.service.connections import guarded

    _logging()
    store = open_store(options.store, migrate=options.migrate)
    token = admin_token(options)
    app = App(store, options, admin_token=token, warm_after=_WARM_AFTER)
    protocol = guarded(patience=options.patience, body_limit=options.body_limit)
    config = uvicorn.Config(
        app, host=options.host, port=options.port, loop="uvloop", http=protocol, ws="none", lifespan="on",
        access_log=False, log_config=None, server_header=False, proxy_headers=False, timeout_keep_alive=75,
        timeout_graceful_shutdown=20, limit_concurrency=options.connections, backlog=4096,
    )  # fmt: skip
    # The writer gives the interpreter up for each statement; on a busy loop it would wait 5 ms to get it back.
    sys.setswitchinterval(0.0002)
    _allow_files(options.connections)
    server = uvicorn.Server(config)
    # A signal may come before the server watches for them, and it raises the one that stopped it once more at the end.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: setattr(server, "should_exit", True))
    listening = _listen(options)
    address = listening.getsockname()
    log = logging.getLogger("deniable.service")
    fields = {"event": "listening", "address": f"http://{options.host}:{address[1]}", "store": store.kind}
    if options.public_url is not None:
        fields["public"] = options.public_url
    log.info("start", extra={"fields": fields})
    if announce is not None:
        announce(options.public_url or fields["address"], token)
    server.run(sockets=[listening])
    log.info("stop", extra={"fields": {"event": "stopped"}})


def _listen(options: Options) -> socket.socket:
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    listening = socket.socket(family)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((options.host, options.port))
    except OSError as problem:
        raise StoreError(
            f"port must be free on {options.host}, got {options.port}: {(problem.strerror or str(problem)).lower()}"
        ) from None
    return listening
