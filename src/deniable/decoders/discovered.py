"""`DiscoveredEstimate`: the texts that a search declared, with shares and error bars that own the search."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from deniable.decoders.by_symbol import symbol_list
from deniable.decoders.diagnostics import Diagnostics
from deniable.decoders.estimate import Estimate
from deniable.decoders.fit import LinearFit
from deniable.decoders.intervals import Group, Mass
from deniable.decoders.screened import ScreenedEstimate
from deniable.decoders.shown import largest_shares
from deniable.errors import DecodeError
from deniable.survey import Symbol

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class DiscoveredEstimate(Estimate):
    """The result of `discover`: `symbols` are the declared texts, largest first, and everything else is the rest.

    A text that was cut, because it is longer than the survey's last level, ends with an ellipsis; bytes at its end that
    are part of a character only are written as \\\\xNN.

    Parameters
    ----------
    tested
        The estimate of all candidates that were tested at the last level; the reports of that level alone made it.
    places
        Where the declared texts are among them. The other parameters are those of `Estimate`.

    Examples
    --------
    >>> import deniable as dn
    >>> survey = dn.discovery(epsilon=4, length=4, cohorts=256, seed=bytes(16))
    >>> tally = dn.simulate(survey, [0.6, 0.4], 10**5, np.random.default_rng(0), symbols=["lynx", "elk"])
    >>> found = dn.discover(tally)
    >>> found.symbols, found.interval_kind, found.leading(3)[:2] == list(found.symbols)
    (('lynx', 'elk'), 'conditional', True)
    >>> found  # doctest: +ELLIPSIS
    <2 texts discovered in 100000 reports, of ... tested: 'lynx' 0.603 (0.597 to 0.611), ...
    """

    tested: ScreenedEstimate = field(kw_only=True)
    places: npt.NDArray[np.intp] = field(kw_only=True)

    @cached_property
    def fit(self) -> LinearFit:
        """The linear algebra of the joint estimate at the last level."""
        return self.tested.joint.fit

    @property
    def shared_noise(self) -> str:
        return self.tested.shared_noise

    @property
    def takes_minutes(self) -> bool:
        return self.tested.takes_minutes

    @property
    def rest_name(self) -> str:
        """ "(all others)": what was not declared, whether or not it was looked at."""
        return self.tested.rest_name

    @property
    def unallocated(self) -> Mass | None:
        """The mass that no declared text explains."""
        return self.tested.unallocated

    @property
    def covariance(self) -> Floats:
        """The estimated covariance of `raw`."""
        model = np.searchsorted(self.tested.found.model, self.places)
        return self.tested.joint.covariance[np.ix_(model, model)]

    @property
    def standard_errors(self) -> Floats:
        """One standard error per declared text, of `raw`."""
        return self.tested.standard_errors[self.places]

    @property
    def groups(self) -> tuple[Group, ...]:
        """Texts that no report of the last level can tell apart: none of them is declared."""
        return self.tested.groups

    def intervals(self, level: float = 0.95, *, simultaneous: bool = False, exact: bool = True) -> Floats:
        """Confidence intervals of the declared texts, given that they were declared (`decoders.selection`).

        With `simultaneous` all of them hold at once, and so do those of all candidates that were tested, declared or
        not (Bonferroni). How candidates were chosen does not matter: other people's reports chose them.

        Parameters
        ----------
        level
            The confidence level, between 0 and 1.
        simultaneous
            Whether all intervals hold at once with probability `level`.
        exact
            Without effect: these intervals are never exact.

        Returns
        -------
        ndarray of shape (S, 2)
        """
        return self.tested.intervals(level, simultaneous=simultaneous)[self.places]

    @property
    def interval_kind(self) -> str:
        """ "conditional": intervals hold, approximately, given which texts were declared."""
        return self.tested.interval_kind

    def significant(self, level: float = 0.95) -> npt.NDArray[np.bool_]:
        """Which texts are above zero, family-wise over all candidates that were tested.

        Parameters
        ----------
        level
            The probability that all marks are right.

        Returns
        -------
        ndarray of bool
        """
        return self.tested.significant(level)[self.places]

    def total(self, symbols: Iterable[object]) -> Mass:
        """The mass of several declared texts together.

        Raises
        ------
        DecodeError
            If one of them was not declared.
        """
        named = symbol_list(symbols)
        for symbol in named:
            self.index(symbol)
        if not named:
            raise DecodeError("symbols must hold at least one symbol, got none")
        return self.tested.total(named)

    @property
    def diagnostics(self) -> Diagnostics:
        """The diagnostics of the joint estimate at the last level."""
        return self.tested.diagnostics

    def leading(self, count: int = 32) -> list[Symbol]:
        """The candidates with the largest estimates, declared or not: what may be there, without a test.

        Parameters
        ----------
        count
            How many.

        Returns
        -------
        list of str
            Largest first.
        """
        order = np.argsort(-self.tested.raw, kind="stable")[:count]
        return [self.tested.symbols[i] for i in order.tolist()]

    def __repr__(self) -> str:
        """The largest of the declared texts, and what they leave."""
        assert self.rest is not None
        size, looked = len(self.symbols), len(self.tested.symbols)
        some = f"{largest_shares(self, min(size, 3))}; " if size else ""
        texts = f"{size} text" + "s" * (size != 1)
        return f"<{texts} discovered in {self.n} reports, of {looked} tested: {some}all others {self.rest[0]:.3f}>"
