"""A route of the collector, declared once, and what follows from the declaration: which request is for it, what a
browser may know before it asks, what its handler is given, and its part of the OpenAPI document (`openapi`).

Not to be confused with `routes`, the table of them.
"""

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, get_args, get_origin, get_type_hints

from msgspec import Struct

from deniable.service.answers import Answer, Headers
from deniable.service.inputs import names_of
from deniable.service.models import Input
from deniable.service.problems import RequestError

PATH_PARTS = {"digest": "[0-9a-f]{64}", "token": "[0-9a-f]{16}"}  # what stands in braces in a path
_WITH_BODY = ("POST", "PATCH")


@dataclass(frozen=True)
class Route:
    """One method of one path.

    Parameters
    ----------
    method, path
        What a request names. A part of the path in braces is one of `PATH_PARTS`.
    role
        The least that may use it: anyone (`public`), a reader of the survey's results (`read`), the owner of the survey
        (`owner`), the administrator (`admin`), or a sender of reports (`upload`, which `uploads` judges).
    handler
        An async function of the collector and of any of: `entry`, the survey of the path; `role`, which whoever asks
        has; `token`, a part of the path; `given`, a model that is read from the query of a GET, or from the JSON body
        of another method. It returns an `Answer` of a model, or the model.
    summary
        What it does, for the document.
    name
        How metrics and the document call it; that of the handler, unless given.
    statuses
        With which it may succeed.
    problems
        Statuses of refusals beside those that follow from the role, the path and the body.
    ends_with_caller
        It may take long, and nobody else needs the answer: stop when whoever asked is gone.
    query, body, answer
        The models of a route without a handler, which the application answers itself; else they are those of the
        handler.
    binary_body
        Whether the body may also be an octet stream.
    """

    method: str
    path: str
    role: str
    handler: Callable[..., Awaitable[Any]] | None
    summary: str
    name: str = ""
    statuses: tuple[int, ...] = (200,)
    problems: tuple[int, ...] = ()
    ends_with_caller: bool = False
    query: type[Input] | None = None
    body: type[Input] | None = None
    answer: Any = None
    binary_body: bool = False
    wants: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.handler is None:
            return
        hints = get_type_hints(self.handler, include_extras=True)
        found = hints.pop("return")
        known: dict[str, Any] = {
            "name": self.name or self.handler.__name__,
            "answer": get_args(found)[0] if get_origin(found) is Answer else found,
            "body" if self.takes_body else "query": hints.get("given"),
            "wants": tuple(name for name in hints if name != "collector"),
        }
        for name, value in known.items():
            object.__setattr__(self, name, value)

    @property
    def parameters(self) -> frozenset[str]:
        """The names of the query."""
        return frozenset(names_of(self.query))

    @cached_property
    def pattern(self) -> "re.Pattern[str]":
        """The paths that are for this route."""
        return re.compile(re.sub(r"{(\w+)}", lambda part: f"(?P<{part[1]}>{PATH_PARTS[part[1]]})", self.path))

    @property
    def takes_body(self) -> bool:
        """Whether the body of a request must be read, even where nothing in it is needed."""
        return self.method in _WITH_BODY

    async def answered(self, collector: object, **available: object) -> Answer[Any]:
        """Call the handler with what it asks for."""
        assert self.handler is not None
        found = await self.handler(collector, **{name: available[name] for name in self.wants})
        if isinstance(found, Struct):
            return Answer.of(found, self.statuses[0])
        assert isinstance(found, Answer)
        return found


class Router:
    """Routes, by method and path."""

    def __init__(self, routes: Sequence[Route]) -> None:
        self.routes = tuple(routes)

    def find(self, method: str, path: str) -> tuple[Route, dict[str, str]]:
        """The route of a request and the parts of its path."""
        here = self._at(path)
        wanted = "GET" if method == "HEAD" else method
        for route, parts in here:
            if route.method == wanted:
                return route, parts
        raise RequestError(405, "method", f"method must be one of {', '.join(_methods(here))} here")

    def preflight(self, path: str) -> Answer[None]:
        """What a browser asks before a page of another origin may use a path."""
        headers: Headers = [
            (b"access-control-allow-methods", ", ".join(_methods(self._at(path))).encode()),
            (b"access-control-allow-headers", b"authorization, content-type"),
            (b"access-control-max-age", b"86400"),  # seconds
        ]
        return Answer(204, b"", headers=headers)

    def _at(self, path: str) -> list[tuple[Route, dict[str, str]]]:
        found = [(route, match.groupdict()) for route in self.routes if (match := route.pattern.fullmatch(path))]
        if not found:
            raise RequestError(404, "unknown-path", "there is nothing here; see /openapi.json")
        return found


def _methods(found: list[tuple[Route, dict[str, str]]]) -> list[str]:
    return sorted({route.method for route, _ in found})
