"""The permanent part of a report's noise, against the covariance of the estimate itself."""

import numpy as np
import pytest

import deniable as dn
from deniable.matrices import BlockDesign, design_of
from deniable.theory import inversion_variances, permanent_share, returning_share

P = np.array([0.4, 0.25, 0.15, 0.1, 0.06, 0.04])
SURVEYS = {
    "krr": dn.krr(symbols=6, epsilon=2, epsilon_report=1),
    "oue": dn.oue(symbols=6, epsilon=2, epsilon_report=1),
    "hadamard": dn.hadamard(symbols=6, epsilon=2, epsilon_report=1),
    "one block": dn.hadamard(symbols=6, epsilon=2, epsilon_report=1, blocks=1),
}


@pytest.mark.parametrize("name", SURVEYS)
def test_it_is_the_ratio_of_the_variances_of_both_stages(name: str) -> None:
    survey = SURVEYS[name]
    design = design_of(survey)
    assert isinstance(design, BlockDesign)
    found = []
    for mechanism in (survey.mechanism.permanent, survey.mechanism):
        miss, gap = mechanism.affine
        columns = miss + gap * design.forward(P)
        found.append(inversion_variances(design, mechanism, columns, 1000))
    assert permanent_share(survey, P) == pytest.approx(found[0] / found[1], rel=1e-9)


def test_a_repeated_report_is_permanent_as_a_whole() -> None:
    assert (permanent_share(dn.krr(symbols=6, epsilon=2), P) == 1).all()


@pytest.mark.parametrize("name", ["hadamard", "projective"])
def test_many_answers_repeat_noise_as_one_by_one_ones_do(name: str) -> None:
    """360 answers have 256 or 121 cells each: sets of so many cells are more than a float can count."""
    survey, even = getattr(dn, name)(symbols=360, epsilon=1), np.full(360, 1 / 360)
    assert returning_share(survey, even) == pytest.approx(
        returning_share(dn.krr(symbols=360, epsilon=1), even), rel=1e-3
    )


AGAIN = {
    "krr": dn.krr(symbols=6, epsilon=2, participation="window"),
    "oue": dn.oue(symbols=6, epsilon=2, participation="window"),
    "hadamard": dn.hadamard(symbols=6, epsilon=2, participation="window"),
    "two cells": dn.orr(symbols=6, epsilon=2, cells=2, cohorts=16, seed=bytes(16), participation="window"),
    "three cells": dn.orr(symbols=6, epsilon=1, cells=3, cohorts=16, seed=bytes(16), participation="window"),
}
HISTORIES = 3000


@pytest.mark.slow
@pytest.mark.parametrize("name", AGAIN)
def test_devices_that_draw_their_answer_anew_repeat_their_noise_as_often_as_stated(name: str) -> None:
    """The correlation of two windows of the same devices, none of which keeps its answer.

    Six symbols of a history add up to one and are taken as three independent numbers, so the correlation of all
    histories has a standard error below 1 / sqrt(9000); six of them fail once in 5e8 runs.
    """
    survey, rng = AGAIN[name], np.random.default_rng(19)
    histories = [dn.lab.panel(survey, np.tile(P, (2, 1)), 200, rng, change=1.0) for _ in range(HISTORIES)]
    decoder = dn.LeastSquares() if survey.cohorts > 1 else dn.Inversion()
    pairs = np.stack([decoded.raw for history in histories for decoded in dn.decode_all(history, decoder=decoder)])
    first, second = (part / part.std(axis=0) for part in (pairs[::2] - P, pairs[1::2] - P))
    found, slack = float((first * second).mean()), 6 / (3 * HISTORIES) ** 0.5
    assert abs(found - returning_share(survey, P)) < slack
    assert found > slack  # a mutant: only those who keep their answer repeat their noise
