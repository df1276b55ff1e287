"""`TrackedWindow`: the shares of one window, as all windows tell them."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deniable.survey import Symbol
from deniable.tracking.contrast import around

__all__ = ["TrackedWindow"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class TrackedWindow:
    """The shares of one window, estimated from the reports of all windows.

    Parameters
    ----------
    window : object
        Its label.
    symbols : tuple of symbols
        The symbols, in the order of the arrays.
    n : int
        Reports of this window alone; 0 if it is missing.
    probabilities : ndarray
        Shares that are not negative and add up to one (with the unallocated share, where the alphabet is open).
    raw : ndarray
        Estimates before that projection; intervals are centred on them.
    standard_errors : ndarray
        Standard errors of `raw`.

    Examples
    --------
    >>> import deniable as dn
    >>> tally = dn.Tally(dn.krr(symbols=["a", "b"], epsilon=2), [[700, 300]])
    >>> window = dn.track([tally] * 4)[-1]
    >>> window.n, round(window["a"], 2), window.intervals().shape
    (1000, 0.76, (2, 2))
    """

    window: object
    symbols: tuple[Symbol, ...]
    n: int
    probabilities: Floats
    raw: Floats
    standard_errors: Floats

    def intervals(self, level: float = 0.95, *, simultaneous: bool = False) -> Floats:
        """Confidence intervals for each symbol, shape (S, 2), around `raw`.

        Parameters
        ----------
        level : float
            The coverage probability of an interval, on average over the windows.
        simultaneous : bool
            Whether all intervals together have that coverage (Bonferroni).

        Returns
        -------
        ndarray
            Lower and upper limits, which may lie outside [0, 1].
        """
        return around(self.raw, self.standard_errors, level, len(self.symbols) if simultaneous else 1)

    def __iter__(self) -> Iterator[tuple[Symbol, float]]:
        return iter(zip(self.symbols, self.probabilities.tolist(), strict=True))

    def __getitem__(self, symbol: Symbol) -> float:
        if symbol not in self.symbols:
            raise KeyError(symbol)
        return float(self.probabilities[self.symbols.index(symbol)])
