"""The ends of what is allowed: the least and the largest epsilon, two symbols, one report and 10**17 of them.

Every preset, decoded by every decoder, with everything that an estimate can be asked: no warning (they are errors in
this suite), no NaN, limits in order, shares that add up to one, and no alarm that nothing caused.
"""

import math
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.decoders import Decoder
from deniable.survey import Survey
from tests.contracts.test_symbol_order import DECODERS, accepts
from tests.statistical.harness import generator
from tests.surveys import SEED, named

pytestmark = pytest.mark.slow

TINY, LARGE = "0.001", "44"  # what 64-bit words hold for a few cells, or nearly
# Two symbols; and as few as the prior of the default decoder is learned from, which takes longer.
CASES = [(2, epsilon, n) for epsilon in (TINY, "40", LARGE) for n in (1, 2, 10**17)]
CASES += [(13, TINY, 10**17), (13, "40", 2), (13, LARGE, 10**17)]


def surveys(size: int, epsilon: str) -> dict[str, Survey]:
    half = str(float(epsilon) / 2)
    cells: dict[str, Any] = {"cells": 8, "seed": SEED}
    found = {
        "krr": dn.krr(symbols=size, epsilon=epsilon),
        "krappor": dn.krappor(symbols=size, epsilon=epsilon),
        "oue": dn.oue(symbols=size, epsilon=epsilon),
        "subset": dn.subset(symbols=size, epsilon=epsilon, size=max(1, size // 3)),
        "hadamard": dn.hadamard(symbols=size, epsilon=epsilon),
        "projective": dn.projective(symbols=size, epsilon=epsilon),
        "orr": dn.orr(symbols=size, epsilon=epsilon, cohorts=4, **cells),
        "orr-open": dn.orr(epsilon=epsilon, cohorts=16, **cells),
        "orr-one-cohort": dn.orr(epsilon=epsilon, cohorts=1, **cells),
        "orappor": dn.orappor(symbols=size, epsilon=epsilon, cohorts=4, hashes=2, **cells),
        "orappor-open": dn.orappor(epsilon=epsilon, cohorts=8, hashes=1, **cells),
        "krr-again": dn.krr(symbols=size, epsilon=epsilon, epsilon_report=half),
        "oue-again": dn.oue(symbols=size, epsilon=epsilon, epsilon_report=half),
    }
    if epsilon != LARGE:  # one block of 16 cells holds 42
        found["hadamard-one-block"] = dn.hadamard(symbols=size, epsilon=epsilon, blocks=1)
    if epsilon == TINY:  # with e**epsilon cells a cohort there is no room for more
        found["olh"] = dn.olh(epsilon=epsilon, cohorts=16, seed=SEED)
    return found


def ask_everything(estimate: dn.Estimate) -> None:
    size = len(estimate.symbols)
    numbers = [estimate.probabilities, estimate.raw, estimate.standard_errors, estimate._p_values]
    assert all(not np.isnan(values).any() for values in numbers)
    assert (estimate.standard_errors >= 0).all()
    assert ((estimate._p_values >= 0) & (estimate._p_values <= 1)).all()
    assert estimate.significant().shape == (size,)
    for limits in (estimate.intervals(), estimate.intervals(1 - 1e-15, simultaneous=True)):
        assert not np.isnan(limits).any()
        assert (limits[:, 0] <= limits[:, 1]).all()
    if not isinstance(estimate.decoder, dn.Screening):  # sums of excluded candidates are refused
        parts = [estimate.total(estimate.symbols[:1]), estimate.total(estimate.symbols)]
        parts += [] if estimate.unallocated is None else [estimate.unallocated]
        for part in parts:
            assert not np.isnan([part.value, part.raw, part.standard_error, *part.interval()]).any()
    rest = estimate.unallocated.value if estimate.unallocated is not None else 0.0
    assert abs(math.fsum([*estimate.probabilities, rest]) - 1) < 1e-14 * max(size, 10)
    assert estimate.probabilities.min() >= 0
    assert "nan" not in str(estimate.diagnostics)
    assert "nan" not in repr(estimate)


@pytest.mark.parametrize(("size", "epsilon", "n"), CASES)
def test_nothing_breaks_at_the_ends(size: int, epsilon: str, n: int) -> None:
    p = np.arange(size, 0, -1.0) / (size * (size + 1) / 2)
    alarms = 0
    for name, survey in surveys(size, epsilon).items():
        symbols = named(survey, size)
        tally = dn.simulate(survey, p, n, generator(f"extremes {name} {size} {epsilon} {n}"), **symbols)
        for decoder in DECODERS:
            if accepts(decoder, survey):
                estimate = dn.decode(tally, candidates=symbols.get("symbols"), decoder=decoder)
                ask_everything(estimate)
        alarms += any("do not fit" in alarm for alarm in estimate.diagnostics.alarms)
    # Of 15 p-values three or more are below 1e-3 by chance once in two million times.
    assert alarms < 3


@pytest.mark.parametrize("decoder", [dn.Inversion(), dn.Likelihood()], ids=repr)
@pytest.mark.parametrize("n", [10**6, 10**17])
def test_shares_of_many_symbols_add_up(decoder: Decoder, n: int) -> None:
    """A running sum over 65,536 symbols made them 1 + 6e-9."""
    size = 2**16
    survey, p = dn.krr(symbols=size, epsilon=40), dn.lab.zipf(size, 1)
    estimate = dn.decode(dn.simulate(survey, p, n, generator(f"many {n}")), decoder=decoder)
    assert abs(math.fsum(estimate.probabilities) - 1) < 1e-14
    assert estimate.probabilities.min() >= 0


def test_the_sets_that_divided_by_zero() -> None:
    """A set of 4 at epsilon 40 holds the answer but for 1e-17: one, in doubles."""
    survey = dn.subset(symbols=13, epsilon=40, size=4)
    p = dn.lab.zipf(13, 1)
    estimate = dn.decode(dn.simulate(survey, p, 10**6, generator("sets")), decoder=dn.Likelihood())
    assert np.all(np.abs(estimate.probabilities - p) < 7 * estimate.standard_errors)
