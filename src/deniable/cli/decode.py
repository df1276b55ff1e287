"""`deniable decode`: tally files in, a distribution with error bars out, as a table, CSV, JSON or a chart."""

import argparse
import sys
from typing import TYPE_CHECKING, Any

from deniable.charts import figure_text
from deniable.cli.files import load_tallies
from deniable.cli.form_results import candidates_for, write_difference, write_estimate
from deniable.cli.output import add_chart, put_result
from deniable.cli.parser import Commands, command, one_of, part, share, whole
from deniable.cli.progress import Reporter
from deniable.cli.text import several, shown, table

if TYPE_CHECKING:
    from deniable.cli.printed import PrintedDifference, Result
    from deniable.decoders import Estimate

# The names of `decoders.strategies`, which would load NumPy for the help.
DECODERS = (
    "empirical-bayes",
    "empirical-bayes-ordered",
    "inversion",
    "least-squares",
    "weighted-least-squares",
    "likelihood",
    "screening",
    "contaminated",
)
CONSTRAINTS = ("none", "normalized", "projected")
ROWS = 40  # of the table and the chart, unless --top says otherwise
AFTER = 2.0  # seconds before progress is shown


def add(commands: Commands) -> None:
    parser = command(
        commands,
        "decode",
        _run,
        help="turn tallies into a distribution with error bars",
        description=(
            "Decode tallies of one survey; several are added up first.\n\n"
            "  deniable decode monday.tally tuesday.tally --chart week.svg\n"
            "  deniable decode homepages.tally --candidates-file homepages.txt --csv > homepages.csv\n"
            "  deniable decode friday.tally --minus monday.tally --chart change.png\n\n"
            "Symbols marked * are significantly above zero (with --minus: have changed significantly), family-wise at\n"
            "the level of the intervals: all marks together are right with that probability. In CSV the row\n"
            "(unlisted) is what no candidate explains, and text that begins with = + - @ ' or a control character has\n"
            "an apostrophe before it, so that no spreadsheet runs it. The table and the chart cut intervals at 0 and\n"
            "100 %; CSV and JSON do not: raw, raw_low, raw_high."
        ),
    )
    parser.add_argument("tallies", metavar="TALLY", nargs="+", help="tally files of one survey (- is standard input)")
    parser.symbols("candidates", "symbols to look for in an open survey, or a count S for 0 to S-1")
    parser.flag("--complete", "the candidates are all there is: nothing is unlisted")
    parser.option("--minus", "TALLY", "show what changed from these tallies: other days, another group", nargs="+")
    parser.option("--decoder", "NAME", f"{', '.join(DECODERS)} (default: the best known)", one_of(*DECODERS))
    limits = f"{', '.join(CONSTRAINTS)}, of the unbiased estimate unless --decoder says otherwise"
    parser.option("--constraint", "NAME", limits, one_of(*CONSTRAINTS))
    parser.option("--turnover", "T", "the part of the devices that are replaced each window, 0 to 1", part)
    parser.option("--change", "C", "the part of the others that draw their answer anew each window, 0 to 1", part)
    parser.option("--level", "L", "of the intervals", share, default=0.95)
    parser.flag("--simultaneous", "all intervals hold at once with that level")
    parser.option("--top", "N", f"only the N largest (default {ROWS}; 0: all)", whole(0))
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--csv", action="store_true", help="print CSV instead of a table (all symbols, unless --top)")
    output.add_argument("--json", action="store_true", help="print JSON instead of a table (all symbols, unless --top)")
    add_chart(parser, "also write a chart")


def _run(args: argparse.Namespace) -> None:
    estimate = _decoded(args, args.tallies)
    if hasattr(estimate, "form") and args.minus:
        write_difference(args, estimate, _decoded(args, args.minus))
    elif hasattr(estimate, "form"):
        write_estimate(args, estimate)
    elif args.minus:
        _compare(args, estimate)
    else:
        show(args, estimate)


def _decoded(args: argparse.Namespace, paths: list[str]) -> Any:
    from deniable.decoders import constraint_of, decode, decoder_of

    tally: Any = load_tallies(paths)
    listed = candidates_for(tally.survey, args)
    with Reporter("decoding", after=AFTER) as report:
        found = decode(
            tally,
            candidates=listed,
            decoder=decoder_of(args.decoder),
            constraint=constraint_of(args.constraint),
            complete=args.complete,
            turnover=args.turnover,
            change=args.change,
            progress=report.part("decoding"),
        )
    if isinstance(listed, list) and (merged := len(listed) - len(found.symbols)):
        print(f"deniable: {several(merged, 'candidate')} merged: another spelling of one before it", file=sys.stderr)
    return found


def show(args: argparse.Namespace, estimate: "Estimate") -> None:
    """Print an estimate as the options of a command say."""
    from deniable.cli.printed import Result

    long = ", minutes" if estimate.takes_minutes else ""
    with Reporter(f"error bars of {len(estimate.symbols)} symbols{long}", after=AFTER):
        result = Result(estimate, level=args.level, simultaneous=args.simultaneous, top=_rows(args))
    if result.problem is not None:  # too many candidates for error bars: the estimate itself is still good
        print(f"deniable: no error bars: {result.problem}", file=sys.stderr)
    _write(args, result, estimate)


def _compare(args: argparse.Namespace, first: "Estimate") -> None:
    from deniable.cli.printed import PrintedDifference
    from deniable.decoders import difference

    second = _decoded(args, args.minus)
    with Reporter(f"error bars of {len(first.symbols)} symbols", after=AFTER):
        change = PrintedDifference(
            difference(first, second), level=args.level, simultaneous=args.simultaneous, top=_rows(args)
        )
    _write(args, change)


def _write(args: argparse.Namespace, rows: "Result | PrintedDifference", estimate: "Estimate | None" = None) -> None:
    """The chart, if one was asked for, and then JSON, CSV or the table; figures of answers in an order with both."""

    def text() -> None:
        rows.print_table()
        if estimate is not None and (figures := _figures(estimate, args.level)):
            print()
            lines = [[name, _number(v), f"{_number(a)} to {_number(b)}"] for name, (v, a, b) in figures.items()]
            print(table(["", "estimate", f"{100 * args.level:g} % interval"], lines, "lrl"))

    put_result(
        args,
        chart=lambda: rows.chart(most=ROWS),
        record=rows.to_json,
        rows=lambda: rows.write_csv(sys.stdout),
        text=text,
    )


def _figures(estimate: "Estimate", level: float) -> dict[str, tuple[Any, Any, Any]]:
    from deniable.decoders import figures_of

    return figures_of(estimate, level)


def _number(value: Any) -> str:
    return figure_text(value) if isinstance(value, float) else shown(value)


def _rows(args: argparse.Namespace) -> int | None:
    """How many rows are shown; None for all."""
    if args.top == 0 or (args.top is None and (args.csv or args.json)):
        return None
    return int(args.top or ROWS)
