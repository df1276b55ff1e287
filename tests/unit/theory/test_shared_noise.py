"""The permanent part of a report's noise, against the covariance of the estimate itself."""

import numpy as np
import pytest

import deniable as dn
from deniable.design import BlockDesign, design_of
from deniable.theory import inversion_variances, permanent_share

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
