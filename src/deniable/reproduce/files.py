"""The files of a run, as bytes and onto disk.

The same rows give the same bytes: no dates, no names of machines. A file is written beside its place and moved there,
so an interrupted run leaves whole files only.
"""

import csv
import io
import re
import struct
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from deniable.errors import DeniableError
from deniable.survey import write_atomically

__all__ = ["csv_bytes", "parquet_bytes", "picture", "put"]

_SCALE = 2


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
    pq.write_table(table, sink, compression="zstd")
    return bytes(sink.getvalue().to_pybytes())


def picture(chart: Any) -> tuple[str, bytes]:
    """A chart as SVG, and as PNG drawn from that SVG with twice the pixels."""
    import vl_convert

    svg = _renumbered(vl_convert.vegalite_to_svg(chart.to_dict()))
    return svg, _smaller(vl_convert.svg_to_png(svg, scale=_SCALE))


def _renumbered(svg: str) -> str:
    """The renderer counts its clips and gradients over all pictures; each picture starts at 1 here.

    >>> _renumbered('<g clip-path="url(#clip7)"/><clipPath id="clip7"/><clipPath id="clip9"/>')
    '<g clip-path="url(#part1)"/><clipPath id="part1"/><clipPath id="part2"/>'
    """
    names = {name: f"part{place}" for place, name in enumerate(re.findall(r'\bid="([^"]+)"', svg), 1)}
    svg = re.sub(r'\bid="([^"]+)"', lambda found: f'id="{names[found[1]]}"', svg)
    return re.sub(r"url\(#([^)]+)\)", lambda found: f"url(#{names[found[1]]})", svg)


def _smaller(png: bytes) -> bytes:
    """The same picture packed harder: the renderer favours speed, and heatmaps would be four times as large."""
    head, chunks, place = png[:8], [], 8
    while place < len(png):
        (size,) = struct.unpack(">I", png[place : place + 4])
        chunks.append((png[place + 4 : place + 8], png[place + 8 : place + 8 + size]))
        place += 12 + size
    pixels = zlib.decompress(b"".join(data for kind, data in chunks if kind == b"IDAT"))
    kept = [chunk for chunk in chunks if chunk[0] not in (b"IDAT", b"IEND")]
    packed = [*kept, (b"IDAT", zlib.compress(pixels, 9)), (b"IEND", b"")]
    whole = [
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in packed
    ]
    return head + b"".join(whole)
