"""Forms in bulk have the law of the client; sampled marginals have the variance of theory, and intervals cover."""

from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import binom, chi2

import deniable as dn
from deniable.survey import Form
from tests.exact.forms import published_form
from tests.statistical.harness import accept, generator, law_p_value, passes, reject

SMALL: dict[str, Form] = {
    "sampled": dn.form(a=dn.warner(epsilon=1), b=dn.krr(3, epsilon=1), epsilon=2, spend="sample"),
    "split": dn.form(a=dn.warner(epsilon=1), b=dn.krr(3, epsilon=1), epsilon=2),
    "related": dn.form(a=dn.warner(epsilon=1), b=dn.krr(3, epsilon=1), epsilon=2, relate=[("a", "b")]),
    "skipped": dn.form(a=dn.warner(epsilon=1), b=dn.krr(3, epsilon=1), epsilon=2, spend="sample", skip=["a"]),
}
ROWS = 40_000


@pytest.mark.parametrize("name", SMALL)
def test_tables_have_the_law_of_the_client(name: str) -> None:
    form = SMALL[name]
    table = dn.privatize(form, {"a": ["yes"] * ROWS, "b": np.full(ROWS, 2)})
    counts = Counter(row.tobytes() for row in table.packed())
    law = published_form(form, {"a": "yes", "b": 2})
    accept("form-law", law_p_value(counts, law))


def test_words_shared_between_columns_are_caught() -> None:
    """Each column alone looks perfect: what the second names is decided by the noise of the first."""
    form = dn.form(a=dn.warner(epsilon=1), b=dn.warner(epsilon=1), epsilon=2)
    table = dn.privatize(form, {"a": ["yes"] * ROWS, "b": ["yes"] * ROWS})
    rows = table.packed()
    rows[:, 10] = rows[:, 9]
    counts = Counter(row.tobytes() for row in rows)
    reject("form-law", law_p_value(counts, published_form(form, {"a": "yes", "b": "yes"})))


SAMPLED = dn.form(
    smokes=dn.warner(epsilon=1), likes=dn.krr(4, epsilon=1), food=dn.oue(5, epsilon=1), epsilon=2, spend="sample"
)
SHARES = {"smokes": [0.7, 0.3], "likes": [0.4, 0.3, 0.2, 0.1], "food": [0.5, 0.2, 0.1, 0.1, 0.1]}
PEOPLE, REPEATS = 6000, 1500


def theory(form: Form, question: str, people: float) -> npt.NDArray[np.float64]:
    """The variance of an unbiased share: that of a frequency among those who answer, over the slope squared."""
    mechanism = form.part_of(question).survey.mechanism
    hit, miss = float(mechanism.hit), float(mechanism.miss)
    mean = miss + (hit - miss) * np.array(SHARES[question])
    return np.asarray(mean * (1 - mean) / (hit - miss) ** 2 / people)


def estimates(name: str) -> dict[str, npt.NDArray[np.float64]]:
    rng = generator(name)
    found: dict[str, list[Any]] = {question: [] for question in SHARES}
    for _ in range(REPEATS):
        tally = dn.simulate(SAMPLED, SHARES, PEOPLE, rng)
        estimate = dn.decode(tally, decoder=dn.Inversion(), constraint=dn.Unconstrained())
        for question in SHARES:
            found[question].append(estimate[question].raw)
    return {question: np.array(rows) for question, rows in found.items()}


def variance_p_value(found: npt.NDArray[np.float64], shares: list[float], variance: npt.NDArray[np.float64]) -> float:
    """Squared errors over the variance add up to a chi-square of so many degrees: two sides, all answers."""
    sums = ((found - np.array(shares)) ** 2 / variance).sum(axis=0)
    tails = np.minimum(chi2.cdf(sums, len(found)), chi2.sf(sums, len(found)))
    return float(min(1.0, 2 * len(shares) * tails.min()))


@pytest.mark.slow
def test_marginals_of_a_sampled_form_have_the_variance_of_theory() -> None:
    found = estimates("form-variance")
    for question, shares in SHARES.items():
        # A third of the people answer; their number varies, which adds its relative variance, 2 / PEOPLE.
        variance = theory(SAMPLED, question, PEOPLE / 3) * (1 + 2 / PEOPLE)
        accept("form-variance", variance_p_value(found[question], shares, variance))
        reject("form-variance", variance_p_value(found[question], shares, theory(SAMPLED, question, PEOPLE)))


PAIRED = dn.form(
    smokes=dn.warner(epsilon=1), likes=dn.krr(4, epsilon=1), food=dn.krr(5, epsilon=1), epsilon=2,
    spend="sample", relate=[("smokes", "likes")],
)  # fmt: skip


def coverage(form: Form, name: str, repeats: int, *, narrow: float = 1.0) -> tuple[int, int]:
    """How many intervals of shares cover the share, of how many; of every answer of every question."""
    rng, hits, every = generator(name), 0, 0
    for _ in range(repeats):
        estimate = dn.decode(dn.simulate(form, SHARES, PEOPLE, rng))
        for question, shares in SHARES.items():
            limits = estimate[question].intervals(0.95)
            middle = limits.mean(axis=1)
            low, high = (middle + narrow * (limits[:, side] - middle) for side in (0, 1))
            hits += int(((low <= shares) & (shares <= high)).sum())
            every += 1
    return hits, every


def coverage_p_value(hits: int, groups: int) -> float:
    """Whether 94 to 97 % of the intervals can cover; the answers of one question depend on each other, so they count as
    one draw each for the tails."""
    answers = sum(map(len, SHARES.values())) / len(SHARES)
    share = hits / (answers * groups)
    return float(min(1.0, 2 * binom.cdf(share * groups, groups, 0.94), 2 * binom.sf(share * groups - 1, groups, 0.97)))


@pytest.mark.slow
@pytest.mark.parametrize("form", [SAMPLED, PAIRED])
def test_intervals_of_a_sampled_form_cover(form: Form) -> None:
    accept("form-coverage", coverage_p_value(*coverage(form, "form-coverage", 400)))
    mutant = coverage_p_value(*coverage(form, "form-coverage", 400, narrow=0.6))
    reject("form-coverage", mutant)
    assert not passes("form-coverage", mutant)
