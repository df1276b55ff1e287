"""multi-freq-ldpy, used as its own notebooks do: one client call a person, one aggregator call on the list."""

from collections.abc import Callable
from typing import Any

from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_IBU, GRR_Aggregator_MI, GRR_Client
from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Aggregator_IBU, LH_Aggregator_MI, LH_Client
from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Aggregator_IBU, SS_Aggregator_MI, SS_Client
from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_IBU, UE_Aggregator_MI, UE_Client

DECODERS = {"clipped": 0, "iterated Bayes": 1}


def make(
    mechanism: str, symbols: int, epsilon: float
) -> tuple[Callable[[int], Any], Callable[[Any, str], list[float]]]:
    aggregators: tuple[Callable[..., Any], Callable[..., Any]]
    if mechanism == "GRR":
        aggregators = GRR_Aggregator_MI, GRR_Aggregator_IBU
        encode = lambda value: GRR_Client(value, symbols, epsilon)  # noqa: E731
    elif mechanism in ("SUE", "OUE"):
        optimal = mechanism == "OUE"
        encode = lambda value: UE_Client(value, symbols, epsilon, optimal)  # noqa: E731
        aggregators = (
            lambda reports, k, eps: UE_Aggregator_MI(reports, eps, optimal),
            lambda reports, k, eps: UE_Aggregator_IBU(reports, k, eps, optimal),
        )
    elif mechanism == "OLH":
        encode = lambda value: LH_Client(value, symbols, epsilon)  # noqa: E731
        aggregators = LH_Aggregator_MI, LH_Aggregator_IBU
    elif mechanism == "SS":
        encode = lambda value: SS_Client(value, symbols, epsilon)  # noqa: E731
        aggregators = SS_Aggregator_MI, SS_Aggregator_IBU
    else:
        raise NotImplementedError
    return encode, lambda reports, decoder: aggregators[DECODERS[decoder]](reports, symbols, epsilon).tolist()


def cells(mechanism: str, report: Any) -> list[int]:
    """The cells that a report names, for an audit, in the order in which they are sent."""
    if mechanism == "GRR":
        return [int(report)]
    if mechanism == "SS":
        return [int(cell) for cell in report]
    return [place for place, bit in enumerate(report) if bit]
