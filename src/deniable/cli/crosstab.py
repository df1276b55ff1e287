"""`deniable crosstab`: two related questions of a form, or one question in several groups."""

import argparse
from typing import Any

from deniable.cli.files import load_tallies, symbols_from
from deniable.cli.output import add_chart, print_csv, put_result
from deniable.cli.parser import Commands, command, share
from deniable.cli.progress import Reporter
from deniable.cli.text import table
from deniable.errors import DeniableError

_AFTER = 2.0  # seconds before progress is shown


def add(commands: Commands) -> None:
    parser = command(
        commands,
        "crosstab",
        _run,
        help="how two answers of the same people go together, or groups differ",
        description=(
            "A cross-table with error bars, and a test of independence. Of a form that relates two questions:\n\n"
            "  deniable crosstab day.tally --rows age --columns smokes --chart smokes.svg\n\n"
            "Of groups that are known in the clear, a tally for each:\n\n"
            "  deniable crosstab --group women=women.tally --group men=men.tally\n\n"
            "Shares are within rows. + and - mark cells that surely have more or fewer people than independence\n"
            "would give them; all marks together are right with the level's probability."
        ),
    )
    parser.add_argument("tallies", metavar="TALLY", nargs="*", help="tally files of one form; they are added up")
    parser.option("--rows", "QUESTION", "the question whose answers are the rows")
    parser.option("--columns", "QUESTION", "the question whose answers are the columns")
    parser.option("--group", "NAME=TALLY", "a group and its tally file; may be repeated", action="append")
    parser.symbols("candidates", "answers to look for, where groups answered an open survey")
    parser.option("--level", "L", "of the intervals and the marks", share, default=0.95)
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--csv", action="store_true", help="print CSV: a row for each cell")
    output.add_argument("--json", action="store_true", help="print JSON: cells, and the test")
    add_chart(parser, "also write a heat map")


def _run(args: argparse.Namespace) -> None:
    from deniable.relations import crosstab

    if bool(args.tallies) == bool(args.group):
        raise DeniableError("crosstab must be given tally files of a form or --group, got both or none of them")
    candidates = symbols_from(args, "candidates")
    with Reporter("tabulating", after=_AFTER):
        found = crosstab(
            load_tallies(args.tallies) if args.tallies else _groups(args.group),
            args.rows,
            args.columns,
            candidates=range(candidates) if isinstance(candidates, int) else candidates,
        )

    def text() -> None:
        head = [f"{found.rows.name} \\ {found.columns.name}", *(str(symbol) for symbol in found.columns.symbols)]
        print(table(head, found.shown(args.level), "l" * len(head)))
        print(found.independence)

    put_result(
        args,
        chart=lambda: found.chart(level=args.level),
        record=lambda: found.to_json(args.level),
        rows=lambda: print_csv(found.to_arrow(args.level)),
        text=text,
    )


def _groups(given: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for text in given:
        name, equals, path = text.partition("=")
        if not (name and equals and path):
            raise DeniableError(f"--group must be NAME=TALLY, got {text!r}")
        if name in found:
            raise DeniableError(f"--group must name each group once, got {name!r} twice; add up its tallies first")
        found[name] = load_tallies([path])
    return found
