"""Designs that people run by hand: the table is the published one, and what each pair of answers spends is exact."""

import math
from fractions import Fraction

import pytest

import deniable as dn
from deniable.mechanisms import HandRun
from deniable.mechanisms.odds import at_most_exp
from deniable.survey import Survey
from tests.exact.laws import check_survey

DESIGNS: dict[str, tuple[Survey, list[list[Fraction]]]] = {
    "warner": (dn.design("warner", p="7/10"), [[Fraction(7, 10), Fraction(3, 10)], [Fraction(3, 10), Fraction(7, 10)]]),
    "forced": (
        dn.design("forced", p="2/3", yes="1/6"),
        [[Fraction(5, 6), Fraction(1, 6)], [Fraction(1, 6), Fraction(5, 6)]],
    ),
    "unrelated": (
        dn.design("unrelated", p="7/10", u="4/10"),
        [[Fraction(88, 100), Fraction(12, 100)], [Fraction(18, 100), Fraction(82, 100)]],
    ),
    "crosswise": (
        dn.design("crosswise", p="1/4"),
        [[Fraction(1, 4), Fraction(3, 4)], [Fraction(3, 4), Fraction(1, 4)]],
    ),
    "mangat": (dn.design("mangat", p="6/10"), [[Fraction(6, 10), Fraction(4, 10)], [Fraction(0), Fraction(1)]]),
}


@pytest.mark.parametrize("name", DESIGNS)
def test_law_of_the_bytes_is_the_table(name: str) -> None:
    """Each weight is within 2**-63 of the probability that the literature states, and zero where that is zero."""
    survey, published = DESIGNS[name]
    check_survey(survey, survey.symbols or ())
    for cell, row in enumerate(published):
        for column, wanted in enumerate(row):
            found = survey.mechanism.probability(column, (cell,))
            assert abs(found - wanted) <= Fraction(1, 1 << 63)
            assert (found == 0) == (wanted == 0)


@pytest.mark.parametrize("name", DESIGNS)
def test_epsilon_bounds_every_finite_pair_and_no_smaller_millionth_does(name: str) -> None:
    survey, _ = DESIGNS[name]
    mechanism = survey.mechanism
    found = [mechanism.ratio((a,), (b,)) for a in (0, 1) for b in (0, 1)]
    finite = [ratio for ratio in found if ratio is not None]
    assert all(at_most_exp(ratio, mechanism.epsilon) for ratio in finite)
    assert not all(at_most_exp(ratio, mechanism.epsilon - Fraction(1, 10**6)) for ratio in finite)


def test_a_no_of_mangat_cannot_be_denied_and_a_yes_can() -> None:
    found = dn.design("mangat", p=0.6).privacy()
    assert found.between("no", "yes") == math.inf
    assert found.between("yes", "no") == pytest.approx(math.log(1 / 0.4))
    assert "inf: a report can give that answer away" in str(found)


def test_a_design_that_hides_the_zero_would_be_found() -> None:
    """The mutant: a table whose impossible no has the least possible weight is no longer infinite."""
    mutant = HandRun([[3 << 62, 1 << 62], [1, (1 << 64) - 1]], ["no", "yes"])
    assert mutant.ratio((0,), (1,)) is not None
    assert mutant.probability(0, (1,)) != 0
