"""The likelihood of a regression over distinct rows: clear covariates, or one that is randomised itself and summed out.

With a randomised covariate z the likelihood of a row is sum_z rho_z(x) R[z] f(x, z): rho is a logit model of z given
the clear covariates, fitted together with the regression.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.relations.outcome_models import Logit, OutcomeModel

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ReportLikelihood:
    """Rows by values of the hidden covariate: `x` has one matrix for each (one, if there is none)."""

    model: OutcomeModel
    x: tuple[Floats, ...]
    likely: Floats
    offset: Floats
    weights: Floats
    hidden: Floats | None = None  # P(report of z | z), a column for each value
    clear: Floats | None = None  # covariates of the model of z

    @property
    def size(self) -> int:
        """How many parameters there are."""
        return self.outcome_size + self.hidden_size

    @property
    def outcome_size(self) -> int:
        return self.model.size(self.x[0].shape[1])

    @property
    def hidden_size(self) -> int:
        return 0 if self.clear is None else (len(self.x) - 1) * self.clear.shape[1]

    def thinned(self, step: int) -> "ReportLikelihood":
        """Every so many rows, for a first look."""
        cut = slice(None, None, step)
        more: dict[str, Any] = {} if self.hidden is None else {"hidden": self.hidden[cut]}
        more |= {} if self.clear is None else {"clear": self.clear[cut]}
        x = tuple(part[cut] for part in self.x)
        return ReportLikelihood(self.model, x, self.likely[cut], self.offset[cut], self.weights[cut], **more)

    def _mixed(self, theta: Floats) -> tuple[Floats, Floats]:
        """log of rho_z R_z f_z for each z, and rho."""
        assert self.hidden is not None
        assert self.clear is not None
        b, g = theta[: self.outcome_size], theta[self.outcome_size :]
        rho = Logit(len(self.x), 0).shares(g, self.clear, np.zeros(len(self.clear)))
        logs = np.column_stack([self.model.value(b, x, self.likely, self.offset) for x in self.x])
        with np.errstate(divide="ignore"):
            return logs + np.log(np.maximum(rho, 1e-300)) + np.log(np.maximum(self.hidden, 1e-300)), rho

    def value(self, theta: Floats) -> float:
        """The total log-likelihood."""
        if self.hidden is None:
            return float(self.weights @ self.model.value(theta, self.x[0], self.likely, self.offset))
        logs, _ = self._mixed(theta)
        return float(self.weights @ np.logaddexp.reduce(logs, axis=1))

    def reach(self, move: Floats) -> float:
        """By how much a step changes the log odds of anybody's answer, at most; nothing for numbers."""
        if not isinstance(self.model, Logit):
            return 0.0
        steps = move[: self.outcome_size].reshape(self.model.answers - 1, -1).T
        return max(float(np.abs(x @ steps).max()) for x in self.x)

    def scores(self, theta: Floats) -> Floats:
        """The score of every row, shape (rows, parameters)."""
        return self._all(theta)[1]

    def parts(self, theta: Floats) -> tuple[float, Floats, Floats, Floats, Callable[[], Floats]]:
        """Log-likelihood, score, observed information, that of the complete data, and the sum of scores' squares."""
        logs, scores, observed, complete = self._all(theta)

        def squares() -> Floats:
            return np.asarray((scores * self.weights[:, None]).T @ scores)

        return float(self.weights @ logs), self.weights @ scores, observed, complete, squares

    def _all(self, theta: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        if self.hidden is None:
            return self.model.parts(theta, self.x[0], self.likely, self.offset, self.weights)
        assert self.clear is not None
        logs, rho = self._mixed(theta)
        total = np.logaddexp.reduce(logs, axis=1)
        t = np.exp(logs - total[:, None])
        b, size, q = theta[: self.outcome_size], self.outcome_size, self.clear.shape[1]
        observed, complete = np.zeros((self.size, self.size)), np.zeros((self.size, self.size))
        score = np.zeros((len(total), self.size))
        spread = np.zeros((self.size, self.size))
        for z, x in enumerate(self.x):
            w = self.weights * t[:, z]
            _, outcome, info, whole = self.model.parts(b, x, self.likely, self.offset, w)
            observed[:size, :size] += info
            complete[:size, :size] += whole
            away = -rho[:, 1:].copy()
            if z:
                away[:, z - 1] += 1
            each = np.column_stack([outcome, (away[:, :, None] * self.clear[:, None, :]).reshape(len(total), -1)])
            score += t[:, z, None] * each
            spread += (each * w[:, None]).T @ each
        k = len(self.x) - 1
        rest = np.zeros((k, q, k, q))
        for i in range(k):
            for j in range(k):
                each = -rho[:, i + 1] * rho[:, j + 1] + (rho[:, i + 1] if i == j else 0.0)
                rest[i, :, j, :] = (self.clear * (each * self.weights)[:, None]).T @ self.clear
        observed[size:, size:] += rest.reshape(k * q, k * q)
        complete[size:, size:] += rest.reshape(k * q, k * q)
        observed -= spread - (score * self.weights[:, None]).T @ score
        return total, score, observed, complete
