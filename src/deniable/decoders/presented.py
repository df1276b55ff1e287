"""`Presented`: an estimate as a table, a chart, one line and what a notebook shows.

What the line and the notebook say is in `shown`; `rows` has every symbol and every number for programs.
"""

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from deniable.decoders.intervals import Mass
from deniable.decoders.quantities import bands
from deniable.decoders.quantity import Ordered
from deniable.decoders.shown import Shown, estimate_html, largest_shares
from deniable.survey import Symbol, data_frame

if TYPE_CHECKING:
    import altair as alt
    import pyarrow as pa


Floats = npt.NDArray[np.float64]


class Tabled(Shown, Ordered, Protocol):
    """What is asked of an `Estimate`, which imports this module."""

    @property
    def names(self) -> list[Symbol]: ...
    @property
    def standard_errors(self) -> Floats: ...
    @property
    def unallocated(self) -> Mass | None: ...
    @property
    def n(self) -> int: ...
    def significant(self, level: float = 0.95) -> npt.NDArray[np.bool_]: ...
    def to_arrow(self, level: float = 0.95) -> "pa.Table": ...


class Presented:
    """How an `Estimate` leaves Python: to Arrow, to pandas, to a chart, to a prompt."""

    def to_arrow(self: Tabled, level: float = 0.95) -> "pa.Table":
        """An Arrow table with one row per symbol, in the order of `symbols`.

        Parameters
        ----------
        level
            The confidence level of `low`, `high` and `significant`.

        Returns
        -------
        pyarrow.Table
            The columns symbol, probability, raw, standard_error, low, high, significant. Where there is an unallocated
            mass it is the last row, with no symbol.

        Examples
        --------
        >>> import deniable as dn
        >>> table = dn.decode(dn.Tally(dn.warner(epsilon=1), [[60, 40]])).to_arrow()
        >>> table.column_names
        ['symbol', 'probability', 'raw', 'standard_error', 'low', 'high', 'significant']
        """
        import pyarrow as pa

        low, high = self.intervals(level).T.tolist()
        columns: dict[str, list[Any]] = {
            "symbol": list(self.names),
            "probability": self.probabilities.tolist(),
            "raw": self.raw.tolist(),
            "standard_error": self.standard_errors.tolist(),
            "low": low,
            "high": high,
            "significant": self.significant(level).tolist(),
        }
        if (rest := self.unallocated) is not None:
            row = (None, rest.value, rest.raw, rest.standard_error, *rest.interval(level), None)
            for column, value in zip(columns.values(), row, strict=True):
                column.append(value)
        return pa.table(columns)

    def to_pandas(self: Tabled, level: float = 0.95) -> Any:
        """The table of `to_arrow` as a pandas DataFrame.

        Parameters
        ----------
        level
            The confidence level of `low`, `high` and `significant`.

        Returns
        -------
        pandas.DataFrame
            The same columns and rows.

        Examples
        --------
        >>> import deniable as dn
        >>> frame = dn.decode(dn.Tally(dn.warner(epsilon=1), [[60, 40]])).to_pandas()
        >>> frame["symbol"].tolist()
        ['no', 'yes']
        """
        return data_frame(self.to_arrow(level))

    def chart(self: Tabled, *, level: float = 0.95, top: int = 40, raw: bool = False) -> "alt.LayerChart":
        """Bars with intervals, largest first or in the order of the answers; for numbers a density with a band.

        Needs the extra `charts`.

        Parameters
        ----------
        level
            The confidence level of the intervals.
        top
            How many symbols to show.
        raw
            Whether to add a dot for each unbiased estimate, which the intervals belong to.

        Returns
        -------
        altair.LayerChart
            Shown by notebooks; `deniable.charts.save_chart` writes it to a file.

        Examples
        --------
        >>> import deniable as dn
        >>> estimate = dn.decode(dn.Tally(dn.warner(epsilon=1), [[60, 40]]))
        >>> estimate.chart().to_dict()["description"]
        'Estimated shares of 2 symbols with 95 % intervals'
        >>> estimate.plot(level=0.9).to_dict()["description"]        # the name in earlier versions
        'Estimated shares of 2 symbols with 90 % intervals'
        """
        from deniable.charts import density_chart, estimate_chart

        if (scale := self.tally.survey.alphabet.bins) is not None:
            marked = {"mean": self.mean(), "median": self.quantile(0.5)}
            figures = {name: (figure.value, *figure.interval(level)) for name, figure in marked.items()}
            shares, ranges = self.probabilities.tolist(), bands(self, level)
            return density_chart(scale.edges, shares, ranges, figures=figures, level=level)
        order = np.argsort(-self.probabilities, kind="stable")[:top]
        if self.tally.survey.encoding.is_ordered:  # 1 to 5 stars are read in that order
            order = np.sort(order)
        intervals = self.intervals(level)[order]
        names = [self.labels[i] for i in order]
        dots = self.raw[order] if raw else None
        return estimate_chart(names, self.probabilities[order], intervals, level=level, raw=dots)

    plot = chart  # the name in earlier versions

    def __repr__(self: Tabled) -> str:
        """The largest shares, each with its 95 % interval where that is quick to compute."""
        return f"<Estimate of {len(self.symbols)} symbols from {self.n} reports: {largest_shares(self)}>"

    def _repr_html_(self: Tabled) -> str:
        """What a notebook shows: the largest shares as bars, with 95 % intervals."""
        return estimate_html(self)
