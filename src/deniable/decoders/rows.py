"""Estimates and differences as rows of plain values: the JSON, CSV and Arrow of the command line and the collector.

Both use this module, so their files agree. Not to be confused with `Estimate.to_arrow`, a table for Python users. In
JSON and CSV infinite (not determined) and unknown numbers are null or empty; in Arrow only unknown ones. `raw` is the
unbiased estimate and `raw_low` to `raw_high` its interval. They may lie outside [0, 1]; only tables and charts for
people cut them there.
"""

import csv
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from typing import IO, TYPE_CHECKING, Any, ClassVar

import numpy as np

from deniable.decoders.comparison import Difference
from deniable.decoders.diagnostics import Diagnostics
from deniable.decoders.estimate import Estimate
from deniable.decoders.intervals import Group
from deniable.decoders.limits import check_level
from deniable.decoders.summary import density_of, figures_of
from deniable.errors import DecodeError
from deniable.survey import Symbol, symbol_to_json

if TYPE_CHECKING:
    import pyarrow as pa


UNLISTED = "(unlisted)"  # in the symbol column of CSV: the row of the unallocated mass
# What spreadsheets read as the beginning of a formula (OWASP, CSV injection), and the mark that keeps them from it.
_FORMULAS = ("=", "+", "-", "@", "\t", "\r", "'")
# In CSV a range says that it ends before this hour; the parameters and JSON call it `to`.
_EXCLUSIVE = {"to": "to_exclusive", "against_to": "against_to_exclusive"}


def plain_cell(value: object) -> object:
    """A value as a cell of CSV that no spreadsheet runs: an apostrophe before a text that begins like a formula.

    A text that begins with an apostrophe gets one more, so the first apostrophe of a cell was always put there, and
    taking it off gives the text. Numbers are left alone.

    >>> plain_cell("=1+1"), plain_cell("'tis"), plain_cell("yes"), plain_cell(-5)
    ("'=1+1", "''tis", 'yes', -5)
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULAS) else value


def finite(value: float) -> float | None:
    """The value, or None where there is none: JSON and CSV have no infinity.

    >>> finite(0.5), finite(math.inf)
    (0.5, None)
    """
    return value if math.isfinite(value) else None


def finite_record(value: Any) -> Any:
    """The same lists and objects with None for every number that JSON does not have.

    >>> finite_record({"low": 0.1, "limits": [0.5, math.inf]})
    {'low': 0.1, 'limits': [0.5, None]}
    """
    if isinstance(value, float):
        return finite(value)
    if isinstance(value, dict):
        return {name: finite_record(inner) for name, inner in value.items()}
    return [finite_record(inner) for inner in value] if isinstance(value, (list, tuple)) else value


class ResultRows(ABC):
    """Symbols in the order they are shown, each with its numbers and a mark; last, the unallocated mass."""

    FIELDS: ClassVar[tuple[str, ...]]
    MARK: ClassVar[str]
    KEY: ClassVar[str]  # what JSON calls the rows

    def __init__(self, symbols: tuple[Symbol, ...], names: list[Symbol], order: list[int]) -> None:
        self.symbols, self.names, self.order = symbols, names, order
        self.numbers: dict[int, list[float]] = {}  # by place in `symbols`, of those that are shown
        self.marks: list[bool | None] = []
        self.rest: list[float] | None = None
        self.in_an_order = False  # whether the order of the answers has a meaning: then people read them in it

    def in_own_order(self) -> "ResultRows":
        """These rows in the order of the survey or of the candidates, not by size."""
        self.order = sorted(self.order)
        return self

    @abstractmethod
    def head(self) -> dict[str, Any]:
        """What holds for all rows."""

    @property
    @abstractmethod
    def rest_name(self) -> str:
        """What tables and charts call the unallocated mass."""

    @abstractmethod
    def context(self) -> dict[str, Any]:
        """Columns of CSV that describe the survey, the same in every row, so that a file describes itself."""

    def more(self) -> dict[str, Any]:
        """What JSON says after the rows."""
        return {}

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON values."""
        rows = [
            {"symbol": symbol_to_json(self.symbols[i]), **self._named(self.numbers[i]), self.MARK: self.marks[i]}
            for i in self.order
        ]
        rest = None if self.rest is None else self._named(self.rest)
        return {**self.head(), self.KEY: rows, "unallocated": rest, **self.more()}

    def write_csv(self, file: IO[str], about: Mapping[str, Any] | None = None) -> None:
        """The same numbers as CSV; bytes are hexadecimal, text that begins like a formula is escaped (`plain_cell`).

        `listed` is false in the row of the unallocated mass, whose symbol is "(unlisted)". The question, the
        number of reports, epsilon, the level and `about` (the dates) are columns, the same in every row: lines of
        comments before the header would have to be taken out by hand in spreadsheets and in pandas.
        """
        told = {_EXCLUSIVE.get(name, name): value for name, value in (about or {}).items()}
        context = {name: plain_cell(value) for name, value in {**self.context(), **told}.items()}
        write = _writer(file)
        write(["symbol", *self.FIELDS, self.MARK, "listed", *context])
        for i in self.order:
            symbol = self.symbols[i]
            name = symbol.hex() if isinstance(symbol, bytes) else plain_cell(symbol)
            write([name, *map(finite, self.numbers[i]), self.marks[i], True, *context.values()])
        if self.rest is not None:
            write([UNLISTED, *map(finite, self.rest), None, False, *context.values()])

    def to_arrow(self) -> "pa.Table":
        """The same as an Arrow table; everything that JSON has besides the rows is in the metadata `deniable`."""
        import pyarrow as pa

        rows = list(self._arrow_rows())
        columns: dict[str, Any] = {"symbol": [row[0] for row in rows]}
        for place, name in enumerate(self.FIELDS, start=1):
            columns[name] = pa.array([row[place] for row in rows], pa.float64())
        columns[self.MARK] = pa.array([row[-1] for row in rows], pa.bool_())
        about = {name: value for name, value in self.to_json().items() if name != self.KEY}
        return pa.table(columns).replace_schema_metadata({"deniable": json.dumps(about, allow_nan=False)})

    def _arrow_rows(self) -> Iterator[list[Any]]:
        for i in self.order:
            yield [self.names[i], *map(_known, self.numbers[i]), self.marks[i]]
        if self.rest is not None:
            yield [None, *map(_known, self.rest), None]

    def _named(self, numbers: list[float]) -> dict[str, float | None]:
        return dict(zip(self.FIELDS, map(finite, numbers), strict=True))


def _writer(file: IO[str]) -> Callable[[list[Any]], object]:
    """A function that writes one row of CSV; it quotes rows with a carriage return, which `csv` does not."""
    plain, quoted = (csv.writer(file, lineterminator="\n", quoting=how) for how in (csv.QUOTE_MINIMAL, csv.QUOTE_ALL))
    return lambda row: (quoted if any("\r" in str(cell) for cell in row) else plain).writerow(row)


def _figure(*values: Any) -> dict[str, Any]:
    """A figure and its interval; quantiles of answers in an order are symbols."""
    plain = [finite(value) if isinstance(value, float) else symbol_to_json(value) for value in values]
    return dict(zip(("value", "low", "high"), plain, strict=True))


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


class EstimateRows(ResultRows):
    """An estimate with its error bars: the `top` symbols, largest first (all with None).

    Error bars are NaN, and `problem` says why, where there are too many candidates for them, or where they would take
    minutes and the caller is not `patient`. They are infinite where the reports do not determine a symbol.

    >>> import deniable as dn
    >>> rows = EstimateRows(dn.decode(dn.Tally(dn.krr(symbols=["no", "yes"], epsilon=2), [[100, 400]])))
    >>> rows.to_json()["estimates"][0]["symbol"], rows.to_json()["intervals"], rows.to_json()["unallocated"]
    ('yes', 'exact', None)
    """

    FIELDS = ("probability", "raw", "standard_error", "raw_low", "raw_high")
    MARK = "significant"
    KEY = "estimates"

    def __init__(
        self,
        estimate: Estimate,
        *,
        level: float = 0.95,
        simultaneous: bool = False,
        top: int | None = None,
        patient: bool = True,
    ) -> None:
        check_level(level)
        order = np.argsort(-estimate.probabilities, kind="stable")[:top].tolist()
        super().__init__(estimate.symbols, estimate.names, order)
        self.in_an_order = estimate.tally.survey.encoding.is_ordered
        self.estimate, self.level, self.simultaneous = estimate, level, simultaneous
        size = len(self.symbols)
        self.problem: str | None = None
        self.diagnostics: Diagnostics | None = None
        self.groups: tuple[Group, ...] = ()
        errors, bounds = np.full(size, math.nan), np.full((size, 2), math.nan)
        self.marks = [None] * size
        self.rest = None if estimate.rest is None else [*estimate.rest, math.nan, math.nan, math.nan]
        try:
            if estimate.takes_minutes and not patient:
                raise DecodeError(
                    f"error bars must not take minutes here, got {size} candidates; decode the tally with the command "
                    "line, or name fewer candidates"
                ).because("many")
            errors = estimate.standard_errors
            bounds = estimate.intervals(level, simultaneous=simultaneous)
            self.marks = estimate.significant(level).tolist()
            self.diagnostics, self.groups = estimate.diagnostics, estimate.groups
            if rest := estimate.unallocated:
                self.rest = [rest.value, rest.raw, rest.standard_error, *rest.interval(level)]
        except DecodeError as problem:
            self.problem = str(problem)
        columns = np.column_stack([estimate.probabilities, estimate.raw, errors, bounds])
        self.numbers = dict(zip(order, columns[order].tolist(), strict=True))

    @property
    def rest_name(self) -> str:
        return self.estimate.rest_name

    def head(self) -> dict[str, Any]:
        estimate, survey = self.estimate, self.estimate.tally.survey
        return {
            "survey": survey.digest,
            "name": survey.name,
            "mechanism": survey.title,
            "epsilon_spent": survey.epsilon_spent,
            "n": estimate.n,
            "decoder": type(estimate.decoder).__name__,
            "constraint": type(estimate.constraint).__name__,
            "level": self.level,
            "simultaneous": self.simultaneous,
            "intervals": None if self.problem else estimate.interval_kind,
            "shared_noise": estimate.shared_noise or None,
            "sharing": estimate.sharing,
        }

    def context(self) -> dict[str, Any]:
        survey = self.estimate.tally.survey
        about = {"question": survey.name, "n": self.estimate.n, "epsilon": survey.epsilon}
        return about | {"level": self.level}

    def more(self) -> dict[str, Any]:
        groups = [
            {
                "symbols": [symbol_to_json(symbol) for symbol in group.symbols],
                "probability": group.probability,
                "standard_error": finite(group.standard_error),
            }
            for group in self.groups
        ]
        return {"groups": groups, "diagnostics": self._diagnostics(), **self._in_order(), **self.estimate.searched}

    def _in_order(self) -> dict[str, Any]:
        """Figures of answers in an order, and the density of numbers; nothing for other answers."""
        found: dict[str, Any] = {}
        if self.problem is None and (figures := figures_of(self.estimate, self.level)):
            found["figures"] = {name: _figure(*values) for name, values in figures.items()}
        if self.problem is None and (density := density_of(self.estimate, self.level)) is not None:
            bands = [dict(zip(("from", "to", "low", "high"), band, strict=True)) for band in density.bands]
            found["density"] = {"edges": list(density.edges), "bands": bands}
        return found

    def _diagnostics(self) -> dict[str, Any] | None:
        found = self.diagnostics
        if found is None:
            return None
        return {
            "rank": found.rank,
            "condition": finite(found.condition),
            "twins": [[symbol_to_json(symbol) for symbol in twins] for twins in found.twins],
            "fit": None if found.fit is None else asdict(found.fit),
            "cohorts": None if found.cohorts is None else asdict(found.cohorts),
            "floor": None if found.floor is None else asdict(found.floor),
            "influence": found.influence,
            "noticed": found.noticed,
            "careful": found.careful,
            "careful_noticed": found.careful_noticed,
            "alarms": list(found.alarms),
        }


class DifferenceRows(ResultRows):
    """A difference with its error bars: the `top` symbols, largest change first (all with None).

    >>> import deniable as dn
    >>> survey = dn.krr(symbols=["no", "yes"], epsilon=2)
    >>> monday, friday = (dn.decode(dn.Tally(survey, [counts])) for counts in ([700, 300], [500, 500]))
    >>> [row["changed"] for row in DifferenceRows(dn.difference(friday, monday)).to_json()["changes"]]
    [True, True]
    """

    FIELDS = ("before", "after", "raw", "standard_error", "raw_low", "raw_high")
    MARK = "changed"
    KEY = "changes"

    def __init__(
        self, difference: Difference, *, level: float = 0.95, simultaneous: bool = False, top: int | None = None
    ) -> None:
        order = np.argsort(-np.abs(difference.raw), kind="stable")[:top].tolist()
        super().__init__(difference.symbols, difference.first.names, order)
        self.in_an_order = difference.first.tally.survey.encoding.is_ordered
        self.difference, self.level, self.simultaneous = difference, level, simultaneous
        before, after = difference.second.probabilities, difference.first.probabilities
        low, high = difference.intervals(level, simultaneous=simultaneous).T
        columns = (before, after, difference.raw, difference.standard_errors, low, high)
        self.numbers = dict(zip(order, np.stack(columns, axis=1)[order].tolist(), strict=True))
        self.marks = difference.changed(level).tolist()
        a, b, rest = difference.first.unallocated, difference.second.unallocated, difference.unallocated
        if a is not None and b is not None and rest is not None:
            self.rest = [b.value, a.value, rest.raw, rest.standard_error, *rest.interval(level)]

    @property
    def rest_name(self) -> str:
        return self.difference.rest_name

    def head(self) -> dict[str, Any]:
        first, second = self.difference.first, self.difference.second
        return {
            "survey": first.tally.survey.digest,
            "before": {"survey": second.tally.survey.digest, "n": second.n},
            "after": {"survey": first.tally.survey.digest, "n": first.n},
            "level": self.level,
            "simultaneous": self.simultaneous,
            "intervals": "approximate",
            "shared_noise": self.difference.shared_noise or None,
            "sharing": self.difference.sharing,
        }

    def context(self) -> dict[str, Any]:
        first, second = self.difference.first, self.difference.second
        about = {"question": first.tally.survey.name, "n_before": second.n, "n_after": first.n}
        return about | {"epsilon": first.tally.survey.epsilon, "level": self.level}
