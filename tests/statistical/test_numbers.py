"""Intervals of means, shares and quantiles of numbers cover at their level; narrower ones do not."""

import numpy as np
import pytest
from scipy.special import bdtr

import deniable as dn
from deniable.decoders.quantiles import Smoothings
from deniable.decoders.quantity_limits import limits_of
from tests.statistical.harness import accept, generator, reject

pytestmark = pytest.mark.slow

REPEATS, LEVEL = 600, 0.95
SURVEYS = {"bins": dn.number(0, 1, 2, bins=48), "step": dn.number(0, 47, 1, step=1)}


def intervals(name: str) -> tuple[dict[str, list[bool]], dict[str, list[bool]]]:
    """Whether each interval holds the truth: those of the library, and those of half the standard error."""
    survey, rng = SURVEYS[name], generator(f"numbers {name}")
    scale = survey.alphabet.bins
    assert scale is not None
    x = np.arange(48)
    p = 0.7 * np.exp(-0.5 * ((x - 20) / 6) ** 2)
    p /= p.sum() / 0.7
    p[30] += 0.3
    mean = float(np.asarray(scale.points) @ p)
    held: dict[str, list[bool]] = {"mean": [], "share": [], "median": []}
    narrow: dict[str, list[bool]] = {"mean": [], "share": []}
    inside = ((x >= 12) & (x < 24)).astype(np.float64)
    ends = (scale.edges[12], scale.edges[24]) if not scale.step else (12, 23)
    median = int(np.searchsorted(np.cumsum(p), 0.5))
    for _ in range(REPEATS):
        estimate = dn.decode(dn.simulate(survey, p, n=5000, rng=rng), decoder=dn.LeastSquares())
        for figure, asked, truth in (
            ("mean", estimate.mean(), mean),
            ("share", estimate.share(*ends), float(inside @ p)),
        ):
            low, high = asked.interval(LEVEL, binning=False)
            held[figure].append(low <= truth <= high)
            weights = np.asarray(scale.points) if figure == "mean" else inside
            found = limits_of(estimate, weights[None])
            narrow[figure].append(abs(float(found.centre[0]) - truth) <= 0.98 * float(found.errors[0]))
        low, high = estimate.quantile(0.5).interval(LEVEL)
        held["median"].append(low <= scale.points[median] <= high)
    return held, narrow


def short(covered: list[bool]) -> float:
    """The probability of so few intervals that hold the truth, or fewer, if each does with probability 93 %.

    Two points below the level, because intervals from cumulants are approximate.
    """
    return float(bdtr(sum(covered), len(covered), LEVEL - 0.02))


@pytest.mark.parametrize("name", SURVEYS)
def test_intervals_cover_and_narrower_ones_do_not(name: str) -> None:
    held, narrow = intervals(name)
    for covered in held.values():
        accept("numbers-coverage", short(covered))
    for covered in narrow.values():
        reject("numbers-coverage", short(covered))


@pytest.mark.parametrize("name", ["smooth", "rough"])
def test_quartiles_by_the_default_decoder_cover(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a smooth density, where no bins are added, and of one with atoms, where an interval without them does not.

    A quarter of each interval does not cover, either.
    """
    survey, x = dn.number(0, 1, 2, bins=64), (np.arange(64) + 0.5) / 64
    p = x**4 * (1 - x) if name == "smooth" else np.where(np.arange(64) % 8 == 0, 8.0, 1.0)
    p /= p.sum()
    below = np.append(0.0, np.cumsum(p))
    place = int(np.searchsorted(below, 0.5)) - 1
    truth = place + (0.5 - below[place]) / p[place]
    rng, held, narrow, bare = generator(f"quartiles {name}"), [], [], []
    for _ in range(300):
        estimate = dn.decode(dn.simulate(survey, p, n=50_000, rng=rng))
        low, high = Smoothings(estimate).interval(0.5, LEVEL)
        held.append(low <= truth <= high)
        narrow.append(abs(truth - (low + high) / 2) <= (high - low) / 8)
        with monkeypatch.context() as changed:
            changed.setattr("deniable.decoders.quantiles.MOVED", np.inf)
            low, high = Smoothings(estimate).interval(0.5, LEVEL)
        bare.append(low <= truth <= high)
    accept("numbers-coverage", short(held))
    reject("numbers-coverage", short(narrow))
    (accept if name == "smooth" else reject)("numbers-coverage", short(bare))


def test_shares_from_few_reports_cover_and_the_counts_alone_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """300 people in 1,024 bins: most cells are empty, and so is much of what the variance comes from."""
    survey, x = dn.number(0, 1, 1, bins=1024), np.arange(1024)
    p = np.exp(-0.5 * ((x - 600) / 150) ** 2)
    p /= p.sum()
    rng, held = generator("few reports"), {"held": [], "alone": []}  # type: ignore[var-annotated]
    for _ in range(150):
        tally = dn.simulate(survey, p, n=300, rng=rng)
        for name, few in (("held", 4.0), ("alone", 0.0)):
            monkeypatch.setattr("deniable.decoders.quantity_limits._FEW", few)
            low, high = dn.decode(tally, decoder=dn.LeastSquares()).share(0, 0.25).interval(LEVEL, binning=False)
            held[name].append(bool(low <= p[:256].sum() <= high))
    accept("numbers-coverage", short(held["held"]))
    reject("numbers-coverage", short(held["alone"]))
