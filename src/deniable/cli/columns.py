"""`deniable privatize` and `deniable count`: columns of answers to reports, and reports to a tally."""

import argparse
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from deniable.cli.files import load_agreement
from deniable.cli.form_commands import count_form, privatize_form
from deniable.cli.output import add_force, put, target, told, writes
from deniable.cli.parser import Commands, Parser, command, one_of
from deniable.cli.progress import Reporter
from deniable.cli.text import several, table
from deniable.errors import DataError, DeniableError, require
from deniable.survey import Agreement, Form, Survey

if TYPE_CHECKING:
    from deniable.engines import FileProgress
    from deniable.tally import Tally

FORMATS = ("parquet", "arrow", "csv", "jsonl")
_BINARY = FORMATS[:2]
_AFTER = 2.0  # seconds before progress is shown


def add(commands: Commands) -> None:
    _add_privatize(commands)
    _add_count(commands)


def _add_privatize(commands: Commands) -> None:
    parser = command(
        commands,
        "privatize",
        _privatize,
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
    parser.option("--column", "NAME", "the column that holds the answers; not for a form, which has one a question")
    parser.option("--survey", "SURVEY", "a survey or form file (JSON)", required=True)
    reports = "the reports: .parquet, .arrow, .csv or .jsonl (- is standard output)"
    parser.option("-o --output", "FILE", reports, required=True)
    names = f"of the reports: {', '.join(FORMATS)}, where the name does not say"
    parser.option("--output-format", "NAME", names, one_of(*FORMATS))
    add_force(parser)
    writes(parser, output=_is_binary)


def _add_count(commands: Commands) -> None:
    parser = command(
        commands,
        "count",
        _count,
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
    parser.option("--survey", "SURVEY", "a survey file (JSON), where FILE does not carry it")
    parser.option("-o --output", "FILE", "the tally file (- is standard output)", required=True)
    add_force(parser)
    writes(parser, output=True)
    parser.option("--engine", "NAME", "local (default) or spark", one_of("local", "spark"), default="local")
    parser.option("--master", "URL", "where Spark runs, for --engine spark")


def _add_common(parser: Parser) -> None:
    parser.add_argument("files", metavar="FILE", nargs="+", help="files, folders, patterns, or - for standard input")
    parser.option("--format", "NAME", f"{', '.join(FORMATS)}; by suffix if left out", one_of(*FORMATS))
    parser.flag("--strict", "write nothing and exit with 2 if a row is bad")
    parser.json()


@contextmanager
def _watching(what: str) -> "Iterator[Callable[[FileProgress], None]]":
    """Show the rows that were read, and the share of all bytes; for a pipe, which has no length, the time."""
    with Reporter(what, after=_AFTER) as report:
        yield lambda progress: report(f"{what}, {progress.rows:,} rows", progress.done, progress.total)


def _is_binary(args: argparse.Namespace) -> bool:
    """Whether the reports are written in a binary format; a name without a known suffix is refused."""
    from deniable.engines import output_format

    if args.output_format is not None:
        return args.output_format in _BINARY
    try:
        kind, codec = output_format(args.output)
    except DataError as problem:
        raise DataError(f"{problem}; or name it with --output-format") from None
    return kind in _BINARY or codec is not None


def _privatize(args: argparse.Namespace) -> None:
    from deniable.engines import privatize_files, sources

    survey = load_agreement(args.survey)
    if isinstance(survey, Form):
        made = privatize_form(survey, args)
        _tell(args, survey, made, {}, f"{several(made, 'report')} of {survey!r}")
        return
    if args.column is None:
        raise DeniableError("--column must be given: the column that holds the answers")
    for source in sources(args.files, format=args.format):
        _check_apart(source.path, args.output)
    with _watching("randomising") as watch:
        reports, refused = privatize_files(
            survey,
            args.files,
            args.column,
            target(args.output),
            format=args.format,
            output_format=args.output_format,
            watch=watch,
            strict=args.strict,
            replace=args.force,
        )
    _tell(args, survey, reports, refused, f"{several(reports, 'report')} of {survey}")


def _check_apart(source: str, output: str) -> None:
    if source != "-" and os.path.isfile(output) and os.path.samefile(source, output):
        raise DataError(f"-o must not be a file that is read, got {output}; name another")


def _count(args: argparse.Namespace) -> None:
    survey = None if args.survey is None else load_agreement(args.survey)
    if args.master is not None and args.engine != "spark":
        raise DeniableError("--master must be given with --engine spark, got --engine local")
    tally: Any
    if args.engine == "spark":
        tally, refused = _count_spark(args, survey)
    elif isinstance(survey, Form):
        tally, refused = count_form(survey, args)
    else:
        tally, refused = _count_local(args, survey)
    if args.strict and refused:
        from deniable.columns import tell

        raise DataError(
            f"every row must be a report of the survey with --strict, got {several(sum(refused.values()), 'row')} that "
            f"cannot be ({tell(refused)}); nothing was written"
        )
    put(args.output, tally.to_bytes(), args)
    _tell(args, tally.survey, tally.n, refused, str(tally))


def _count_local(args: argparse.Namespace, survey: Survey | None) -> "tuple[Tally, dict[str, int]]":
    from deniable.engines import count_files, sources

    for source in sources(args.files, format=args.format):
        _check_apart(source.path, args.output)
    with _watching("counting") as watch:
        return count_files(survey, args.files, format=args.format, watch=watch)


def _count_spark(args: argparse.Namespace, survey: Agreement | None) -> "tuple[Any, dict[str, int]]":
    from importlib import import_module

    require("to run deniable count --engine spark", "spark")
    if survey is None:
        from deniable.engines import open_reader, sources, survey_in

        first = sources(args.files, format=args.format)[0]
        reader = open_reader(first)
        try:
            survey = survey_in(first, reader)
        finally:
            reader.close()
    spark = import_module("deniable.engines.spark")
    found: tuple[Any, dict[str, int]] = spark.count_files(survey, args.files, master=args.master, format=args.format)
    return found


def _tell(args: argparse.Namespace, survey: Agreement, reports: int, refused: dict[str, int], what: str) -> None:
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
