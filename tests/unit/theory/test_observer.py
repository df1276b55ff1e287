"""Naming an answer and linking reports, against sums over everything that can be sent."""

from itertools import product
from math import isclose

import numpy as np
import pytest

import deniable as dn
from deniable.survey import Survey
from deniable.theory import linking_probability, naming_probability

SEED = bytes(16)
SURVEYS: dict[str, Survey] = {
    "warner": dn.warner(epsilon=1),
    "krr": dn.krr(symbols=4, epsilon=1),
    "krr again": dn.krr(symbols=3, epsilon=2, epsilon_report="1/2"),
    "krappor": dn.krappor(symbols=3, epsilon=1),
    "krappor again": dn.krappor(symbols=3, epsilon=2, epsilon_report=1),
    "oue": dn.oue(symbols=3, epsilon=2),
    "oue again": dn.oue(symbols=3, epsilon=3, epsilon_report=1),
    "orr": dn.orr(symbols=6, epsilon=1, cells=3, cohorts=1, seed=SEED),
    "orr again": dn.orr(symbols=6, epsilon=2, epsilon_report=1, cells=3, cohorts=1, seed=SEED),
}
SETS: dict[str, Survey] = {
    "subset": dn.subset(symbols=4, epsilon=1, size=2),
    "subset again": dn.subset(symbols=4, epsilon=2, epsilon_report=1, size=2),
    "hadamard": dn.hadamard(symbols=4, epsilon=1),
    "projective": dn.projective(symbols=7, epsilon=1, order=2, dimension=3),
}
FRESH = ("warner", "krr", "krr again", "orr", "orr again")  # where linking by fresh reports is exact, too
each = pytest.mark.parametrize("name", [*SURVEYS, *SETS])


def stages(survey: Survey) -> tuple[list[int], np.ndarray, np.ndarray]:
    """All responses, the law of the permanent one for every answer, and that of a report for every permanent one."""
    mechanism = survey.mechanism
    responses = [y for y in range(mechanism.outputs) if mechanism.allows(y)]
    answers = survey.symbols or ()
    first = [[float(mechanism.permanent.probability(y, survey.encode(0, x))) for y in responses] for x in answers]
    both = [[float(mechanism.probability(y, survey.encode(0, x))) for y in responses] for x in answers]
    if not mechanism.twice:
        return responses, np.array(first), np.eye(len(responses))
    # The one channel of the second stage that takes the first to both, from its slope.
    slope = float((mechanism.hit - mechanism.miss) / (mechanism.permanent.hit - mechanism.permanent.miss))
    if mechanism.hits is None:
        flip = (1 - slope) / 2
        k = survey.cells
        far = np.array([[(a ^ b).bit_count() for b in responses] for a in responses])
        second = flip**far * (1 - flip) ** (k - far)
    else:
        second = slope * np.eye(len(responses)) + (1 - slope) / len(responses)
    np.testing.assert_allclose(np.array(first) @ second, both, atol=1e-12)
    return responses, np.array(first), second


def named(survey: Survey, reports: int, *, memoized: bool) -> float:
    """The largest chance of any answer, summed over every sequence of reports."""
    _, first, second = stages(survey)
    total = 0.0
    for sent in product(range(second.shape[1]), repeat=reports):
        each = first @ second
        chances = first @ np.prod(second[:, sent], axis=1) if memoized else np.prod(each[:, sent], axis=1)
        total += float(chances.max())
    return total / len(first)


@pytest.mark.parametrize("name", SURVEYS)
@pytest.mark.parametrize("memoized", [True, False])
@pytest.mark.parametrize("reports", [1, 2, 3, 4])
def test_naming_is_that_of_every_sequence_of_reports(name: str, reports: int, memoized: bool) -> None:
    survey = SURVEYS[name]
    assert isclose(naming_probability(survey, reports, memoized=memoized), named(survey, reports, memoized=memoized))


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("memoized", [True, False])
@pytest.mark.parametrize("reports", [1, 2, 3])
def test_naming_of_sets_is_exact_for_one_report_and_else_not_too_small(name: str, reports: int, memoized: bool) -> None:
    survey = SETS[name]
    found, true = naming_probability(survey, reports, memoized=memoized), named(survey, reports, memoized=memoized)
    assert found >= true * (1 - 1e-12)
    if name != "hadamard" and (reports == 1 or (memoized and not survey.mechanism.twice)):
        assert isclose(found, true)


def test_naming_of_many_reports_is_that_of_drawn_ones() -> None:
    """30 and 90 fresh reports of k-RR at epsilon 1 over ten answers, by 200,000 draws: six standard errors."""
    survey, rng, draws = dn.krr(symbols=10, epsilon=1), np.random.default_rng(1), 200_000
    law = np.full(10, float(survey.mechanism.miss))
    law[0] = float(survey.mechanism.hit)
    for reports in (7, 30, 90):
        counts = rng.multinomial(reports, law / law.sum(), size=draws)
        best = counts == counts.max(axis=1, keepdims=True)
        right = float((best[:, 0] / best.sum(axis=1)).mean())
        exact = naming_probability(survey, reports, memoized=False)
        assert abs(exact - right) < 6 * 0.5 / draws**0.5


def test_naming_grows_to_what_the_permanent_response_says() -> None:
    survey = dn.krr(symbols=5, epsilon=2, epsilon_report=1)
    found = [naming_probability(survey, reports) for reports in (1, 2, 5, 20, 100, 400, 401)]
    assert found == sorted(found)
    assert isclose(found[0], float(survey.mechanism.hit))
    assert isclose(found[-1], float(survey.mechanism.permanent.hit), rel_tol=1e-6)
    plain = dn.krr(symbols=5, epsilon=2)
    assert naming_probability(plain, 1) == naming_probability(plain, 10_000) == float(plain.mechanism.hit)
    assert naming_probability(dn.krr(symbols=5, epsilon=2), 3, memoized=False) > naming_probability(plain, 3)


def linked(survey: Survey, n: int, *, memoized: bool) -> float:
    """Picking by the likelihood ratio, summed over both windows; one cohort."""
    _, first, second = stages(survey)
    one = first @ second
    alone = one.mean(axis=0)
    pair = (
        np.einsum("xp,pa,pb->ab", first, second, second) / len(first)
        if memoized
        else np.einsum("xa,xb->ab", one, one) / len(first)
    )
    total = 0.0
    for given in range(len(alone)):
        ratio = np.round(pair[given] / (alone[given] * alone), 9)
        for others in product(range(len(alone)), repeat=n - 1):
            chance = float(np.prod(alone[list(others)]))
            for own in range(len(alone)):
                best = max(ratio[own], *(ratio[other] for other in others))
                alike = 1 + sum(ratio[other] == best for other in others)
                total += chance * pair[given, own] * (ratio[own] == best) / alike
    return total


@each
@pytest.mark.parametrize("memoized", [True, False])
def test_linking_is_that_of_every_pair_of_windows(name: str, memoized: bool) -> None:
    survey = (SURVEYS | SETS)[name]
    for n in (2, 3):
        found, true = linking_probability(survey, n, memoized=memoized), linked(survey, n, memoized=memoized)
        bits, uneven = survey.mechanism.hits is None, name == "hadamard"  # some of its cells belong to no answer
        exact = not (bits and survey.mechanism.twice) and not uneven if memoized else name in FRESH
        assert found >= true * (1 - 1e-9)
        assert not exact or isclose(found, true, rel_tol=1e-9)


def test_cohorts_link() -> None:
    """The cohort is in the clear: with C of them, a device is one of n / C."""
    found = []
    for cohorts in (1, 4, 64, 4096):
        survey = dn.olh(epsilon=2, epsilon_report="1/10", symbols=50, cohorts=cohorts, seed=SEED)
        found.append(linking_probability(survey, 100))
    assert found == sorted(found)
    assert 0.01 < found[0] < 0.012
    assert found[-1] > 0.9


def test_errors() -> None:
    survey = dn.olh(epsilon=1, cohorts=4)
    with pytest.raises(dn.DeniableError) as caught:
        naming_probability(survey, 3)
    assert str(caught.value) == (
        "candidates must be given for an open alphabet, got None; say how many answers there are"
    )
    assert 0 < naming_probability(survey, 3, candidates=100) < 1
    sentence = "candidates must not be given for a closed alphabet, whose answers are known"
    with pytest.raises(dn.DeniableError, match=sentence):
        naming_probability(dn.warner(epsilon=1), 3, candidates=2)
    with pytest.raises(dn.DeniableError, match="reports must be at least 1, got 0"):
        naming_probability(dn.warner(epsilon=1), 0)
    with pytest.raises(dn.DeniableError, match="n must be at least 2, got 1"):
        linking_probability(dn.warner(epsilon=1), 1)
