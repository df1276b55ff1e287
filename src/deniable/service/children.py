"""The processes that the collector starts: always this Python, and never code from the folder it happens to run in."""

import sys

__all__ = ["program"]


def program(module: str, *arguments: str) -> list[str]:
    """The command that runs a module of the package. Without -P a file `numpy.py` in the current folder would run.

    >>> program("deniable.service.worker")[1:]
    ['-P', '-m', 'deniable.service.worker']
    """
    return [sys.executable, "-P", "-m", module, *arguments]
