"""OpenDP's randomisers for one categorical answer, used as its documentation does. For k-RR it has no estimator."""

import math
from collections.abc import Callable
from typing import Any

import opendp.prelude as dp

DECODERS = {"unbiased": 0}
dp.enable_features("contrib")


def make(
    mechanism: str, symbols: int, epsilon: float
) -> tuple[Callable[[int], Any], Callable[[Any, str], list[float]] | None]:
    if mechanism == "GRR":
        keep = math.exp(epsilon) / (math.exp(epsilon) + symbols - 1)
        return dp.m.make_randomized_response(list(range(symbols)), keep), None
    if mechanism == "SUE":
        # Its f is twice the chance that a bit flips, and the loss of a one-hot vector 2 ln((2 - f) / f).
        f = 2 / (math.exp(epsilon / 2) + 1)
        space = dp.bitvector_domain(max_weight=1), dp.discrete_distance()
        flip = dp.m.make_randomized_response_bitvec(*space, f)
        hot = [(1 << value).to_bytes((symbols + 7) // 8, "little") for value in range(symbols)]
        return lambda value: flip(hot[value]), lambda reports, decoder: _mean(reports, f)
    raise NotImplementedError


def _mean(reports: Any, f: float) -> list[float]:
    found = dp.m.debias_randomized_response_bitvec(reports, f)
    return [float(value) / len(reports) for value in found]


def cells(mechanism: str, report: Any) -> list[int]:
    """The cells that a report names, for an audit."""
    if mechanism == "GRR":
        return [int(report)]
    bits = int.from_bytes(report, "little")
    return [place for place in range(8 * len(report)) if bits >> place & 1]
