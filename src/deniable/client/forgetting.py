"""Work on answers and secrets that may be ended at any point: by a signal, a time limit, randomness that fails.

Programs that report errors send the local names of all frames along, so an error must not hold a frame that has seen an
answer or the device's secret.
"""

import sys
from collections.abc import Callable
from typing import ParamSpec, TypeVar

__all__ = ["forgetting"]

P = ParamSpec("P")
T = TypeVar("T")


def forgetting(work: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
    """What `work` returns; the error that ends it has no frame of it, and none that holds what it was given.

    >>> forgetting(int, "7")
    7
    """
    before = sys.exception()
    try:
        return work(*given, **named)
    except BaseException as error:
        problem = error
        link: BaseException | None = error
        while link is not None and link is not before:  # a second one, while the first was seen to
            link.__traceback__ = None
            link = link.__context__
    finally:
        del given, named, work
    try:
        raise problem
    finally:
        del problem, before  # an error that its own frame holds is freed late
