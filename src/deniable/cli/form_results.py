"""What `decode` and `track` print of a form: a row for each answer of each question."""

import argparse
from typing import TYPE_CHECKING, Any

from deniable.cli.files import symbols_from
from deniable.cli.output import print_csv, put_result
from deniable.cli.text import fit, shown, table
from deniable.errors import DeniableError
from deniable.survey import Agreement, Survey

if TYPE_CHECKING:
    from deniable.decoders import FormEstimate
    from deniable.tracking import Change, TrackedForm

_NAME = 30  # characters of a question's name in a table


def candidates_for(made: Agreement, args: argparse.Namespace) -> Any:
    """What --candidates names: answers of a survey, or of the one question of a form that any text answers."""
    listed: Any = symbols_from(args, "candidates")
    listed = range(listed) if isinstance(listed, int) else listed
    if listed is None or isinstance(made, Survey):
        return listed
    questions = [part.questions[0].name for part in made.parts if part.survey.alphabet.is_open]
    if len(questions) != 1:
        raise DeniableError(
            f"--candidates must be for the one question that any text answers, got a form with {len(questions)}; "
            "decode it with dn.decode(tally, candidates={...})"
        )
    return {questions[0]: listed}


def write_estimate(args: argparse.Namespace, estimate: "FormEstimate") -> None:
    """`deniable decode` of a form."""

    def text() -> None:
        rows = [(fit(question, _NAME), *row) for question, *row in estimate.shown(args.level)]
        print(table(["question", "answer", "share", f"{100 * args.level:g} % interval"], rows, "llrl"))

    put_result(
        args,
        chart=lambda: estimate.chart(level=args.level),
        record=lambda: estimate.record(args.level),
        rows=lambda: print_csv(estimate.to_arrow(args.level)),
        text=text,
    )


def write_difference(args: argparse.Namespace, first: "FormEstimate", second: "FormEstimate") -> None:
    """`deniable decode --minus` of forms."""
    from deniable.decoders import difference

    change = difference(first, second)
    head = {"form": first.form.digest, "n": first.n, "n_before": second.n, "level": args.level}

    def text() -> None:
        rows = [(fit(question, _NAME), *row) for question, *row in change.shown(args.level)]
        print(table(["question", "answer", "change", f"{100 * args.level:g} % interval", ""], rows, "llrll"))
        sure = f"{100 * args.level:g} %"
        print(f"\nWhere nothing changes, nothing is marked as changed with {sure}, all questions together.")

    put_result(
        args,
        chart=lambda: change.chart(level=args.level),
        record=lambda: head | {"changes": change.to_arrow(args.level).to_pylist()},
        rows=lambda: print_csv(change.to_arrow(args.level)),
        text=text,
    )


def write_tracked(args: argparse.Namespace, tracked: "TrackedForm", changes: "list[tuple[str, Change]]") -> None:
    """`deniable track` of a form."""
    told = [{"question": question} | change_record(change) for question, change in changes]
    put_result(
        args,
        chart=lambda: tracked.chart(level=args.level, top=min(args.top or 6, 6)),
        record=lambda: {
            "level": args.level,
            "estimates": tracked.to_arrow(args.level).to_pylist(),
            "changes": told,
        },
        rows=lambda: print_csv(tracked.to_arrow(args.level)),
        text=lambda: _print_tracked(args, tracked, changes),
    )


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


def change_record(change: "Change") -> dict[str, Any]:
    """A change as JSON has it."""
    from deniable.survey import symbol_to_json

    return {
        "symbol": symbol_to_json(change.symbol),
        "window": change.window,
        "size": change.size,
        "low": change.interval[0],
        "high": change.interval[1],
        "p_value": change.p_value,
    }
