"""`deniable reproduce`: every experiment of the paper, its figures, and its claims checked against the numbers.

settings -> `tables` (run what is missing, in worker processes) -> `check` (the claims) -> `write` (figures and page)
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deniable.reproduce.cache import ResultCache
    from deniable.reproduce.claims import Claim, check
    from deniable.reproduce.experiments import tables
    from deniable.reproduce.figures import FIGURES
    from deniable.reproduce.page import write
    from deniable.reproduce.pool import Results
    from deniable.reproduce.settings import Settings

__all__ = ["FIGURES", "Claim", "ResultCache", "Results", "Settings", "check", "tables", "write"]

# Loaded on first use, so that a worker process loads what it computes and no figure: name -> the module of this room.
_LATE = {
    "FIGURES": "figures",
    "Claim": "claims",
    "Results": "pool",
    "Settings": "settings",
    "ResultCache": "cache",
    "check": "claims",
    "tables": "experiments",
    "write": "page",
}


def __getattr__(name: str) -> object:
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATE[name]}"), name)
