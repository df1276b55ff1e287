"""Theory as an oracle: simulated losses against the closed forms, at six standard errors.

Six standard errors are 2e-9 a comparison, two-sided, so the 78 comparisons here cost 1.5e-7. Every one names mutants,
the same formula with something slightly wrong, which the very same losses must reject. Draws come from the published
channel or from the true law of a tally; seeds come from the test's name.
"""

import numpy as np
import numpy.typing as npt
import pytest

import deniable as dn
from deniable import theory
from deniable.matrices import design_of
from tests.statistical.harness import generator

Floats = npt.NDArray[np.float64]
Losses = tuple[Floats, Floats]

SIGMAS = 6.0


def agrees(losses: Floats, claim: float) -> bool:
    """Whether the mean of independent losses is within six standard errors of what a formula claims."""
    error = float(losses.std(ddof=1)) / len(losses) ** 0.5
    return bool(abs(float(losses.mean()) - claim) <= SIGMAS * error)


def losses_of(estimates: Floats, p: Floats) -> Losses:
    """Squared l2 and l1 loss of each row."""
    errors = estimates - p
    return (errors**2).sum(axis=1), np.abs(errors).sum(axis=1)


def krr_losses(survey: dn.Survey, p: Floats, n: int, rounds: int, rng: np.random.Generator) -> Losses:
    """People are drawn from p, then each symbol's holders through their row of the published channel."""
    mechanism, k = survey.mechanism, survey.cells
    people = rng.multinomial(n, p, size=rounds)
    counts = np.zeros((rounds, k), np.int64)
    for x in range(k):
        row = np.array([float(mechanism.probability(y, (x,))) for y in range(k)])
        counts += rng.multinomial(people[:, x], row / row.sum())
    odds = float(mechanism.hit / mechanism.miss)
    # eq:rr_empirical, as printed
    return losses_of((odds + k - 1) / (odds - 1) * counts / n - 1 / (odds - 1), p)


def krappor_losses(survey: dn.Survey, p: Floats, n: int, rounds: int, rng: np.random.Generator) -> Losses:
    """People are drawn from p; each column sums the set bits that stay and the unset bits that flip."""
    hit, miss = float(survey.mechanism.hit), float(survey.mechanism.miss)
    people = rng.multinomial(n, p, size=rounds)
    counts = rng.binomial(people, hit) + rng.binomial(n - people, miss)
    odds = hit / miss
    # eq:rappor_empirical, as printed
    return losses_of((odds + 1) / (odds - 1) * counts / n - 1 / (odds - 1), p)


CASES = [(2, 1.0), (8, 0.5), (8, 2.0), (32, 3.0)]


@pytest.mark.parametrize(("k", "epsilon"), CASES)
@pytest.mark.parametrize("shape", ["uniform", "geometric"])
def test_krr_l2_is_the_simulated_risk(k: int, epsilon: float, shape: str) -> None:
    p = dn.lab.uniform(k) if shape == "uniform" else dn.lab.geometric(k, mean=k / 5)
    rng = generator(f"test_krr_l2_is_the_simulated_risk {k} {epsilon} {shape}")
    losses, _ = krr_losses(dn.krr(symbols=k, epsilon=epsilon), p, 300, 12_000, rng)
    assert agrees(losses, theory.krr_l2(p, epsilon, 300))
    assert agrees(losses, theory.l2_risk(dn.krr(symbols=k, epsilon=epsilon), p, 300))
    assert not agrees(losses, theory.krr_l2(p, 1.1 * epsilon, 300))
    assert not agrees(losses, theory.krr_l2(np.append(p, 0.0), epsilon, 300))
    assert not agrees(losses, theory.krappor_l2(p, epsilon, 300))


@pytest.mark.parametrize(("k", "epsilon"), CASES)
@pytest.mark.parametrize("shape", ["uniform", "geometric"])
def test_krappor_l2_is_the_simulated_risk(k: int, epsilon: float, shape: str) -> None:
    p = dn.lab.uniform(k) if shape == "uniform" else dn.lab.geometric(k, mean=k / 5)
    rng = generator(f"test_krappor_l2_is_the_simulated_risk {k} {epsilon} {shape}")
    losses, _ = krappor_losses(dn.krappor(symbols=k, epsilon=epsilon), p, 300, 30_000, rng)
    assert agrees(losses, theory.krappor_l2(p, epsilon, 300))
    assert agrees(losses, theory.l2_risk(dn.krappor(symbols=k, epsilon=epsilon), p, 300))
    assert not agrees(losses, theory.krappor_l2(p, 1.1 * epsilon, 300))
    assert not agrees(losses, theory.krappor_l2(np.append(p, 0.0), epsilon, 300))


@pytest.mark.parametrize(("k", "epsilon"), CASES)
def test_l1_formulas_are_the_simulated_risks_at_large_n(k: int, epsilon: float) -> None:
    p, n = dn.lab.geometric(k, mean=k / 5), 50_000
    rng = generator(f"test_l1_formulas_are_the_simulated_risks_at_large_n {k} {epsilon}")
    _, losses = krr_losses(dn.krr(symbols=k, epsilon=epsilon), p, n, 8_000, rng)
    assert agrees(losses, theory.krr_l1(p, epsilon, n))
    assert agrees(losses, theory.l1_risk(dn.krr(symbols=k, epsilon=epsilon), p, n))
    assert not agrees(losses, theory.krr_l1(p, 1.1 * epsilon, n))
    assert not agrees(losses, theory.krr_l1(np.append(p, 0.0), epsilon, n))
    _, losses = krappor_losses(dn.krappor(symbols=k, epsilon=epsilon), p, n, 8_000, rng)
    assert agrees(losses, theory.krappor_l1(p, epsilon, n))
    assert not agrees(losses, theory.krappor_l1(p, 1.1 * epsilon, n))
    assert not agrees(losses, theory.krappor_l1(np.append(p, 0.0), epsilon, n))


def test_exact_l1_is_the_simulated_risk_at_small_n() -> None:
    rng = generator("test_exact_l1_is_the_simulated_risk_at_small_n")
    p, n = np.array([1 / 6, 5 / 6]), 2
    for survey, draw in (
        (dn.warner(epsilon="1.0986122886681098"), krr_losses),
        (dn.krappor(symbols=2, epsilon="2.1972245773362196"), krappor_losses),
    ):
        _, losses = draw(survey, p, n, 60_000, rng)
        assert agrees(losses, theory.l1_risk(survey, p, n, exact=True))
        assert not agrees(losses, theory.l1_risk(survey, p, n))  # the large-n formula, 10 % off here
        assert not agrees(losses, theory.l1_risk(survey, [0.5, 0.5], n, exact=True))


def test_empirical_estimator_has_the_nonprivate_risk() -> None:
    rng = generator("test_empirical_estimator_has_the_nonprivate_risk")
    p = dn.lab.geometric(6, mean=2)
    for n in (7, 20_000):
        squared, absolute = losses_of(rng.multinomial(n, p, size=40_000) / n, p)
        assert agrees(squared, theory.ml_l2(p, n))
        assert agrees(absolute, theory.ml_l1(p, n, exact=True))
        assert not agrees(squared, 1.1 * theory.ml_l2(p, n))
        assert not agrees(squared, theory.ml_l2_worst(6, n))
        assert not agrees(absolute, theory.ml_l1(p, round(1.1 * n), exact=True))
        assert agrees(absolute, theory.ml_l1(p, n)) is (n > 1000)  # the large-n formula is no good at n = 7


def test_minimax_estimator_has_the_minimax_risk() -> None:
    rng = generator("test_minimax_estimator_has_the_minimax_risk")
    n, k = 50, 6
    for p in (dn.lab.uniform(k), dn.lab.geometric(k, mean=2)):
        counts = rng.multinomial(n, p, size=40_000)
        squared, _ = losses_of((np.sqrt(n) / k + counts) / (np.sqrt(n) + n), p)
        assert agrees(squared, theory.minimax_l2(k, n))
        assert not agrees(squared, theory.ml_l2(p, n))
        assert not agrees(squared, theory.minimax_l2(k + 1, n))


def open_or_closed(kind: str, epsilon: float, cells: int) -> tuple[dn.Survey, list[str] | None]:
    """One survey of each kind over twelve symbols, and the candidates it needs."""
    seed, names = bytes(16), [f"symbol {i}" for i in range(12)]
    if kind == "orr":
        return dn.orr(epsilon=epsilon, cells=cells, cohorts=16, seed=seed), names
    if kind == "orr closed":
        return dn.orr(symbols=names, epsilon=epsilon, cells=cells, cohorts=16, seed=seed), None
    if kind == "orappor":
        return dn.orappor(epsilon=epsilon, cells=cells, cohorts=16, seed=seed), names
    return dn.orappor(symbols=names, epsilon=epsilon, cells=cells, cohorts=16, hashes=2, seed=seed), None


def decoded_losses(
    survey: dn.Survey,
    names: list[str] | None,
    p: Floats,
    n: int,
    rounds: int,
    rng: np.random.Generator,
    per_cohort: bool,
) -> Losses:
    tallies = [dn.simulate(survey, p, n, rng, symbols=names) for _ in range(rounds)]
    decoder = dn.LeastSquares(per_cohort=per_cohort)
    estimates = dn.decode_all(tallies, candidates=names, decoder=decoder, constraint=dn.Unconstrained(), complete=True)
    return losses_of(np.stack([estimate.probabilities for estimate in estimates]), p)


@pytest.mark.parametrize("kind", ["orr", "orr closed", "orappor", "orappor closed, two hashes"])
@pytest.mark.parametrize("per_cohort", [True, False])
def test_survey_risks_are_the_simulated_ones(kind: str, per_cohort: bool) -> None:
    p, n, epsilon, cells = dn.lab.geometric(12, mean=3), 20_000, 2.0, 5
    rng = generator(f"test_survey_risks_are_the_simulated_ones {kind} {per_cohort}")
    survey, names = open_or_closed(kind, epsilon, cells)
    squared, absolute = decoded_losses(survey, names, p, n, 1500, rng, per_cohort)
    assert agrees(squared, theory.l2_risk(survey, p, n, symbols=names, per_cohort=per_cohort))
    assert agrees(absolute, theory.l1_risk(survey, p, n, symbols=names, per_cohort=per_cohort))
    for mutant, _ in (open_or_closed(kind, 1.1 * epsilon, cells), open_or_closed(kind, epsilon, cells - 1)):
        assert not agrees(squared, theory.l2_risk(mutant, p, n, symbols=names, per_cohort=per_cohort))
        assert not agrees(absolute, theory.l1_risk(mutant, p, n, symbols=names, per_cohort=per_cohort))


def test_the_two_normalisations_are_told_apart() -> None:
    # One common symbol, little noise: here random cohort sizes double the squared error of the joint normalisation.
    p, n = dn.lab.geometric(12, mean=0.3), 20_000
    survey = dn.orr(symbols=12, epsilon=8, cells=4, cohorts=32, seed=bytes(16))
    for per_cohort in (True, False):
        rng = generator(f"test_the_two_normalisations_are_told_apart {per_cohort}")
        squared, absolute = decoded_losses(survey, None, p, n, 1500, rng, per_cohort)
        for choice in (True, False):
            assert agrees(squared, theory.l2_risk(survey, p, n, per_cohort=choice)) is (choice is per_cohort)
            assert agrees(absolute, theory.l1_risk(survey, p, n, per_cohort=choice)) is (choice is per_cohort)


def test_bias_of_an_underdetermined_system_is_part_of_the_risk() -> None:
    p, n = dn.lab.geometric(12, mean=3), 200_000
    survey = dn.orr(symbols=12, epsilon=2, cells=2, cohorts=3, seed=bytes(16))
    assert theory.rank_bound(2, 3) < 12
    rng = generator("test_bias_of_an_underdetermined_system_is_part_of_the_risk")
    squared, absolute = decoded_losses(survey, None, p, n, 1500, rng, True)
    _, covariance = theory.least_squares_moments(survey, p, n)
    assert agrees(squared, theory.l2_risk(survey, p, n))
    assert agrees(absolute, theory.l1_risk(survey, p, n))
    assert not agrees(squared, float(np.trace(covariance)))
    assert not agrees(absolute, float(np.sqrt(2 * np.diagonal(covariance) / np.pi).sum()))


def test_real_hashes_keep_the_expected_strings_apart() -> None:
    rng = generator("test_real_hashes_keep_the_expected_strings_apart")
    size, cells, cohorts = 64, 4, 4
    p = dn.lab.geometric(size, mean=size / 5)
    names = [f"string {i}" for i in range(size)]
    alone, mass = [], []
    for _ in range(400):
        survey = dn.orr(epsilon=1, cells=cells, cohorts=cohorts, seed=rng.bytes(16))
        twins = [s for group in design_of(survey, names).twins for s in group]
        alone.append(size - len(twins))
        mass.append(1 - p[twins].sum())
    assert agrees(np.array(alone, float), theory.distinguishable_strings(size, cells, cohorts))
    assert agrees(np.array(mass), theory.recoverable_mass(size, cells, cohorts))
    for other_cells, other_cohorts in (
        (cells, cohorts - 1),
        (cells, cohorts + 1),
        (cells + 1, cohorts),
        (cells * cohorts, 1),
    ):
        assert not agrees(np.array(alone, float), theory.distinguishable_strings(size, other_cells, other_cohorts))
        assert not agrees(np.array(mass), theory.recoverable_mass(size, other_cells, other_cohorts))
    assert not agrees(np.array(mass), cells**-cohorts)  # the paper's slip: the probability of a collision


def test_the_harness_accepts_the_truth_and_rejects_seven_standard_errors() -> None:
    draws = generator("test_the_harness").normal(3.0, 2.0, 10_000)
    assert agrees(draws, 3.0)
    assert not agrees(draws, float(draws.mean()) + 7 * 2.0 / 100)
    assert not agrees(draws, float(draws.mean()) - 7 * 2.0 / 100)
    assert agrees(np.array([1.0, 1.0]), 1.0)
    assert not agrees(np.array([1.0, 1.0]), 1.0 + 1e-9)
