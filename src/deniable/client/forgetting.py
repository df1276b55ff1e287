"""Runs code on answers and secrets so that an exception, whatever raises it, holds no frame of that code.

Programs that report errors send the local variables of all frames along, so no frame of a traceback may hold an answer
or the device's secret. An exception may come at any point: a signal, a time limit, randomness that fails.
"""

import sys
from collections.abc import Callable
from typing import ParamSpec, TypeVar

__all__ = ["forgetting"]

P = ParamSpec("P")
T = TypeVar("T")


def forgetting(work: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
    """What `work` returns. An exception that it raises is passed on without its frames and without its arguments.

    >>> forgetting(int, "7")
    7
    """
    before = sys.exception()
    try:
        return work(*given, **named)
    except BaseException as error:
        problem = error
        link: BaseException | None = error
        while link is not None and link is not before:  # exceptions raised while another one was handled
            link.__traceback__ = None
            link = link.__context__
    finally:
        del given, named, work
    try:
        raise problem
    finally:
        del problem, before  # a cycle of an exception and its own frame would be freed late
