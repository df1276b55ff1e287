"""`Figures`: mean, quantiles, shares of ranges and the distribution function, as methods of an estimate.

How they are computed is in `quantities` and `quantiles`.
"""

from functools import cached_property

from deniable.decoders.limits import SkewedLimits
from deniable.decoders.quantiles import Smoothings, quantile
from deniable.decoders.quantities import cumulative, cumulative_limits, mean, share
from deniable.decoders.quantity import Cumulative, Ordered, Quantity


class Figures:
    """What an `Estimate` says of answers that are numbers or in an order."""

    def mean(self: Ordered) -> Quantity:
        """The mean of answers that are numbers, with its standard error and interval.

        Where numbers are in bins the interval holds wherever in their bins they are: half a bin is added on each side.

        Returns
        -------
        Quantity

        Raises
        ------
        DecodeError
            If the answers are no numbers, or in no order.

        Examples
        --------
        >>> import deniable as dn, numpy as np
        >>> survey = dn.number(18, 90, 1.0, step=1)
        >>> ages = np.random.default_rng(0).integers(30, 60, 50_000)
        >>> estimate = dn.decode(dn.simulate(survey, numbers=ages, rng=np.random.default_rng(0)))
        >>> low, high = estimate.mean().interval()
        >>> bool(low < ages.mean() < high)
        True
        """
        return mean(self)

    def quantile(self: Ordered, q: float) -> Quantity:
        """The least answer that a share `q` of all answers does not exceed, with its interval: 0.5 is the median.

        The interval has every number that a test at this level does not exclude. The test averages the distribution
        function over a few bins (`decoders.quantiles`). If the decoder's answer is smooth over so many, that is all; if
        not, the interval is wider by these bins on each side, holds for every population, and covers more often than
        its level says. docs/results/numbers.md has the measured coverage.

        Parameters
        ----------
        q
            A share strictly between 0 and 1.

        Returns
        -------
        Quantity
            A number, or a symbol of `dn.ordered`.

        Raises
        ------
        DecodeError
            If the answers have no order, or `q` is not between 0 and 1.

        Examples
        --------
        >>> import deniable as dn, numpy as np
        >>> survey = dn.ordered(["never", "seldom", "often"], 3)
        >>> dn.decode(dn.simulate(survey, [0.6, 0.3, 0.1], n=10_000, rng=np.random.default_rng(0))).quantile(0.5)
        <Quantity never (never to never)>
        """
        return quantile(self, q)

    def share(self: Ordered, start: object, stop: object) -> Quantity:
        """The share of answers from `start` to `stop`, with its standard error and interval.

        Parameters
        ----------
        start, stop
            Numbers; or symbols of `dn.ordered` or numbers of a step, both of which are included. Numbers outside of
            the scale are counted in its outer bins.

        Returns
        -------
        Quantity
            Where an end lies within a bin, the interval holds wherever in that bin the numbers are.

        Raises
        ------
        DecodeError
            If the answers have no order, or `start` comes after `stop`.

        Examples
        --------
        >>> import deniable as dn, numpy as np
        >>> survey = dn.number(0, 100, 2.0, bins=20)
        >>> estimate = dn.decode(dn.simulate(survey, np.full(20, 0.05), n=10**6, rng=np.random.default_rng(0)))
        >>> estimate.share(25, 50)
        <Quantity 0.2506 (0.2458 to 0.2568)>
        """
        return share(self, start, stop)

    def cdf(self: Ordered, level: float = 0.95) -> Cumulative:
        """P(answer <= x) at the edge of every bin, or at every answer of an order, with pointwise intervals.

        Parameters
        ----------
        level
            The confidence level of each interval.

        Returns
        -------
        Cumulative
            With `points`, `values`, `raw`, `low` and `high`.

        Raises
        ------
        DecodeError
            If the answers have no order.

        Examples
        --------
        >>> import deniable as dn, numpy as np
        >>> tally = dn.simulate(dn.ordered(4, 2), [0.1, 0.2, 0.3, 0.4], n=10**7, rng=np.random.default_rng(0))
        >>> dn.decode(tally).cdf().values.round(2)
        array([0.1, 0.3, 0.6, 1. ])
        """
        return cumulative(self, level)

    @cached_property
    def _cumulative(self: Ordered) -> SkewedLimits:
        return cumulative_limits(self)

    @cached_property
    def _smoothed(self: Ordered) -> Smoothings:
        return Smoothings(self)
