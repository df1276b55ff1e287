"""The smallest share that shows, against simulated surveys and the intervals that people will read."""

import numpy as np
import pytest

import deniable as dn
from deniable.planner.catalogue import families
from deniable.planner.options import Option, PlanLimits
from deniable.planner.visible import smallest_visible
from deniable.survey import Alphabet

CASES = [
    ("k-RR", 40, 2_000, 3.0),  # few reports: normal tails would be off
    ("k-RR", 12, 100_000, 1.0),
    ("SS", 40, 20_000, 1.0),
    ("OUE", 40, 20_000, 1.0),
    ("PGR", 40, 20_000, 2.0),
    ("HR", 40, 20_000, 0.5),
    ("HR", 40, 20_000, 3.0),  # several blocks: normal
    ("O-RR", 40, 20_000, 2.0),
]


def shown(option: Option, size: int, n: int, epsilon: float, share: float) -> float:
    """How often the first symbol's simultaneous interval lies above zero, the others being alike."""
    survey = option.survey(Alphabet.closed(size), epsilon, name="", seed=bytes(16))
    p = np.full(size, (1 - share) / (size - 1))
    p[0] = share
    rng = dn.lab.generator(3)
    tallies = [dn.simulate(survey, p, n, rng) for _ in range(400)]
    estimates = dn.decode_all(tallies, constraint=dn.Projected())
    return float(np.mean([estimate.intervals(0.95, simultaneous=True)[0, 0] > 0 for estimate in estimates]))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "size", "n", "epsilon"), CASES)
def test_the_share_shows_as_often_as_it_should(name: str, size: int, n: int, epsilon: float) -> None:
    """Of 400 surveys 90 % +- 6.5 % (above four standard errors); two thirds of the share must be told from it."""
    (group,) = [f for f in families(size, is_open=False, limits=PlanLimits()) if f.name == name]
    option = Option(group, int(np.argmin(group.model(group.parameters, epsilon, n, None).base)))
    share = smallest_visible(option.model(epsilon, n), n, size)
    assert shown(option, size, n, epsilon, share) == pytest.approx(0.9, abs=0.065)
    assert shown(option, size, n, epsilon, share * 2 / 3) < 0.7


def test_among_few_people_too() -> None:
    """Counts are whole numbers: a share that shows among 80 people may not among 81."""
    for share in (0.5, 0.5683787349259879, 0.6):
        assert dn.plan(symbols=3, epsilon=0.4152585903313468, visible=share).smallest_visible <= share


def test_a_plan_for_what_must_show_keeps_its_word() -> None:
    plan = dn.plan(n=300_000, symbols=64, visible=0.01)
    assert plan.smallest_visible <= 0.01
    assert plan.smallest_visible > 0.0095
    less = dn.plan(n=300_000, symbols=64, epsilon=0.9 * plan.epsilon)
    assert less.smallest_visible > 0.01
