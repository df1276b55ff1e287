"""Logs when the store becomes unavailable and when it is back: two lines, not one for each request."""

import logging

from deniable.service.problems import Unavailable

_log = logging.getLogger("deniable.service")


class Health:
    """What is known about one way to the store; `what` is what it cannot do.

    >>> health = Health("written")
    >>> health.bad(Unavailable("the disk is full")), health.why
    (None, 'the disk is full')
    >>> health.good(), health.why
    (None, None)
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self.why: str | None = None

    def bad(self, problem: Unavailable) -> None:
        """Note a failure; the same one again is no news."""
        why = problem.detail or str(problem)
        if why != self.why:
            _log.warning(f"the store cannot be {self._what}", extra={"fields": {"event": "unavailable", "why": why}})
        self.why = why

    def good(self) -> None:
        """Note that it works."""
        if self.why is not None:
            _log.info(f"the store can be {self._what} again", extra={"fields": {"event": "available"}})
            self.why = None
