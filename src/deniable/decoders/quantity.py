"""`Quantity` and `Cumulative`: figures of answers in an order, with their confidence intervals."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from deniable.charts import figure_text
from deniable.decoders.fit import LinearFit
from deniable.decoders.limits import SkewedLimits, check_level
from deniable.errors import DecodeError
from deniable.survey import Symbol
from deniable.tally import Tally

Floats = npt.NDArray[np.float64]


class Ordered(Protocol):
    """What the figures ask of an `Estimate`, which imports this module."""

    @property
    def symbols(self) -> tuple[Symbol, ...]: ...
    @property
    def probabilities(self) -> Floats: ...
    @property
    def tally(self) -> Tally: ...
    @property
    def fit(self) -> LinearFit: ...
    @property
    def _cumulative(self) -> SkewedLimits: ...
    @property
    def _smoothed(self) -> Any: ...  # `quantiles.Smoothings`, which imports this module
    def index(self, symbol: object) -> int: ...


@dataclass(frozen=True, slots=True)
class Quantity:
    """A mean, a quantile or a share of a range, with its confidence intervals.

    Parameters
    ----------
    value
        From the decoder's answer, like `Estimate.probabilities`.
    raw
        The unbiased estimate, which intervals belong to; None for a quantile.
    standard_error
        Of `raw`.

    Examples
    --------
    >>> import deniable as dn
    >>> survey = dn.number(0, 10, 2.0, step=1)
    >>> tally = dn.simulate(survey, np.full(11, 1 / 11), n=100_000, rng=np.random.default_rng(1))
    >>> dn.decode(tally).mean()
    <Quantity 5.027 (4.992 to 5.064)>
    """

    value: Any
    raw: float | None
    standard_error: float | None
    _between: Callable[[float, bool], tuple[Any, Any]] = field(repr=False)

    def interval(self, level: float = 0.95, *, binning: bool = True) -> tuple[Any, Any]:
        """A confidence interval.

        Parameters
        ----------
        level
            The confidence level, between 0 and 1.
        binning
            Whether it holds wherever in their bins the numbers are; otherwise only if they are spread evenly.

        Returns
        -------
        tuple
            The lower and the upper limit: numbers, or symbols of an order.
        """
        return self._between(check_level(level), binning)

    def __repr__(self) -> str:
        low, high = self.interval()
        return f"<Quantity {shown_figure(self.value)} ({shown_figure(low)} to {shown_figure(high)})>"


def shown_figure(value: object) -> str:
    """A number or a symbol as people read it.

    >>> shown_figure(42561.3), shown_figure("often")
    ('42,560', 'often')
    """
    return figure_text(value) if isinstance(value, float) else str(value)


@dataclass(frozen=True, slots=True, eq=False)
class Cumulative:
    """P(answer <= x) at every edge of a bin or number of an order, with pointwise intervals.

    Parameters
    ----------
    points
        The upper edges of the bins, or the answers themselves.
    values
        From the decoder's answer.
    raw, low, high
        The unbiased estimate and its confidence limits; each interval holds by itself.
    """

    points: tuple[Any, ...]
    values: Floats
    raw: Floats
    low: Floats
    high: Floats


def ordered_size(estimate: Ordered) -> int:
    """The number of answers, if they have an order."""
    survey = estimate.tally.survey
    if not survey.encoding.is_ordered and survey.alphabet.bins is None:
        raise DecodeError(
            f"answers must have an order for this, got those of {survey.title}; make the survey with dn.number or "
            "dn.ordered"
        )
    return len(estimate.symbols)
