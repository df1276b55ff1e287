"""`deniable privatize` and `deniable count`: columns of answers to reports, and reports to a tally."""

import argparse
import json
import os
import time
from typing import TYPE_CHECKING

from deniable.cli.files import load_survey
from deniable.cli.output import add_force, put, target, told, writes
from deniable.cli.parser import Commands, one_of
from deniable.cli.progress import Stages
from deniable.cli.text import several, table
from deniable.errors import DataError, DeniableError, require
from deniable.survey import Survey

if TYPE_CHECKING:
    from deniable.engines.local import Progress
    from deniable.tally import Tally

__all__ = ["add"]

FORMATS = ("parquet", "arrow", "csv", "jsonl")
_BINARY = FORMATS[:2]
_AFTER, _PAUSE = 2.0, 0.1


def add(commands: Commands) -> None:
    _add_privatize(commands)
    _add_count(commands)


def _add_privatize(commands: Commands) -> None:
    parser = commands.add_parser(
        "privatize",
        usage="deniable privatize FILE [FILE ...] --column NAME --survey SURVEY -o FILE [options]",
        help="randomise a column of files into reports",
        description=(
            "Randomise a column of answers, one report a row, with the operating system's randomness.\n\n"
            "  deniable privatize data.parquet --column browser --survey survey.json -o reports.parquet\n\n"
            "A FILE is Parquet, Arrow IPC, CSV or JSON lines (the last two also compressed), a folder of them, a\n"
            "pattern, or - for standard input. Rows without an answer, or with one that is not in the survey's\n"
            "alphabet, are counted and left out. Each run is fresh noise: people whose answers go through twice spend\n"
            "epsilon twice."
        ),
    )
    _add_common(parser)
    parser.add_argument("--column", metavar="NAME", required=True, help="the column that holds the answers")
    parser.add_argument("--survey", metavar="SURVEY", required=True, help="a survey file (JSON)")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        required=True,
        help="the reports: .parquet, .arrow, .csv or .jsonl (- is standard output)",
    )
    parser.add_argument(
        "--output-format",
        metavar="NAME",
        type=one_of(*FORMATS),
        help="of the reports: " + ", ".join(FORMATS) + ", where the name does not say",
    )
    add_force(parser)
    writes(parser, output=_is_binary)
    parser.set_defaults(run=_privatize)


def _add_count(commands: Commands) -> None:
    parser = commands.add_parser(
        "count",
        usage="deniable count FILE [FILE ...] -o FILE [--survey SURVEY] [options]",
        help="add up reports into a tally",
        description=(
            "Add up the reports in files into a tally, for `deniable decode`.\n\n"
            "  deniable count reports.parquet -o day.tally\n\n"
            "A FILE is Parquet, Arrow IPC, CSV or JSON lines (the last two also compressed), a folder of them, a\n"
            "pattern, or - for standard input; it has the columns cohort and response. Parquet and Arrow files from\n"
            "`deniable privatize` carry their survey. Rows that no client could have sent are counted and left out."
        ),
    )
    _add_common(parser)
    parser.add_argument("--survey", metavar="SURVEY", help="a survey file (JSON), where FILE does not carry it")
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="the tally file (- is standard output)")
    add_force(parser)
    writes(parser, output=True)
    parser.add_argument(
        "--engine", metavar="NAME", type=one_of("local", "spark"), default="local", help="local (default) or spark"
    )
    parser.add_argument("--master", metavar="URL", help="where Spark runs, for --engine spark")
    parser.set_defaults(run=_count)


def _add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE", nargs="+", help="files, folders, patterns, or - for standard input")
    parser.add_argument(
        "--format", metavar="NAME", type=one_of(*FORMATS), help=", ".join(FORMATS) + "; by suffix if left out"
    )
    parser.add_argument("--strict", action="store_true", help="write nothing and exit with 2 if a row is bad")
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


class _Bar:
    """What a run shows while it reads: nothing at first, then how much of the bytes, or how many rows."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._stages = Stages()
        self._start = self._last = time.monotonic()

    def __call__(self, progress: "Progress") -> None:
        now = time.monotonic()
        if now - self._start < _AFTER or now - self._last < _PAUSE:
            return
        self._last = now
        if progress.total:
            self._stages(f"{self._what}, {progress.rows:,} rows", progress.done, progress.total, 0)
        else:
            self._stages.say(f"{self._what} ... {progress.rows:,} rows, {now - self._start:.0f} s")

    def __enter__(self) -> "_Bar":
        return self

    def __exit__(self, *_: object) -> None:
        self._stages.__exit__(None, None, None)


def _is_binary(args: argparse.Namespace) -> bool:
    """Whether reports are written as something that a terminal cannot show; refuses a name that tells no format."""
    from deniable.engines.writing import output_format

    if args.output_format is not None:
        return args.output_format in _BINARY
    try:
        kind, codec = output_format(args.output)
    except DataError as problem:
        raise DataError(f"{problem}; or name it with --output-format") from None
    return kind in _BINARY or codec is not None


def _privatize(args: argparse.Namespace) -> None:
    from deniable.engines import sources
    from deniable.engines.privatizing import privatize_files

    survey = load_survey(args.survey)
    for source in sources(args.files, format=args.format):
        _check_apart(source.path, args.output)
    with _Bar("randomising") as bar:
        reports, refused = privatize_files(
            survey,
            args.files,
            args.column,
            target(args.output),
            format=args.format,
            output_format=args.output_format,
            watch=bar,
            strict=args.strict,
            replace=args.force,
        )
    _tell(args, survey, reports, refused, f"{several(reports, 'report')} of {survey}")


def _check_apart(source: str, output: str) -> None:
    if source != "-" and os.path.isfile(output) and os.path.samefile(source, output):
        raise DataError(f"-o must not be a file that is read, got {output}; name another")


def _count(args: argparse.Namespace) -> None:
    survey = None if args.survey is None else load_survey(args.survey)
    if args.master is not None and args.engine != "spark":
        raise DeniableError("--master must be given with --engine spark, got --engine local")
    tally, refused = _count_spark(args, survey) if args.engine == "spark" else _count_local(args, survey)
    if args.strict and refused:
        from deniable.columns.batches import tell

        raise DataError(
            f"every row must be a report of the survey with --strict, got {several(sum(refused.values()), 'row')} that "
            f"cannot be ({tell(refused)}); nothing was written"
        )
    put(args.output, tally.to_bytes(), args)
    _tell(args, tally.survey, tally.n, refused, str(tally))


def _count_local(args: argparse.Namespace, survey: Survey | None) -> "tuple[Tally, dict[str, int]]":
    from deniable.engines import sources
    from deniable.engines.local import count_files

    for source in sources(args.files, format=args.format):
        _check_apart(source.path, args.output)
    with _Bar("counting") as bar:
        return count_files(survey, args.files, format=args.format, watch=bar)


def _count_spark(args: argparse.Namespace, survey: Survey | None) -> "tuple[Tally, dict[str, int]]":
    from importlib import import_module

    require("to run deniable count --engine spark", "spark")
    if survey is None:
        from deniable.engines import open_reader, sources
        from deniable.engines.local import survey_in

        first = sources(args.files, format=args.format)[0]
        reader = open_reader(first)
        try:
            survey = survey_in(first, reader)
        finally:
            reader.close()
    spark = import_module("deniable.engines.spark")
    found: tuple[Tally, dict[str, int]] = spark.count_files(survey, args.files, master=args.master, format=args.format)
    return found


def _tell(args: argparse.Namespace, survey: Survey, reports: int, refused: dict[str, int], what: str) -> None:
    left_out = sum(refused.values())
    if args.json:
        record = {
            "output": args.output,
            "survey": survey.digest,
            "rows": reports + left_out,
            "reports": reports,
            "refused": dict(sorted(refused.items())),
        }
        print(json.dumps(record, indent=2))
        return
    print(f"wrote {told(args.output)}: {what}")
    if refused:
        rows = [[reason, f"{number:,}"] for reason, number in sorted(refused.items(), key=lambda item: -item[1])]
        print(f"\n{several(left_out, 'row')} of {reports + left_out:,} left out:\n")
        print(table(["reason", "rows"], rows, "lr", limit=60))
