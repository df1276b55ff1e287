"""`deniable plan --effect`: how many people a difference or a coefficient needs, or how surely it is seen."""

import argparse
import json
from typing import TYPE_CHECKING, Any

from deniable.cli.files import one_of, symbols_from
from deniable.cli.output import put, put_chart, told
from deniable.cli.parser import share
from deniable.cli.text import table
from deniable.errors import DeniableError
from deniable.survey import Survey

if TYPE_CHECKING:
    from deniable.planner import EffectPlan

_GIVEN = ("n", "epsilon", "effect", "power", "share", "alpha", "group", "covariate", "answer", "name")


def add_effect_options(parser: Any) -> None:
    """The options of a plan for an effect."""
    wanted = "a difference of shares between two groups; with --covariate a coefficient, in log odds"
    parser.option("--effect", "X", wanted, float)
    parser.option("--power", "X", "how surely an effect is to be seen; of --n, --epsilon, --effect give two", share)
    parser.option("--share", "X", "the answer's share in the first group, or at the covariate's mean", float)
    parser.option("--alpha", "X", "the level of the test of an effect", share, default=0.05)
    parser.option("--group", "X", "the second group's part of all people", share, default=0.5)
    parser.option("--covariate", "A,B", "equally likely values of a covariate whose coefficient is planned", _numbers)
    parser.option("--answer", "X", "the answer whose share differs; the last one without it")
    parser.option("--survey", "FILE", "the survey that is asked, instead of --epsilon and --symbols")


def plan_effect(args: argparse.Namespace) -> None:
    """Plan, and tell."""
    from deniable.planner import plan

    given: dict[str, Any] = {name: getattr(args, name) for name in _GIVEN}
    if args.survey is not None:
        given["survey"] = Survey.load(args.survey)
    symbols = symbols_from(args, "symbols")
    given["answer"] = one_of(args.answer, given["survey"].symbols if "survey" in given else symbols)
    found = plan(**given, symbols=symbols, candidates=symbols_from(args, "candidates"))
    if args.output is not None:
        if args.survey is not None:
            raise DeniableError("--output must not be given with --survey: that survey is there already")
        put(args.output, found.survey.to_json(indent=2).encode(), args)
    if args.chart is not None:
        put_chart(found.chart(), args)
    if args.json:
        print(json.dumps(found.to_json() | {"curve": found.curve()}, indent=2))
        return
    _print(found)
    for path in (args.output, args.chart):
        if path is not None:
            print(f"\nwrote {told(path)}")


def _print(plan: "EffectPlan") -> None:
    print(f"{plan.survey}\n")
    print(table([], [list(row) for row in plan.rows()], "ll"))
    by = "deniable crosstab" if plan.what == "difference" else "deniable regress"
    print(f"\nThe power is that of the interval or the p-value that `{by}` gives.")


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be numbers with commas between them, got {text!r}") from None
