"""The baseline of studies/loloha.py is LOLOHA as described, and the devices beside it are those of the client."""

from math import isclose

import numpy as np
import pytest

import deniable as dn
from deniable.decoders import LeastSquares, Unconstrained
from studies import loloha as study

# Squared deviations of 20 windows of 360 answers: their mean has a relative standard error of sqrt(2 / 7200) = 1.7 %,
# and six of them fail once in 5e8 runs.
SLACK = 6 * (2 / 7200) ** 0.5


def test_published_numbers_of_cells_and_what_the_first_report_spends() -> None:
    assert study.Loloha.of(4, 2.8).cells == 12
    assert isclose(study.Loloha(2, 1, 2).spends, 1)
    assert isclose(study.Loloha(2, 1, 10).spends, 0.699, abs_tol=0.0005)
    assert isclose(study.Loloha(2, 1, 100).spends, 0.166, abs_tol=0.0005)


@pytest.mark.parametrize(("permanent", "first"), [(1.0, 0.5), (4.0, 2.4)])
def test_its_estimator_is_unbiased_and_has_the_variance_of_its_channel(permanent: float, first: float) -> None:
    their, rng = study.Loloha.of(permanent, first), np.random.default_rng(1)
    counts = np.tile(rng.multinomial(10_000, np.full(360, 1 / 360)), (20, 1))
    found = their.estimates(counts, rng) - counts / 10_000
    p1, _, p2, q2 = their.stages
    hit, miss, scale = p1 * (p2 - q2) + q2, 1 / their.cells, (p1 - 1 / their.cells) * (p2 - q2)
    stated = (counts * hit * (1 - hit) + (10_000 - counts) * miss * (1 - miss)) / (10_000 * scale) ** 2
    assert abs((found**2 / stated).mean() - 1) < SLACK
    # A mutant: an estimator that takes the chance of another person's support for that of k-RR.
    wrong = (np.asarray(found) + counts / 10_000) * (p1 - 1 / their.cells) / (p1 - (1 - p1) / (their.cells - 1) / 2)
    assert abs(((wrong - counts / 10_000) ** 2 / stated).mean() - 1) > SLACK


@pytest.mark.slow
def test_devices_of_the_study_have_the_variance_of_the_survey(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tallies of the study, decoded by least squares, against `theory.expected_loss`: 20 windows of fresh devices."""
    monkeypatch.setattr(study, "WINDOWS", 1)
    survey, rng = study.survey_of(study.Loloha.of(4, 2.4)), np.random.default_rng(2)
    p = np.full(360, 1 / 360)
    errors = []
    for _ in range(20):
        (tally,) = study.tallies_of(survey, rng.integers(0, 360, (1, study.PEOPLE), dtype=np.int32), rng)
        found = dn.decode(tally, decoder=LeastSquares(), constraint=Unconstrained()).probabilities
        errors.append(((found - p) ** 2).sum())
    expected = dn.theory.expected_loss(survey, p, study.PEOPLE).squared_l2
    assert abs(np.mean(errors) / expected - 1) < SLACK
    # A mutant: the second stage left out would be far below.
    assert (
        dn.theory.expected_loss(
            dn.orr(symbols=360, epsilon=4, cells=survey.cells, cohorts=survey.cohorts), p, 10_000
        ).squared_l2
        < 0.8 * expected
    )
