"""The prediction that prunes the grid search, against what it predicts: near for settings that may win, and in order.

Nothing is inferred here and nothing random is left: seeds are fixed, a few samples each, and the tolerance of 15 % is
the margin of the race. Every test names predictions that are wrong, which the same samples must tell.
"""

from dataclasses import replace
from statistics import fmean

import pytest

from deniable.lab.regression import Cell, Point, RegressionTask
from deniable.lab.screen import predicted
from deniable.reproduce.cache import ResultCache
from deniable.reproduce.pool import Results
from tests.statistical.harness import seed_of

WITHIN = 0.15

# Several cohorts with at least four equations a symbol; and a single cohort, whose collisions stay.
SEVERAL = [
    (Cell("open", 256, 4, 256, 1), 1.0),
    (Cell("open", 256, 16, 64, 1), 2.0),
    (Cell("open", 256, 64, 64, 1), 1.0),
    (Cell("open", 256, 64, 64, 1), 4.0),
    (Cell("open", 256, 256, 16, 1), 4.0),
    (Cell("closed", 256, 16, 64, 1), 2.0),
    (Cell("closed", 256, 64, 32, 1), 4.0),
    (Cell("closed", 256, 256, 4, 1), 1.0),
]
SINGLE = [
    (Cell("open", 256, 64, 1, 1), 2.0),
    (Cell("open", 256, 1024, 1, 1), 1.0),
    (Cell("closed", 256, 64, 1, 1), 2.0),
    (Cell("closed", 256, 256, 1, 1), 6.0),
]


def near(guess: float, loss: float) -> bool:
    return abs(guess / loss - 1) <= WITHIN


# Nothing but collisions is left of the error here.
COARSE, COARSE_POINT = Cell("open", 256, 64, 1, 1), Point("O-RR", 10**8, 6.0)

# (mechanism, epsilon, a setting that may win, settings that obviously do not)
Setting = tuple[int, int, int]  # k, C, h
RANKED: list[tuple[str, float, Setting, list[Setting]]] = [
    ("O-RR", 1.0, (4, 256, 1), [(1024, 4, 1), (2, 4, 1)]),
    ("O-RR", 6.0, (256, 32, 1), [(2, 64, 1), (64, 1, 1)]),
    ("O-RAPPOR", 1.0, (64, 64, 1), [(64, 64, 8), (64, 1, 1)]),
    ("O-RAPPOR", 4.0, (256, 64, 1), [(256, 64, 4), (4, 16, 1)]),
]


def behind(found: list[float]) -> bool:
    """Whether all but the first are clearly worse."""
    return min(found[1:]) > 1.2 * found[0]


def points_at(epsilon: float) -> tuple[Point, ...]:
    return tuple(Point(mechanism, 10**6, epsilon) for mechanism in ("O-RR", "O-RAPPOR"))


Losses = dict[tuple[Cell, Point], float]


@pytest.fixture(scope="module")
def losses() -> Losses:
    """Mean losses, all from one worker: linear algebra has one thread there, which is faster at this size."""
    tasks = [RegressionTask(cell, points_at(epsilon), 0, 10) for cell, epsilon in SEVERAL + SINGLE]
    tasks += [RegressionTask(COARSE, (COARSE_POINT,), 0, 10)]
    tasks += [
        RegressionTask(Cell(alphabet, 256, *setting), (Point(mechanism, 10**6, epsilon),), 20, 22)
        for mechanism, epsilon, good, bad in RANKED
        for setting in (good, *bad)
        for alphabet in ("open", "closed")
    ]
    with ResultCache(":memory:", seed=seed_of("screen")) as store, Results(store, processes=1) as results:
        numbers = results(tasks, "samples")
    return {(task.cell, point): fmean(numbers[task.key(point)]) for task in tasks for point in task.points}


@pytest.mark.parametrize(("cell", "epsilon"), SEVERAL + SINGLE, ids=str)
def test_the_prediction_is_near(losses: Losses, cell: Cell, epsilon: float) -> None:
    assert cell.C == 1 or cell.k * cell.C >= 4 * cell.symbols
    for point in points_at(epsilon):
        assert near(predicted(cell, point), losses[cell, point])
        if cell.C > 1:
            for wrong in (1.4, 0.7):
                other = Point(point.mechanism, point.n, wrong * epsilon)
                assert not near(predicted(cell, other), losses[cell, point])


def test_a_single_cohort_is_predicted_with_its_collisions(losses: Losses) -> None:
    loss = losses[COARSE, COARSE_POINT]
    assert near(predicted(COARSE, COARSE_POINT), loss)
    assert not near(predicted(replace(COARSE, k=512), COARSE_POINT), loss)
    assert not near(predicted(replace(COARSE, C=2), COARSE_POINT), loss)


@pytest.mark.parametrize(("mechanism", "epsilon", "good", "bad"), RANKED, ids=str)
@pytest.mark.parametrize("alphabet", ["open", "closed"])
def test_bad_settings_are_behind_good_ones(
    losses: Losses, alphabet: str, mechanism: str, epsilon: float, good: Setting, bad: list[Setting]
) -> None:
    point = Point(mechanism, 10**6, epsilon)
    cells = [Cell(alphabet, 256, *setting) for setting in (good, *bad)]
    assert behind([losses[cell, point] for cell in cells]), "obviously bad"
    assert behind([predicted(cell, point) for cell in cells])


def test_a_prediction_that_forgets_cohorts_and_hashes_is_told() -> None:
    mechanism, epsilon, good, bad = RANKED[2]
    blind = [Cell("open", 256, k, good[1], good[2]) for k, _, _ in (good, *bad)]
    assert not behind([predicted(cell, Point(mechanism, 10**6, epsilon)) for cell in blind])
