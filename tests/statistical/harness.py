"""Statistical checks that cannot lie: one false-alarm budget, exact tails, and a mutant for every check.

The whole suite may raise a false alarm with probability at most `BUDGET`; the budget is divided among the checks that
are registered here, and each check's p-value is an exact binomial tail under a union bound over its bins (an empty bin
is an observation like any other). Seeds come from the check's name, so a failure repeats.
"""

import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import bdtr, bdtrc

BUDGET = 1e-6

# Every check by name. `test_harness.py` fails when a name here is never used or used without a mutant.
CHECKS = (
    "bulk-law",
    "bulk-cohorts",
    "simulate-joint-law",
    "simulate-marginals",
    "simulate-counts-joint-law",
    "memoised-law",
    "kary-losses",
    "kary-liars",
    "scatter",
    "right-sides",
    "regression-losses",
    "chi-square-fit",
    "chi-square-cohorts",
    "below-zero",
    "planted-power",
    "planted-defence",
    "coverage",
    "decoder-gain",
    "decoder-guard",
    "planner-few-surveys",
    "planner-honesty",
    "file-law",
    "file-batches",
    "screening-family",
    "screening-coverage",
    "numbers-coverage",
    "merged-windows",
    "window-differences",
    "tracked-changes",
    "tracked-bands",
    "discovery-family",
    "discovery-shares",
    "discovery-coverage",
    "discovery-plan",
    "form-law",
    "form-variance",
    "form-coverage",
    "crosstab-coverage",
    "crosstab-size",
    "effect-power",
)
ALPHA = BUDGET / len(CHECKS)


def seed_of(name: str) -> int:
    """A seed that only the name decides."""
    return zlib.crc32(name.encode())


def generator(name: str) -> np.random.Generator:
    return np.random.default_rng(seed_of(name))


def binomial_p_value(hits: npt.ArrayLike, n: npt.ArrayLike, p: npt.ArrayLike) -> float:
    """The smallest two-sided exact binomial tail over all bins, times the number of bins and of tails."""
    x, trials, chance = np.broadcast_arrays(
        np.asarray(hits, np.float64), np.asarray(n, np.float64), np.asarray(p, np.float64)
    )
    below = np.where(x >= trials, 1.0, bdtr(x, trials.astype(np.int64), chance))
    above = np.where(x <= 0, 1.0, bdtrc(np.maximum(x - 1, 0), trials.astype(np.int64), chance))
    # A bin of probability 0 (1) that was hit (missed) is impossible: its tail is zero.
    below = np.where(chance >= 1, (x >= trials).astype(float), np.where(chance <= 0, 1.0, below))
    above = np.where(chance <= 0, (x <= 0).astype(float), np.where(chance >= 1, 1.0, above))
    smallest = float(np.minimum(below, above).min())
    return min(1.0, smallest * 2 * x.size)


def law_p_value(counts: Mapping[Any, int], law: Mapping[Any, Any]) -> float:
    """How likely counts this far from a finite law are; an outcome outside the law is impossible."""
    if not set(counts) <= set(law):
        return 0.0
    n = sum(counts.values())
    outcomes = list(law)
    return binomial_p_value([counts.get(o, 0) for o in outcomes], n, [float(law[o]) for o in outcomes])


_SEEN: dict[str, set[str]] = {}


def passes(check: str, p_value: float) -> bool:
    """Whether a registered check accepts."""
    assert check in CHECKS, f"register {check!r} in CHECKS"
    return p_value >= ALPHA / 64  # a check may be run on up to 64 surveys


def accept(check: str, p_value: float) -> None:
    """The real code must pass."""
    _SEEN.setdefault(check, set()).add("real")
    assert passes(check, p_value), f"{check}: p = {p_value:.3g} is below {ALPHA / 64:.3g}"


def reject(check: str, p_value: float) -> None:
    """The mutant must fail, at the same sample size."""
    _SEEN.setdefault(check, set()).add("mutant")
    assert not passes(check, p_value), f"{check} did not reject its mutant: p = {p_value:.3g}"
