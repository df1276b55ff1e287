"""The mass of an open alphabet that no candidate explains."""

from dataclasses import dataclass

__all__ = ["Unallocated"]


@dataclass(frozen=True, slots=True)
class Unallocated:
    """What no candidate explains: `value` beside `Estimate.probabilities`, `raw` the unbiased estimate of it."""

    value: float
    raw: float
    standard_error: float

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """A confidence interval around `raw`."""
        from scipy.special import ndtri

        reach = -float(ndtri((1 - level) / 2)) * self.standard_error
        return self.raw - reach, self.raw + reach
