"""The harness has tests of its own: it accepts what is true and rejects what is not."""

import re
from pathlib import Path

import numpy as np
from scipy.stats import binom

from tests.statistical.harness import ALPHA, BUDGET, CHECKS, binomial_p_value, generator, law_p_value


def test_tails_are_exact() -> None:
    for hits, n, p in ((3, 10, 0.2), (0, 10, 0.2), (10, 10, 0.9), (57, 100, 0.5)):
        expected = 2 * min(binom.cdf(hits, n, p), binom.sf(hits - 1, n, p))
        assert np.isclose(binomial_p_value([hits], [n], [p]), min(1, expected))


def test_an_empty_bin_counts() -> None:
    assert binomial_p_value([0], [1000], [0.05]) < 1e-20
    assert law_p_value({"a": 1000}, {"a": 0.95, "b": 0.05}) < 1e-20


def test_an_impossible_outcome_is_fatal() -> None:
    assert law_p_value({"a": 999, "c": 1}, {"a": 0.5, "b": 0.5}) == 0
    assert binomial_p_value([1], [10], [0.0]) == 0
    assert binomial_p_value([9], [10], [1.0]) == 0
    assert binomial_p_value([0, 10], [10, 10], [0.0, 1.0]) == 1


def test_false_alarms_stay_below_their_level() -> None:
    rng = generator("false alarms")
    values = [binomial_p_value(rng.multinomial(500, [0.1, 0.2, 0.7]), 500, [0.1, 0.2, 0.7]) for _ in range(2000)]
    for level in (0.5, 0.1, 0.01):
        assert np.mean(np.array(values) < level) <= level + 4 * np.sqrt(level / 2000)


def test_the_budget_is_divided() -> None:
    assert ALPHA * len(CHECKS) <= BUDGET * (1 + 1e-12)
    assert len(set(CHECKS)) == len(CHECKS)


def test_every_check_has_a_mutant() -> None:
    text = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    for check in CHECKS:
        assert re.search(rf'accept\(\s*"{check}"', text), f"{check} is registered but never checked"
        assert re.search(rf'reject\(\s*"{check}"', text), f"{check} has no mutant"
