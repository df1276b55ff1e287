"""Theorem `thm:opt_bin`: private binary channels are garbled Warner responses, so none has a smaller minimax risk."""

import math
from collections.abc import Callable
from fractions import Fraction
from random import Random
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pytest
from scipy.optimize import linprog

import deniable as dn
from deniable.errors import DeniableError
from deniable.mechanisms import verify
from deniable.theory import factor_through_warner

Floats = npt.NDArray[np.float64]


def random_row(rng: Random, outputs: int) -> list[Fraction]:
    weights = [rng.choice((0, 1, 7, 20, rng.randint(0, 60))) for _ in range(outputs)]
    weights[rng.randrange(outputs)] += 1
    return [Fraction(w, sum(weights)) for w in weights]


def is_private(channel: list[list[Fraction]], odds: Fraction) -> bool:
    return all(a <= odds * b and b <= odds * a for a, b in zip(*channel, strict=True))


@pytest.mark.parametrize("outputs", [2, 3, 4, 7])
@pytest.mark.parametrize("odds", [Fraction(11, 10), Fraction(3), Fraction(20)])
def test_private_channels_factor_and_no_others(outputs: int, odds: Fraction) -> None:
    rng = Random(crc32(f"test_private_channels_factor_and_no_others {outputs} {odds}".encode()))
    warner = [[odds / (odds + 1), 1 / (odds + 1)], [1 / (odds + 1), odds / (odds + 1)]]
    seen = {True: 0, False: 0}
    for turn in range(400):
        first, second = random_row(rng, outputs), random_row(rng, outputs)
        if turn % 2:  # random rows are rarely private at small odds: here their ratios are, before and after scaling
            ratios = [1 + (odds - 1) * Fraction(rng.randint(0, 20), 20) for _ in first]
            total = sum((a * r for a, r in zip(first, ratios, strict=True)), start=Fraction(0))
            second = [a * r / total for a, r in zip(first, ratios, strict=True)]
        channel = [first, second]
        private = is_private(channel, odds)
        seen[private] += 1
        garbling = factor_through_warner(channel, odds)
        assert (garbling is not None) is private
        if garbling is not None:
            assert all(sum(row) == 1 and min(row) >= 0 and max(row) <= 1 for row in garbling)
            product = [
                [sum((warner[x][z] * garbling[z][y] for z in range(2)), start=Fraction(0)) for y in range(outputs)]
                for x in range(2)
            ]
            assert product == channel
    assert min(seen.values()) > 30


def test_garblings_of_warner_are_private() -> None:
    """The converse: whatever is done to Warner's reports stays private, as the exact verifier agrees."""
    rng = Random(crc32(b"test_garblings_of_warner_are_private"))
    for _ in range(200):
        garbling = [random_row(rng, 3), random_row(rng, 3)]
        rows = [
            [Fraction(3, 4) * a + Fraction(1, 4) * b for a, b in zip(garbling[x], garbling[1 - x], strict=True)]
            for x in range(2)
        ]
        assert factor_through_warner(rows, Fraction(3)) == (tuple(garbling[0]), tuple(garbling[1]))
        scale = math.lcm(*(entry.denominator for row in rows for entry in row))
        assert verify([[int(entry * scale) for entry in row] for row in rows], "1.0986122886681099")


def test_every_survey_over_two_symbols_factors() -> None:
    """W-RR and k-RAPPOR with two symbols, as this package realises them, at their own realised odds."""
    for survey in (dn.warner(epsilon=1), dn.krappor(symbols=2, epsilon=1)):
        mechanism = survey.mechanism
        rows = [[mechanism.probability(y, (x,)) for y in range(mechanism.outputs)] for x in range(2)]
        assert factor_through_warner(rows, mechanism.odds) is not None
        assert factor_through_warner(rows, mechanism.odds * Fraction(99, 100)) is None


def test_refusals() -> None:
    half = Fraction(1, 2)
    with pytest.raises(DeniableError, match=r"^odds must be greater than 1, got 1; at odds 1 a report says nothing$"):
        factor_through_warner([[half, half], [half, half]], Fraction(1))
    with pytest.raises(DeniableError, match=r"^channel must have two rows of one length, one for each input$"):
        factor_through_warner([[half, half]], Fraction(2))
    sentence = "channel rows must be non-negative and sum to exactly 1; give them as Fractions"
    with pytest.raises(DeniableError, match=f"^{sentence}$"):
        factor_through_warner([[half, half], [half, Fraction(1, 3)]], Fraction(2))


LOSSES: dict[str, Callable[[Floats, Floats], Floats]] = {
    "squared": lambda p, q: (p - q) ** 2,
    "absolute": lambda p, q: np.abs(p - q),
    "zero-one": lambda p, q: (np.abs(p - q) > 0.15).astype(np.float64),
    "asymmetric": lambda p, q: p * np.abs(p - q),
}


def minimax_value(channel: Floats, loss: Callable[[Floats, Floats], Floats], n: int) -> float:
    """The minimax risk over randomised estimators from n reports of a 2 x 2 channel, on a grid of populations.

    A finite game: for every count t the estimator picks a law over the grid; the value is a linear program.
    """
    grid = np.linspace(0, 1, 11)
    m = grid * channel[0, 0] + (1 - grid) * channel[1, 0]
    t = np.arange(n + 1)
    ways = np.array([math.comb(n, i) for i in t])
    law = ways * m[:, None] ** t * (1 - m[:, None]) ** (n - t)
    cost = np.einsum("pt,pj->ptj", law, loss(grid[:, None], grid[None, :])).reshape(len(grid), -1)
    solved = linprog(
        np.r_[np.zeros(cost.shape[1]), 1.0],
        A_ub=np.c_[cost, -np.ones(len(grid))],
        b_ub=np.zeros(len(grid)),
        A_eq=np.c_[np.kron(np.eye(n + 1), np.ones(len(grid))), np.zeros(n + 1)],
        b_eq=np.ones(n + 1),
        bounds=[(0, 1)] * cost.shape[1] + [(None, None)],
    )
    assert solved.success
    return float(solved.fun)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("n", [1, 4])
def test_no_private_channel_has_a_smaller_minimax_risk_than_warner(name: str, n: int) -> None:
    rng = np.random.default_rng(crc32(f"test_no_private_channel {name} {n}".encode()))
    warner = np.array([[0.75, 0.25], [0.25, 0.75]])
    best = minimax_value(warner, LOSSES[name], n)
    for _ in range(8):
        rival = warner @ rng.dirichlet([1, 1], 2)
        assert minimax_value(rival, LOSSES[name], n) >= best - 1e-9
    # A channel that spends more than Warner's epsilon is not bound by the theorem, and wins.
    assert minimax_value(np.array([[0.9, 0.1], [0.1, 0.9]]), LOSSES[name], n) < best - 1e-3
