"""Hashed prefixes, a level a cohort: how strings are found that nobody listed.

A cohort belongs to one level, and hashes the first bytes of an answer, as many as its level has. Who decodes can then
look for beginnings, and extend those that are there. Not to be confused with `Hashed`, whose cohorts all hash the whole
answer, so that only listed candidates can be looked for.

Claim: the level of a device is that of its cohort, which is drawn before any answer; one report spends one epsilon.
Proof: tests/exact/test_prefixes.py::test_law_of_the_bytes_is_the_published_channel
"""

from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import ClassVar

from deniable.errors import AlphabetError, SurveyError
from deniable.mechanisms import check_size
from deniable.survey.alphabet import Alphabet
from deniable.survey.encodings import MAX_COHORTS, Encoding, check_seed
from deniable.survey.hashing import fingerprint, stream

__all__ = ["END", "MAX_LENGTH", "OVERLONG", "Prefixes", "default_cohorts", "default_levels"]

END = b"\xff"  # the end mark: a byte that no UTF-8 text has, so that no answer can imitate it
MAX_LENGTH = 255  # bytes of an answer that are told apart, at most: a level's length is hashed as one byte
_FIRST = 0.5  # the people of the first level of a discovery, in those of a level in the middle
_LAST = 4.0  # those of its last level
_COHORTS = 1024  # of all levels, at least, where nobody names a number
_ALL_CELLS = 1 << 14  # cells of all cohorts together, at least (decision 0133)
OVERLONG = ("cut", "refuse")  # what may become of an answer that is longer than the last level


@dataclass(frozen=True, slots=True)
class Prefixes(Encoding):
    """One hash function per cohort over the first bytes of a text: as many as the cohort's level has.

    Level (b, C): the next C cohorts hash the first b bytes of the UTF-8 text. An answer that ends within them has an
    end mark behind it, which is hashed too; so "ab" and the beginning "ab" of "abc" are two things. At the last level
    all answers have their end mark, but for those that are longer and were cut: these are hashed without one.

    >>> encoding = Prefixes(cells=8, levels=((2, 2), (4, 3)), overlong="cut", seed=bytes(16))
    >>> key = encoding.key(Alphabet.open(), "Lynx")
    >>> key, encoding.messages(key)
    (b'lynx\\xff', (b'\\x02ly', b'\\x04lynx\\xff'))
    >>> [encoding.encode(c, key) for c in range(5)]
    [(0,), (6,), (6,), (4,), (7,)]
    """

    kind: ClassVar[str] = "prefixes"
    answers: ClassVar[str] = "any text"
    finds_text: ClassVar[bool] = True
    cells: int
    levels: tuple[tuple[int, int], ...]
    overlong: str
    seed: bytes
    cohorts: int = field(init=False, repr=False, compare=False)
    hashes: int = field(default=1, init=False, repr=False, compare=False)
    starts: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_size("cells", self.cells, 2, 1 << 24)
        object.__setattr__(self, "levels", _checked_levels(self.levels))
        if self.overlong not in OVERLONG:
            raise SurveyError(f"overlong must be 'cut' or 'refuse', got {str(self.overlong)[:40]!r}")
        check_seed(self.seed)
        *starts, total = accumulate((cohorts for _, cohorts in self.levels), initial=0)
        check_size("cohorts", total, 1, MAX_COHORTS)
        object.__setattr__(self, "cohorts", total)
        object.__setattr__(self, "starts", tuple(starts))

    @property
    def length(self) -> int:
        """How many bytes of an answer are told apart: those of the last level."""
        return self.levels[-1][0]

    @property
    def words(self) -> str:
        levels = f"{len(self.levels)} level" + "s" * (len(self.levels) > 1)
        return f"{self.cells} cells, {self.cohorts} cohorts in {levels} of up to {self.length} bytes"

    def level_of(self, cohort: int) -> int:
        """The number of the level that a cohort belongs to, from 0."""
        return bisect_right(self.starts, cohort % self.cohorts) - 1

    def key(self, alphabet: Alphabet, value: object) -> bytes:
        """The bytes of the text and the end mark; cut, and without one, where the text is longer than all levels."""
        text = alphabet.canonical(value)
        if not isinstance(text, str):
            raise AlphabetError(
                f"symbol must be text in a survey that discovers text, got {type(text).__name__}; decode bytes as "
                "UTF-8, and write numbers as text"
            )
        found = text.encode("utf-8")
        if len(found) <= self.length:
            return found + END
        if self.overlong == "refuse":
            raise AlphabetError(
                f"symbol must be at most {self.length} bytes long in this survey, got a longer one; shorten it: bytes "
                "are counted in UTF-8, after normalisation"
            )
        return found[: self.length]

    def message(self, level: int, key: bytes) -> bytes:
        """What the cohorts of a level hash: the level's length as a byte, then the prefix."""
        length = self.levels[level][0]
        return bytes([length]) + (key if len(key) <= length + 1 and key.endswith(END) else key[:length])

    def messages(self, key: bytes) -> tuple[bytes, ...]:
        """`message` of every level."""
        return tuple(self.message(level, key) for level in range(len(self.levels)))

    def encode(self, cohort: int, key: bytes) -> tuple[int, ...]:
        level = self.level_of(cohort)
        start = fingerprint(self.seed, self.message(level, key))
        return (stream(start, cohort - self.starts[level]) * self.cells >> 64,)

    def check(self, alphabet: Alphabet) -> None:
        if not alphabet.is_open:
            raise SurveyError(
                "an encoding of prefixes must have an open alphabet; a closed one has nothing to discover"
            )

    def to_json(self) -> dict[str, object]:
        sizes: dict[str, object] = {"cells": self.cells, "cohorts": self.cohorts}
        levels = [list(level) for level in self.levels]
        return {"kind": self.kind} | sizes | {"levels": levels, "overlong": self.overlong, "seed": self.seed.hex()}

    def only(self, level: int) -> "Prefixes":
        """The encoding of one level by itself: its cohorts have the same cells as here.

        >>> whole = Prefixes(cells=8, levels=((2, 2), (4, 3)), overlong="cut", seed=bytes(16))
        >>> part, key = whole.only(1), b"lynx" + END
        >>> [part.encode(c, key) == whole.encode(2 + c, key) for c in range(3)]
        [True, True, True]
        """
        return Prefixes(self.cells, (self.levels[level],), self.overlong, self.seed)


def _checked_levels(levels: object) -> tuple[tuple[int, int], ...]:
    """Levels as pairs of a length in bytes and a number of cohorts, lengths rising."""
    try:
        pairs = [tuple(level) for level in levels]  # type: ignore[attr-defined]
    except TypeError:
        pairs = []
    if not pairs or any(len(pair) != 2 or not all(type(x) is int for x in pair) for pair in pairs):
        raise SurveyError("levels must be a list of pairs, bytes and cohorts, such as [[2, 64], [4, 192]]")
    for length, cohorts in pairs:
        check_size("length of a level", length, 1, MAX_LENGTH)
        check_size("cohorts of a level", cohorts, 1, MAX_COHORTS)
    lengths = [length for length, _ in pairs]
    if any(after <= before for before, after in pairwise(lengths)):
        raise SurveyError(f"levels must rise in length, got {lengths[:20]}; a level extends the one before")
    return tuple((length, cohorts) for length, cohorts in pairs)


def default_cohorts(cells: int) -> int:
    """So many cohorts that they have 16,384 cells together, 1,024 at least.

    Texts that share a cell are noise to each other: the variance that a text of share f adds to others is
    f**2 / ((cells - 1) * cohorts). With few cells, as a small epsilon has them, 1,024 cohorts leave half as much of it
    at the first level as randomised response makes.

    >>> default_cohorts(4), default_cohorts(56)
    (4096, 1024)
    """
    return max(_ALL_CELLS // cells, _COHORTS)


def default_levels(length: int, cohorts: int) -> tuple[tuple[int, int], ...]:
    """Lengths in steps of one byte, of two from six bytes on, and each one's share of the cohorts.

    The last level must tell an answer from all others, with certainty; a level before it only has to keep it among the
    best. The first has the heaviest beginnings.

    >>> default_levels(9, 100)
    ((2, 6), (3, 11), (4, 10), (5, 11), (6, 11), (8, 11), (9, 40))
    """
    lengths = [*range(2, min(length, 7)), *range(8, length, 2), length]
    if lengths[0] > length or length == 2:
        lengths = [length]
    check_size("cohorts", cohorts, len(lengths), 1 << 20)
    weights = [_FIRST, *[1.0] * (len(lengths) - 2), _LAST] if len(lengths) > 1 else [_LAST]
    # One cohort each, and the rest by cumulative shares, so that they add up.
    rest, total = cohorts - len(lengths), sum(weights)
    ends = [round(rest * sum(weights[: i + 1]) / total) for i in range(len(lengths))]
    return tuple((b, 1 + end - before) for b, end, before in zip(lengths, ends, [0, *ends], strict=False))
