"""The figures of answers in an order, and the density of numbers: what is told and drawn beside the shares."""

from typing import Any, NamedTuple

import numpy as np

from deniable.decoders.estimate import Estimate
from deniable.decoders.limits import check_level
from deniable.decoders.quantities import bands
from deniable.decoders.quantity import Quantity
from deniable.decoders.quantity_limits import limits_of

__all__ = ["Density", "density_of", "figures_of"]


def figures_of(estimate: Estimate, level: float = 0.95) -> dict[str, tuple[Any, Any, Any]]:
    """Mean, quartiles and median, each with its interval, where the answers have an order; else nothing.

    Where they are no numbers the mean is that of their places in the order, from 1.

    Parameters
    ----------
    estimate : Estimate
        Of a survey of any kind.
    level : float
        The coverage of the intervals.

    Examples
    --------
    >>> import deniable as dn
    >>> tally = dn.Tally(dn.ordered(["never", "seldom", "often"], 3, reach=0), [[50, 30, 20]])
    >>> found = figures_of(dn.decode(tally))
    >>> round(found["mean place"][0], 2), found["median"][0]
    (1.65, 'never')
    """
    survey = estimate.tally.survey
    if not survey.encoding.is_ordered:
        return {}
    numbers = survey.alphabet.bins is not None or all(isinstance(symbol, int) for symbol in estimate.symbols)
    found = {"mean": estimate.mean()} if numbers else {"mean place": _mean_place(estimate)}
    quarters = {"lower quartile": 0.25, "median": 0.5, "upper quartile": 0.75}
    found |= {name: estimate.quantile(q) for name, q in quarters.items()}
    return {name: (figure.value, *figure.interval(level)) for name, figure in found.items()}


def _mean_place(estimate: Estimate) -> Quantity:
    places = np.arange(1.0, len(estimate.symbols) + 1)
    found = limits_of(estimate, places[None])

    def between(level: float, binning: bool) -> tuple[float, float]:
        low, high = np.clip(found.between(1 - check_level(level))[0], 1.0, places[-1]).tolist()
        return low, high

    return Quantity(float(places @ estimate.probabilities), float(found.centre[0]), float(found.errors[0]), between)


class Density(NamedTuple):
    """The edges of the bins, and of ranges of bins: both ends and the limits of the share."""

    edges: tuple[float, ...]
    bands: list[tuple[float, float, float, float]]


def density_of(estimate: Estimate, level: float = 0.95) -> Density | None:
    """What a chart of numbers needs beside the shares; None where answers are not in bins.

    Parameters
    ----------
    estimate : Estimate
        Of a survey of any kind.
    level : float
        The coverage of the intervals.

    Examples
    --------
    >>> import deniable as dn
    >>> found = density_of(dn.decode(dn.Tally(dn.number(0, 4, 3, bins=2, reach=0), [[50, 30]])))
    >>> found.edges, len(found.bands), density_of(dn.decode(dn.Tally(dn.warner(epsilon=1), [[5, 3]])))
    ((0.0, 2.0, 4.0), 2, None)
    """
    scale = estimate.tally.survey.alphabet.bins
    return None if scale is None else Density(scale.edges, bands(estimate, level))
