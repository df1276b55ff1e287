"""pure-ldp, used as its own README does: one `privatise` a person, one `aggregate` a report."""

import logging
import math
import warnings
from collections.abc import Callable
from typing import Any

from pure_ldp.frequency_oracles.direct_encoding import DEClient, DEServer
from pure_ldp.frequency_oracles.hadamard_response import HadamardResponseClient, HadamardResponseServer
from pure_ldp.frequency_oracles.local_hashing import FastLHClient, FastLHServer, LHClient, LHServer
from pure_ldp.frequency_oracles.rappor import RAPPORClient
from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer

DECODERS = {"unbiased": 0, "projected": 2}
HASHES = 1024  # the hash functions of its fast variant: as many as our cohorts
logging.disable(logging.WARNING)
warnings.simplefilter("ignore")


def same(value: int) -> int:
    return value


def client(mechanism: str, symbols: int, epsilon: float) -> tuple[Callable[[int], Any], Callable[[], Any]]:
    """What makes a report, and what makes a new server."""
    kw = {"epsilon": epsilon, "d": symbols, "index_mapper": same}
    if mechanism == "GRR":
        return DEClient(**kw).privatise, lambda: DEServer(**kw)
    if mechanism in ("SUE", "OUE"):
        kw["use_oue"] = mechanism == "OUE"
        return UEClient(**kw).privatise, lambda: UEServer(**kw)
    if mechanism == "OLH":
        return LHClient(use_olh=True, **kw).privatise, lambda: LHServer(use_olh=True, **kw)
    if mechanism == "OLH, few hashes":
        kw |= {"use_olh": True, "k": HASHES}
        return FastLHClient(**kw).privatise, lambda: FastLHServer(**kw)
    if mechanism == "HR":
        first = HadamardResponseServer(**kw)  # it draws a permutation, which its clients must share

        def emptied() -> Any:
            first.reset()
            return first

        return HadamardResponseClient(hash_funcs=first.get_hash_funcs(), **kw).privatise, emptied
    if mechanism == "RAPPOR":
        # One cohort, one hash function, and that the identity: RAPPOR without its Bloom filter.
        f = 1 / (0.5 * math.exp(epsilon / 2) + 0.5)
        return RAPPORClient(f, symbols, [[int]], 1, index_mapper=same).privatise, lambda: None
    raise NotImplementedError


def make(
    mechanism: str, symbols: int, epsilon: float
) -> tuple[Callable[[int], Any], Callable[[Any, str], list[float]]]:
    encode, server = client(mechanism, symbols, epsilon)

    def estimate(reports: Any, decoder: str) -> list[float]:
        here = server()
        here.aggregate_all(reports)
        found = here.estimate_all(range(symbols), suppress_warnings=True, normalization=DECODERS[decoder])
        return [float(value) / len(reports) for value in found]

    return encode, estimate


def cells(mechanism: str, report: Any) -> list[int]:
    """The cells that a report names, for an audit."""
    if mechanism == "RAPPOR":
        report = report[0]
    return [int(report)] if mechanism == "GRR" else [place for place, bit in enumerate(report) if bit]
