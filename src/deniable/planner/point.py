"""Where a plan stands, and what is expected there: prediction and simulation, each weighed by how far it may be off."""

from dataclasses import dataclass, replace
from math import exp, log, sqrt

from deniable.decoders.empirical_bayes import FEW
from deniable.planner.measure import Sample
from deniable.planner.options import Option
from deniable.planner.proxy import Losses
from deniable.planner.result import Expected
from deniable.planner.shapes import Shape
from deniable.survey import Survey

__all__ = ["Point", "weighed"]

_TRUST, _TRUST_COHORTS = 0.04, 0.06  # how far the normal draws are off, as a standard deviation
_TRUST_FEW, _TRUST_FEW_COHORTS = 0.01, 0.03  # the same where the default only projects
_DRIFT = 0.2  # how fast a correction goes out of date, per unit of log epsilon or log n


@dataclass
class Point:
    """Where a plan stands: the option with its epsilon and n, and what is expected there.

    `samples` were simulated here or nearby, each with the prediction for where that was and with its place on the
    logarithm of what is asked for.
    """

    option: Option
    epsilon: object
    n: int
    survey: Survey
    shape: Shape
    predicted: Losses
    decoder: str
    place: float
    samples: tuple[tuple[Sample, Losses, float], ...] = ()

    @property
    def spends(self) -> float:
        return self.survey.epsilon

    @property
    def repeats(self) -> int:
        """How many simulated surveys were decoded as they will be."""
        return sum(sample.repeats for sample, _, _ in self.samples)

    def after(self, before: "Point | None") -> "Point":
        """With what was simulated before, if that was the same population."""
        if before is None or before.shape is not self.shape:
            return self
        return replace(
            self, samples=self.samples + before.samples, decoder=self.decoder if self.samples else before.decoder
        )

    def expected(self, metric: str, level: float) -> Expected:
        """Prediction and simulation, each weighed by how far it may be off."""
        mean, guess = self.predicted.mean(metric), self.predicted.quantile(metric, level)
        alone, shared = (_TRUST, _TRUST_COHORTS) if len(self.shape.p) > FEW else (_TRUST_FEW, _TRUST_FEW_COHORTS)
        trust = shared if self.option.cohorts > 1 else alone
        if not self.samples:
            return Expected(mean, trust * mean, guess, trust * guess)
        # Each sample says by what factor the prediction is off, the nearer the better.
        off: list[tuple[float, float]] = [(0.0, 0.0), (0.0, 0.0)]
        for sample, old, place in self.samples:
            found = sample.expected(metric, level)
            drift = _DRIFT * (place - self.place)
            pairs = ((old.mean(metric), *found[:2]), (old.quantile(metric, level), *found[2:]))
            for i, (predicted, value, error) in enumerate(pairs):
                weight = 1 / ((error / value) ** 2 + drift**2 + 1e-12)
                off[i] = off[i][0] + weight, off[i][1] + weight * log(value / predicted)
        told: list[float] = []
        for value, (weight, total) in zip((mean, guess), off, strict=True):
            found_here = value * exp(total / weight)
            told += weighed(value, found_here, found_here / sqrt(weight), trust)
        return Expected(*told)


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
