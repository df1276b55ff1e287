"""Where a plan stands, and what is expected there: prediction and simulation, each weighed by how far it may be off."""

from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from deniable.decoders.empirical_bayes import FEW
from deniable.planner.options import Option
from deniable.planner.proxy import Losses
from deniable.planner.result import Expected
from deniable.planner.shapes import Shape
from deniable.survey import Survey

__all__ = ["Point", "weighed"]

_TRUST, _TRUST_COHORTS = 0.04, 0.06  # how far the normal draws are off, as a standard deviation
_TRUST_FEW, _TRUST_FEW_COHORTS = 0.01, 0.03  # the same where the default only projects
_PRIOR = 10
_READ_OFF = 400  # repeats from which a quantile is read off


@dataclass
class Point:
    """Where a plan stands: the option with its epsilon and n, and what is expected there."""

    option: Option
    epsilon: object
    n: int
    survey: Survey
    shape: Shape
    predicted: Losses
    simulated: Losses
    decoder: str

    @property
    def spends(self) -> float:
        return self.survey.epsilon

    def pooled(self, before: "Point | None") -> "Point":
        """With what was simulated a step before, scaled by what was predicted to change since."""
        if before is None or before.shape is not self.shape:
            return self
        scale = self.predicted.rows.mean(axis=1) / before.predicted.rows.mean(axis=1)
        rows = np.concatenate([self.simulated.rows, before.simulated.rows * scale[:, None]], axis=1)
        return replace(self, simulated=Losses(rows))

    def expected(self, metric: str, level: float) -> Expected:
        """Prediction and simulation, each weighed by how far it may be off."""
        old, new = self.predicted, self.simulated
        repeats = new.rows.shape[1]
        guess = old.quantile(metric, level)
        alone, shared = (_TRUST, _TRUST_COHORTS) if len(self.shape.p) > FEW else (_TRUST_FEW, _TRUST_FEW_COHORTS)
        trust = shared if self.option.cohorts > 1 else alone
        if repeats == 0:
            return Expected(old.mean(metric), trust * old.mean(metric), guess, trust * guess)
        # A spread is known to 1 / sqrt(2 repeats) of itself; the predicted one stands for `_PRIOR` more repeats.
        drawn = old.spread(metric)
        spread = (
            sqrt((repeats * new.spread(metric) ** 2 + _PRIOR * drawn**2) / (repeats + _PRIOR)) if repeats > 1 else drawn
        )
        mean_error = spread / sqrt(repeats)
        if repeats >= _READ_OFF:
            reach = sqrt(level * (1 - level) / repeats)
            high, low = (new.quantile(metric, min(level + sign * reach, 1.0)) for sign in (1, -1))
            bound, bound_error = new.quantile(metric, level), (high - low) / 2
        else:
            above = (guess - old.mean(metric)) / drawn if drawn > 0 else 0.0
            bound = new.mean(metric) + above * spread
            bound_error = spread * sqrt(1 / repeats + above**2 / (2 * (repeats + _PRIOR)))
        mean, mean_error = weighed(old.mean(metric), new.mean(metric), mean_error, trust)
        return Expected(mean, mean_error, *weighed(guess, bound, bound_error, trust))


def weighed(guess: float, found: float, error: float, trust: float) -> tuple[float, float]:
    """The mean of a prediction and a measurement, and its error; a prediction that noise does not excuse counts less.

    >>> weighed(1.0, 1.1, 0.01, trust=0.01)[0] > 1.098
    True
    >>> weighed(1.0, 1.02, 0.05, trust=0.01)[0] < 1.001
    True
    """
    prior = max((trust * guess) ** 2, (found - guess) ** 2 - error**2)
    weight = prior / (prior + error**2) if error > 0 else 1.0
    return guess + weight * (found - guess), sqrt(weight) * error
