"""The parts of a plan: closed forms against the exact ones, the search for a crossing, draws against simulations."""

from math import inf
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.decoders.simplex import project, project_rows
from deniable.lab.streams import normal_draws
from deniable.matrices import design_of
from deniable.planner.catalogue import families, paper_families
from deniable.planner.measure import Effort, LossSample
from deniable.planner.options import FAMILIES, Option, PlanLimits
from deniable.planner.shapes import family, shapes_of
from deniable.planner.solve import Outside, crossing
from deniable.planner.visible import smallest_visible
from deniable.survey import Alphabet, Survey
from deniable.theory import Classes, ErrorModel, Losses, expected_loss, support_model
from deniable.theory.cohorts import harmonic_means

SIZES = (5, 24, 100)


def survey_of(option: Option, size: int, epsilon: float, *, is_open: bool) -> Survey:
    alphabet = Alphabet.open() if is_open else Alphabet.closed(size)
    return option.survey(alphabet, epsilon, name="", seed=bytes(16))


@pytest.mark.parametrize("is_open", [False, True], ids=["closed", "open"])
@pytest.mark.parametrize("size", SIZES)
def test_variances_are_those_of_the_exact_covariance(size: int, is_open: bool) -> None:
    """To 1e-9 where they are closed forms; cohorts are averages over hash functions, which one draw has not."""
    n = 10**6
    names = list(range(size)) if is_open else None
    limits = PlanLimits(max_cohorts=256)
    for shape in (family(size)[0], family(size)[-2], family(size)[-1]):
        for epsilon in (0.5, 2.0, 5.0):
            for group in families(size, is_open=is_open, limits=limits):
                option, _ = group.best(epsilon, n, shape.classes, 2.0, weighted=False)
                survey = survey_of(option, size, epsilon, is_open=is_open)
                mine = option.model(epsilon, n).at(shape.p).sum() / n
                exact = dn.theory.l2_risk(survey, shape.p, n, symbols=names)
                loose = group.name.startswith("O-") or (group.name == "HR" and option.parameters["blocks"] > 1)
                assert mine == pytest.approx(exact, rel=0.12 if loose else 1e-9)


@pytest.mark.parametrize("is_open", [False, True], ids=["closed", "open"])
@pytest.mark.parametrize("name", ["uniform", "geometric", "zipf", "zipf:2", "even", "spike"])
def test_weighted_cells_cost_what_the_closed_form_says(name: str, is_open: bool) -> None:
    """Against the information matrix of these very cohorts; the form without weights is off by up to 20 % here."""
    size, n = 64, 10**6
    shape = shapes_of(name, size)[0]
    (group,) = [f for f in families(size, is_open=is_open, limits=PlanLimits(max_cohorts=512)) if f.name == "O-RR"]
    for epsilon in (1.0, 2.5, 5.0):
        option, _ = group.best(epsilon, n, shape.classes, 1.0)
        survey = survey_of(option, size, epsilon, is_open=is_open)
        design = design_of(survey, list(range(size)) if is_open else None, background=is_open)
        miss, r = float(survey.mechanism.miss), float(survey.mechanism.hit - survey.mechanism.miss)
        m = miss + r * design.forward(np.append(shape.p, 0.0) if is_open else shape.p)
        information = design.weighted_gram(r**2 / (m * survey.cohorts))
        # Shares add up to one, which cells of one-hot answers know: p p' less than the inverse.
        exact = np.diag(np.linalg.pinv(information))[:size] - shape.p**2
        mine = option.model(epsilon, n, shape.classes).at(shape.p)
        assert np.sqrt(mine).sum() == pytest.approx(np.sqrt(exact).sum(), rel=0.04)


def test_few_decoded_surveys_say_what_many_do() -> None:
    """The real loss is a bent function of the quick one, with noise; 40 pairs and 2000 quick ones find its quantile."""
    rng = dn.lab.generator(2)
    quick = np.exp(0.1 * rng.standard_normal((3, 2000)))
    bent = 1.3 * np.exp(2.5 * np.log(quick) + 2 * np.log(quick) ** 2 + 0.05 * rng.standard_normal((3, 2000)))
    sample = LossSample(quick, quick[:, :40], bent[:, :40], 0.3)
    for metric, row in zip(("l1", "l2", "max"), bent, strict=True):
        mean, mean_error, bound, bound_error = sample.expected(metric, 0.9)
        assert mean == pytest.approx(row.mean(), abs=4 * mean_error)
        assert bound == pytest.approx(np.quantile(row, 0.9), abs=4 * bound_error)
        assert bound_error < 0.03 * bound
    assert LossSample(quick, quick[:, :1], bent[:, :1], 0.3).expected("l1", 0.9)[3] > sample.expected("l1", 0.9)[3]


@pytest.mark.parametrize("is_open", [False, True], ids=["closed", "open"])
def test_every_option_is_a_survey_with_a_report_of_its_length(is_open: bool) -> None:
    found = families(40, is_open=is_open, limits=PlanLimits(max_cohorts=64))
    assert [group.name for group in found] == [name for name in FAMILIES if not is_open or name.startswith("O-")]
    for group in found:
        for place in range(0, len(group), max(1, len(group) // 25)):
            option = Option(group, place)
            survey = survey_of(option, 40, 1.0, is_open=is_open)
            assert survey.title.startswith(group.name)
            head = 9 + ((survey.cohorts - 1).bit_length() + 7) // 8
            assert option.report_bytes == head + survey.mechanism.payload_bytes
            assert all(str(value) in option.words for name, value in option.parameters.items() if name != "hashes")


def test_options_near_the_peak_of_least_squares_are_none() -> None:
    """Where C (k - 1) is about S least squares has its worst error; at 256 symbols and k = 2 that is C = 256."""
    even = Classes.of(dn.lab.uniform(256))
    (group,) = [f for f in families(256, is_open=False, limits=PlanLimits()) if f.name == "O-RR"]
    scores = group.model(group.parameters, 4.0, 1e6, even).score(even, 1.0)
    two = group.parameters["cells"] == 2
    by_cohorts = dict(zip(group.parameters["cohorts"][two].tolist(), scores[two].tolist(), strict=True))
    assert by_cohorts[64] == by_cohorts[256] == inf
    assert np.isfinite(by_cohorts[512])


def test_the_width_of_a_subset_is_searched() -> None:
    """The textbook's w is not always the best: at epsilon 5.5 and 256 symbols k-RR beats sets of 2."""
    even = Classes.of(dn.lab.uniform(256))
    every = {f.name: f for f in families(256, is_open=False, limits=PlanLimits())}
    assert every["k-RR"].best(5.5, 1e6, even, 2.0)[1] < every["SS"].best(5.5, 1e6, even, 2.0)[1]
    assert every["SS"].best(1.0, 1e6, even, 2.0)[0].parameters == {"size": 69}


def test_the_papers_grid_is_the_papers() -> None:
    every = {f.name: f for f in paper_families(256, is_open=False)}
    assert list(every) == ["k-RR", "k-RAPPOR", "O-RR", "O-RAPPOR"]
    assert every["O-RR"].parameters["cohorts"].max() == 1024
    assert set(every["O-RR"].parameters["cells"].tolist()) == {2, 4, 8, 16, 32, 64, 128}


@pytest.mark.parametrize("power", [0.2, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("start", [0.01, 1.0, 90.0])
def test_a_crossing_is_found_from_anywhere(power: float, start: float) -> None:
    found = crossing(lambda x: 3 * x**-power, 3 * 7.0**-power, low=0.01, high=100, start=start)
    assert 7.0 <= found * (1 + 1e-9) <= 7.0 * 1.005


def test_a_crossing_at_a_step_is_on_the_side_that_meets_the_target() -> None:
    assert crossing(lambda x: 2.0 if x < 5 else 0.5, 1.0, low=0.1, high=100, start=1) == pytest.approx(5, rel=0.003)
    assert crossing(lambda x: inf if x < 5 else 0.5, 1.0, low=0.1, high=100, start=50) == pytest.approx(5, rel=0.003)


def test_a_target_outside_the_range_is_told_with_the_nearest_value() -> None:
    with pytest.raises(Outside) as above:
        crossing(lambda x: 1 / x, 1e-3, low=0.1, high=100, start=1)
    assert (above.value.value, above.value.below) == (0.01, False)
    with pytest.raises(Outside) as below:
        crossing(lambda x: 1 / x, 1e3, low=0.1, high=100, start=1)
    assert (below.value.value, below.value.below) == (10.0, True)
    with pytest.raises(Outside):
        crossing(lambda x: 1 + 1e-6 / x, 0.999, low=0.1, high=100, start=1)


def test_rows_are_projected_as_one_vector_is() -> None:
    rows = dn.lab.generator(0).standard_normal((20, 33)) / 5
    assert project_rows(rows) == pytest.approx(np.stack([project(row) for row in rows]), abs=1e-12)


def test_quantiles_of_few_draws_are_nearly_those_of_many() -> None:
    z = dn.lab.generator(1).standard_normal((40_000, 512))
    rows = np.stack([np.abs(z[:2000]).sum(axis=1), np.sqrt((z[:2000] ** 2).sum(axis=1)), np.abs(z[:2000]).max(axis=1)])
    for metric in ("l1", "l2", "max"):
        many, few = Losses(rows), Losses(rows[:, :100])
        assert few.quantile(metric, 0.9) == pytest.approx(many.quantile(metric, 0.9), rel=0.02)
        assert few.quantile(metric, 0.9) > few.mean(metric)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("survey", "name"),
    [
        (dn.krr(symbols=2, epsilon=1), "k-RR"),
        (dn.krr(symbols=7, epsilon=2), "k-RR"),
        (dn.subset(symbols=30, epsilon=1, size=8), "SS"),
        (dn.oue(symbols=30, epsilon=1), "OUE"),
        (dn.krappor(symbols=5, epsilon=1), "k-RAPPOR"),
        (dn.projective(symbols=30, epsilon=1), "PGR"),
        (dn.projective(symbols=3, epsilon=1, order=2, dimension=3), "PGR"),
        (dn.orr(symbols=30, epsilon=1, cells=4, cohorts=256, seed=bytes(16)), "O-RR"),
    ],
    ids=lambda value: str(value),
)
def test_draws_have_the_losses_of_simulated_surveys(survey: Survey, name: str) -> None:
    """Means over 1500 simulated surveys, whose standard error is at most 2 %, and 4000 draws: within 8 %."""
    size, n = len(survey.alphabet), 50_000
    (group,) = [f for f in families(size, is_open=False, limits=PlanLimits()) if f.name == name]
    with_ = {
        "size": getattr(survey.mechanism, "size", 0),
        "cells": survey.cells,
        "cohorts": survey.cohorts,
        "hashes": 1,
    }
    with_ |= {"order": getattr(survey.encoding, "order", 0), "dimension": getattr(survey.encoding, "dimension", 0)}
    fits = [all(values[i] == with_[key] for key, values in group.parameters.items()) for i in range(len(group))]
    option = Option(group, fits.index(True))
    for shape in (shapes_of("uniform", size)[0], shapes_of("zipf:2", size)[0]):
        rng = dn.lab.generator(5)
        repeats = 150 if name in ("SS", "O-RR") else 1500
        tallies = [dn.simulate(survey, shape.p, n, rng) for _ in range(repeats)]
        found = np.stack([e.probabilities for e in dn.decode_all(tallies, constraint=dn.Projected())])
        error = np.abs(found - shape.p)
        normals = normal_draws(size, max(10, min(2000, 40_000 // size)))
        drawn = expected_loss(option.model(survey.epsilon, n), shape.p, n, dn.Inversion(), normals=normals).decoded
        assert drawn is not None
        assert drawn.mean("l1") == pytest.approx(error.sum(axis=1).mean(), rel=0.08)
        assert drawn.quantile("l1", 0.9) == pytest.approx(np.quantile(error.sum(axis=1), 0.9), rel=0.1)
        assert drawn.mean("max") == pytest.approx(error.max(axis=1).mean(), rel=0.08)


def test_nothing_shows_where_even_everyone_would_not() -> None:
    assert smallest_visible(support_model(0.6, 0.5), 3, 100) == inf
    assert smallest_visible(ErrorModel(1e9, 1.0), 100, 100) == inf
    assert smallest_visible(ErrorModel(3.0, 1.0), 30, 100) == inf


def test_shapes_are_distributions_and_their_classes_add_up() -> None:
    for size in (2, 3, 10, 257):
        for shape in family(size):
            assert shape.p.sum() == pytest.approx(1.0)
            assert (shape.classes.values * shape.classes.counts).sum() == pytest.approx(1.0)
            assert shape.classes.counts.sum() == size
    assert shapes_of("even:3", 4)[0].p.tolist() == [1 / 3] * 3 + [0.0]
    assert shapes_of("spike:0.7", 4)[0].p[0] == 0.7
    assert shapes_of(np.full(4, 0.25), 4)[0].name == "as given"


@pytest.mark.parametrize(
    "question",
    [{"symbols": 1000, "epsilon": 0.01, "shape": "uniform"}, {"candidates": 3000, "epsilon": 12, "shape": "zipf:1"}],
)
def test_two_people_are_planned_for_without_a_warning(question: dict[str, Any]) -> None:
    """A mechanism without any error, and cells that hold far more than a hit, divided by zero."""
    assert dn.plan(n=2, **question).epsilon == question["epsilon"]


def test_a_harmonic_mean_is_never_above_the_arithmetic_one() -> None:
    """Also where the integral ends before its first node."""
    cells = np.array([2, 4, 64])
    classes = Classes.of(np.append(0.5, np.full(2999, 0.5 / 2999)))
    for epsilon in (0.5, 3.0, 12.0):
        miss = 1 / (np.exp(epsilon) + cells - 1)
        r, met = (np.exp(epsilon) - 1) * miss, 1 / cells
        empty, _ = harmonic_means(cells, miss, r, met, classes)
        assert np.all(empty <= miss + r * met)
        assert np.all(empty >= miss)


@pytest.mark.parametrize("rows", [1, 3, 100])
@pytest.mark.parametrize("size", [3, 10, 100])
def test_a_surrogate_takes_any_number_of_surveys(rows: int, size: int) -> None:
    noisy = 1 / size + np.random.default_rng(0).normal(0, 0.3 / size, (rows, size))
    found = dn.EmpiricalBayes().surrogate(noisy, (0.3 / size) ** 2, 0.0, quick=True)
    assert found.shape == noisy.shape
    assert found.sum(axis=1) == pytest.approx(np.ones(rows))


def test_a_plan_follows_the_decoder(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the default makes of estimates it says itself: another surrogate, and another epsilon is planned."""
    asked: dict[str, Any] = {"n": 5_000, "symbols": 64, "max_l1": 0.5, "shape": "zipf"}
    monkeypatch.setattr("deniable.planner.choices.effort_for", lambda *question: Effort(0, 60, 0, 1e9))
    before = dn.plan(**asked).epsilon
    monkeypatch.setattr(dn.EmpiricalBayes, "surrogate", dn.Inversion.surrogate)
    assert dn.plan(**asked).epsilon > 1.1 * before


def test_expected_losses_are_those_of_the_decoder_that_is_named() -> None:
    p, model, normals = dn.lab.zipf(64, 1), ErrorModel(1.0, 1.0), normal_draws(64, 600)
    by_default, projected = (
        expected_loss(model, p, 5_000, one, normals=normals).l1 for one in (dn.EmpiricalBayes(), dn.Inversion())
    )
    assert projected > 1.1 * by_default
