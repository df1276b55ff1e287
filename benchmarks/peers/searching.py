"""Texts that nobody listed, found by pure-ldp's PEM, TreeHist and SFP; runs inside that library's environment.

All three use its count-mean sketch: with its other oracles a candidate costs a pass over all reports. Alphabets are
lists, but SFP, which adds its padding to one, takes a set.
"""

import logging
import warnings
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pure_ldp.core._freq_oracle_server as core
from pure_ldp.frequency_oracles.apple_cms import CMSClient, CMSServer
from pure_ldp.heavy_hitters.apple_sfp import SFPClient, SFPServer
from pure_ldp.heavy_hitters.prefix_extending import PEMClient, PEMServer
from pure_ldp.heavy_hitters.treehistogram import TreeHistClient, TreeHistServer

METHODS = ("PEM", "TreeHist", "SFP")
ROWS, CELLS = 128, 1024  # hash functions of the sketch, and bits of a report
AT_ONCE = 4096  # reports


class _OlderNumpy:
    """NumPy as the library knows it: its sketch has no size, and asks for zeros of the shape None."""

    zeros = staticmethod(lambda shape=None: np.zeros(() if shape is None else shape))

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


core.np = _OlderNumpy()
logging.disable(logging.WARNING)
warnings.simplefilter("ignore")


def _most_memory() -> float:
    """MiB of this process at its largest; `getrusage` would remember those of its parent."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def found(method: str, people: dict[str, int], epsilon: float, letters: str, fragment: int, top: int) -> dict[str, Any]:
    """The texts that are found, the most frequent first; CPU seconds of clients, and of the collector; MiB.

    Texts have one length. Twice as many beginnings are kept as texts are wanted.
    """
    length = len(next(iter(people)))
    sketch = CMSServer(epsilon, ROWS, CELLS)
    one = CMSClient(epsilon, sketch.get_hash_funcs(), CELLS)
    given: dict[str, Any] = {"max_string_length": length, "fragment_length": fragment, "index_mapper": str}
    kinds: dict[str, tuple[Any, Any, dict[str, Any]]] = {
        "PEM": (PEMClient, PEMServer, {"start_length": 0, "alphabet": list(letters)}),
        "TreeHist": (TreeHistClient, TreeHistServer, {"alphabet": list(letters)}),
        "SFP": (SFPClient, SFPServer, {"alphabet": set(letters)}),
    }
    client_of, server_of, more = kinds[method]
    client = client_of(epsilon, fo_client=one, **given, **more)
    server = server_of(epsilon, fo_server=sketch, **given, **more)
    answers = [text for text, count in people.items() for _ in range(count)]
    clients, start = 0.0, process_time()
    for first in range(0, len(answers), AT_ONCE):  # a report is 8 kB
        began = process_time()
        reports = [client.privatise(answer) for answer in answers[first : first + AT_ONCE]]
        clients += process_time() - began
        for report in reports:
            server.aggregate(report)
    named, shares = server.find_heavy_hitters(k=2 * top)
    best = sorted(zip(map(str, named), map(float, shares), strict=True), key=lambda pair: -pair[1])[:top]
    return {
        "found": [text.strip("*") for text, _ in best],
        "clients": clients,
        "seconds": process_time() - start - clients,
        "memory": _most_memory(),
    }
