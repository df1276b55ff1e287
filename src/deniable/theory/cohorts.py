"""The errors of least squares over cohorts, O-RR and O-RAPPOR, on average over hash functions or permutations.

`theory.covariance` has the exact covariance of given cohorts. This is what a setting of k cells, C cohorts and h hashes
has before any hash function is drawn. Three effects are modelled:

* a cell is hit by the noise and by other symbols that share it;
* least squares subtracts the part of the collisions that it solves for;
* few equations raise every variance. With y = (S - 1) / equations, E[1 / eigenvalue] of a random Gram matrix is
  1 / (1 - y) (Marchenko and Pastur). Permutations are free projections, for which it is rho (C - 1) / (C rho - 1)
  with rho = (k - 1) / (S - 1). Beyond y = 1 the solution of least norm keeps a share 1 / y of the signal.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.theory.error_model import Classes, ErrorModel, bit_rates, krr_rates, together

Floats = npt.NDArray[np.float64]

_NODES = 16  # nodes of the Gauss-Laguerre quadrature over the other symbols of a cell
_MOST_UNSEEN = 1e9  # unseen symbols; with so many, a sum of one no longer constrains the estimates
_MOST_GROWTH = 1e6  # largest factor on a variance, at the pole where there are as many equations as symbols


@dataclass(frozen=True, eq=False)
class CohortSettings:
    """Numbers of cells, cohorts and hashes over an alphabet of `size` symbols: one setting, or arrays of them.

    Parameters
    ----------
    size : int
        S: symbols, or candidates of an open alphabet.
    is_open : bool
        Whether cells come from hash functions (an open alphabet) or from permutations.
    cells, cohorts, hashes : int or array_like
        k, C and h: one setting, or arrays of settings that broadcast.

    Examples
    --------
    >>> settings = CohortSettings(64, False, cells=8, cohorts=256, hashes=1)
    >>> model = settings.index_model(2.0, n=10**6)
    >>> round(float(model.base), 2), round(float(settings.bit_model(2.0, n=10**6).base), 2)
    (0.69, 1.18)
    """

    size: int
    is_open: bool
    cells: Any
    cohorts: Any
    hashes: Any = 1

    @cached_property
    def used(self) -> Floats:
        """Cells that a symbol can be in: a permutation of S symbols fills at most S."""
        cells = np.asarray(self.cells, np.float64)
        return cells if self.is_open else np.minimum(cells, self.size)

    @cached_property
    def taken(self) -> Floats:
        """The chance that a symbol occupies a given cell."""
        return np.asarray(1 - (1 - 1 / self.used) ** self.hashes)

    @cached_property
    def met(self) -> Floats:
        """The chance that a given other symbol shares a given cell of a symbol."""
        return self.taken if self.is_open else np.asarray(1 - (1 - together(self.size, self.used)) ** self.hashes)

    @cached_property
    def shortage(self) -> Floats:
        """y: unknowns for each equation. The cells of one-hot answers add up to one, so one of them is redundant."""
        equations = np.asarray(self.cohorts) * (self.used - (np.asarray(self.hashes) == 1))
        return np.asarray((self.size - 1) / np.maximum(equations, 1e-9))

    @cached_property
    def twins(self) -> Floats:
        """The expected number of pairs of symbols that share all of their cells, and are not distinguishable."""
        pairs = self.size * (self.size - 1) / 2
        return np.asarray(pairs * np.minimum(self.used, 1e6) ** (-np.asarray(self.cohorts, float) * self.hashes))

    @cached_property
    def growth(self) -> Floats:
        """The factor by which few equations raise variances; from y = 1 on, of the solution of least norm."""
        y, one = self.shortage, np.asarray(self.hashes) == 1
        cohorts, rho = np.asarray(self.cohorts, float), (self.used - 1) / (self.size - 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = 1 / (1 - y)
            if not self.is_open:
                found = np.where(one, rho * (cohorts - 1) / (cohorts * rho - 1), found)
            found = np.where(y < 1, np.clip(np.nan_to_num(found, nan=np.inf), 0.0, _MOST_GROWTH), 0.0)
            below = 1 / (y * np.maximum(y - 1, 1e-6))
        return np.where(self.met == 0, 1.0, np.where(y < 1, found, below))

    @property
    def kept(self) -> Floats:
        """The share of the signal that the solution of least norm keeps."""
        return np.where(self.met == 0, 1.0, np.minimum(1 / self.shortage, 1.0))

    def index_model(
        self, epsilon: float, n: float, *, classes: Classes | None = None, weighted: bool = False, joint: bool = False
    ) -> ErrorModel:
        """The error model of O-RR from n reports.

        Parameters
        ----------
        epsilon : float
            The privacy budget, in nats.
        n : float
            Reports.
        classes : Classes, optional
            The population, needed for `weighted`.
        weighted : bool
            Whether cells are weighted by the inverse of their variances over this population, as the default decoder
            does. Otherwise all count alike.
        joint : bool
            Whether counts are divided by n / C, as in the paper, and not by the reports of each cohort.

        Returns
        -------
        ErrorModel
            One entry a setting.
        """
        hit, miss = krr_rates(epsilon, np.asarray(self.cells, float))
        r, met = hit - miss, self.met
        q, gap = miss + r * met, r * (1 - met)
        if joint:
            return self._grown(ErrorModel(q / (r * gap), 1 / r, 0.0, kept=self.kept))
        constraint, unseen = self._known_sum()
        if weighted and classes is not None:
            empty, share = harmonic_means(np.asarray(self.cells), miss, r, met, classes)
            # The variance is (1 - q(p)) times the harmonic mean, which is taken to be straight in p.
            model = ErrorModel((1 - q) * empty / gap**2, ((1 - q) * share - gap * empty) / gap**2, share / gap)
        else:
            known = met / (1 - met)  # the variance by collisions, which least squares solves for
            model = ErrorModel(q * (1 - q) / gap**2, (1 - 2 * q) / gap, 1 - known, known)
        return replace(self._grown(model, (1 + self.cohorts / n) * constraint), unseen=unseen)

    def bit_model(self, epsilon: float, n: float, *, joint: bool = False) -> ErrorModel:
        """The error model of O-RAPPOR from n reports.

        Parameters
        ----------
        epsilon : float
            The privacy budget, in nats.
        n : float
            Reports.
        joint : bool
            Whether counts are divided by n / C, as in the paper, and not by the reports of each cohort.

        Returns
        -------
        ErrorModel
            One entry a setting.
        """
        parts = np.minimum(2 * np.asarray(self.hashes), np.asarray(self.cells, float))
        hit, miss = bit_rates(epsilon, parts)
        r, met = hit - miss, self.met
        depth = np.maximum(self.used * self.taken * (1 - met), 1e-12)  # a symbol's cells, less those shared by chance
        q, gap, scale = miss + r * met, r * (1 - met), r**2 * depth
        base, slope = q * (1 - q) / scale, gap * (1 - 2 * q) / scale
        if joint:
            return self._grown(ErrorModel(base, slope, gap**2 / scale, kept=self.kept))
        known = np.where(np.asarray(self.hashes) == 1, r**2 * met * (1 - met), 0.0) / scale
        return self._grown(ErrorModel(base, slope, gap**2 / scale - known, known), 1 + self.cohorts / n)

    def _known_sum(self) -> tuple[Any, Any]:
        """The factor on variances if estimates are known to add up to one, and the number of unseen symbols.

        The cells of a cohort always add up to one. The estimates do so as far as every cell holds a candidate.
        """
        if not self.is_open:
            return 1.0, 0.0
        filled = (1 - (1 - 1 / self.used) ** self.size) ** 2
        return 1 - filled / self.size, np.rint(np.minimum(self.size * (1 / filled - 1), _MOST_UNSEEN))

    def _grown(self, model: ErrorModel, factor: Any = 1.0) -> ErrorModel:
        """`model` times `growth` and `factor`: that of E[1 / N] over 1 / E[N] for the reports N of a cohort."""
        times = self.growth * factor
        parts = {name: times * getattr(model, name) for name in ("base", "slope", "curve", "collisions")}
        return replace(model, **parts)


def harmonic_means(cells: Any, miss: Any, r: Any, met: Any, classes: Classes) -> tuple[Floats, Floats]:
    """(empty, share): the harmonic mean of a cell's probability m over cohorts is empty + share p for a share p in it.

    Cells are weighted by 1 / m, so the information about a symbol is the mean of 1 / m over the other symbols of its
    cell: each of them is in it with probability `met`. With m = miss + r (p + X) it is the integral over t > 0 of
    exp(-(miss + r p) t) E exp(-r t X), the last a product over symbols.
    """
    cells = np.atleast_1d(cells)
    _, first, back = np.unique(cells, return_index=True, return_inverse=True)
    miss, r, met = (np.broadcast_to(a, cells.shape)[first][:, None] for a in (miss, r, met))
    nodes, weights = np.polynomial.laguerre.laggauss(_NODES)
    means = []
    for own in (0.0, classes.collision):  # the share 0, and the mean share of a person's own symbol
        alone = miss + r * own
        t = r * nodes / alone
        law = np.log1p(met[..., None] * np.expm1(-t[..., None] * classes.values)) @ classes.counts
        found = np.exp((1 - own) * law) @ weights  # the other symbols have 1 - own
        # Where other symbols hold far more than `alone`, the integrand ends before the first node. The harmonic mean is
        # close to the arithmetic mean there, and never above it.
        most = alone[:, 0] + r[:, 0] * (1 - own) * met[:, 0]
        means.append(np.minimum(alone[:, 0] / np.maximum(found, 1e-300), most))
    return means[0][back], ((means[1] - means[0]) / classes.collision)[back]
