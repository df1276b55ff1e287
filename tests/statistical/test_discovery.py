"""Texts that nobody wrote are not declared, and the shares of those that are are true; and what would not be."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from scipy.special import bdtr, bdtrc, ndtr, ndtri

import deniable as dn
from deniable.decoders import DiscoveredEstimate, discovering
from deniable.decoders.levels import beginning_shares, level_tally
from tests.statistical.harness import accept, generator, reject

pytestmark = pytest.mark.slow

LETTERS = "abcdefgh"
TALLIES = 25
Shares = dict[str, float]


def words(rng: np.random.Generator, count: int, size: int, begin: str = "") -> list[str]:
    return list(dict.fromkeys(begin + "".join(rng.choice(list(LETTERS), size)) for _ in range(count)))


def even(texts: list[str]) -> Shares:
    return dict.fromkeys(texts, 1 / len(texts))


def light_under_heavy(rng: np.random.Generator) -> Shares:
    return even([text for begin in words(rng, 3, 4) for text in words(rng, 200, 2, begin)])


def long_beginnings(rng: np.random.Generator) -> Shares:
    texts = words(rng, 40, 1, words(rng, 1, 5)[0])
    total = sum(1 / (1 + i) for i in range(len(texts)))
    return {text: 1 / (1 + i) / total for i, text in enumerate(texts)}


POPULATIONS: dict[str, Callable[[np.random.Generator], Shares]] = {
    "a text of one's own each": lambda rng: even(words(rng, 4000, 6)),
    "one text": lambda rng: even(words(rng, 1, 5)),
    "light under heavy": light_under_heavy,
    "long beginnings": long_beginnings,
    "planted": lambda rng: even(words(rng, 4000, 6)),
}


def drawn(name: str, rng: np.random.Generator, n: int = 50_000) -> tuple[dn.Tally, Shares]:
    wrote = POPULATIONS[name](rng)
    survey = dn.discovery(epsilon=3, length=6, cohorts=256, seed=rng.bytes(16))
    tally = dn.simulate(survey, list(wrote.values()), n, rng, symbols=list(wrote))
    if name == "planted":  # one report in a hundred names the first cell of its cohort
        junk = np.zeros_like(tally.counts)
        junk[:, 0] = rng.multinomial(n // 100, np.full(survey.cohorts, 1 / survey.cohorts))
        tally.add(junk, junk.sum(axis=1))
    return tally, wrote


def too_many(name: str) -> float:
    """How likely so many tallies with a false discovery are, if one in twenty may have one (and a point more)."""
    rng, wrong = generator(f"discovery {name}"), 0
    for _ in range(TALLIES):
        tally, wrote = drawn(name, rng)
        wrong += not set(dn.discover(tally, alphabet=LETTERS).symbols) <= set(wrote)
    return float(bdtrc(wrong - 1, TALLIES, 0.06)) if wrong else 1.0


@pytest.mark.parametrize("name", POPULATIONS)
def test_texts_that_nobody_wrote_are_rarely_declared(name: str) -> None:
    accept("discovery-family", too_many(name))


def test_people_who_choose_candidates_must_not_test_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutant: the last level tests the 16 candidates that its own reports favour."""
    real = discovering._Search._grown

    def favoured(search: discovering._Search, state: discovering.Beginnings, number: int, looked: int) -> object:
        found, promise = real(search, state, number, looked)
        if number < len(search.levels) - 1:
            return found, promise
        values = beginning_shares(level_tally(search.tally, number), found).values
        best = np.argsort(-values)[:16]
        # As if the levels before had chosen them, with all of the allowed error.
        return [found[i] for i in best.tolist()], promise[best] + 50

    monkeypatch.setattr(discovering._Search, "_grown", favoured)
    reject("discovery-family", too_many("a text of one's own each"))


HEAVY = {"abcdef": 0.1, "abcdeg": 0.05, "fade": 0.1}
SMALL = 0.005  # a share that is declared one time in ten


def found_and_true() -> list[tuple[DiscoveredEstimate, dn.Tally, npt.NDArray[np.float64]]]:
    """Tallies in which much that is not declared begins like what is; what is found of small shares was lucky."""
    rng, found = generator("discovery shares"), []
    light = [text for begin in ("abcd", "fa", "hea") for text in words(rng, 300, 6 - len(begin), begin)]
    light = [text for text in light if text not in HEAVY]
    small = dict.fromkeys(words(rng, 40, 5, "g"), SMALL)
    left = 1 - sum(HEAVY.values()) - sum(small.values())
    wrote = HEAVY | small | dict.fromkeys(light, left / len(light))
    for _ in range(TALLIES):
        survey = dn.discovery(epsilon=3, length=6, cohorts=256, seed=rng.bytes(16))
        tally = dn.simulate(survey, list(wrote.values()), 200_000, rng, symbols=list(wrote))
        estimate = dn.discover(tally, alphabet=LETTERS)
        found.append((estimate, tally, np.array([wrote.get(str(text), 0.0) for text in estimate.symbols])))
    return found


def test_shares_are_true_and_those_of_all_cohorts_together_are_not() -> None:
    """Of texts that are always declared: selection does not matter for them.

    Mutant: `decode` with the same list, which takes what begins like a listed text for it.
    """
    apart: dict[str, list[float]] = {"discover": [], "decode": []}
    inside, plain = [], []
    for estimate, tally, true in found_and_true():
        sure = true >= 0.05
        assert sure.sum() == len(HEAVY)
        listed = dn.decode(tally, candidates=estimate.symbols)
        for name, one in (("discover", estimate), ("decode", listed)):
            apart[name].append(float(((one.raw - true) / one.standard_errors)[sure].sum()))
        low, high = estimate.intervals(0.9).T
        inside += ((low <= true) & (true <= high))[~sure].tolist()  # of those that chance selected
        reach = -ndtri(0.05) * estimate.standard_errors
        plain += (np.abs(estimate.raw - true) <= reach)[~sure].tolist()
    size = np.sqrt(len(apart["discover"]) * len(HEAVY))
    p_values = {name: float(2 * ndtr(-abs(sum(sums)) / size)) for name, sums in apart.items()}
    accept("discovery-shares", p_values["discover"])
    reject("discovery-shares", p_values["decode"])
    accept("discovery-coverage", float(bdtr(sum(inside), len(inside), 0.9 - 0.02)))
    reject("discovery-coverage", float(bdtr(sum(plain), len(plain), 0.9 - 0.02)))


PLANNED = 0.01


def found_as_planned(part: float) -> float:
    """How likely it is that so few texts of the planned share are found by `part` of the planned people."""
    rng, found, tallies, each = generator("discovery plan"), 0, 5, 12
    plan = dn.plan(epsilon=3, discover_above=PLANNED, length=4)
    for _ in range(tallies):
        texts = words(rng, each, 4)
        own = [text for text in words(rng, 2000, 4, "") if text not in texts]
        wrote = dict.fromkeys(texts, PLANNED) | dict.fromkeys(own, (1 - PLANNED * len(texts)) / len(own))
        survey = dn.discovery(epsilon=3, levels=plan.survey.encoding.levels, length=4, seed=rng.bytes(16))
        people = round(part * plan.n)
        tally = dn.simulate(survey, list(wrote.values()), people, rng, symbols=list(wrote))
        symbols = dn.discover(tally).symbols
        found += sum(text in symbols for text in texts)
    return float(bdtr(found, tallies * each, plan.confidence - 0.02))


def test_plans_find_what_they_promise_and_half_of_their_people_do_not() -> None:
    accept("discovery-plan", found_as_planned(1.0))
    reject("discovery-plan", found_as_planned(0.5))
