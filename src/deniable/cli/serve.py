"""`deniable serve`: the collector."""

import argparse
import contextlib
import re
import sys
import tempfile
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from deniable.cli.parser import Commands, whole

if TYPE_CHECKING:
    from deniable.cli.demo_store import Told

__all__ = ["add"]

_PUBLIC = re.compile(r"(?P<origin>https?://([a-z0-9][a-z0-9._-]*|\[[0-9a-f:.]+\])(:(?P<port>[0-9]{1,5}))?)/?")
_LONGEST_URL = 200  # characters: a QR code holds 412 bytes, and /answer/ with a digest takes 72


def add(commands: Commands) -> None:
    parser = commands.add_parser(
        "serve",
        usage="deniable serve [--store DIR | --store postgres://...] [--demo] [options]",
        help="run the collector: take reports over HTTP, count them, answer with estimates",
        description=(
            "Take reports over HTTP and count them. A report is acknowledged once it is on disk, and counted once.\n"
            "Nothing about who sent it is stored or logged. The address is a page to ask, answer and see results.\n\n"
            "  deniable serve --demo\n"
            "  deniable serve --store collector --port 8765\n"
            "  deniable survey register survey.json\n\n"
            "docs/how-to/operations.md says how to run it behind a proxy, back it up and scale it out."
        ),
    )
    parser.add_argument("--store", metavar="WHERE", help="a directory, or postgres://... (default collector)")
    parser.add_argument(
        "--demo", action="store_true", help="with three weeks of simulated answers; in a store of its own unless told"
    )
    parser.add_argument(
        "--no-migrate", action="store_true", help="refuse a store of an older version instead of upgrading it"
    )
    parser.add_argument("--host", metavar="HOST", default="127.0.0.1", help="address to listen on (default 127.0.0.1)")
    parser.add_argument(
        "--port", metavar="PORT", type=whole(0, 65535), default=8765, help="default 8765; 0: any free one"
    )
    parser.add_argument(
        "--public-url",
        metavar="URL",
        type=_public_url,
        help="where people reach this collector, for its links and QR codes: https://reports.example.org",
    )
    parser.add_argument(
        "--admin-token-file", metavar="FILE", help="the administrator's secret (default: made in the directory)"
    )
    parser.add_argument(
        "--cors", metavar="ORIGIN", default="*", help="pages that may send reports (default *; none: no page)"
    )
    parser.add_argument(
        "--body-limit", metavar="BYTES", type=whole(1024, 1 << 30), default=1 << 20, help="default 1048576"
    )
    parser.add_argument(
        "--connections", metavar="N", type=whole(1), default=4096, help="more are answered with 503 (default 4096)"
    )
    parser.add_argument(
        "--patience", metavar="SECONDS", type=whole(1, 3600), default=10, help="for a request to arrive (default 10)"
    )
    parser.add_argument(
        "--decode-seconds", metavar="SECONDS", type=whole(1, 3600), default=60,
        help="most that one decoding or plan may take (default 60)",
    )  # fmt: skip
    parser.add_argument(
        "--decode-memory", metavar="MIB", type=whole(256, 1 << 20), default=4096,
        help="most that decoding may take (default 4096)",
    )  # fmt: skip
    parser.add_argument(
        "--open-batch", metavar="N", type=whole(1, 1 << 16), default=500,
        help="reports in a request without an upload token (default 500)",
    )  # fmt: skip
    parser.add_argument(
        "--open-rate", metavar="N", type=whole(0, 1 << 31), default=1000,
        help="reports a second without a token, where a survey has no rate (default 1000; 0: no limit)",
    )  # fmt: skip
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> None:
    from deniable.service import Options, open_store, serve

    with contextlib.ExitStack() as stack:
        store, told = args.store or "collector", []
        if args.demo:
            from deniable.cli.demo_store import fill

            store = args.store or stack.enter_context(tempfile.TemporaryDirectory(prefix="deniable-demo-"))
            with contextlib.closing(open_store(store, migrate=not args.no_migrate)) as opened:
                told = fill(opened)
        options = Options(
            store=store,
            host=args.host,
            port=args.port,
            admin_token_file=args.admin_token_file,
            origins=None if args.cors == "none" else args.cors,
            body_limit=args.body_limit,
            connections=args.connections,
            patience=float(args.patience),
            decode_seconds=float(args.decode_seconds),
            decode_memory=args.decode_memory << 20,
            open_batch=args.open_batch,
            open_rate=args.open_rate or None,
            public_url=args.public_url,
            migrate=not args.no_migrate,
        )
        # The administrator's link holds the secret: it goes to a person's terminal and into no log, unless it opens
        # nothing but a demonstration that is gone with the process.
        person = sys.stdout.isatty() or (args.demo and not args.store)
        shown = args.demo or person

        def announce(address: str, secret: str) -> None:
            _announce(address, secret if person else None, told)

        serve(options, announce if shown else None)


def _public_url(text: str) -> str:
    """An address to put before /answer/..., checked: a scheme and a host, and nothing after them.

    >>> _public_url("https://reports.example.org/"), _public_url("http://[2001:db8::1]:8765")
    ('https://reports.example.org', 'http://[2001:db8::1]:8765')
    """
    found = _PUBLIC.fullmatch(text.strip().lower())
    if not found or int(found["port"] or 0) > 65535 or len(text) > _LONGEST_URL:
        rule = "must be like https://reports.example.org: http or https, a host, perhaps a port, and no path"
        raise argparse.ArgumentTypeError(f"{rule}, got {text[:80]!r}")
    return found["origin"]


def _announce(address: str, secret: str | None, told: "list[Told]") -> None:
    if secret is not None:
        link = f"{address}/#{urlencode({'token': secret})}"
        print(f"Ask a question:  {link}\n  (a private link: whoever has it may ask here)")
    if re.match(r"http://(127\.|localhost\b|\[::1\])", address):
        print("  (it opens on this computer only; for others see --public-url and docs/how-to/operations.md)")
    for one in told:
        named = [("token", one.token)] if secret is not None else []
        named += [("candidate", candidate) for candidate in one.candidates]
        print(f"\n{one.survey.name}")
        print(f"  answer it:     {address}/answer/{one.survey.digest}")
        print(f"  its results:   {address}/results/{one.survey.digest}#{urlencode(named)}")
    print(f"\nCompare mechanisms: {address}/explore", flush=True)
