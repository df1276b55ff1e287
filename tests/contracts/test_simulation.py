"""The simulator draws from the client's own channel, as rationals; no draw is needed to see that."""

from fractions import Fraction

import numpy as np
import pytest

import deniable as dn
from deniable.simulation import cell_probabilities, simulate_counts
from deniable.survey import Survey
from tests.exact.laws import law_of
from tests.surveys import LARGE, SMALL, named, symbols_of


def weights(size: int) -> list[Fraction]:
    """An uneven population without a common pattern."""
    raw = [Fraction(1, 3 + (7 * i) % 11) for i in range(size)]
    return [w / sum(raw) for w in raw]


@pytest.mark.parametrize("survey", SMALL.values(), ids=SMALL.keys())
def test_cell_probabilities_are_the_clients_channel(survey: Survey) -> None:
    """P(column | cohort) that `simulate` uses == what walking every branch of the real client gives."""
    symbols = symbols_of(survey)
    population = weights(len(symbols))
    walked = np.full((survey.cohorts, survey.columns), Fraction(0), object)
    for symbol, weight in zip(symbols, population, strict=True):
        for wire, chance in law_of(survey, symbol).probabilities.items():
            report = dn.Report.unpack(survey, wire)
            for column in survey.mechanism.columns_hit(report.response):
                walked[report.cohort, column] += weight * chance * survey.cohorts
    exact = cell_probabilities(survey, np.array(population, object), **named(survey))
    assert (exact == walked).all()
    drawn_from = cell_probabilities(survey, np.array(population, float), **named(survey))
    np.testing.assert_allclose(drawn_from, exact.astype(float), rtol=1e-14)


@pytest.mark.parametrize("survey", LARGE.values(), ids=LARGE.keys())
@pytest.mark.parametrize("n", [0, 1, 7, 10**4, 10**12])
def test_a_simulated_tally_is_a_possible_tally(survey: Survey, n: int) -> None:
    p = np.array(weights(40), float)
    tally = dn.simulate(survey, p, n, np.random.default_rng(n), **named(survey, 40))
    assert tally.n == n == tally.reports.sum()  # `Tally` itself refuses impossible counts


def test_the_same_seed_gives_the_same_tally() -> None:
    p = np.array(weights(40), float)
    draws = [dn.simulate(LARGE["orr-closed"], p, 10**6, np.random.default_rng(3)) for _ in range(2)]
    assert draws[0] == draws[1]


@pytest.mark.parametrize("survey", SMALL.values(), ids=SMALL.keys())
def test_a_fixed_population_is_counted_whole(survey: Survey) -> None:
    people = np.arange(len(symbols_of(survey))) * 100
    tally = simulate_counts(survey, people, np.random.default_rng(1), **named(survey))
    assert tally.n == people.sum()


def test_bad_populations_are_refused() -> None:
    survey, rng = SMALL["krr"], np.random.default_rng(0)
    with pytest.raises(dn.DeniableError, match="p must have one entry for each of 4 symbols"):
        dn.simulate(survey, [1.0], 10, rng)
    with pytest.raises(dn.DeniableError, match=r"p must sum to one within 1e-9, got 0\.89"):
        dn.simulate(survey, [0.3, 0.2, 0.2, 0.2], 10, rng)
    with pytest.raises(dn.DeniableError, match="n must be at least 0, got -1"):
        dn.simulate(survey, [0.25] * 4, -1, rng)
    with pytest.raises(dn.DecodeError, match="symbols must be given for an open alphabet: what p is over"):
        dn.simulate(SMALL["orr-open"], [1.0], 10, rng)
    with pytest.raises(
        dn.DecodeError, match="symbols must not be given for a closed alphabet; p is over its symbols in order"
    ):
        dn.simulate(survey, [0.25] * 4, 10, rng, symbols=["a"])
    with pytest.raises(dn.DecodeError, match="counts must be 4 non-negative integers, one a symbol"):
        simulate_counts(survey, [1, 2, 3], rng)


def test_bad_numbers_and_generators_are_refused() -> None:
    survey, rng, p = SMALL["krr"], np.random.default_rng(0), [0.25] * 4
    for n in ("3", 1e3, True, None):
        with pytest.raises(dn.DeniableError, match="n must be an integer, got"):
            dn.simulate(survey, p, n, rng)  # type: ignore[arg-type]
    with pytest.raises(dn.DeniableError, match="p must be a list of numbers, got list"):
        dn.simulate(survey, ["a", "b", "c", "d"], 3, rng)
    with pytest.raises(
        dn.DecodeError, match=r"rng must be a NumPy generator, got int; use np.random.default_rng\(seed\)"
    ):
        dn.simulate(survey, p, 3, 0)  # type: ignore[call-overload]
    with pytest.raises(dn.DecodeError, match="rng must be a NumPy generator"):
        simulate_counts(survey, [1, 1, 1, 1], None)  # type: ignore[arg-type]
