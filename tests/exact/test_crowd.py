"""The crowd's certificate against the truth: all outcomes of small crowds, for every mechanism of the library."""

import sys
from dataclasses import replace
from fractions import Fraction
from math import comb

import pytest

import deniable as dn
from deniable.crowds import variations
from deniable.crowds.binomials import BITS, BinomialWindow, probability, tail
from deniable.crowds.blanket import Blanket
from deniable.crowds.divergence import Pair
from deniable.crowds.variations import variation_of
from deniable.mechanisms import Mechanism
from deniable.survey import Survey
from tests.exact.crowds import divergence, laws
from tests.surveys import SEED, SMALL, symbols_of

DELTAS = (0.2, 0.05, 0.001)


def size_of(survey: Survey) -> int:
    """People, as many as can be enumerated."""
    reports = survey.mechanism.outputs * survey.cohorts
    return 5 if reports <= 2 else 4 if reports <= 4 else 3 if reports <= 8 else 2


def gives_away(survey: Survey) -> bool:
    """Whether some reports cannot come from every answer."""
    each, _ = laws(survey, len(symbols_of(survey)))
    return len({frozenset(law) for law in each}) > 1


ONE_SIDED = {name for name, survey in SMALL.items() if gives_away(survey)}


@pytest.mark.parametrize("name", sorted(ONE_SIDED))
def test_no_crowd_hides_what_a_report_gives_away(name: str) -> None:
    with pytest.raises(dn.SurveyError, match="what its outputs give away, no crowd hides"):
        dn.crowd(SMALL[name], n=100)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("name", [name for name in SMALL if name not in ONE_SIDED])
def test_the_certificate_is_never_below_the_truth(name: str, delta: float) -> None:
    survey = SMALL[name]
    n, answers = size_of(survey), min(len(symbols_of(survey)), 4)
    found = dn.crowd(survey, n=n, delta=delta)
    assert found.lower <= found.epsilon <= found.local
    assert divergence(survey, n, found.epsilon, answers=answers) <= delta
    if found.lower and survey.symbols is not None and len(survey.symbols) <= answers:
        assert divergence(survey, n, found.lower, answers=answers) >= delta


def truth(survey: Survey, n: int, delta: float) -> float:
    low, high = 0.0, float(survey.epsilon)
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (low, middle) if divergence(survey, n, middle, answers=4) <= delta else (middle, high)
    return high


@pytest.mark.parametrize("name", ["krr", "krr-other"])
def test_for_k_rr_the_certificate_is_near_the_truth_even_for_four_people(name: str) -> None:
    survey = SMALL[name]
    found = dn.crowd(survey, n=4, delta=0.01)
    exact = truth(survey, 4, 0.01)
    assert found.lower <= exact + 1e-6
    assert exact <= found.epsilon <= 1.05 * exact


def too_much_rest(blanket: Blanket) -> Blanket:
    """As if every report of the third kind hid: what the variation-ratio reduction takes for granted."""
    return replace(blanket, rest=1 - 2 * blanket.each)


def test_the_variation_ratio_reduction_is_below_the_truth() -> None:
    """docs/results/crowd.md: for k-RR that reduction is the pair that occurs, and says epsilon .3971 at delta .001."""
    survey, n, delta = SMALL["krr"], 4, 0.001
    assert dn.crowd(survey, n=n, delta=delta).lower == pytest.approx(0.3971, abs=1e-4)
    assert float(divergence(survey, n, 0.3972, answers=4)) == pytest.approx(0.00154, abs=1e-5)


MUTANTS = {
    "others-hide-twice-as-often": lambda blanket: replace(blanket, each=2 * blanket.each),
    "half-the-variation": lambda blanket: replace(blanket, own=blanket.own / 2, each=blanket.each / 2),
    "a-smaller-ratio": lambda blanket: Blanket.of((1 + blanket.odds) / 2, blanket.own * (blanket.odds - 1) / 2),
    "the-rest-for-nothing": too_much_rest,
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_wrong_blanket_is_caught(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    survey, n, delta = SMALL["krr-other"], 4, 0.001
    assert divergence(survey, n, dn.crowd(survey, n=n, delta=delta).epsilon, answers=4) <= delta
    real = variation_of(survey)
    wrong = replace(real, blankets=tuple(MUTANTS[mutant](each) for each in real.blankets))
    monkeypatch.setattr(sys.modules[dn.crowd.__module__], "variation_of", lambda survey: wrong)
    assert divergence(survey, n, dn.crowd(survey, n=n, delta=delta).epsilon, answers=4) > delta


def test_a_crowd_that_ignores_cohorts_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    survey, deltas = dn.orr(symbols=3, epsilon=2, cells=3, cohorts=2, seed=SEED), (0.1, 0.01)

    def sound() -> list[bool]:
        found = [dn.crowd(survey, n=3, delta=delta).epsilon for delta in deltas]
        return [
            divergence(survey, 3, epsilon, answers=4) <= delta for epsilon, delta in zip(found, deltas, strict=True)
        ]

    assert all(sound())
    real = Blanket.divergence
    monkeypatch.setattr(
        Blanket, "divergence", lambda self, n, odds, cut, cohorts: real(self, n, odds, cut=cut, cohorts=1)
    )
    assert not all(sound())


LONG = ("krr", "oue", "subset", "hadamard", "orr-open", "orappor-open")
SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in LONG]


@pytest.mark.parametrize("name", ["warner", *SLOW])
def test_a_larger_crowd_a_larger_delta_and_a_smaller_epsilon_hide_more(name: str) -> None:
    survey = SMALL[name]
    by_n = [dn.crowd(survey, n=n).epsilon for n in (1, 20, 400, 8_000)]
    assert by_n == sorted(by_n, reverse=True)
    by_delta = [dn.crowd(survey, n=400, delta=delta).epsilon for delta in (1e-9, 1e-6, 1e-3)]
    assert by_delta == sorted(by_delta, reverse=True)


@pytest.mark.slow
@pytest.mark.parametrize("make", [dn.krr, dn.krappor, dn.oue, dn.subset, dn.hadamard, dn.projective])
def test_a_smaller_local_epsilon_hides_more(make: object) -> None:
    found = [dn.crowd(make(symbols=7, epsilon=e), n=300).epsilon for e in (0.5, 1, 2, 4)]  # type: ignore[operator]
    assert found == sorted(found)


@pytest.mark.parametrize("n", [1, 2, 7, 40])
@pytest.mark.parametrize("p", [Fraction(1, 2), Fraction(1, 7), Fraction(299, 300)])
def test_intervals_enclose_the_exact_values(n: int, p: Fraction) -> None:
    unit = 1 << BITS
    exact = [comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
    window = BinomialWindow.around(n, p, Fraction(1, 10**6))
    left_out = Fraction(0)
    for k in range(n + 1):
        low, high = probability(n, p, k)
        assert Fraction(low, unit) <= exact[k] <= Fraction(high, unit)
        if k >= 1:
            low, high = tail(n, p, k)
            assert Fraction(low, unit) <= sum(exact[k:]) <= Fraction(high, unit)
        if window.first <= k <= window.last:
            low, high = window.values[k - window.first]
            assert Fraction(low, unit) <= exact[k] <= Fraction(high, unit)
        if not window.first < k < window.last:
            left_out += exact[k]
    assert left_out <= window.outside <= Fraction(1, 10**6)


@pytest.mark.parametrize("odds", [Fraction(1), Fraction(11, 10), Fraction(2), Fraction(5)])
@pytest.mark.parametrize("n", [1, 2, 5, 12])
def test_a_walk_along_the_line_is_the_sum_over_all_outcomes(n: int, odds: Fraction) -> None:
    pair = Pair(
        (Fraction(6, 10), Fraction(1, 10)), (Fraction(1, 10), Fraction(6, 10)), (Fraction(2, 10), Fraction(3, 10))
    )
    low, high = pair.divergence(n, odds)
    exact, m = Fraction(0), n - 1
    (u, v) = pair.others
    w = 1 - u - v

    def others(a: int, b: int) -> Fraction:
        if min(a, b, m - a - b) < 0:
            return Fraction(0)
        return comb(m, a) * comb(m - a, b) * u**a * v**b * w ** (m - a - b)

    def crowd(mine: tuple[Fraction, Fraction], a: int, b: int) -> Fraction:
        return mine[0] * others(a - 1, b) + mine[1] * others(a, b - 1) + (1 - sum(mine)) * others(a, b)

    for a in range(n + 1):
        for b in range(n + 1 - a):
            exact += max(Fraction(0), crowd(pair.first, a, b) - odds * crowd(pair.second, a, b))
    assert low <= exact <= high <= low + Fraction(1, 10**9)


def test_every_mechanism_has_an_entry_that_knows_more_than_its_ratio() -> None:
    known = {variations.variations.of(survey.mechanism.permanent) for survey in SMALL.values()}
    assert variations.variations.entries[Mechanism] not in known
