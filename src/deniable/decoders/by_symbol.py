"""`BySymbol`: an estimate read by its symbols, like a dictionary of shares."""

from collections.abc import Iterable, Iterator
from functools import cached_property

import numpy as np
import numpy.typing as npt

from deniable.decoders.labels import column_of, labels_of
from deniable.errors import AlphabetError, DecodeError, UnknownSymbol
from deniable.survey import Symbol
from deniable.tally import Tally

Floats = npt.NDArray[np.float64]


class BySymbol:
    """What an `Estimate` has of a dictionary. Its fields are those of the estimate."""

    symbols: tuple[Symbol, ...]
    probabilities: Floats
    tally: Tally

    def __getitem__(self, symbol: object) -> float:
        """The probability of one symbol; `UnknownSymbol`, which is a KeyError, if it was not decoded."""
        return float(self.probabilities[self.index(symbol)])

    def __len__(self) -> int:
        """How many symbols were decoded."""
        return len(self.symbols)

    def __iter__(self) -> Iterator[tuple[Symbol, float]]:
        """Each symbol with its probability, in the order of `symbols`: `dict(estimate)` is a dictionary of shares."""
        return iter(zip(self.symbols, self.probabilities.tolist(), strict=True))

    def __contains__(self, symbol: object) -> bool:
        try:
            return self.index(symbol) >= 0
        except (AlphabetError, UnknownSymbol):
            return False

    def index(self, symbol: object) -> int:
        """The index of a symbol in `symbols`, `probabilities` and `raw`.

        Parameters
        ----------
        symbol
            A symbol, in any spelling that the survey reads as the same.

        Returns
        -------
        int
            From 0.

        Raises
        ------
        UnknownSymbol
            If it was not decoded.

        Examples
        --------
        >>> import deniable as dn
        >>> dn.decode(dn.Tally(dn.warner(epsilon=1), [[60, 40]])).index("yes")
        1
        """
        index = self._indices.get(self.tally.survey.alphabet.canonical(symbol))
        if index is None:
            raise UnknownSymbol(f"symbol must be one of the {len(self.symbols)} that were decoded")
        return index

    @cached_property
    def _indices(self) -> dict[Symbol, int]:
        return {symbol: index for index, symbol in enumerate(self.symbols)}

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """One distinct text per symbol: text and integers as they are, bytes and mixtures as JSON.

        >>> import deniable as dn
        >>> dn.decode(dn.Tally(dn.krr(symbols=["1", 1], epsilon=1), [[3, 1]])).labels
        ('"1"', '1')
        """
        return labels_of(self.symbols)

    @property
    def names(self) -> list[Symbol]:
        """The symbols as a column can hold them: as they are if they are of one type that fits, else `labels`."""
        return column_of(self.symbols)


def symbol_list(symbols: object) -> list[object]:
    """A collection of symbols as a list; a `DecodeError` for anything else, such as one text."""
    if isinstance(symbols, (str, bytes)) or not isinstance(symbols, Iterable):
        raise DecodeError(f"symbols must be a collection of symbols, got one {type(symbols).__name__}")
    return list(symbols)
