"""ldp-toolbox, used as its own README does: one `obfuscate` a person, one `estimate` on the list."""

from collections.abc import Callable
from typing import Any

from ldp_toolbox.protocols.frequency.grr import GeneralizedRandomizedResponse
from ldp_toolbox.protocols.frequency.lh import LocalHashing
from ldp_toolbox.protocols.frequency.ss import SubsetSelection
from ldp_toolbox.protocols.frequency.ue import UnaryEncoding

DECODERS = {"clipped": 0}


def make(
    mechanism: str, symbols: int, epsilon: float
) -> tuple[Callable[[int], Any], Callable[[Any, str], list[float]]]:
    if mechanism == "GRR":
        protocol = GeneralizedRandomizedResponse(symbols, epsilon)
    elif mechanism in ("SUE", "OUE"):
        protocol = UnaryEncoding(symbols, epsilon, mechanism == "OUE")
    elif mechanism == "OLH":
        protocol = LocalHashing(symbols, epsilon)
    elif mechanism == "SS":
        protocol = SubsetSelection(symbols, epsilon)
    else:
        raise NotImplementedError
    return protocol.obfuscate, lambda reports, decoder: protocol.estimate(reports).tolist()


def cells(mechanism: str, report: Any) -> list[int]:
    """The cells that a report names, for an audit, in the order in which they are sent."""
    if mechanism == "GRR":
        return [int(report)]
    if mechanism == "SS":
        return [int(cell) for cell in report]
    return [place for place, bit in enumerate(report) if bit]
