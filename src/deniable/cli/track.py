"""`deniable track`: a folder of tallies, one a window, and what moved."""

import argparse
import csv
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deniable.cli.files import load_tallies
from deniable.cli.form_results import candidates_for, change_record, write_tracked
from deniable.cli.output import add_chart, put_result
from deniable.cli.parser import Commands, command, one_of, part, share
from deniable.cli.progress import Reporter
from deniable.cli.text import percent, shown, table
from deniable.errors import DeniableError
from deniable.survey import Form

if TYPE_CHECKING:
    from deniable.tracking import Change, Tracked

_HOW = ("once", "window", "event")
_ROWS = 40  # symbols of the table, unless --top says otherwise
_AFTER = 2.0  # seconds before progress is shown


def add(commands: Commands) -> None:
    parser = command(
        commands,
        "track",
        _run,
        help="follow a distribution over the windows of a survey",
        description=(
            "Track tallies of one window each: files, or a folder of them. The name of a file, without its ending, is\n"
            "the window: 2026-11-18.tally, 2026-11-18T09.tally, 2026-W47.tally. Missing windows are noticed.\n\n"
            "  deniable track week/ --chart week.svg\n"
            "  deniable track 2026-11-*.tally --candidates-file homepages.txt --csv > november.csv\n\n"
            "Each window is estimated with all of them, tallies of a form question by question. A change is named\n"
            "where it is certain at the level, for all symbols and windows together. If devices take part in every\n"
            "window and repeat their noise, the survey says so, or --participation window does."
        ),
    )
    parser.add_argument("tallies", metavar="TALLY", nargs="+", help="tally files, or folders of them")
    parser.symbols("candidates", "symbols to look for in an open survey, or a count S for 0 to S-1")
    parser.option("--participation", "HOW", "once, window or event, in place of what the survey says", one_of(*_HOW))
    parser.option("--turnover", "T", "the part of the devices that are replaced each window (default: learnt)", part)
    parser.option("--change", "C", "the part of the others that draw their answer anew (default: learnt)", part)
    parser.option("--level", "L", "of the intervals and the changes", share, default=0.95)
    parser.option("--top", "N", f"only the N largest symbols (default {_ROWS}; the chart has six at most)", int)
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--csv", action="store_true", help="print CSV: a row for each window and symbol")
    output.add_argument("--json", action="store_true", help="print JSON: windows, and what changed")
    add_chart(parser, "also write a chart of the largest symbols over time")


def _run(args: argparse.Namespace) -> None:
    from deniable.tracking import track

    if args.top is not None and args.top < 1:
        raise DeniableError(f"--top must be at least 1, got {args.top}")
    files = [file for name in args.tallies for file in _files(name)]
    windows: dict[str, Any] = {}
    for file in sorted(files, key=lambda path: path.stem):
        if file.stem in windows:
            raise DeniableError(f"windows must not overlap, got {file.stem!r} twice; add up its tallies first")
        windows[file.stem] = load_tallies([str(file)])
    made = next(iter(windows.values())).survey
    with Reporter("tracking", after=_AFTER):
        tracked: Any = track(
            windows,
            candidates=candidates_for(made, args),
            turnover=args.turnover,
            change=args.change,
            participation=args.participation,
        )
        changes = tracked.changes(args.level)
    if isinstance(made, Form):
        write_tracked(args, tracked, changes)
        return
    put_result(
        args,
        chart=lambda: tracked.chart(level=args.level, top=min(args.top or 6, 6)),
        record=lambda: _as_json(tracked, changes, args.level),
        rows=lambda: _write_csv(tracked, args.level),
        text=lambda: _print(tracked, changes, args),
    )


def _files(name: str) -> list[Path]:
    path = Path(name)
    if not path.is_dir():
        return [path]
    found = sorted(path.glob("*.tally"))
    if not found:
        raise DeniableError(f"{name} must hold tally files (*.tally), got none; deniable count writes them")
    return found


def _as_json(tracked: "Tracked", changes: "list[Change]", level: float) -> dict[str, Any]:
    from deniable.survey import symbol_to_json

    names = [symbol_to_json(symbol) for symbol in tracked.symbols]
    windows = []
    for window in tracked:
        limits = window.intervals(level).tolist()
        rows = [
            {"symbol": name, "estimate": value, "raw": raw, "raw_low": low, "raw_high": high}
            for name, value, raw, (low, high) in zip(
                names, window.probabilities.tolist(), window.raw.tolist(), limits, strict=True
            )
        ]
        windows.append({"window": window.window, "reports": window.n, "estimates": rows})
    told = [change_record(change) for change in changes]
    return {"level": level, "turnover": tracked.turnover, "windows": windows, "changes": told}


def _write_csv(tracked: "Tracked", level: float) -> None:
    from deniable.decoders import plain_cell

    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["window", "reports", "symbol", "estimate", "raw", "raw_low", "raw_high"])
    names = [plain_cell(shown(symbol)) for symbol in tracked.symbols]
    for window in tracked:
        for name, value, raw, (low, high) in zip(
            names, window.probabilities, window.raw, window.intervals(level), strict=True
        ):
            numbers = [f"{number:.8g}" for number in (value, raw, low, high)]
            writer.writerow([plain_cell(str(window.window)), window.n, name, *numbers])


def _print(tracked: "Tracked", changes: "list[Change]", args: argparse.Namespace) -> None:
    first, last = tracked[0], tracked[-1]
    missing = sum(size == 0 for size in tracked.sizes)
    print(f"{len(tracked)} windows from {first.window} to {last.window}, {int(tracked.sizes.sum()):,} reports")
    if missing:
        print(f"{missing} of them without reports: they are estimated from the others")
    if tracked.is_shared:
        print(f"About {percent(tracked.turnover, 0)} of the devices, or of their answers, are other ones each window.")
        print(tracked.shared_noise)
    print()
    order = sorted(range(len(tracked.symbols)), key=lambda place: -last.probabilities[place])[: args.top or _ROWS]
    limits = last.intervals(args.level)
    changed = {change.symbol for change in changes}
    rows = []
    for place in order:
        low, high = (min(max(limit, 0.0), 1.0) for limit in limits[place].tolist())
        symbol = tracked.symbols[place]
        rows.append(
            [
                shown(symbol) + (" *" if symbol in changed else ""),
                percent(first.probabilities[place]),
                percent(last.probabilities[place]),
                f"{percent(low)} to {percent(high)}",
            ]
        )
    heading = ["symbol", "first window", "last window", f"{100 * args.level:g} % interval"]
    print(table(heading, rows, align="lrrr"))
    print()
    for change in changes:
        size, low, high = (f"{100 * value:+.2f}" for value in (change.size, *change.interval))
        print(f"{change.window}: {shown(change.symbol)} {size} points ({low} to {high})")
    sure = f"{100 * args.level:g} %"
    if changes:
        print(f"* changed: where nothing changes, nothing is named with {sure}, all symbols and windows together.")
    else:
        print(f"No change is certain (all symbols and windows together, {sure}).")
    if tracked.cycle:
        print(f"Shares repeat every {tracked.cycle} windows; that is no change.")
    _print_latest(tracked, args.level)


def _print_latest(tracked: "Tracked", level: float) -> None:
    """The last window against a normal one, where there is one."""
    try:
        apart = tracked.against_normal(level=level)
    except DeniableError:
        return
    alike = "those before it" if tracked.cycle is None else f"those each {tracked.cycle} windows before it"
    print(f"\n{tracked.windows[-1]} against a normal window, the mean of {alike} since a share last changed:")
    rows = [
        f"  {shown(symbol)} {100 * value:+.2f} points ({100 * low:+.2f} to {100 * high:+.2f})"
        for symbol, value, (low, high) in zip(
            apart.symbols, apart.values, apart.intervals(level, simultaneous=True), strict=True
        )
        if low > 0 or high < 0
    ]
    print("\n".join(rows) or "  nothing unusual")
