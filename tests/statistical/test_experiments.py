"""The engines behind `deniable reproduce` draw from the exact law, fast; here the plain way draws beside them.

k-ary losses are compared with samples, reports and decoders taken one by one; the fast multinomial with its law; the
right sides of the regressions with their exact mean and covariance; the regressions' losses with `simulate` and
`decode`. Means of thousands of independent draws are normal, as far as a p-value of 1e-9 can tell.
"""

from collections import Counter
from collections.abc import Callable
from functools import cache
from itertools import combinations, pairwise
from math import factorial, prod

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

import deniable as dn
from deniable.columns.encode import cell_table, keys_of
from deniable.decoders.constraints import Normalized
from deniable.decoders.likelihood import water_fill
from deniable.decoders.simplex import project
from deniable.lab import kary, regression
from deniable.lab.batched import losses
from deniable.lab.kary import DECODERS, LOSSES, KaryTask, Moments, population
from deniable.lab.regression import Cell, Point, RegressionTask, SampledCrowd, mechanism_of, scatter
from deniable.mechanisms import KRR, BitFlip, Mechanism
from deniable.simulation import cell_probabilities
from tests.statistical.harness import accept, generator, law_p_value, reject, seed_of

Floats = npt.NDArray[np.float64]


def normal_p_value(scores: npt.ArrayLike) -> float:
    """Two-sided normal tails of standard scores, under a union bound; a score that is no number is impossible."""
    z = np.abs(np.asarray(scores, np.float64)).ravel()
    return float(min(1.0, 2 * stats.norm.sf(z.max()) * z.size)) if np.isfinite(z).all() else 0.0


def test_normal_tails() -> None:
    assert normal_p_value([0.0, 6.0, -1.0]) == pytest.approx(6 * stats.norm.sf(6))
    assert normal_p_value([-8.0]) < 1e-14
    assert normal_p_value([0.1]) > 0.9
    assert normal_p_value([0.0, np.nan]) == normal_p_value([np.inf]) == 0


# (distribution, n, k), and the ways its people, its liars and its decoding go.
CELLS = {
    ("geometric", 30, 16): {"people one by one", "liars one by one", "dense"},
    ("dirichlet", 100, 2): {"people multinomial", "liars multinomial", "dense"},
    ("zipf 1", 600, 4): {"people multinomial", "liars multinomial", "dense"},
    ("binomial .3", 300, 32): {"people multinomial", "liars a Poisson field", "dense"},
    ("zipf 3", 20, 300): {"people one by one", "liars one by one", "classes"},
    ("zipf 5", 2000, 480): {"people multinomial", "liars a Poisson field", "classes", "dense"},
}
EPSILONS = (0.7, 3.0)
PLAIN, FAST = 600, 3000  # evaluations

KaryCell = tuple[str, int, int]


def decoded(counts: npt.NDArray[np.int64], n: int, mechanism: Mechanism) -> list[Floats]:
    hit, miss = float(mechanism.hit), float(mechanism.miss)
    raw = (counts / n - miss) / (hit - miss)
    found = [raw, Normalized().apply(raw), project(raw)]
    return [*found, water_fill(counts, miss / (hit - miss))] if mechanism.one_column else found


@cache
def plain_losses(cell: KaryCell) -> Floats:
    """The plain way: one sample, its reports symbol by symbol through the channel, each decoder on its own."""
    name, n, k = cell
    rng = generator(f"plain {cell}")
    found = np.empty((PLAIN, len(EPSILONS), len(LOSSES), len(DECODERS)))
    for row in found:
        law = population(name, k)
        people = rng.multinomial(n, rng.dirichlet(np.ones(k)) if law is None else law)
        for place, epsilon in enumerate(EPSILONS):
            krr, bits = KRR(k, epsilon), BitFlip(k, epsilon)
            channel = np.full((k, k), float(krr.miss))
            np.fill_diagonal(channel, float(krr.hit))
            seen = np.flatnonzero(people)
            named = rng.multinomial(people[seen], channel[seen] / channel[seen].sum(axis=1, keepdims=True)).sum(axis=0)
            columns = rng.binomial(people, float(bits.hit)) + rng.binomial(n - people, float(bits.miss))
            errors = np.array([*decoded(named, n, krr), *decoded(columns, n, bits)]) - people / n
            squares = (errors**2).sum(axis=1)
            row[place] = np.abs(errors).sum(axis=1), np.sqrt(squares), squares
    return found


def kary_p_value(cell: KaryCell) -> float:
    """How likely means this far from those of the plain way are, over every epsilon, loss and decoder."""
    name, n, k = cell
    task = KaryTask(n, k, (name,), EPSILONS, 0, FAST)
    moments = Moments.gather([(FAST, task.run(seed_of(str(cell)))[task.key(name)])], len(EPSILONS))
    means = moments.sums / FAST
    squares = moments.products[:, :, kary._PAIRS[0] == kary._PAIRS[1]] / FAST
    plain = plain_losses(cell)
    error = np.sqrt(np.maximum(squares - means**2, 0) / FAST + plain.var(axis=0) / PLAIN)
    return normal_p_value((means - plain.mean(axis=0)) / error)


@pytest.mark.slow
@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_kary_means_are_those_of_the_plain_way(cell: KaryCell, monkeypatch: pytest.MonkeyPatch) -> None:
    ways = {"people one by one" if cell[1] < kary._PEOPLE * cell[2] else "people multinomial"}
    anywhere = kary._Channels._anywhere

    def decoding(*rows: object, **options: object) -> Floats:
        ways.add("dense" if options.get("weights") is None else "classes")
        return losses(*rows, **options)  # type: ignore[arg-type]

    def naming(self: kary._Channels, liars: npt.NDArray[np.int64], rng: np.random.Generator) -> kary.Int32s:
        few = self.n < kary._PEOPLE * self.size
        ways.add("liars " + ("one by one" if few else "multinomial" if self.field is None else "a Poisson field"))
        found = anywhere(self, liars, rng)
        assert (found.sum(axis=1) == liars).all()
        return found

    monkeypatch.setattr(kary, "losses", decoding)
    monkeypatch.setattr(kary._Channels, "_anywhere", naming)
    accept("kary-losses", kary_p_value(cell))
    assert ways == CELLS[cell]


def test_every_way_has_a_cell() -> None:
    assert set.union(*CELLS.values()) == {
        *("people one by one", "people multinomial"),
        *("liars one by one", "liars multinomial", "liars a Poisson field"),
        *("dense", "classes"),
    }


def test_a_wrong_flip_probability_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in (BitFlip, KRR):
        with monkeypatch.context() as patch:
            patch.setattr(kary, kind.__name__, lambda k, epsilon, kind=kind: kind(k, 1.1 * epsilon))
            reject("kary-losses", kary_p_value(("zipf 1", 600, 4)))
            reject("kary-losses", kary_p_value(("zipf 3", 20, 300)))


def test_losses_against_another_sample_are_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    sample = kary._sample

    def unshared(*arguments: object) -> kary._Sample:
        drawn = sample(*arguments)  # type: ignore[arg-type]
        drawn.shares[:] = np.roll(drawn.shares, 1, axis=0)
        return drawn

    monkeypatch.setattr(kary, "_sample", unshared)
    reject("kary-losses", kary_p_value(("geometric", 30, 16)))
    reject("kary-losses", kary_p_value(("binomial .3", 300, 32)))


def test_liars_who_never_name_the_true_cell_are_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    def coy(self: kary._Channels, sample: kary._Sample, rng: np.random.Generator) -> Floats:
        honest = rng.binomial(sample.people, float(self.krr.hit - self.krr.miss))
        elsewhere = np.full((self.size, self.size), 1 / (self.size - 1))
        np.fill_diagonal(elsewhere, 0.0)
        lies = rng.multinomial(sample.people - honest, elsewhere[sample.seen % self.size])
        counts = np.zeros((self.rows, self.size), np.int32)
        np.add.at(counts, sample.row, lies.astype(np.int32))
        there = counts.ravel()[sample.seen]
        return self._decode(self.krr, sample, counts, kary._Histogram(counts), there, honest + there)

    monkeypatch.setattr(kary._Channels, "_krr", coy)
    reject("kary-losses", kary_p_value(("dirichlet", 100, 2)))
    reject("kary-losses", kary_p_value(("zipf 1", 600, 4)))


def test_liars_who_are_forgotten_are_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(self: kary._Channels, people: npt.NDArray[np.int64], rng: np.random.Generator) -> kary.Int32s:
        return np.zeros((self.rows, self.size), np.int32)

    monkeypatch.setattr(kary._Channels, "_one_by_one", nobody)
    reject("kary-losses", kary_p_value(("binomial .3", 300, 32)))
    reject("kary-losses", kary_p_value(("zipf 5", 2000, 480)))


def test_symbols_that_are_counted_twice_are_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that somebody has, once as themselves and once in the class of their noise."""
    without = kary._Histogram.without

    def twice(self: kary._Histogram, row: npt.NDArray[np.intp], values: npt.NDArray[np.int32]) -> object:
        return without(self, row[:0], values[:0])

    monkeypatch.setattr(kary._Histogram, "without", twice)
    reject("kary-losses", kary_p_value(("zipf 3", 20, 300)))
    reject("kary-losses", kary_p_value(("zipf 5", 2000, 480)))


# Multinomials by way of a Poisson field.


def multinomial(n: int, chances: tuple[float, ...]) -> dict[tuple[int, ...], float]:
    """Every outcome with its probability."""
    places = range(n + len(chances) - 1)
    law = {}
    for bars in combinations(places, len(chances) - 1):
        edges = (-1, *bars, len(places))
        counts = tuple(b - a - 1 for a, b in pairwise(edges))
        ways = factorial(n) // prod(factorial(x) for x in counts)
        law[counts] = ways * prod(p**x for p, x in zip(chances, counts, strict=True))
    return law


def test_the_law_of_the_oracle() -> None:
    law = multinomial(2, (0.5, 0.3, 0.2))
    assert law == pytest.approx(
        {(2, 0, 0): 0.25, (0, 2, 0): 0.09, (0, 0, 2): 0.04, (1, 1, 0): 0.3, (1, 0, 1): 0.2, (0, 1, 1): 0.12}
    )


def anywhere_p_value(liars: int) -> float:
    """k-RR's liars over three cells, given how many they are; if few, the field often has more than that."""
    rows = 20_000
    rng = generator(f"anywhere {liars}")
    channels = kary._Channels(24, 3, 0.3, rows, rng)
    assert channels.field is not None
    assert ((channels.named > liars).mean() > 0.1) is np.bool_(liars <= 12)
    found = channels._anywhere(np.full(rows, liars), rng)
    return law_p_value(Counter(map(tuple, found.tolist())), multinomial(liars, (1 / 3,) * 3))


def test_liars_are_multinomial(monkeypatch: pytest.MonkeyPatch) -> None:
    for liars in (8, 12, 24):
        accept("kary-liars", anywhere_p_value(liars))

    def crowded(self: kary._Channels, liars: npt.NDArray[np.int64], rng: np.random.Generator) -> kary.Int32s:
        """A field with too many people stays, less the first ones."""
        assert self.field is not None
        found = self.field + self._one_by_one(np.maximum(liars - self.named, 0), rng)
        for cell in range(self.size):
            found[:, cell] -= np.minimum(found[:, cell], found.sum(axis=1) - liars).astype(np.int32)
        return found

    monkeypatch.setattr(kary._Channels, "_anywhere", crowded)
    reject("kary-liars", anywhere_p_value(8))
    reject("kary-liars", anywhere_p_value(12))


Scatter = Callable[[np.random.Generator, int, Floats], npt.NDArray[np.int64]]


def scatter_p_value(draw: Scatter, n: int, chances: tuple[float, ...]) -> float:
    rng = generator(f"scatter {n} {chances}")
    law = np.array(chances)
    counts = Counter(tuple(draw(rng, n, law).tolist()) for _ in range(5_000))
    return law_p_value(counts, multinomial(n, chances))


def halfway(rng: np.random.Generator, n: int, law: Floats) -> npt.NDArray[np.int64]:
    """`scatter` before the missing people are placed."""
    while True:
        counts = rng.poisson((n - 3.0 * np.sqrt(n)) * law)
        if counts.sum() <= n:
            return np.asarray(counts)


def uncorrected(rng: np.random.Generator, n: int, law: Floats) -> npt.NDArray[np.int64]:
    return halfway(rng, n, law)


def evenly(rng: np.random.Generator, n: int, law: Floats) -> npt.NDArray[np.int64]:
    counts = halfway(rng, n, law)
    return counts + rng.multinomial(n - counts.sum(), np.full(len(law), 1 / len(law)))


def scaled(rng: np.random.Generator, n: int, law: Floats) -> npt.NDArray[np.int64]:
    """Poisson counts whose last cell takes up the difference: right totals and means, wrong law."""
    while True:
        counts = rng.poisson(n * law)
        counts[-1] = n - counts[:-1].sum()
        if counts[-1] >= 0:
            return np.asarray(counts)


def test_scatter_is_multinomial(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regression, "_WORTH_POISSON", 0)
    for n, chances in ((20, (0.7, 0.3)), (60, (0.5, 0.5)), (40, (0.5, 0.0, 0.2, 0.3)), (9, (0.6, 0.4))):
        accept("scatter", scatter_p_value(scatter, n, chances))
    for mutant in (uncorrected, evenly, scaled):
        reject("scatter", scatter_p_value(mutant, 60, (0.8, 0.2)))
        reject("scatter", scatter_p_value(mutant, 40, (0.5, 0.0, 0.2, 0.3)))


def test_scatter_takes_the_poisson_way_where_it_is_worth_it() -> None:
    assert regression._WORTH_POISSON > 4

    class Spy(np.random.Generator):
        used = 0

        def poisson(self, *arguments: object, **options: object) -> object:  # type: ignore[override]
            self.used += 1
            return super().poisson(*arguments, **options)  # type: ignore[call-overload]

    for cells, n, used in ((4, 100, False), (1000, 100, True), (1000, 9, False)):
        rng = Spy(np.random.PCG64(0))
        assert scatter(rng, n, np.full(cells, 1 / cells)).sum() == n
        assert (rng.used > 0) is used


# Right sides of the normal equations.

SYMBOLS, PEOPLE, DRAWS = 7, 500, 1200
SURVEYS = [
    ("O-RR", "open", 9, 1),
    ("O-RR", "closed", 4, 1),
    ("O-RR", "closed", 9, 1),
    ("O-RAPPOR", "open", 9, 1),
    ("O-RAPPOR", "open", 9, 2),
    ("O-RAPPOR", "open", 3, 2),
    ("O-RAPPOR", "closed", 4, 1),
    ("O-RAPPOR", "closed", 9, 1),
    ("O-RAPPOR", "closed", 9, 2),
]


def survey_of(name: str, alphabet: str, cells: int, hashes: int) -> tuple[dn.Survey, list[int] | None]:
    names = list(range(SYMBOLS)) if alphabet == "open" else None
    closed = None if names else SYMBOLS
    seed = bytes(16)
    if name == "O-RR":
        return dn.orr(epsilon=2.0, cells=cells, cohorts=3, symbols=closed, seed=seed), names
    return dn.orappor(epsilon=2.0, cells=cells, cohorts=3, hashes=hashes, symbols=closed, seed=seed), names


def columns_of(survey: dn.Survey, names: list[int] | None) -> Floats:
    """P(column is hit | cohort, symbol), from the published channel; shape (C, k, S)."""
    return np.stack([cell_probabilities(survey, unit, symbols=names) for unit in np.eye(SYMBOLS)], axis=2)


def matrix_of(survey: dn.Survey, names: list[int] | None) -> Floats:
    hit, miss = float(survey.mechanism.hit), float(survey.mechanism.miss)
    return np.asarray(((columns_of(survey, names) - miss) / (hit - miss)).round().reshape(-1, SYMBOLS))


def exact_moments(survey: dn.Survey, names: list[int] | None, p: Floats, n: int) -> tuple[Floats, Floats]:
    """Mean and covariance of H' T: n people, i.i.d. over cohorts and symbols; given both, columns are independent
    bits, or exactly one of them is hit."""
    given = columns_of(survey, names)
    C, k, _ = given.shape
    mean = (given @ p / C).ravel()
    second = np.zeros((C, k, C, k))
    for c in range(C):
        if not survey.mechanism.one_column:
            second[c, :, c, :] = (given[c] * p) @ given[c].T / C
        np.fill_diagonal(second[c, :, c, :], given[c] @ p / C)
    H = matrix_of(survey, names)
    spread = n * (second.reshape(C * k, C * k) - np.outer(mean, mean))
    return n * (H.T @ mean), H.T @ spread @ H


def moments_p_value(draws: Floats, mean: Floats, covariance: Floats) -> float:
    """Normal tails of the means, and chi-square tails of the spread along every axis and every diagonal."""
    count, size = draws.shape
    axes = np.eye(size)
    diagonals = [axes[i] + sign * axes[j] for i, j in combinations(range(size), 2) for sign in (1, -1)]
    directions = np.concatenate([axes, diagonals])
    variances = np.einsum("di,ij,dj->d", directions, covariance, directions)
    scores = (draws - mean) @ directions.T / np.sqrt(variances)
    squares = (scores**2).sum(axis=0)
    tails = np.minimum(stats.chi2.cdf(squares, count), stats.chi2.sf(squares, count))
    means = normal_p_value(scores.mean(axis=0) * np.sqrt(count))
    return float(min(1.0, 2 * means, 4 * tails.min() * tails.size))


def test_the_moments_test_itself() -> None:
    rng = generator("moments")
    covariance = np.array([[2.0, 1.0], [1.0, 3.0]])
    draws = rng.multivariate_normal([1.0, 2.0], covariance, 2000)
    assert moments_p_value(draws, np.array([1.0, 2.0]), covariance) > 1e-3
    assert moments_p_value(draws, np.array([1.0, 2.5]), covariance) < 1e-9
    assert moments_p_value(draws, np.array([1.0, 2.0]), np.diag([2.0, 3.0])) < 1e-9
    assert moments_p_value(draws, np.array([1.0, 2.0]), 1.3 * covariance) < 1e-9


def right_sides(crowd: SampledCrowd, mechanism: Mechanism, name: str) -> Floats:
    rng, seed = generator(name), seed_of(name)
    if mechanism.one_column:
        return np.stack([crowd.index_sums(mechanism, PEOPLE, rng) for _ in range(DRAWS)])
    draws = (crowd.people(PEOPLE, (seed, "people", place)) for place in range(DRAWS))
    return np.stack([crowd.bit_sums(mechanism, people, rng) for people in draws])


@pytest.mark.slow
@pytest.mark.parametrize("case", SURVEYS, ids=str)
def test_right_sides_have_the_exact_mean_and_covariance(case: tuple[str, str, int, int]) -> None:
    name, alphabet, cells, hashes = case
    survey, names = survey_of(*case)
    p = regression.truth(SYMBOLS)
    mean, covariance = exact_moments(survey, names, p, PEOPLE)
    holders = matrix_of(survey, names).sum(axis=1)
    if cells == 9 and (alphabet == "open" or hashes == 2):
        assert {0, 1, 2} <= set(holders.tolist())  # cells that nobody can hit, that one can, that several can
    crowd = SampledCrowd(cell_table(survey.encoding, keys_of(survey, range(SYMBOLS))), cells, p)
    mechanism = mechanism_of(name, cells, hashes, 2.0)
    draws = right_sides(crowd, mechanism, str(case))
    accept("right-sides", moments_p_value(draws, mean, covariance))
    # The unbiased right side is H' H p.
    H = matrix_of(survey, names)
    np.testing.assert_allclose(crowd.right_side(mechanism, PEOPLE, mean), H.T @ H @ p, atol=1e-12)

    loud = mechanism_of(name, cells, hashes, 2.2)
    reject("right-sides", moments_p_value(right_sides(crowd, loud, f"loud {case}"), mean, covariance))
    if hashes > 1:  # epsilon / 2 for each bit of a Bloom filter
        wrong = BitFlip(cells, 2.0, 2)
        reject("right-sides", moments_p_value(right_sides(crowd, wrong, f"half {case}"), mean, covariance))
    if (holders > 1).any():
        apart = np.stack([np.roll(draws[:, s], s) for s in range(SYMBOLS)], axis=1)  # each symbol its own people
        reject("right-sides", moments_p_value(apart, mean, covariance))
        crowd.shared = crowd.shared * 0
        forgetful = right_sides(crowd, mechanism, f"forgetful {case}")
        reject("right-sides", moments_p_value(forgetful, mean, covariance))


# Losses of the regressions.

SAMPLES = 300
REGRESSIONS = [
    (Cell("open", 24, 8, 6, 1), "O-RR"),
    (Cell("open", 24, 8, 6, 1), "O-RAPPOR"),
    (Cell("closed", 24, 6, 8, 1), "O-RR"),
    (Cell("closed", 24, 6, 8, 1), "O-RAPPOR"),
    (Cell("open", 24, 16, 4, 2), "O-RAPPOR"),
    (Cell("open", 24, 4, 3, 1), "O-RR"),  # ten equations for 24 symbols
    (Cell("closed", 24, 24, 1, 1), "k-RR"),
    (Cell("closed", 24, 24, 1, 1), "k-RAPPOR"),
]


def real_losses(cell: Cell, mechanism: str, n: int, epsilon: float, *, per_cohort: bool = False) -> Floats:
    """A survey with hash functions of its own, `simulate`, `decode`: as a user would, sample by sample."""
    rng = generator(f"real {cell} {mechanism} {epsilon} {per_cohort}")
    names = list(range(cell.symbols)) if cell.alphabet == "open" else None
    closed = None if names else cell.symbols
    p, found = regression.truth(cell.symbols), []
    for _ in range(SAMPLES):
        if mechanism == "k-RR":
            survey = dn.krr(symbols=cell.symbols, epsilon=epsilon)
        elif mechanism == "k-RAPPOR":
            survey = dn.krappor(symbols=cell.symbols, epsilon=epsilon)
        elif mechanism == "O-RR":
            survey = dn.orr(epsilon=epsilon, cells=cell.k, cohorts=cell.C, symbols=closed, seed=rng.bytes(16))
        else:
            survey = dn.orappor(
                epsilon=epsilon, cells=cell.k, cohorts=cell.C, hashes=cell.h, symbols=closed, seed=rng.bytes(16)
            )
        tally = dn.simulate(survey, p, n, rng, symbols=names)
        decoder = dn.LeastSquares(per_cohort=per_cohort)
        estimate = dn.decode(tally, candidates=names, decoder=decoder, constraint=dn.Projected(), complete=True)
        found.append(np.abs(estimate.probabilities - p).sum())
    return np.array(found)


def task_losses(cell: Cell, point: Point) -> Floats:
    task = RegressionTask(cell, (point,), 0, SAMPLES)
    return np.array(task.run(seed_of(task.key(point)))[task.key(point)])


def same_law_p_value(first: Floats, second: Floats) -> float:
    return float(stats.ks_2samp(first, second, method="exact").pvalue)


@pytest.mark.slow
@pytest.mark.parametrize(("cell", "mechanism"), REGRESSIONS, ids=str)
def test_regression_losses_have_the_law_of_simulate_and_decode(cell: Cell, mechanism: str) -> None:
    n, epsilon = 20_000, 2.0
    found = task_losses(cell, Point(mechanism, n, epsilon))
    accept("regression-losses", same_law_p_value(found, real_losses(cell, mechanism, n, epsilon)))


def test_regressions_at_another_epsilon_are_rejected() -> None:
    cell, mechanism = REGRESSIONS[3]
    found = task_losses(cell, Point(mechanism, 20_000, 2.5))
    reject("regression-losses", same_law_p_value(found, real_losses(cell, mechanism, 20_000, 2.0)))


def test_hash_functions_that_stay_the_same_are_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    cell, mechanism = REGRESSIONS[5]
    point = Point(mechanism, 10**7, 4.0)
    real = real_losses(cell, mechanism, point.n, point.epsilon)
    accept("regression-losses", same_law_p_value(task_losses(cell, point), real))
    monkeypatch.setattr(Cell, "cohorts", lambda self, sample: 0)
    reject("regression-losses", same_law_p_value(task_losses(cell, point), real))


def test_the_other_normalisation_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    """One common symbol and little noise: what is seen is how unequal the cohorts are."""
    monkeypatch.setattr(regression, "truth", lambda symbols: dn.lab.geometric(symbols, mean=0.3))
    cell, n, epsilon = Cell("closed", 12, 4, 32, 1), 20_000, 8.0
    found = task_losses(cell, Point("O-RR", n, epsilon))
    accept("regression-losses", same_law_p_value(found, real_losses(cell, "O-RR", n, epsilon)))
    other = real_losses(cell, "O-RR", n, epsilon, per_cohort=True)
    reject("regression-losses", same_law_p_value(found, other))
