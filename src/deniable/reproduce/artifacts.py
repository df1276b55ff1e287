"""The files of a run, as bytes and onto disk.

The same rows give the same bytes: no dates, no names of machines. A file is written beside its place and moved there,
so an interrupted run leaves whole files only.
"""

import csv
import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from deniable.errors import DeniableError
from deniable.survey import write_atomically

# Attributes that hold coordinates: they are rounded to hundredths of a pixel, which halves their digits.
_PLACES = re.compile(r'\b(d|transform|x|y|x1|x2|y1|y2|width|height)="([^"]*)"')
_LONG = re.compile(r"-?\d+\.\d{3,}")


def put(path: Path, data: bytes) -> Path:
    """Write a file whole or not at all, with the folders it needs; what the system refuses becomes a sentence."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, data)
    except OSError as problem:
        reason = (problem.strerror or str(problem)).lower()
        raise DeniableError(f"{path} cannot be written: {reason}; name another folder") from None
    return path


def _columns(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def csv_bytes(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """Comma-separated values with a header; nothing where there is no value, and every digit of a number.

    >>> csv_bytes([{"k": 2, "loss": 0.1}, {"k": 4, "loss": None}])
    b'k,loss\\n2,0.1\\n4,\\n'
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, _columns(rows), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def parquet_bytes(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """The same table with its types."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    table = pa.table({name: [row.get(name) for row in rows] for name in _columns(rows)})
    floats = {field.name: "BYTE_STREAM_SPLIT" for field in table.schema if pa.types.is_floating(field.type)}
    others = [name for name in table.column_names if name not in floats]
    pq.write_table(table, sink, compression="zstd", compression_level=19, use_dictionary=others, column_encoding=floats)
    return bytes(sink.getvalue().to_pybytes())


def picture(chart: Any) -> str:
    """A chart as SVG, whose marks tell their numbers when the pointer rests on them."""
    import vl_convert

    svg = _renumbered(vl_convert.vegalite_to_svg(chart.to_dict(validate=False)))
    symbol = r'<path aria-label="([^"]*)" role="graphics-symbol" aria-roledescription="[\w ]+"([^>]*?)/>'
    svg = re.sub(symbol, r"<path\2><title>\1</title></path>", svg)
    return _shorter(re.sub(r' (?:aria-\w+|role|class)="[^"]*"', "", svg))


def _shorter(svg: str) -> str:
    """The same picture, shorter: without invisible parts and repeated attributes, and with rounded coordinates.

    >>> _shorter('<path d="M1.23456,2.5" transform="translate(10.000001,3)"><title>loss: 0.123456</title></path>')
    '<path d="M1.23,2.5" transform="translate(10,3)"><title>loss: 0.123456</title></path>'
    """

    def rounded(number: re.Match[str]) -> str:
        return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")

    svg = re.sub(r'<path d=""[^>]*/>| opacity="1"', "", svg)
    svg = re.sub(r"rgb\((\d+), (\d+), (\d+)\)", lambda c: "#" + bytes(map(int, c.groups())).hex(), svg)
    fonts = set(re.findall(r' font-family="[^"]*"', svg))
    if len(fonts) == 1:
        (font,) = fonts
        svg = svg.replace(font, "").replace("<g ", f"<g{font} ", 1)
    return _PLACES.sub(lambda found: f'{found[1]}="{_LONG.sub(rounded, found[2])}"', svg)


def _renumbered(svg: str) -> str:
    """The renderer counts its clips and gradients over all pictures; each picture starts at 1 here.

    >>> _renumbered('<g clip-path="url(#clip7)"/><clipPath id="clip7"/><clipPath id="clip9"/>')
    '<g clip-path="url(#part1)"/><clipPath id="part1"/><clipPath id="part2"/>'
    """
    names = {name: f"part{place}" for place, name in enumerate(re.findall(r'\bid="([^"]+)"', svg), 1)}
    svg = re.sub(r'\bid="([^"]+)"', lambda found: f'id="{names[found[1]]}"', svg)
    return re.sub(r"url\(#([^)]+)\)", lambda found: f"url(#{names[found[1]]})", svg)
