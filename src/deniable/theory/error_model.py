"""The error of the unbiased estimate as a function of the population: `ErrorModel`, and the one of each mechanism.

Every survey has one, and so has every setting of parameters that a planner compares before any survey is built. n times
the variance of the estimate of a symbol of share p is

    base + slope p - curve p**2 - collisions sum(p**2)

* a mechanism with a cell for each symbol (k-RR, unary encodings, sets) counts the reports that support the symbol, a
  binomial: q (1 - q) / r**2 + p (1 - 2 q) / r - p**2 with q = miss and r = hit - miss (`support_model`);
* block designs count the reports in the symbol's cells, and in several blocks those beside them, too (`block_model`);
* a channel of any shape has the inverse of its rows of weights (`channel_model`);
* cohorts are in `theory.cohorts`.

A mechanism that exists is asked for its own integers (`mechanism_model`). The functions named `*_rates` give hit and
miss at a real epsilon instead, for whole arrays of parameters.
"""

from dataclasses import dataclass, replace
from math import exp, isnan
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.mechanisms import Mechanism

Floats = npt.NDArray[np.float64]

_LARGEST, _BINS = 12, 24  # the largest shares that `Classes` keeps one by one, and classes that it makes of the others
_LEAST = 1e-300  # a variance that rounding made zero or less


@dataclass(frozen=True, eq=False)
class Classes:
    """A population in a few classes of symbols of about the same share, for sums over many symbols.

    >>> classes = Classes.of(np.array([0.5, 0.25, 0.25]))
    >>> classes.values.tolist(), classes.counts.tolist(), classes.collision
    ([0.5, 0.25, 0.25], [1.0, 1.0, 1.0], 0.375)
    """

    values: Floats  # the mean share of each class
    counts: Floats  # its symbols
    collision: float  # the probability that two people answer alike, sum p**2

    @classmethod
    def of(cls, p: Floats) -> "Classes":
        ordered = np.sort(p)[::-1]
        groups = [ordered[i : i + 1] for i in range(min(_LARGEST, len(p)))]
        rest = ordered[_LARGEST:]
        groups += [part for part in np.array_split(rest, min(_BINS, max(len(rest), 1))) if len(part)]
        return cls(np.array([g.mean() for g in groups]), np.array([float(len(g)) for g in groups]), float(p @ p))


@dataclass(frozen=True, slots=True)
class ErrorModel:
    """Bias, variances and covariance of the unbiased estimate, for any population.

    Fields are numbers, or arrays with an entry for each setting of parameters. An infinite `base` says that a setting
    cannot be used.

    Attributes
    ----------
    base, slope, curve, collisions
        n times a variance is base + slope p - curve p**2 - collisions sum(p**2).
    unseen
        Errors add up to zero over the symbols and so many more that nobody has; None where they add up to nothing.
    support
        (hit, miss) where the reports that support a symbol are binomial; None, or NaN in an array, elsewhere.
    kept
        The share of p - 1 / S that the estimate keeps: below 1 where there are fewer equations than symbols, and the
        solution of least norm stands for all others.

    Examples
    --------
    >>> model = support_model(0.75, 0.25)
    >>> (model.at(np.array([0.25, 0.75])) / 100).round(5)
    array([0.00938, 0.00938])
    """

    base: Any
    slope: Any
    curve: Any = 1.0
    collisions: Any = 0.0
    unseen: Any = None
    support: Any = None
    kept: Any = 1.0

    def variance(self, share: Any, collision: float = 0.0) -> Any:
        """n times the variance at a share, in a population where two people answer alike with this probability."""
        return self.base + share * (self.slope - share * self.curve) - self.collisions * collision

    def at(self, p: Floats) -> Floats:
        """n times the variances over a population."""
        return np.asarray(np.maximum(self.variance(p, float(p @ p)), _LEAST))

    def moments(self, p: Floats, n: float) -> tuple[Floats, Floats]:
        """Bias and variances of the estimates from n reports."""
        variances = self.at(p) / n
        if self.kept == 1:
            return np.zeros_like(p), variances
        # A random subspace keeps a share of the signal, and spreads what it keeps of each symbol over all of them.
        signal = p - 1 / len(p)
        return (self.kept - 1) * signal, variances + self.kept * (1 - self.kept) * float(signal @ signal) / len(p)

    def covariance(self, p: Floats, n: float) -> Floats:
        """The covariance that draws have (`theory.loss`): independent errors, but for their sum."""
        _, variances = self.moments(p, n)
        if self.unseen is None:
            return np.diag(variances)
        wide, beside = self.free_variances(p, n)
        return np.asarray(np.diag(wide) - np.outer(wide, wide) / (wide.sum() + beside))

    def free_variances(self, p: Floats, n: float) -> tuple[Floats, float]:
        """(v, w): independent errors of variances v, and one of w for all unseen symbols, conditioned to sum to zero.

        Then v - v**2 / (sum v + w) are the variances of the estimates. For k-RR v is the multinomial's own
        m / (n r**2), and the covariance is exact.
        """
        _, variances = self.moments(p, n)
        beside = float(self.unseen * self.base / n)
        v = variances.copy()
        for _ in range(12):
            v = variances / np.maximum(1 - v / (v.sum() + beside), 0.5)
        return v, beside

    def score(self, classes: Classes, power: float) -> Floats:
        """The size of the noise over a population, (sum of sd**power)**(1 / power), for each setting."""
        columns = [np.asarray(v, np.float64)[..., None] for v in (self.base, self.slope, self.curve, self.collisions)]
        found = ErrorModel(*columns).variance(classes.values, classes.collision)
        return np.asarray((np.maximum(found, _LEAST) ** (power / 2) @ classes.counts) ** (1 / power))

    def pick(self, place: int, settings: int) -> "ErrorModel":
        """The model of one of so many settings."""

        def one(value: Any) -> float:
            return float(np.broadcast_to(value, settings)[place])

        support = None if self.support is None else (one(self.support[0]), one(self.support[1]))
        return ErrorModel(
            one(self.base),
            one(self.slope),
            one(self.curve),
            one(self.collisions),
            None if self.unseen is None else one(self.unseen),
            None if support is None or isnan(support[0]) else support,
            one(self.kept),
        )

    def only(self, usable: Any) -> "ErrorModel":
        """Without the settings that are not usable."""
        fit = usable & np.isfinite(self.base)
        return replace(
            self,
            base=np.where(fit, self.base, np.inf),
            slope=np.where(fit, self.slope, 0.0),
            curve=np.where(fit, self.curve, 0.0),
            collisions=np.where(fit, self.collisions, 0.0),
        )


def krr_rates(epsilon: float, cells: Any) -> tuple[Any, Any]:
    """(hit, miss) of k-RR over `cells` cells.

    >>> from math import log
    >>> [round(rate, 6) for rate in krr_rates(log(3), 2)]
    [0.75, 0.25]
    """
    miss = 1 / (exp(epsilon) + cells - 1)
    return exp(epsilon) * miss, miss


def bit_rates(epsilon: float, parts: Any = 2) -> tuple[Any, Any]:
    """(hit, miss) of bits that are flipped alike, where two answers differ in `parts` of them: k-RAPPOR, O-RAPPOR.

    >>> from math import log
    >>> [round(float(rate), 6) for rate in bit_rates(2 * log(3))]
    [0.75, 0.25]
    """
    flip = 1 / (np.exp(epsilon / parts) + 1)
    return 1 - flip, flip


def oue_rates(epsilon: float) -> tuple[float, float]:
    """(hit, miss) of the optimised unary encoding.

    >>> from math import log
    >>> [round(rate, 6) for rate in oue_rates(log(3))]
    [0.5, 0.25]
    """
    return 0.5, 1 / (exp(epsilon) + 1)


def subset_rates(epsilon: float, symbols: int, size: Any) -> tuple[Any, Any]:
    """(hit, miss) of sets of `size` among the symbols.

    >>> from math import log
    >>> [round(rate, 6) for rate in subset_rates(log(3), symbols=4, size=2)]
    [0.75, 0.416667]
    """
    hit = size * exp(epsilon) / (size * exp(epsilon) + symbols - size)
    return hit, (size - hit) / (symbols - 1)


def support_model(hit: Any, miss: Any, *, unseen: Any = None) -> ErrorModel:
    """Every symbol is supported by its own reports with probability `hit`, by others with probability `miss`.

    Paper: `prop:rr_perf`, `prop:rappor_perf`.
    Claim: exact at every n.
    Proof: tests/unit/theory/test_support.py::test_variance_is_the_binomials

    >>> support_model(0.75, 0.25).base
    0.75
    """
    r = hit - miss
    return ErrorModel(miss * (1 - miss) / r**2, (1 - 2 * miss) / r, unseen=unseen, support=(hit, miss))


def block_model(
    epsilon: float, symbols: int, *, cells: Any, occupied: Any, shared: Any, blocks: Any = 1, unseen: Any = None
) -> ErrorModel:
    """k-RR over the cells of a block design, inverted.

    A symbol has `occupied` cells and shares `shared` of them with another symbol of its block. The share of a symbol's
    block is p + (1 - p) times the chance that another symbol is in it: the mean over where the others stand.

    Claim: exact for one block.
    Proof: tests/unit/planner/test_parts.py::test_variances_are_those_of_the_exact_covariance

    >>> model = block_model(1.0, 7, cells=7, occupied=3, shared=1)  # the projective plane of order 2
    >>> round(float(model.base), 3)
    2.971
    """
    miss = 1 / (occupied * exp(epsilon) + cells - occupied)
    r = (exp(epsilon) - 1) * miss
    several = np.asarray(blocks) > 1
    mates = np.where(several, together(symbols, blocks), 1.0)
    inside = occupied * miss + r * shared * mates
    inside_slope = r * (occupied - shared * mates)
    gap = r * (occupied - shared)
    # A report in the symbol's cells counts 1 - c, one beside them in its block -c.
    c = np.where(several, shared / occupied, 0.0)
    beside = cells / blocks * miss + r * occupied * mates - inside
    beside_slope = r * occupied * (1 - mates) - inside_slope
    mean, mean_slope = (1 - c) * inside - c * beside, (1 - c) * inside_slope - c * beside_slope
    base = (1 - c) ** 2 * inside + c**2 * beside - mean**2
    slope = (1 - c) ** 2 * inside_slope + c**2 * beside_slope - 2 * mean * mean_slope
    hit = np.where(several, np.nan, occupied * (miss + r))
    return ErrorModel(
        base / gap**2,
        slope / gap**2,
        mean_slope**2 / gap**2,
        unseen=unseen,
        support=(hit, occupied * miss + r * shared),
    )


def channel_model(rows: Floats) -> ErrorModel:
    """A channel of any shape: `rows[x, y]` is the probability of column y under symbol x.

    With L the inverse of the rows, n times the variance of a symbol is the mean of L**2 over the reports of a
    population, less p**2; here averaged over the symbols, and for a symbol over who the others are.

    >>> round(channel_model(np.array([[0.75, 0.25], [0.25, 0.75]])).base, 6)
    0.75
    """
    size = len(rows)
    squares = rows @ np.linalg.pinv(rows) ** 2
    own, every = float(np.trace(squares)), float(squares.sum())
    base = (every - own) / (size * (size - 1))
    return ErrorModel(base, own / size - base, unseen=0.0)


def mechanism_model(mechanism: Mechanism) -> ErrorModel:
    """The model of a mechanism that has a cell for each symbol, from its own integers.

    >>> from deniable.mechanisms import KRR
    >>> round(mechanism_model(KRR(4, "1/2")).base, 4) == round(support_model(*krr_rates(0.5, 4)).base, 4)
    True
    """
    if mechanism.two_valued:
        unseen = None if mechanism.hits is None else 0.0  # reports of one length: errors add up to zero
        return support_model(float(mechanism.hit), float(mechanism.miss), unseen=unseen)
    law = [[weight / mechanism.span for weight in mechanism.weights([cell])] for cell in range(mechanism.cells)]
    return channel_model(np.array(law))


def together(size: int, groups: Any) -> Floats:
    """The chance that two of `size` symbols, shared out as evenly as they can be, stand in the same group."""
    each = np.floor(size / groups)
    larger = size - groups * each
    return np.asarray((larger * (each + 1) * each + (groups - larger) * each * (each - 1)) / (size * (size - 1)))
