"""Differences of two estimates."""

import numpy as np
import pytest

import deniable as dn
from deniable.decoders import Difference

SURVEY = dn.krr(symbols=["a", "b", "c"], epsilon=2)
OPEN = dn.orr(epsilon=3, cells=8, cohorts=32, seed=bytes(16))


def of(*counts: int) -> dn.Estimate:
    return dn.decode(dn.Tally(SURVEY, [list(counts)]))


def test_a_difference_is_first_minus_second() -> None:
    new, old = of(500, 300, 200), of(300, 500, 200)
    change = dn.difference(new, old)
    np.testing.assert_allclose(change.raw, new.raw - old.raw)
    np.testing.assert_allclose(change.probabilities, new.probabilities - old.probabilities)
    np.testing.assert_allclose(change.standard_errors, np.hypot(new.standard_errors, old.standard_errors))
    assert change.symbols == ("a", "b", "c")
    assert change.changed().tolist() == [True, True, False]
    assert change.unallocated is None
    back = dn.difference(old, new)
    np.testing.assert_allclose(change.intervals(0.9), -back.intervals(0.9)[:, ::-1])
    wide = change.intervals(simultaneous=True)
    assert np.all(wide[:, 0] < change.intervals()[:, 0])
    assert np.all(change.intervals()[:, 1] < wide[:, 1])
    assert repr(change).startswith("<Difference of 3 symbols, 1000 to 1000 reports: ")
    table = change.to_arrow()
    assert table.column_names == ["symbol", "difference", "raw", "standard_error", "low", "high", "changed"]
    assert table.column("changed").to_pylist() == [True, True, False]


def test_a_difference_is_used_like_an_estimate() -> None:
    change = dn.difference(of(500, 300, 200), of(300, 500, 200))
    assert len(change) == 3
    assert list(change) == list(zip(change.symbols, change.raw.tolist(), strict=True))
    assert dict(change)["a"] == change["a"] == change.raw[0]
    assert "a" in change
    assert "d" not in change
    with pytest.raises(KeyError, match="symbol must be one of the 3 that were decoded"):
        change["d"]
    html = change._repr_html_()
    assert html.count("background:") == 3
    assert html.count("changed") == 2
    assert "Difference: 1,000 to 1,000 reports" in html
    many = dn.krr(symbols=21, epsilon=3)
    first, second = (dn.decode(dn.Tally(many, [counts])) for counts in ([100] * 21, [90] * 20 + [200]))
    assert "1 smaller change is not shown." in dn.difference(first, second)._repr_html_()


def test_of_many_candidates_a_difference_shows_no_error_bars_by_itself() -> None:
    """They take seconds for thousands of candidates: a prompt does not wait for them."""
    survey, names = dn.orr(epsilon=3, cells=16, cohorts=128, seed=bytes(16)), list(range(1500))
    rng = np.random.default_rng(0)
    one, two = (
        dn.decode(dn.simulate(survey, dn.lab.zipf(1500, s), 50_000, rng, symbols=names), candidates=names)
        for s in (1, 2)
    )
    change = dn.difference(one, two)
    assert "±" not in repr(change)
    assert "<td" in change._repr_html_()
    assert "_spread" not in one.__dict__
    assert "_spread" not in two.__dict__


def test_reaches_add_in_squares() -> None:
    """With many reports the interval is the normal one; with few it is wider than either part alone."""
    a, b = of(50_000, 30_000, 20_000), of(49_000, 31_000, 20_000)
    change = dn.difference(a, b)
    np.testing.assert_allclose(np.diff(change.intervals())[:, 0], 2 * 1.959964 * change.standard_errors, rtol=0.01)
    few = dn.difference(of(3, 0, 0), of(0, 0, 3))
    parts = [np.diff(e.intervals())[:, 0] for e in (few.first, few.second)]
    assert np.all(np.diff(few.intervals())[:, 0] > np.maximum(*parts))


def test_the_unallocated_mass_has_a_difference_too() -> None:
    names, rng = [f"n{i}" for i in range(20)], np.random.default_rng(0)
    tallies = [dn.simulate(OPEN, dn.lab.zipf(20, s), 50_000, rng, symbols=names) for s in (1, 0.2)]
    one, two = dn.decode_all(tallies, candidates=names[:10])
    change = dn.difference(one, two)
    assert change.unallocated is not None
    assert one.unallocated is not None
    assert two.unallocated is not None
    assert change.unallocated.raw == pytest.approx(one.unallocated.raw - two.unallocated.raw)
    low, high = change.unallocated.interval()
    assert low < change.unallocated.raw < high < 0
    assert not change.unallocated.exact
    assert change.unallocated.limits.above_zero()[0] > 0.99
    complete = dn.decode(tallies[0], candidates=names[:10], complete=True)
    assert dn.difference(complete, two).unallocated is None


def test_undetermined_symbols_have_no_difference() -> None:
    survey = dn.orr(epsilon=3, cells=2, cohorts=1, seed=bytes(16))
    pair = [dn.decode(dn.Tally(survey, [c]), candidates=["a", "b", "c"]) for c in ([700, 300], [600, 400])]
    change = dn.difference(*pair)
    assert np.isinf(change.intervals()).all()
    assert not change.changed().any()


def test_differences_refuse_with_a_sentence() -> None:
    two = dn.decode(dn.Tally(dn.krr(symbols=2, epsilon=1), [[6, 4]]))
    with pytest.raises(dn.DecodeError, match="second must have the candidates of the first in the same order, got 2"):
        dn.difference(of(1, 2, 3), two)
    text = dn.decode(dn.Tally(dn.krr(symbols=["0", "1"], epsilon=1), [[6, 4]]))
    with pytest.raises(dn.DecodeError, match="got 2 against 2; decode both with one list"):
        dn.difference(text, two)
    with pytest.raises(dn.DecodeError, match="second must be an estimate, got Tally; decode the tally"):
        dn.difference(two, two.tally)
    with pytest.raises(dn.DecodeError, match="first must be an estimate, got NoneType"):
        dn.difference(None, two)
    with pytest.raises(dn.DecodeError, match="level must be between 0 and 1, got 2"):
        dn.difference(two, two).intervals(2)


def two_windows(seeds: tuple[bytes, bytes], missing: tuple[float, float] = (0.6, 0.6)) -> Difference:
    rng, windows = np.random.default_rng(5), []
    for seed, gone in zip(seeds, missing, strict=True):
        survey = dn.orr(epsilon=3, cells=20, cohorts=10, seed=seed)
        p = [gone, 0.3, 0.7 - gone]
        tally = dn.simulate(survey, p, 10**6, rng, symbols=["unlisted", "a", "b"])
        windows.append(dn.decode(tally, candidates=["a", "b", "c"]))
    return dn.difference(*windows)


def test_what_two_windows_of_one_survey_share_cancels() -> None:
    """The same hash functions: what an unlisted answer adds to one window it adds to the other."""
    same, other = two_windows((bytes(16), bytes(16))), two_windows((bytes(16), bytes([1] * 16)))
    assert same.first.standard_errors.min() > 0.02
    assert same.standard_errors.max() < 0.005
    np.testing.assert_allclose(
        other.standard_errors, np.hypot(other.first.standard_errors, other.second.standard_errors)
    )
    moved = two_windows((bytes(16), bytes(16)), (0.6, 0.5))
    assert moved.changed().tolist() == [False, True, False]
    assert moved.standard_errors.max() > 3 * same.standard_errors.max()  # what was unlisted has changed
    assert same.unallocated is not None
    assert moved.unallocated is not None
    assert same.unallocated.standard_error < 0.01 < moved.unallocated.standard_error
    low, high = moved.unallocated.interval()
    assert low < 0.1 < high
    assert not moved.unallocated.exact


def test_windows_of_one_survey_may_differ_in_what_can_be_shared() -> None:
    """Another normalisation, or a cohort without reports in one of them: each is taken by itself, which is wider."""
    survey, rng = dn.orr(epsilon=3, cells=20, cohorts=10, seed=bytes(16)), np.random.default_rng(5)
    tallies = [dn.simulate(survey, [0.6, 0.4], 10**6, rng, symbols=["unlisted", "a"]) for _ in range(2)]
    first, second = dn.decode_all(tallies, candidates=["a", "b"])
    joint = dn.decode(tallies[1], candidates=["a", "b"], decoder=dn.LeastSquares(per_cohort=False))
    counts, reports = tallies[1].counts.copy(), tallies[1].reports.copy()
    counts[3], reports[3] = 0, 0
    empty = dn.decode(dn.Tally(survey, counts, reports), candidates=["a", "b"])
    shared = dn.difference(first, second).standard_errors
    for other in (joint, empty):
        apart = dn.difference(first, other).standard_errors
        np.testing.assert_allclose(apart, np.hypot(first.standard_errors, other.standard_errors))
        assert (apart > 3 * shared).all()
    screened = [dn.decode(tally, candidates=["a", "b"], decoder=dn.Screening()) for tally in tallies]
    assert dn.difference(*screened).standard_errors.shape == (2,)


def test_no_change_is_larger_than_one_with_too_few_cohorts() -> None:
    survey, rng = dn.orr(epsilon=5, cells=20, cohorts=1, seed=bytes(16)), np.random.default_rng(5)
    tallies = [dn.simulate(survey, [gone, 1 - gone], 10**6, rng, symbols=["x", "a"]) for gone in (0.2, 0.5)]
    change = dn.difference(*dn.decode_all(tallies, candidates=["a", "b"]))
    assert change.intervals(simultaneous=True).tolist() == [[-1.0, 1.0]] * 2
    assert not change.changed().any()


@pytest.mark.parametrize(("cells", "cohorts", "epsilon"), [(30, 3, 5.0), (30, 8, 3.0), (16, 40, 3.0)])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_what_lies_above_zero_with_all_others_is_marked(cells: int, cohorts: int, epsilon: float, level: float) -> None:
    """Marks are one-sided and stepwise, simultaneous intervals two-sided: marks are never the fewer."""
    names = [*(f"there {i}" for i in range(5)), *(f"absent {i}" for i in range(10)), "unlisted"]
    p = np.array([0.1, 0.05, 0.02, 0.01, 0.005, *[0.0] * 10, 0.815])
    above = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        survey = dn.orr(epsilon=epsilon, cells=cells, cohorts=cohorts, seed=rng.bytes(16))
        estimates = [
            dn.decode(dn.simulate(survey, p / p.sum(), 10**6, rng, symbols=names), candidates=given, complete=complete)
            for given, complete in ((names[:-1], False), (names, True))
        ]
        for estimate in estimates:
            clear = estimate.intervals(level, simultaneous=True)[:, 0] > 0
            assert not (clear & ~estimate.significant(level)).any()
            above += int(clear.sum())
    assert above > 0
