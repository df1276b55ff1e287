"""An `Entropy` that walks every branch of the real client code, with the exact weight of each.

`Walker.word()` returns a symbolic word that stands for all integers of an interval at once. Comparing it with a number
splits the interval in two; dividing it splits it into one part a quotient; a remainder splits it into residues. Each
split is a fork: `walk` runs the code again and again, depth first, until every side of every fork has been taken, and
adds up the weights. So the exact law of what the code returns falls out at the full width of 64 bits. An operation that
is not modelled here raises, so code cannot sneak past.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Generic, NamedTuple, TypeVar, cast

from deniable.noise import Entropy

T = TypeVar("T")

MAX_BRANCHES = 1 << 12
MAX_PATHS = 200_000


class Unmodelled(TypeError):
    """The code did something with a word that the walker cannot follow exactly."""


class OutOfWords(RuntimeError):
    """The code asked for more words than this run allows."""


class Fork(NamedTuple):
    """One decision: how many words lead to each side, and the side taken."""

    weights: tuple[int, ...]
    taken: int


class Law(NamedTuple, Generic[T]):
    """Every outcome with its exact probability, and how many words the paths drew."""

    probabilities: dict[T, Fraction]
    draws: set[int]


class Forking(Entropy):
    """A double with a `uniform_below` of its own, which it also takes for falling bounds, one after the other.

    The real one is proved in `test_noise.py` to do the same with the same words.
    """

    def falling_below(self, bound: int, count: int) -> list[int]:
        return [self.uniform_below(bound - step) for step in range(count)]


class Walker(Forking):
    """One run: takes the prescribed side of the first forks, and the first side of every fork after them."""

    def __init__(self, prescribed: Sequence[Fork] = (), width: int = 64, max_words: int | None = None) -> None:
        self.width = width
        self.weight = Fraction(1)
        self.forks: list[Fork] = []
        self.draws = 0
        self._prescribed = prescribed
        self._max_words = max_words

    def word(self) -> int:
        if self.draws == self._max_words:
            raise OutOfWords
        self.draws += 1
        return cast(int, Word(Source(self, 0, 1 << self.width), 0))

    def uniform_below(self, bound: int) -> int:
        """A fork with `bound` equal sides; the real one is proved in `test_noise.py`."""
        return self.choose([1] * bound)

    def choose(self, weights: Sequence[int]) -> int:
        """Fork with these weights and return the side taken; a side of weight zero is never taken."""
        if len(weights) > MAX_BRANCHES:
            raise Unmodelled(f"a fork into {len(weights)} branches is too many to walk")
        sides = [side for side, weight in enumerate(weights) if weight]
        if len(sides) == 1:
            return sides[0]
        here = tuple(weights[side] for side in sides)
        fork = Fork(here, 0)
        if len(self.forks) < len(self._prescribed):
            fork = self._prescribed[len(self.forks)]
            if fork.weights != here:
                raise Unmodelled("the code took another way on the same words: it draws randomness elsewhere")
        self.forks.append(fork)
        self.weight *= Fraction(here[fork.taken], sum(here))
        return sides[fork.taken]


class Source:
    """What is known of one drawn word: it lies in [low, high)."""

    def __init__(self, walker: Walker, low: int, high: int) -> None:
        self.walker, self.low, self.high = walker, low, high
        self.spent = False


class Word:
    """A drawn word minus a known shift."""

    __slots__ = ("_shift", "_source")

    def __init__(self, source: Source, shift: int) -> None:
        self._source, self._shift = source, shift

    def _split(self, at: Sequence[int]) -> int:
        """Fork into the parts of the interval between the cuts, and keep the part taken."""
        source = self._source
        if source.spent:
            raise Unmodelled("a word was used again after its remainder")
        inner = [min(max(cut + self._shift, source.low), source.high) for cut in at]
        edges = [source.low, *inner, source.high]
        part = source.walker.choose([edges[i + 1] - edges[i] for i in range(len(edges) - 1)])
        source.low, source.high = edges[part], edges[part + 1]
        return part

    def __lt__(self, other: object) -> bool:
        return self._split([_plain(other)]) == 0

    def __ge__(self, other: object) -> bool:
        return not self < other

    def __le__(self, other: object) -> bool:
        return self < _plain(other) + 1

    def __gt__(self, other: object) -> bool:
        return not self <= other

    def __sub__(self, other: object) -> "Word":
        return Word(self._source, self._shift + _plain(other))

    def __add__(self, other: object) -> "Word":
        return Word(self._source, self._shift - _plain(other))

    def __floordiv__(self, other: object) -> int:
        divisor = _divisor(other)
        first = (self._source.low - self._shift) // divisor
        last = (self._source.high - 1 - self._shift) // divisor
        if last - first >= MAX_BRANCHES:
            raise Unmodelled(f"a division into {last - first + 1} quotients is too many to walk")
        return first + self._split([quotient * divisor for quotient in range(first + 1, last + 1)])

    def __mod__(self, other: object) -> int:
        divisor, source = _divisor(other), self._source
        if divisor > MAX_BRANCHES:
            raise Unmodelled(f"a remainder by {divisor} is too many to walk")
        self._split([])
        low, high = source.low - self._shift, source.high - self._shift
        source.spent = True
        return source.walker.choose([(high - 1 - r) // divisor - (low - 1 - r) // divisor for r in range(divisor)])

    def _refuse(self, *_: object) -> bool:
        raise Unmodelled("a word may be compared with, shifted and divided by known numbers, and nothing else")

    # What `object` would answer for every value; everything else that is not above is a TypeError already.
    __eq__ = __ne__ = __bool__ = _refuse
    __hash__ = __str__ = __repr__ = __format__ = _refuse  # type: ignore[assignment]


def _plain(value: object) -> int:
    if type(value) is not int:
        raise Unmodelled(f"a word met a {type(value).__name__}")
    return value


def _divisor(value: object) -> int:
    divisor = _plain(value)
    if divisor < 1:
        raise Unmodelled("a word was divided by a number below 1")
    return divisor


def walk(run: Callable[[Entropy], T], *, width: int = 64, max_words: int | None = None) -> Law[T]:
    """The exact law of what `run` returns when it is given fresh, uniform words."""
    law: dict[T, Fraction] = {}
    draws: set[int] = set()
    path: list[Fork] = []
    for _ in range(MAX_PATHS):
        walker = Walker(path, width, max_words)
        outcome = run(walker)
        if len(walker.forks) < len(path):
            raise Unmodelled("the code took another way on the same words: it draws randomness elsewhere")
        law[outcome] = law.get(outcome, Fraction(0)) + walker.weight
        draws.add(walker.draws)
        path = walker.forks
        while path and path[-1].taken + 1 == len(path[-1].weights):
            path.pop()
        if not path:
            assert sum(law.values()) == 1, "the walker lost a branch"
            return Law(law, draws)
        path[-1] = path[-1]._replace(taken=path[-1].taken + 1)
    raise Unmodelled(f"more than {MAX_PATHS} paths")
