"""Anybody's own channel: a matrix of probabilities, as integers that keep the promise exactly.

Other tables are made again from a few parameters (`Grouped`, `SensitiveDesign`); this one is stored in full.
"""

import math
import numbers
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar

from deniable.errors import SurveyError
from deniable.mechanisms.base import check_size
from deniable.mechanisms.channel import Channel, checked_entries, running
from deniable.mechanisms.odds import at_most_exp, epsilon_text, parse_epsilon
from deniable.noise import Entropy

ROUNDING = Fraction(1, 10**9)  # how far a row may be from one, and a ratio from e**epsilon: the error of decimal input
POINT = 192  # bits after the point of shares: floats down to 1e-41 are exact
MOST_MIXED = 28  # a matrix is moved towards its mean by at most 2**-28 to make room for rounding


@dataclass(frozen=True, slots=True, init=False)
class WeightTable(Channel):
    """Rows of integers that add up to 2**width each.

    Claim: Q(y|x) = rows[x][y] / 2**width, and Q(y|x) <= e**epsilon Q(y|x') for all x, x', y.
    Proof: tests/exact/test_tables.py::test_law_of_the_bytes_is_the_table

    Parameters
    ----------
    rows : sequence of sequences of int
        The weights of all columns, a row for each cell.
    epsilon : float, str or Fraction
        The privacy budget, in nats.
    width : int
        Bits of a random word; fewer than 64 for proofs by enumeration.

    Examples
    --------
    >>> m = WeightTable([[192, 64], [64, 192]], "1.1", width=8)
    >>> m.odds, m.row(1), m.edge(1, 1)
    (Fraction(3, 1), (64, 192), 64)
    """

    kind: ClassVar[str] = "table"
    cells: int
    epsilon: Fraction
    width: int
    # Equal tables have equal rows; hashing all of them at every look-up would cost more than a report.
    rows: tuple[tuple[int, ...], ...] = field(repr=False, hash=False)
    edges: tuple[tuple[int, ...], ...] = field(repr=False, compare=False)

    def __init__(self, rows: Iterable[Iterable[int]], epsilon: object, width: int = 64) -> None:
        put = object.__setattr__
        put(self, "rows", tuple(tuple(row) for row in rows))
        put(self, "cells", check_size("answers", len(self.rows), 2, 1 << 16))
        put(self, "epsilon", parse_epsilon(epsilon))
        put(self, "width", check_size("width", width, 1, 64))
        check_size("columns", len(self.rows[0]), 2, 1 << 16)
        checked_entries(self.cells, len(self.rows[0]))
        self.check_rows()
        put(self, "edges", tuple(map(running, self.rows)))

    def row(self, cell: int) -> Sequence[int]:
        return self.rows[cell]

    def edge(self, cell: int, column: int) -> int:
        return self.edges[cell][column]

    def randomize(self, cells: Sequence[int], entropy: Entropy) -> int:
        (truth,) = cells
        return bisect_right(self.edges[truth], entropy.word()) - 1

    def thresholds(self) -> dict[str, int]:
        return {}

    def settings(self) -> dict[str, object]:
        return {"rows": [[str(weight) for weight in row] for row in self.rows]}

    def title(self, *, own_cells: bool) -> str:
        return "channel"

    @property
    def words(self) -> str:
        return f"{self.columns} columns"


def rounded_table(matrix: Iterable[Iterable[object]], epsilon: object, names: Sequence[object] = ()) -> WeightTable:
    """The table of a matrix of probabilities, rounded so that the promise holds exactly.

    Parameters
    ----------
    matrix : iterable of iterables of numbers
        A row of probabilities for each answer; or of integers that add up to 2**64, which are taken as they are.
    epsilon : float, str or Fraction
        The privacy budget, in nats.
    names : sequence
        The answers, for messages; without them they are numbered from 0.

    Raises
    ------
    SurveyError
        If the matrix is no channel, or does not keep epsilon; the message names the row, or the two answers.

    Examples
    --------
    >>> rounded_table([[0.75, 0.25], [0.25, 0.75]], 1.2).odds
    Fraction(3, 1)
    >>> rounded_table([[0.75, 0.25], [0.25, 0.75]], 1, names=["no", "yes"])
    Traceback (most recent call last):
    ...
    deniable.errors.SurveyError: epsilon must be at least 1.0987 for this matrix, got 1: column 0 is 3 times as likely \
under answer 'no' as under 'yes'; move the two rows closer together, or use a larger epsilon
    """
    exact = parse_epsilon(epsilon)
    rows = fixed_rows(matrix, names)
    _check_promise(rows, exact, names)
    means = [sum(column) // len(rows) for column in zip(*rows, strict=True)]
    # Towards the mean of its column every ratio becomes smaller, which makes room for what rounding adds.
    for bits in (None, *range(60, MOST_MIXED - 1, -4)):
        moved = (
            rows if bits is None else [[p + (mean - p >> bits) for p, mean in zip(r, means, strict=True)] for r in rows]
        )
        try:
            return WeightTable([whole_weights(row) for row in moved], exact)
        except SurveyError:
            continue
    raise SurveyError(
        f"epsilon must be one that 64-bit weights can keep, got {epsilon_text(exact)}: the smallest probability of "
        "this matrix is too small to be rounded; use a larger epsilon, or no probability below about 1e-11"
    )


def fixed_rows(matrix: Iterable[Iterable[object]], names: Sequence[object] = ()) -> list[list[int]]:
    """A matrix of probabilities in fixed point, checked: rows of one length that add up to one.

    >>> [[value / 2**192 for value in row] for row in fixed_rows([[0.75, 0.25], [0, 1]])]
    [[0.75, 0.25], [0.0, 1.0]]
    """
    rows = [_fixed(row, _named(names, x)) for x, row in enumerate(_listed(matrix))]
    check_size("answers", len(rows), 2, 1 << 16)
    check_size("columns", len(rows[0]), 2, 1 << 16)
    checked_entries(len(rows), len(rows[0]))
    if len({len(row) for row in rows}) != 1:
        found = sorted({len(row) for row in rows})
        raise SurveyError(f"rows of a matrix must have one length, got {' and '.join(map(str, found[:2]))}")
    return rows


def _listed(matrix: object) -> list[list[Any]]:
    try:
        return [list(row) for row in matrix]  # type: ignore[attr-defined]
    except TypeError:
        raise SurveyError(
            f"matrix must be rows of probabilities, one row an answer, got {type(matrix).__name__}"
        ) from None


def _named(names: Sequence[object], x: int) -> str:
    return repr(names[x]) if x < len(names) else str(x)


def _fixed(row: Sequence[Any], name: str) -> list[int]:
    """A row as shares of its sum, in fixed point."""
    for value in row:
        if isinstance(value, bool) or not isinstance(value, (numbers.Real, Decimal)):
            raise SurveyError(f"probabilities of answer {name} must be numbers, got {type(value).__name__}")
        is_finite = value.is_finite() if isinstance(value, Decimal) else math.isfinite(value)
        if not is_finite or value < 0:
            raise SurveyError(f"probabilities of answer {name} must be from 0 to 1, got {value:g}")
    parts = [value if isinstance(value, (numbers.Rational, Decimal)) else float(value) for value in row]
    exact = [_scaled(*value.as_integer_ratio()) for value in parts]  # type: ignore[union-attr]
    total = sum(exact)
    if total != 1 << POINT + 64 and abs(total - (1 << POINT)) > int(ROUNDING * (1 << POINT)):
        raise SurveyError(
            f"probabilities of answer {name} must add up to 1, got {total / (1 << POINT):.9g}; divide them by it"
        )
    return [(value << POINT) // total for value in exact]


def _scaled(above: int, below: int) -> int:
    """A number in fixed point, rounded up, so that what is possible stays so."""
    return -(-(above << POINT) // below)


def _check_promise(rows: list[list[int]], epsilon: Fraction, names: Sequence[object]) -> None:
    """Refuse a matrix that exceeds epsilon by more than decimal input explains, with the pair that does so most."""
    worst: tuple[Fraction | float, int, int, int] = (Fraction(1), 0, 0, 0)
    for y, column in enumerate(zip(*rows, strict=True)):
        a, b = column.index(max(column)), column.index(min(column))
        ratio = Fraction(column[a], column[b]) if column[b] else math.inf if column[a] else Fraction(1)
        worst = max(worst, (ratio, -y, a, b))  # of equal ones the first column
    ratio, y, a, b = worst
    pair = f"column {-y} is {{}} under answer {_named(names, a)} {{}} under {_named(names, b)}"
    if isinstance(ratio, float):
        raise SurveyError(
            f"epsilon must hold between every two answers, got {epsilon_text(epsilon)}: "
            f"{pair.format('possible', 'and impossible')}; give every answer a little of every column, or use "
            "dn.sensitive or dn.blocks where that is meant"
        )
    if not at_most_exp(ratio * (1 - ROUNDING), epsilon):
        needed = math.ceil(math.log(ratio) * 1e4) / 1e4
        raise SurveyError(
            f"epsilon must be at least {needed:g} for this matrix, got {epsilon_text(epsilon)}: "
            f"{pair.format(f'{float(ratio):.4g} times as likely', 'as')}; move the two rows closer together, or use a "
            "larger epsilon"
        )


def whole_weights(row: Sequence[int]) -> list[int]:
    """Integers in these shares that add up to 2**64: rounded down, then one more where the most was cut off.

    >>> whole_weights([3 << 190, 1 << 190]) == [3 << 62, 1 << 62]
    True
    """
    weights = [share >> POINT - 64 for share in row]
    order = sorted(range(len(row)), key=lambda y: (weights[y] << POINT - 64) - row[y])
    missing = (1 << 64) - sum(weights)
    for y in order[:missing]:
        weights[y] += 1
    weights[order[0]] += max(missing - len(row), 0)
    return weights
