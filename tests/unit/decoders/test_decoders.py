"""Decoders against hand-checked numbers and plain dense algebra, and what they refuse."""

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import deniable as dn
from deniable.decoders import least_squares
from deniable.decoders.base import unbias
from deniable.decoders.least_squares import conjugate_gradients
from deniable.decoders.nonprivate import empirical, minimax
from deniable.matrices import design_of, lookup
from deniable.survey import Survey
from tests.surveys import LARGE, SEED, named, symbols_of

LN3 = "1.09861228866810969139524523692252570464749055782274945173469433"


def hand_tally() -> dn.Tally:
    """SCIENCE's worked example: e**epsilon = 3, five symbols, a thousand reports."""
    return dn.Tally(dn.krr(symbols=5, epsilon=LN3), [[420, 210, 160, 120, 90]])


def test_hand_checked_krr() -> None:
    raw = dn.decode(hand_tally(), constraint=dn.Unconstrained())
    np.testing.assert_allclose(raw.probabilities, [97 / 100, 47 / 200, 3 / 50, -2 / 25, -37 / 200], atol=1e-14)
    projected = dn.decode(hand_tally(), constraint=dn.Projected())
    np.testing.assert_allclose(projected.probabilities, [347 / 400, 53 / 400, 0, 0, 0], atol=1e-14)
    np.testing.assert_allclose(projected.raw, raw.raw)
    normalized = dn.decode(hand_tally(), constraint=dn.Normalized())
    np.testing.assert_allclose(normalized.probabilities, [194 / 253, 47 / 253, 12 / 253, 0, 0], atol=1e-14)


def test_hand_checked_errors_and_intervals() -> None:
    estimate = dn.decode(hand_tally())
    np.testing.assert_allclose(estimate.standard_errors[:2], [0.05463, 0.04508], atol=5e-6)
    np.testing.assert_allclose(estimate.intervals(0.95)[0], [0.8621, 1.0795], atol=5e-5)
    np.testing.assert_allclose(estimate.intervals(0.95)[1], [0.1480, 0.3280], atol=5e-5)
    wide = estimate.intervals(0.95, simultaneous=True)
    np.testing.assert_allclose(wide, estimate.intervals(1 - 0.05 / 5))
    with pytest.raises(dn.DecodeError, match=r"level must be between 0 and 1, got 1\.5"):
        estimate.intervals(1.5)


def test_intervals_at_the_edges() -> None:
    survey = dn.krr(symbols=2, epsilon=1)
    edge = dn.decode(dn.Tally(survey, [[10, 0]])).intervals(0.95)
    assert np.isfinite(edge).all()
    assert (edge[:, 0] < edge[:, 1]).all()


def test_krappor_inversion_is_the_papers_formula() -> None:
    survey = dn.krappor(symbols=3, epsilon=2)
    tally = dn.Tally(survey, [[700, 400, 350]], [1000])
    e = np.exp(1.0)
    expected = (e + 1) / (e - 1) * np.array([0.7, 0.4, 0.35]) - 1 / (e - 1)
    found = dn.decode(tally, decoder=dn.Inversion(), constraint=dn.Unconstrained()).probabilities
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_the_realised_probabilities_are_used() -> None:
    """At 40 nats the realised epsilon is 39.992: the nominal formula would be off by far more than rounding."""
    survey = dn.warner(epsilon=40)
    keep, other = survey.mechanism.hit, survey.mechanism.miss
    tally = dn.Tally(survey, [[2**61, 2**60]])
    exact = (2 / 3 - float(other)) / float(keep - other)
    assert dn.decode(tally, constraint=dn.Unconstrained()).probabilities[0] == pytest.approx(exact, rel=1e-15)


def dense(survey: Survey, size: int) -> npt.NDArray[np.float64]:
    """What E[counts] / reports is a linear function of: H, or the law itself where that is not hit or miss."""
    mechanism = survey.mechanism
    h = np.zeros((survey.cohorts, survey.columns, size))
    for cohort in range(survey.cohorts):
        for place, symbol in enumerate(symbols_of(survey, size)):
            cells = survey.encode(cohort, symbol)
            if mechanism.two_valued:
                h[cohort, list(cells), place] = 1
            else:
                h[cohort, :, place] = [weight / mechanism.span for weight in mechanism.weights(cells)]
    return h


def drawn(survey: Survey, n: int = 30_000, size: int = 40) -> tuple[dn.Tally, dict[str, Any]]:
    tally = dn.simulate(survey, dn.lab.geometric(size, size / 5), n, np.random.default_rng(9), **named(survey, size))
    return tally, {"candidates": symbols_of(survey, size), "complete": True} if survey.symbols is None else {}


@pytest.mark.parametrize("per_cohort", [True, False])
@pytest.mark.parametrize("survey", LARGE.values(), ids=LARGE.keys())
def test_least_squares_is_dense_least_squares(survey: Survey, per_cohort: bool) -> None:
    tally, candidates = drawn(survey)
    h = dense(survey, 40)
    miss, r = survey.mechanism.affine
    size = tally.reports[:, None] if per_cohort else tally.n / survey.cohorts
    u = (tally.counts / size - miss) / r
    expected = np.linalg.lstsq(h.reshape(-1, 40), u.ravel(), rcond=None)[0]
    decoder = dn.LeastSquares(per_cohort=per_cohort)
    found = dn.decode(tally, decoder=decoder, constraint=dn.Unconstrained(), **candidates)
    np.testing.assert_allclose(found.probabilities, expected, atol=1e-11)
    assert found.rank == np.linalg.matrix_rank(h.reshape(-1, 40)) == 40
    iterated = conjugate_gradients(
        design_of(survey, candidates.get("candidates")), h.reshape(-1, 40).T @ u.ravel(), 1e-12
    )
    assert iterated is not None
    np.testing.assert_allclose(iterated, expected, atol=1e-10)


@pytest.mark.parametrize(
    "survey",
    [
        dn.orr(epsilon=2, cells=3, cohorts=4, seed=SEED),
        dn.orr(symbols=40, epsilon=2, cells=4, cohorts=5, seed=SEED),
        dn.orappor(epsilon=2, cells=4, cohorts=3, hashes=2, seed=SEED),
    ],
)
def test_rank_deficient_systems_get_the_least_norm(survey: Survey) -> None:
    tally, candidates = drawn(survey)
    h = dense(survey, 40).reshape(-1, 40)
    hit, miss = float(survey.mechanism.hit), float(survey.mechanism.miss)
    u = ((tally.counts / tally.reports[:, None] - miss) / (hit - miss)).ravel()
    expected = np.linalg.pinv(h, rcond=1e-10) @ u
    found = dn.decode(tally, decoder=dn.LeastSquares(), constraint=dn.Unconstrained(), **candidates)
    np.testing.assert_allclose(found.probabilities, expected, atol=1e-9)
    assert found.rank == np.linalg.matrix_rank(h) < 40
    projector = np.linalg.pinv(h, rcond=1e-10) @ h
    estimable = np.abs(projector - np.eye(40)).max(axis=1) < 1e-8
    np.testing.assert_array_equal(np.isfinite(found.standard_errors), estimable)
    iterated = conjugate_gradients(design_of(survey, candidates.get("candidates")), h.T @ u, 1e-13)
    assert iterated is not None
    np.testing.assert_allclose(iterated, expected, atol=1e-8)


def test_identical_candidates_are_grouped_and_named() -> None:
    survey = dn.orr(epsilon=3, cells=2, cohorts=3, seed=SEED)
    names = [f"name {i}" for i in range(12)]
    tally = dn.simulate(survey, np.full(12, 1 / 12), 10**6, np.random.default_rng(0), symbols=names)
    estimate = dn.decode(tally, candidates=names, constraint=dn.Unconstrained())
    columns = {name: tuple(survey.encode(c, name)[0] for c in range(3)) for name in names}
    expected = {
        frozenset(n for n in names if columns[n] == column)
        for column in columns.values()
        if list(columns.values()).count(column) > 1
    }
    assert {frozenset(group.symbols) for group in estimate.groups} == expected
    for group in estimate.groups:
        members = [names.index(str(s)) for s in group.symbols]
        assert np.isinf(estimate.standard_errors[members]).all()
        assert group.probability == pytest.approx(estimate.raw[members].sum())
        np.testing.assert_allclose(estimate.raw[members], estimate.raw[members[0]])


def test_the_sum_of_a_group_has_a_finite_error() -> None:
    survey = dn.orr(epsilon=3, cells=8, cohorts=1, seed=SEED)
    names = [f"name {i}" for i in range(12)]
    tally = dn.simulate(survey, np.full(12, 1 / 12), 10**6, np.random.default_rng(0), symbols=names)
    estimate = dn.decode(tally, candidates=names, complete=True)
    assert estimate.groups
    assert all(0 < group.standard_error < 0.01 for group in estimate.groups)
    alone = set(names).difference(*(group.symbols for group in estimate.groups))
    for name in alone:
        assert np.isfinite(estimate.standard_errors[names.index(name)])


def test_empty_cohorts_are_left_out() -> None:
    survey = LARGE["orr-closed"]
    tally, _ = drawn(survey)
    counts, reports = tally.counts.copy(), tally.reports.copy()
    counts[3], reports[3] = 0, 0
    part = dn.Tally(survey, counts, reports)
    estimate = dn.decode(part, constraint=dn.Unconstrained())
    h = np.delete(dense(survey, 40), 3, axis=0).reshape(-1, 40)
    hit, miss = float(survey.mechanism.hit), float(survey.mechanism.miss)
    u = (np.delete(counts, 3, axis=0) / np.delete(reports, 3)[:, None] - miss) / (hit - miss)
    np.testing.assert_allclose(estimate.raw, np.linalg.lstsq(h, u.ravel(), rcond=None)[0], atol=1e-11)
    assert np.isfinite(estimate.standard_errors).all()


def test_one_report_can_be_decoded() -> None:
    for name, survey in LARGE.items():
        tally, candidates = drawn(survey, n=1)
        for decoder in (dn.LeastSquares(), dn.Likelihood()):
            p = dn.decode(tally, decoder=decoder, **candidates).probabilities
            assert p.sum() == pytest.approx(1), name


def test_decoding_together_is_decoding_apart() -> None:
    survey = LARGE["orr-closed"]
    p, rng = dn.lab.zipf(40, 1), np.random.default_rng(3)
    tallies = [dn.simulate(survey, p, n, rng) for n in (10**3, 10**4, 10**5)]
    for decoder in (dn.LeastSquares(), dn.Likelihood()):
        together = dn.decode_all(tallies, decoder=decoder)
        for tally, estimate in zip(tallies, together, strict=True):
            np.testing.assert_allclose(
                estimate.probabilities, dn.decode(tally, decoder=decoder).probabilities, atol=1e-9
            )
    assert dn.decode_all([]) == []


def test_surveys_that_differ_in_epsilon_share_the_factorisation() -> None:
    shape: dict[str, Any] = {"symbols": 40, "cells": 8, "cohorts": 16, "seed": SEED}
    a, b = dn.orr(epsilon=1, **shape), dn.orr(epsilon=5, **shape)
    assert design_of(a) is design_of(b)
    assert design_of(a).factor is design_of(b).factor
    tallies = [dn.simulate(s, dn.lab.uniform(40), 1000, np.random.default_rng(0)) for s in (a, b)]
    assert [e.digest for e in dn.decode_all(tallies)] == [a.digest, b.digest]


def test_what_decode_refuses() -> None:
    krr, orr = dn.krr(symbols=3, epsilon=1), dn.orr(epsilon=1, cells=4, cohorts=2, seed=SEED)
    full = dn.Tally(orr, [[1, 1, 1, 1], [1, 1, 1, 1]])
    with pytest.raises(dn.DecodeError, match="tally must hold at least one report, got none"):
        dn.decode(dn.Tally(krr))
    with pytest.raises(dn.DecodeError, match="candidates must be given for an open alphabet: the symbols to look for"):
        dn.decode(full)
    with pytest.raises(
        dn.DecodeError, match="candidates must not be given for a closed alphabet; its symbols are the candidates"
    ):
        dn.decode(dn.Tally(krr, [[1, 1, 1]]), candidates=["a"])
    with pytest.raises(dn.DecodeError, match="candidates must hold at least one symbol, got none"):
        dn.decode(full, candidates=[])
    with pytest.raises(dn.DecodeError, match="candidates must be a collection of symbols, got one str"):
        dn.decode(full, candidates="firefox")
    with pytest.raises(dn.DecodeError, match="candidates must be distinct after NFC normalisation; remove the repeats"):
        dn.decode(full, candidates=["é", "é"])
    with pytest.raises(dn.DecodeError, match="Inversion must have a cell for every symbol, got O-RR; use"):
        dn.decode(full, candidates=["a"], decoder=dn.Inversion())
    with pytest.raises(
        dn.TallyMismatch,
        match="decode together only tallies with one encoding, and one mechanism if it is not hit or miss",
    ):
        dn.decode_all([full, dn.Tally(krr, [[1, 1, 1]])], candidates=["a"])
    assert dn.decode(full, candidates=[1, "1", b"1"]).symbols == (1, "1", b"1")


def test_the_estimate_is_a_snapshot() -> None:
    tally = hand_tally()
    estimate = dn.decode(tally)
    tally += hand_tally()
    assert estimate.n == 1000
    assert estimate[0] == estimate.probabilities[0]
    assert (estimate.digest, estimate.rank, estimate.condition) == (tally.survey.digest, 5, 1.0)


def test_to_arrow() -> None:
    table = dn.decode(hand_tally()).to_arrow()
    assert table.column_names == ["symbol", "probability", "raw", "standard_error", "low", "high", "significant"]
    assert table["symbol"].to_pylist() == [0, 1, 2, 3, 4]
    mixed = dn.krr(symbols=["a", 1, b"z"], epsilon=1)
    assert dn.decode(dn.Tally(mixed, [[1, 2, 3]])).to_arrow()["symbol"].to_pylist() == ['"a"', "1", '{"bytes": "7a"}']
    large = dn.krr(symbols=[2**70, 1], epsilon=1)
    assert dn.decode(dn.Tally(large, [[1, 2]])).to_arrow()["symbol"].to_pylist() == [str(2**70), "1"]


def test_nonprivate_baselines() -> None:
    np.testing.assert_allclose(empirical([3, 1]), [0.75, 0.25])
    np.testing.assert_allclose(minimax([3, 1]), (np.array([3, 1]) + 1) / 6)
    assert minimax([10**6, 0]).sum() == pytest.approx(1)
    for bad in ([], [0, 0], [-1, 2], [[1, 2]]):
        with pytest.raises(dn.DecodeError, match="counts must be a vector of non-negative numbers with a positive sum"):
            empirical(bad)


def test_strategies_are_values() -> None:
    tally = hand_tally()
    with pytest.raises(dn.DecodeError, match=r"decoder must be a value such as LeastSquares\(\), got"):
        dn.decode(tally, decoder=dn.Inversion)  # type: ignore[call-overload]
    with pytest.raises(dn.DecodeError, match=r"constraint must be a value such as Projected\(\), got"):
        dn.decode(tally, constraint="projected")  # type: ignore[call-overload]
    survey = dn.orr(epsilon=1, cells=4, cohorts=1, seed=SEED)
    with pytest.raises(dn.DecodeError, match="candidates must be a collection of symbols, got one int"):
        dn.decode(dn.Tally(survey, [[1, 1, 1, 1]]), candidates=5)  # type: ignore[call-overload]


def test_symbols_are_looked_up_in_any_spelling() -> None:
    estimate = dn.decode(dn.Tally(dn.krr(symbols=["\u00e9", "x"], epsilon=1), [[3, 1]]))
    assert estimate["e\u0301"] == estimate["\u00e9"]
    with pytest.raises(dn.DecodeError, match="symbol must be one of the 2 that were decoded"):
        _ = estimate["y"]


def test_labels_tell_symbols_apart() -> None:
    mixed = dn.decode(dn.Tally(dn.krr(symbols=[1, "1", b"1"], epsilon=1), [[1, 2, 3]]))
    assert mixed.labels == ("1", '"1"', '{"bytes": "31"}')
    assert mixed.to_arrow()["symbol"].to_pylist() == list(mixed.labels)


def test_no_estimate_is_certain() -> None:
    for counts in ([1, 0, 0, 0, 0], [1000, 0, 0, 0, 0]):
        estimate = dn.decode(dn.Tally(dn.krr(symbols=5, epsilon=3), [counts]))
        assert (estimate.standard_errors > 0).all()


def test_tiny_epsilons_keep_their_digits() -> None:
    """hit - miss is 2e-9 here: the difference of two rounded floats would lose eight digits of it."""
    survey = dn.krr(symbols=500, epsilon="0.000001")
    tally = dn.Tally(survey, [np.arange(500) * 1000 + 10**6])
    hit, miss = survey.mechanism.hit, survey.mechanism.miss
    exact = [float((Fraction(int(t), tally.n) - miss) / (hit - miss)) for t in tally.counts[0]]
    found = dn.decode(tally, constraint=dn.Unconstrained()).probabilities
    np.testing.assert_allclose(found, exact, rtol=1e-10, atol=1e-10 * max(map(abs, exact)))


def test_equal_gaps_share_a_factorisation(monkeypatch: pytest.MonkeyPatch) -> None:
    from deniable.matrices import GramFactor

    survey = LARGE["orr-closed"]
    tally, _ = drawn(survey)
    counts, reports = tally.counts.copy(), tally.reports.copy()
    counts[3], reports[3] = 0, 0
    made = []
    real = GramFactor.of

    def counted(gram: npt.NDArray[np.float64]) -> GramFactor:
        made.append(len(gram))
        return real(gram)

    monkeypatch.setattr(GramFactor, "of", counted)
    dn.decode_all([dn.Tally(survey, counts, reports)] * 5)
    assert made == [40]


def test_long_lists_are_iterated_until_they_are_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where factoring is out of reach, nearly as many candidates as equations take more steps, or are refused."""
    survey = dn.orr(epsilon=3, cells=16, cohorts=80, seed=bytes(16))  # 1201 equations
    names = range(1150)
    tally = dn.simulate(survey, dn.lab.zipf(1150, 1), 10**6, np.random.default_rng(0), symbols=names)
    exact = dn.decode(tally, candidates=names, decoder=dn.LeastSquares()).raw
    monkeypatch.setattr(least_squares, "_FACTOR_ALWAYS", 64)
    monkeypatch.setattr(least_squares, "_FACTOR_AT_MOST", 128)
    lookup._CACHE.clear()  # or the factor would be there already
    found = dn.decode(tally, candidates=names, decoder=dn.LeastSquares())
    assert not found.design.is_factored
    np.testing.assert_allclose(found.raw, exact, rtol=0, atol=1e-8 * np.abs(exact).max())
    monkeypatch.setattr(least_squares, "_MOST_STEPS_LARGE", 20)
    with pytest.raises(
        dn.DecodeError,
        match="candidates must number at most 128 where they are so nearly as many as the reports have equations, got "
        r"1151; decode with Screening\(\)",
    ):
        dn.decode(tally, candidates=names, decoder=dn.LeastSquares())


@pytest.mark.slow
def test_least_squares_of_20000_candidates_is_exact() -> None:
    """The normal equations hold to the last digits: the residual has no part left in the range of H."""
    survey = dn.orr(epsilon=3, cells=64, cohorts=512, seed=bytes(16))
    names = range(20_000)
    tally = dn.simulate(survey, dn.lab.zipf(20_000, 1), 10**7, np.random.default_rng(0), symbols=names)
    found = dn.decode(tally, candidates=names, decoder=dn.LeastSquares())
    u = unbias(tally)
    left = found.design.adjoint(u - found.design.forward(found.fit.unknowns))
    assert np.abs(left).max() < 1e-10 * np.abs(found.design.adjoint(u)).max()
