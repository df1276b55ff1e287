"""`deniable reproduce`: rerun the paper's experiments, draw its figures, and check its claims."""

import argparse
import json
import platform
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from deniable.cli.files import writing
from deniable.cli.output import folder as own_folder
from deniable.cli.parser import Commands, command, whole
from deniable.cli.progress import Reporter
from deniable.cli.text import duration, several, table
from deniable.errors import DeniableError

if TYPE_CHECKING:
    from deniable.reproduce import Claim, Results, Settings

# The words after a number of claims with a verdict: for one claim, and for several.
VERDICTS = {
    "holds": ("holds", "hold"),
    "holds except": ("holds except in places", "hold except in places"),
    "does not hold": ("does not hold", "do not hold"),
    "not measured": ("was not measured", "were not measured"),
}


def add(commands: Commands) -> None:
    parser = command(
        commands,
        "reproduce",
        _run,
        usage="deniable reproduce [-o FOLDER] [--full] [--figure NAME ...] [--claims] [options]",
        help="rerun the paper's experiments, figures and claims",
        description=(
            "Rerun the experiments of the paper on simulated people, draw its figures and check its claims.\n"
            "Every result is kept in the folder as it is found: a run that was stopped goes on where it\n"
            "was, and a full run uses what a quick one has found.\n\n"
            "  deniable reproduce\n"
            "  deniable reproduce --full --figure decoders,l2_decoders"
        ),
    )
    where = "where to write; its files of an earlier run are replaced"
    parser.option("-o --output", "FOLDER", where, default="reproduction")
    parser.flag("--full", "as many repeats as the paper (an hour or two instead of minutes)")
    parser.option("--figure", "NAME", "only this figure; repeat it, or use commas", action="append", default=[])
    parser.flag("--claims", "print the claims and their verdicts; draw nothing")
    parser.flag("--exhaustive", "simulate the whole grid of parameters, also where theory rules it out")
    parser.option("--processes", "N", "at once (default: one a core)", whole(1, 1000))
    parser.option("--seed", "SEED", "of the simulation", whole(0), default=0)
    parser.json()


def _run(args: argparse.Namespace) -> None:
    from deniable.reproduce import FIGURES, ResultCache, Results, Settings

    names = _figures(args.figure, list(FIGURES))
    settings = Settings(seed=args.seed, full=args.full, exhaustive=args.exhaustive, figures=names)
    folder = own_folder(args.output)
    try:
        with (
            ResultCache(folder / "cells.sqlite", seed=args.seed) as store,
            Reporter("starting") as report,
            Results(store, processes=args.processes, on_progress=report) as results,
        ):
            claims, files, facts = _work(settings, results, folder, report, draw=not args.claims)
    except KeyboardInterrupt:
        print(f"deniable: what was finished is kept in {folder}; the same command goes on from there", file=sys.stderr)
        raise
    if args.json:
        print(json.dumps(_as_json(settings, claims, files, facts), indent=2))
    elif args.claims:
        _print_claims(claims)
    else:
        _print_summary(settings, claims, folder, facts)


def _figures(given: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    """The figures that are asked for, in the paper's order; all, if none is named."""
    names = [name.strip() for text in given for name in text.split(",")]
    for name in names:
        if name not in known:
            from difflib import get_close_matches

            near = get_close_matches(name, known, n=3, cutoff=0.5)
            hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(known)}"
            raise DeniableError(f"there is no figure {name[:60]!r}; {hint}")
    return tuple(name for name in known if name in names or not names)


def _work(
    settings: "Settings", results: "Results", folder: Path, report: Reporter, *, draw: bool
) -> tuple[list["Claim"], list[Path], dict[str, str]]:
    from importlib.metadata import version

    from deniable import __version__, reproduce

    start = time.monotonic()
    tables = reproduce.tables(settings, results)
    results.close()  # the workers' memory is better used for drawing
    checked = reproduce.check(tables)
    processes = "1 process" if results.processes == 1 else f"{results.processes} processes"
    facts = {
        "run": ("full" if settings.full else "quick") + (", exhaustive" if settings.exhaustive else ""),
        "seed": str(settings.seed),
        "results": f"{several(results.computed, 'result')} computed in this run, {results.reused:,} in earlier ones",
        "time": f"{duration(time.monotonic() - start)} on {processes}",
        "CPU time": f"{duration(results.seconds())} for all results",
        "versions": f"deniable {__version__}, Python {platform.python_version()}, numpy {version('numpy')}",
    }
    files: list[Path] = []
    if draw:
        with writing(str(folder)):
            files = reproduce.write(
                folder,
                tables=tables,
                claims=checked,
                settings=settings,
                facts=facts,
                figures=settings.figures,
                on_progress=report,
            )
    return checked, files, facts


def _as_json(
    settings: "Settings", claims: list["Claim"], files: list[Path], facts: dict[str, str]
) -> dict[str, object]:
    return {
        "figures": list(settings.figures),
        "claims": [asdict(claim) for claim in claims],
        "files": [path.as_posix() for path in files],
        "facts": facts,
    }


def _print_claims(claims: list["Claim"]) -> None:
    rows = []
    for claim in claims:
        rows += [[claim.verdict, f"{claim.sentence} ({claim.section}, {claim.id})"], ["", claim.measured]]
        rows += [["", f"except: {claim.exceptions}"]] if claim.exceptions else []
        rows.append(["", ""])
    print(table([], rows, "ll", wrap=100))
    print(_count(claims))


def _count(claims: list["Claim"]) -> str:
    """How many claims have each verdict; verdicts without claims are left out."""
    counts = Counter[str](claim.verdict for claim in claims)
    said = [f"{counts[verdict]} {words[counts[verdict] > 1]}" for verdict, words in VERDICTS.items() if counts[verdict]]
    return f"{several(len(claims), 'claim')}: " + (", ".join(said) or "none")


def _print_summary(settings: "Settings", claims: list["Claim"], folder: Path, facts: dict[str, str]) -> None:
    print(f"{several(len(settings.figures), 'figure')} in {folder / 'index.html'}")
    print(_count(claims))
    print(f"{facts['results']}; {facts['time']}; CPU time {facts['CPU time']}")
    if not settings.full:
        print("This was a quick run: --full repeats everything as often as the paper.")
