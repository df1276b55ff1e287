"""The error of the unbiased estimate as a function of the population: `ErrorModel`, and the one of each mechanism.

Every survey has one, and so has every setting of parameters that a planner compares before any survey is built. The
variance of the estimate of a symbol of share p, times n, is

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

_LARGEST, _BINS = 12, 24  # shares that `Classes` keeps one by one, and classes that it makes of the rest
_LEAST = 1e-300  # replaces a variance that rounding made zero or less, so that its root and logarithm exist


@dataclass(frozen=True, eq=False)
class Classes:
    """A population in a few classes of symbols of about the same share, for sums over many symbols.

    Parameters
    ----------
    values : ndarray
        The mean share of each class.
    counts : ndarray
        The number of symbols of each class.
    collision : float
        The probability that two people answer alike, sum p**2.

    Examples
    --------
    >>> classes = Classes.of(np.array([0.5, 0.25, 0.25]))
    >>> classes.values.tolist(), classes.counts.tolist(), classes.collision
    ([0.5, 0.25, 0.25], [1.0, 1.0, 1.0], 0.375)
    """

    values: Floats  # the mean share of each class
    counts: Floats  # its symbols
    collision: float  # the probability that two people answer alike, sum p**2

    @classmethod
    def of(cls, p: Floats) -> "Classes":
        """The classes of a population.

        Parameters
        ----------
        p : ndarray
            One share a symbol.

        Returns
        -------
        Classes
            The largest shares as classes of their own, the others in classes of equal size.
        """
        ordered = np.sort(p)[::-1]
        groups = [ordered[i : i + 1] for i in range(min(_LARGEST, len(p)))]
        rest = ordered[_LARGEST:]
        groups += [part for part in np.array_split(rest, min(_BINS, max(len(rest), 1))) if len(part)]
        return cls(np.array([g.mean() for g in groups]), np.array([float(len(g)) for g in groups]), float(p @ p))


@dataclass(frozen=True, slots=True)
class ErrorModel:
    """Bias, variances and covariance of the unbiased estimate, for any population.

    Parameters are numbers, or arrays with an entry for each setting. An infinite `base` marks a setting that cannot be
    used.

    Parameters
    ----------
    base, slope, curve, collisions : number or ndarray
        n times a variance is base + slope p - curve p**2 - collisions sum(p**2).
    unseen : number or ndarray, optional
        Errors add up to zero over the symbols and this many more that nobody has; None if they add up to nothing known.
    support : tuple, optional
        (hit, miss) where the reports that support a symbol are binomial; None, or NaN in an array, elsewhere.
    kept : number or ndarray
        The share of p - 1 / S that the estimate keeps. It is below 1 where there are fewer equations than symbols, and
        the solution of least norm is taken.

    Examples
    --------
    >>> model = support_model(0.75, 0.25)
    >>> (model.at(np.array([0.25, 0.75])) / 100).round(5)
    array([0.00938, 0.00938])
    >>> p = np.array([0.25, 0.75])
    >>> round(model.variance(0.25), 5), model.moments(p, n=100)[0].tolist(), model.covariance(p, n=100).shape
    (0.9375, [0.0, 0.0], (2, 2))
    >>> closed = support_model(0.75, 0.25, unseen=0.0)  # errors add up to zero
    >>> wide, beside = closed.free_variances(p, n=100)
    >>> bool(np.allclose(wide - wide**2 / wide.sum(), closed.moments(p, n=100)[1], rtol=0.01)), beside
    (True, 0.0)
    >>> two = support_model(*krr_rates(1.0, np.array([2, 4])))  # two settings
    >>> two.score(Classes.of(p), power=2.0).round(3)
    array([1.489, 2.176])
    >>> two.only(np.array([True, False])).base.round(3), round(two.pick(1, settings=2).base, 3)
    (array([0.921,   inf]), 1.598)
    """

    base: Any
    slope: Any
    curve: Any = 1.0
    collisions: Any = 0.0
    unseen: Any = None
    support: Any = None
    kept: Any = 1.0

    def variance(self, share: Any, collision: float = 0.0) -> Any:
        """n times the variance of the estimate of a symbol with this share.

        Parameters
        ----------
        share : number or ndarray
            Shares of symbols.
        collision : float
            sum p**2: the probability that two people answer alike.

        Returns
        -------
        number or ndarray
            In the shape of `share`.
        """
        return self.base + share * (self.slope - share * self.curve) - self.collisions * collision

    def at(self, p: Floats) -> Floats:
        """n times the variances over a population.

        Parameters
        ----------
        p : ndarray
            One share a symbol.

        Returns
        -------
        ndarray
            One value a symbol, above zero.
        """
        return np.asarray(np.maximum(self.variance(p, float(p @ p)), _LEAST))

    def moments(self, p: Floats, n: float) -> tuple[Floats, Floats]:
        """Bias and variances of the estimates from n reports.

        Parameters
        ----------
        p : ndarray
            One share a symbol.
        n : float
            Reports.

        Returns
        -------
        tuple of ndarray
            (bias, variances), one value a symbol each.
        """
        variances = self.at(p) / n
        if self.kept == 1:
            return np.zeros_like(p), variances
        # The solution of least norm is a projection on a random subspace: it keeps a share of the signal, and
        # spreads the part that it keeps of each symbol over all of them.
        signal = p - 1 / len(p)
        return (self.kept - 1) * signal, variances + self.kept * (1 - self.kept) * float(signal @ signal) / len(p)

    def covariance(self, p: Floats, n: float) -> Floats:
        """The covariance of the normal draws in `theory.loss`: errors that are independent but for their known sum.

        Parameters
        ----------
        p : ndarray
            One share a symbol.
        n : float
            Reports.

        Returns
        -------
        ndarray
            Shape (S, S).
        """
        _, variances = self.moments(p, n)
        if self.unseen is None:
            return np.diag(variances)
        wide, beside = self.free_variances(p, n)
        return np.asarray(np.diag(wide) - np.outer(wide, wide) / (wide.sum() + beside))

    def free_variances(self, p: Floats, n: float) -> tuple[Floats, float]:
        """(v, w): independent errors of variances v, and one of w for all unseen symbols, conditioned to sum to zero.

        Then v - v**2 / (sum v + w) are the variances of the estimates. For k-RR v is the multinomial's own
        m / (n r**2), and the covariance is exact.

        Parameters
        ----------
        p : ndarray
            One share a symbol.
        n : float
            Reports.

        Returns
        -------
        tuple of ndarray and float
            (v, w).
        """
        _, variances = self.moments(p, n)
        beside = float(self.unseen * self.base / n)
        v = variances.copy()
        for _ in range(12):
            v = variances / np.maximum(1 - v / (v.sum() + beside), 0.5)
        return v, beside

    def score(self, classes: Classes, power: float) -> Floats:
        """The norm of the standard deviations over a population, (sum of sd**power)**(1 / power), for each setting.

        Parameters
        ----------
        classes : Classes
            The population.
        power : float
            1 for the l1 loss, 2 for the l2 loss.

        Returns
        -------
        ndarray
            One value a setting.
        """
        columns = [np.asarray(v, np.float64)[..., None] for v in (self.base, self.slope, self.curve, self.collisions)]
        found = ErrorModel(*columns).variance(classes.values, classes.collision)
        return np.asarray((np.maximum(found, _LEAST) ** (power / 2) @ classes.counts) ** (1 / power))

    def pick(self, place: int, settings: int) -> "ErrorModel":
        """The model of one setting.

        Parameters
        ----------
        place : int
            Which setting.
        settings : int
            How many there are.

        Returns
        -------
        ErrorModel
            With numbers in place of arrays.
        """

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
        """The model with all other settings marked as not usable.

        Parameters
        ----------
        usable : bool or ndarray of bool
            One entry a setting.

        Returns
        -------
        ErrorModel
            With an infinite `base` for the others.
        """
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

    Parameters
    ----------
    epsilon : float
        The privacy budget, in nats.
    cells : int or ndarray
        k, at least 2.

    Returns
    -------
    tuple
        (hit, miss), numbers or arrays.

    Examples
    --------
    >>> from math import log
    >>> [round(rate, 6) for rate in krr_rates(log(3), 2)]
    [0.75, 0.25]
    """
    miss = 1 / (exp(epsilon) + cells - 1)
    return exp(epsilon) * miss, miss


def bit_rates(epsilon: float, parts: Any = 2) -> tuple[Any, Any]:
    """(hit, miss) of bits that are flipped with one probability: k-RAPPOR and O-RAPPOR.

    Parameters
    ----------
    epsilon : float
        The privacy budget, in nats.
    parts : int or ndarray
        The number of bits in which two answers differ: 2 with one bit set.

    Returns
    -------
    tuple
        (hit, miss), numbers or arrays.

    Examples
    --------
    >>> from math import log
    >>> [round(float(rate), 6) for rate in bit_rates(2 * log(3))]
    [0.75, 0.25]
    """
    flip = 1 / (np.exp(epsilon / parts) + 1)
    return 1 - flip, flip


def oue_rates(epsilon: float) -> tuple[float, float]:
    """(hit, miss) of the optimised unary encoding.

    Parameters
    ----------
    epsilon : float
        The privacy budget, in nats.

    Returns
    -------
    tuple
        (hit, miss), numbers or arrays.

    Examples
    --------
    >>> from math import log
    >>> [round(rate, 6) for rate in oue_rates(log(3))]
    [0.5, 0.25]
    """
    return 0.5, 1 / (exp(epsilon) + 1)


def subset_rates(epsilon: float, symbols: int, size: Any) -> tuple[Any, Any]:
    """(hit, miss) of subset selection: reports are sets of `size` of the symbols.

    Parameters
    ----------
    epsilon : float
        The privacy budget, in nats.
    symbols : int
        The number S of symbols.
    size : int or ndarray
        Symbols of a reported set.

    Returns
    -------
    tuple
        (hit, miss), numbers or arrays.

    Examples
    --------
    >>> from math import log
    >>> [round(rate, 6) for rate in subset_rates(log(3), symbols=4, size=2)]
    [0.75, 0.416667]
    """
    hit = size * exp(epsilon) / (size * exp(epsilon) + symbols - size)
    return hit, (size - hit) / (symbols - 1)


def support_model(hit: Any, miss: Any, *, unseen: Any = None) -> ErrorModel:
    """The model of a mechanism whose reports support their own symbol with probability `hit`, and others with
    probability `miss`.

    Paper: `prop:rr_perf`, `prop:rappor_perf`.
    Claim: exact at every n.
    Proof: tests/unit/theory/test_support.py::test_variance_is_the_binomials

    Parameters
    ----------
    hit, miss : float or ndarray
        The probability that a report supports its own symbol, and that it supports any other one.
    unseen : number or ndarray, optional
        As for `ErrorModel`.

    Returns
    -------
    ErrorModel
        Exact.

    Examples
    --------
    >>> support_model(0.75, 0.25).base
    0.75
    """
    r = hit - miss
    return ErrorModel(miss * (1 - miss) / r**2, (1 - 2 * miss) / r, unseen=unseen, support=(hit, miss))


def block_model(
    epsilon: float, symbols: int, *, cells: Any, occupied: Any, shared: Any, blocks: Any = 1, unseen: Any = None
) -> ErrorModel:
    """The model of k-RR over the cells of a block design, inverted.

    With several blocks, the share of a symbol's block is p + (1 - p) times the chance that another symbol is in it.

    Claim: exact for one block.
    Proof: tests/unit/planner/test_parts.py::test_variances_are_those_of_the_exact_covariance

    Parameters
    ----------
    epsilon : float
        The privacy budget, in nats.
    symbols : int
        The number S of symbols.
    cells : int or ndarray
        Cells of all blocks together.
    occupied : int or ndarray
        Cells of a symbol.
    shared : int or ndarray
        Cells that two symbols of one block share.
    blocks : int or ndarray
        Blocks of cells; each symbol is in one of them.
    unseen : number or ndarray, optional
        As for `ErrorModel`.

    Returns
    -------
    ErrorModel
        Exact for one block; the mean over the positions of other symbols for several.

    Examples
    --------
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


def sensitive_model(epsilon: float, size: int, hidden: int, *, cells: Any, occupied: Any, shared: Any) -> ErrorModel:
    """The model of uRR and of its block-design form, for arrays of designs of the sensitive answers.

    A sensitive answer is estimated from the reports in its cells, less what the share of all sensitive answers
    explains, which those outside the design tell; any other answer from its own column. Standard deviations differ
    between the two kinds: the model has their mean, which gives the sum of absolute errors. Sensitive answers together
    are taken to have their part of a uniform population.

    Parameters
    ----------
    epsilon : float
        The budget of the sensitive answers, in nats.
    size, hidden : int
        How many answers there are, and how many of them are sensitive.
    cells, occupied, shared : number or ndarray
        The design: its cells, those of an answer, and those that two share; `hidden`, 1 and 0 for uRR.

    Examples
    --------
    >>> model = sensitive_model(1.0, 20, 5, cells=5, occupied=1, shared=0)
    >>> bool(model.base < support_model(*krr_rates(1.0, 20)).base)
    True
    """
    odds, b, s = exp(epsilon), np.asarray(cells, float), np.asarray(occupied, float)
    other = 1 / (s * odds + b - s)
    r, own, share = (odds - 1) * other, 1 - b * other, hidden / size
    a, c = 1 / ((s - shared) * r), shared / ((s - shared) * own)
    inside, outside = s * other + r * shared * share, (1 - share) * own
    mean = inside * a + outside * c
    base = inside * a**2 + outside * c**2 - mean**2
    slope = a - 2 * mean  # of a share p: inside grows by (s - shared) r p, and the mean by p
    part = hidden / size
    return ErrorModel(part**2 * base, part * slope + (1 - part) / own)


def channel_model(rows: Floats) -> ErrorModel:
    """The model of a channel of any shape.

    With L the inverse of the rows, n times the variance of a symbol is the mean of L**2 over the reports of a
    population, less p**2. Here it is averaged over the symbols and over the answers of the others.

    Parameters
    ----------
    rows : ndarray
        rows[x, y] is the probability of column y under symbol x.

    Returns
    -------
    ErrorModel
        Averaged over symbols.

    Examples
    --------
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

    Parameters
    ----------
    mechanism : Mechanism
        With a cell for each symbol.

    Returns
    -------
    ErrorModel
        From the probabilities that the mechanism realises.

    Examples
    --------
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
