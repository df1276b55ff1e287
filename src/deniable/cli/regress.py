"""`deniable regress`: how an answer depends on other columns of a file, where the answer is known by its reports."""

import argparse
import json

from deniable.cli.files import load_survey, one_of, symbols_from
from deniable.cli.parser import Commands, command
from deniable.cli.parser import one_of as word
from deniable.errors import DeniableError
from deniable.survey import Survey


def add(commands: Commands) -> None:
    parser = command(
        commands,
        "regress",
        _run,
        help="how an answer depends on other columns",
        description=(
            "A regression on a Parquet or CSV file whose column on the left of the formula has reports:\n\n"
            "  deniable regress survey.json 'smokes ~ age + C(region)' rows.parquet\n\n"
            "Logit for answers of a list, linear for numbers. Standard errors are robust with --weights, --clusters\n"
            "or --strata. Where groups answered different surveys, name the column of the group, and each survey:\n\n"
            "  deniable regress a=dice-a.json b=dice-b.json 'said ~ age' rows.parquet --group dice --noncompliance no"
        ),
    )
    parser.add_argument(
        "surveys",
        metavar="SURVEY",
        nargs="+",
        help="the survey file that the reports answer; with --group VALUE=FILE for each",
    )
    parser.add_argument("formula", metavar="FORMULA", help="as 'smokes ~ age + C(region)'")
    parser.add_argument("data", metavar="FILE", help="a Parquet or CSV file")
    parser.symbols("candidates", "answers to look for, where the survey is open")
    parser.option("--randomized", "COLUMN=FILE", "a covariate whose column has reports, too, and its survey file")
    parser.option("--group", "COLUMN", "the column that says which survey a row answered")
    parser.option("--noncompliance", "ANSWER", "what people always say who do not play by the rules; needs --group")
    parser.option("--weights", "COLUMN", "a column of survey weights")
    parser.option("--counts", "COLUMN", "a column of how many people a row stands for")
    parser.option("--clusters", "COLUMN", "a column of sampling units")
    parser.option("--strata", "COLUMN", "a column of strata")
    parser.option("--offset", "COLUMN", "a column that is added to the linear predictor")
    parser.option("--base", "ANSWER", "the answer that the others are compared with")
    parser.option(
        "--missing", "HOW", "what becomes of rows with a missing value: drop (default) or raise", word("drop", "raise")
    )
    parser.add_argument("--robust", action="store_true", help="standard errors that hold where the model is wrong")
    parser.add_argument("--json", action="store_true", help="print JSON: coefficients, errors and intervals")


def _run(args: argparse.Namespace) -> None:
    from deniable.relations import regress

    candidates = symbols_from(args, "candidates")
    surveys = _surveys(args.surveys, args.group)
    survey = next(iter(surveys.values()))
    symbols = survey.symbols if candidates is None else candidates
    fit = regress(
        args.formula,
        args.data,
        survey=survey if args.group is None else surveys,
        candidates=range(candidates) if isinstance(candidates, int) else candidates,
        randomized=None if args.randomized is None else dict([_named("--randomized", "COLUMN", args.randomized)]),
        group=args.group,
        noncompliance=one_of(args.noncompliance, survey.mechanism.said or symbols),
        weights=args.weights,
        counts=args.counts,
        clusters=args.clusters,
        strata=args.strata,
        offset=args.offset,
        base=one_of(args.base, symbols),
        robust=args.robust,
        missing=args.missing or "drop",
    )
    print(json.dumps(fit.to_json(), indent=2, ensure_ascii=False, allow_nan=False) if args.json else fit.summary())


def _surveys(given: list[str], group: str | None) -> dict[str | None, Survey]:
    if group is not None:
        found = [_named("SURVEY with --group", "VALUE", text) for text in given]
        if len({name for name, _ in found}) < len(found):
            raise DeniableError("SURVEY with --group must name each value once, got one twice")
        return dict(found)
    if len(given) > 1:
        raise DeniableError(
            f"SURVEY must be one file without --group, got {len(given)}; name the column that says which survey a row "
            "answered with --group"
        )
    return {None: load_survey(given[0])}


def _named(what: str, name: str, text: str) -> tuple[str, Survey]:
    key, equals, path = text.partition("=")
    if not (key and equals and path):
        raise DeniableError(f"{what} must be {name}=FILE, got {text[:80]!r}")
    return key, load_survey(path)
