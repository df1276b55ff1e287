"""What is run: the axes, which are the paper's where it states them and ours where it does not, and the counts."""

from dataclasses import dataclass

__all__ = [
    "KARY_EPSILONS",
    "KARY_SIZES",
    "KARY_USERS",
    "LINE_EPSILONS",
    "LOW_EPSILON",
    "PARAMETER_EPSILONS",
    "Settings",
]

KARY_SIZES = tuple(2**power for power in range(1, 13))
KARY_EPSILONS = (0.1, 0.15, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0)
KARY_USERS = (30, 100, 1000, 30_000, 1_000_000)

LINE_EPSILONS = (0.25, 0.375, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 10.0)
PARAMETER_EPSILONS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0)
LOW_EPSILON = 2.0


@dataclass(frozen=True)
class Settings:
    """One run: its seed, its size, and the figures that are wanted.

    >>> Settings().evaluations, Settings(full=True).evaluations, Settings(full=True).samples
    (200, 10000, 50)
    """

    seed: int = 0
    full: bool = False
    exhaustive: bool = False
    figures: tuple[str, ...] = ()

    @property
    def evaluations(self) -> int:
        """Evaluations a cell of experiments 2 and 3; the paper's count in a full run."""
        return 10_000 if self.full else 200

    @property
    def samples(self) -> int:
        """Samples a reported point of experiments 4 to 8; the paper's count in a full run."""
        return 50 if self.full else 8
