"""Diagnostics: what each number is, by hand where that can be done, and the sentences."""

import numpy as np
import pytest

import deniable as dn
from deniable.decoders import ChiSquare, Diagnostics
from deniable.decoders.planted import influence, optimal_places
from deniable.survey import Survey
from tests.surveys import LARGE, named, symbols_of


def decoded(survey: Survey, n: int = 20_000, **options: object) -> dn.Estimate:
    tally = dn.simulate(survey, dn.lab.zipf(40, 1), n, np.random.default_rng(3), **named(survey, 40))
    if survey.symbols is None:
        options["candidates"] = symbols_of(survey, 40)
    return dn.decode(tally, **options)  # type: ignore[call-overload,no-any-return]


@pytest.mark.parametrize("survey", LARGE.values(), ids=LARGE.keys())
def test_degrees_of_freedom(survey: Survey) -> None:
    found = decoded(survey).diagnostics
    unknowns = 40 + (survey.symbols is None)
    bits = not survey.mechanism.one_column
    counts = survey.cohorts * (survey.columns - (not bits))
    if survey.title == "SS" or counts == unknowns - 1:
        assert found.fit is None
    else:
        assert found.fit is not None
        assert found.fit.degrees == counts - (unknowns - 1)
        assert found.fit.p_value > 1e-4
    assert (found.cohorts is None) == (survey.cohorts == 1)
    assert found.rank == unknowns
    assert found.condition >= 1
    assert found.alarms == ()


def test_cohort_sizes_by_hand() -> None:
    survey = dn.orr(epsilon=2, cells=2, cohorts=3, seed=bytes(16))
    tally = dn.Tally(survey, [[10, 10], [20, 10], [20, 20]])
    found = dn.decode(tally, candidates=["a"]).diagnostics.cohorts
    assert found is not None
    assert found.degrees == 2
    assert found.statistic == pytest.approx((100 + 0 + 100) / 30)
    assert found.p_value == pytest.approx(np.exp(-200 / 30 / 2), rel=0.1)


def test_the_fit_of_krappor_is_the_number_of_ones() -> None:
    """One count more than there are free masses: the square of (ones - expected) / standard deviation."""
    survey = dn.krappor(symbols=20, epsilon=2)
    tally = dn.simulate(survey, dn.lab.zipf(20, 1), 10_000, np.random.default_rng(2))
    hit, miss = float(survey.mechanism.hit), float(survey.mechanism.miss)
    z = tally.counts.sum() - tally.n * (hit + 19 * miss)
    z /= np.sqrt(tally.n * (hit * (1 - hit) + 19 * miss * (1 - miss)))
    found = dn.decode(tally).diagnostics.fit
    assert found is not None
    assert found.degrees == 1
    assert found.statistic == pytest.approx(z**2, rel=0.02)


@pytest.mark.parametrize("name", ["krr", "krappor", "hadamard", "hadamard-blocks", "projective", "subset"])
def test_influence_of_block_designs_is_what_planted_reports_do(name: str) -> None:
    """Replace one report in a hundred by the one that serves a symbol best, on average over what it replaces."""
    estimate = decoded(LARGE[name])
    survey, best = estimate.tally.survey, 0.0
    columns = estimate.tally.counts / estimate.n
    design, r = estimate.design, float(survey.mechanism.hit - survey.mechanism.miss)
    for x in range(40):
        # The estimate is affine in the columns; a planted report has one column, or for bits the symbol's own.
        rows = np.stack([design.invert(np.eye(survey.columns)[y][None])[x] for y in range(survey.columns)])  # type: ignore[attr-defined]
        planted = rows.max() if survey.mechanism.one_column else float(np.maximum(rows, 0).sum())
        best = max(best, 0.01 * (planted - float(rows @ columns[0])) / r)
    assert estimate.diagnostics.influence == pytest.approx(best)


@pytest.mark.parametrize("per_cohort", [True, False])
def test_influence_over_cohorts_is_reached_by_planting(per_cohort: bool) -> None:
    """Planting where the diagnostics say moves the estimate by what they say, and no other way moves it more."""
    survey = LARGE["orr-closed"]
    decoder = dn.LeastSquares(per_cohort=per_cohort)
    honest = decoded(survey, 99_000, decoder=decoder, constraint=dn.Unconstrained())
    said, _ = influence(honest.fit, 0.01)
    factor, rng, gains = honest.design.factor, np.random.default_rng(0), []
    for x in range(40):
        weights = honest.design.forward(factor.solve(np.eye(40)[x]))
        for how in ("spread", "best cohort"):
            counts = honest.tally.counts.copy()
            cells = weights.argmax(axis=1)
            share = np.full(16, 1 / 16) if how == "spread" else np.eye(16)[weights.max(axis=1).argmax()]
            for c, more in enumerate(rng.multinomial(1000, share)):
                counts[c, cells[c]] += more
            bad = dn.decode(dn.Tally(survey, counts), decoder=decoder, constraint=dn.Unconstrained())
            gains.append(bad.raw[x] - honest.raw[x])
    assert max(gains) <= said * 1.02
    assert max(gains) >= said * 0.9


def test_planting_is_optimal() -> None:
    """Against a search over many ways to share out the planted reports."""
    rng = np.random.default_rng(1)
    gains, reports = rng.random((3, 6)), rng.integers(50, 200, 6)
    honest, placed = 0.95 * reports, optimal_places(gains, reports, 0.05)
    assert placed.sum(axis=1) == pytest.approx(0.05 * reports.sum())
    best = (gains * placed / (honest + placed)).sum(axis=1)
    shares = rng.dirichlet(np.full(6, 0.5), 20_000) * 0.05 * reports.sum()
    for row, found in zip(gains, best, strict=True):
        tried = (row * shares / (honest + shares)).sum(axis=1).max()
        assert tried <= found * (1 + 1e-9)
        assert tried > 0.97 * found


def test_bits_of_planted_reports_count_together() -> None:
    found = decoded(LARGE["orappor-closed"]).diagnostics
    single = decoded(LARGE["krappor"]).diagnostics
    assert found.influence > single.influence


def test_twins_are_named() -> None:
    survey = dn.orr(epsilon=3, cells=2, cohorts=1, seed=bytes(16))
    found = dn.decode(dn.Tally(survey, [[700, 300]]), candidates=["a", "b", "c"]).diagnostics
    assert found.twins == (("a", "b"),)
    assert found.fit is None


def test_what_it_says() -> None:
    good = ChiSquare(90.0, 96, 0.66)
    assert str(good) == "chi-square 90 on 96 degrees of freedom, p = 0.66"
    bad = ChiSquare(500.0, 96, 1e-50)
    calm = Diagnostics(17, 3.25, (), good, good, 0.033)
    assert calm.alarms == ()
    assert str(calm).splitlines() == [
        "rank 17, condition 3.25",
        f"fit: {good}",
        f"cohort sizes: {good}",
        "influence: 1 % planted reports can raise one symbol by up to 3.3 points of mass; no check would notice",
    ]
    seen = Diagnostics(17, 3.25, (), good, None, 0.033, floor=good, noticed=0.999, careful=0.02, careful_noticed=0.1)
    assert str(seen).splitlines()[2:] == [
        f"below zero: {good}",
        "influence: 1 % planted reports can raise one symbol by up to 3.3 points of mass; a check would almost surely "
        "notice (2 points if made to look ordinary: a check would notice with probability 0.1)",
    ]
    loud = Diagnostics(17, 3.25, (), bad, bad, 0.033, floor=bad)
    assert [alarm.split(" (")[0] for alarm in loud.alarms] == [
        "The reports do not fit these candidates",
        "Cohorts differ in size more than chance allows",
        "Shares are below zero by more than chance allows",
    ]
    assert str(loud).endswith(loud.alarms[2])
    assert loud.alarms[2].endswith("): reports were planted for other symbols, or come from another survey.")
    assert "heavy answers are not among them, or reports were planted" in loud.alarms[0]
    assert "clients do not draw them alike, or reports were planted or lost" in loud.alarms[1]


def test_large_systems_are_not_tested(monkeypatch: pytest.MonkeyPatch) -> None:
    import deniable.decoders.goodness as room
    import deniable.decoders.planted as attacks

    monkeypatch.setattr(room, "_MOST_UNKNOWNS", 30)
    assert decoded(LARGE["orr-closed"]).diagnostics.fit is None
    monkeypatch.undo()
    monkeypatch.setattr(room, "_MOST_WORK", 100)
    assert decoded(LARGE["orappor-closed"]).diagnostics.fit is None
    full = decoded(LARGE["orr-closed"])
    monkeypatch.setattr(attacks, "_MOST_STEPS", 16 * (40 + 8) * 5)  # the five largest symbols
    assert 0 < full.diagnostics.influence <= decoded(LARGE["orr-closed"]).diagnostics.influence


def test_too_few_cohorts_to_tell_candidates_from_what_is_not_listed() -> None:
    """Ten candidates in one cohort of thirty cells: an unlisted answer is one of them for all that can be seen."""
    names, rng = [f"c{i}" for i in range(10)], np.random.default_rng(0)
    for cohorts, hidden in ((1, 10 / 30), (2, 10 / 900)):
        survey = dn.orr(epsilon=5, cells=30, cohorts=cohorts, seed=bytes(16))
        tally = dn.simulate(survey, [0.6, 0.4], 10**6, rng, symbols=["c0", "elsewhere"])
        estimate = dn.decode(tally, candidates=names)
        found = estimate.diagnostics
        assert found.hidden == pytest.approx(hidden)
        told = [alarm for alarm in found.alarms if alarm.startswith("Too few cohorts")]
        assert len(told) == (hidden > 0.05)
        if cohorts == 1:
            assert not estimate.significant().any()
            assert estimate.intervals(simultaneous=True)[0, 0] == 0.0
    whole = dn.decode(
        dn.Tally(dn.orr(epsilon=5, cells=30, cohorts=1, seed=bytes(16)), [[9] * 30]), candidates=names, complete=True
    )
    assert whole.diagnostics.hidden == 0.0
    screened = dn.decode(tally, candidates=names, decoder=dn.Screening())
    assert screened.diagnostics.hidden == pytest.approx(10 / 900)
    said = Diagnostics(17, 3.25, (), None, None, 0.033, hidden=1 / 3).alarms
    assert said == (
        "Too few cohorts to tell candidates from what is not listed: an answer that is not may have all cells of a "
        "candidate (probability 0.33), so none is marked. Ask with more cohorts, or decode as complete if nothing else "
        "can be answered.",
    )
