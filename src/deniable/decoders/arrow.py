"""The symbols of an estimate as texts and as a column, and the estimate as an Arrow table."""

import json
from typing import TYPE_CHECKING, Any

from deniable.survey import Symbol
from deniable.survey.alphabet import symbol_to_json

if TYPE_CHECKING:
    import pyarrow as pa

    from deniable.decoders.estimate import Estimate

__all__ = ["column_of", "estimate_table", "labels_of"]


def labels_of(symbols: tuple[Symbol, ...]) -> tuple[str, ...]:
    """One distinct text a symbol: text and integers as they are, bytes and mixtures as JSON.

    >>> labels_of((1, "1"))
    ('1', '"1"')
    """
    if {type(symbol) for symbol in symbols} in ({str}, {int}):
        return tuple(str(symbol) for symbol in symbols)
    return tuple(json.dumps(symbol_to_json(symbol), ensure_ascii=False) for symbol in symbols)


def column_of(symbols: tuple[Symbol, ...]) -> list[Symbol]:
    """The symbols as they are if they are of one kind that fits a column, else their labels.

    >>> column_of((1, 2)), column_of((1, 2**70))
    ([1, 2], ['1', '1180591620717411303424'])
    """
    kinds = {type(symbol) for symbol in symbols}
    fits = kinds != {int} or all(-(2**63) <= s < 2**63 for s in symbols if isinstance(s, int))
    return list(symbols) if len(kinds) == 1 and fits else list(labels_of(symbols))


def estimate_table(estimate: "Estimate", level: float) -> "pa.Table":
    """A row a symbol; the last one, without a symbol, is the unallocated mass where there is one."""
    import pyarrow as pa

    intervals = estimate.intervals(level)
    columns: dict[str, list[Any]] = {
        "symbol": list(estimate.names),
        "probability": estimate.probabilities.tolist(),
        "raw": estimate.raw.tolist(),
        "standard_error": estimate.standard_errors.tolist(),
        "low": intervals[:, 0].tolist(),
        "high": intervals[:, 1].tolist(),
        "significant": estimate.significant(level).tolist(),
    }
    if (rest := estimate.unallocated) is not None:
        row = (None, rest.value, rest.raw, rest.standard_error, *rest.interval(level), None)
        for column, value in zip(columns.values(), row, strict=True):
            column.append(value)
    return pa.table(columns)
