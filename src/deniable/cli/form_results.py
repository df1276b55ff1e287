"""What `decode` and `track` print of a form: a row for each answer of each question."""

import argparse
import csv
import json
import sys
from typing import TYPE_CHECKING, Any

from deniable.cli.output import put_chart, told
from deniable.cli.text import fit, shown, table
from deniable.errors import DeniableError
from deniable.survey import Form

if TYPE_CHECKING:
    import pyarrow as pa

    from deniable.decoders import FormEstimate
    from deniable.tracking import Change, TrackedForm

_NAME = 30  # characters of a question's name in a table


def candidates_of(made: Form, listed: Any) -> dict[str, Any] | None:
    """The candidates of the one question that any text answers."""
    if listed is None:
        return None
    questions = [part.questions[0].name for part in made.parts if part.survey.alphabet.is_open]
    if len(questions) != 1:
        raise DeniableError(
            f"--candidates must be for the one question that any text answers, got a form with {len(questions)}; "
            "decode it with dn.decode(tally, candidates={...})"
        )
    return {questions[0]: listed}


def write_estimate(args: argparse.Namespace, estimate: "FormEstimate") -> None:
    """`deniable decode` of a form."""
    if args.chart:
        chart: Any = estimate.chart(level=args.level)
        put_chart(chart, args)
    if args.json:
        print(estimate.to_json(args.level), end="")
    elif args.csv:
        _write_csv(estimate.to_arrow(args.level))
    else:
        rows = [(fit(question, _NAME), *row) for question, *row in estimate.shown(args.level)]
        print(table(["question", "answer", "share", f"{100 * args.level:g} % interval"], rows, "llrl"))
        _tell_chart(args)


def write_difference(args: argparse.Namespace, first: "FormEstimate", second: "FormEstimate") -> None:
    """`deniable decode --minus` of forms."""
    from deniable.decoders import difference

    change = difference(first, second)
    if args.chart:
        chart: Any = change.chart(level=args.level)
        put_chart(chart, args)
    found = change.to_arrow(args.level)
    if args.json:
        head = {"form": first.form.digest, "n": first.n, "n_before": second.n, "level": args.level}
        print(json.dumps(head | {"changes": found.to_pylist()}, ensure_ascii=False, indent=2))
    elif args.csv:
        _write_csv(found)
    else:
        rows = [(fit(question, _NAME), *row) for question, *row in change.shown(args.level)]
        print(table(["question", "answer", "change", f"{100 * args.level:g} % interval", ""], rows, "llrll"))
        sure = f"{100 * args.level:g} %"
        print(f"\nWhere nothing changes, nothing is marked as changed with {sure}, all questions together.")
        _tell_chart(args)


def write_tracked(args: argparse.Namespace, tracked: "TrackedForm", changes: "list[tuple[str, Change]]") -> None:
    """`deniable track` of a form."""
    if args.chart:
        chart: Any = tracked.chart(level=args.level, top=min(args.top or 6, 6))
        put_chart(chart, args)
    if args.json:
        rows = tracked.to_arrow(args.level).to_pylist()
        found = {"level": args.level, "estimates": rows, "changes": [_as_json(*one) for one in changes]}
        print(json.dumps(found, ensure_ascii=False, indent=2, allow_nan=False))
    elif args.csv:
        _write_csv(tracked.to_arrow(args.level))
    else:
        _print_tracked(args, tracked, changes)


def _print_tracked(args: argparse.Namespace, tracked: "TrackedForm", changes: "list[tuple[str, Change]]") -> None:
    rows = []
    for question, own in tracked.items():
        first, last = own[0], own[-1]
        limits = last.intervals(args.level).clip(0, 1).tolist()
        for place in sorted(range(len(own.symbols)), key=lambda place: -last.probabilities[place])[: args.top]:
            low, high = limits[place]
            shares = [f"{100 * window.probabilities[place]:.1f} %" for window in (first, last)]
            span = f"{100 * low:.1f} to {100 * high:.1f} %"
            rows.append([fit(question, _NAME), shown(own.symbols[place]), *shares, span])
    print(f"{len(tracked.windows)} windows from {tracked.windows[0]} to {tracked.windows[-1]}\n")
    sure = f"{100 * args.level:g} %"
    print(table(["question", "answer", "first window", "last window", f"{sure} interval"], rows, "llrrr"))
    print()
    for question, change in changes:
        size, low, high = (f"{100 * value:+.2f}" for value in (change.size, *change.interval))
        print(f"{change.window}: {question}, {shown(change.symbol)} {size} points ({low} to {high})")
    if changes:
        print(f"Where nothing changes, nothing is named with {sure}, all questions and windows together.")
    else:
        print(f"No change is certain (all questions and windows together, {sure}).")
    _tell_chart(args)


def _as_json(question: str, change: "Change") -> dict[str, Any]:
    from deniable.survey import symbol_to_json

    return {
        "question": question,
        "symbol": symbol_to_json(change.symbol),
        "window": change.window,
        "size": change.size,
        "low": change.interval[0],
        "high": change.interval[1],
        "p_value": change.p_value,
    }


def _tell_chart(args: argparse.Namespace) -> None:
    if args.chart:
        print(f"\nwrote {told(args.chart)}")


def _write_csv(found: "pa.Table") -> None:
    from deniable.decoders import plain_cell

    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(found.column_names)
    for row in found.to_pylist():
        values = [plain_cell(value) if isinstance(value, str) else value for value in row.values()]
        writer.writerow([f"{value:.8g}" if isinstance(value, float) else value for value in values])
