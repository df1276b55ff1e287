"""What the formulas refuse, and in which words."""

import re
from collections.abc import Callable

import numpy as np
import pytest

import deniable as dn
from deniable import theory
from deniable.errors import DeniableError, SurveyError

UNIFORM = [0.25] * 4
ORR = dn.orr(epsilon=1, cells=4, cohorts=2, seed=bytes(16))
CLOSED = dn.orr(symbols=4, epsilon=1, cells=2, cohorts=8, seed=bytes(16))
KRR = dn.krr(symbols=4, epsilon=1)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: theory.krr_l2("often", 1, 10), "p must be a list of numbers, got str; give one probability a symbol"),
        (
            lambda: theory.krr_l2([[0.5, 0.5]], 1, 10),
            "p must have one entry for each of at least 2 symbols, got shape (1, 2)",
        ),
        (lambda: theory.krr_l2([1.0], 1, 10), "p must have one entry for each of at least 2 symbols, got shape (1,)"),
        (lambda: theory.krr_l2([0.5, -0.5, 1.0], 1, 10), "p must be finite and non-negative, got -0.5 at position 1"),
        (lambda: theory.ml_l2([0.5, np.nan], 10), "p must be finite and non-negative, got nan at position 1"),
        (lambda: theory.ml_l1([0.5, 0.4], 10), "p must sum to one within 1e-9, got 0.9; divide it by its sum"),
        (
            lambda: theory.l2_risk(KRR, [0.5, 0.5], 10),
            "p must have one entry for each of 4 symbols, got shape (2,); keep the order of the symbols and give 0 to "
            "those that do not occur",
        ),
        (lambda: theory.l2_risk(KRR, UNIFORM, 0), "n must be at least 1, got 0"),
        (lambda: theory.l1_risk(KRR, UNIFORM, 2**53 + 1), f"n must be at most {2**53}, got {2**53 + 1}"),
        (lambda: theory.l1_risk(KRR, UNIFORM, 1e6), "n must be an integer, got float; write int(n)"),  # type: ignore[arg-type]
        (lambda: theory.l1_risk(KRR, UNIFORM, True), "n must be an integer, got bool; write int(n)"),
        (lambda: theory.l1_risk(KRR, UNIFORM, 0, exact=True), "n must be at least 1, got 0"),
        (
            lambda: theory.l2_risk(ORR, UNIFORM, 10),
            "symbols must be given for an open alphabet, got None; name the candidates that p is about",
        ),
        (
            lambda: theory.l2_risk(CLOSED, UNIFORM, 10, symbols=range(4)),
            "symbols must not be given for a closed alphabet; give p over its symbols, in their order",
        ),
        (
            lambda: theory.l1_risk(CLOSED, UNIFORM, 10, exact=True),
            "exact must be False for O-RR (closed), got True; only where each symbol has its own cells in one block "
            "is the error of each estimate a binomial's",
        ),
        (
            lambda: theory.l1_risk(dn.hadamard(symbols=4, epsilon=1, blocks=2), UNIFORM, 10, exact=True),
            "exact must be False for HR, got True; only where each symbol has its own cells in one block "
            "is the error of each estimate a binomial's",
        ),
        (lambda: theory.krr_l2_worst(1, 1, 10), "k must be at least 2, got 1"),
        (lambda: theory.crossover(1), "k must be at least 2, got 1"),
        (lambda: theory.rank_bound(1, 4), "cells must be at least 2, got 1"),
        (lambda: theory.equations(2, 0), "cohorts must be at least 1, got 0"),
        (lambda: theory.recoverable_mass(0, 2, 2), "symbols must be at least 1, got 0"),
        (
            lambda: theory.cells_to_the_cohorts(10, 1.0),
            "mass must be between 0 and 1, both excluded, got 1.0; no finite k**C recovers it all",
        ),
        (
            lambda: theory.private_minimax_l2(4, 1.5, 10, c_lower=0.1, c_upper=4),
            "epsilon must be at most 1 for these bounds, got 1.5; the paper proves them there only",
        ),
        (
            lambda: theory.private_minimax_l1(4, 1, 10, c_lower=2, c_upper=1),
            "c_lower and c_upper must obey 0 < c_lower <= c_upper < 5, got 2 and 1",
        ),
    ],
)
def test_refusals_say_what_is_wrong(call: Callable[[], object], sentence: str) -> None:
    with pytest.raises(DeniableError, match=f"^{re.escape(sentence)}$"):
        call()


@pytest.mark.parametrize("epsilon", [0, -1.0, float("nan"), float("inf"), "many", None, 1e-12])
def test_an_epsilon_that_no_survey_takes_is_refused(epsilon: object) -> None:
    with pytest.raises(SurveyError, match=r"^epsilon must be "):
        theory.krr_l2(UNIFORM, epsilon, 10)


def test_a_sum_within_rounding_is_accepted() -> None:
    p = np.full(1000, 1 / 1000) * (1 + 5e-10)
    assert theory.ml_l2(p, 10) == pytest.approx(theory.ml_l2_worst(1000, 10), rel=1e-8)


def test_every_public_name_is_listed_once_and_documented_with_an_example() -> None:
    assert theory.__all__ == sorted(set(theory.__all__))
    for name in theory.__all__:
        assert ">>> " in (getattr(theory, name).__doc__ or ""), name
