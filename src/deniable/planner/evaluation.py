"""The expected loss at a point of the search: prediction and simulation, weighted by their uncertainties."""

from dataclasses import dataclass, replace
from math import exp, log, sqrt

from deniable.decoders import DEFAULT
from deniable.planner.measure import LossSample
from deniable.planner.options import Option
from deniable.planner.result import Expected
from deniable.planner.shapes import Shape
from deniable.survey import Survey
from deniable.theory import Losses

# Relative standard deviation of the prediction by normal draws, without and with cohorts; measured in
# docs/decisions/0012-planner.md.
_TRUST, _TRUST_COHORTS = 0.04, 0.06
_TRUST_FEW, _TRUST_FEW_COHORTS = 0.01, 0.03  # the same for small alphabets, where the default decoder only projects
# Prior standard deviations of how a correction changes: per unit of log epsilon or log n, and per square of it.
_DRIFT, _BEND = 0.4, 0.4


@dataclass
class Evaluation:
    """A point of the search: an option with its epsilon and n, and its predicted and simulated losses.

    `samples` were simulated here or nearby, each with the prediction at its own point and that point's log epsilon or
    log n, whichever is found.
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
        """How many simulated surveys were decoded with the default decoder."""
        return sum(sample.repeats for sample, _, _ in self.samples)

    def after(self, before: "Evaluation | None") -> "Evaluation":
        """With the samples of an earlier point, if that has the same population."""
        if before is None or before.shape is not self.shape:
            return self
        return replace(
            self, samples=self.samples + before.samples, decoder=self.decoder if self.samples else before.decoder
        )

    def expected(self, metric: str, level: float) -> Expected:
        """Mean and quantile of a loss, from prediction and simulation, weighted by their uncertainties."""
        mean, guess = self.predicted.mean(metric), self.predicted.quantile(metric, level)
        trust = trust_of(self.option.cohorts, len(self.shape.p))
        if not self.samples:
            return Expected(mean, trust * mean, guess, trust * guess)
        # Each sample gives the ratio of real to predicted loss at its point; its logarithm is extrapolated on a line.
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


def trust_of(cohorts: int, size: int) -> float:
    """The relative standard deviation of a predicted loss.

    >>> trust_of(1, 9), trust_of(64, 9), trust_of(1, 2)
    (0.04, 0.06, 0.01)
    """
    alone, shared = (_TRUST, _TRUST_COHORTS) if DEFAULT.learns(size) else (_TRUST_FEW, _TRUST_FEW_COHORTS)
    return shared if cohorts > 1 else alone


def _line_at_zero(points: list[tuple[float, float, float]]) -> tuple[float, float]:
    """The value at zero of a line fitted to points (x, y, standard error of y), and its standard error.

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
    """The weighted mean of a prediction and a measurement, and its error; significant differences widen the prior.

    >>> weighed(1.0, 1.1, 0.01, trust=0.01)[0] > 1.098
    True
    >>> weighed(1.0, 1.02, 0.05, trust=0.01)[0] < 1.001
    True
    """
    prior = max((trust * guess) ** 2, (found - guess) ** 2 - error**2)
    weight = prior / (prior + error**2) if error > 0 else 1.0
    return guess + weight * (found - guess), sqrt(weight) * error
