"""Where the paper errs, each as a computation, under the numbers of `docs/reference/paper.md` (E1, E2, ...)."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import deniable as dn
from deniable import theory
from deniable.matrices import design_of
from tests.unit.theory.test_binary import LOSSES, minimax_value
from tests.unit.theory.test_identifiability import dense

LOG3 = math.log(3)


def test_e1_eta_of_warners_response() -> None:
    """ "A fraction eta = e**eps" of participants: 2.718 of them at eps = 1. The matrix says e**eps / (1 + e**eps)."""
    survey = dn.warner(epsilon=1)
    assert math.exp(1) > 1
    assert float(survey.mechanism.hit) == pytest.approx(math.exp(1) / (1 + math.exp(1)), rel=1e-15)
    assert float(survey.mechanism.hit) == pytest.approx(0.7311, abs=5e-5)


def test_e2_upper_bound_is_not_for_any_private_mechanism() -> None:
    """A report that ignores the answer is private at every epsilon, and its minimax risk stays 1/2 for ever."""
    blind = np.array([[0.5, 0.5], [0.5, 0.5]])
    for n in (1, 16):
        assert 2 * minimax_value(blind, LOSSES["squared"], n) == pytest.approx(0.5, abs=1e-9)
    _, upper = theory.private_minimax_l2(2, 1, 10**6, c_lower=0.1, c_upper=4.999)
    assert upper < 1e-5


def test_e3_what_the_constants_can_be() -> None:
    """c_u = 4.25 is enough (k-RAPPOR); c_l <= 0.4 is needed (Warner shrunk to 1/2 at k = 2, n eps**2 = 1)."""
    for k in (2, 3, 10, 100, 4096, 10**6):
        for epsilon in np.linspace(1e-4, 1, 50).tolist():
            # n cancels. eps**2 s / (s - 1)**2 = (eps/2)**2 / sinh(eps/4)**2 <= 4, and (1 - 1/k) eps**2 / k <= 1/4.
            assert theory.krappor_l2_worst(k, epsilon, 1) * epsilon**2 / k <= 4.25
    n, epsilon, shrink = 100, 0.1, 0.2

    def risk(t: float) -> float:  # of p_hat = shrink * empirical + (1 - shrink) / 2 at p = (1/2 + t, 1/2 - t)
        variance = theory.krr_l2([0.5 + t, 0.5 - t], epsilon, n)
        return shrink**2 * variance + (1 - shrink) ** 2 * 2 * t**2

    worst = max(risk(t) for t in np.linspace(0, 0.5, 501))
    lower_rate, _ = theory.private_minimax_l2(2, epsilon, n, c_lower=1, c_upper=1)
    assert lower_rate == pytest.approx(1, rel=1e-12)
    assert worst == pytest.approx(0.3999, abs=5e-5)
    assert worst < 0.4


def test_e4_data_processing_acts_on_reports_and_not_on_answers() -> None:
    """With m = p Q the supplement's W Q garbles answers. r(W Q) >= r(Q) is then false: swap the answers."""
    loss = LOSSES["asymmetric"]
    channel = np.array([[0.7, 0.3], [0.9, 0.1]])
    swap = np.array([[0.0, 1.0], [1.0, 0.0]])
    before, after = minimax_value(channel, loss, 1), minimax_value(swap @ channel, loss, 1)
    assert before == pytest.approx(0.1634, abs=5e-5)
    assert after == pytest.approx(0.1571, abs=5e-5)
    assert after < before
    # On the right, where the proof needs it, the inequality holds.
    for garbling in (swap, np.array([[0.9, 0.1], [0.3, 0.7]]), np.array([[0.5, 0.5], [0.0, 1.0]])):
        assert minimax_value(channel @ garbling, loss, 1) >= before - 1e-9


def test_e5_the_garbling_has_as_many_columns_as_there_are_outputs() -> None:
    """ "A 2 x 2 stochastic mapping W": k-RAPPOR with two symbols has four outputs."""
    mechanism = dn.krappor(symbols=2, epsilon=1).mechanism
    rows = [[mechanism.probability(y, (x,)) for y in range(4)] for x in range(2)]
    garbling = theory.factor_through_warner(rows, mechanism.odds)
    assert garbling is not None
    assert [len(row) for row in garbling] == [4, 4]


def test_e7_the_theorem_needs_randomised_estimators() -> None:
    """Deterministic estimators, loss 1{|p - p_hat| > 0.2}: two reports name two guesses, which leave a p uncovered."""
    grid = np.linspace(0, 1, 101)

    def worst(guesses: list[float], law: list[float]) -> float:
        missed = (np.abs(grid[:, None] - np.array(guesses)) > 0.2 + 1e-12).astype(float)
        return float((missed @ np.array(law)).max())

    pairs = product(grid[::5], repeat=2)
    # Whatever the probabilities of Warner's two outputs, both guesses miss some p, and the risk there is 1.
    assert min(worst(list(pair), [0.5, 0.5]) for pair in pairs) == 1.0
    # Three outputs that ignore the answer are worse than Warner's in every sense, and do better: 2/3.
    assert worst([0.2, 0.5, 0.8], [1 / 3] * 3) == pytest.approx(2 / 3)


def test_e8_entries_sum_to_one_but_the_l1_norm_does_not() -> None:
    survey = dn.krr(symbols=5, epsilon=LOG3)
    tally = dn.Tally(survey, [[420, 210, 160, 120, 90]])
    raw = dn.decode(tally, decoder=dn.Inversion(), constraint=dn.Unconstrained()).probabilities
    assert raw.sum() == pytest.approx(1, abs=1e-12)
    assert np.abs(raw).sum() == pytest.approx(1.53, abs=1e-9)


@pytest.mark.parametrize(("k", "truth"), [(2, Fraction(2, 3)), (10, Fraction(10, 19)), (256, Fraction(256, 511))])
def test_e9_truth_at_log_k_is_told_more_than_half_the_time(k: int, truth: Fraction) -> None:
    assert float(dn.krr(symbols=k, epsilon=math.log(k)).mechanism.hit) == pytest.approx(float(truth), rel=1e-14)
    assert truth > Fraction(1, 2)
    if k > 2:
        assert float(dn.krr(symbols=k, epsilon=math.log(k - 1)).mechanism.hit) == pytest.approx(0.5, rel=1e-14)


@pytest.mark.parametrize(("k", "factor"), [(2, 9.0), (4, 5.444), (10, 4.457), (256, 4.016), (4096, 4.001)])
def test_e10_krr_at_log_k_keeps_a_quarter_of_the_sample_only_in_the_limit(k: int, factor: float) -> None:
    assert theory.krr_l2_inflation(k, math.log(k)) == pytest.approx(factor, abs=5e-4)
    assert theory.krr_l2_inflation(k, math.log(k)) == pytest.approx(((2 * k - 1) / (k - 1)) ** 2, rel=1e-12)


def test_e11_uniform_is_not_the_worst_population_for_l1_at_finite_n() -> None:
    """E l1 <= E l1(uniform) holds for the large-n formula; for the expectation itself n = 2 already breaks it."""
    assert theory.ml_l1([1 / 3, 2 / 3], 2, exact=True) == pytest.approx(16 / 27, rel=1e-12)
    assert theory.ml_l1([1 / 2, 1 / 2], 2, exact=True) == pytest.approx(1 / 2, rel=1e-12)
    assert theory.ml_l1_worst(2, 2) == pytest.approx(0.5642, abs=5e-5)  # exceeded too: 16/27 = 0.5926
    # The same counts under k-RR and k-RAPPOR: (E + 1) / (E - 1) = 2 times as much at p = (1/6, 5/6).
    for survey, worst in (
        (dn.warner(epsilon=LOG3), theory.krr_l1_worst(2, LOG3, 2)),
        (dn.krappor(symbols=2, epsilon=2 * LOG3), theory.krappor_l1_worst(2, 2 * LOG3, 2)),
    ):
        skewed = theory.l1_risk(survey, [1 / 6, 5 / 6], 2, exact=True)
        assert skewed == pytest.approx(32 / 27, rel=1e-9)
        assert skewed > worst > theory.l1_risk(survey, [0.5, 0.5], 2, exact=True)
    # The excess fades like 1 / n.
    excess = [
        theory.ml_l1([n / (2 * n + 2), 1 - n / (2 * n + 2)], n, exact=True) / theory.ml_l1_worst(2, n) - 1
        for n in (10, 100, 1000)
    ]
    assert excess == pytest.approx([0.0208, 0.00245, 0.00025], rel=0.02)


@pytest.mark.parametrize(("k", "ratio"), [(2, 2.0), (4, 4 / 3), (10, 10 / 9), (1000, 1.001)])
def test_e12_krappor_at_small_epsilon_keeps_less_than_printed(k: int, ratio: float) -> None:
    """n eps**2 / (4 k) should be n eps**2 (k - 1) / (4 k**2): k / (k - 1) times fewer."""
    epsilon = 1e-5
    assert theory.krappor_l2_inflation(k, epsilon) / (4 * k / epsilon**2) == pytest.approx(ratio, rel=1e-4)
    # k-RR's n eps**2 / k**2 is right, for both losses.
    assert theory.krr_l2_inflation(k, epsilon) / (k / epsilon) ** 2 == pytest.approx(1, rel=1e-4)


@pytest.mark.parametrize(("k", "factor"), [(4, 11.667), (16, 8.585), (256, 19.276), (4096, 67.064), (10**6, 1003.004)])
def test_e13_krappor_at_log_k_loses_more_than_the_root_of_k(k: int, factor: float) -> None:
    assert theory.krappor_l2_inflation(k, math.log(k)) == pytest.approx(factor, abs=5e-4)
    if k >= 256:
        assert factor == pytest.approx(math.sqrt(k) + 3, abs=0.3)


def test_e14_minimum_of_f_at_log_k() -> None:
    """ "Unique minimum at k = 7, f = 3.1559": the minimum is at k = 8, 2.1536, and f(ln 7, 7) = 2.1593."""
    values = {k: theory.krr_advantage(k, math.log(k)) for k in range(2, 5000)}
    assert min(values, key=values.__getitem__) == 8
    assert values[8] == pytest.approx(2.1536, abs=5e-5)
    assert values[7] == pytest.approx(2.1593, abs=5e-5)
    # The statement, from ln(k/2) on, is stronger than what is proved and still true; f is smallest there at k = 11.
    halves = {k: theory.krr_advantage(k, math.log(k / 2)) for k in range(3, 5000)}
    assert min(halves, key=halves.__getitem__) == 11
    assert halves[11] == pytest.approx(1.4434, abs=5e-5)


def test_e17_one_hot_inputs_are_k_and_not_two_to_the_k() -> None:
    survey = dn.krappor(symbols=5, epsilon=1)
    assert len({survey.encode(0, s) for s in range(5)}) == 5
    assert survey.mechanism.outputs == 2**5


def test_e18_qorr_is_column_stochastic() -> None:
    """A k C x S matrix whose columns sum to one; its rows sum to about S / (k C)."""
    cells, cohorts, size = 4, 8, 16
    survey = dn.orr(symbols=size, epsilon=1, cells=cells, cohorts=cohorts, seed=bytes(16))
    odds = math.e
    matrix = (1 + (odds - 1) * dense(design_of(survey))) / (cohorts * (odds + cells - 1))
    assert matrix.shape == (cells * cohorts, size)
    assert matrix.sum(axis=0) == pytest.approx(np.ones(size))
    assert matrix.sum(axis=1) == pytest.approx(np.full(cells * cohorts, size / (cells * cohorts)))


def test_e19_partitions_of_two_cohorts_are_independent_and_not_orthogonal() -> None:
    """Two cells of different cohorts share S / k**2 strings on average; orthogonal rows of H would share none."""
    cells, size = 4, 1024
    survey = dn.orr(epsilon=1, cells=cells, cohorts=2, seed=bytes(16))
    first, second = dense(design_of(survey, range(size))).reshape(2, cells, size)
    shared = first @ second.T
    assert shared.sum() == size
    assert (shared > 0).all()
    # Chi-square of independence, 9 degrees of freedom: below 60 except with probability 1e-9.
    expected = first.sum(axis=1)[:, None] * second.sum(axis=1)[None, :] / size
    assert ((shared - expected) ** 2 / expected).sum() < 60


def test_e20_one_cohort_and_one_hash_are_not_yet_the_k_ary_mechanism() -> None:
    """It also takes as many cells as symbols: with fewer, the one cohort mixes symbols for good."""
    folded = dn.orr(symbols=6, epsilon=1, cells=3, cohorts=1, seed=bytes(16))
    assert np.linalg.matrix_rank(dense(design_of(folded))) == 3
    whole = dense(design_of(dn.orr(symbols=6, epsilon=1, cells=6, cohorts=1, seed=bytes(16))))
    assert (whole.sum(axis=0) == 1).all()
    assert (whole.sum(axis=1) == 1).all()


@pytest.mark.parametrize("hashes", [2, 3])
def test_e21_half_epsilon_per_bit_spends_the_budget_once_per_hash(hashes: int) -> None:
    """Bloom filters of h hashes differ in up to 2 h bits; the printed 1 / (1 + e**(eps/2)) would spend h * eps."""
    plain = dn.krappor(symbols=16, epsilon=1).mechanism
    careless = math.log(plain.hit / plain.miss) * min(2 * hashes, 16)
    assert careless == pytest.approx(hashes * 1.0, rel=1e-12)
    assert dn.orappor(epsilon=1, cells=16, cohorts=2, hashes=hashes, seed=bytes(16)).epsilon_spent <= 1


@pytest.mark.parametrize(("size", "mean"), [(256, 49.377), (4096, 791.329)])
def test_e22_truncated_geometric_has_a_smaller_mean(size: int, mean: float) -> None:
    p = dn.lab.geometric(size, mean=size / 5)
    assert p @ np.arange(size) == pytest.approx(mean, abs=5e-4)
    assert mean < size / 5


def test_e23_two_strings_are_distinguishable_unless_they_collide() -> None:
    """Not 1 / k**C but 1 - 1 / k**C: with k = 2, C = 3 that is 7/8."""
    same = sum(a == b for a in product(range(2), repeat=3) for b in product(range(2), repeat=3))
    assert Fraction(same, 64) == Fraction(1, 8)
    assert theory.recoverable_mass(2, 2, 3) == pytest.approx(7 / 8, rel=1e-14)


def test_e24_kc_equations_do_not_determine_kc_strings() -> None:
    """Two cohorts of two cells, four strings, all distinguishable, k C = S = 4: the rank is 3."""
    cells = np.array([[0, 0, 1, 1], [0, 1, 0, 1]])
    matrix = np.concatenate([[row == 0, row == 1] for row in cells]).astype(float)
    assert len({tuple(column) for column in matrix.T}) == 4
    assert theory.equations(2, 2) == 4
    assert np.linalg.matrix_rank(matrix) == theory.rank_bound(2, 2) == 3
    # Two different populations, one law of the reports.
    assert np.array_equal(matrix @ [0.5, 0.0, 0.0, 0.5], matrix @ [0.0, 0.5, 0.5, 0.0])


def test_e26_minimax_estimator_is_asymptotically_unbiased() -> None:
    """Its bias is (1/k - p) / (1 + sqrt(n)): it vanishes, though no faster than the standard deviation."""
    k, p = 4, 1.0
    for n in (1, 100, 10**4, 10**8):
        root = math.sqrt(n)
        bias = (root / k + n * p) / (root + n) - p
        assert bias == pytest.approx((1 / k - p) / (1 + root), rel=1e-6)
    assert abs(bias) < 1e-4


def test_e27_minimax_estimator_has_no_worst_population() -> None:
    """ "Under the worst case distribution (the uniform distribution)": the risk is the same for every p."""
    n, k = 9, 3

    def risk(p: list[Fraction]) -> Fraction:
        total = Fraction(0)
        for q in p:
            for t in range(n + 1):
                guess = (Fraction(3, k) + t) / (3 + n)  # sqrt(9) = 3
                total += math.comb(n, t) * q**t * (1 - q) ** (n - t) * (guess - q) ** 2
        return total

    third, zero, one = Fraction(1, 3), Fraction(0), Fraction(1)
    assert (
        risk([third] * 3) == risk([one, zero, zero]) == risk([Fraction(1, 2), third, Fraction(1, 6)]) == Fraction(1, 24)
    )


def test_e28_likelihood_of_bit_reports_is_not_the_product_of_marginals() -> None:
    """k = 2, delta = 1/4, p = (1/2, 1/2): P(11) is 3/16, the product of marginals says 1/4. Sums are not sufficient."""
    delta = Fraction(1, 4)

    def joint(y: tuple[int, int], p: Fraction) -> Fraction:
        def bit(seen: int, true: int) -> Fraction:
            return 1 - delta if seen == true else delta

        return p * bit(y[0], 1) * bit(y[1], 0) + (1 - p) * bit(y[0], 0) * bit(y[1], 1)

    half = Fraction(1, 2)
    marginal = joint((1, 0), half) + joint((1, 1), half)
    assert joint((1, 1), half) == Fraction(3, 16)
    assert marginal**2 == Fraction(1, 4)
    # Reports {11, 00} and {10, 01} have the same column sums, yet only the second pair says anything about p.
    silent = [joint((1, 1), p) * joint((0, 0), p) for p in (Fraction(1, 10), half)]
    telling = [joint((1, 0), p) * joint((0, 1), p) for p in (Fraction(1, 10), half)]
    assert silent[0] == silent[1]
    assert telling[0] < telling[1]


def test_e31_loss_against_the_sample_drops_the_first_term() -> None:
    """The simulations measure |p_hat - sample|. Given the sample, the noise is what the propositions add to ml_l2."""
    k, odds = 4, Fraction(3)
    hit, miss = odds / (odds + k - 1), 1 / (odds + k - 1)
    # One person who holds symbol x: E |p_hat - e_x|**2 over the report, exactly, and the same for every x.
    noise = [
        sum(
            (hit if y == x else miss) * sum((((y == j) - miss) / (hit - miss) - (x == j)) ** 2 for j in range(k))
            for y in range(k)
        )
        for x in range(k)
    ]
    assert len(set(noise)) == 1
    assert noise[0] == Fraction((k - 1) * (k + 2 * (odds - 1)), (odds - 1) ** 2)
    p = [0.4, 0.3, 0.2, 0.1]
    assert theory.krr_l2(p, LOG3, 1) - theory.ml_l2(p, 1) == pytest.approx(float(noise[0]), rel=1e-12)


def test_checked_and_right() -> None:
    """Claims that look doubtful and hold: the inverse of Q, f increasing, both losses inflating alike."""
    k, odds = 5, Fraction(7, 2)
    channel = [[(odds if x == y else Fraction(1)) / (odds + k - 1) for y in range(k)] for x in range(k)]
    inverse = [[(odds + k - 2 if x == y else Fraction(-1)) / (odds - 1) for y in range(k)] for x in range(k)]
    identity = [[sum(channel[x][z] * inverse[z][y] for z in range(k)) for y in range(k)] for x in range(k)]
    assert identity == [[Fraction(x == y) for y in range(k)] for x in range(k)]
