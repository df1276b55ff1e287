"""Cross-tables: two answers of the same people, or one answer in groups that are known in the clear.

The table is an unbiased estimate of each cell with the covariance of all of them; conditional shares, differences and
ratios, and the test of independence follow from these two. What people see is the constrained estimate beside them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from deniable.errors import DecodeError, UnknownSymbol
from deniable.relations.independence import Independence
from deniable.relations.ratios import difference_limits, fieller, ratio_limits
from deniable.survey import data_frame, html_table

if TYPE_CHECKING:
    import altair as alt
    import pyarrow as pa

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Side:
    """The answers along one side of a cross-table.

    Parameters
    ----------
    name : str
        The question, or what the groups are.
    symbols : tuple
        The answers, or the names of the groups.
    """

    name: str
    symbols: tuple[Any, ...]

    def index(self, symbol: object) -> int:
        """The place of an answer.

        Parameters
        ----------
        symbol : object
            The answer.

        Raises
        ------
        UnknownSymbol
            If it is not one of them.
        """
        for place, one in enumerate(self.symbols):
            if type(one) is type(symbol) and one == symbol:
                return place
        raise UnknownSymbol(f"{self.name} must be one of the {len(self.symbols)} that the table has")


@dataclass(frozen=True, eq=False, repr=False)
class Crosstab:
    """A cross-table with error bars. Made by `crosstab`.

    Parameters
    ----------
    rows, columns : Side
        What its rows and columns are.
    raw : ndarray
        The unbiased estimate of each cell's share of all people.
    probabilities : ndarray
        The same under the decoder's constraint, for people to look at.
    covariance : ndarray
        Of the cells of `raw`, row after row.
    n : int
        Reports.
    cell_limits : callable
        Limits of the cells for a level.
    row_shares : ndarray, optional
        Unbiased estimates of the shares within a row, where rows are groups: how large those are is known.
    row_limits : callable, optional
        Limits of the shares within a row for a level; without them they are Fieller's, from the covariance.
    independence : Independence
        The test that rows and columns have nothing to do with each other.

    Examples
    --------
    >>> import deniable as dn
    >>> survey = dn.krr(["no", "yes"], epsilon=2)
    >>> table = dn.crosstab({"women": dn.Tally(survey, [[700, 300]]), "men": dn.Tally(survey, [[500, 500]])})
    >>> table.conditional().round(2)
    array([[0.76, 0.24],
           [0.5 , 0.5 ]])
    >>> table.difference("men", "women", "yes").round(2)
    array([0.26, 0.21, 0.32])
    >>> print(table.independence)
    The answers are related: chi-square 83.3 with 1 degree of freedom, p < 0.0001.
    """

    rows: Side
    columns: Side
    raw: Floats
    probabilities: Floats
    covariance: Floats
    n: int
    cell_limits: Callable[[float], Floats]
    row_shares: Floats | None
    row_limits: Callable[[float], Floats] | None
    independence: Independence

    @cached_property
    def standard_errors(self) -> Floats:
        """One standard error a cell, of `raw`."""
        return np.sqrt(np.maximum(np.diagonal(self.covariance), 0.0)).reshape(self.raw.shape)

    def intervals(self, level: float = 0.95) -> Floats:
        """Confidence intervals of the cells, each a share of all people; shape (rows, columns, 2).

        Parameters
        ----------
        level : float
            The confidence level, between 0 and 1.
        """
        _quantile(level)
        return self.cell_limits(level).reshape(*self.raw.shape, 2)

    def conditional(self, *, raw: bool = False) -> Floats:
        """The share of each column within its row. A row without any share has NaN.

        Parameters
        ----------
        raw : bool
            Whether to divide unbiased estimates: their errors are those of the intervals.
        """
        if raw and self.row_shares is not None:
            return self.row_shares
        table = self.raw if raw else self.probabilities
        whole = table.sum(axis=1, keepdims=True)
        return np.asarray(np.divide(table, whole, out=np.full(table.shape, np.nan), where=whole > 0))

    def conditional_intervals(self, level: float = 0.95) -> Floats:
        """Confidence intervals of the shares within a row; 0 to 1 where hardly anything is known of a row.

        Of groups Jeffreys' limits, of related questions score limits (Fieller's for mechanisms that do not treat all
        cells alike, and where devices repeat their noise).

        Parameters
        ----------
        level : float
            The confidence level, between 0 and 1.
        """
        return np.clip(self._within(level), 0.0, 1.0)

    def _within(self, level: float) -> Floats:
        """The same, also below 0 and above 1: what limits of differences are made from."""
        z = _quantile(level)
        if self.row_limits is not None:
            return self.row_limits(level)
        return fieller(self.raw, np.broadcast_to(self._whole[:, None], self.raw.shape), self._moments, z)

    @cached_property
    def _moments(self) -> tuple[Floats, Floats, Floats]:
        """Of each cell: its variance, its covariance with its row, and the variance of the row."""
        r, c = self.raw.shape
        four = self.covariance.reshape(r, c, r, c)
        same = np.einsum("ijik->ijk", four)
        row = np.broadcast_to(same.sum(axis=(1, 2))[:, None], (r, c))
        return np.einsum("ijj->ij", same).copy(), same.sum(axis=2), row

    @cached_property
    def _row_errors(self) -> Floats:
        """The covariance of the shares within rows, by first-order expansion; shape (rows, columns, rows, columns)."""
        r, c = self.raw.shape
        share, whole = self._inner, np.where(self._whole > 0, self._whole, np.inf)
        step = (np.eye(r)[:, None, :, None] * (np.eye(c)[None, :, None, :] - share[:, :, None, None])) / whole[
            :, None, None, None
        ]
        flat = step.reshape(r * c, r * c)
        return np.asarray((flat @ self.covariance @ flat.T).reshape(r, c, r, c))

    @cached_property
    def _whole(self) -> Floats:
        return np.asarray(self.raw.sum(axis=1))

    @cached_property
    def _inner(self) -> Floats:
        """Shares within rows, from unbiased estimates."""
        return np.nan_to_num(self.conditional(raw=True))

    def difference(self, first: object, second: object, column: object, *, level: float = 0.95) -> Floats:
        """The share of a column within one row less that within another: estimate, lower and upper limit.

        Parameters
        ----------
        first, second : object
            Two rows.
        column : object
            The column.
        level : float
            The confidence level of the limits.
        """
        return self._compared(first, second, column, level, difference_limits, np.subtract)

    def ratio(self, first: object, second: object, column: object, *, level: float = 0.95) -> Floats:
        """How many times as large the share of a column is within one row as within another, with limits.

        The upper limit is infinite where the second share may be zero.

        Parameters
        ----------
        first, second : object
            Two rows.
        column : object
            The column.
        level : float
            The confidence level of the limits.
        """
        return self._compared(first, second, column, level, ratio_limits, _ratio)

    def _compared(
        self,
        first: object,
        second: object,
        column: object,
        level: float,
        limits: Callable[[Floats, Floats, tuple[Floats, Floats], Floats], Floats],
        value: Callable[[Any, Any], Any],
    ) -> Floats:
        i, k, j = self.rows.index(first), self.rows.index(second), self.columns.index(column)
        if i == k:
            raise DecodeError("rows must be two different ones to be compared, got one twice")
        together = 0.0  # groups are different people
        if self.row_shares is None:
            own = np.sqrt(self._row_errors[i, j, i, j] * self._row_errors[k, j, k, j])
            together = self._row_errors[i, j, k, j] / own if own > 0 else 0.0
        bounds, share = self._within(level), self._inner
        found = limits(share[i, j], share[k, j], (bounds[i, j], bounds[k, j]), np.asarray(together))
        return np.concatenate([[float(value(share[i, j], share[k, j]))], found])

    @cached_property
    def _deviations(self) -> tuple[Floats, Floats]:
        """How far each cell is from the product of its row and column, with the standard error of that."""
        rows, columns = self.raw.sum(axis=1), self.raw.sum(axis=0)
        away, step = deviations(self.raw, rows, columns)
        return away, np.sqrt(np.maximum(np.diagonal(step @ self.covariance @ step.T), 0.0)).reshape(self.raw.shape)

    def certain(self, level: float = 0.95) -> Floats:
        """1 where a cell surely has more people than independence would give it, -1 where fewer, 0 where unknown.

        All marks together are right with probability `level` (Bonferroni).

        Parameters
        ----------
        level : float
            The probability that no mark is wrong.
        """
        away, errors = self._deviations
        z = _quantile(1 - (1 - level) / self.raw.size)
        return np.where(np.abs(away) > z * errors, np.sign(away), 0.0)

    def to_arrow(self, level: float = 0.95) -> "pa.Table":
        """An Arrow table with a row for each cell.

        Parameters
        ----------
        level : float
            The confidence level of the limits.
        """
        import pyarrow as pa

        low, high = np.moveaxis(self.intervals(level), -1, 0)
        least, most = np.moveaxis(self.conditional_intervals(level), -1, 0)
        names = [(str(row), str(column)) for row in self.rows.symbols for column in self.columns.symbols]
        return pa.table(
            {
                "row": [row for row, _ in names],
                "column": [column for _, column in names],
                "probability": self.probabilities.ravel(),
                "raw": self.raw.ravel(),
                "standard_error": self.standard_errors.ravel(),
                "low": low.ravel(),
                "high": high.ravel(),
                "within_row": self.conditional().ravel(),
                "within_row_low": least.ravel(),
                "within_row_high": most.ravel(),
                "certain": self.certain(level).astype(np.int8).ravel(),
            }
        )

    def to_json(self, level: float = 0.95) -> dict[str, Any]:
        """The table as a JSON object; None stands for what is infinite or not known.

        Parameters
        ----------
        level : float
            The confidence level of the limits, and the probability that no mark is wrong.
        """
        table = self.to_arrow(level).to_pydict()
        table |= {
            "row": [row for row in self.rows.symbols for _ in self.columns.symbols],
            "column": [column for _ in self.rows.symbols for column in self.columns.symbols],
        }
        test = self.independence
        return {
            "rows": {"name": self.rows.name, "symbols": list(self.rows.symbols)},
            "columns": {"name": self.columns.name, "symbols": list(self.columns.symbols)},
            "n": self.n,
            "level": level,
            "cells": [
                dict(zip(table, (_finite(value) for value in cell), strict=True))
                for cell in zip(*table.values(), strict=True)
            ],
            "independence": {
                "statistic": _finite(test.statistic),
                "degrees_of_freedom": test.freedom,
                "p_value": _finite(test.pvalue),
                "why_not": test.why_not,
            },
        }

    def to_pandas(self, level: float = 0.95) -> Any:
        """The table of `to_arrow` as a pandas DataFrame.

        Parameters
        ----------
        level : float
            The confidence level of the limits.
        """
        return data_frame(self.to_arrow(level))

    def chart(self, *, level: float = 0.95) -> "alt.LayerChart":
        """A heat map of the shares within rows; cells that are surely off independence are coloured. Needs `charts`.

        Parameters
        ----------
        level : float
            The probability that no colour is wrong.
        """
        from deniable.charts import crosstab_chart

        names = [str(row) for row in self.rows.symbols], [str(column) for column in self.columns.symbols]
        titles = self.rows.name, self.columns.name
        return crosstab_chart(names, titles, self.conditional(), self.certain(level), note=str(self.independence))

    plot = chart  # the name that other libraries use

    def shown(self, level: float = 0.95) -> list[tuple[str, ...]]:
        """Rows for people: the name of the row, and each share within it with its interval.

        Parameters
        ----------
        level : float
            The confidence level of the intervals.
        """
        shares, limits, marks = self.conditional(), self.conditional_intervals(level), self.certain(level)
        found = []
        for row, values, bounds, signs in zip(self.rows.symbols, shares, limits, marks, strict=True):
            told = zip(values, bounds, signs, strict=True)
            found.append((str(row), *(_cell(value, bound, sign) for value, bound, sign in told)))
        return found

    def __str__(self) -> str:
        """A line for each row: the share of each column within it, with its 95 % interval."""
        names = [str(column) for column in self.columns.symbols]
        lines = [
            f"{row}: " + ", ".join(f"{name} {cell}" for name, cell in zip(names, cells, strict=True))
            for row, *cells in self.shown()
        ]
        return "\n".join([*lines, str(self.independence)])

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        head = [f"{self.rows.name} \\ {self.columns.name}", *(str(column) for column in self.columns.symbols)]
        note = f"{self.n:,} reports; shares within rows, 95 % intervals. + and - : surely more or fewer than by chance."
        return html_table("Cross-table", head, self.shown(), note=f"{note} {self.independence}")

    def __repr__(self) -> str:
        return f"<Crosstab of {self.rows.name} by {self.columns.name}: {self.raw.shape[0]} x {self.raw.shape[1]}>"


def deviations(table: Floats, rows: Floats, columns: Floats) -> tuple[Floats, Floats]:
    """Cells less the products of their rows and columns, and the derivatives by all cells.

    Parameters
    ----------
    table : ndarray
        Shares of all people.
    rows, columns : ndarray
        Their sums.
    """
    r, c = table.shape
    step = np.eye(r * c).reshape(r, c, r, c)
    step = step - np.eye(r)[:, None, :, None] * columns[None, :, None, None]
    step = step - rows[:, None, None, None] * np.eye(c)[None, :, None, :]
    return table - np.outer(rows, columns), step.reshape(r * c, r * c)


def as_groups(given: Mapping[Any, object]) -> tuple[Sequence[Any], Sequence[object]]:
    """Names and values of groups.

    Parameters
    ----------
    given : mapping
        By the name of the group.

    Raises
    ------
    DecodeError
        If there are fewer than two.
    """
    if len(given) < 2:
        raise DecodeError(f"groups must be at least two, got {len(given)}; give a tally for each group")
    return list(given), list(given.values())


def _quantile(level: float) -> float:
    from scipy.special import ndtri

    if not 0 < level < 1:
        raise DecodeError(f"level must be between 0 and 1, got {level}")
    return float(-ndtri((1 - level) / 2))


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _ratio(first: float, second: float) -> float:
    return max(first, 0.0) / second if second > 0 else float("nan" if first <= 0 else "inf")


def _cell(value: float, limits: Floats, sign: float) -> str:
    if not np.isfinite(value):
        return "not known"
    mark = {1.0: " +", -1.0: " -"}.get(float(sign), "")
    return f"{100 * value:.1f} % ({100 * max(limits[0], 0.0):.1f} to {100 * min(limits[1], 1.0):.1f} %){mark}"
