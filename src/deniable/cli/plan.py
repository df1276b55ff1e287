"""`deniable plan`: how much privacy for how many people and what error, as a table, JSON, a chart and a survey."""

import argparse
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deniable.cli.files import one_of, some_of, symbols_from
from deniable.cli.form_commands import plan_form
from deniable.cli.output import add_chart, put, put_result, told
from deniable.cli.parser import Commands, command, positive, share, whole
from deniable.cli.progress import Reporter
from deniable.cli.text import percent, several, table
from deniable.crowds import crowd
from deniable.errors import DeniableError
from deniable.survey import Survey

if TYPE_CHECKING:
    from deniable.planner import Alternative, Plan

_ERRORS = {"l1": "l1 loss", "l2": "l2 loss", "max": "largest error of a symbol"}
_ASKED = {"epsilon": "epsilon", "n": "people", "error": "error"}


def add(commands: Commands) -> None:
    parser = command(
        commands,
        "plan",
        _run,
        usage="deniable plan (--symbols A,B,C | --candidates A,B,C) [--n N] [--epsilon E] [--max-l1 X] [options]",
        help="how much privacy, how many people, what error: give two, get the third",
        description=(
            "Give two of --n, --epsilon and an error; the third is found, with the mechanism and its parameters.\n"
            "An error is met by 9 of 10 surveys. Where no survey can do it, one sentence says what it would take,\n"
            "and the exit code is 1.\n\n"
            "  deniable plan --symbols 256 --n 1e6 --max-l1 0.1\n"
            "  deniable plan --symbols-file browsers.txt --epsilon 1 --visible 0.01 -o survey.json\n"
            "  deniable plan --symbols 16 --n 1e5 --epsilon 4 --epsilon-report 1    asked again and again\n"
            "  deniable plan --symbols 20 --n 1e5 --crowd-epsilon 0.2     what the counts may tell of anyone\n"
            "  deniable plan --symbols 16 --n 1e5 --epsilon 8 --reports 90          90 times, 8 in all\n"
            "  deniable plan --candidates 1000 --n 1e6 --epsilon 2 --shape zipf --chart plan.html\n"
            "  deniable plan --number 18,90 --step 1 --n 1e5 --max-mean-error 1\n"
            "  deniable plan --effect 0.05 --share 0.2 --power 0.8 --epsilon 1    a difference of two groups\n"
            "  deniable plan --discover 20 --n 1e6 --length 8 -o words.json    free text, without a list\n"
            "  deniable plan --form form.json --n 1e5 --max-error smokes=0.01,age=1 -o planned.json"
        ),
    )
    parser.option("--form", "FILE", "several questions (deniable survey form), instead of answers")
    parser.symbols("symbols", "the possible answers, or a count S for 0 to S-1")
    parser.option("--sensitive", "A,B", "those that need hiding, where the other answers may be seen")
    parser.option("--other", "X", "a catch-all among the answers for anything not listed")
    parser.symbols("candidates", "what will be looked for among open answers, or a count")
    parser.text(default="folded")
    parser.option("--n", "N", "people who will answer", whole(2))
    parser.option("--epsilon", "E", "privacy budget of an answer, in nats: 1, 0.5, 1/4")
    again = "budget of one report, below --epsilon: each is randomised again, and errors are those of one report each"
    parser.option("--epsilon-report", "E", again)
    again = (
        "windows in which devices are asked: --epsilon is then the budget of all reports of a device, however often "
        "its answer changes, and ways to spend it are compared"
    )
    parser.option("--reports", "T", again, whole(2))
    rate = (
        "with --reports: share of devices whose answer changes from window to window (default 0, the worst for means)"
    )
    parser.option("--change", "X", rate, default=0.0)
    parser.option("--max-l1", "X", "the sum of all errors")
    parser.option("--max-l2", "X", "their Euclidean norm")
    wanted = "the largest error of any symbol; of a form A=X,B=Y, or one for all"
    parser.option("--max-error", "X", wanted)
    parser.option("--visible", "X", "the smallest share that must show as more than nothing")
    kept = "with --n alone: what the counts may tell of anyone, at most; the largest epsilon that keeps it is found"
    parser.option("--crowd-epsilon", "E", kept, float)
    parser.option("--delta", "D", "with which probability --crowd-epsilon may fail", share, default=1e-6)
    parser.option("--number", "LOW,HIGH", "a quantity between these numbers, instead of answers", _ends)
    parser.option("--bins", "N", "of that quantity (default 256)", whole(2))
    parser.option("--step", "X", "instead of --bins: what its numbers are rounded to")
    parser.option("--max-mean-error", "X", "the error of its mean", positive)
    wanted = "a difference of shares between two groups; with --covariate a coefficient, in log odds"
    parser.option("--effect", "X", wanted, float)
    parser.option("--power", "X", "how surely an effect is to be seen; of --n, --epsilon, --effect give two", share)
    parser.option("--share", "X", "the answer's share in the first group, or at the covariate's mean", float)
    parser.option("--alpha", "X", "the level of the test of an effect", share, default=0.05)
    parser.option("--group", "X", "the second group's part of all people", share, default=0.5)
    parser.option("--covariate", "A,B", "equally likely values of a covariate whose coefficient is planned", _numbers)
    parser.option("--answer", "X", "the answer whose share differs; the last one without it")
    parser.option("--survey", "FILE", "the survey that is asked, instead of --epsilon and --symbols")
    parser.option("--discover", "K", "so many of the most frequent texts are found, without a list", whole(1))
    parser.option("--discover-above", "X", "the smallest share of a text that is found, without a list", share)
    parser.option("--length", "B", "of such texts in bytes, at most (default 32)", whole(1))
    parser.option("--metric", "NAME", "with --n and --epsilon: the error to find, l1 (default), l2 or max")
    shapes = (
        "what answers look like: worst (of a family), uniform, geometric, zipf, binomial, even, spike; a number may "
        "follow, as in zipf:1.5"
    )
    parser.option("--shape", "NAME", shapes, default="worst")
    parser.option("--shape-file", "FILE", "one share a symbol, a line each, in the symbols' order")
    parser.option("--confidence", "X", "share of surveys that meet the error", share, default=0.9)
    parser.option("--max-bytes", "N", "of one packed report", whole(1, 2**53))
    parser.option("--max-cohorts", "N", "that devices may be sorted into", whole(1, 2**53))
    parser.option("--name", "NAME", "what the survey is called", default="")
    parser.option("--seed", "SEED", "of the simulation", whole(0, 2**53), default=0)
    parser.option("-o --output", "FILE", "write the survey, ready to use (- is standard output)")
    parser.add_argument("--save", dest="output", help=argparse.SUPPRESS)
    add_chart(parser, "epsilon against n", output=False)
    parser.json("a table")


def _run(args: argparse.Namespace) -> None:
    if args.form is not None:
        plan_form(args)
        return
    from deniable.planner import EffectPlan, NumberPlan, Plan, TextPlan, plan

    read = {name: symbols_from(args, name) for name in ("symbols", "candidates")} | {"shape": _shape(args)}
    if args.survey is not None:
        read["survey"] = Survey.load(args.survey)
    read["sensitive"] = some_of(args.sensitive, read["symbols"])
    read["answer"] = one_of(args.answer, read["survey"].symbols if "survey" in read else read["symbols"])
    # Options are called as the parameters are; a form has gone its own way above.
    given = {name: value for name, value in vars(args).items() if name in signature(plan).parameters and name != "form"}
    with Reporter("planning") as report:
        found = plan(**given | read, progress=report)
    if args.chart is not None and isinstance(found, NumberPlan | TextPlan):
        asked = next(name for name in ("number", "discover", "discover_above", "length") if given[name] is not None)
        option = f"--{asked.replace('_', '-')}"
        raise DeniableError(f"--chart must not be given with {option}: there is one line to it, the square root of n")
    if args.output is not None:
        if args.survey is not None:
            raise DeniableError("--output must not be given with --survey: that survey is there already")
        put(args.output, found.survey.to_json(indent=2).encode(), args)

    def text() -> None:
        print(f"{found.survey}\n")
        if isinstance(found, Plan):
            _print(found, args)
        else:
            print(table([], [list(row) for row in found.rows()], "ll"))
            print(f"\n{found.note}")
        if args.output is not None:
            print(f"\nwrote {told(args.output)}")

    curve = {"curve": found.curve()} if isinstance(found, EffectPlan) else {}
    put_result(args, chart=lambda: found.chart(), record=lambda: found.to_json() | curve, text=text)


def _ends(text: str) -> tuple[str, ...]:
    ends = tuple(part.strip() for part in text.split(","))
    if len(ends) != 2:
        raise argparse.ArgumentTypeError(f"must be two numbers with a comma between them, got {text!r}")
    return ends


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be numbers with commas between them, got {text!r}") from None


def _shape(args: argparse.Namespace) -> Any:
    if args.shape_file is None:
        return args.shape
    if args.shape != "worst":
        raise DeniableError("--shape and --shape-file must not both be given")
    try:
        return [float(line) for line in Path(args.shape_file).read_text(encoding="utf-8-sig").split()]
    except OSError as problem:
        raise DeniableError(f"{args.shape_file} cannot be read: {(problem.strerror or str(problem)).lower()}") from None
    except ValueError:
        raise DeniableError(f"{args.shape_file} must hold one share a line, got something else") from None


def _print(plan: "Plan", args: argparse.Namespace) -> None:
    rows = [
        ["mechanism", plan.mechanism + (f", {plan.parameters}" if plan.parameters else "")],
        ["epsilon", f"{plan.epsilon:g}" + (" (found)" if plan.found == "epsilon" else "")],
        ["people", f"{plan.n:,}" + (" (found)" if plan.found == "n" else "")],
        ["a report", f"{plan.report_bytes} bytes"],
        ["decoder", plan.decoder],
    ]
    if plan.epsilon_report < plan.epsilon:
        rows[1:2] = [
            ["epsilon", f"{plan.epsilon:g}, of all reports of an answer together"],
            ["epsilon of one report", f"{plan.epsilon_report:g}"],
        ]
    for metric, words in _ERRORS.items():
        error = plan.errors[metric]
        bound = f"{error.bound:.3g} in {percent(plan.confidence, 0)} of surveys"
        rows.append([words, f"{error.mean:.3g} ± {error.standard_error:.1g} on average, below {bound}"])
    shown = percent(plan.smallest_visible, 3) if plan.smallest_visible <= 1 else "none"
    rows.append(["smallest share that shows", shown])
    print(table([], rows, "ll"))
    of = f", the worst of {len(plan.shapes)} shapes for this error" if len(plan.shapes) > 1 else ""
    of = ", which matters for the losses alone" if plan.metric == "visible" else of
    source = (
        f"{several(plan.repeats, 'survey')} simulated" if plan.repeats else "predicted, as simulating would take long"
    )
    print(f"\nAnswers are taken to be {plan.shape}{of}; {source}.\n")
    if plan.strategies:
        _print_strategies(plan)
        _print_end(plan, args)
        return
    print(table(["instead", "parameters", _ASKED[plan.found], "why not"], [_row(a) for a in plan.alternatives], "llrl"))
    if not plan.paper:
        _print_end(plan, args)
        return
    print()
    paper = [[*_row(a)[:3], "" if a.needs is not None else a.why] for a in plan.paper.values()]
    print(table(["in the paper", "parameters", _ASKED[plan.found], ""], paper, "llrl"))
    _print_end(plan, args)


def _print_strategies(plan: "Plan") -> None:
    """The ways to spend one budget over many reports, and what whoever sees all of them can do."""
    metric = {"l1": "l1", "l2": "l2", "max": "largest error"}[plan.metric]
    head = ["strategy", "mechanism", "people", "epsilon", "a report", f"{metric}, a window", "their mean"]
    rows, most = [], max(one.reports for one in plan.strategies)
    for one in plan.strategies:
        settings = f"{one.mechanism}, {one.parameters}" if one.parameters else one.mechanism
        people = f"{one.people:,}" + ("" if one.reports == most else f", {several(one.reports, 'time')}")
        linked = "-" if one.linking is None else percent(one.linking, 2)
        rows.append(
            [
                one.name,
                settings,
                people,
                f"{one.epsilon:.3g}",
                f"{one.epsilon_report:.3g}",
                f"{one.error:.3g}",
                f"{one.average:.3g}",
                percent(one.naming, 2),
                linked,
            ]
        )
    print(table([*head, "named", "linked"], rows, "llrrrrrrr"))
    print(
        f"\nAll spend at most epsilon {max(one.epsilon_worst for one in plan.strategies):.4g} in all, however often an "
        "answer changes. Memoised reports can still\nshow when it changed. Named: whoever sees all reports of a device "
        "guesses an unchanged answer. Linked: they find its report in\nanother window. Both are at most that."
    )


def _print_end(plan: "Plan", args: argparse.Namespace) -> None:
    if args.crowd_epsilon is not None:
        print(f"\n{crowd(plan.survey, plan.n, args.delta).words}")
    if plan.cohorts > 1:
        print(f"\nA device keeps one of {plan.cohorts} cohorts, which tells it apart from others; see --max-cohorts.")


def _row(one: "Alternative") -> list[str]:
    needs = (
        "-" if one.needs is None else f"{float(f'{one.needs:.3g}'):,.0f}" if one.needs >= 100 else f"{one.needs:.3g}"
    )
    return [one.mechanism, one.parameters, needs, one.why]
