"""The density of a quantity from a square wave: smooth almost everywhere, with atoms where the reports ask for it.

The shares of the bins are exp(spline) plus atoms: single bins with a share of their own, such as 40 hours a week. The
logarithm has a Gaussian prior on the second differences of the spline's coefficients, and how smooth it is, is learned:
each of a range of strengths has its evidence (the probability of the counts, by Laplace's approximation), and the
answer is the average of the densities that they give, weighted by it. Atoms are added one at a time where the residuals
ask for one most, as long as the evidence grows, and are kept if it then exceeds that of every density without atoms by
a margin. Counts are Poisson variables here, so that nothing has to add up to one along the way. Reports name one cell
(`NeighbourDesign`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from deniable.matrices import NeighbourDesign
from deniable.tally import Tally

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]

_KNOTS = 64  # coefficients of the spline; as many as bins if there are fewer
_STRENGTHS = 10.0 ** np.arange(7, -2, -1)  # of the prior that are tried, smoothest first
_ORDER = 2  # differences of coefficients that the prior is about: 0 where the density is exponential
_LEAN = 0.9  # a strength has a prior density of strength**-_LEAN in its logarithm: evidence alone smooths too much
_FLAT = 1e-3  # precision of a prior on single coefficients, so that none is undetermined
_WORSE = 12.0  # log evidence below the best at which weaker strengths are no longer tried
_EVEN = 8.0  # log evidence above the best density without atoms at which one with atoms counts as much
_SOFT = 4.0  # log evidence by which that changes by a factor e: the evidence of a wrong model is too sure of itself
_HEDGE = 0.5  # of the log-likelihood of an atom's place counts: the rest of the density would follow it, too
_STRIKING = 2.5  # standard errors of a residual from which an atom is tried
_MOST_ATOMS = 60  # atoms, at most
_PLAIN = 1e4  # strength of a prior that leaves peaks to atoms: where the search for them starts, too
_STIFF = 1e2  # strength below which a spline follows peaks by itself, and hides them from the search
_STRIDE = 4.0  # factor between strengths in that search
_POINTS = 128  # bins, and twice as many cells, at which the curvature of the likelihood is worked out
_PATIENCE = 8  # atoms after which a search that is still behind the best density without atoms is given up
_STEPS = 15  # Newton steps of a fit, at most: where more are needed, the next fit goes on from there
_WORK = 180  # Newton steps after which no more atoms are searched for: the largest are found first
_FAR = 3.0  # change of a logarithm in one step, at most
_NEAR = 1e-2  # log-likelihood that is left to gain when a fit ends
_ROUGH = 0.3  # the same while atoms are searched for
_PART = 1e-3  # and along the path, of the evidence that the strength before gained


def smooth_shares(tally: Tally, design: NeighbourDesign) -> Floats:
    """The shares of all bins, which add up to one.

    >>> import deniable as dn
    >>> from deniable.matrices import design_of
    >>> survey, x = dn.ordered(200, 1), np.arange(200)
    >>> p = np.exp(-0.5 * ((x - 90) / 25) ** 2)
    >>> tally = dn.simulate(survey, p / p.sum(), n=100_000, rng=np.random.default_rng(0))
    >>> found = smooth_shares(tally, design_of(survey))
    >>> bool(np.abs(np.cumsum(found - p / p.sum())).max() < 0.02)
    True
    """
    model = _Model(tally, design)
    smooth = model.path()
    best = max(smooth, key=lambda fit: fit.evidence)
    stiff = [fit for fit in smooth if fit.strength >= _STIFF]
    starts = {id(fit): fit for fit in (max(stiff, key=model.promise), min(stiff, key=_from_plain))}
    for start in starts.values():
        peaked = model.with_atoms(start, best.evidence)
        if len(peaked.atoms) and peaked.evidence > best.evidence:
            near = [*model.along(peaked, 1 / _STRIDE), *model.along(peaked, _STRIDE)]
            trust = 1 / (1 + np.exp(-(peaked.evidence - best.evidence - _EVEN) / _SOFT))
            return np.asarray(trust * model.average([peaked, *near]) + (1 - trust) * model.average(smooth))
    return model.average(smooth)


def _from_plain(fit: "_Fit") -> float:
    return abs(float(np.log(fit.strength / _PLAIN)))


@dataclass(frozen=True, slots=True, eq=False)
class _Fit:
    """The most probable density of one strength of the prior and one choice of atoms."""

    coefficients: Floats
    logs: Floats  # logarithms of the atoms' shares
    atoms: Places
    strength: float
    curve: Floats  # exp(spline) at every bin
    expected: Floats  # counts
    evidence: float
    slopes: Floats  # of the expected counts in all parameters, at some cells
    weights: Floats  # of those cells in the curvature
    factor: Floats  # the Cholesky factor of the posterior's precision, upper triangle


class _Model:
    """The counts of one tally, and the basis of its densities."""

    def __init__(self, tally: Tally, design: NeighbourDesign) -> None:
        self.design, self.size = design, design.symbols
        self.counts, self.n = tally.counts[0].astype(np.float64), float(tally.n)
        self.miss, self.r = tally.survey.mechanism.affine
        self.basis = _splines(self.size, min(_KNOTS, self.size))
        self.width = self.basis.shape[1]
        bend = np.diff(np.eye(self.width), _ORDER, axis=0)
        self.prior = bend.T @ bend
        self.level = -float(np.log(self.size))  # coefficients of the uniform density
        self.grid = _Grid.of(self.size, design)
        self.steps = 0  # Newton steps so far
        self.grouping = _grouping(self.basis, self.grid.bins)

    def expected(self, shares: Floats) -> Floats:
        """The counts that shares of the bins give, column by column."""
        return np.asarray(self.n * (self.miss * shares.sum(axis=0) + self.r * self.design.columns(shares)))

    def towards(self, values: Floats) -> Floats:
        """Its transpose: for every bin the sum of v over the cells, weighted by the law of a report; by rows."""
        sums = self.design.adjoint(values[:, None])
        return np.asarray(self.n * (self.miss * values.sum(axis=1, keepdims=True) + self.r * sums))

    @cached_property
    def flat(self) -> _Fit:
        """Where fits start: the uniform density."""
        none, level = np.zeros(0), np.full(self.width, self.level)
        curve = np.exp(self.basis @ level)
        expected = self.expected(curve[:, None])[:, 0]
        return _Fit(level, none, none.astype(np.intp), np.inf, curve, expected, -np.inf, none, none, none)

    def path(self) -> list[_Fit]:
        """Fits without atoms, from the smoothest on, until the evidence has clearly passed its maximum."""
        found: list[_Fit] = []
        for strength in _STRENGTHS:
            gained = found[-1].evidence - found[-2].evidence if len(found) > 1 else 0.0
            near_enough = max(_NEAR, _PART * gained)
            found.append(self.fit(found[-1] if found else self.flat, float(strength), near_enough=near_enough))
            if found[-1].evidence < max(fit.evidence for fit in found) - _WORSE:
                break
        return found

    def promise(self, fit: _Fit) -> float:
        """About the evidence that the first atom would lead to."""
        return fit.evidence + 0.5 * max(self._most_striking(fit)[1], 0.0) ** 2

    def with_atoms(self, start: _Fit, floor: float) -> _Fit:
        """Greedily: atoms where the residuals are most striking, and other strengths, as long as the evidence grows."""
        best = start
        while (
            self.steps < _WORK
            and len(best.atoms) < _MOST_ATOMS
            and (len(best.atoms) < _PATIENCE or best.evidence > floor)
        ):
            place, striking, share = self._most_striking(best)
            if striking > _STRIKING:
                more = float(np.log(np.clip(share, 1e-4, 0.5)))
                found = self.fit(best, best.strength, np.append(best.atoms, place), np.append(best.logs, more), _ROUGH)
                if found.evidence > best.evidence + _NEAR:
                    best = found
                    continue
            if not len(best.atoms):
                break
            tried = [self.fit(best, best.strength * factor, near_enough=_ROUGH) for factor in (1 / _STRIDE, _STRIDE)]
            found = max(tried, key=lambda fit: fit.evidence)
            if found.evidence <= best.evidence + _NEAR:
                break
            best = found
        return self.fit(best, best.strength) if len(best.atoms) else best

    def along(self, fit: _Fit, factor: float) -> list[_Fit]:
        """Two fits of other strengths, each so many times the one before; one if that has much less evidence."""
        found = [self.fit(fit, fit.strength * factor, near_enough=_ROUGH)]
        if found[0].evidence > fit.evidence - _WORSE / 4:
            found.append(self.fit(found[0], found[0].strength * factor, near_enough=_ROUGH))
        return found

    def average(self, fits: Sequence[_Fit]) -> Floats:
        """The shares of several fits, weighted by their evidence."""
        evidence = np.array([fit.evidence for fit in fits])
        weights = np.exp(evidence - evidence.max())
        places = self._places(fits[0])
        shares = np.zeros(self.size)
        for weight, fit in zip(weights, fits, strict=True):
            found = fit.curve + np.exp(fit.logs) @ places
            shares += weight / found.sum() * found
        return np.asarray(shares / shares.sum())

    def _places(self, fit: _Fit) -> Floats:
        """For each atom of a fit, by rows, the posterior of the bin that it is in, if all else is as in the fit.

        An atom moved from one bin to the next changes the counts of two cells, so a fit alone may be a bin off. It is
        then a whole atom off in the distribution function at an edge, which the average over places is not.
        """
        found = np.empty((len(fit.atoms), self.size))
        own = self.design.hashes
        for row, place, log in zip(found, fit.atoms, fit.logs, strict=True):
            share = float(np.exp(log))
            # Counts expected without what the atom adds to its window, and what it adds to any.
            added = self.n * self.r * share
            rest = fit.expected.copy()
            rest[place : place + own] -= added
            gains = np.append(0.0, np.cumsum(self.counts * np.log1p(added / rest)))
            gains = gains[own:] - gains[: self.size]
            row[:] = np.exp(_HEDGE * (gains - gains.max()))
            row /= row.sum()
        return found

    def _shares(self, curve: Floats, atoms: Places, logs: Floats) -> Floats:
        found = curve.copy()
        found[atoms] += np.exp(logs)
        return found

    def fit(
        self,
        near: _Fit,
        strength: float,
        atoms: Places | None = None,
        logs: Floats | None = None,
        near_enough: float = _NEAR,
    ) -> _Fit:
        """Fisher scoring from a fit that is near, with steps that are halved until they gain."""
        from scipy.linalg import cho_factor, cho_solve

        strength = float(np.clip(strength, _STRENGTHS[-1], _STRENGTHS[0]))
        atoms = near.atoms if atoms is None else atoms
        k, parameters = self.width, np.append(near.coefficients, near.logs if logs is None else logs)
        precision = np.zeros((len(parameters), len(parameters)))
        precision[:k, :k] = strength * self.prior
        precision[np.arange(k), np.arange(k)] += _FLAT

        def at(values: Floats) -> tuple[Floats, Floats, float]:
            """The curve, the expected counts, and the log posterior: the shares of atoms have a flat prior."""
            curve = np.exp(np.minimum(self.basis @ values[:k], 50.0))
            expected = self.expected(self._shares(curve, atoms, values[k:])[:, None])[:, 0]
            off = values[:k] - self.level
            prior = -0.5 * float(off @ precision[:k, :k] @ off) + float(values[k:].sum())
            return curve, expected, float(self.counts @ np.log(expected) - expected.sum()) + prior

        curve, expected, reached = at(parameters)
        for _ in range(_STEPS):
            self.steps += 1
            pull = self.towards((self.counts / expected - 1)[None])[0]
            gradient = np.append(self.basis.T @ (curve * pull), np.exp(parameters[k:]) * pull[atoms])
            gradient[:k] -= precision[:k, :k] @ (parameters[:k] - self.level)
            gradient[k:] += 1
            slopes, weights = self._slopes(curve, atoms, parameters[k:]), self.grid.weights(expected)
            information = (slopes * weights[:, None]).T @ slopes + precision
            information[np.arange(k, len(parameters)), np.arange(k, len(parameters))] += 1
            factor, _ = cho_factor(information, check_finite=False)
            step = cho_solve((factor, False), gradient, check_finite=False)
            gain = float(gradient @ step)
            # Logarithms: a factor of e**3 at most. Where single ones vanish, the others need not wait for them.
            found, most = None, max(float(np.abs(step).max()), 1e-300)
            tried = [step] if most <= _FAR else [np.clip(step, -_FAR, _FAR), _FAR / most * step]
            for move in (*tried, *(tried[-1] * shorter for shorter in 0.5 ** np.arange(1, 11))):
                moved = at(parameters + move)
                if moved[2] >= reached:
                    found = parameters + move
                    break
            if found is None:
                break
            parameters, (curve, expected, reached) = found, moved
            if gain < near_enough:
                break
        volume = float(np.log(factor.diagonal()).sum())
        evidence = reached + (0.5 * (k - _ORDER) - _LEAN) * float(np.log(strength)) - volume
        evidence += len(atoms) * float(0.5 * np.log(2 * np.pi) - np.log(self.size))  # a place is one of so many
        return _Fit(parameters[:k], parameters[k:], atoms, strength, curve, expected, evidence, slopes, weights, factor)

    def _slopes(self, curve: Floats, atoms: Places, logs: Floats) -> Floats:
        """The slopes of the expected counts in the coefficients and the logarithms of the atoms' shares."""
        grouped = (self.grouping @ curve).reshape(-1, self.width)  # the sums of curve * basis over groups of bins
        found = np.empty((len(self.grid.cells) - 1, self.width + len(atoms)))
        found[:, : self.width] = self.miss * grouped.sum(axis=0) + self.r * self.grid.forward(grouped)
        found[:, self.width :] = np.exp(logs) * (self.miss + self.r * self.grid.of_bins(atoms))
        return self.n * found

    def _most_striking(self, fit: _Fit) -> tuple[int, float, float]:
        """(bin, standard errors, share): where one more atom would gain most, by a score test."""
        from scipy.linalg import solve_triangular

        precision = 1 / fit.expected
        score = self.towards((self.counts * precision - 1)[None])[0]
        # The variance of a score, less what a move of all other parameters would take from it.
        law = self.towards(precision[None])[0]  # the sum of n Q(y|x) / expected
        own = self.miss * self.n * float(precision.sum())
        variance = self.n * ((2 * self.miss + self.r) * (law - own) + self.miss * own)
        rows = fit.slopes * fit.weights[:, None]
        cross = self.n * (self.miss * rows.sum(axis=0) + self.r * self.grid.adjoint(rows))
        some = (solve_triangular(fit.factor, cross.T, trans="T", check_finite=False) ** 2).sum(axis=0)
        taken = np.interp(np.arange(self.size), self.grid.bins[:-1], some)
        variance = np.maximum(variance - taken, 1e-6 * variance)  # all of it, but for rounding, if splines are bins
        striking = score / np.sqrt(variance)
        striking[fit.atoms] = -np.inf
        place = int(striking.argmax())
        return place, float(striking[place]), float(score[place] / variance[place])


@dataclass(frozen=True, slots=True, eq=False)
class _Grid:
    """Some bins and some cells, at which moving sums are worked out; all of them where they are few."""

    bins: Places  # first bin of every group, and the number of bins
    cells: Places  # first cell of every group, and the number of cells
    entering: Floats  # for the middle of every group of cells: how many bins come before the end of its window
    leaving: Floats  # and before its beginning
    own: int  # cells of a bin

    @classmethod
    def of(cls, size: int, design: NeighbourDesign) -> "_Grid":
        bins = np.linspace(0, size, min(_POINTS, size) + 1).astype(np.intp)
        cells = np.linspace(0, design.cells, min(2 * _POINTS, design.cells) + 1).astype(np.intp)
        middle = (cells[:-1] + cells[1:] - 1) / 2
        own = design.hashes
        return cls(bins, cells, np.clip(middle + 1, 0, size), np.clip(middle + 1 - own, 0, size), own)

    def weights(self, expected: Floats) -> Floats:
        """One over the variance of the counts, for the slope at the middle of a group to stand for all its cells."""
        return np.asarray(np.diff(self.cells) ** 2 / np.add.reduceat(expected, self.cells[:-1]))

    def forward(self, grouped: Floats) -> Floats:
        """H V at the middle of every group of cells, from the sums of V over every group of bins."""
        sums = _sums(grouped)
        return _between(self.bins, sums, self.entering) - _between(self.bins, sums, self.leaving)

    def of_bins(self, some: Places) -> Floats:
        """The columns of H of some bins, averaged over every group of cells."""
        start, stop = self.cells[:-1, None], self.cells[1:, None]
        inside = np.minimum(stop, some + self.own) - np.maximum(start, some)
        return np.asarray(np.maximum(inside, 0) / (stop - start))

    def adjoint(self, rows: Floats) -> Floats:
        """H' of rows that stand for groups of cells, at the first bin of every group."""
        sums, first = _sums(rows), self.bins[:-1].astype(np.float64)
        return _between(self.cells, sums, first + self.own) - _between(self.cells, sums, first)


def _grouping(basis: Floats, bins: Places) -> "csr_array":
    """The sparse map from a curve to the sums of curve * basis over groups of bins, one row a group and spline."""
    from scipy.sparse import csr_array

    place, spline = np.nonzero(basis)
    group = np.searchsorted(bins, place, side="right") - 1
    size, width = basis.shape
    rows = (group * width + spline, place)
    return csr_array((basis[place, spline], rows), shape=((len(bins) - 1) * width, size))


def _sums(rows: Floats) -> Floats:
    return np.concatenate([np.zeros((1, rows.shape[1])), rows.cumsum(axis=0)])


def _between(places: Places, rows: Floats, wanted: Floats) -> Floats:
    """Rows at places, interpolated where they are wanted."""
    after = np.clip(places.searchsorted(wanted, side="right"), 1, len(places) - 1)
    share = (wanted - places[after - 1]) / (places[after] - places[after - 1])
    return np.asarray(rows[after - 1] + share[:, None] * (rows[after] - rows[after - 1]))


def _splines(size: int, knots: int) -> Floats:
    """Uniform cubic B-splines at the centres of the bins, shape (bins, knots); the identity for as many as bins.

    >>> _splines(8, 5).sum(axis=1).round(12).tolist() == [1.0] * 8, _splines(3, 3).tolist()[0]
    (True, [1.0, 0.0, 0.0])
    """
    if knots >= size:
        return np.eye(size)
    place = (np.arange(size) + 0.5) / size * (knots - 3)
    first = place.astype(np.intp)
    f = place - first
    pieces = ((1 - f) ** 3, 3 * f**3 - 6 * f**2 + 4, -3 * f**3 + 3 * f**2 + 3 * f + 1, f**3)
    found = np.zeros((size, knots))
    for offset, piece in enumerate(pieces):
        found[np.arange(size), first + offset] = piece / 6
    return found
