"""Columns of numbers: the bin of each row, by the same comparisons as `Scale.bin`, on whole columns.

`tests/contracts/test_numbers.py` compares the two on doubles of all sizes. No message shows a number.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.errors import AlphabetError
from deniable.survey import Scale, Survey

Bins = npt.NDArray[np.intp]


class Unencodable(AlphabetError):
    """Some rows hold symbols that the survey cannot encode; `rows` says how many."""

    def __init__(self, rows: int, scale: Scale | None = None, *, is_open: bool = False) -> None:
        many = f"{rows} row{'s' * (rows != 1)}"
        if scale is None:
            # Only closed alphabets have a symbol for all others.
            step = (
                "filter them; survey.key says why" if is_open else "name a catch-all symbol with other= or filter them"
            )
            told = f"column must hold only symbols that the survey can encode, got {many} that it cannot; {step}"
        else:
            limits = f" from {scale.low} to {scale.high}" if scale.outside == "refuse" else ""
            told = (
                f"column must hold only finite numbers{limits}, got {many} without one; filter them, and read texts as "
                "numbers first"
            )
        super().__init__(told)
        self.rows = rows


def numeric(column: Any) -> npt.NDArray[np.float64] | None:
    """A column of numbers as doubles, each the nearest; None if it holds anything else or has missing rows."""
    if isinstance(column, np.ndarray):
        return column.astype(np.float64) if column.dtype.kind in "iuf" else None
    import pyarrow as pa

    kind = getattr(column, "type", None)
    if kind is None or not (pa.types.is_integer(kind) or pa.types.is_floating(kind)) or column.null_count:
        return None
    # Through Arrow's own integers: a cast to doubles would refuse those beyond 2**53, which are rounded instead.
    return np.asarray(column.to_numpy() if isinstance(column, pa.ChunkedArray) else column.to_numpy(False), np.float64)


def taken(scale: Scale, numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Which numbers the survey takes."""
    good = np.isfinite(numbers)
    if scale.outside == "refuse":
        good &= (numbers >= float(scale.low)) & (numbers <= float(scale.high))
    return good


def put_into_bins(scale: Scale, numbers: npt.NDArray[np.float64]) -> Bins:
    """The bin of each number; `Unencodable` if the survey does not take one of them."""
    good = taken(scale, numbers)
    if not good.all():
        raise Unencodable(int(good.size - good.sum()), scale)
    return np.asarray(np.searchsorted(np.asarray(scale.edges[1:-1]), numbers, side="right"))


def bins_of(survey: Survey, numbers: Any) -> Bins:
    """The bin of each of some numbers, which may be a list or an array.

    >>> import deniable as dn
    >>> bins_of(dn.number(0, 1, 1, bins=4), [0.1, 0.25, 7])
    array([0, 1, 3])
    """
    scale = survey.alphabet.bins
    if scale is None:
        raise AlphabetError(
            f"numbers must be answers to a survey of numbers, got {survey.title}; make one with dn.number"
        )
    found = numeric(np.asarray(numbers))
    if found is None or found.ndim != 1:
        raise AlphabetError("numbers must be a list or an array of numbers, got something else")
    return put_into_bins(scale, found)


class SpelledNumbers(Mapping[str, Any]):
    """What a text in a file stands for, where answers are numbers: the number that it spells, else the text itself.

    >>> [SpelledNumbers().get(text, text) for text in ("41", " 1.5e3 ", "0x10", "forty")]
    [41, 1500.0, '0x10', 'forty']
    """

    def __getitem__(self, text: str) -> Any:
        digits = text.strip() if isinstance(text, str) else ""
        if not digits or set(digits) - set("+-.0123456789eE"):
            raise KeyError(text)
        try:
            return int(digits) if digits.lstrip("+-").isdigit() else float(Decimal(digits))
        except (ValueError, ArithmeticError):
            raise KeyError(text) from None

    def __iter__(self) -> Any:
        return iter(())

    def __len__(self) -> int:
        return 1  # there is always something to look up
