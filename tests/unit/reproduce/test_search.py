"""From settings to tables: grids, races and crossings, on made-up results, and once, small, on real ones."""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from deniable.lab.kary import DECODERS, LOSSES, KaryTask
from deniable.lab.regression import Cell, Point, RegressionTask, truth
from deniable.lab.screen import ScreenTask
from deniable.reproduce import experiments, grid_search, privacy
from deniable.reproduce.cache import ResultCache
from deniable.reproduce.experiments import tables
from deniable.reproduce.grid_search import (
    STUDIES,
    Contest,
    choose,
    contenders,
    grid,
    measure,
    median_interval,
    predictions,
    quantiles,
    reported,
    rows,
    slices,
)
from deniable.reproduce.pool import Results
from deniable.reproduce.privacy import _answer, _Target, crossing, privacy_rows
from deniable.reproduce.settings import (
    COHORTS,
    KARY_EPSILONS,
    KARY_SIZES,
    LINE_EPSILONS,
    LINES_S4096,
    LOW_EPSILON,
    PARAMETER_EPSILONS,
    Race,
    Settings,
    cells,
)
from deniable.reproduce.tasks import Task
from deniable.theory import ml_l1

Row = dict[str, object]

QUICK, FULL = Settings(), Settings(full=True)
CHOOSING = 1000  # samples from this number on are never reported

COLUMNS = {
    "population": "symbol probability",
    "kary": "distribution n k epsilon loss evaluations krr_standard krr_normalised krr_projected krr_ml "
    "krappor_standard krappor_normalised krappor_projected krr_gain krr_gain_se krr_rival krappor_gain krappor_gain_se "
    "krappor_rival krr_best krappor_best difference difference_se",
    "lines": "alphabet S n mechanism epsilon vary value k C h median low high median_low median_high samples "
    "selection_samples contenders",
    "baselines": "S n name loss",
    "privacy": "alphabet S n loss mechanism epsilon reached epsilon_low epsilon_high k C h samples",
    "screen": "S alphabet n mechanism epsilon k C h predicted measured samples",
}
NAMES = {  # what makes a row unique
    "population": "symbol",
    "kary": "distribution n k epsilon loss",
    "lines": "alphabet S n mechanism epsilon vary value",
    "baselines": "S n name",
    "privacy": "alphabet S n loss mechanism",
    "screen": "S alphabet n mechanism epsilon k C h",
}


# Made-up results.


def smooth(cell: Cell, point: Point) -> float:
    """A loss with one best setting, which falls with n and epsilon; settings of one law have one loss."""
    cell = cell.like(point.mechanism)
    bowl = 0.02 * (math.log2(cell.k) - 3 - point.epsilon / 2) ** 2 + 0.01 * (math.log2(cell.C) - 5) ** 2
    family = 1.0 if point.mechanism == "O-RR" else 1.2 if point.mechanism == "O-RAPPOR" else 1.1
    at_one = 0.3 * family * math.sqrt(cell.symbols / 256 * 1e6 / point.n)
    return at_one * (1 + bowl + 0.3 * (cell.h - 1)) / point.epsilon


def sampled(cell: Cell, point: Point, sample: int) -> float:
    """One sample's loss, as far as 5 % from the smooth one; any 11 in a row have it for their median."""
    return smooth(cell, point) * (1 + 0.01 * (7 * sample % 11 - 5))


def kary_mean(name: str, n: int, k: int, epsilon: float, loss: int, decoder: int) -> float:
    return (1 + decoder + 0.1 * len(name)) / (loss + 1) * math.sqrt(k / n) / epsilon


class Fake(Results):
    """Answers every task at once, and remembers what was asked for."""

    def __init__(self, *, guess: float = 1.0) -> None:
        self.asked: list[Task] = []
        self.labels: list[str] = []
        self.expected: list[float] = []
        self.guess = guess

    def __call__(self, tasks: Sequence[Task], label: str) -> dict[str, list[float]]:
        self.asked += tasks
        self.labels.append(label)
        return {key: numbers for task in tasks for key, numbers in self.answer(task).items()}

    def expect(self, cost: float) -> None:
        self.expected.append(cost)

    def answer(self, task: Task) -> dict[str, list[float]]:
        if isinstance(task, RegressionTask):
            samples = range(task.start, task.stop)
            return {task.key(p): [sampled(task.cell, p, sample) for sample in samples] for p in task.points}
        if isinstance(task, ScreenTask):
            return {task.key(p): [self.guess * smooth(cell, p) for cell in task.cells] for p in task.points}
        assert isinstance(task, KaryTask)
        return {task.key(name): self.kary(task, name) for name in task.distributions}

    def kary(self, task: KaryTask, name: str) -> list[float]:
        """Losses with standard deviation 0.1 each and correlation one half."""
        shape = (len(task.epsilons), len(LOSSES), len(DECODERS))
        means = np.empty(shape)
        for e, loss, decoder in np.ndindex(*shape):
            means[e, loss, decoder] = kary_mean(name, task.n, task.size, task.epsilons[e], loss, decoder)
        covariance = 0.01 * (0.5 + 0.5 * np.eye(len(DECODERS)))
        first, second = np.triu_indices(len(DECODERS))
        products = means[..., first] * means[..., second] + covariance[first, second]
        numbers: list[float] = np.concatenate([means.ravel(), products.ravel()]).tolist()
        return [(task.stop - task.start) * number for number in numbers]

    def regressions(self) -> list[RegressionTask]:
        return [task for task in self.asked if isinstance(task, RegressionTask)]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every axis, but short."""
    monkeypatch.setattr(grid_search, "COHORTS", (1, 8, 64))
    monkeypatch.setattr(grid_search, "cells", lambda symbols: (4, 16, 64, 256) if symbols == 256 else (16, 256, 4096))
    monkeypatch.setattr(grid_search, "hashes", lambda symbols: (1, 2, 4) if symbols == 256 else (1, 2))
    monkeypatch.setattr(grid_search, "LINES_S4096", {"k": (16, 256), "C": (1, 64), "h": (1, 2)})
    monkeypatch.setattr(grid_search, "LINE_EPSILONS", (0.5, 1.25, 2.0, 4.0))
    monkeypatch.setattr(grid_search, "PARAMETER_EPSILONS", (0.5, 4.0))
    monkeypatch.setattr(privacy, "PRIVACY_USERS", {256: (10**4, 10**6, 10**10), 4096: (10**6, 10**10)})
    monkeypatch.setattr(privacy, "PRIVACY_LOSSES", {256: (0.02, 0.2), 4096: (0.2,)})
    monkeypatch.setattr(experiments, "KARY_SIZES", (2, 16))
    monkeypatch.setattr(experiments, "KARY_EPSILONS", (0.5, 2.0))


def check(found: dict[str, list[Row]]) -> None:
    """Every row has exactly its columns, and no row is there twice."""
    assert set(found) == set(COLUMNS)
    for name, table in found.items():
        for row in table:
            assert set(row) == set(COLUMNS[name].split()), name
        names = [tuple(row[column] for column in NAMES[name].split()) for row in table]
        assert len(set(names)) == len(names), name


# Grids and slices.


@pytest.mark.parametrize("alphabet", ["open", "closed"])
@pytest.mark.parametrize(
    ("symbols", "mechanism", "size"),
    [
        (256, "O-RR", 12 * 11),
        (256, "O-RAPPOR", 12 * 11 * 5),
        (256, "k-RR", 1),
        (256, "k-RAPPOR", 1),
        (4096, "O-RR", 14 * 11),
        (4096, "O-RAPPOR", 14 * 11 * 2),
    ],
)
def test_grids_are_the_papers(alphabet: str, symbols: int, mechanism: str, size: int) -> None:
    found = grid(alphabet, symbols, mechanism)
    assert len(set(found)) == len(found) == size
    assert {(cell.alphabet, cell.symbols) for cell in found} == {(alphabet, symbols)}
    if mechanism.startswith("k-"):
        assert found == (Cell(alphabet, symbols, symbols, 1, 1),)
    else:
        assert {cell.C for cell in found} == set(COHORTS) == {2**i for i in range(11)}
        assert {cell.k for cell in found} == {2**i for i in range(1, 13 if symbols == 256 else 15)}
    if mechanism == "O-RR":
        assert {cell.h for cell in found} == {1}


def test_axes_are_in_order_and_parameters_are_among_the_lines() -> None:
    for axis in (LINE_EPSILONS, PARAMETER_EPSILONS, KARY_EPSILONS, KARY_SIZES, COHORTS):
        assert all(a < b for a, b in pairwise(axis))
    assert set(PARAMETER_EPSILONS) < set(LINE_EPSILONS)
    assert (len(LINE_EPSILONS), len(PARAMETER_EPSILONS), len(KARY_EPSILONS)) == (18, 14, 13)
    assert set(LINES_S4096["k"]) <= set(cells(4096))
    assert [study.epsilons for study in STUDIES] == [LINE_EPSILONS] * 2 + [PARAMETER_EPSILONS] * 2


@pytest.mark.parametrize("study", STUDIES, ids=str)
@pytest.mark.parametrize("mechanism", ["O-RR", "O-RAPPOR"])
def test_slices_fix_one_parameter_and_leave_the_rest(study: grid_search.Study, mechanism: str) -> None:
    everything = grid(study.alphabet, study.symbols, mechanism)
    best, *others = slices(study, mechanism, 4.0, parameters=True)
    assert (best.vary, best.value, best.cells) == ("best", 0, everything)
    assert {part.vary for part in others} == ({"k", "C", "h"} if mechanism == "O-RAPPOR" else {"k", "C"})
    assert len({(part.vary, part.value) for part in others}) == len(others)
    for part in others:
        assert part.cells == tuple(cell for cell in everything if getattr(cell, part.vary) == part.value) != ()
    for vary in ("k", "C"):
        covered = {cell for part in others if part.vary == vary for cell in part.cells}
        if study.symbols == 256:
            assert covered == set(everything)
        else:
            assert {getattr(cell, vary) for cell in covered} == set(LINES_S4096[vary])


def test_which_slices_there_are() -> None:
    def kinds(study: grid_search.Study, mechanism: str, epsilon: float, parameters: bool) -> set[str]:
        return {part.vary for part in slices(study, mechanism, epsilon, parameters=parameters)}

    opened, closed, large, _ = STUDIES
    assert kinds(opened, "O-RR", 1.0, False) == {"best", "k=3"}
    assert kinds(opened, "O-RR", LOW_EPSILON, False) == {"best", "k=3"}
    assert kinds(opened, "O-RR", 2.5, False) == {"best"}
    for study, mechanism in ((opened, "O-RAPPOR"), (closed, "O-RR"), (large, "O-RR")):
        assert kinds(study, mechanism, 1.0, False) == {"best"}
    for mechanism in ("k-RR", "k-RAPPOR"):
        assert kinds(closed, mechanism, 1.0, True) == {"best"}
    assert kinds(closed, "O-RR", 1.25, True) == {"best"}, "no parameter study has this epsilon"
    three = slices(opened, "O-RR", 1.0, parameters=False)[1]
    assert (three.value, {(cell.k, cell.h) for cell in three.cells}) == (3, {(3, 1)})
    assert [cell.C for cell in three.cells] == list(COHORTS)


# Races.

POINT = Point("O-RR", 10**6, 1.0)
EIGHT = [Cell("open", 256, 2**i, 16, 1) for i in range(1, 9)]


def guesses(cells_: Sequence[Cell], values: Sequence[float], point: Point = POINT) -> dict[tuple[Cell, Point], float]:
    return {(cell, point): value for cell, value in zip(cells_, values, strict=True)}


def test_a_quick_run_takes_the_cheapest_of_equal_predictions() -> None:
    point = Point("O-RAPPOR", 10**6, 2.0)
    cells_ = tuple(Cell("open", 256, 64, C, h) for C in (1, 16, 256) for h in (1, 2))
    for close, chosen in ((1.004, Cell("open", 256, 64, 16, 1)), (1.006, Cell("open", 256, 64, 256, 1))):
        guess = {(cell, point): 1.0 if cell.C == 256 else close if cell.C == 16 else 1.5 for cell in cells_}
        assert contenders(cells_, point, guess, Settings()) == (chosen,)


def test_contenders_are_near_the_best_and_few() -> None:
    guess = guesses(EIGHT, [0.5, 0.2, 0.229, 0.231, 0.21, 0.22, 0.225, 0.228])
    assert contenders(EIGHT, POINT, guess, QUICK) == (EIGHT[1],)
    # Within 15 % of 0.2, best first, and no more than five.
    assert contenders(EIGHT, POINT, guess, FULL) == tuple(EIGHT[i] for i in (1, 4, 5, 6, 7))
    near = guesses(EIGHT, [0.5, 0.2, 0.229, 0.231, 0.21, 0.5, 0.5, 0.5])
    assert contenders(EIGHT, POINT, near, FULL) == tuple(EIGHT[i] for i in (1, 4, 2))
    everything = contenders(EIGHT, POINT, near, Settings(exhaustive=True))
    assert everything == tuple(EIGHT[i] for i in (1, 4, 2, 3, 0, 5, 6, 7))
    large = [replace(cell, symbols=4096) for cell in EIGHT]
    assert contenders(large, POINT, guesses(large, [0.2, 0.21, 0.211, 0.213, 1, 1, 1, 1]), FULL) == tuple(large[:2])


def test_settings_with_one_law_run_once() -> None:
    """A closed alphabet with a cell for each symbol: cohorts only relabel, and spare bits are never read."""
    same = [Cell("closed", 256, k, C, 1) for k in (256, 1024) for C in (1, 4)]
    for mechanism, count in (("O-RR", 2), ("O-RAPPOR", 1)):
        point = Point(mechanism, 10**6, 1.0)
        guess = guesses(same, [0.2] * 4, point)
        for settings in (FULL, Settings(exhaustive=True)):
            found = contenders(same, point, guess, settings)
            assert found == (Cell("closed", 256, 256, 1, 1), Cell("closed", 256, 1024, 1, 1))[:count]
    # Ties are broken by the setting itself, so that the order of the grid is no matter.
    guess = guesses(EIGHT, [0.2] * 8)
    assert contenders(EIGHT[::-1], POINT, guess, FULL) == contenders(EIGHT, POINT, guess, FULL) == tuple(EIGHT[:5])


class Scripted(Fake):
    """Losses by setting and by whether they may be reported."""

    def __init__(self, choosing: dict[Cell, float]) -> None:
        super().__init__()
        self.choosing = choosing

    def answer(self, task: Task) -> dict[str, list[float]]:
        assert isinstance(task, RegressionTask)
        loss = self.choosing[task.cell] if task.start >= CHOOSING else -1.0
        return {key: [loss] * (task.stop - task.start) for key in task.keys}


def test_the_winner_has_the_least_mean_on_samples_that_are_never_reported() -> None:
    fake = Scripted({EIGHT[0]: 0.3, EIGHT[1]: 0.1, EIGHT[2]: 0.2})
    searches = [Contest(POINT, tuple(EIGHT[:3])), Contest(POINT, (EIGHT[5],)), Contest(POINT, (EIGHT[2], EIGHT[0]))]
    winners, measured = choose(searches, FULL, fake)
    assert winners == [EIGHT[1], EIGHT[5], EIGHT[2]]
    assert measured == {(cell, POINT): [loss] * 8 for cell, loss in fake.choosing.items()}
    assert {(task.start, task.stop) for task in fake.regressions()} == {(CHOOSING, CHOOSING + 8)}
    assert EIGHT[5] not in {task.cell for task in fake.regressions()}, "nobody races alone"
    assert len(fake.regressions()) == 3


def test_one_task_measures_everything_about_one_cell() -> None:
    fake, other = Fake(), Point("O-RAPPOR", 10**6, 1.0)
    wanted = [(EIGHT[0], POINT), (EIGHT[1], POINT), (EIGHT[0], other), (EIGHT[0], POINT)]
    found = measure(wanted, [(0, 3), (3, 5)], fake, "samples")
    assert len(fake.asked) == 4
    assert found == {(cell, p): [sampled(cell, p, i) for i in range(5)] for cell, p in set(wanted)}


def test_predictions_cover_every_cell_at_every_point() -> None:
    fake = Fake()
    part, points = grid("open", 256, "O-RR"), [Point("O-RR", 10**6, e) for e in (1.0, 2.0)]
    found = predictions([(part, points[0]), (part, points[1]), (part[:11], points[0]), (part, points[0])], fake)
    assert found == {(cell, point): smooth(cell, point) for cell in part for point in points}
    keys = [key for task in fake.asked for key in task.keys]
    assert len(set(keys)) == len(keys) == 12 * 2, "one block for each k, each point once"


def test_reported_samples_are_cut_so_that_a_full_run_takes_over_a_quick_one() -> None:
    for symbols, quick in ((256, 8), (4096, 4)):
        assert reported(QUICK, symbols) == [(0, quick)] == reported(FULL, symbols)[:1]
        assert [i for a, b in reported(FULL, symbols) for i in range(a, b)] == list(range(50))
        assert reported(QUICK, symbols)[-1][1] == QUICK.samples(symbols)
        assert max(stop for _, stop in reported(FULL, symbols)) < grid_search.CHOOSING_FROM == CHOOSING


# Quantiles.


@pytest.mark.parametrize("samples", [1, 2, 3, 4, 7, 8, 9, 20, 49, 50, 51, 200])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.99])
def test_the_medians_interval_covers_it_and_is_the_narrowest(samples: int, level: float) -> None:
    low, high = median_interval(samples, level)
    assert 0 <= low <= high == samples - 1 - low

    def coverage(place: int) -> float:
        """P(the median is between the order statistics at `place` from both ends): not all but `place` on one side."""
        return float(1 - 2 * binom.cdf(place, samples, 0.5))

    assert low == 0 or coverage(low) >= level
    assert low == (samples - 1) // 2 or coverage(low + 1) < level


def test_the_full_runs_interval_is_a_99_percent_one() -> None:
    assert 0.99 < 1 - 2 * binom.cdf(median_interval(50)[0], 50, 0.5) < 0.995
    assert 1 - 2 * binom.cdf(median_interval(8)[0], 8, 0.5) > 0.99


@pytest.mark.parametrize("samples", [1, 2, 4, 8, 50])
def test_quantiles(samples: int) -> None:
    losses = np.random.default_rng(samples).normal(size=samples).tolist()
    found = quantiles(losses)
    assert found["median"] == pytest.approx(np.median(losses))
    assert (found["low"], found["high"]) == pytest.approx(tuple(np.quantile(losses, (0.05, 0.95))))
    low, high = median_interval(samples)
    assert (found["median_low"], found["median_high"]) == (sorted(losses)[low], sorted(losses)[high])
    assert found["samples"] == samples
    assert quantiles(losses[::-1]) == found


# Crossings.


@pytest.mark.parametrize("power", [-2.0, -0.5, -0.1])
@pytest.mark.parametrize("loss", [0.05, 0.2, 1.0])
def test_a_crossing_is_exact_for_powers(power: float, loss: float) -> None:
    def curve(epsilon: float) -> float:
        return float(0.3 * epsilon**power)

    exact = (loss / 0.3) ** (1 / power)
    for pair in ((1.0, 2.0), (2.0, 1.0), (0.3, 0.31)):
        first, second = ((epsilon, curve(epsilon)) for epsilon in pair)
        assert crossing(first, second, loss) == pytest.approx(exact, rel=1e-6)
    assert crossing((1.0, 0.3), (2.0, curve(2.0)), 0.3) == pytest.approx(1.0)


@pytest.mark.parametrize("second", [0.3, 0.3001, 0.29999, 0.9])
def test_a_curve_that_does_not_fall_is_never_crossed(second: float) -> None:
    assert crossing((1.0, 0.3), (2.0, second), 0.2) == math.inf
    assert crossing((1.0, 0.3), (2.0, second), 0.95) == 0.0


@pytest.mark.parametrize("second", [0.3, 0.3001, 0.29999, 0.9])
def test_a_setting_stuck_at_its_bias_is_out_of_reach_and_not_a_crash(second: float) -> None:
    target, cell = _Target("open", 256, "O-RR", 10**9, 0.1), Cell("open", 256, 16, 1, 1)
    found = _answer(target, 1.1, cell, {1.0: [0.3] * 50, 1.25: [second] * 50})
    assert (found["reached"], found["epsilon"]) == ("above 10", None)


def test_an_interval_holds_its_answer_even_where_a_bound_never_reaches_the_target() -> None:
    target, cell = _Target("open", 256, "O-RR", 10**6, 0.2), Cell("open", 256, 16, 64, 1)
    spread = [*(0.05 + 0.005 * place for place in range(30)), *[0.6] * 20]
    found = _answer(target, 1.1, cell, {1.0: [0.3] * 50, 1.25: spread})
    low, middle, high = (float(str(found[f"epsilon{name}"])) for name in ("_low", "", "_high"))
    assert found["reached"] == "yes"
    assert 0.05 <= low <= middle <= high <= 20


def least_loss(alphabet: str, symbols: int, point: Point) -> tuple[float, Cell]:
    return min((smooth(cell, point), cell) for cell in grid(alphabet, symbols, point.mechanism) if cell.h == 1)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("settings", [QUICK, FULL, Settings(exhaustive=True)], ids=["quick", "full", "exhaustive"])
@pytest.mark.parametrize("guess", [1.0, 1.25, 0.8])
def test_privacy_is_where_the_curve_of_best_settings_crosses(settings: Settings, guess: float) -> None:
    """Also where the prediction is a quarter off."""
    fake = Fake(guess=guess)
    wanted = [("open", 256), ("closed", 256), ("open", 4096)]
    found, screen = privacy_rows(wanted, settings, fake)
    check({name: [] for name in COLUMNS} | {"privacy": found, "screen": screen})
    assert len(found) == 2 * 6 + 4 * 6 + 2 * 2
    assert {str(row["reached"]) for row in found} == {"yes", "above 10", "below 0.1"}
    for row in found:
        alphabet, symbols, n = str(row["alphabet"]), int(str(row["S"])), int(str(row["n"]))
        target, mechanism = float(str(row["loss"])), str(row["mechanism"])
        at_ends = [least_loss(alphabet, symbols, Point(mechanism, n, e))[0] for e in (0.1, 10.0)]
        assert row["reached"] == ("below 0.1" if at_ends[0] < target else "above 10" if at_ends[1] > target else "yes")
        if row["reached"] != "yes":
            assert {row[column] for column in ("epsilon", "epsilon_low", "epsilon_high")} == {None}
            continue
        low, epsilon, high = (float(str(row[column])) for column in ("epsilon_low", "epsilon", "epsilon_high"))
        assert low < epsilon < high
        assert row["samples"] == settings.samples(symbols)
        assert least_loss(alphabet, symbols, Point(mechanism, n, epsilon))[0] == pytest.approx(target, rel=0.06)
        cell = Cell(alphabet, symbols, int(str(row["k"])), int(str(row["C"])), int(str(row["h"])))
        assert smooth(cell, Point(mechanism, n, epsilon)) == pytest.approx(target, rel=0.06)
    assert {row["h"] for row in found} <= {None, 1, 2}
    if settings == QUICK:
        assert screen == []
    else:
        assert {row["samples"] for row in screen} == {8, 4}


@pytest.mark.usefixtures("small")
def test_a_curve_that_just_misses_the_range_is_measured_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    n = 10**6
    at_ten, _ = least_loss("open", 256, Point("O-RR", n, 10.0))
    at_tenth, _ = least_loss("open", 256, Point("O-RR", n, 0.1))
    monkeypatch.setattr(privacy, "PRIVACY_USERS", {256: (n,)})
    # (target, what is predicted of the truth, the answer): the prediction alone may not decide near the ends.
    for target, guess, reached in (
        (at_ten / 1.02, 1.0, "above 10"),
        (at_ten * 1.02, 1.05, "yes"),
        (at_tenth * 1.3, 1.3, "below 0.1"),
        (at_tenth / 1.1, 0.95, "yes"),
    ):
        monkeypatch.setattr(privacy, "PRIVACY_LOSSES", {256: (target,)})
        fake = Fake(guess=guess)
        row, *_ = privacy_rows([("open", 256)], FULL, fake)[0]
        assert (row["mechanism"], row["reached"]) == ("O-RR", reached)
        epsilons = [point.epsilon for task in fake.regressions() for point in task.points]
        assert max(epsilons, default=1.0) <= 10
        assert min(epsilons, default=1.0) > 0.1 / 1.12
        if reached == "yes":
            assert least_loss("open", 256, Point("O-RR", n, float(str(row["epsilon"]))))[0] == pytest.approx(
                target, rel=0.03
            )


@pytest.mark.usefixtures("small")
def test_a_bracket_that_misses_moves() -> None:
    """The prediction promises too much: the reported epsilons move up until they enclose the target."""
    fake = Fake(guess=0.6)
    found, _ = privacy_rows([("open", 256)], FULL, fake)
    assert fake.labels.count("privacy, S = 256") > 1
    (row,) = [row for row in found if (row["mechanism"], row["n"], row["loss"]) == ("O-RR", 10**6, 0.2)]
    assert row["reached"] == "yes"
    point = Point("O-RR", 10**6, float(str(row["epsilon"])))
    cell = Cell("open", 256, int(str(row["k"])), int(str(row["C"])), int(str(row["h"])))
    assert smooth(cell, point) == pytest.approx(0.2, rel=0.03)


# Lines.


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("settings", [QUICK, FULL, Settings(exhaustive=True)], ids=["quick", "full", "exhaustive"])
def test_lines_report_the_best_setting_of_each_slice(settings: Settings) -> None:
    fake = Fake()
    lines, screen = rows([(study, True) for study in STUDIES], settings, fake)
    check({name: [] for name in COLUMNS} | {"lines": lines, "screen": screen})
    for row in lines:
        point = Point(str(row["mechanism"]), int(str(row["n"])), float(str(row["epsilon"])))
        shown = Cell(*(row[column] for column in ("alphabet", "S", "k", "C", "h")))  # type: ignore[arg-type]
        study = next(s for s in STUDIES if (s.alphabet, s.symbols, s.n) == (shown.alphabet, shown.symbols, point.n))
        parts = slices(study, point.mechanism, point.epsilon, parameters=True)
        (part,) = [part for part in parts if (part.vary, part.value) == (row["vary"], row["value"])]
        assert shown in part.cells, "what is shown belongs to the line"
        assert smooth(shown, point) == pytest.approx(min(smooth(cell, point) for cell in part.cells))
        samples = range(settings.samples(shown.symbols))
        expected = quantiles([sampled(shown, point, sample) for sample in samples])
        assert {name: row[name] for name in expected} == expected
        distinct = {cell.like(point.mechanism) for cell in part.cells}
        race = settings.race(shown.symbols)
        if settings.exhaustive:
            assert row["contenders"] == len(distinct)
        else:
            limit = race.margin * smooth(shown, point) * (1 + 1e-12)
            assert row["contenders"] == min(race.most, sum(smooth(cell, point) <= limit for cell in distinct))
        assert row["selection_samples"] == (race.samples if int(str(row["contenders"])) > 1 else 0)
    for row in screen:
        assert row["predicted"] == pytest.approx(row["measured"], rel=0.05)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("settings", [QUICK, FULL, Settings(exhaustive=True)], ids=["quick", "full", "exhaustive"])
def test_choosing_and_reporting_never_share_a_sample(settings: Settings) -> None:
    fake = Fake()
    tables(replace(settings, figures=("open_set_params", "open_set_zoom_s4096", "privacy_at_n_closed")), fake)
    spans = {(task.cell.symbols, task.start, task.stop) for task in fake.regressions()}
    for symbols in (256, 4096):
        chosen = {i for size, a, b in spans if size == symbols and a >= CHOOSING for i in range(a, b)}
        shown = {i for size, a, b in spans if size == symbols and a < CHOOSING for i in range(a, b)}
        assert shown == set(range(settings.samples(symbols)))
        assert chosen == set(range(CHOOSING, CHOOSING + settings.race(symbols).samples))
        assert not chosen & shown


def test_the_lines_of_a_real_run_are_all_there() -> None:
    fake = Fake()
    lines, _ = rows([(STUDIES[0], False), (STUDIES[1], False)], QUICK, fake)
    low = sum(epsilon <= LOW_EPSILON for epsilon in LINE_EPSILONS)
    assert len(lines) == 18 * 2 + low + 18 * 4
    chosen = {(row["k"], row["C"]) for row in lines if row["mechanism"] in ("k-RR", "k-RAPPOR")}
    assert chosen == {(256, 1)}
    assert {row["value"] for row in lines} == {0, 3}


# Tables.


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("settings", [QUICK, FULL], ids=["quick", "full"])
def test_every_table_has_its_columns_and_no_row_twice(settings: Settings) -> None:
    fake = Fake()
    found = tables(settings, fake)
    check(found)
    assert all(found[name] for name in COLUMNS)
    assert len(found["kary"]) == 12 * 5 * 2 * 2 * 3
    assert {row["evaluations"] for row in found["kary"]} == {settings.evaluations}
    assert len(found["population"]) == 256
    assert {(row["S"], row["n"]) for row in found["baselines"]} == {(256, 10**6), (4096, 10**6), (4096, 10**8)}
    p = truth(256)
    for row in found["baselines"]:
        if row["S"] == 256:
            loss = ml_l1(p, 10**6, exact=True) if row["name"] == "empirical" else np.abs(p - 1 / 256).sum()
            assert row["loss"] == pytest.approx(loss)
    assert len(fake.expected) == 1
    assert fake.expected[0] > 0


def test_more_work_is_expected_of_a_larger_run() -> None:
    def expected(settings: Settings) -> float:
        kary = [("geometric", 100)]
        return experiments._expected(settings, kary, {STUDIES[0]: False}, [("open", 256)])

    assert 0 < expected(QUICK) < expected(FULL) < expected(Settings(full=True, exhaustive=True))


@pytest.mark.usefixtures("small")
def test_kary_rows_compare_the_decoders() -> None:
    found = tables(Settings(figures=("decoders",)), Fake())["kary"]
    assert len(found) == 2 * 2 * 3
    for row in found:
        k, epsilon, loss = int(str(row["k"])), float(str(row["epsilon"])), LOSSES.index(str(row["loss"]))
        means = {name: kary_mean("geometric", 30_000, k, epsilon, loss, d) for d, name in enumerate(DECODERS)}
        assert {name: row[name] for name in DECODERS} == pytest.approx(means)
        # In the made-up results each decoder is worse than the one before it.
        assert (row["krr_rival"], row["krappor_rival"]) == ("normalised", "standard")
        assert (row["krr_best"], row["krappor_best"]) == ("standard", "standard")
        assert row["krr_gain"] == pytest.approx(means["krr_projected"] - means["krr_normalised"])
        assert row["krappor_gain"] == pytest.approx(means["krappor_projected"] - means["krappor_standard"])
        assert row["difference"] == pytest.approx(means["krr_standard"] - means["krappor_standard"])
        # Two losses of variance 0.01 and correlation 1/2 differ with variance 0.01.
        for column in ("krr_gain_se", "krappor_gain_se", "difference_se"):
            assert row[column] == pytest.approx(0.1 / math.sqrt(199), rel=1e-6)


NEEDS: dict[str, tuple[set[tuple[str, int]], set[tuple[str, int, int]], set[str], set[tuple[str, int]]]] = {
    # figure: (distribution, n) of k-ary results; studies of lines; what varies there; privacy
    "geometric_ground_truth": (set(), set(), set(), set()),
    "decoders": ({("geometric", 30_000)}, set(), set(), set()),
    "l2_decoders": ({("geometric", 30_000)}, set(), set(), set()),
    "krr_vs_rappor": (
        {(name, n) for name in ("geometric", "dirichlet") for n in (100, 30_000)},
        *(set(), set(), set()),
    ),
    "orr_vs_rappor_open": (set(), {("open", 256, 10**6)}, {"best", "k=3"}, set()),
    "open_set_zoom": (set(), {("open", 256, 10**6)}, {"best", "k=3"}, set()),
    "orr_vs_rappor_closed": (set(), {("closed", 256, 10**6)}, {"best"}, set()),
    "closed_set_zoom": (set(), {("closed", 256, 10**6)}, {"best"}, set()),
    "open_set_params": (set(), {("open", 256, 10**6)}, {"best", "k=3", "k", "C", "h"}, set()),
    "closed_set_params": (set(), {("closed", 256, 10**6)}, {"best", "k", "C", "h"}, set()),
    "open_set_params_s4096": (set(), {("open", 4096, 10**6)}, {"best", "k", "C", "h"}, set()),
    "open_set_params_s4096_u1e8": (set(), {("open", 4096, 10**8)}, {"best", "k", "C", "h"}, set()),
    "open_set_zoom_s4096": (set(), {("open", 4096, 10**6), ("open", 4096, 10**8)}, {"best"}, set()),
    "privacy_at_n_open": (set(), set(), set(), {("open", 256)}),
    "privacy_at_n_closed": (set(), set(), set(), {("closed", 256)}),
    "privacy_at_n_open_s4096": (set(), set(), set(), {("open", 4096)}),
}


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("figure", NEEDS)
def test_only_what_a_figure_needs_is_computed(figure: str) -> None:
    kary, studies, vary, targets = NEEDS[figure]
    fake = Fake()
    found = tables(Settings(figures=(figure,)), fake)
    check(found)
    assert {(row["distribution"], row["n"]) for row in found["kary"]} == kary
    assert {(row["alphabet"], row["S"], row["n"]) for row in found["lines"]} == studies
    assert {row["vary"] for row in found["lines"]} == vary
    assert {(row["alphabet"], row["S"]) for row in found["privacy"]} == targets
    assert {(row["S"], row["n"]) for row in found["baselines"]} == {(size, n) for _, size, n in studies}
    asked = [task for task in fake.asked if isinstance(task, KaryTask)]
    assert {(name, task.n) for task in asked for name in task.distributions} == kary
    alphabets = {(task.cell.alphabet, task.cell.symbols) for task in fake.regressions()}
    assert alphabets == targets | {(alphabet, size) for alphabet, size, _ in studies}


def test_every_figure_is_known() -> None:
    everything = {"geometric_ground_truth", *experiments._KARY, *experiments._LINES, *experiments._PRIVACY}
    assert everything == {*NEEDS, "l2_krr_vs_rappor", "all_decoders", "all_krr_vs_rappor"}
    for first, second in (("krr_vs_rappor", "l2_krr_vs_rappor"), ("all_decoders", "all_krr_vs_rappor")):
        assert experiments._KARY[first] == experiments._KARY[second]
    assert len(set(experiments._KARY["all_decoders"])) == 12 * 5


@pytest.mark.usefixtures("small")
def test_figures_that_share_a_study_share_its_numbers() -> None:
    """With the parameter study, the lines of the plain figure are the same; nothing is asked for twice."""
    fake = Fake()
    both = tables(Settings(figures=("open_set_zoom", "open_set_params", "decoders", "l2_decoders")), fake)
    check(both)
    plain = tables(Settings(figures=("open_set_zoom",)), Fake())
    assert [row for row in both["lines"] if row["vary"] in ("best", "k=3")] == plain["lines"]
    keys = [key for task in fake.asked if not isinstance(task, ScreenTask) for key in task.keys]
    assert len(set(keys)) == len(keys)


# And once for real.


@pytest.mark.slow
def test_a_small_real_run_is_the_same_on_any_number_of_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grid_search, "COHORTS", (1, 16))
    monkeypatch.setattr(grid_search, "cells", lambda symbols: (16, 64))
    monkeypatch.setattr(grid_search, "hashes", lambda symbols: (1,))
    monkeypatch.setattr(grid_search, "LINE_EPSILONS", (1.25, 4.0))
    monkeypatch.setattr(privacy, "PRIVACY_USERS", {256: (10**6,)})
    monkeypatch.setattr(privacy, "PRIVACY_LOSSES", {256: (0.2,)})
    monkeypatch.setattr(experiments, "KARY_SIZES", (2, 16))
    monkeypatch.setattr(experiments, "KARY_EPSILONS", (0.5, 2.0))
    settings = Settings(seed=3, figures=("decoders", "orr_vs_rappor_closed", "privacy_at_n_closed"))
    monkeypatch.setattr(Settings, "race", lambda self, symbols: Race(margin=1.3, most=2, samples=3))
    runs = []
    for processes in (1, 2):
        path = tmp_path / f"{processes}.sqlite"
        with ResultCache(path, seed=3) as store, Results(store, processes=processes) as results:
            runs.append(tables(settings, results))
            assert results.computed > 0
    assert runs[0] == runs[1]
    check(runs[0])
    with ResultCache(tmp_path / "1.sqlite", seed=3) as store, Results(store, processes=1) as results:
        assert tables(settings, results) == runs[0]
        assert results.computed == 0, "everything was there"

    kary, lines, answers = (runs[0][name] for name in ("kary", "lines", "privacy"))
    assert len(kary) == 2 * 2 * 3
    assert len(lines) == 2 * 4
    assert {int(str(row["contenders"])) for row in lines if str(row["mechanism"]).startswith("k-")} == {1}
    for row in lines:
        numbers = [float(str(row[name])) for name in ("median_low", "low", "median", "high", "median_high")]
        assert numbers == sorted(numbers)
        assert 0 < numbers[0] < numbers[-1] < 2
    best = {(row["mechanism"], row["epsilon"]): float(str(row["median"])) for row in lines}
    assert all(best[name, 4.0] < best[name, 1.25] for name in ("O-RR", "O-RAPPOR", "k-RR", "k-RAPPOR"))
    assert [row["reached"] for row in answers] == ["yes"] * 4
    for row in answers:
        low, epsilon, high = (float(str(row[name])) for name in ("epsilon_low", "epsilon", "epsilon_high"))
        assert low < epsilon < high
        assert 0.1 < epsilon < 10
    for row in runs[0]["screen"]:
        assert float(str(row["predicted"])) == pytest.approx(float(str(row["measured"])), rel=0.2)
