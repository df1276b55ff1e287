"""k-RR of forms in columns draws 16 bits of a word first: as many words lead to each report as the client has."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from deniable.columns import narrow
from deniable.columns.stream import WordStream
from deniable.mechanisms import KRR

KINDS = [KRR(2, 1), KRR(3, "0.1"), KRR(16, "0.267"), KRR(64, 8), KRR(128, "0.5"), KRR(5, 10)]
every_kind = pytest.mark.parametrize("mechanism", KINDS, ids=lambda m: f"{m.cells} cells")
Block = Callable[..., npt.NDArray[Any]]


class Scripted(WordStream):
    """First bits and whole words that a test names; how many whole words were drawn."""

    def __init__(self, first: npt.ArrayLike, rest: int) -> None:
        super().__init__(narrow=True)
        self.first, self.rest, self.late = np.array(first, np.uint16), rest, 0

    def first_bits(self, count: int) -> npt.NDArray[np.uint16]:
        assert count == len(self.first)
        return self.first

    def words(self, count: int) -> npt.NDArray[Any]:
        self.late += count
        return np.full(count, self.rest << 16, np.uint64)


def step(block: Block, mechanism: KRR, first: int, rest: int) -> int:
    """What cell 0 becomes where these are the 16 bits and the other 48."""
    return int(block(mechanism, np.zeros(1, np.uint8), Scripted([first], rest))[0])


def law_of_words(mechanism: KRR) -> list[Fraction]:
    """How likely cell 0 becomes each cell, over all 2**64 words: decided by the first bits, or by all of them."""
    block, stream = narrow.narrow_block, Scripted(np.arange(1 << 16), 0)
    named = block(mechanism, np.zeros(1 << 16, np.uint8), stream)
    decided = (1 << 16) - stream.late  # the others are the last
    words = [count << 48 for count in np.bincount(named[:decided], minlength=mechanism.cells).tolist()]
    for first in range(decided, 1 << 16):
        low, end = 0, 1 << 48
        while low < end:  # all that can follow, one run of equal steps after the other
            here, inside, high = step(block, mechanism, first, low), low, end - 1
            while inside < high:
                middle = (inside + high + 1) // 2
                if step(block, mechanism, first, middle) == here:
                    inside = middle
                else:
                    high = middle - 1
            words[here] += inside + 1 - low
            low = inside + 1
    return [Fraction(count, 1 << 64) for count in words]


def published(mechanism: KRR) -> list[Fraction]:
    return [Fraction(mechanism.keep, 1 << 64), *[Fraction(mechanism.other, 1 << 64)] * (mechanism.cells - 1)]


@every_kind
def test_every_cell_has_as_many_words_as_the_thresholds_say(mechanism: KRR) -> None:
    assert narrow.suits(mechanism)
    assert law_of_words(mechanism) == published(mechanism)


@every_kind
def test_fewer_rows_are_late_than_there_are_cells_of_65536(mechanism: KRR) -> None:
    stream = Scripted(np.arange(1 << 16), 0)
    narrow.narrow_block(mechanism, np.zeros(1 << 16, np.uint8), stream)
    assert 0 < stream.late < mechanism.cells


@every_kind
def test_reports_go_around_from_every_cell(mechanism: KRR) -> None:
    """The first and the last bits of each share, and the late ones: the step is added to the cell, and wraps."""
    kept, each = narrow.shares(mechanism)
    edges = [0, *(kept + i * each for i in range(mechanism.cells)), 1 << 16]
    firsts = {edge + d for edge in edges for d in (-1, 0) if 0 <= edge + d < 1 << 16}
    cells = np.arange(mechanism.cells, dtype=np.uint8)
    for first in firsts:
        for rest in (0, (1 << 48) - 1):
            found = narrow.narrow_block(mechanism, cells, Scripted([first] * len(cells), rest))
            own = step(narrow.narrow_block, mechanism, first, rest)
            assert found.tolist() == [(int(cell) + own) % mechanism.cells for cell in cells]


@pytest.mark.parametrize(
    "mechanism", [KRR(129, 1), KRR(2, 12), KRR(7, 1, occupied=3), KRR(4, 1, width=16)], ids=lambda m: repr(m)
)
def test_what_does_not_suit(mechanism: KRR) -> None:
    """Sums that need more than a byte, a share without a word of 16 bits, several true cells, shorter words."""
    assert not narrow.suits(mechanism)


LATE, BLOCK = narrow.late_steps, narrow.narrow_block


def _late_ones_are_kept(mechanism: KRR, words: npt.NDArray[np.uint64]) -> npt.NDArray[Any]:
    return np.zeros(len(words), np.uint8)


def _late_ones_are_off_by_one(mechanism: KRR, words: npt.NDArray[np.uint64]) -> npt.NDArray[Any]:
    return LATE(mechanism, words + np.uint64(1))


def _one_of_the_first_bits_too_many(
    mechanism: KRR, cells: npt.NDArray[Any], stream: WordStream
) -> npt.NDArray[np.uint8]:
    """The last first bits of the cell itself name the next one."""
    far = stream.first_bits(len(cells)) == narrow.shares(mechanism)[0] - 1
    found = BLOCK(mechanism, cells, stream)
    found[far] = (found[far] + 1) % mechanism.cells
    return found


@pytest.mark.parametrize(
    ("name", "mutant"),
    [
        ("late_steps", _late_ones_are_kept),
        ("late_steps", _late_ones_are_off_by_one),
        ("narrow_block", _one_of_the_first_bits_too_many),
    ],
    ids=["kept", "off by one", "one too many"],
)
@every_kind
def test_mutants_are_caught(name: str, mutant: object, mechanism: KRR, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(narrow, name, mutant)
    assert law_of_words(mechanism) != published(mechanism)
