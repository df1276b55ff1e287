"""Columns of text as columns of reports: whole numbers, and bits in hexadecimal."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from deniable.survey import Survey

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["converted"]


def converted(survey: Survey, table: "pa.Table", no_row: str, refuse: Callable[[str, int], None]) -> "pa.Table":
    """The rows that can be read, typed; the others go to `refuse`, with the reason.

    >>> import deniable as dn, pyarrow as pa
    >>> table = pa.table({"response": ["1", "one", None, ""], "_broken": [None, None, None, "{"]})
    >>> found = converted(dn.warner(epsilon=1), table, "no JSON object", lambda *why: print(*why))
    no JSON object 1
    response not a whole number 1
    >>> found["response"].to_pylist()
    [1, None]
    """
    broken = table["_broken"].is_valid()
    table = table.drop_columns("_broken")
    if count := broken.combine_chunks().true_count:
        refuse(no_row, count)
        import pyarrow.compute as pc

        table = table.filter(pc.invert(broken))
    for place, name in enumerate(table.schema.names):
        bits = name == "response" and not survey.mechanism.one_column
        read = _unhexed if bits else _numbers
        column = table[name].combine_chunks()
        values = read(column)
        if values is None:  # some row cannot be read: ask each
            good = _readable(column, read)
            refuse(f"{name} not hexadecimal" if bits else f"{name} not a whole number", len(good) - sum(good))
            table = table.filter(good)
            values = read(table[name].combine_chunks())
        table = table.set_column(place, name, values)
    return table


def _numbers(column: "pa.Array") -> "pa.Array | None":
    import pyarrow as pa

    try:
        return column.cast(pa.int64())
    except pa.ArrowInvalid:
        return None


def _unhexed(column: "pa.Array") -> "pa.Array | None":
    import pyarrow as pa

    try:
        return pa.array([None if value is None else bytes.fromhex(value) for value in column.to_pylist()], pa.binary())
    except ValueError:
        return None


def _readable(column: "pa.Array", read: "Callable[[pa.Array], pa.Array | None]") -> list[bool]:
    """Which rows can be read: halves are tried until what fails is one row."""
    if read(column) is not None:
        return [True] * len(column)
    if len(column) == 1:
        return [False]
    half = len(column) // 2
    return _readable(column[:half], read) + _readable(column[half:], read)
