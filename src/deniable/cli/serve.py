"""`deniable serve`: the collector."""

import argparse

from deniable.cli.parser import Commands, whole

__all__ = ["add"]


def add(commands: Commands) -> None:
    parser = commands.add_parser(
        "serve",
        usage="deniable serve [--store DIR | --store postgres://...] [options]",
        help="run the collector: take reports over HTTP, count them, answer with estimates",
        description=(
            "Take reports over HTTP and count them. A report is acknowledged once it is on disk, and counted once.\n"
            "Nothing about who sent it is stored or logged.\n\n"
            "  deniable serve --store collector --port 8765\n"
            '  curl -H "Authorization: Bearer $(cat collector/admin-token)" \\\n'
            '       -d "{\\"survey\\": $(cat survey.json)}" http://127.0.0.1:8765/v1/surveys\n\n'
            "docs/operations.md says how to run it behind a proxy, back it up and scale it out."
        ),
    )
    parser.add_argument(
        "--store", metavar="WHERE", default="collector", help="a directory, or postgres://... (default collector)"
    )
    parser.add_argument("--host", metavar="HOST", default="127.0.0.1", help="address to listen on (default 127.0.0.1)")
    parser.add_argument(
        "--port", metavar="PORT", type=whole(0, 65535), default=8765, help="default 8765; 0: any free one"
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
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> None:
    from deniable.service.server import Options, serve

    serve(
        Options(
            store=args.store,
            host=args.host,
            port=args.port,
            admin_token_file=args.admin_token_file,
            origins=None if args.cors == "none" else args.cors,
            body_limit=args.body_limit,
            connections=args.connections,
            patience=float(args.patience),
        )
    )
