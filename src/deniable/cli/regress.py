"""`deniable regress`: how an answer depends on other columns of a file, where the answer is known by its reports."""

import argparse
import json

from deniable.cli.files import one_of, symbols_from
from deniable.cli.parser import Commands, command
from deniable.survey import Survey


def add(commands: Commands) -> None:
    parser = command(
        commands,
        "regress",
        _run,
        help="how an answer depends on other columns",
        description=(
            "A regression on a Parquet file whose column on the left of the formula has reports:\n\n"
            "  deniable regress survey.json 'smokes ~ age + C(region)' rows.parquet\n\n"
            "Logit for answers of a list, linear for numbers. Standard errors are robust with --weights, --clusters\n"
            "or --strata."
        ),
    )
    parser.add_argument("survey", metavar="SURVEY", help="the survey file that the reports answer")
    parser.add_argument("formula", metavar="FORMULA", help="as 'smokes ~ age + C(region)'")
    parser.add_argument("data", metavar="FILE", help="a Parquet file")
    parser.symbols("candidates", "answers to look for, where the survey is open")
    parser.option("--weights", "COLUMN", "a column of survey weights")
    parser.option("--counts", "COLUMN", "a column of how many people a row stands for")
    parser.option("--clusters", "COLUMN", "a column of sampling units")
    parser.option("--strata", "COLUMN", "a column of strata")
    parser.option("--offset", "COLUMN", "a column that is added to the linear predictor")
    parser.option("--base", "ANSWER", "the answer that the others are compared with")
    parser.add_argument("--robust", action="store_true", help="standard errors that hold where the model is wrong")
    parser.add_argument("--json", action="store_true", help="print JSON: coefficients, errors and intervals")


def _run(args: argparse.Namespace) -> None:
    from deniable.relations import regress

    candidates, survey = symbols_from(args, "candidates"), Survey.load(args.survey)
    fit = regress(
        args.formula,
        args.data,
        survey=survey,
        candidates=range(candidates) if isinstance(candidates, int) else candidates,
        weights=args.weights,
        counts=args.counts,
        clusters=args.clusters,
        strata=args.strata,
        offset=args.offset,
        base=one_of(args.base, survey.symbols if candidates is None else candidates),
        robust=args.robust,
    )
    print(json.dumps(fit.to_json(), indent=2, ensure_ascii=False, allow_nan=False) if args.json else fit.summary())
