"""An `Entropy` that plays given words, and the law of code by playing every tuple of small words.

With words of 5 to 12 bits the same mechanism code can be run on all of them: no symbols, no model, nothing to trust.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from itertools import product
from types import TracebackType
from typing import TypeVar

from deniable.client import Client
from deniable.noise import Entropy
from deniable.survey import Survey

T = TypeVar("T")


class RanDry(RuntimeError):
    """The code asked for more words than the script holds."""


class ScriptedEntropy(Entropy):
    """Plays `words` in order; refuses to run dry, and, as a context manager, to have words left over."""

    def __init__(self, width: int, words: Iterable[int]) -> None:
        self.width = width
        self._left: Iterator[int] = iter(())
        self.load(words)

    def load(self, words: Iterable[int]) -> None:
        """Go on with these words; those loaded before must have been used up."""
        self.finish()
        script = list(words)
        if not all(0 <= word < 1 << self.width for word in script):
            raise ValueError(f"scripted words must fit {self.width} bits")
        self._left = iter(script)

    def finish(self) -> None:
        """Raise if a word was not used."""
        if left := len(list(self._left)):
            raise RuntimeError(f"{left} scripted words were not used")

    def word(self) -> int:
        for word in self._left:
            return word
        raise RanDry("the script has no word left")

    def __enter__(self) -> "ScriptedEntropy":
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        if kind is None:
            self.finish()


def law_by_enumeration(width: int, count: int, run: Callable[[Entropy], T]) -> dict[T, Fraction]:
    """The law of what `run` returns over all tuples of `count` words, by playing each of them."""
    seen: Counter[T] = Counter()
    for words in product(range(1 << width), repeat=count):
        with ScriptedEntropy(width, words) as entropy:
            seen[run(entropy)] += 1
    return {outcome: Fraction(times, 1 << width * count) for outcome, times in seen.items()}


def law_of_bytes_by_enumeration(survey: Survey, value: object, cohort: int, count: int) -> dict[bytes, Fraction]:
    """The law of the packed bytes of a real client in this cohort, over all tuples of `count` words a report."""
    width = survey.mechanism.width
    entropy = ScriptedEntropy(width, [cohort])
    client = Client(survey, memoize=False, entropy=entropy)
    assert client.cohort == cohort
    seen: Counter[bytes] = Counter()
    for words in product(range(1 << width), repeat=count):
        entropy.load(words)
        seen[client.report(value).pack()] += 1
    entropy.finish()
    return {wire: Fraction(times, 1 << width * count) for wire, times in seen.items()}
