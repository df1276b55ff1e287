"""`deniable simulate`: how well a survey would do, by many simulated runs, beside what theory expects."""

import argparse
import json
import math
import sys
from typing import TYPE_CHECKING, Any

from deniable.cli.files import load_survey, symbols_from
from deniable.cli.output import add_chart, put, put_result, told
from deniable.cli.parser import Commands, command, one_of, whole
from deniable.cli.progress import Reporter
from deniable.cli.text import shown, table
from deniable.errors import DeniableError
from deniable.survey import Survey

if TYPE_CHECKING:
    import altair as alt
    import numpy as np
    import numpy.typing as npt

POPULATIONS = ("geometric", "zipf", "binomial", "uniform", "dirichlet")
# Decoders whose answer every constraint leaves as it is.
_OTHERS = ("likelihood", "empirical-bayes", "empirical-bayes-ordered")
_BATCH = 20  # simulated surveys that are decoded together
_BARS = 40  # symbols in the chart, the most frequent ones


def add(commands: Commands) -> None:
    parser = command(
        commands,
        "simulate",
        _run,
        usage="deniable simulate SURVEY [--shape NAME] [--n N] [--repeats R] [options]",
        help="how well a survey would do, by simulation and by theory",
        description=(
            "Simulate a survey many times and measure the error of its estimates, or write one simulated tally.\n"
            "Simulation is seeded, fast and not private; it never touches an answer.\n\n"
            "  deniable simulate survey.json --shape zipf --n 100000 --repeats 100 --chart spread.svg\n"
            "  deniable simulate survey.json --n 1e8 -o day.tally"
        ),
    )
    parser.survey()
    shapes = (
        "what answers look like: geometric (its mean S/5), zipf (exponent 1), binomial (q 0.5), uniform, dirichlet "
        "(concentration 1); a number may follow, as in zipf:1.5"
    )
    parser.option("--shape", "NAME", shapes, default="geometric")
    parser.add_argument("--population", dest="shape", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
    parser.symbols("symbols", "what the population is over in an open survey, or a count S for 0 to S-1")
    parser.option("--n", "N", "respondents", whole(1), default=100_000)
    parser.option("--repeats", "R", "simulated surveys (default 100)", whole(2, 10**6))
    parser.option("--seed", "SEED", "of the simulation", whole(0), default=0)
    names = f"linear (inversion or least squares, under each constraint), {', '.join(_OTHERS)}"
    parser.option("--decoder", "NAME", names, one_of("linear", *_OTHERS), default="linear")
    parser.option("-o --output", "FILE", "write one simulated tally instead (- is standard output)")
    parser.json("a table")
    add_chart(parser, "the truth and how far estimates spread", output=True)


def _run(args: argparse.Namespace) -> None:
    from deniable import lab
    from deniable.simulation import simulate

    survey = load_survey(args.survey)
    symbols = _symbols(survey, args)
    size = len(survey.symbols if symbols is None else symbols)  # type: ignore[arg-type]
    rng = lab.generator(args.seed)
    p, described = _population(args, size, rng)
    if args.output is not None:
        if args.repeats is not None:
            raise DeniableError("--repeats must not be given with -o: one tally is written")
        if args.chart is not None:
            raise DeniableError("--chart must not be given with -o: deniable decode draws one tally")
        tally = simulate(survey, p, args.n, rng, symbols=symbols)
        put(args.output, tally.to_bytes(), args)
        print(json.dumps({"wrote": args.output, "n": tally.n}) if args.json else f"wrote {told(args.output)}: {tally}")
        return
    repeats = 100 if args.repeats is None else args.repeats
    largest = (-p).argsort(kind="stable")[:_BARS]
    losses, spread = _losses(survey, p, args.n, rng, repeats, symbols, args.decoder, largest)
    expected = None if args.decoder in _OTHERS else _expected(survey, p, args.n, symbols)
    result = {
        "survey": survey.digest,
        "mechanism": survey.title,
        "epsilon_spent": survey.epsilon_spent,
        "symbols": size,
        "n": args.n,
        "population": described,
        "repeats": repeats,
        "seed": args.seed,
        "losses": [{"estimate": name} | _summary(l1, l2) for name, (l1, l2) in losses.items()],
        "expected_without_constraint": expected,
    }
    names = [shown((survey.symbols if symbols is None else symbols)[i]) for i in largest]  # type: ignore[index]
    title = f"{repeats} simulated surveys of {args.n:,} people"
    put_result(
        args,
        chart=lambda: _drawn(names, p[largest], spread, title),
        record=lambda: result,
        text=lambda: _print(survey, result),
    )


def _symbols(survey: Survey, args: argparse.Namespace) -> list[Any] | None:
    given = symbols_from(args, "symbols")
    if survey.symbols is not None:
        if given is not None:
            raise DeniableError("--symbols must not be given for a closed survey; the population is over its answers")
        return None
    if given is None:
        raise DeniableError("--symbols must be given for an open survey: what the population is over, or a count")
    found = [survey.alphabet.canonical(s) for s in (range(given) if isinstance(given, int) else given)]
    if not found or len(set(found)) != len(found):
        raise DeniableError("--symbols must be distinct as the survey reads them, and at least one; remove the repeats")
    return found


def _population(args: argparse.Namespace, size: int, rng: Any) -> "tuple[npt.NDArray[np.float64], str]":
    from deniable import lab

    name, given, number = args.shape.partition(":")
    if name not in POPULATIONS:
        raise DeniableError(
            f"--shape must be one of {', '.join(POPULATIONS)}, got {name[:40]!r}; a number may follow, as in zipf:1.5"
        )
    if name == "uniform":
        if given:
            raise DeniableError(f"--shape uniform must have no number, got {number[:40]!r}; leave it out")
        return lab.uniform(size), "uniform"
    usual = {"geometric": size / 5, "zipf": 1.0, "binomial": 0.5, "dirichlet": 1.0}
    try:
        value = float(number) if given else usual[name]
    except ValueError:
        value = math.nan
    # Up to 1e6 every power and logarithm is finite.
    if not 0 < value <= 1e6 or (name == "binomial" and value >= 1):
        rule = "between 0 and 1" if name == "binomial" else "positive and at most 1e6"
        raise DeniableError(f"--shape {name}:X must have an X {rule}, got {number[:40]!r}")
    make = {"geometric": lab.geometric, "zipf": lab.zipf, "binomial": lab.binomial}
    if name == "dirichlet":
        return lab.dirichlet(size, rng, concentration=value), f"dirichlet {value:g}"
    return make[name](size, value), f"{name} {value:g}"


def _losses(
    survey: Survey, p: Any, n: int, rng: Any, repeats: int, symbols: list[Any] | None, decoder: str, kept: Any
) -> "tuple[dict[str, tuple[list[float], list[float]]], npt.NDArray[np.float64]]":
    """l1 and squared l2 loss of each simulated run, by the name of the estimate; and `kept` shares under the last."""
    import numpy as np

    from deniable.decoders import CONSTRAINTS, DECODERS, Unconstrained, decode_all
    from deniable.simulation import simulate_many

    named = {decoder: Unconstrained()} if decoder in _OTHERS else CONSTRAINTS
    losses: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in named}
    spread = []
    strategy = DECODERS[decoder] if decoder in _OTHERS else None
    with Reporter("simulating", after=2.0) as report:
        for start in report.each(range(0, repeats, _BATCH)):
            tallies = simulate_many(min(_BATCH, repeats - start), survey, p, n, rng, symbols=symbols)
            found = decode_all(tallies, candidates=symbols, decoder=strategy, constraint=Unconstrained(), complete=True)
            for estimate in found:
                for name, constraint in named.items():
                    answer = constraint.apply(estimate.probabilities)
                    error = answer - p
                    losses[name][0].append(float(np.abs(error).sum()))
                    losses[name][1].append(float(error @ error))
                spread.append(answer[kept])
    return losses, np.array(spread)


def _drawn(names: list[str], truth: Any, spread: Any, title: str) -> "alt.LayerChart":
    """A chart of the true shares, the mean of the estimates, and the interval that holds 95 % of them."""
    import numpy as np

    from deniable.charts import estimate_chart

    between = np.quantile(spread, [0.025, 0.975], axis=0).T
    return estimate_chart(names, spread.mean(axis=0), between, truth=truth, band="95 % of the surveys", title=title)


def _expected(survey: Survey, p: Any, n: int, symbols: list[Any] | None) -> dict[str, float] | None:
    from deniable import theory

    exact = survey.encoding.own_cells and survey.mechanism.two_valued and n <= 10**6
    try:
        l1 = theory.l1_risk(survey, p, n, exact=exact, symbols=symbols)
        return {"l1": l1, "squared_l2": theory.l2_risk(survey, p, n, symbols=symbols)}
    except DeniableError as problem:
        print(f"deniable: no expected loss: {problem}", file=sys.stderr)
        return None


def _summary(l1: list[float], l2: list[float]) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, values in (("l1", l1), ("squared_l2", l2)):
        mean = math.fsum(values) / len(values)
        variance = math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1)
        found |= {name: mean, f"{name}_standard_error": math.sqrt(variance / len(values))}
    return found


def _print(survey: Survey, result: dict[str, Any]) -> None:
    people, repeats = f"{result['n']:,} respondents", f"{result['repeats']} repeats"
    print(f"{survey}\npopulation {result['population']} over {result['symbols']} symbols, {people}, {repeats}\n")
    rows = []
    for line in result["losses"]:
        cells = [f"{line[k]:.4g} ± {line[k + '_standard_error']:.2g}" for k in ("l1", "squared_l2")]
        rows.append([{"none": "no constraint"}.get(line["estimate"], line["estimate"]), *cells])
    if expected := result["expected_without_constraint"]:
        rows.insert(1, ["  expected by theory", f"{expected['l1']:.4g}", f"{expected['squared_l2']:.4g}"])
    print(table(["estimate", "l1 loss", "squared l2 loss"], rows, "lll"))
    print("\n± is the standard error of the mean; the loss is measured against the population.")
