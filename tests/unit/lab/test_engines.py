"""The parts of the engines behind `deniable reproduce` that need no luck: algebra, keys, sums and streams."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

import deniable as dn
from deniable.columns.encode import cell_table, keys_of
from deniable.lab import regression
from deniable.lab.kary import DECODERS, DISTRIBUTIONS, LOSSES, KaryTask, Moments, groups, population, spans
from deniable.lab.regression import Cell, Point, RegressionTask, SampledCrowd, mechanism_of, truth
from deniable.lab.screen import ScreenTask, predicted
from deniable.lab.streams import stream_of
from deniable.mechanisms import KRR, BitFlip

Floats = npt.NDArray[np.float64]


def crowd_of(cell: Cell, sample: int = 0) -> SampledCrowd:
    encoding = cell.encoding(0)
    keys = regression._keys(encoding, cell.symbols)
    return SampledCrowd(cell_table(encoding, keys, first=cell.cohorts(sample)), cell.k, truth(cell.symbols))


def matrix_of(crowd: SampledCrowd) -> Floats:
    """H itself, (C * k) x S, from the table of cells."""
    C, h, S = crowd.design.table.shape
    H = np.zeros((C, crowd.cells + 1, S))
    for c in range(C):
        for i in range(h):
            H[c, crowd.design.table[c, i], np.arange(S)] = 1
    return H[:, : crowd.cells].reshape(-1, S)


CELLS = [
    Cell("open", 20, 8, 16, 1),
    Cell("open", 20, 8, 16, 3),
    Cell("open", 20, 2, 3, 1),  # four equations
    Cell("open", 20, 4, 1, 1),
    Cell("open", 20, 2000, 2, 1),  # a sparse Gram matrix, few cells shared
    Cell("open", 60, 600, 6, 2),
    Cell("closed", 20, 4, 2, 1),
    Cell("closed", 20, 4, 16, 1),
    Cell("closed", 20, 16, 3, 2),
    Cell("closed", 20, 64, 3, 1),
    Cell("closed", 20, 20, 1, 1),
]


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.name)
def test_solve_is_the_pseudo_inverse(cell: Cell) -> None:
    crowd = crowd_of(cell)
    H = matrix_of(crowd)
    np.testing.assert_array_equal(crowd._gram, H.T @ H)
    np.testing.assert_array_equal(crowd.seats, H.sum(axis=0))
    u = np.random.default_rng(1).normal(size=(len(H), 5))
    found = crowd.solve(H.T @ u)
    np.testing.assert_allclose(found, np.linalg.pinv(H) @ u, rtol=1e-6, atol=1e-7)


def test_designs_of_every_rank_and_both_kinds_of_product_are_among_them() -> None:
    crowds = [crowd_of(cell) for cell in CELLS]
    ranks = [int(np.linalg.matrix_rank(matrix_of(crowd))) - crowd.design.symbols for crowd in crowds]
    assert min(ranks) < -10
    assert max(ranks) == 0
    assert {crowd.design.is_sparse for crowd in crowds} == {True, False}
    assert {bool(crowd.shared.nnz) for crowd in crowds} == {True, False}


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.name)
def test_cells_are_own_or_shared_or_nobodys(cell: Cell) -> None:
    crowd = crowd_of(cell)
    H = matrix_of(crowd)
    holders = H.sum(axis=1)
    np.testing.assert_array_equal(crowd.alone.sum(axis=0), H[holders == 1].sum(axis=0))
    np.testing.assert_array_equal(crowd.shared.toarray(), H[holders > 1].T)
    np.testing.assert_array_equal(crowd.cohort_of, np.flatnonzero(holders > 1) // cell.k)


def test_losses_are_those_of_the_projected_solution() -> None:
    crowd = crowd_of(CELLS[0])
    right = np.random.default_rng(2).normal(size=(4, 20))
    expected = [np.abs(dn.Projected().apply(crowd.solve(row)) - crowd.p).sum() for row in right]
    np.testing.assert_allclose(crowd.losses(right), expected)


def test_encodings_are_those_of_real_surveys() -> None:
    for cell in (Cell("open", 20, 8, 4, 2), Cell("closed", 20, 8, 4, 2)):
        encoding, closed = cell.encoding(3), None if cell.alphabet == "open" else cell.symbols
        survey = dn.orappor(epsilon=1, cells=cell.k, cohorts=cell.C, hashes=cell.h, symbols=closed, seed=encoding.seed)
        assert survey.encoding == encoding
        keys = regression._keys(encoding, cell.symbols)
        np.testing.assert_array_equal(keys, keys_of(survey, list(range(cell.symbols))))
        assert cell.encoding(4) != encoding != replace(cell, k=16).encoding(3)


def test_small_alphabets_get_fresh_hash_functions_and_large_ones_keep_theirs() -> None:
    cell = Cell("open", 20, 8, 4, 1)
    tables = [crowd_of(cell, sample).design.table for sample in (0, 1, 0)]
    assert (tables[0] != tables[1]).any()
    np.testing.assert_array_equal(tables[0], tables[2])
    # No cohort serves two samples.
    assert [cell.cohorts(sample) for sample in (0, 1, 1000)] == [0, 4, 4000]
    assert replace(cell, symbols=4096).cohorts(7) == 0
    assert replace(cell, symbols=256).cohorts(7) == 28


@pytest.mark.parametrize("mechanism", ["O-RR", "O-RAPPOR"])
@pytest.mark.parametrize(("k", "C"), [(16, 1), (16, 4), (64, 1), (64, 32)])
def test_a_closed_alphabet_with_a_cell_for_each_symbol_is_like_one_cohort(mechanism: str, k: int, C: int) -> None:
    cell = Cell("closed", 16, k, C, 1)
    like = cell.like(mechanism)
    assert like == Cell("closed", 16, k if mechanism == "O-RR" else 16, 1, 1)
    assert like.like(mechanism) == like
    for one in (cell, like):
        crowd = crowd_of(one)
        np.testing.assert_array_equal(crowd._gram, one.C * np.eye(16))
        assert not crowd.shared.nnz
        assert (crowd.alone == 1).all()
    # k is part of what a k-RR report says, and no part of what one bit says.
    for point in (mechanism_of(mechanism, one.k, one.h, 2.0) for one in (cell, like)):
        expected = KRR(k, 2.0) if mechanism == "O-RR" else BitFlip(16, 2.0)
        assert (point.hit, point.miss) == (expected.hit, expected.miss)


@pytest.mark.parametrize("mechanism", ["O-RR", "O-RAPPOR"])
@pytest.mark.parametrize(
    "cell", [Cell("open", 16, 64, 4, 1), Cell("closed", 16, 8, 4, 1), Cell("closed", 16, 64, 4, 2)], ids=str
)
def test_other_cells_are_like_nothing_else(cell: Cell, mechanism: str) -> None:
    assert cell.like(mechanism) is cell


@pytest.mark.parametrize("name", ["O-RR", "k-RR"])
def test_index_mechanisms_take_all_of_epsilon(name: str) -> None:
    assert mechanism_of(name, 64, 1, 1.5) == KRR(64, 1.5)


@pytest.mark.parametrize("name", ["O-RAPPOR", "k-RAPPOR"])
@pytest.mark.parametrize(("k", "h", "bits"), [(64, 1, 2), (64, 2, 4), (64, 16, 32), (8, 16, 8), (2, 1, 2), (3, 2, 3)])
def test_epsilon_is_shared_by_the_bits_that_may_differ(name: str, k: int, h: int, bits: int) -> None:
    mechanism = mechanism_of(name, k, h, 3.0)
    assert mechanism == BitFlip(k, 3.0, bits)
    assert mechanism.hit == dn.orappor(epsilon=3.0, cells=k, cohorts=2, hashes=h, seed=bytes(16)).mechanism.hit
    # eq:rappor: a bit flips with probability 1 / (1 + e**(epsilon / bits))
    assert float(mechanism.miss) == pytest.approx(1 / (1 + np.exp(3.0 / bits)), rel=1e-9)


@pytest.mark.parametrize("size", [2, 256, 512, 1024, 2048, 4096])
@pytest.mark.parametrize("evaluations", [1, 199, 200, 201, 10_000])
def test_spans_cover_every_evaluation_once(size: int, evaluations: int) -> None:
    cut = spans(evaluations, size)
    assert [i for start, stop in cut for i in range(start, stop)] == list(range(evaluations))
    assert all(start < stop for start, stop in cut)
    if evaluations >= 200:
        assert cut[0] == (0, 200) == spans(200, size)[0], "a full run takes over what a quick one found"
    assert max(stop - start for start, stop in cut) <= (9800 if size <= 256 else 1960)


def test_groups_hold_every_distribution_once() -> None:
    assert sum(groups(), ()) == DISTRIBUTIONS
    assert len(set(DISTRIBUTIONS)) == 12
    for name in DISTRIBUTIONS:
        law = population(name, 8)
        assert (law is None) is (name == "dirichlet")
        assert law is None or law.sum() == pytest.approx(1)
    for name, expected in (
        ("binomial .3", dn.lab.binomial(8, 0.3)),
        ("zipf 2", dn.lab.zipf(8, 2)),
        ("geometric", dn.lab.geometric(8, 8 / 5)),
    ):
        assert population(name, 8) == pytest.approx(expected)


KARY = KaryTask(50, 8, ("binomial .2", "zipf 1", "zipf 4"), (0.5, 4.0), 0, 40)
POINTS = tuple(Point(name, n, e) for name in ("O-RR", "O-RAPPOR") for n in (1000, 10**6) for e in (1.0, 3.0))
REGRESSION = RegressionTask(Cell("open", 40, 8, 16, 1), POINTS, 0, 4)
SCREEN = ScreenTask((Cell("open", 40, 8, 16, 1), Cell("open", 40, 8, 1, 1)), POINTS)
FIELD = KaryTask(300, 32, ("geometric", "dirichlet"), (1.0,), 200, 2300)
CLASSES = KaryTask(20, 300, ("geometric", "dirichlet"), (1.0,), 0, 300)


@pytest.mark.parametrize("task", [KARY, REGRESSION, SCREEN, FIELD, CLASSES], ids=lambda task: task.keys[0])
def test_numbers_follow_from_the_seed_and_the_key(task: KaryTask | RegressionTask | ScreenTask) -> None:
    everything = task.run(7)
    assert tuple(everything) == task.keys
    assert len(set(task.keys)) == len(task.keys)
    assert task.run(7) == everything
    assert task.cost > 0
    for kept in (task.keys[1:], task.keys[-1:], task.keys[::2]):
        fewer = task.only(kept)
        assert fewer.keys == kept
        assert fewer.cost <= task.cost
        found = fewer.run(7)
        for key in kept:
            # A product with fewer right sides may round its last bit differently; no draw may differ.
            np.testing.assert_allclose(found[key], everything[key], rtol=1e-9)
    if not isinstance(task, ScreenTask):
        other = task.run(8)
        assert all(other[key] != everything[key] for key in task.keys)


def test_kary_results_do_not_depend_on_what_runs_beside_them() -> None:
    everything = KARY.run(7)
    for name in KARY.distributions:
        assert KARY.only([KARY.key(name)]).run(7) == {KARY.key(name): everything[KARY.key(name)]}
    backwards = replace(KARY, distributions=KARY.distributions[::-1])
    assert backwards.run(7) == everything


def test_a_samples_loss_does_not_depend_on_how_samples_are_cut() -> None:
    cell = REGRESSION.cell
    found = REGRESSION.run(7)
    for start, stop in ((0, 1), (1, 4), (2, 3)):
        part = RegressionTask(cell, POINTS, start, stop)
        for point in POINTS:
            assert part.run(7)[part.key(point)] == found[REGRESSION.key(point)][start:stop]


def test_a_large_alphabet_keeps_its_hash_functions_and_its_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then many samples are solved together; how many is no matter."""
    monkeypatch.setattr(regression, "_FRESH", 30)
    found = REGRESSION.run(7)
    monkeypatch.setattr(regression, "_RIGHT_SIDES", 16)  # two samples at a time
    fewer = REGRESSION.run(7)
    one = RegressionTask(REGRESSION.cell, POINTS[2:3], 3, 4)
    for key in REGRESSION.keys:
        np.testing.assert_allclose(fewer[key], found[key], rtol=1e-9)
    np.testing.assert_allclose(one.run(7)[one.keys[0]], found[REGRESSION.key(POINTS[2])][3:], rtol=1e-9)


def test_keys_name_everything_that_decides_the_numbers() -> None:
    karys = [
        replace(KARY, **change)
        for change in ({}, {"n": 51}, {"size": 9}, {"epsilons": (0.5,)}, {"start": 1}, {"stop": 39})
    ]
    assert len({key for task in karys for key in task.keys}) == 6 * 3
    cells = [
        replace(REGRESSION.cell, **change)
        for change in ({}, {"alphabet": "closed"}, {"symbols": 41}, {"k": 9}, {"C": 8}, {"h": 2})
    ]
    tasks = [replace(REGRESSION, cell=cell) for cell in cells]
    tasks += [replace(REGRESSION, start=1), replace(REGRESSION, stop=3)]
    assert len({key for task in tasks for key in task.keys}) == 8 * len(POINTS)
    screens = [replace(SCREEN, cells=(cell,)) for cell in cells] + [SCREEN]
    assert len({key for task in screens for key in task.keys}) == 7 * len(POINTS)


def test_a_screen_predicts_each_cell_at_each_point() -> None:
    found = SCREEN.run(0)
    for point in POINTS:
        assert found[SCREEN.key(point)] == [predicted(cell, point) for cell in SCREEN.cells]


def test_people_are_the_same_whatever_the_epsilon() -> None:
    """And the last ones are kept, so that they are not placed again for every epsilon."""
    crowd = crowd_of(CELLS[0])
    first = crowd.people(1000, (0, "people", 1))
    assert crowd.people(1000, (0, "people", 1)) is first
    other = crowd.people(1000, (0, "people", 2))
    assert (other.own != first.own).any() or (other.occupied != first.occupied).any()
    again = crowd.people(1000, (0, "people", 1))
    np.testing.assert_array_equal(again.own, first.own)
    np.testing.assert_array_equal(again.occupied, first.occupied)


def explicit(evaluations: int, epsilons: int, seed: int) -> tuple[Floats, list[float]]:
    """Losses of every evaluation, and the numbers that a task would make of them."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(evaluations, epsilons, len(LOSSES), 1))
    losses = 3 + common + 0.2 * rng.normal(size=(evaluations, epsilons, len(LOSSES), len(DECODERS)))
    first, second = np.triu_indices(len(DECODERS))
    products = (losses[..., first] * losses[..., second]).sum(axis=0)
    return losses, np.concatenate([losses.sum(axis=0).ravel(), products.ravel()]).tolist()


def test_moments_are_means_and_paired_standard_errors() -> None:
    parts = [explicit(count, 2, count) for count in (200, 55, 1)]
    losses = np.concatenate([part for part, _ in parts])
    moments = Moments.gather([(len(part), numbers) for part, numbers in parts], 2)
    assert moments.evaluations == 256
    for epsilon in range(2):
        for loss in range(len(LOSSES)):
            means = losses[:, epsilon, loss].mean(axis=0)
            assert moments.means(epsilon, loss) == pytest.approx(dict(zip(DECODERS, means, strict=True)))
            for a, first in enumerate(DECODERS):
                for b, second in enumerate(DECODERS):
                    differences = losses[:, epsilon, loss, a] - losses[:, epsilon, loss, b]
                    expected = differences.std(ddof=1) / np.sqrt(256)
                    found = moments.standard_error(epsilon, loss, first, second)
                    assert found == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_moments_of_a_real_task_are_consistent() -> None:
    """Two pieces add up, l2 is between l1 / sqrt(k) and l1, and squares have the means of squares."""
    tasks = [replace(KARY, start=start, stop=stop) for start, stop in ((0, 40), (40, 50))]
    key = "zipf 1"
    numbers = [(task.stop - task.start, task.run(7)[task.key(key)]) for task in tasks]
    moments = Moments.gather(numbers, len(KARY.epsilons))
    single = [Moments.gather([part], len(KARY.epsilons)) for part in numbers]
    for epsilon in range(2):
        l1, l2, squared = (moments.means(epsilon, loss) for loss in range(3))
        for place, name in enumerate(DECODERS):
            assert l2[name] < l1[name] < np.sqrt(8) * l2[name]
            diagonal = int(np.flatnonzero(np.all(np.array(np.triu_indices(7)) == place, axis=0))[0])
            assert moments.products[epsilon, 1, diagonal] / 50 == pytest.approx(squared[name])
            weighted = sum(part.means(epsilon, 0)[name] * part.evaluations for part in single) / 50
            assert weighted == pytest.approx(l1[name])


def test_streams_repeat_and_depend_on_every_part_of_the_name() -> None:
    def first(seed: int, *name: object) -> int:
        return int(stream_of(seed, *name).integers(1 << 62))

    names: list[tuple[object, ...]] = [(), ("a",), ("a", 1), ("a", "1"), (1, "a"), ("a", 1.0), ("a", 1, 2), ("a", 12)]
    drawn = [first(seed, *name) for seed in (0, 1) for name in names]
    assert len(set(drawn)) == len(drawn)
    assert drawn == [first(seed, *name) for seed in (0, 1) for name in names]
    # Results that are kept in a store follow from these numbers: other ones would mix two runs in one table.
    assert stream_of(0, "people", 256).integers(0, 1000, 5).tolist() == [290, 613, 966, 499, 442]
