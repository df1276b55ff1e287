"""Cov(u) for the unbiased frequencies u of all cohorts, and with it the covariance of H' u and the variance of sums.

The notation is that of `theory.covariance`: u_c has the covariance V_c = w_c Gamma_c / r**2 with w_c = 1 / n_c, or
C / n in the joint normalisation, which adds the noise of random cohort sizes. It is block diagonal, and a block is a
diagonal less rank one but for Bloom filters, so neither V nor M = H' V H has to be multiplied out to be used.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deniable.matrices import Design, add_squares
from deniable.mechanisms import Mechanism

Floats = npt.NDArray[np.float64]


def excess_of(mechanism: Mechanism) -> tuple[float, float]:
    """(a, b): two bits of a report co-vary by a + b (x_i + x_j) more than if they were independent given the answer.

    Zero where they are, as bit flips are, and for index reports, whose covariance needs no model.
    """
    if mechanism.one_column:
        return 0.0, 0.0
    neither, one = mechanism.pairs
    miss, r = mechanism.miss, mechanism.hit - mechanism.miss
    return float(neither - miss**2), float(one - neither - miss * r)


@dataclass(frozen=True, eq=False)
class ScoreLaw:
    """The covariance of the unbiased frequencies u, cohort by cohort.

    Parameters
    ----------
    design : Design
        The matrix H of the survey and its candidates.
    population : ndarray
        p, shape (S,).
    columns : ndarray
        m, the probability that each column is hit, shape (C, k).
    weights : ndarray
        w_c / r**2, shape (C,).
    mechanism : Mechanism
        Of the survey.
    n : float, optional
        All reports, in the joint normalisation; else None.

    Examples
    --------
    >>> import deniable as dn
    >>> from deniable.matrices import design_of
    >>> survey = dn.orr(symbols=3, epsilon=2, cells=2, cohorts=4, seed=bytes(16))
    >>> law = ScoreLaw.of(design_of(survey), survey.mechanism, np.array([0.5, 0.3, 0.2]), np.full(4, 1e-3))
    >>> inside = np.array([1.0, 1.0, 0.0])
    >>> bool(np.isclose(inside @ law.matrix() @ inside, law.variance(design_of(survey).forward(inside))))
    True
    >>> packed = np.zeros((3, 3), order="F")
    >>> law.add_to(packed)
    >>> bool(np.allclose(packed, np.tril(law.matrix())))
    True
    """

    design: Design
    population: Floats
    columns: Floats  # m, shape (C, k)
    weights: Floats  # w_c / r**2
    mechanism: Mechanism
    n: float | None  # all reports, in the joint normalisation

    @classmethod
    def of(
        cls,
        design: Design,
        mechanism: Mechanism,
        p: Floats,
        inverse: Floats | None,
        *,
        n: float | None = None,
        observed: Floats | None = None,
    ) -> "ScoreLaw":
        """The covariance for a population, given the cohort sizes or jointly for n reports.

        Parameters
        ----------
        design : Design
            The matrix H of the survey and its candidates.
        mechanism : Mechanism
            Of the survey.
        p : ndarray
            The population, shape (S,).
        inverse : ndarray, optional
            1 / n_c of each cohort; None for the joint normalisation, which needs n.
        n : float, optional
            All reports, in the joint normalisation; else None.
        observed : ndarray, optional
            Column frequencies, shape (C, k), in place of m = miss + r H p.

        Returns
        -------
        ScoreLaw
            The covariance.
        """
        miss, r = mechanism.affine
        m = miss + r * design.forward(p) if observed is None else observed
        if inverse is not None:
            return cls(design, p, m, inverse / r**2, mechanism, None)
        assert n is not None
        return cls(design, p, m, np.full(design.cohorts, design.cohorts / (n * r**2)), mechanism, n)

    @property
    def _r(self) -> float:
        return self.mechanism.affine[1]

    @property
    def _x(self) -> Floats:
        miss, r = self.mechanism.affine
        return (self.columns - miss) / r

    @property
    def _paired(self) -> bool:
        """Whether bits of one answer go together, so that a cohort's block is not a diagonal less rank one."""
        return not self.mechanism.one_column and self.design.hashes > 1

    @property
    def _parts(self) -> tuple[Floats, Floats]:
        """(d, e): Gamma = diag(d) - e e', and what bits of one answer or of one set add off the diagonal."""
        m = self.columns
        if self.mechanism.one_column:
            return m, m
        a, b = excess_of(self.mechanism)
        e = m - self.mechanism.affine[0]
        # What is added off the diagonal is added on it too where it is of low rank: here it is taken off again.
        return m * (1 - m) + e**2 - a - 2 * b * self._x, e

    def variance(self, values: Floats) -> float:
        """Var(sum v u) for v of shape (C, k).

        Claim: that is p' M p for v = H p.
        Proof: tests/unit/theory/test_score_law.py::test_a_variance_is_the_quadratic_form_of_the_matrix

        Parameters
        ----------
        values : ndarray
            v, shape (C, k).

        Returns
        -------
        float
            The variance of sum v u.
        """
        (d, e), (a, b), m = self._parts, excess_of(self.mechanism), self.columns
        total = values.sum(axis=1)
        each = (d * values**2).sum(axis=1) - (e * values).sum(axis=1) ** 2
        each += a * total**2 + 2 * b * (self._x * values).sum(axis=1) * total
        if self._paired:
            each += self._r**2 * self.design.pair_form(self.population, values)
        if self.n is None:
            return float(self.weights @ each)
        means = (m * values).sum(axis=1)
        return float(self.weights @ (each + means**2)) - float(means.sum()) ** 2 / (self.n * self._r**2)

    def matrix(self) -> Floats:
        """M = Cov(H' u), dense S x S."""
        packed = np.zeros((self.design.symbols, self.design.symbols), order="F")
        self.add_to(packed)
        return np.asarray(packed + np.tril(packed, -1).T)

    def add_to(self, packed: Floats) -> None:
        """Add M to the lower triangle of a matrix, with the diagonal.

        Parameters
        ----------
        packed : ndarray
            S x S in Fortran order; its upper triangle is unchanged.
        """
        from scipy.linalg import blas

        design, joint = self.design, self.n is not None
        if self._paired:
            self._add_pairs(packed)
        else:
            d, e = self._parts
            design.add_gram(packed, self.weights[:, None] * d, lower=True)
            if not (joint and self.mechanism.one_column):  # there e e' and m m' cancel
                self._add_squares(packed, e, -1.0)
                if joint:
                    self._add_squares(packed, self.columns, 1.0)
            a, b = excess_of(self.mechanism)
            if a or b:
                # Sets, in which an answer occupies one cell: H_c' 1 = 1, so what they add is of rank two.
                scores = design.adjoint(self.weights[:, None] * self._x)
                half = b * scores + a * float(self.weights.sum()) / 2
                blas.dsyr2(1.0, np.ones(design.symbols), half, a=packed, lower=1, overwrite_a=1)
        if self.n is not None:
            blas.dsyr(-1 / (self.n * self._r**2), design.adjoint(self.columns), a=packed, lower=1, overwrite_a=1)

    def _add_squares(self, packed: Floats, values: Floats, sign: float) -> None:
        """Add sign * sum_c w_c s_c s_c' with s_c = H_c' v_c."""
        scores = self.design.cohort_scores(values) * np.sqrt(self.weights)
        add_squares(packed, scores, sign=sign, lower=True)

    def _add_pairs(self, packed: Floats) -> None:
        """Add sum_c w_c H_c' Gamma_c H_c, by the roots of the whole blocks."""
        design, r, k = self.design, self._r, self.design.cells
        (a, b), x, m = excess_of(self.mechanism), self._x, self.columns
        step = max(1, (1 << 22) // ((k + 1) * design.symbols))
        for start in range(0, design.cohorts, step):
            onehot = design._onehot(slice(start, start + step), np.float64)
            blocks = np.empty((onehot.shape[1], k, k))
            for place, block in enumerate(blocks):
                c = start + place
                block[:] = r**2 * (design._pairs(onehot[:, place, :k], self.population) - np.outer(x[c], x[c]))
                block += a + b * (x[c][:, None] + x[c])
                np.fill_diagonal(block, m[c] * (1 - m[c]))
                if self.n is not None:
                    block += np.outer(m[c], m[c])
            # Positive definite: no bit is without noise, of variance 1e-14 at the largest epsilon and the fewest cells.
            roots = np.linalg.cholesky(blocks) * np.sqrt(self.weights[start : start + step])[:, None, None]
            turned = np.empty((design.symbols, len(blocks), k))
            for place, root in enumerate(roots):
                turned[:, place] = onehot[:, place, :k] @ root
            add_squares(packed, turned.reshape(design.symbols, -1), sign=1.0, lower=True)
