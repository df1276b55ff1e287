"""Plans for a mean: the worst population by brute force, all three ways round, and a sentence where there is none."""

import numpy as np
import pytest

import deniable as dn
from deniable.decoders import weights_of_sums, worst_deviation
from deniable.matrices import design_of


@pytest.mark.parametrize("survey", [dn.number(0, 1, 1, bins=12), dn.number(5, 9, 2, step=1), dn.ordered([1, 2, 9], 1)])
def test_no_population_is_worse(survey: dn.Survey) -> None:
    size, scale = len(survey.alphabet), survey.alphabet.bins
    points = np.asarray(scale.points if scale is not None else survey.symbols, float)
    design, (miss, r) = design_of(survey), survey.mechanism.affine
    even = miss + r * design.forward(np.full(size, 1 / size))[0]
    w = weights_of_sums(design, r, (points - points.mean())[None], even)[0][:, 0]
    rng, worst = np.random.default_rng(0), worst_deviation(survey)
    seen = []
    for _ in range(3000):
        p = rng.dirichlet(np.full(size, rng.choice([0.05, 0.3, 1.0])))
        m = miss + r * design.forward(p)[0]
        seen.append(np.sqrt(m @ w**2 - (m @ w) ** 2))
    assert max(seen) <= worst * (1 + 1e-9)
    assert max(seen) > 0.97 * worst


def test_each_of_the_three_is_found_from_the_other_two() -> None:
    by_epsilon = dn.plan(number=(18, 90), step=1, n=100_000, max_mean_error=1.0, name="age")
    assert (by_epsilon.found, by_epsilon.survey.name, by_epsilon.n) == ("epsilon", "age", 100_000)
    by_n = dn.plan(number=(18, 90), step=1, epsilon=by_epsilon.epsilon, max_mean_error=1.0)
    assert by_n.found == "n"
    assert 0.99 * 100_000 < by_n.n <= 100_000
    by_error = dn.plan(number=(18, 90), step=1, epsilon=by_epsilon.epsilon, n=100_000)
    assert by_error.mean_error == pytest.approx(1.0, rel=1e-3)
    assert dn.plan(ordered=[1, 2, 3, 4, 5], n=10_000, epsilon=1).mean_error < 0.1
    assert "90 % of surveys" in by_n._repr_html_()
    assert by_n.to_json()["found"] == "n"


def test_the_error_is_met() -> None:
    plan = dn.plan(number=(0, 10), step=1, n=20_000, max_mean_error=0.2)
    p = np.zeros(11)
    p[[0, 10]] = 0.5
    rng, met = np.random.default_rng(3), 0
    for _ in range(200):
        estimate = dn.decode(dn.simulate(plan.survey, p, n=plan.n, rng=rng), decoder=dn.LeastSquares())
        met += abs((estimate.mean().raw or 0) - 5) < 0.2
    assert met > 165  # 180 expected; fewer than 166 has probability 0.0004 where 90 % are met


BAD: list[tuple[dict[str, object], str]] = [
    ({"number": (0, 1), "n": 100}, "two of n, epsilon and max_mean_error must be given, got n"),
    ({"number": 5, "n": 100, "epsilon": 1}, r"number must be the two ends of a scale, such as number=\(18, 90\)"),
    (
        {"number": (0, 1), "symbols": 3, "n": 9, "epsilon": 1},
        "symbols must not be given with number: a mean is planned for a number or for ordered answers alone",
    ),
    ({"max_mean_error": 1, "n": 9}, "one of number and ordered must be given for the plan of a mean, got neither"),
    (
        {"number": (0, 1), "ordered": 5, "n": 9, "epsilon": 1},
        "one of number and ordered must be given for the plan of a mean, got both",
    ),
    (
        {"ordered": ["a", "b"], "n": 9, "epsilon": 1},
        "ordered must have whole numbers for a plan of their mean, got other answers",
    ),
    (
        {"number": (0, 1), "bins": 4, "n": 9, "max_mean_error": 0.1},
        "max_mean_error must be above half a bin, 0.125, got 0.1",
    ),
    (
        {"number": (0, 1), "n": 9, "max_mean_error": 0.01},
        "max_mean_error must be at least .* with 9 people, got 0.01; ask more",
    ),
    (
        {"number": (0, 1000), "step": 1, "epsilon": 0.001, "max_mean_error": 1e-6},
        "max_mean_error 1e-06 must be larger: at epsilon 0.001 no crowd is enough",
    ),
    ({"number": (0, 1), "n": 9, "epsilon": 1, "confidence": 0.2}, "confidence must be from 0.5 to 0.99, got 0.2"),
]


@pytest.mark.parametrize(("given", "sentence"), BAD)
def test_what_cannot_be_planned_has_a_sentence(given: dict[str, object], sentence: str) -> None:
    with pytest.raises(dn.DeniableError, match=sentence):
        dn.plan(**given)  # type: ignore[arg-type]
