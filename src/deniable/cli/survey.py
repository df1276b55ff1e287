"""`deniable survey new | show | notice | sql`: the public agreement, and what it means for a respondent.

The actions that talk to a collector are in `collector.py`.
"""

import argparse
import json
import math
import sys
import textwrap
from inspect import Parameter, signature
from typing import Any

from deniable.cli.collector import add_actions
from deniable.cli.files import load_agreement, read_symbols, some_of, symbols_from
from deniable.cli.form_commands import add_form, form_notice, show_form
from deniable.cli.output import add_force, put, told, writes
from deniable.cli.parser import Commands, Parser, command, one_of, share, whole
from deniable.cli.text import fit, several, shown, table
from deniable.cli.words import (
    notice,
    odds_sentence,
    report_bytes,
    scale_sentence,
    taking_part,
    text_sentence,
    truth_sentence,
)
from deniable.crowds import MAX_PEOPLE, crowd
from deniable.errors import DeniableError, require
from deniable.survey import DIALECTS, OUTSIDE, OVERLONG, PRESETS, Form, Survey

_DRAWN = 64  # answers of a matrix that is printed
# Options of `survey new` that are parameters of presets as they are.
_AS_THEY_ARE = (
    *("cells", "cohorts", "low", "high", "epsilon_report", "hashes", "other", "text", "participation", "bins", "step"),
    *("outside", "reach", "length", "overlong"),
)
_STEPS = {  # what to do where one is missing
    "symbols": "use orr for open answers",
    **dict.fromkeys(("cells", "cohorts"), "for instance --cells 8 --cohorts 64"),
    **dict.fromkeys(("low", "high"), "for instance --low 18 --high 90"),
}
_FILE = "a survey file (JSON; - is standard input)"


def add(commands: Commands) -> None:
    parser = commands.add_parser(
        "survey",
        usage="deniable survey new|form|show|notice|sql|register|list|close|reopen|delete ...",
        help="make, show and explain the public agreement, and run it at a collector",
        description=(
            "The survey is what clients and analyst agree on in public: answers, mechanism, epsilon, seed.\n"
            "`deniable serve` collects reports for those that are registered there."
        ),
    )
    parser.set_defaults(run=None, parser=parser)
    actions = parser.add_subparsers(title="actions", metavar="ACTION", prog="deniable survey", parser_class=Parser)
    _add_new(actions)
    add_form(actions)
    show = command(
        actions,
        "show",
        _show,
        help="print a survey readably",
        description="Print what a survey file says, and what follows from it.",
    )
    show.survey(_FILE)
    show.option("--reports", "T", "say how well whoever sees so many reports of a device can name its answer", whole(1))
    _crowd_options(show)
    show.option("--candidates", "S", "of so many answers, where answers are open", whole(2))
    show.json()
    tell = command(
        actions,
        "notice",
        _notice,
        help="print the notice for respondents",
        description="Print what a respondent should know, in plain words, with the survey's own numbers.",
    )
    tell.survey(_FILE)
    _crowd_options(tell)
    sql = command(
        actions,
        "sql",
        _sql,
        help="print the query that counts a table of reports",
        description=(
            "Print the GROUP BY that counts the reports in a warehouse. `deniable.count(survey, result)` makes\n"
            "a tally of what it returns. The reports of a form have a struct column a part, as in the Parquet\n"
            "files of `deniable privatize`; all parts are counted by one statement."
        ),
    )
    sql.survey(_FILE)
    sql.option("--dialect", "NAME", ", ".join(DIALECTS), one_of(*DIALECTS), default="duckdb")
    sql.option("--table", "NAME", "the table", default="reports")
    sql.option("--cohort", "NAME", "its column of cohorts (default cohort; '' for none)", default="cohort")
    sql.option("--response", "NAME", "of responses", default="response")
    add_actions(actions)


def _crowd_options(parser: Parser) -> None:
    parser.option(
        "--n", "N", "what a crowd of so many adds, and how well a report is found in it", whole(2, MAX_PEOPLE)
    )
    parser.option("--delta", "D", "with which probability what the crowd adds may fail", share, default=1e-6)


def _add_new(actions: Commands) -> None:
    new = command(
        actions,
        "new",
        _new,
        help="make a survey and write it to a file",
        description=(
            "Make a survey.\n\n"
            "  deniable survey new --mechanism warner --epsilon 1 --name 'Have you ever cheated in an exam?'\n"
            "  deniable survey new --mechanism krr --symbols chrome,firefox,safari --other another --epsilon 2\n"
            "  deniable survey new --mechanism orr --cells 8 --cohorts 64 --epsilon 2 --name homepage\n"
            "  deniable survey new --mechanism number --low 18 --high 90 --bins 64 --epsilon 1 --name age\n"
            "  deniable survey new --mechanism sensitive --symbols none,flu,hiv --sensitive hiv --epsilon 1\n"
            "  deniable survey new --mechanism blocks --groups 'Berlin,Bonn;Paris,Lyon' --epsilon 1\n"
            "  deniable survey new --mechanism krr --symbols none,flu,hiv --epsilon none=2,flu=2,hiv=0.5\n"
            "  deniable survey new --mechanism channel --matrix rows.csv --epsilon 1.5"
        ),
    )
    new.option("--mechanism", "NAME", ", ".join(PRESETS), one_of(*PRESETS), required=True)
    new.option(
        "--epsilon",
        "E",
        "privacy budget in nats: a decimal or a fraction a/b; krr: A=E,B=E for each answer",
        required=True,
    )
    new.option("--epsilon-report", "E", "budget of one report, below --epsilon: each is randomised again")
    new.symbols("symbols", "the possible answers, or a count S for the numbers 0 to S-1; none: open")
    new.text()
    new.option("--other", "SYMBOL", "the answer that stands for anything else")
    new.option("--sensitive", "A,B", "the answers that need hiding, where others may be seen (sensitive)")
    new.option("--groups", "A,B;C,D", "answers in groups: which of a group is hidden, not which group (blocks)")
    new.option("--matrix", "FILE", "probabilities, one line an answer, separated by commas or blanks (channel)")
    new.option("--cells", "K", "cells of one report (orr, orappor, discovery)", whole(2))
    new.option("--cohorts", "C", "groups with their own hash functions (orr, olh, orappor, discovery)", whole(1))
    new.option("--hashes", "H", "hash functions of a Bloom filter (orappor; default 1)", whole(1))
    new.option("--length", "B", "bytes of an answer that are told apart (discovery; default 32)", whole(1))
    new.option(
        "--overlong", "HOW", "what becomes of longer answers: cut (default), refuse (discovery)", one_of(*OVERLONG)
    )
    new.option("--low", "X", "the least number (number)")
    new.option("--high", "X", "the largest number (number)")
    new.option("--bins", "N", "bins of equal width from --low to --high (number; default 256)", whole(2))
    new.option("--step", "X", "instead of --bins: what numbers are rounded to, such as 1 (number)")
    new.option("--outside", "HOW", "clamp (default) or refuse: numbers outside of the scale (number)", one_of(*OUTSIDE))
    new.option("--reach", "N", "cells on each side that an answer occupies, too (number, ordered)", whole(0))
    new.option(
        "--participation",
        "HOW",
        "once (default), window (once a day), window:hour, window:week, event; window:day:share=1/7: each in its turn",
    )
    new.option("--name", "TEXT", "what the survey asks", default="")
    where = "where to write (default survey.json; - is standard output)"
    new.option("-o --output", "FILE", where, default="survey.json")
    add_force(new)
    writes(new, output=False)


def _new(args: argparse.Namespace) -> None:
    made = _make(args)
    put(args.output, made.to_json(indent=2).encode(), args)
    print(f"wrote {told(args.output)}: {made}")


def _make(args: argparse.Namespace) -> Survey:
    """The survey that the options describe; an option that the mechanism has no use for is refused."""
    symbols = symbols_from(args, "symbols")
    taken = signature(PRESETS[args.mechanism]).parameters
    budgets = args.mechanism == "krr" and "=" in args.epsilon
    settings = {"epsilon": _budgets(args.epsilon, symbols) if budgets else args.epsilon, "name": args.name}
    given: dict[str, Any] = {"symbols": symbols, "sensitive": some_of(args.sensitive, symbols)}
    given |= {"groups": _groups(args), "matrix": _matrix(args)} | {name: getattr(args, name) for name in _AS_THEY_ARE}
    for option, value in given.items():
        name = option.replace("_", "-")
        if value is not None and option not in taken:
            raise DeniableError(f"--{name} must not be given for {args.mechanism}, which has no use for it")
        if value is None and option in taken and taken[option].default is Parameter.empty:
            either = " or --symbols-file" if option == "symbols" else ""
            step = _STEPS.get(option, "see `deniable survey new --help`")
            raise DeniableError(f"--{name}{either} must be given for {args.mechanism}; {step}")
        settings |= {} if value is None else {option: value}
    return PRESETS[args.mechanism](**settings)


def _budgets(given: str, symbols: list[str] | int | None) -> dict[Any, str]:
    """Budgets by answer, from A=E,B=E."""
    found: dict[Any, str] = {}
    for part in given.split(","):
        name, _, budget = part.rpartition("=")
        (symbol,) = some_of(name, symbols) or [""]
        if symbol in found:
            raise DeniableError(f"--epsilon must have one budget for every answer, got two for {symbol!r}")
        found[symbol] = budget.strip()
    return found


def _groups(args: argparse.Namespace) -> list[list[str]] | None:
    if args.groups is None:
        return None
    return [[answer.strip() for answer in group.split(",")] for group in args.groups.split(";")]


def _matrix(args: argparse.Namespace) -> list[list[float]] | None:
    if args.matrix is None:
        return None
    try:
        return [[float(part) for part in line.replace(",", " ").split()] for line in read_symbols(args.matrix)]
    except ValueError as problem:
        if isinstance(problem, DeniableError):
            raise
        raise DeniableError(f"{args.matrix} must hold probabilities, one line an answer, got something else") from None


def _show(args: argparse.Namespace) -> None:
    survey = load_agreement(args.survey)
    if isinstance(survey, Form) and args.reports is not None:
        raise DeniableError("--reports must not be given for a form; ask for the survey of one question")
    found = None if args.n is None else crowd(survey, args.n, args.delta)
    if isinstance(survey, Form):
        show_form(survey, found, as_json=args.json)
        return
    if args.json:
        follows: dict[str, Any] = {
            "mechanism": survey.title,
            "epsilon_spent": survey.epsilon_spent,
            "epsilon_report": survey.epsilon_report,
            "epsilon_worst": survey.epsilon_worst if survey.permanent_responses else None,
            "permanent_responses": survey.permanent_responses,
            "likelihood_ratio": float(survey.mechanism.odds),
            "hit": float(survey.mechanism.hit) if survey.mechanism.two_valued else None,
            "miss": float(survey.mechanism.miss) if survey.mechanism.two_valued else None,
            "report_bytes": report_bytes(survey),
            "counters": survey.cohorts * survey.columns,
        }
        if found is not None:
            told = {"n": found.n, "delta": found.delta, "epsilon": found.epsilon, "lower": found.lower}
            follows["crowd"] = told
        if _differs(survey):
            # JSON has no infinity.
            matrix = survey.privacy().epsilons
            follows["epsilons"] = [[None if math.isinf(e) else e for e in row] for row in matrix]
        print(json.dumps({"survey": json.loads(survey.to_json()), "follows": follows}, indent=2))
        return
    symbols = survey.symbols
    if symbols is None:
        answers = f"{survey.encoding.answers} (open; candidates are named when decoding). {text_sentence(survey)}"
    elif survey.alphabet.bins is not None:
        answers = scale_sentence(survey)
    else:
        listed = ", ".join(shown(s) for s in symbols[:20])
        answers = f"{len(symbols)}: {fit(listed, 300)}" + (", ..." if len(symbols) > 20 else "")
    lines = [
        ("name", shown(survey.name) if survey.name else "(none)"),
        ("digest", survey.digest),
        ("mechanism", survey.title),
        ("epsilon", f"{survey.epsilon:g} asked for, {survey.epsilon_spent} spent"),
        *(
            [("  a report", f"{float(survey.mechanism.report_bound):g} asked for, {survey.epsilon_report} spent")]
            if survey.mechanism.twice
            else []
        ),
        ("answers", answers),
    ]
    stated = survey.mechanism.thresholds()
    if survey.participation != "once":
        lines += taking_part(survey)
        if survey.permanent_responses:
            each = f"{survey.epsilon:g} for each of {survey.permanent_responses} permanent responses"
            lines.append(("in all", f"{survey.epsilon_worst:g}, however often an answer changes ({each})"))
    if survey.alphabet.other is not None:
        lines.append(("anything else", f"counts as {shown(survey.alphabet.other)}"))
    lines += [
        (
            "cells",
            f"{survey.cells} in each of {several(survey.cohorts, 'cohort')}, {several(survey.hashes, 'hash function')}"
            if not survey.encoding.is_design or survey.hashes == 1
            else f"{survey.cells}, of which each answer has {survey.hashes}",
        ),
        *([("thresholds", ", ".join(f"{name} {value} / 2^64" for name, value in stated.items()))] if stated else []),
        ("report", f"{report_bytes(survey)} bytes"),
        ("tally", f"{survey.cohorts * survey.columns:,} counters"),
        ("privacy", f"{odds_sentence(survey)} {truth_sentence(survey)}"),
        *([] if found is None else [("the crowd", found.words)]),
        *_observed(survey, args),
    ]
    print(table([], lines, "ll", wrap=100))
    if _differs(survey):
        print(f"\n{survey.privacy()}")


def _differs(survey: Survey) -> bool:
    """Whether the epsilon between two answers depends on which they are, and there are few enough to draw."""
    return not survey.mechanism.two_valued and survey.cells <= _DRAWN


def _observed(survey: Survey, args: argparse.Namespace) -> list[tuple[str, str]]:
    """What whoever sees all reports of a device can do, if it was asked for."""
    if args.reports is None and args.n is None:
        return []
    require("to use --reports and --n", "analysis")
    from deniable.theory import linking_probability, naming_probability

    told = []
    if args.reports is not None:
        chance = naming_probability(survey, args.reports, candidates=args.candidates)
        told.append(f"names the answer with probability {100 * chance:.2g} % after {args.reports:,} reports of it")
    if args.n is not None:
        chance = linking_probability(survey, args.n)
        told.append(f"finds a device's report among {args.n:,} devices' with probability {100 * chance:.2g} %")
    return [("observer", "; ".join(told) + " (if answers stay the same and are memoised)")]


def _sql(args: argparse.Namespace) -> None:
    survey = load_agreement(args.survey)
    if isinstance(survey, Form):
        if (args.cohort, args.response) != ("cohort", "response"):
            raise DeniableError("--cohort and --response must not be given for a form, which has a column a part")
        sys.stdout.write(survey.sql(dialect=args.dialect, table=args.table))
        return
    names = {"table": args.table, "cohort": args.cohort or None, "response": args.response}
    sys.stdout.write(survey.sql(dialect=args.dialect, **names))


def _notice(args: argparse.Namespace) -> None:
    survey = load_agreement(args.survey)
    found = None if args.n is None else crowd(survey, args.n, args.delta)
    for heading, paragraph in form_notice(survey, found) if isinstance(survey, Form) else notice(survey, found):
        print(f"{heading}\n{textwrap.fill(paragraph, 88, initial_indent='  ', subsequent_indent='  ')}\n")
