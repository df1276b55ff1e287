"""Encodings: functions from (cohort, symbol) to cells, the columns of the paper's matrix H.

Paper: sections 4 (direct), 5.1 and 5.2 (hashing, cohorts, Bloom filters), 5.4 (permutations for closed alphabets).
Each encoding turns a symbol into a key once (its position, its fingerprint, or the bytes that cohorts hash in their own
ways), then a key into cells for a cohort.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

from deniable.errors import SurveyError
from deniable.mechanisms import check_size
from deniable.survey.alphabet import Alphabet, symbol_bytes
from deniable.survey.hashing import fingerprint, permute, stream

__all__ = ["BlockEncoding", "Direct", "Encoding", "Hashed", "Permuted"]

MAX_COHORTS = 1 << 20  # cohorts, at most, so that a report has at most three bytes for its cohort
MAX_HASHES = 64  # hash functions of a cohort, at most: bits that one answer may set


class Encoding(ABC):
    """A function (cohort, key) -> sorted, distinct cells below `cells`, without randomness."""

    __slots__ = ()

    kind: ClassVar[str]
    title: ClassVar[str] = ""  # the name of such surveys in the literature; empty if the mechanism gives it
    answers: ClassVar[str] = "any text, number or bytes"  # what an open alphabet may be answered with
    own_cells: ClassVar[bool] = False  # whether symbols and cells correspond one to one
    is_design: ClassVar[bool] = False  # whether answers have several cells each, of which a report names one
    finds_text: ClassVar[bool] = False  # whether texts can be found that nobody listed: cohorts hash beginnings
    is_ordered: ClassVar[bool] = False  # whether the order of the answers has a meaning: neighbours share cells
    cells: int
    cohorts: int
    hashes: int

    @property
    def occupied(self) -> int | None:
        """How many cells every answer occupies, or None where that varies: a Bloom filter of h hashes fills up to h."""
        return 1 if self.hashes == 1 else None

    @property
    def shared(self) -> int | None:
        """How many cells any two answers of one block share, or None where that varies: what makes a block design."""
        return None

    def key(self, alphabet: Alphabet, value: object) -> Any:
        """What stands for a symbol in all cohorts: its position (closed), its fingerprint, or its bytes (open)."""
        return alphabet.index(value)

    @abstractmethod
    def encode(self, cohort: int, key: Any) -> tuple[int, ...]:
        """The occupied cells, sorted and distinct."""

    def rebudgeted(self, before: Fraction, epsilon: Fraction) -> "Encoding":
        """The encoding at another budget: itself, unless it was the best one at the budget `before`."""
        return self

    @property
    def words(self) -> str:
        """Its parameters in words, for `repr` of a survey."""
        cohorts = f"{self.cells} cells, {self.cohorts} cohort" + "s" * (self.cohorts > 1)
        return cohorts + (f", {self.hashes} hashes" if self.hashes > 1 else "")

    @abstractmethod
    def check(self, alphabet: Alphabet) -> None:
        """Raise `SurveyError` for an alphabet that this encoding cannot encode."""

    @abstractmethod
    def to_json(self) -> dict[str, object]:
        """The fields that a survey file has for it, kind first."""


class BlockEncoding(Encoding):
    """One cohort, in which every answer occupies `occupied` cells, and any two of one block share `shared`."""

    __slots__ = ()

    @property
    def occupied(self) -> int:
        return self.hashes

    @property
    @abstractmethod
    def shared(self) -> int: ...

    @property
    def words(self) -> str:
        return f"{self.cells} cells"


@dataclass(frozen=True, slots=True)
class Direct(BlockEncoding):
    """Each symbol of a closed alphabet is its own cell; one cohort.

    >>> Direct(cells=3).encode(0, 2)
    (2,)
    """

    kind: ClassVar[str] = "direct"
    own_cells: ClassVar[bool] = True
    cells: int
    cohorts: int = field(default=1, init=False)
    hashes: int = field(default=1, init=False)

    def __post_init__(self) -> None:
        check_size("cells", self.cells, 2, 1 << 24)

    @property
    def shared(self) -> int:
        return 0

    @property
    def words(self) -> str:
        return ""

    def encode(self, cohort: int, key: int) -> tuple[int, ...]:
        return (key,)

    def check(self, alphabet: Alphabet) -> None:
        if alphabet.is_open or len(alphabet) != self.cells:
            raise SurveyError(
                f"a direct encoding of {self.cells} cells must have a closed alphabet of that many symbols"
            )

    def to_json(self) -> dict[str, object]:
        return {"kind": self.kind, "cells": self.cells}


def _check_sizes(encoding: "Hashed | Permuted") -> None:
    check_size("cells", encoding.cells, 2, 1 << 24)
    check_size("cohorts", encoding.cohorts, 1, MAX_COHORTS)
    check_size("hashes", encoding.hashes, 1, MAX_HASHES)
    check_seed(encoding.seed)


def check_seed(seed: object) -> None:
    """Raise `SurveyError` for what cannot be the seed of hash functions."""
    if not isinstance(seed, bytes) or not 8 <= len(seed) <= 64:
        shown = f"{len(seed)} bytes" if isinstance(seed, bytes) else type(seed).__name__
        raise SurveyError(f"seed must be 8 to 64 bytes, got {shown}")


def _seeded_json(encoding: "Hashed | Permuted") -> dict[str, object]:
    sizes: dict[str, object] = {"cells": encoding.cells, "cohorts": encoding.cohorts, "hashes": encoding.hashes}
    return {"kind": encoding.kind} | sizes | {"seed": encoding.seed.hex()}


@dataclass(frozen=True, slots=True)
class Hashed(Encoding):
    """h hash functions per cohort over an open alphabet.

    Paper: section 5.1, `HASH_c^(k)`, and 5.2, `BLOOM_c^(k)`; hash j of cohort c is word c * h + j of the SplitMix64
    stream that starts at the symbol's fingerprint, scaled to [0, k) by multiplication.

    >>> encoding = Hashed(cells=8, cohorts=4, hashes=1, seed=bytes(16))
    >>> key = encoding.key(Alphabet.open(), "firefox")
    >>> [encoding.encode(c, key) for c in range(4)]
    [(3,), (6,), (2,), (1,)]
    """

    kind: ClassVar[str] = "hashed"
    cells: int
    cohorts: int
    hashes: int
    seed: bytes

    def __post_init__(self) -> None:
        _check_sizes(self)

    def key(self, alphabet: Alphabet, value: object) -> int:
        return fingerprint(self.seed, symbol_bytes(alphabet.canonical(value)))

    def encode(self, cohort: int, key: int) -> tuple[int, ...]:
        first = cohort * self.hashes
        if self.hashes == 1:
            return (stream(key, first) * self.cells >> 64,)
        return tuple(sorted({stream(key, first + j) * self.cells >> 64 for j in range(self.hashes)}))

    def check(self, alphabet: Alphabet) -> None:
        if not alphabet.is_open:
            raise SurveyError("a hashed encoding must have an open alphabet; a closed one is permuted")

    def to_json(self) -> dict[str, object]:
        return _seeded_json(self)


@dataclass(frozen=True, slots=True)
class Permuted(Encoding):
    """h permutations per cohort of a closed alphabet, then mod k, so that cells differ in size by at most one.

    Paper: section 5.4, minimal perfect hash functions.

    >>> encoding = Permuted(symbols=6, cells=3, cohorts=2, hashes=1, seed=bytes(16))
    >>> sorted(encoding.encode(1, s) for s in range(6))
    [(0,), (0,), (1,), (1,), (2,), (2,)]
    """

    kind: ClassVar[str] = "permuted"
    symbols: int
    cells: int
    cohorts: int
    hashes: int
    seed: bytes
    root: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check_sizes(self)
        # "p" is not a type byte, so no symbol's fingerprint can be this one.
        object.__setattr__(self, "root", fingerprint(self.seed, b"permutations"))

    def encode(self, cohort: int, key: int) -> tuple[int, ...]:
        first = cohort * self.hashes
        if self.hashes == 1:
            return (permute(stream(self.root, first), self.symbols, key) % self.cells,)
        keys = (stream(self.root, first + j) for j in range(self.hashes))
        return tuple(sorted({permute(k, self.symbols, key) % self.cells for k in keys}))

    def check(self, alphabet: Alphabet) -> None:
        if alphabet.is_open or len(alphabet) != self.symbols:
            raise SurveyError(f"a permuted encoding of {self.symbols} symbols must have a closed alphabet of that many")

    def to_json(self) -> dict[str, object]:
        return _seeded_json(self)
