"""The routes of the collector: their paths, their parameters, and the least role that may use each.

Anyone (`public`), the holder of a survey's read token or anyone where its rules say so (`read`), the holder of its
owner token, who asked the question (`owner`), or the administrator (`admin`). Uploads take their own short way.
"""

import re
from dataclasses import dataclass

from deniable.service import questions, trend
from deniable.service.problems import Answer, Headers, RequestError

__all__ = ["ROUTES", "UPLOAD", "Route", "find", "preflight"]

UPLOAD = re.compile(r"/v1/surveys/([0-9a-f]{64})/reports")
_SURVEY = "/v1/surveys/{digest}"


@dataclass(frozen=True, slots=True)
class Route:
    """One method of one path: its name, who may use it, and its parameters."""

    name: str
    method: str
    path: str
    role: str
    parameters: frozenset[str] = frozenset()

    @property
    def pattern(self) -> "re.Pattern[str]":
        return re.compile(self.path.replace("{digest}", "(?P<digest>[0-9a-f]{64})").replace(
            "{token}", "(?P<token>[0-9a-f]{16})"
        ))  # fmt: skip


ROUTES = (
    Route("health", "GET", "/healthz", "public"),
    Route("ready", "GET", "/readyz", "public"),
    Route("openapi", "GET", "/openapi.json", "public"),
    Route("metrics", "GET", "/metrics", "admin"),
    Route("collector", "GET", "/v1/collector", "public"),
    Route("plan", "POST", "/v1/plan", "admin"),
    Route("list", "GET", "/v1/surveys", "admin"),
    Route("create", "POST", "/v1/surveys", "admin"),
    Route("survey", "GET", _SURVEY, "public"),
    Route("change", "PATCH", _SURVEY, "owner"),
    Route("delete", "DELETE", _SURVEY, "owner"),
    Route("close", "POST", _SURVEY + "/close", "owner"),
    Route("reopen", "POST", _SURVEY + "/reopen", "owner"),
    Route("upload", "POST", _SURVEY + "/reports", "upload", frozenset({"day", "batch"})),
    Route("tokens", "GET", _SURVEY + "/tokens", "admin"),
    Route("add_token", "POST", _SURVEY + "/tokens", "admin"),
    Route("drop_token", "DELETE", _SURVEY + "/tokens/{token}", "admin"),
    Route("counters", "GET", _SURVEY + "/counters", "admin"),
    Route("windows", "GET", _SURVEY + "/windows", "read"),
    Route("tally", "GET", _SURVEY + "/tally", "read", questions.RANGE),
    Route("estimate", "GET", _SURVEY + "/estimate", "read", questions.PARAMETERS),
    Route("estimate_post", "POST", _SURVEY + "/estimate", "read"),
    Route("trend", "GET", _SURVEY + "/trend", "read", trend.PARAMETERS),
    Route("trend_post", "POST", _SURVEY + "/trend", "read"),
    Route("difference", "GET", _SURVEY + "/difference", "read", questions.PARAMETERS | questions.SECOND),
    Route("difference_post", "POST", _SURVEY + "/difference", "read"),
)
_PATTERNS = [(route, route.pattern) for route in ROUTES]


def find(method: str, path: str) -> tuple[Route, dict[str, str]]:
    """The route of a request and the parts of its path."""
    wanted = "GET" if method == "HEAD" else method
    allowed = []
    for route, pattern in _PATTERNS:
        if found := pattern.fullmatch(path):
            if route.method == wanted:
                return route, found.groupdict()
            allowed.append(route.method)
    if allowed:
        raise RequestError(405, "method", f"method must be one of {', '.join(sorted(allowed))} here")
    raise RequestError(404, "unknown-path", "there is nothing here; see /openapi.json")


def preflight(path: str) -> Answer:
    """What a browser asks before a page of another origin may use a path."""
    methods = sorted({route.method for route, pattern in _PATTERNS if pattern.fullmatch(path)})
    if not methods:
        raise RequestError(404, "unknown-path", "there is nothing here; see /openapi.json")
    headers: Headers = [
        (b"access-control-allow-methods", ", ".join(methods).encode()),
        (b"access-control-allow-headers", b"authorization, content-type"),
        (b"access-control-max-age", b"86400"),
    ]
    return Answer(204, b"", headers=headers)
