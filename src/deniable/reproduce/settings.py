"""What is run: the axes, which are the paper's where it states them and ours where it does not, and the counts."""

from dataclasses import dataclass

# Experiments 2 and 3: alphabet sizes k, epsilons in nats, and users n of the grids.
KARY_SIZES = tuple(2**power for power in range(1, 13))
KARY_EPSILONS = (0.1, 0.15, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0)  # nats
KARY_USERS = (30, 100, 1000, 30_000, 1_000_000)  # n

# Experiments 4 to 7: epsilons, in nats, of the lines for S = 256, and of the parameter studies and S = 4096.
LINE_EPSILONS = (0.25, 0.375, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 10.0)
PARAMETER_EPSILONS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0)  # nats
LOW_EPSILON = 2.0  # nats: the figures that zoom in show epsilons up to this one

# The grid of C, the number of cohorts.
COHORTS = tuple(2**power for power in range(11))
# Every value has its line in the parameter studies of S = 256; those of S = 4096 show these.
LINES_S4096 = {"k": (2, 4, 16, 64, 256, 1024, 4096, 16384), "C": (1, 2, 4, 16, 64, 256, 1024), "h": (1, 2)}
# Experiment 8: the wanted l1 losses, the numbers of users, both by alphabet size S, and the range of epsilon in nats.
PRIVACY_LOSSES = {256: (0.02, 0.05, 0.10, 0.20, 0.30), 4096: (0.10, 0.20, 0.30, 0.40)}
PRIVACY_USERS = {  # n
    256: (*(first * 10**power for power in range(4, 8) for first in (1, 3)), 10**8, 10**9),
    4096: (10**5, 10**6, 3 * 10**6, 10**7, 3 * 10**7, 10**8, 10**9),
}
PRIVACY_RANGE = (0.1, 10.0)  # nats


def cells(symbols: int) -> tuple[int, ...]:
    """The paper's grid of k: to 4096, and to 16384 for the large alphabet."""
    return tuple(2**power for power in range(1, 13 if symbols == 256 else 15))


def hashes(symbols: int) -> tuple[int, ...]:
    """The paper's grid of h."""
    return (1, 2, 4, 8, 16) if symbols == 256 else (1, 2)


@dataclass(frozen=True)
class Race:
    """Settings predicted within `margin` of the best, at most so many, are measured on samples never reported."""

    margin: float
    most: int
    samples: int


@dataclass(frozen=True)
class Settings:
    """One run: its seed, its size, and the figures that are wanted.

    Parameters
    ----------
    seed : int
        Of all simulations.
    full : bool
        Whether to repeat everything as often as the paper does.
    exhaustive : bool
        Whether to simulate the whole grid of parameters, also where theory rules a part out.
    figures : tuple of str
        The names of the figures; none: all.

    Examples
    --------
    >>> Settings().evaluations, Settings(full=True).evaluations, Settings(full=True).samples()
    (200, 10000, 50)
    >>> Settings(full=True).race(4096).most
    2
    """

    seed: int = 0
    full: bool = False
    exhaustive: bool = False
    figures: tuple[str, ...] = ()

    @property
    def evaluations(self) -> int:
        """Evaluations a cell of experiments 2 and 3; the paper's count in a full run."""
        return 10_000 if self.full else 200

    def race(self, symbols: int) -> Race:
        """How free parameters are chosen: a quick run takes the best prediction, a full run measures the best few.

        Parameters
        ----------
        symbols : int
            The size of the alphabet, 256 or 4096.
        """
        if not self.full and not self.exhaustive:
            return Race(margin=1.005, most=1, samples=0)
        return Race(margin=1.15, most=5, samples=8) if symbols == 256 else Race(margin=1.06, most=2, samples=4)

    def samples(self, symbols: int = 256) -> int:
        """Samples a reported point of experiments 4 to 8; the paper's count in a full run.

        Parameters
        ----------
        symbols : int
            The size of the alphabet, 256 or 4096.
        """
        return 50 if self.full else 8 if symbols == 256 else 4
