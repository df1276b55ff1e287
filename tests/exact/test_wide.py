"""Every cell of the widest surveys, 65,536 of them, on scripted words: none is left in the clear in either stage.

The response is made again from the words, cell by cell, by the rule of docs/reference/protocol.md, section 6. Half of
the words are about on each side of their threshold, so cells that are not randomised show in every range of them.
"""

import json
from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any

import pytest

import deniable as dn
from deniable.mechanisms import BitFlip
from tests.exact.scripted import ScriptedEntropy

CELLS = 1 << 16
SEED = bytes(range(16))
WIDE: dict[str, Callable[[], dn.Survey]] = {
    "rappor": lambda: dn.krappor(symbols=CELLS, epsilon="0.1"),
    "oue": lambda: dn.oue(symbols=CELLS, epsilon="0.1"),
    "rappor, again": lambda: dn.krappor(symbols=CELLS, epsilon="0.3", epsilon_report="0.1"),
    "orappor": lambda: dn.orappor(epsilon="0.1", cells=CELLS, cohorts=4, hashes=2, seed=SEED),
    "subset": lambda: dn.subset(symbols=CELLS, epsilon="0.1", size=CELLS // 2),
}


@cache
def wide(kind: str) -> dn.Survey:
    """Made when it is wanted: where tests are collected, five of these take a second."""
    return WIDE[kind]()


def stated(survey: dn.Survey, name: str) -> int:
    """A threshold, as the survey says it."""
    return int(json.loads(survey.to_json())["mechanism"].get(name, 0))


def words_for(survey: dn.Survey, random: Random) -> list[int]:
    """As many words as one report takes."""
    count = 1 + CELLS // 2 if stated(survey, "size") else CELLS * (2 if stated(survey, "report_flip") else 1)
    return [random.getrandbits(64) for _ in range(count)]


def flipped(full: set[int], words: list[int], clear: int, flip: int) -> set[int]:
    return {c for c in range(CELLS) if (words[c] < (clear if c in full else flip)) != (c in full)}


def expected(survey: dn.Survey, cells: set[int], words: list[int]) -> set[int]:
    """The cells that a report names, by the rule."""
    if flip := stated(survey, "flip"):
        found = flipped(cells, words[:CELLS], stated(survey, "clear") or flip, flip)
        again = stated(survey, "report_flip")
        return flipped(found, words[CELLS:], again, again) if again else found
    (mine,) = cells
    others = [cell for cell in range(CELLS) if cell != mine]
    for step, word in enumerate(words[1:]):
        place = step + word % (CELLS - 1 - step)
        others[step], others[place] = others[place], others[step]
    chosen = others[: CELLS // 2]
    return {*chosen[:-1], mine} if words[0] < stated(survey, "inside") else set(chosen)


def named(report: dn.Report) -> set[int]:
    return {8 * at + bit for at, byte in enumerate(report.payload) for bit in range(8) if byte >> bit & 1}


def differing(kind: str, answer: object) -> set[int]:
    """The cells that are not what the words make them."""
    survey, random = wide(kind), Random(f"{kind} {answer}")
    words = words_for(survey, random)
    with ScriptedEntropy(64, [1, *words]) as entropy:
        client = dn.Client(survey, memoize=False, entropy=entropy)
        report = client.report(answer)
    return named(report) ^ expected(survey, set(survey.encode(report.cohort, answer)), words)


ANSWERS = (0, 255, 256, 4095, 4096, 40_000, CELLS - 1)


@pytest.mark.slow
@pytest.mark.parametrize("kind", WIDE)
def test_every_cell_is_what_its_word_makes_it(kind: str) -> None:
    for answer in ANSWERS if kind != "subset" else ANSWERS[-2:]:
        assert differing(kind, answer) == set()


@pytest.mark.parametrize("kind", ["rappor", "oue", "rappor, again", "orappor"])
@pytest.mark.parametrize("first", [256, 4096, CELLS - 64])
def test_cells_in_the_clear_are_found_out(kind: str, first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A randomiser that leaves the cells from `first` on as they were."""
    real: Callable[..., int] = BitFlip.randomize

    def careless(self: BitFlip, cells: tuple[int, ...], entropy: Any) -> int:
        low = (1 << first) - 1
        return real(self, cells, entropy) & low | sum(1 << cell for cell in cells) & ~low

    monkeypatch.setattr(BitFlip, "randomize", careless)
    assert {cell >> 5 for cell in differing(kind, 40_000)} >= set(range(first >> 5, CELLS >> 5))


def test_one_cell_of_65536_is_what_its_word_makes_it() -> None:
    """Below `keep` the true cell, then `other` words for each of the others in order: at both ends of many blocks."""
    survey = dn.krr(symbols=CELLS, epsilon=8)
    keep, other = stated(survey, "keep"), stated(survey, "other")
    for truth in ANSWERS:
        others = [cell for cell in range(CELLS) if cell != truth]
        expected_cells = {0: truth, keep - 1: truth}
        for block in (0, 1, 254, 255, 256, 4095, 4096, truth - 1, truth, CELLS - 2):
            if 0 <= block < CELLS - 1:
                expected_cells |= {keep + block * other: others[block], keep + (block + 1) * other - 1: others[block]}
        for word, cell in expected_cells.items():
            with ScriptedEntropy(64, [0, word]) as entropy:
                report = dn.Client(survey, memoize=False, entropy=entropy).report(truth)
            assert int.from_bytes(report.payload, "little") == cell
