"""A thread pool with one thread per core, for kernels that release the interpreter's lock."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

_POOL: list[ThreadPoolExecutor] = []
# A forked child has no threads of its parent's pool: it starts its own.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_POOL.clear)


def on_every_core(work: Callable[[Any], Any], pieces: Sequence[Any]) -> list[Any]:
    """The results of `work` for each piece, in order.

    >>> on_every_core(abs, [-1, 2, -3])
    [1, 2, 3]
    """
    if len(pieces) == 1:
        return [work(pieces[0])]
    if not _POOL:
        _POOL.append(ThreadPoolExecutor(os.cpu_count()))
    others = [_POOL[0].submit(work, piece) for piece in pieces[1:]]
    return [work(pieces[0]), *(other.result() for other in others)]  # the caller works, too: a hand-over less
