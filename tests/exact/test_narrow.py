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
from tests.exact.scripted import ScriptedEntropy

KINDS = [KRR(2, 1), KRR(3, "0.1"), KRR(16, "0.267"), KRR(64, 8), KRR(5, 40)]
every_kind = pytest.mark.parametrize("mechanism", KINDS, ids=lambda m: f"{m.cells} cells")


def law_of_words(mechanism: KRR) -> list[Fraction]:
    """How likely each step is, over all 2**64 words: decided by the first bits, or by all of them."""
    table = narrow.steps(mechanism)
    words = [int((table == step).sum()) << 48 for step in range(mechanism.cells)]
    for first in np.flatnonzero(table == narrow.UNDECIDED).tolist():
        start, end = first << 48, (first + 1) << 48
        low = start
        while low < end:  # every word that begins like this, one run of equal steps after the other
            step, high = int(narrow.step_of(mechanism, np.array([low], np.uint64))[0]), end - 1
            inside = low
            while inside < high:
                middle = (inside + high + 1) // 2
                if int(narrow.step_of(mechanism, np.array([middle], np.uint64))[0]) == step:
                    inside = middle
                else:
                    high = middle - 1
            words[step] += inside + 1 - low
            low = inside + 1
    return [Fraction(count, 1 << 64) for count in words]


@every_kind
def test_every_cell_has_as_many_words_as_the_thresholds_say(mechanism: KRR) -> None:
    lie = Fraction(mechanism.other, 1 << 64)
    assert law_of_words(mechanism) == [Fraction(mechanism.keep, 1 << 64), *[lie] * (mechanism.cells - 1)]
    assert sum(law_of_words(mechanism)) == 1


@every_kind
def test_whole_words_are_the_clients(mechanism: KRR) -> None:
    """At every threshold and beside it: the i-th step is the i-th other cell, counted from the true one and around."""
    edges = [mechanism.keep + i * mechanism.other for i in range(mechanism.cells - 1)]
    words = [edge + d for edge in [0, *edges, (1 << 64) - 1] for d in (-1, 0, 1) if 0 <= edge + d < 1 << 64]
    found = narrow.step_of(mechanism, np.array(words, np.uint64)).tolist()
    sent = [mechanism.randomize((0,), ScriptedEntropy(64, [word])) for word in words]
    assert found == sent  # from cell 0 the steps are the cells


class Scripted(WordStream):
    """First bits and whole words that a test names."""

    def __init__(self, first: int, rest: int) -> None:
        super().__init__(narrow=True)
        self.first, self.rest = first, rest

    def first_bits(self, count: int) -> npt.NDArray[np.intp]:
        return np.full(count, self.first, np.intp)

    def words(self, count: int) -> npt.NDArray[Any]:
        return np.full(count, self.rest, np.uint64)


@every_kind
def test_reports_go_around_from_every_cell(mechanism: KRR) -> None:
    """With the first bits of every threshold, decided by the rest of the word on both of its sides."""
    cells = np.arange(mechanism.cells, dtype=np.uint8)
    for edge in [mechanism.keep + i * mechanism.other for i in range(mechanism.cells - 1)]:
        for word in (edge - 1, edge, 0, (1 << 64) - 1):
            stream = Scripted(word >> 48, word << 16 & (1 << 64) - 1)
            step = int(narrow.step_of(mechanism, np.array([word], np.uint64))[0])
            assert narrow.narrow_block(mechanism, cells, stream).tolist() == ((cells + step) % mechanism.cells).tolist()


def _decided_too_early(mechanism: KRR) -> npt.NDArray[Any]:
    """The step of the first word with these bits, whatever follows."""
    return narrow.step_of(mechanism, np.arange(1 << 16, dtype=np.uint64) << np.uint64(48))


def _off_by_one(mechanism: KRR) -> npt.NDArray[Any]:
    return np.roll(ROOM(mechanism), 1)


ROOM = narrow.steps


@pytest.mark.parametrize("mutant", [_decided_too_early, _off_by_one])
@every_kind
def test_mutants_are_caught(mutant: Callable[..., object], mechanism: KRR, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(narrow, "steps", mutant)
    law = law_of_words(mechanism)
    assert law[0] != Fraction(mechanism.keep, 1 << 64) or law[1] != Fraction(mechanism.other, 1 << 64)
