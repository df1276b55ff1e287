"""A planned form meets what was wanted of each question in nine of ten surveys.

Each question and population is 200 surveys, of which a share of at least .9 must meet the error: 160 or fewer have a
probability below 3e-6 each (binomial), and there are nine.
"""

import numpy as np
import pytest

import deniable as dn
from deniable.planner import FormPlan

pytestmark = pytest.mark.slow
SURVEYS, LEAST = 200, 160
ASKED = dn.form(smokes=dn.warner(epsilon=1), likes=dn.krr(6, epsilon=1), sport=dn.krr(4, epsilon=1), epsilon=1)
WANTED = {"smokes": 0.015, "likes": 0.03, "sport": 0.02}
SHAPES = {
    "even": {"smokes": [0.5, 0.5], "likes": [1 / 6] * 6, "sport": [0.25] * 4},
    "spike": {"smokes": [0.9, 0.1], "likes": [0.5, *[0.1] * 5], "sport": [0.5, *[1 / 6] * 3]},
    "steep": {"smokes": [0.7, 0.3], "likes": [0.4, 0.2, 0.15, 0.1, 0.1, 0.05], "sport": [0.6, 0.2, 0.15, 0.05]},
}


def met(form: dn.Form, n: int) -> dict[tuple[str, str], int]:
    rng = np.random.default_rng(20261118)
    found: dict[tuple[str, str], int] = {}
    for shape, people in SHAPES.items():
        counts = dict.fromkeys(WANTED, 0)
        for _ in range(SURVEYS):
            estimate = dn.decode(dn.simulate(form, people, n=n, rng=rng))
            for name, wanted in WANTED.items():
                counts[name] += bool(np.abs(estimate[name].probabilities - people[name]).max() <= wanted)
        found |= {(shape, name): count for name, count in counts.items()}
    return found


@pytest.fixture(scope="module")
def plan() -> FormPlan:
    found: FormPlan = dn.plan(ASKED, n=50_000, max_error=WANTED)
    return found


def test_nine_of_ten_surveys_meet_the_plan(plan: FormPlan) -> None:
    assert min(met(plan.form, plan.n).values()) > LEAST


def test_a_form_that_spends_less_does_not(plan: FormPlan) -> None:
    """The mutant: half of the people, as if one part were drawn too rarely."""
    assert min(met(plan.form, plan.n // 2).values()) <= LEAST
