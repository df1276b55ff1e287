"""Plans take seconds: the processor's, so that a busy machine is no failure."""

import time
from typing import Any

import pytest

import deniable as dn

MOST = 5.0
QUESTIONS: list[dict[str, Any]] = [
    {"n": 10**6, "symbols": 2, "max_error": 0.01},
    {"n": 10**6, "candidates": 25, "epsilon": 6},
    {"epsilon": 3.2, "candidates": 256, "max_l2": 0.0018, "shape": "uniform"},
    {"n": 10**7, "symbols": 700, "max_l2": 0.01, "shape": "zipf:2"},
    {"n": 10**8, "candidates": 1024, "max_error": 0.005},
    {"epsilon": 0.33, "symbols": 2048, "max_l2": 0.057},
    {"epsilon": 1, "symbols": 4096, "visible": 0.002},
    {"n": 10**8, "symbols": 4096, "max_l1": 0.2},
    {"n": 10**8, "candidates": 4096, "max_l1": 0.2},
    {"epsilon": 7, "candidates": 4096, "max_l2": 3e-4, "shape": "zipf:2"},
]


@pytest.mark.parametrize("question", QUESTIONS, ids=str)
def test_every_question_is_answered_in_seconds(question: dict[str, Any]) -> None:
    start = time.process_time()
    dn.plan(**question)
    assert time.process_time() - start < MOST
