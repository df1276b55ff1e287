"""Hashed prefixes: the law of the bytes, what each level can tell apart, and clients whose level is wrong."""

import copy
import json

import pytest

import deniable as dn
from deniable.noise import Entropy
from deniable.survey import END, Prefixes, Survey
from tests.exact.laws import MakeClient, check_memoised, check_survey, law_of, violations
from tests.vectors import reference

SEED = bytes(range(16))
# End within each level, at its edge and behind it; a character that levels cut in two; what the last level cuts.
VALUES = ("", "a", "ab", "abc", "abcd", "abcde", "abcdef", "\u00e9t\u00e9", "a\u00e9", "\U0001f98a", "a\x00", " AB ")
LEVELS = ((1, 1), (2, 2), (4, 3))
CASES = {
    "three levels": dn.discovery(epsilon=1, length=4, levels=LEVELS, seed=SEED),
    "exact text": dn.discovery(epsilon="1/2", length=4, levels=LEVELS, seed=SEED, text="exact"),
    "one level": dn.discovery(epsilon=2, length=3, levels=[(3, 2)], seed=SEED),
    "many cohorts": dn.discovery(epsilon=1, length=4, levels=[(2, 60), (4, 240)], cells=2, seed=SEED),
    "again": dn.discovery(epsilon=2, epsilon_report=1, length=4, levels=LEVELS, cells=3, seed=SEED),
}
# As many cells as tell all values apart nearly always, so that no fault hides behind a collision.
WIDE = dn.discovery(epsilon=1, length=4, levels=LEVELS, cells=50, seed=SEED)
each_case = pytest.mark.parametrize("survey", CASES.values(), ids=CASES.keys())


@each_case
def test_law_of_the_bytes_is_the_published_channel(survey: Survey) -> None:
    check_survey(survey, VALUES)


@each_case
def test_cells_are_those_of_the_second_statement(survey: Survey) -> None:
    """`published` takes its cells from `encode`; these are written out from the survey's JSON by other code."""
    fields = json.loads(survey.to_json())
    for value in VALUES:
        for cohort in range(survey.cohorts):
            assert list(survey.encode(cohort, value)) == reference.occupied(fields, cohort, value)


@pytest.mark.parametrize(
    ("value", "hashed"),
    [
        ("", (b"\x01\xff", b"\x02\xff", b"\x04\xff")),
        ("ab", (b"\x01a", b"\x02ab\xff", b"\x04ab\xff")),
        ("abc", (b"\x01a", b"\x02ab", b"\x04abc\xff")),
        ("abcd", (b"\x01a", b"\x02ab", b"\x04abcd\xff")),
        ("abcde", (b"\x01a", b"\x02ab", b"\x04abcd")),
        ("a\u00e9", (b"\x01a", b"\x02a\xc3", b"\x04a\xc3\xa9\xff")),
    ],
)
def test_what_each_level_hashes(value: str, hashed: tuple[bytes, ...]) -> None:
    assert isinstance(WIDE.encoding, Prefixes)
    assert WIDE.encoding.messages(WIDE.key(value)) == hashed


def test_what_a_level_cannot_see_does_not_change_the_law() -> None:
    """Answers with one beginning: no report of the first levels can tell them apart, whatever comes behind."""
    first = LEVELS[0][1] + LEVELS[1][1]
    laws = [law_of(WIDE, value).probabilities for value in ("abc", "abd", "abcdef")]
    for wire in set().union(*laws):
        if wire[9] < first:
            assert len({law[wire] for law in laws}) == 1
    assert laws[0] != laws[1] != laws[2] != laws[0]


class Longer(Prefixes):
    """Every cohort hashes one byte more than its level has."""

    __slots__ = ()

    def message(self, level: int, key: bytes) -> bytes:
        length = self.levels[level][0] + 1
        return bytes([length - 1]) + (key if len(key) <= length + 1 and key.endswith(END) else key[:length])


class NoEnd(Prefixes):
    """The end mark is not part of what is hashed."""

    __slots__ = ()

    def message(self, level: int, key: bytes) -> bytes:
        return super().message(level, key).removesuffix(END)


class NoLevel(Prefixes):
    """The length of the level is not hashed, so that levels share their hash functions."""

    __slots__ = ()

    def message(self, level: int, key: bytes) -> bytes:
        return super().message(level, key)[1:]


def with_encoding(kind: type[Prefixes]) -> MakeClient:
    """The real client of a survey whose digest is the true one, and whose encoding is not."""

    def make(survey: Survey, entropy: Entropy) -> dn.Client:
        true, other = survey.encoding, copy.copy(survey)
        assert isinstance(true, Prefixes)
        object.__setattr__(other, "encoding", kind(true.cells, true.levels, true.overlong, true.seed))
        return dn.Client(other, memoize=False, entropy=entropy)

    return make


class LevelOfTheAnswer(dn.Client):
    """Sends an answer to the first level that holds all of it: the cohort, in the clear, tells its length."""

    def report(self, value: object) -> dn.Report:
        encoding = self._survey.encoding
        assert isinstance(encoding, Prefixes)
        key = encoding.key(self._survey.alphabet, value)
        level = next(i for i, (length, _) in enumerate(encoding.levels) if len(key) <= length + 1)
        self._cohort = encoding.starts[level]
        return super().report(value)


class LevelDrawnAnew(dn.Client):
    """Draws its cohort, and with it its level, at every report: each repetition spends anew."""

    def report(self, value: object) -> dn.Report:
        self._cohort = self._entropy.uniform_below(self._survey.cohorts)
        return super().report(value)


MUTANTS: dict[str, tuple[MakeClient, set[str]]] = {
    "a level drawn from the answer": (
        lambda survey, entropy: LevelOfTheAnswer(survey, memoize=False, entropy=entropy),
        {"law", "support"},
    ),
    "a prefix longer than its level": (with_encoding(Longer), {"law"}),
    "the end mark dropped": (with_encoding(NoEnd), {"law"}),
    "levels that share hash functions": (with_encoding(NoLevel), {"law"}),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutant_is_caught(name: str) -> None:
    make, broken = MUTANTS[name]
    check_survey(WIDE, VALUES)
    assert violations(WIDE, VALUES, make) == broken
    with pytest.raises(AssertionError, match="breaks its promises"):
        check_survey(WIDE, VALUES, make)


def test_memoised_clients_keep_their_level_and_a_redrawn_one_is_caught() -> None:
    check_memoised(dn.Client, WIDE, VALUES)
    with pytest.raises(AssertionError, match="fresh noise"):
        check_memoised(LevelDrawnAnew, WIDE, VALUES)
