"""Where a command writes: one rule for every `-o`, `--chart` and FILE.

A file that exists is replaced with --force alone, and atomically. Links, pipes, devices and sockets are written through
(`survey.output_file`). `-` is standard output; then everything else that the command prints goes to standard error.

A command names its outputs with `writes`; `prepared` checks them before any work is done.
"""

import argparse
import contextlib
import csv
import json
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO

from deniable.cli.files import writing
from deniable.cli.parser import Parser, one_of
from deniable.errors import DeniableError
from deniable.survey import descriptor_of, output_file

if TYPE_CHECKING:
    import altair as alt
    import pyarrow as pa

CHARTS = ("svg", "png", "html", "json")
_STANDARD_OUTPUT = 1  # its file descriptor

Binary = Callable[[argparse.Namespace], bool]

# The real standard output, while everything that is printed goes to standard error.
_printing: ContextVar[TextIO | None] = ContextVar("_printing", default=None)


def writes(parser: argparse.ArgumentParser, **outputs: Binary | bool) -> None:
    """Name the arguments that hold a command's outputs, and say of each whether it is binary, not for a terminal."""
    parser.set_defaults(outputs=outputs)


def add_force(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--force", action="store_true", help="replace a file that exists")


def add_chart(
    parser: Parser, what: str, *, group: "argparse._MutuallyExclusiveGroup | None" = None, **outputs: Binary | bool
) -> None:
    """`--chart`, `--chart-format` and `--force`; `outputs` are the command's others, as for `writes`."""
    (group or parser).add_argument(
        "--chart", metavar="FILE", help=f"{what}: .svg, .png, .html, .json (- is standard output)"
    )
    names = f"{', '.join(CHARTS)}, where the chart's name does not say"
    parser.option("--chart-format", "NAME", names, one_of(*CHARTS))
    add_force(parser)
    writes(parser, **outputs, chart=_is_png)


def put_chart(chart: "alt.LayerChart", args: argparse.Namespace) -> None:
    """Write the chart that the arguments ask for."""
    from deniable.charts import chart_bytes

    put(args.chart, chart_bytes(chart, _chart_kind(args)), args)


def put_result(
    args: argparse.Namespace,
    *,
    chart: Callable[[], Any],
    record: Callable[[], Any],
    text: Callable[[], None],
    rows: Callable[[], None] | None = None,
) -> None:
    """What a command found: the chart, if one was asked for, and then JSON, CSV or text for people."""
    if args.chart is not None:
        put_chart(chart(), args)
    if args.json:
        from deniable.decoders import finite_record

        print(json.dumps(finite_record(record()), indent=2, allow_nan=False))
    elif rows is not None and args.csv:
        rows()
    else:
        text()
        if args.chart is not None:
            print(f"\nwrote {told(args.chart)}")


def print_csv(found: "pa.Table") -> None:
    """A table as CSV, whose texts no spreadsheet runs."""
    from deniable.decoders import plain_cell

    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(found.column_names)
    for row in found.to_pylist():
        values = [plain_cell(value) if isinstance(value, str) else value for value in row.values()]
        writer.writerow([f"{value:.8g}" if isinstance(value, float) else value for value in values])


def _chart_kind(args: argparse.Namespace) -> str:
    """The format of the chart that the arguments ask for."""
    if args.chart_format is not None:
        return str(args.chart_format)
    from deniable.charts import chart_format

    try:
        return chart_format(args.chart)
    except DeniableError as problem:
        rule = str(problem).removeprefix("a chart ")
        raise DeniableError(f"--chart {rule}, or give --chart-format") from None


def _is_png(args: argparse.Namespace) -> bool:
    """Whether the chart is not for a terminal."""
    return _chart_kind(args) == "png"


@contextmanager
def prepared(args: argparse.Namespace) -> Iterator[None]:
    """A block that runs a command. Its outputs are checked first; what it prints is kept out of them."""
    outputs: dict[str, Binary | bool] = getattr(args, "outputs", {})
    printed = []
    for name, binary in outputs.items():
        path = getattr(args, name)
        if path is None:
            continue
        is_binary = binary(args) if callable(binary) else binary
        if _is_standard_output(path):
            printed.append(_flag(name))
            if is_binary and sys.stdout.isatty():
                raise DeniableError(
                    f"{_flag(name)} must not be a terminal for this format, got {path}; redirect it or name a file"
                )
        else:
            _check(path, force=args.force)
    if len(printed) > 1:
        raise DeniableError(f"{' and '.join(printed)} must not both be standard output; name a file for one of them")
    if not printed:
        yield
        return
    token = _printing.set(sys.stdout)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        _printing.reset(token)


def _flag(name: str) -> str:
    return {"output": "-o", "file": "FILE"}.get(name, f"--{name}")


def _is_standard_output(path: str) -> bool:
    return path == "-" or descriptor_of(path) == _STANDARD_OUTPUT


def _check(path: str, *, force: bool) -> None:
    """Refuse a path that cannot be written before any work is done."""
    with writing(path):
        try:
            mode = os.stat(path).st_mode
        except FileNotFoundError:
            parent = os.path.dirname(os.path.realpath(path))
            os.stat(parent)
            if not os.access(parent, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids):
                raise PermissionError(13, "Permission denied", path) from None
            return
    if stat.S_ISDIR(mode):
        raise DeniableError(f"{path} must be a file, got a folder; name a file in it")
    if stat.S_ISREG(mode) and descriptor_of(path) is None and not force:
        raise DeniableError(f"{path} exists already; name another file, or replace it with --force")


def target(path: str) -> str | BinaryIO:
    """What `survey.output_file` takes for a path: the path, or standard output as it was when the command began."""
    if not _is_standard_output(path):
        return path
    stream = _printing.get() or sys.stdout
    stream.flush()
    return stream.buffer


def put(path: str, data: bytes, args: argparse.Namespace) -> None:
    """Write one output of a command, as its arguments allow."""
    with writing(told(path)), output_file(target(path), replace=args.force) as file:
        file.write(data)


def told(path: str) -> str:
    """The name of an output, as messages use it."""
    return "standard output" if path == "-" else path


def folder(path: str) -> Path:
    """A folder for a command's own files, made if it is not there; files of the same names in it are replaced."""
    if _is_standard_output(path) or (os.path.exists(path) and not os.path.isdir(path)):
        raise DeniableError(f"-o must be a folder, got {told(path)}; several files are written into it")
    with writing(path):
        os.makedirs(path, exist_ok=True)
    return Path(path)
