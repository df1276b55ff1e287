"""The command line: one file for each command, which parses arguments, calls the library and prints.

Nothing heavy is imported before a command runs, so that `deniable --help` answers at once. Bad input ends with exit
code 2 and one sentence on standard error, a plan that no survey can meet with exit code 1; a traceback is a bug.
"""

import io
import os
import sys
from collections.abc import Sequence
from typing import TextIO

from deniable.cli import (
    audit,
    columns,
    crosstab,
    decode,
    demo,
    discover,
    doctor,
    plan,
    regress,
    reproduce,
    serve,
    simulate,
    store,
    survey,
    track,
)
from deniable.cli.output import prepared
from deniable.cli.parser import Parser
from deniable.cli.text import as_typed
from deniable.errors import DeniableError, PlanError, require

__all__ = ["build_parser", "main"]

# Exit codes; the last two are 128 and the number of the signal (SIGINT, SIGPIPE), as shells say it.
IMPOSSIBLE, BAD_INPUT, INTERRUPTED, READER_GONE = 1, 2, 130, 141

COMMANDS = (
    demo,
    plan,
    survey,
    columns,
    decode,
    discover,
    track,
    crosstab,
    regress,
    simulate,
    reproduce,
    audit,
    serve,
    store,
    doctor,
)

# The extras that a command needs; charts are added where one is asked for.
NEEDS: dict[str, tuple[str, ...]] = {
    "demo": ("analysis",),
    "plan": ("analysis",),
    "survey": (),
    "privatize": ("analysis",),
    "count": ("analysis",),
    "decode": ("analysis",),
    "discover": ("analysis",),
    "track": ("analysis",),
    "crosstab": ("analysis",),
    "regress": ("relations",),
    "simulate": ("analysis",),
    "reproduce": ("analysis", "charts"),
    "audit": ("analysis",),
    "serve": ("serve",),
    "store": ("analysis",),
    "doctor": (),
}


def build_parser() -> Parser:
    """The parser of the whole command line; `docs/reference/cli.md` is its help, and a test holds the two together."""
    from deniable import __version__

    parser = Parser(
        prog="deniable",
        usage="deniable [--version] COMMAND ...",
        description="Learn what a crowd does without learning what anyone does.",
        epilog="`deniable COMMAND --help` explains a command. Start with `deniable demo`.",
    )
    parser.add_argument("--version", action="version", version=f"deniable {__version__}", help="print the version")
    parser.set_defaults(run=None, parser=parser)
    commands = parser.add_subparsers(
        title="commands", metavar="COMMAND", dest="chosen", prog="deniable", parser_class=Parser
    )
    for command in COMMANDS:
        command.add(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0; 1 if an audit found a fault or no survey can keep a plan; 2 for bad
    input, after one sentence on standard error.

    >>> main(["--version"])
    deniable 0.2.0
    0
    """
    if isinstance(sys.stdout, io.TextIOWrapper):  # a symbol that the terminal cannot show must not stop the rest
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        status = _run(argv)
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # `deniable decode ... | head`: the reader has seen enough
        _mute(sys.stdout)
        return READER_GONE
    except KeyboardInterrupt:
        return _refuse("interrupted", INTERRUPTED)
    except MemoryError:
        return _refuse("this does not fit into memory; use fewer people, symbols, cells or cohorts")
    except PlanError as problem:
        return _refuse(str(problem), IMPOSSIBLE)
    except DeniableError as problem:
        return _refuse(str(problem))
    except OSError as problem:
        _mute(sys.stdout)
        where = "output" if problem.filename is None else str(problem.filename)
        return _refuse(f"{where} cannot be written or read: {(problem.strerror or str(problem)).lower()}")


def _run(argv: Sequence[str] | None) -> int:
    try:
        args = build_parser().parse_args(argv)
    except SystemExit as stop:  # argparse printed its help, its version or one sentence
        return stop.code if isinstance(stop.code, int) else BAD_INPUT
    if args.run is None:
        args.parser.print_help()
        return 0
    draws = getattr(args, "chart", None) is not None or not getattr(args, "no_chart", True)
    require(f"to run deniable {args.chosen}", *NEEDS[args.chosen], *(["charts"] if draws else []))
    with prepared(args):
        try:
            return args.run(args) or 0  # most commands return nothing; an audit that found something returns 1
        except DeniableError as problem:
            problem.args = (as_typed(str(problem), vars(args)),)
            raise


def _refuse(sentence: str, status: int = BAD_INPUT) -> int:
    # One line, whatever a file name or a survey holds.
    print("deniable: " + " ".join(sentence.split()), file=sys.stderr)
    return status


def _mute(stream: TextIO) -> None:
    """Redirect a stream that cannot be written to the null device: the interpreter flushes it once more at exit."""
    try:
        descriptor = stream.fileno()
    except (OSError, ValueError):  # a test's or a notebook's stream
        return
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, descriptor)
    os.close(nothing)
