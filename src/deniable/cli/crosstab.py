"""`deniable crosstab`: two related questions of a form, or one question in several groups."""

import argparse
from typing import Any

from deniable.cli.files import load_tallies, one_of, symbols_from
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
            "Where people of each group were asked with two different dice, name both, and what is always said:\n\n"
            "  deniable crosstab --group women=a.tally --group women=b.tally --group men=c.tally \\\n"
            "    --group men=d.tally --noncompliance no\n\n"
            "Shares are within rows. + and - mark cells that surely have more or fewer people than independence\n"
            "would give them; all marks together are right with the level's probability."
        ),
    )
    parser.add_argument("tallies", metavar="TALLY", nargs="*", help="tally files of one form; they are added up")
    parser.option("--rows", "QUESTION", "the question whose answers are the rows")
    parser.option("--columns", "QUESTION", "the question whose answers are the columns")
    parser.option("--group", "NAME=TALLY", "a group and its tally file; may be repeated", action="append")
    parser.option("--noncompliance", "ANSWER", "what people always say who do not play by the rules")
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
    if args.tallies and args.noncompliance is not None:
        raise DeniableError(
            "--noncompliance must come with --group, got tally files of a form; give each group's tallies"
        )
    candidates = symbols_from(args, "candidates")
    with Reporter("tabulating", after=_AFTER):
        several = args.noncompliance is not None
        data: Any = load_tallies(args.tallies) if args.tallies else _groups(args.group, several=several)
        found = crosstab(
            data,
            args.rows,
            args.columns,
            candidates=range(candidates) if isinstance(candidates, int) else candidates,
            noncompliance=_answer(args.noncompliance, data),
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


def _groups(given: list[str], *, several: bool) -> dict[str, Any]:
    """A tally for each group; with `several` a dict of them."""
    found: dict[str, dict[str, Any]] = {}
    for text in given:
        name, equals, path = text.partition("=")
        if not (name and equals and path):
            raise DeniableError(f"--group must be NAME=TALLY, got {text!r}")
        if name in found and not several:
            raise DeniableError(f"--group must name each group once, got {name!r} twice; add up its tallies first")
        if path in found.get(name, {}):
            raise DeniableError(f"--group must name each tally once, got {path!r} twice in {name!r}")
        found.setdefault(name, {})[path] = load_tallies([path])
    return found if several else {name: tally for name, tallies in found.items() for tally in tallies.values()}


def _answer(given: str | None, groups: dict[str, Any]) -> Any:
    """What is always said, be it a word or a number."""
    from deniable.tally import Tally

    if given is None:
        return None
    first = next(iter(next(iter(groups.values())).values()))
    if not isinstance(first, Tally):  # the library refuses those of forms
        return given
    return one_of(given, first.survey.mechanism.said or first.survey.symbols)
