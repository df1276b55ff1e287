"""`deniable discover`: tally files of a survey that discovers text in, the texts that people wrote out."""

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from deniable.cli.decode import AFTER, ROWS, show
from deniable.cli.files import load_tallies, symbols_from
from deniable.cli.output import add_chart
from deniable.cli.parser import Commands, command, share, whole
from deniable.cli.progress import Reporter
from deniable.errors import DataError, DecodeError, UnfinishedSearch
from deniable.survey import write_atomically

if TYPE_CHECKING:
    from deniable.decoders import Beginnings


def add(commands: Commands) -> None:
    parser = command(
        commands,
        "discover",
        _run,
        help="find the texts that people wrote, without a list",
        description=(
            "Find what people wrote in tallies of a survey that was made to discover text (survey new --mechanism\n"
            "discovery); several are added up first.\n\n"
            "  deniable discover day.tally --chart day.svg\n"
            "  deniable discover day.tally --alphabet domains --seconds 60 --state day.search\n\n"
            "With the level's probability none of the texts is one that nobody wrote. A text that was longer than the\n"
            "survey tells apart ends with an ellipsis. What is not declared is (all others)."
        ),
    )
    parser.add_argument("tallies", metavar="TALLY", nargs="+", help="tally files of one survey (- is standard input)")
    parser.option("--alphabet", "NAME", "digits, domains, letters, or all characters that texts may have")
    parser.option("--prefix", "TEXT", "a text that every answer begins with; may be repeated", action="append")
    parser.symbols("candidates", "texts to test in any case, together with those that are found")
    parser.option("--level", "L", "of the declared texts, and of the intervals", share, default=0.95)
    parser.flag("--simultaneous", "all intervals hold at once with that level")
    parser.option("--seconds", "S", "give up after so many", whole(1))
    parser.option("--most", "N", "candidates to look at before giving up (default 33554432)", whole(1))
    parser.option("--state", "FILE", "where a search that gave up is kept, and resumed from")
    parser.option("--top", "N", f"only the N largest (default {ROWS}; 0: all)", whole(0))
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--csv", action="store_true", help="print CSV instead of a table")
    output.add_argument("--json", action="store_true", help="print JSON instead of a table")
    add_chart(parser, "also write a chart")


def _run(args: argparse.Namespace) -> None:
    from deniable.decoders import MOST, discover

    candidates = symbols_from(args, "candidates")
    if isinstance(candidates, int):
        raise DecodeError("candidates must be texts, got a count; name them, or a file of them")
    state = Path(args.state) if args.state else None
    with Reporter("searching", after=AFTER) as report:
        try:
            found = discover(
                load_tallies(args.tallies),
                alphabet=args.alphabet,
                prefixes=args.prefix,
                candidates=candidates,
                level=args.level,
                seconds=args.seconds,
                most=args.most or MOST,
                resume=None if state is None else _resumed(state),
                progress=report.part("searching"),
            )
        except UnfinishedSearch as stopped:
            if state is not None:
                write_atomically(state, json.dumps(stopped.beginnings.to_json()).encode())
                print(f"deniable: the search is kept in {state}; run this again with a higher limit", file=sys.stderr)
            raise
    if state is not None:
        state.unlink(missing_ok=True)
    show(args, found)


def _resumed(path: Path) -> "Beginnings | None":
    """The search that a file keeps; None where there is none yet."""
    from deniable.decoders import Beginnings

    if not path.exists():
        return None
    try:
        return Beginnings.from_json(json.loads(path.read_bytes()))
    except (ValueError, DecodeError):
        raise DataError(f"{path} must be a search that was kept; delete it to start again") from None
