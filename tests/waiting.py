"""Waiting for what must happen: until it has, however busy the machine is, and not for ever."""

import time
from collections.abc import Callable

__all__ = ["PATIENCE", "wait_for"]

PATIENCE = 300  # seconds after which something hangs; on a quiet machine everything that is waited for comes at once


def wait_for(done: Callable[[], object], what: str, *, rest: Callable[[], None] = lambda: time.sleep(0.01)) -> None:
    """Look again and again whether it is `done`, with a `rest` in between; `what` is what a test that hangs says."""
    end = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < end, f"waited in vain for {what}"
        rest()
