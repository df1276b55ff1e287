"""The two models of an outcome: multinomial logit (two answers are the binary one), and a normal one of numbers.

Each gives, for rows of covariates, the log-likelihood of a row's report, its score and its observed information, with
the truth summed out: log f = log sum_s L[s] pi_s(x).
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

Floats = npt.NDArray[np.float64]

_LOG_RANGE = 100.0  # of a standard deviation, either way, in units of the numbers
_TINY = 1e-300  # the smallest likelihood of a row: a report that no answer explains does not stop the fit


def _sigma(theta: Floats) -> float:
    """The standard deviation of a normal model; a step that goes far too far still gives a number."""
    return float(np.exp(np.clip(theta[-1], -_LOG_RANGE, _LOG_RANGE)))


class OutcomeModel(Protocol):
    """What a fit asks of a model; `size` is the number of parameters for p covariates."""

    def size(self, p: int) -> int: ...

    def value(self, theta: Floats, x: Floats, likely: Floats, offset: Floats) -> Floats: ...

    def parts(
        self, theta: Floats, x: Floats, likely: Floats, offset: Floats, weights: Floats
    ) -> tuple[Floats, Floats, Floats, Floats]: ...

    def shares(self, theta: Floats, x: Floats, offset: Floats) -> Floats: ...

    def share_slopes(self, theta: Floats, x: Floats, offset: Floats) -> Floats: ...


@dataclass(frozen=True, slots=True)
class Logit:
    """log pi_s - log pi_base = x'b_s + offset; parameters answer by answer, base left out.

    >>> Logit(3, 0).size(2)
    4
    """

    answers: int
    base: int

    def size(self, p: int) -> int:
        return p * (self.answers - 1)

    def _others(self) -> npt.NDArray[np.intp]:
        return np.array([s for s in range(self.answers) if s != self.base])

    def shares(self, theta: Floats, x: Floats, offset: Floats) -> Floats:
        eta = np.zeros((len(x), self.answers))
        eta[:, self._others()] = x @ theta.reshape(self.answers - 1, -1).T + offset[:, None]
        eta -= eta.max(axis=1, keepdims=True)
        np.exp(eta, out=eta)
        return np.asarray(eta / eta.sum(axis=1, keepdims=True))

    def value(self, theta: Floats, x: Floats, likely: Floats, offset: Floats) -> Floats:
        return np.asarray(np.log(np.maximum((self.shares(theta, x, offset) * likely).sum(axis=1), _TINY)))

    def parts(
        self, theta: Floats, x: Floats, likely: Floats, offset: Floats, weights: Floats
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """log f a row; score a row; the information of all rows (weighted), observed and of the complete data."""
        pi = self.shares(theta, x, offset)
        joint = pi * likely
        total = np.maximum(joint.sum(axis=1), _TINY)
        r = joint / total[:, None]
        others = self._others()
        pi, r = pi[:, others], r[:, others]
        score = ((r - pi)[:, :, None] * x[:, None, :]).reshape(len(x), -1)
        return np.log(total), score, self._kron(x, pi, r, weights), self._kron(x, pi, None, weights)

    def _kron(self, x: Floats, pi: Floats, r: Floats | None, weights: Floats) -> Floats:
        """sum_i w_i [(diag pi - pi pi') - (diag r - r r')] kron x x'; without r that of the complete data."""
        k, p = pi.shape[1], x.shape[1]
        info = np.empty((k, p, k, p))
        for a in range(k):
            for b in range(a + 1):
                each = -pi[:, a] * pi[:, b]
                if a == b:
                    each = each + pi[:, a]
                if r is not None:
                    each = each + r[:, a] * r[:, b] - (r[:, a] if a == b else 0.0)
                block = (x * (each * weights)[:, None]).T @ x
                info[a, :, b, :] = block
                info[b, :, a, :] = block.T
        return info.reshape(k * p, k * p)

    def share_slopes(self, theta: Floats, x: Floats, offset: Floats) -> Floats:
        """The derivative of every share by every parameter, shape (rows, answers, parameters)."""
        pi = self.shares(theta, x, offset)
        others = self._others()
        each = -pi[:, :, None] * pi[:, None, others]
        for place, s in enumerate(others):
            each[:, s, place] += pi[:, s]
        return np.asarray((each[:, :, :, None] * x[:, None, None, :]).reshape(len(x), self.answers, -1))


@dataclass(frozen=True, slots=True)
class Normal:
    """A number that is normal about x'b + offset, of which bins are reported; the last parameter is log sigma.

    >>> Normal((float("-inf"), 1.0, float("inf"))).size(2)
    3
    """

    edges: tuple[float, ...]

    def size(self, p: int) -> int:
        return p + 1

    def _bounds(self, theta: Floats, x: Floats, offset: Floats) -> tuple[Floats, Floats, float]:
        sigma = _sigma(theta)
        mean = x @ theta[:-1] + offset
        z = (np.asarray(self.edges)[None, :] - mean[:, None]) / sigma
        with np.errstate(under="ignore"):
            density = np.exp(-0.5 * np.where(np.isfinite(z), z, 0.0) ** 2) / np.sqrt(2 * np.pi)
        return np.where(np.isfinite(z), z, 0.0), np.where(np.isfinite(z), density, 0.0), sigma

    def shares(self, theta: Floats, x: Floats, offset: Floats) -> Floats:
        sigma = _sigma(theta)
        z = (np.asarray(self.edges)[None, :] - (x @ theta[:-1] + offset)[:, None]) / sigma
        # From the nearer tail, so that far bins keep their digits.
        tail = ndtr(-np.abs(z))
        low, high = tail[:, :-1], tail[:, 1:]
        above = np.where(z[:, :-1] > 0, low, 1 - low) - high
        return np.asarray(np.where(z[:, 1:] <= 0, high - low, above))

    def value(self, theta: Floats, x: Floats, likely: Floats, offset: Floats) -> Floats:
        return np.asarray(np.log(np.maximum((self.shares(theta, x, offset) * likely).sum(axis=1), _TINY)))

    def parts(
        self, theta: Floats, x: Floats, likely: Floats, offset: Floats, weights: Floats
    ) -> tuple[Floats, Floats, Floats, Floats]:
        z, phi, sigma = self._bounds(theta, x, offset)
        total = np.maximum((self.shares(theta, x, offset) * likely).sum(axis=1), _TINY)

        def over(terms: Floats) -> Floats:
            return np.asarray((np.diff(terms, axis=1) * likely).sum(axis=1) / total)

        by_mean, by_log = over(-phi / sigma), over(-z * phi)
        second = over(-z * phi / sigma**2) - by_mean**2
        cross = over((1 - z**2) * phi / sigma) - by_mean * by_log
        logs = over(z * (1 - z**2) * phi) - by_log**2
        score = np.column_stack([by_mean[:, None] * x, by_log])
        p = x.shape[1]
        info = np.empty((p + 1, p + 1))
        info[:p, :p] = -(x * (second * weights)[:, None]).T @ x
        info[:p, p] = info[p, :p] = -(x * (cross * weights)[:, None]).sum(axis=0)
        info[p, p] = -float((logs * weights).sum())
        # Never smaller than that of the report, and always positive: what a step falls back to.
        complete = np.zeros_like(info)
        complete[:p, :p] = (x * (weights / sigma**2)[:, None]).T @ x
        complete[p, p] = 2 * float(weights.sum())
        return np.log(total), score, info, complete

    def share_slopes(self, theta: Floats, x: Floats, offset: Floats) -> Floats:
        z, phi, sigma = self._bounds(theta, x, offset)
        by_mean, by_log = np.diff(-phi / sigma, axis=1), np.diff(-z * phi, axis=1)
        return np.concatenate([by_mean[:, :, None] * x[:, None, :], by_log[:, :, None]], axis=2)
