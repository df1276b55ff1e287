"""Means, quantiles and shares: exact variances, what bins hide, and a sentence for each thing that has none."""

from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest

import deniable as dn
from deniable.charts import density_chart
from deniable.decoders.quantiles import Smoothings, edges_of, ramps, smoothed, spread
from deniable.decoders.quantity_limits import limits_of
from deniable.matrices import design_of
from deniable.mechanisms import BitFlip
from deniable.survey import Direct


def estimate_of(survey: dn.Survey, p: object, n: int, seed: int = 0) -> dn.Estimate:
    return dn.decode(dn.simulate(survey, p, n=n, rng=np.random.default_rng(seed)))  # type: ignore[call-overload]


def bell(size: int) -> npt.NDArray[np.float64]:
    p = np.exp(-0.5 * ((np.arange(size) - 0.4 * size) / (0.15 * size)) ** 2)
    return np.asarray(p / p.sum())


@pytest.mark.parametrize(
    "survey", [dn.number(0, 1, 2, bins=30), dn.ordered(12, 1), dn.ordered(9, 3, reach=0)], ids=repr
)
def test_variances_are_those_of_constrained_least_squares(survey: dn.Survey) -> None:
    """The weights on the frequencies, found densely: G^-1 H' / r, and the multiple that cuts the variance."""
    size = len(survey.alphabet)
    estimate = estimate_of(survey, bell(size), 10_000)
    design = design_of(survey)
    miss, r = survey.mechanism.affine
    h = np.stack([design.forward(row)[0] for row in np.eye(size)], axis=1)
    m = estimate.fit.law.columns[0]
    cov = (np.diag(m) - np.outer(m, m)) * float(estimate.fit.law.inverse[0])
    solve = np.linalg.solve(h.T @ h, h.T) / r
    of_p = solve @ cov @ solve.T
    ones = np.ones(size)
    for c in (np.arange(size) / size, *ramps(np.array([size // 3]), size, 0), *ramps(np.array([size // 2]), size, 2)):
        best = c
        if ones @ of_p @ ones > 1e-12:
            best = c - (c @ of_p @ ones) / (ones @ of_p @ ones) * ones
        found = limits_of(estimate, c[None])
        assert found.variance[0] == pytest.approx(best @ of_p @ best, rel=1e-6)
        raw = solve @ ((estimate.tally.counts[0] / estimate.n) - miss)
        assert found.centre[0] == pytest.approx(best @ raw + (c - best)[0], rel=1e-6)
    assert limits_of(estimate, ones[None]).variance[0] == pytest.approx(0, abs=1e-12)  # all answers together are one


def test_many_people_know_everything() -> None:
    survey, p = dn.number(10, 30, 3, bins=40), bell(40)
    estimate = estimate_of(survey, p, 10**13)
    points = np.asarray(survey.alphabet.bins.points)  # type: ignore[union-attr]
    assert estimate.mean().value == pytest.approx(points @ p, abs=1e-3)
    low, high = estimate.mean().interval(binning=False)
    assert low < points @ p < high
    assert high - low < 1e-3
    low, high = estimate.mean().interval()
    assert high - low == pytest.approx(0.5, abs=2e-3)  # half a bin on each side
    assert estimate.share(10, 20).value == pytest.approx(p[:20].sum(), abs=1e-3)
    assert estimate.cdf().values == pytest.approx(np.cumsum(p), abs=1e-3)
    assert estimate.cdf().points[-1] == 30
    for q in (0.1, 0.5, 0.9):
        low, high = estimate.quantile(q).interval()
        place = int(np.searchsorted(np.cumsum(p), q))
        assert low <= 10 + place / 2 < 10 + (place + 1) / 2 <= high
        assert high - low <= 2.0


def test_an_end_inside_a_bin_makes_the_interval_hold_wherever_in_it_the_numbers_are() -> None:
    estimate = estimate_of(dn.number(0, 4, 3, bins=4), [0.25] * 4, 10**12)
    figure = estimate.share(0.5, 2)
    assert figure.value == pytest.approx(0.375, abs=1e-3)
    low, high = figure.interval()
    assert low == pytest.approx(0.25, abs=1e-3)
    assert high == pytest.approx(0.5, abs=1e-3)
    low, high = figure.interval(binning=False)
    assert high - low < 1e-3


def test_numbers_of_a_step_and_symbols_have_no_bins_to_hide_in() -> None:
    estimate = estimate_of(dn.number(1, 5, 3, step=1), [0.1, 0.2, 0.4, 0.2, 0.1], 10**12)
    assert estimate.mean().interval() == estimate.mean().interval(binning=False)
    assert estimate.share(2, 3).value == pytest.approx(0.6, abs=1e-3)
    assert estimate.quantile(0.5).value == 3
    assert estimate.quantile(0.5).interval() == (3, 3)
    named = estimate_of(dn.ordered(["no", "rarely", "often"], 3), [0.5, 0.3, 0.2], 10**10)
    assert named.quantile(0.7).interval() == ("rarely", "rarely")
    assert named.share("no", "rarely").value == pytest.approx(0.8, abs=1e-3)
    assert named.cdf().points == ("no", "rarely", "often")
    whole = estimate_of(dn.ordered([1, 2, 5], 3), [0.5, 0.25, 0.25], 10**10)
    assert whole.mean().value == pytest.approx(2.25, abs=1e-3)


def test_what_has_no_order_has_a_sentence() -> None:
    plain = dn.decode(dn.Tally(dn.krr(symbols=["a", "b", "c"], epsilon=1), [[5, 3, 2]]))
    for ask in (plain.mean, plain.cdf, lambda: plain.quantile(0.5), lambda: plain.share("a", "b")):
        with pytest.raises(dn.DecodeError) as caught:
            ask()
        assert str(caught.value) == (
            "answers must have an order for this, got those of k-RR; make the survey with dn.number or dn.ordered"
        )
    named = estimate_of(dn.ordered(["no", "rarely", "often"], 3), [0.5, 0.3, 0.2], 1000)
    with pytest.raises(dn.DecodeError) as caught:
        named.mean()
    assert str(caught.value) == (
        "answers must be numbers to have a mean, got other symbols; quantile(0.5) is their median"
    )
    with pytest.raises(dn.DecodeError, match="start must not come after stop in the order of the answers"):
        named.share("often", "no")
    with pytest.raises(dn.UnknownSymbol):
        named.share("no", "daily")
    estimate = estimate_of(dn.number(0, 1, 1, bins=8), [0.125] * 8, 1000)
    for q in (0, 1, -0.5, "half", True):
        with pytest.raises(dn.DecodeError, match=r"q must be between 0 and 1, got .*; 0\.5 is the median"):
            estimate.quantile(q)  # type: ignore[arg-type]
    with pytest.raises(dn.DecodeError, match=r"start must be below stop, got 0\.5 and 0\.5"):
        estimate.share(0.5, 0.5)
    with pytest.raises(dn.DecodeError, match="start must be a number, got str"):
        estimate.share("0", 1)
    with pytest.raises(dn.DecodeError, match="stop must be a number, got nan"):
        estimate.share(0, float("nan"))
    with pytest.raises(dn.DecodeError, match="level must be between 0 and 1, got 95"):
        estimate.mean().interval(95)


def test_an_estimate_of_numbers_is_shown_with_its_mean_and_median() -> None:
    estimate = estimate_of(dn.number(0, 1, 1, bins=32, name="load"), bell(32), 10_000)
    html = estimate._repr_html_()
    assert "Mean 0." in html
    assert "Median 0." in html
    assert estimate.chart().to_dict()["description"] == "Estimated density of 32 bins with 95 % intervals of 8 ranges"


def test_bits_have_no_mean_and_a_density_one_edge_more_than_shares() -> None:
    scale = dn.number(0, 4, 1, bins=4).alphabet
    bits = dn.Survey(scale, Direct(4), BitFlip(4, 1))
    estimate = dn.decode(dn.Tally(bits, [[5, 3, 2, 1]], [8]))
    with pytest.raises(dn.DecodeError) as caught:
        estimate.mean()
    assert str(caught.value) == "means and quantiles must have reports that name one cell, got k-RAPPOR"
    with pytest.raises(dn.DeniableError) as refused:
        density_chart([0, 1], [0.5, 0.5], [])
    assert str(refused.value) == "a density must have one edge more than shares, got 2 and 2"


def test_a_quantile_of_a_smooth_density_has_the_shorter_interval() -> None:
    """Where the decoder's answer is smooth no bins are added; least squares, which is rough, holds for everything."""
    survey = dn.number(0, 1, 2, bins=128)
    tally = dn.simulate(survey, bell(128), n=20_000, rng=np.random.default_rng(1))
    smooth, rough = dn.decode(tally), dn.decode(tally, decoder=dn.LeastSquares())
    blur, added = smooth._smoothed.chosen(0.5)
    assert (blur > 0, added) == (True, 0)
    assert rough._smoothed.chosen(0.5)[1] > 0
    low, high = smooth.quantile(0.5).interval(binning=False)
    wide = rough.quantile(0.5).interval(binning=False)
    assert wide[0] < low < 0.4 < high < wide[1]
    assert wide[1] - wide[0] > 2 * rough._smoothed.chosen(0.5)[1] / 128


def test_a_blur_follows_the_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the density is high the interval is narrow, and so is the blur; with no blur at all it is far wider."""
    estimate = estimate_of(dn.number(0, 1, 1, bins=256), bell(256), 100_000)
    blurred = estimate._smoothed
    first, last = blurred.interval(0.5, 0.95)
    blur, added = blurred.chosen(0.5)
    assert (blur > 0, added) == (True, 0)
    assert blur <= 2.5 * (last - first) / 2
    assert blur <= blurred.chosen(0.98)[0]
    monkeypatch.setattr("deniable.decoders.quantiles.blurs_of", lambda size: [0])
    assert np.diff(Smoothings(estimate).interval(0.5, 0.95))[0] > 2 * (last - first)


def test_intervals_of_a_higher_level_contain_those_of_a_lower_one() -> None:
    estimate = estimate_of(dn.number(0, 1, 1, bins=128), bell(128), 20_000)
    for q in (0.02, 0.25, 0.5, 0.9):
        intervals = [estimate.quantile(q).interval(level, binning=False) for level in (0.5, 0.9, 0.95, 0.999)]
        assert all(b[0] <= a[0] <= a[1] <= b[1] for a, b in pairwise(intervals))


def test_an_answer_with_an_atom_has_bins_added_elsewhere_too() -> None:
    survey, p = dn.number(0, 1, 2, bins=128), 0.7 * bell(128)
    p[96] += 0.3
    estimate = estimate_of(survey, p, 10**4)
    blur, added = estimate._smoothed.chosen(0.5)
    assert blur == added > 0
    low, high = estimate.quantile(0.9).interval()
    assert low <= 96 / 128
    assert high >= 97 / 128


def test_noise_far_from_a_point_mass_does_not_widen_its_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a blur the distribution function, flat beside the point, crosses a quartile by chance far away."""
    estimate = estimate_of(dn.number(0, 1, 0.5, bins=512), np.eye(512)[180], 300_000)
    for q in (0.25, 0.5, 0.75):
        first, last = estimate._smoothed.interval(q, 0.95)
        assert 180 - 16 < first < 181
        assert 180 < last < 181 + 16
    monkeypatch.setattr("deniable.decoders.quantiles.blurs_of", lambda size: [0])
    alone = Smoothings(estimate)
    assert max(float(np.diff(alone.interval(q, 0.95))[0]) for q in (0.25, 0.75)) > 64


def test_near_an_end_an_average_is_not_the_function_itself() -> None:
    """Within the blur of an end an average has nothing to average over: bins are added, or the blur is smaller."""
    estimate = estimate_of(dn.number(0, 1, 1, bins=128), np.full(128, 1 / 128), 20_000)
    most, added = estimate._smoothed.chosen(0.5)
    assert (most > 2, added) == (True, 0)
    assert estimate.quantile(0.02).interval(binning=False)[0] == 0
    blur, added = estimate._smoothed.chosen(0.02)
    assert added == blur or blur < most


def test_an_average_that_holds_for_every_population_is_between_two_points_of_it() -> None:
    """R(e) lies between P(bin < e - blur) and P(bin < e + blur): what the added bins rest on."""
    rng, edges = np.random.default_rng(0), np.arange(21)
    for blur in (0, 1, 3):
        for p in (rng.dirichlet(np.full(20, 0.1)), np.eye(20)[7]):
            cumulative = np.append(0.0, np.cumsum(p))
            below = np.concatenate([np.zeros(blur), cumulative, np.ones(blur)])
            average = ramps(edges, 20, blur) @ p
            assert (average >= below[: len(average)] - 1e-12).all()
            assert (average <= below[2 * blur :] + 1e-12).all()
            assert smoothed(cumulative, blur) == pytest.approx(average, abs=1e-12), "the same without a matrix"


@pytest.mark.parametrize("population", ["bell", "point"])
def test_limits_between_the_edges_are_at_least_as_far_as_those_at_every_edge(population: str) -> None:
    """With more bins than edges at which limits are worked out; at those edges they are exact.

    Interpolated distances would be too small beside a point mass, where variances jump.
    """
    size = 256
    survey = dn.number(0, 1, 4, bins=size)
    estimate = estimate_of(survey, bell(size) if population == "bell" else np.eye(size)[94], 100_000)
    edges, inner = edges_of(survey), np.arange(1, size)
    assert len(edges) < len(inner)
    values = np.append(0.0, np.cumsum(estimate.fit.raw))
    for blur in (0, 1, 4, 16):
        exact = limits_of(estimate, ramps(inner, size, blur))
        low, high = exact.between(0.05).T
        below, above = spread(values, edges, blur, low[edges - 1], high[edges - 1])
        assert below[edges - 1] == pytest.approx(low[edges - 1], abs=1e-12)
        assert above[edges - 1] == pytest.approx(high[edges - 1], abs=1e-12)
        assert (above - high).min() > -0.3 * exact.errors.max()
        assert (above - high).max() < (0.6 if population == "bell" else 3) * exact.errors.max()
        assert (low - below).min() > -0.3 * exact.errors.max()
    found = estimate._smoothed.between(4)
    low, high = limits_of(estimate, ramps(edges, size, 4)).between(0.05).T
    assert np.array(found) == pytest.approx(np.array(spread(values, edges, 4, low, high)))


def test_the_mean_is_among_the_numbers() -> None:
    """Four reports say nothing of it; no mean of numbers from 18 to 90 is outside of them."""
    estimate = estimate_of(dn.number(18, 90, 1, bins=24), np.full(24, 1 / 24), 4)
    assert estimate.mean().interval() == (18, 90)
    assert estimate.mean().interval(binning=False) == (19.5, 88.5)
