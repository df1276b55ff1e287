"""Every preset at ten sizes, decoded by every decoder: with enough reports each finds the truth, symbol by symbol.

The truth is different at every symbol, so whoever takes the order of the cells for that of the symbols is found out: a
projective design of two dimensions has one cell a symbol, in another order. Besides the estimate, everything that names
a symbol must name the right one: standard errors, intervals, sums, the reports themselves and their SQL.
"""

import inspect
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import pytest

import deniable as dn
from deniable.decoders import Decoder
from deniable.decoders.base import Solution, unbias
from deniable.matrices import Design, design_of
from deniable.survey import Survey, open_presets, presets, quantities
from tests.statistical.harness import generator
from tests.surveys import SEED, kinds, named, symbols_of

Floats = npt.NDArray[np.float64]

SIZES = (2, 3, 5, 6, 12, 14, 20, 24, 31, 64)
N = 10**12
# A false alarm of any of 10 sizes x 16 surveys x 8 decoders x at most 64 symbols: 6e4 two-sided normal tails of 6e-13.
FAR = 7.2

PUBLIC = {*presets.__all__, *open_presets.__all__, *quantities.__all__}
PRESETS: dict[str, Callable[[int], Survey]] = {
    "warner": lambda size: dn.warner(epsilon=2),
    "krr": lambda size: dn.krr(symbols=size, epsilon=2),
    "krappor": lambda size: dn.krappor(symbols=size, epsilon=2),
    "oue": lambda size: dn.oue(symbols=size, epsilon=2),
    "subset": lambda size: dn.subset(symbols=size, epsilon=1),
    "hadamard": lambda size: dn.hadamard(symbols=size, epsilon=2),
    "projective": lambda size: dn.projective(symbols=size, epsilon=2),
    "projective-line": lambda size: dn.projective(symbols=size, epsilon=4),  # one cell a symbol
    "number": lambda size: dn.number(0, size, 2, bins=size),
    "ordered": lambda size: dn.ordered(size, 4),
    "olh": lambda size: dn.olh(symbols=size, epsilon=2, cohorts=64, seed=SEED),
    "orr": lambda size: dn.orr(symbols=size, epsilon=2, cells=8, cohorts=32, seed=SEED),
    "orappor": lambda size: dn.orappor(symbols=size, epsilon=3, cells=8, cohorts=32, hashes=2, seed=SEED),
    "orr-open": lambda size: dn.orr(epsilon=2, cells=8, cohorts=32, seed=SEED),
    "discovery": lambda size: dn.discovery(epsilon=2, length=8, levels=[(4, 8), (8, 32)], seed=SEED),
    "orappor-open": lambda size: dn.orappor(epsilon=3, cells=16, cohorts=32, hashes=2, seed=SEED),
}
DECODERS: tuple[Decoder, ...] = (
    dn.Inversion(),
    dn.LeastSquares(),
    dn.WeightedLeastSquares(),
    dn.Likelihood(),
    dn.EmpiricalBayes(),
    dn.EmpiricalBayes(ordered=True),
    dn.Screening(),
    dn.Contaminated(),
)


def truth(size: int) -> Floats:
    """No two shares are alike, nor is any near zero."""
    shares = 1.0 + np.arange(size, 0, -1.0) ** 1.5
    return np.asarray(shares / shares.sum())


def accepts(decoder: Decoder, survey: Survey) -> bool:
    if isinstance(decoder, dn.Inversion):
        return survey.encoding.shared is not None
    return survey.symbols is None or not isinstance(decoder, dn.Screening)


def decoded(survey: Survey, size: int, decoder: Decoder) -> dn.Estimate:
    name = f"symbol order {survey.title} {size}"
    tally = dn.simulate(survey, truth(size), N, generator(name), **named(survey, size))
    return dn.decode(tally, candidates=named(survey, size).get("symbols"), decoder=decoder)


def is_the_truth(estimate: dn.Estimate, p: Floats) -> bool:
    """Within the noise of the unbiased estimate, which no decoder exceeds where all shares are far above it."""
    return bool((np.abs(estimate.probabilities - p) < FAR * estimate.standard_errors).all())


def test_the_lists_are_complete() -> None:
    made = [*inspect.getmembers(presets, inspect.isfunction), *inspect.getmembers(open_presets, inspect.isfunction)]
    known = {name for name, _ in made if name in PUBLIC}
    assert {name.split("-")[0] for name in PRESETS} == known
    assert {type(decoder) for decoder in DECODERS} == kinds(Decoder)


@pytest.mark.parametrize("size", [pytest.param(s, marks=[pytest.mark.slow] if s > 24 else []) for s in SIZES])
@pytest.mark.parametrize("preset", [name for name in PRESETS if name != "warner"])
def test_every_decoder_finds_the_truth(preset: str, size: int) -> None:
    check(PRESETS[preset](size), size)


def test_warner() -> None:
    check(PRESETS["warner"](2), 2)


def check(survey: Survey, size: int) -> None:
    p = truth(size)
    for decoder in DECODERS:
        if not accepts(decoder, survey):
            continue
        estimate = decoded(survey, size, decoder)
        assert is_the_truth(estimate, p), (decoder, estimate.probabilities, p)
        assert estimate.symbols == symbols_of(survey, size)
        low, high = estimate.intervals(1 - 1e-12).T
        assert np.all((low < p) & (p < high))
        assert estimate.significant().all()
        if not isinstance(decoder, dn.Screening):
            first = estimate.total(estimate.symbols[:2])
            assert abs(first.raw - p[:2].sum()) < FAR * first.standard_error
            np.testing.assert_allclose(np.sqrt(np.diag(estimate.covariance)), estimate.standard_errors, rtol=1e-6)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("preset", ["krr", "krappor", "oue", "subset", "hadamard", "projective", "projective-line"])
def test_error_bars_are_those_of_theory_symbol_by_symbol(preset: str, size: int) -> None:
    survey, p = PRESETS[preset](size), truth(size)
    estimate = decoded(survey, size, dn.Inversion())
    expected = dn.theory.l2_risk(survey, p, N)
    assert float((estimate.standard_errors**2).sum()) == pytest.approx(expected, rel=1e-4)
    # A report of one symbol moves its own estimate, and no other, up.
    assert survey.symbols is not None
    reports = dn.count(survey, dn.privatize(survey, [survey.symbols[1]] * 4000))
    assert int(np.argmax(dn.decode(reports, decoder=dn.Inversion()).raw)) == 1


class CellsForSymbols(Decoder):
    """The mutant: the counts of cells, in their order, as if they were those of symbols."""

    def solve(self, tallies: Sequence[dn.Tally], design: Design) -> list[Solution]:
        taken = [unbias(tally)[0][: design.symbols] for tally in tallies]
        return [Solution(np.maximum(raw, 0.0), raw) for raw in taken]


@pytest.mark.parametrize("size", [6, 12, 14, 20, 24])
def test_the_suite_rejects_cells_taken_for_symbols(size: int) -> None:
    survey = PRESETS["projective-line"](size)
    design = design_of(survey)
    assert (design.hashes, survey.cells) == (1, size)  # as many cells as symbols, one each
    assert is_the_truth(decoded(survey, size, dn.Likelihood()), truth(size))
    assert not is_the_truth(decoded(survey, size, CellsForSymbols()), truth(size))
    # Where both orders are the same the mutant is right: only the order is wrong with it.
    assert is_the_truth(decoded(PRESETS["krr"](size), size, CellsForSymbols()), truth(size))
