"""The exact likelihood of raw reports: it is the channel's, and it is maximised."""

import math

import numpy as np
import pytest

import deniable as dn
from deniable.decoders import likelihood_of_reports
from deniable.decoders.likelihood import water_fill
from deniable.decoders.raw_reports import response_odds
from deniable.survey import Direct, Survey
from tests.surveys import SMALL, symbols_of

ONE_CELL = {
    name: survey
    for name, survey in SMALL.items()
    if isinstance(survey.encoding, Direct) and survey.mechanism.two_valued
}
each = pytest.mark.parametrize("survey", ONE_CELL.values(), ids=ONE_CELL.keys())


def log_likelihood(survey: Survey, table: dn.ReportTable, p: np.ndarray) -> float:
    """From `mechanism.probability` alone, report by report."""
    mechanism, total = survey.mechanism, 0.0
    known: dict[int, list[float]] = {}
    for report in table:
        y = report.response
        if y not in known:
            known[y] = [float(mechanism.probability(y, (x,))) for x in range(survey.cells)]
        total += math.log(math.fsum(q * w for q, w in zip(known[y], p, strict=True)))
    return total


@each
def test_likelihood_is_the_channels(survey: Survey) -> None:
    low, high = response_odds(survey)
    for y in range(survey.mechanism.outputs):
        if not survey.mechanism.allows(y):
            continue
        hit = set(survey.mechanism.columns_hit(y))
        weights = [float(survey.mechanism.probability(y, (x,))) for x in range(survey.cells)]
        expected = [high if x in hit else low for x in range(survey.cells)]
        np.testing.assert_allclose(np.array(weights) / sum(weights), np.array(expected) / sum(expected), rtol=1e-9)


@each
def test_no_other_distribution_is_likelier(survey: Survey) -> None:
    rng, k = np.random.default_rng(1), survey.cells
    symbols = symbols_of(survey)
    column = [symbols[i] for i in rng.integers(0, k, 600)]
    table = dn.privatize(survey, column)
    estimate = likelihood_of_reports(table)
    best = log_likelihood(survey, table, estimate.probabilities)
    others = [np.full(k, 1 / k), dn.decode(estimate.tally, decoder=dn.Likelihood()).probabilities]
    for _ in range(20):
        near = estimate.probabilities * np.exp(rng.normal(size=k) * 0.05) + 1e-3
        others += [rng.dirichlet(np.ones(k)), near / near.sum()]
    for p in others:
        assert log_likelihood(survey, table, p) <= best + 1e-6
    assert estimate.probabilities.sum() == pytest.approx(1)
    assert (estimate.standard_errors > 0).all()


def test_krr_needs_no_reports() -> None:
    survey = SMALL["krr"]
    table = dn.privatize(survey, ["a"] * 500 + ["b"] * 200)
    estimate = likelihood_of_reports(table)
    r = float(survey.mechanism.hit - survey.mechanism.miss)
    expected = water_fill(estimate.tally.counts[0], float(survey.mechanism.miss) / r)
    np.testing.assert_allclose(estimate.probabilities, expected, atol=1e-6)


def test_what_cannot_be_read_is_refused() -> None:
    open_table = dn.privatize(SMALL["orr-open"], ["a"])
    with pytest.raises(dn.DecodeError) as caught:
        likelihood_of_reports(open_table)
    assert str(caught.value) == "reports must be of a survey with one cell a symbol, got O-RR; decode their tally"
    with pytest.raises(dn.DecodeError, match="reports must be of a survey with one cell a symbol, got HR"):
        likelihood_of_reports(dn.privatize(SMALL["hadamard"], ["a"]))
    with pytest.raises(dn.DecodeError, match="reports must be of a survey with one cell a symbol, got uRR"):
        likelihood_of_reports(dn.privatize(SMALL["sensitive"], [symbols_of(SMALL["sensitive"])[0]]))
    empty = dn.ReportTable(SMALL["subset"], np.zeros(0, np.uint8), np.zeros((0, 1), np.uint8))
    with pytest.raises(dn.DecodeError, match="reports must be at least one, got none"):
        likelihood_of_reports(empty)
