"""`Figure`: one number of the comparison, and its row in `docs/results/benchmarks-peers.csv`."""

import csv
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path

__all__ = ["Cell", "Figure", "read", "write"]


@dataclass(frozen=True, slots=True)
class Cell:
    """What was measured: a table of the page, a mechanism, and sizes; 0 stands for "does not matter here"."""

    table: str
    mechanism: str = ""
    symbols: int = 0
    epsilon: float = 0.0
    n: int = 0


@dataclass(frozen=True, slots=True)
class Figure:
    """What `who` needed in `cell`, less being better everywhere; no value where a note says why there is none."""

    cell: Cell
    who: str
    value: float | None
    error: float = 0.0
    note: str = ""


_HEADS = [field.name for field in fields(Cell)] + ["who", "value", "error", "note"]


def write(path: Path, figures: Iterable[Figure]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(_HEADS)
        for f in figures:
            c = f.cell
            value = "" if f.value is None else f"{f.value:.6g}"
            rows.writerow(
                [c.table, c.mechanism, c.symbols, f"{c.epsilon:g}", c.n, f.who, value, f"{f.error:.3g}", f.note]
            )


def read(path: Path) -> list[Figure]:
    with path.open(newline="", encoding="utf-8") as file:
        return [
            Figure(
                Cell(row["table"], row["mechanism"], int(row["symbols"]), float(row["epsilon"]), int(row["n"])),
                row["who"],
                float(row["value"]) if row["value"] else None,
                float(row["error"]),
                row["note"],
            )
            for row in csv.DictReader(file)
        ]
