"""`deniable demo`: the whole path on simulated people, through the real client code and real randomness."""

import argparse
import json
import shutil
import sys
import textwrap
import time
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from deniable.cli.files import writing
from deniable.cli.output import add_chart, folder, put_chart, told
from deniable.cli.parser import Commands, command, whole
from deniable.cli.progress import Reporter
from deniable.cli.text import bar, percent, table
from deniable.cli.words import belief_after, chance, odds_sentence, report_bytes, truth_sentence
from deniable.survey import Survey, krr

if TYPE_CHECKING:
    import altair as alt

    from deniable.decoders import Estimate
    from deniable.tally import Tally

QUESTION = "Whom did you last lie to?"
SHARDS = 8  # collectors that count a share of the reports each
FEWEST = 100  # people; with fewer the table says nothing

# Invented shares, in thousandths.
ANSWERS = {
    "my partner": 188,
    "a friend": 164,
    "my parents": 143,
    "my boss": 121,
    "nobody": 97,
    "a stranger": 82,
    "my children": 66,
    "myself": 52,
    "my doctor": 38,
    "a customer": 26,
    "an insurer": 15,
    "the tax office": 8,
}


def add(commands: Commands) -> None:
    parser = command(
        commands,
        "demo",
        _run,
        usage="deniable demo [--people N] [--epsilon E] [-o FOLDER] [--chart FILE | --no-chart] [--json]",
        help="the whole path on simulated people: a table, a chart, what to do next",
        description=(
            "A million simulated people answer a question that nobody likes to answer. Each answer is\n"
            "randomised with the operating system's randomness, on the path that real columns take; the\n"
            "reports are counted on several collectors, the counts are added up, and the distribution is\n"
            "decoded beside the truth."
        ),
    )
    parser.option("--people", "N", "how many", whole(FEWEST, 10**8), default=10**6)
    parser.option("--epsilon", "E", "privacy budget in nats", default="2")
    where = "where to write; files of an earlier demo in it are replaced"
    parser.option("-o --output", "FOLDER", where, default="out")
    parser.add_argument("--out", dest="output", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
    chart = parser.add_mutually_exclusive_group()
    chart.add_argument("--no-chart", action="store_true", help="write no chart")
    add_chart(parser, "the chart, elsewhere", group=chart)
    parser.flag("--json", "print the result as JSON and nothing else")


def _run(args: argparse.Namespace) -> None:
    survey = krr(list(ANSWERS), epsilon=args.epsilon, name=QUESTION)
    own = folder(args.output)
    start = time.perf_counter()
    counts = _people(args.people)
    tally = _ask(survey, counts)
    from deniable.decoders import decode

    estimate = decode(tally)
    spent = time.perf_counter() - start
    files = {"survey": str(own / "demo.survey.json"), "tally": str(own / "demo.tally")}
    with writing(files["survey"]):
        survey.save(files["survey"])
    with writing(files["tally"]):
        tally.save(files["tally"])
    truth = [c / args.people for c in counts]
    if args.chart is not None:
        files["chart"] = told(args.chart)
        put_chart(_chart(estimate, truth), args)
    elif not args.no_chart:
        from deniable.charts import save_chart

        files["chart"] = str(own / "demo.svg")
        with writing(files["chart"]):
            save_chart(_chart(estimate, truth), files["chart"])
    if args.json:
        print(json.dumps(_as_json(estimate, truth, files, spent), indent=2))
    else:
        _print(estimate, truth, files, spent)


def _people(n: int) -> list[int]:
    """How many of n people give each answer: the shares, rounded so that they add up (largest remainders)."""
    exact = [Fraction(n * share, 1000) for share in ANSWERS.values()]
    counts = [int(x) for x in exact]
    order = sorted(range(len(exact)), key=lambda i: counts[i] - exact[i])
    for i in order[: n - sum(counts)]:
        counts[i] += 1
    return counts


def _ask(survey: Survey, counts: list[int]) -> "Tally":
    """Everyone's answer as text, randomised and counted shard by shard, and the shards' tallies added up."""
    import numpy as np
    import pyarrow as pa

    from deniable.columns import count, privatize
    from deniable.tally import Tally

    names = pa.array(list(ANSWERS))
    people = np.repeat(np.arange(len(counts)), counts)
    total = Tally(survey)
    with Reporter("asking") as report:
        for shard in report.each(range(SHARDS)):
            column = names.take(pa.array(people[shard::SHARDS]))
            total += count(survey, privatize(survey, column))
    return total


def _chart(estimate: "Estimate", truth: list[float]) -> "alt.LayerChart":
    from deniable.charts import estimate_chart

    names = [str(symbol) for symbol in estimate.symbols]
    title = f"{QUESTION} {estimate.n:,} randomised answers"
    return estimate_chart(names, estimate.probabilities, estimate.intervals(), truth=truth, title=title)


def _as_json(estimate: "Estimate", truth: list[float], files: dict[str, str], spent: float) -> dict[str, object]:
    survey = estimate.tally.survey
    rows = zip(estimate.symbols, truth, estimate.probabilities.tolist(), estimate.intervals().tolist(), strict=True)
    return {
        "question": QUESTION,
        "people": estimate.n,
        "shards": SHARDS,
        "epsilon_spent": survey.epsilon_spent,
        "likelihood_ratio": float(survey.mechanism.odds),
        "truth_is_sent_with": float(survey.mechanism.hit),
        "report_bytes": report_bytes(survey),
        "seconds": round(spent, 3),
        "estimates": [
            {"symbol": symbol, "truth": true, "probability": found, "raw_low": low, "raw_high": high}
            for symbol, true, found, (low, high) in rows
        ],
        "files": files,
    }


def _print(estimate: "Estimate", truth: list[float], files: dict[str, str], spent: float) -> None:
    survey, n = estimate.tally.survey, estimate.n
    found, intervals = estimate.probabilities.tolist(), estimate.intervals().tolist()
    print(f"{QUESTION}\n")
    _say(
        f"{n:,} simulated people answered, each on their own device. Every device rolled its dice before it sent "
        f"anything, and {report_bytes(survey)} bytes left it. {SHARDS} collectors counted what arrived; their counts "
        f"were added up and decoded ({spent:.1f} s in all)."
    )
    rows = []
    for symbol, true, value, (low, high) in zip(estimate.symbols, truth, found, intervals, strict=True):
        held = "" if low <= true <= high else "  (interval misses the truth)"
        between = f"{100 * max(low, 0):.2f} to {percent(min(high, 1))}"
        rows.append([str(symbol), percent(true), percent(value), between, bar(value, max(found)) + held])
    print(table(["", "truth", "estimate", "95 % interval", ""], rows, "lrrrl") + "\n")
    covered = sum(low <= true <= high for true, (low, high) in zip(truth, intervals, strict=True))
    _say(
        f"{covered} of {len(truth)} intervals hold the truth; in the long run at least 95 % do. The collectors "
        "learnt this, and not what anyone answered:"
    )
    tenth = chance(belief_after(Fraction(1, 10), survey.mechanism.odds), up=True)
    _say(
        f"{odds_sentence(survey)} {truth_sentence(survey)} Someone who was 10 % sure of your answer is at most "
        f"{tenth} sure after seeing your report, whatever else they know. (This is epsilon {survey.epsilon:g}.)"
    )
    print("Written: " + ", ".join(files.values()) + "\n\nNext:")
    me, own = _how_to_call(), Path(files["tally"]).parent
    fewer = f"demo --people {max(n // 100, FEWEST)} --epsilon {survey.epsilon:g} -o {own / 'fewer'}"
    code = f"dn.Client(dn.Survey.load({files['survey']!r})).report('nobody').pack()"
    steps = [
        ["what to tell the people you ask", f"{me} survey notice {files['survey']}"],
        ["decode the counts yourself", f"{me} decode {files['tally']} --chart {own / 'again.html'}"],
        ["what fewer people would give", f"{me} {fewer}"],
        ["how well a survey would do", f"{me} simulate {files['survey']} --n 10000"],
        ["ask a question of your own", f"{me} survey new --help"],
        ["ask, answer and see it in a browser", f"{me} serve --demo"],
        ["send one answer, in Python", code],
    ]
    print(textwrap.indent(table([], steps, "ll"), "  "))


def _say(text: str) -> None:
    print(textwrap.fill(text, 100) + "\n")


def _how_to_call() -> str:
    """How to call this program from the same shell."""
    called = Path(sys.argv[0])
    if called.name == "__main__.py":
        return "python -m deniable"
    return "deniable" if shutil.which("deniable") or called.name != "deniable" else str(called)
