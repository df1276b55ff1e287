"""The collector: an HTTP door to tallies, and nothing that could hold a true answer.

What it reads from a request is a report id, a day and a packed report; what it keeps is ids (until they may be
forgotten) and counts. It never imports `client`, and everything between the socket and the store sees only `survey`,
`reports` and `tally`; decoding happens in a process of its own.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deniable.service.backends import open_store, read_store
    from deniable.service.clock import hour_of
    from deniable.service.copies import backup, merge, restore
    from deniable.service.entries import Rules, Token, Upload
    from deniable.service.problems import Unavailable
    from deniable.service.server import Options, serve
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
    "Options": "server",
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
