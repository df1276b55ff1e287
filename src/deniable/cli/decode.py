"""`deniable decode`: tally files in, a distribution with error bars out, as a table, CSV, JSON or a chart."""

import argparse
import json
import sys
from typing import TYPE_CHECKING

from deniable.cli.files import load_tallies, symbols_from
from deniable.cli.parser import Commands, chart_path, one_of, share, whole
from deniable.cli.progress import busy

if TYPE_CHECKING:
    from deniable.decoders import Constraint, Decoder

__all__ = ["CONSTRAINTS", "DECODERS", "add", "constraint_of", "decoder_of"]

DECODERS = ("empirical-bayes", "inversion", "least-squares", "weighted-least-squares", "likelihood")
CONSTRAINTS = ("none", "normalized", "projected")
_ROWS = 40


def add(commands: Commands) -> None:
    parser = commands.add_parser(
        "decode",
        usage="deniable decode TALLY [TALLY ...] [options]",
        help="turn tallies into a distribution with error bars",
        description=(
            "Decode tallies of one survey; several are added up first.\n\n"
            "  deniable decode monday.tally tuesday.tally --chart week.svg\n"
            "  deniable decode homepages.tally --candidates-file homepages.txt --csv > homepages.csv"
        ),
    )
    parser.add_argument("tallies", metavar="TALLY", nargs="+", help="tally files of one survey")
    parser.add_argument(
        "--candidates", metavar="A,B,C", help="symbols to look for in an open survey, or a count S for 0 to S-1"
    )
    parser.add_argument("--candidates-file", metavar="FILE", help="the same, one a line, UTF-8 (- is standard input)")
    parser.add_argument(
        "--decoder", metavar="NAME", type=one_of(*DECODERS), help=f"{', '.join(DECODERS)} (default: the best known)"
    )
    parser.add_argument(
        "--constraint",
        metavar="NAME",
        type=one_of(*CONSTRAINTS),
        help=f"{', '.join(CONSTRAINTS)}, of the unbiased estimate unless --decoder says otherwise",
    )
    parser.add_argument("--level", metavar="L", type=share, default=0.95, help="of the intervals (default 0.95)")
    parser.add_argument("--simultaneous", action="store_true", help="all intervals hold at once with that level")
    parser.add_argument("--top", metavar="N", type=whole(0), help=f"only the N largest (default {_ROWS}; 0: all)")
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--csv", action="store_true", help="print CSV instead of a table (all symbols, unless --top)")
    output.add_argument("--json", action="store_true", help="print JSON instead of a table (all symbols, unless --top)")
    parser.add_argument("--chart", metavar="PATH", type=chart_path, help="also write a chart: .svg, .png, .html, .json")
    parser.set_defaults(run=_run)


def decoder_of(name: str | None) -> "Decoder | None":
    """The strategy value that a name on the command line stands for; None leaves the choice to `decode`."""
    from deniable.decoders import EmpiricalBayes, Inversion, LeastSquares, Likelihood, WeightedLeastSquares

    known = (EmpiricalBayes(), Inversion(), LeastSquares(), WeightedLeastSquares(), Likelihood())
    return None if name is None else dict(zip(DECODERS, known, strict=True))[name]


def constraint_of(name: str | None) -> "Constraint | None":
    """The constraint that a name on the command line stands for; None leaves the choice to `decode`."""
    from deniable.decoders import Normalized, Projected, Unconstrained

    known: dict[str, Constraint] = {"none": Unconstrained(), "normalized": Normalized(), "projected": Projected()}
    return None if name is None else known[name]


def _run(args: argparse.Namespace) -> None:
    import numpy as np

    from deniable.cli.result import Result
    from deniable.decoders import decode
    from deniable.errors import DecodeError

    tally = load_tallies(args.tallies)
    candidates = symbols_from("candidates", args.candidates, args.candidates_file)
    with busy("decoding"):
        estimate = decode(
            tally,
            candidates=range(candidates) if isinstance(candidates, int) else candidates,
            decoder=decoder_of(args.decoder),
            constraint=constraint_of(args.constraint),
        )
    try:
        with busy(f"error bars of {len(estimate.symbols)} symbols"):
            intervals = estimate.intervals(args.level, simultaneous=args.simultaneous)
            errors = estimate.standard_errors
    except DecodeError as problem:  # too many candidates for error bars: the estimate itself is still good
        print(f"deniable: no error bars: {problem}", file=sys.stderr)
        intervals, errors = np.full((len(estimate.symbols), 2), np.nan), np.full(len(estimate.symbols), np.nan)
    order = np.argsort(-estimate.probabilities, kind="stable")
    if args.top != 0 and not (args.top is None and (args.csv or args.json)):
        order = order[: args.top or _ROWS]
    result = Result(estimate, intervals, errors, order, level=args.level, simultaneous=args.simultaneous)
    if args.chart:
        result.save_chart(args.chart, most=_ROWS)
    if args.json:
        print(json.dumps(result.to_json(), indent=2, allow_nan=False))
    elif args.csv:
        result.print_csv()
    else:
        result.print_table()
        if args.chart:
            print(f"\nwrote {args.chart}")
