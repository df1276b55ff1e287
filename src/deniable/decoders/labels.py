"""The symbols of an estimate as distinct texts, and as a column of a table."""

import json

from deniable.survey import Symbol, symbol_to_json

__all__ = ["column_of", "labels_of"]


def labels_of(symbols: tuple[Symbol, ...]) -> tuple[str, ...]:
    """One distinct text per symbol: text and integers as they are, bytes and mixtures as JSON.

    >>> labels_of((1, "1"))
    ('1', '"1"')
    """
    if {type(symbol) for symbol in symbols} in ({str}, {int}):
        return tuple(str(symbol) for symbol in symbols)
    return tuple(json.dumps(symbol_to_json(symbol), ensure_ascii=False) for symbol in symbols)


def column_of(symbols: tuple[Symbol, ...]) -> list[Symbol]:
    """The symbols as they are if they are of one type that fits a column, else their labels.

    >>> column_of((1, 2)), column_of((1, 2**70))
    ([1, 2], ['1', '1180591620717411303424'])
    """
    kinds = {type(symbol) for symbol in symbols}
    fits = kinds != {int} or all(-(2**63) <= s < 2**63 for s in symbols if isinstance(s, int))
    return list(symbols) if len(kinds) == 1 and fits else list(labels_of(symbols))
