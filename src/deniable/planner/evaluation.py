"""Where a plan stands, and what is expected there: prediction and simulation, each weighed by how far it may be off."""

from dataclasses import dataclass, replace
from math import exp, log, sqrt

from deniable.decoders import DEFAULT
from deniable.planner.measure import LossSample
from deniable.planner.options import Option
from deniable.planner.result import Expected
from deniable.planner.shapes import Shape
from deniable.survey import Survey
from deniable.theory import Losses

_TRUST, _TRUST_COHORTS = 0.04, 0.06  # how far the normal draws are off, as a standard deviation
_TRUST_FEW, _TRUST_FEW_COHORTS = 0.01, 0.03  # the same where the default only projects
_DRIFT, _BEND = 0.4, 0.4  # how a correction goes out of date, per unit of log epsilon or log n, and per square of it


@dataclass
class Evaluation:
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
    samples: tuple[tuple[LossSample, Losses, float], ...] = ()

    @property
    def spends(self) -> float:
        """The epsilon of one report."""
        return float(self.survey.mechanism.report_bound)

    @property
    def repeats(self) -> int:
        """How many simulated surveys were decoded as they will be."""
        return sum(sample.repeats for sample, _, _ in self.samples)

    def after(self, before: "Evaluation | None") -> "Evaluation":
        """With what was simulated before, if that was the same population."""
        if before is None or before.shape is not self.shape:
            return self
        return replace(
            self, samples=self.samples + before.samples, decoder=self.decoder if self.samples else before.decoder
        )

    def expected(self, metric: str, level: float) -> Expected:
        """Prediction and simulation, each weighed by how far it may be off."""
        mean, guess = self.predicted.mean(metric), self.predicted.quantile(metric, level)
        learns = DEFAULT.learns(len(self.shape.p))
        alone, shared = (_TRUST, _TRUST_COHORTS) if learns else (_TRUST_FEW, _TRUST_FEW_COHORTS)
        trust = shared if self.option.cohorts > 1 else alone
        if not self.samples:
            return Expected(mean, trust * mean, guess, trust * guess)
        # Each sample says by what factor the prediction is off where it was drawn; the factor moves along with x.
        told: list[float] = []
        for i, value in enumerate((mean, guess)):
            points = []
            for sample, old, place in self.samples:
                predicted = old.quantile(metric, level) if i else old.mean(metric)
                found, error = sample.expected(metric, level)[2 * i : 2 * i + 2]
                points.append((place - self.place, log(found / predicted), error / found))
            off, uncertain = _line_at_zero(points)
            told += weighed(value, value * exp(off), value * exp(off) * uncertain, trust)
        return Expected(*told)


def _line_at_zero(points: list[tuple[float, float, float]]) -> tuple[float, float]:
    """The height at zero of a line through points (x, y, error of y), and its error; how steep it is, is unknown.

    >>> off, error = _line_at_zero([(-0.1, 0.3, 0.001), (-0.2, 0.2, 0.001)])  # twice the same rise
    >>> 0.35 < off < 0.4, error < 0.03
    (True, True)
    >>> [round(x, 6) for x in _line_at_zero([(0.0, 0.3, 0.01)])]
    [0.3, 0.01]
    """
    a = b = c = u = v = 0.0
    for x, y, error in points:
        weight = 1 / (error**2 + (_BEND * x * x) ** 2 + 1e-12)
        a, b, c = a + weight, b + weight * x, c + weight * x * x
        u, v = u + weight * y, v + weight * x * y
    c += 1 / _DRIFT**2
    gone = a * c - b * b
    return (c * u - b * v) / gone, sqrt(c / gone)


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
