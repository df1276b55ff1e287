"""The harness must catch every mutant, with the same check that the real client passes, and for the right reason."""

from fractions import Fraction
from typing import cast

import pytest

import deniable as dn
from deniable.errors import SurveyError
from deniable.mechanisms import KRR, BitFlip, Channel, Subset, WeightTable
from deniable.survey import Survey
from tests.exact import mutants as mu
from tests.exact.laws import MakeClient, check_memoised, check_survey, law_of, violations, worst_ratio

SEED = bytes(range(16))
KRR4 = dn.krr(symbols=4, epsilon=1)
BITS4 = dn.krappor(symbols=4, epsilon=1)
PLANE = dn.projective(symbols=7, epsilon=1, order=2, dimension=3)
ROWS = dn.hadamard(symbols=5, epsilon=2, blocks=2)
SETS = dn.subset(symbols=5, epsilon=1, size=2)
OUE4 = dn.oue(symbols=4, epsilon=1)
BITS9 = dn.krappor(symbols=9, epsilon=1)
BLOOM = dn.orappor(epsilon=2, cells=5, cohorts=2, hashes=2, seed=SEED)
OPEN = dn.orr(epsilon=1, cells=4, cohorts=3, seed=SEED)
FOUR: tuple[object, ...] = (0, 1, 2, 3)
WORDS: tuple[object, ...] = tuple("abcdefgh")

URR = dn.sensitive(4, sensitive=[0, 2], epsilon=1)
UBD = dn.survey.ubd(8, sensitive=[0, 1, 3, 4, 6], epsilon=1, order=2, dimension=3)
GROUPS = dn.blocks([[0, 1], [2, 3]], epsilon=1)
BUDGETS = dn.krr(symbols=4, epsilon={0: 0.5, 1: 2, 2: 2, 3: 0.5})
MATRIX = dn.channel([[0.6, 0.3, 0.1], [0.3, 0.4, 0.3], [0.1, 0.3, 0.6], [0.2, 0.4, 0.4]], epsilon=1.8)

channel = cast(KRR, KRR4.mechanism)


def table(survey: Survey) -> Channel:
    return cast(Channel, survey.mechanism)


MUTANTS: dict[str, tuple[Survey, tuple[object, ...], MakeClient, set[str]]] = {
    "last bit in clear": (BITS4, FOUR, mu.with_mechanism(mu.LastBitInClear(4, 1)), {"law", "support"}),
    "word reused across bits": (BITS4, FOUR, mu.with_mechanism(mu.ReusedWord(4, 1)), {"law", "support"}),
    "true bit never cleared": (BITS4, FOUR, mu.with_mechanism(mu.NeverCleared(4, 1)), {"law", "ratio"}),
    "response from fewer bits": (BITS4, FOUR, mu.with_mechanism(mu.FewerBits(4, 1)), {"law"}),
    "optimised set bit kept like the others": (
        OUE4,
        FOUR,
        mu.with_mechanism(mu.SetBitFlipsLikeTheOthers(4, 1, optimized=True)),
        {"law", "ratio"},
    ),
    "even flips in place of optimised ones": (OUE4, FOUR, mu.with_mechanism(BitFlip(4, 1)), {"law"}),
    "epsilon / 2 per bit at two hashes": (BLOOM, WORDS, mu.with_mechanism(BitFlip(5, 2, 2)), {"law", "ratio"}),
    "duplicate cells cancel": (BLOOM, WORDS, mu.of(mu.XorCancels), {"law"}),
    "off-by-one cell": (KRR4, FOUR, mu.with_mechanism(mu.OffByOne(4, 1)), {"law", "support"}),
    "a design that steps over one true cell": (
        PLANE,
        tuple(range(7)),
        mu.with_mechanism(mu.StepsOverOne(7, 1, occupied=3)),
        {"law", "support"},
    ),
    "a design with a favourite cell": (
        ROWS,
        tuple(range(5)),
        mu.with_mechanism(mu.FavouriteCell(8, 2, occupied=2)),
        {"law", "support"},
    ),
    "a design at twice the budget": (
        PLANE,
        FOUR,
        mu.with_mechanism(KRR(7, 2, occupied=3)),
        {"law", "ratio"},
    ),
    "a set of neighbours": (SETS, FOUR, mu.with_mechanism(mu.OthersInOrder(5, 1, 2)), {"law", "support"}),
    "a set drawn with a modulo bias": (SETS, FOUR, mu.with_mechanism(mu.BiasedOthers(5, 1, 2)), {"law"}),
    "a set that never draws the last one": (SETS, FOUR, mu.with_mechanism(mu.OneSetFewer(5, 1, 2)), {"law"}),
    "a set at a tenth more budget": (SETS, FOUR, mu.with_mechanism(Subset(5, "1.1", 2)), {"law", "ratio"}),
    "truth kept 5 % too often": (KRR4, FOUR, mu.with_mechanism(mu.keep_scaled(channel, 105)), {"law", "ratio"}),
    "truth kept 5 % too rarely": (KRR4, FOUR, mu.with_mechanism(mu.keep_scaled(channel, 95)), {"law"}),
    "modulo bias": (KRR4, FOUR, mu.with_mechanism(mu.ModuloBias(4, 1)), {"law"}),
    "words depend on the answer": (KRR4, FOUR, mu.with_mechanism(mu.Impatient(4, 1)), {"words"}),
    "a row shifted by one": (MATRIX, FOUR, mu.with_mechanism(mu.NextRow(table(MATRIX))), {"law"}),
    "a sensitive row shifted by one": (URR, FOUR, mu.with_mechanism(mu.NextRow(table(URR))), {"law", "support"}),
    "columns shifted by one": (UBD, (0, 1, 2, 3), mu.with_mechanism(mu.ShiftedRow(table(UBD))), {"law"}),
    "a threshold off by one unit": (MATRIX, FOUR, mu.with_mechanism(mu.OneUnitMore(table(MATRIX))), {"law"}),
    "a unit in the wrong column": (
        MATRIX,
        FOUR,
        mu.with_mechanism(mu.nudged(cast(WeightTable, MATRIX.mechanism))),
        {"law"},
    ),
    "a harmless row for a sensitive answer": (
        URR,
        FOUR,
        mu.with_mechanism(mu.HarmlessRow(table(URR))),
        {"law", "support"},
    ),
    "a harmless row for a sensitive answer of a design": (
        UBD,
        tuple(range(8)),
        mu.with_mechanism(mu.HarmlessRow(table(UBD))),
        {"law", "support"},
    ),
    "a group of another answer": (GROUPS, FOUR, mu.with_mechanism(mu.NextRow(table(GROUPS))), {"law", "support"}),
    "one group's budget for all": (BUDGETS, FOUR, mu.with_mechanism(mu.GroupByGroup(table(BUDGETS))), {"law"}),
    "wrong cohort": (OPEN, WORDS, mu.of(mu.WrongCohort), {"law"}),
    "length depends on the response": (BITS9, (0, 8), mu.of(mu.ShortPayload), {"law", "length"}),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutant_is_caught(name: str) -> None:
    survey, values, make, broken = MUTANTS[name]
    check_survey(survey, values)
    assert violations(survey, values, make) == broken
    with pytest.raises(AssertionError, match="breaks its promises"):
        check_survey(survey, values, make)


def marginals(survey: Survey, value: object, make: MakeClient) -> list[Fraction]:
    law = law_of(survey, value, make).probabilities
    return [
        sum((p for wire, p in law.items() if wire[9] >> bit & 1), Fraction(0)) for bit in range(survey.mechanism.cells)
    ]


def test_reused_word_has_perfect_marginals() -> None:
    """Why the joint law is walked: bit by bit this mutant is indistinguishable, together it gives the answer away."""
    make = mu.with_mechanism(mu.ReusedWord(4, 1))
    honest = mu.with_mechanism(BitFlip(4, 1))
    for value in FOUR:
        assert marginals(BITS4, value, make) == marginals(BITS4, value, honest)
    assert worst_ratio([law_of(BITS4, value, make).probabilities for value in FOUR]) is None
    assert worst_ratio([law_of(BITS4, value, honest).probabilities for value in FOUR]) == BITS4.mechanism.odds


def test_modulo_bias_is_one_word_in_all() -> None:
    """2**64 leaves 1 over on division by 3, so one block is named by one word more than the others."""
    law = law_of(KRR4, 3, mu.with_mechanism(mu.ModuloBias(4, 1))).probabilities
    others = sorted(p for wire, p in law.items() if wire[9] != 3)
    assert others[0] == others[1] < others[2]
    assert (others[2] - others[0]) / (3 * channel.miss) == Fraction(1, 2**64)


def test_too_much_budget_per_bit_spends_twice_the_epsilon() -> None:
    """At h hashes, epsilon / 2 per bit spends h times the budget; and no survey can be built that way."""
    assert BitFlip(5, 2, 2).odds ** 2 > BitFlip(5, 2, 4).odds * 7
    with pytest.raises(SurveyError, match="two answers can differ in that many bits"):
        Survey(BLOOM.alphabet, BLOOM.encoding, BitFlip(5, 2, 2))


def test_redrawing_client_is_caught() -> None:
    check_memoised(dn.Client, BITS9, range(9))
    with pytest.raises(AssertionError, match="fresh noise"):
        check_memoised(mu.Redraws, BITS9, range(9))
    with pytest.raises(AssertionError, match="fresh noise"):
        check_memoised(lambda survey: dn.Client(survey, memoize=False), BITS9, range(9))


def test_check_needs_two_answers() -> None:
    with pytest.raises(AssertionError, match="needs two of them"):
        check_survey(KRR4, [0])
