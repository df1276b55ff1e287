"""The simulator's draws: with one respondent the tally *is* the report, so its joint law is the client's channel."""

from collections import Counter
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

import deniable as dn
import deniable.simulation as room
from deniable.mechanisms import Blocks, Budgets, Chain, Mechanism, WeightTable, rounded_table
from deniable.simulation import cell_probabilities, simulate_counts
from deniable.survey import Alphabet, Direct, Survey
from deniable.tally import Tally
from tests.exact.laws import published
from tests.statistical.harness import accept, binomial_p_value, generator, law_p_value, reject
from tests.surveys import LARGE, SMALL, named, symbols_of
from tests.toy.band import Band

REPEATS = 5_000


def one_report_law(survey: Survey, p: list[float]) -> dict[tuple[bytes, bytes], float]:
    """The law of (counts, reports) of a tally that holds one report of a random respondent."""
    law: dict[tuple[bytes, bytes], float] = {}
    for symbol, weight in zip(symbols_of(survey), p, strict=True):
        for wire, chance in published(survey, symbol).items():
            tally = Tally(survey)
            tally.accumulate(wire)
            label = tally.counts.tobytes(), tally.reports.tobytes()
            law[label] = law.get(label, 0.0) + weight * float(chance)
    return law


def joint_p_value(survey: Survey, name: str, law: dict[Any, float], draw: Any) -> float:
    rng = generator(name)
    tallies = (draw(rng) for _ in range(REPEATS))
    return law_p_value(Counter((t.counts.tobytes(), t.reports.tobytes()) for t in tallies), law)


@pytest.mark.slow
@pytest.mark.parametrize("survey", SMALL.values(), ids=SMALL.keys())
def test_joint_law_of_one_report(survey: Survey, request: pytest.FixtureRequest) -> None:
    size = len(symbols_of(survey))
    p = [2 * (i + 1) / (size * (size + 1)) for i in range(size)]
    law = one_report_law(survey, p)
    draw: Any = partial(simulate_one, survey, p)
    accept("simulate-joint-law", joint_p_value(survey, request.node.name, law, draw))
    for place in (0, size - 1):
        people = np.eye(size, dtype=np.int64)[place]
        law = one_report_law(survey, people.astype(float).tolist())
        draw = partial(count_one, survey, people)
        accept("simulate-counts-joint-law", joint_p_value(survey, f"{request.node.name}{place}", law, draw))


def simulate_one(survey: Survey, p: list[float], rng: np.random.Generator) -> Tally:
    return dn.simulate(survey, p, 1, rng, **named(survey))


def count_one(survey: Survey, people: Any, rng: np.random.Generator) -> Tally:
    return simulate_counts(survey, people, rng, **named(survey))


def test_independent_bits_are_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    """A simulator with the right marginals that forgets that one answer occupies one cell."""
    survey = SMALL["orappor-closed"]
    p = [0.2] * 5
    law = one_report_law(survey, p)
    m = cell_probabilities(survey, p)

    def forgetful(rng: np.random.Generator) -> Tally:
        reports = rng.multinomial(1, np.full(survey.cohorts, 1 / survey.cohorts))
        return Tally(survey, rng.binomial(reports[:, None], m), reports)

    reject("simulate-joint-law", joint_p_value(survey, "forgetful", law, forgetful))


def test_a_kept_truth_that_is_too_frequent_is_rejected() -> None:
    survey = SMALL["krr"]
    louder = dn.krr(symbols=["a", "b", "c", "d"], epsilon="11/20")
    law = one_report_law(survey, [1.0, 0.0, 0.0, 0.0])

    def loud(rng: np.random.Generator) -> Tally:
        tally = simulate_counts(louder, [40, 0, 0, 0], rng)
        return Tally(survey, tally.counts, tally.reports)

    rng = generator("loud")
    total = sum(loud(rng).counts[0] for _ in range(REPEATS))
    chances = [float(v) for v in law.values()]
    reject("simulate-counts-joint-law", binomial_p_value(np.sort(total), 40 * REPEATS, np.sort(chances)))


def marginal_p_value(survey: Survey, name: str, scale: Fraction) -> float:
    """Every column of one large tally is exactly Binomial(n, P(column) / C), and so is each cohort's size."""
    p = np.arange(1, 41) / 820
    n = 10**8
    source = survey
    if scale != 1:
        source = room_survey(survey, scale)
    tally = dn.simulate(source, p, n, generator(name), **named(survey, 40))
    law = cell_probabilities(survey, p, **named(survey, 40)) / survey.cohorts
    sizes = binomial_p_value(tally.reports, n, 1 / survey.cohorts)
    return min(1.0, 2 * min(sizes, binomial_p_value(tally.counts, n, law)))


def sharper(mechanism: Budgets | WeightTable, scale: Fraction) -> WeightTable:
    """Rows whose logarithms are further apart by this factor."""
    rows = np.array([mechanism.row(cell) for cell in range(mechanism.cells)], float) ** float(scale)
    return rounded_table(rows / rows.sum(axis=1, keepdims=True), 30)


def room_survey(survey: Survey, scale: Fraction) -> Survey:
    """The same survey at another epsilon."""
    mechanism = survey.mechanism.permanent
    if isinstance(mechanism, Blocks):
        in_groups = Blocks(mechanism.groups, mechanism.epsilon * scale)
        return Survey(survey.alphabet, survey.encoding, in_groups, survey.name)
    if isinstance(mechanism, (Budgets, WeightTable)):
        return Survey(survey.alphabet, survey.encoding, sharper(mechanism, scale), survey.name)
    names = ("distance", "optimized", "occupied", "size", "sensitive", "design")
    extra = {name: getattr(mechanism, name) for name in names if hasattr(mechanism, name)}
    louder: Mechanism = type(mechanism)(mechanism.cells, mechanism.epsilon * scale, **extra)  # type: ignore[call-arg]
    if isinstance(survey.mechanism, Chain):
        louder = Chain(louder, survey.mechanism.report_bound * scale)
    return Survey(survey.alphabet, survey.encoding, louder, survey.name)


BANDED = LARGE | {"band": Survey(Alphabet.closed(40), Direct(40), Band(40, 2))}


@pytest.mark.parametrize("survey", BANDED.values(), ids=BANDED.keys())
def test_marginals_of_a_hundred_million(survey: Survey, request: pytest.FixtureRequest) -> None:
    accept("simulate-marginals", marginal_p_value(survey, request.node.name, Fraction(1)))
    reject("simulate-marginals", marginal_p_value(survey, request.node.name, Fraction(11, 10)))


def test_the_room_has_no_other_draws() -> None:
    draws = {"simulate", "simulate_counts", "simulate_many"}
    assert set(room.__all__) == {"CountLaw", "cell_probabilities", "laws"} | draws
    # Of every law that is registered there is a survey above.
    drawn = {parent for survey in BANDED.values() for parent in type(survey.mechanism.permanent).__mro__}
    assert set(room.laws.entries) <= drawn
