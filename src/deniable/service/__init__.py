"""The collector: an HTTP service that receives randomised reports and keeps tallies. It never holds a true answer.

Of a request it reads a report id, a day and a packed report. It stores ids, for as long as duplicates are possible, and
counts. It never imports `client`. The upload path imports only `survey`, `reports` and `tally`. Decoding runs in a
separate process.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deniable.service.backends import open_store, read_store
    from deniable.service.clock import hour_of
    from deniable.service.configuration import Options
    from deniable.service.copies import backup, merge, restore
    from deniable.service.entries import Rules, Token, Upload
    from deniable.service.problems import Unavailable
    from deniable.service.server import serve
    from deniable.service.store import Store
    from deniable.service.tokens import hash_of, new_secret

__all__ = [
    "Options",
    "Rules",
    "Store",
    "Token",
    "Unavailable",
    "Upload",
    "backup",
    "hash_of",
    "hour_of",
    "merge",
    "new_secret",
    "open_store",
    "read_store",
    "restore",
    "serve",
]

# Loaded on first use, so that the upload path loads nothing else: name -> the module of this room.
_LATE = {
    "Options": "configuration",
    "Rules": "entries",
    "Store": "store",
    "Token": "entries",
    "Unavailable": "problems",
    "Upload": "entries",
    "backup": "copies",
    "hash_of": "tokens",
    "hour_of": "clock",
    "merge": "copies",
    "new_secret": "tokens",
    "open_store": "backends",
    "read_store": "backends",
    "restore": "copies",
    "serve": "server",
}


def __getattr__(name: str) -> object:
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATE[name]}"), name)
