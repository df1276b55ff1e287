"""The OpenAPI document: every route with its parameters, bodies and answers. Tests send what it allows and what not."""

from typing import Any

from deniable.service.schemas import DAY, DIGEST, ID, NAMES, RANGE, SCHEMAS, SECOND, TOKEN

__all__ = ["document"]

_Json = dict[str, Any]


def _ref(name: str) -> _Json:
    return {"$ref": f"#/components/schemas/{name}"}


def _problems(*statuses: int) -> _Json:
    content = {"application/problem+json": {"schema": _ref("Problem")}}
    return {str(status): {"description": "an RFC 9457 problem", "content": content} for status in statuses}


def _json(description: str, schema: _Json, status: int = 200) -> _Json:
    return {str(status): {"description": description, "content": {"application/json": {"schema": schema}}}}


def _list(name: str, items: _Json) -> _Json:
    return {"type": "object", "required": [name], "properties": {name: {"type": "array", "items": items}}}


def _query(schemas: _Json) -> list[_Json]:
    return [{"name": name, "in": "query", "schema": schema} for name, schema in schemas.items()]


def _operation(
    name: str,
    summary: str,
    responses: _Json,
    *,
    role: str = "public",
    query: _Json | None = None,
    body: _Json | None = None,
    optional: bool = False,
) -> _Json:
    made: _Json = {"operationId": name, "summary": summary, "responses": responses}
    if role == "public":
        made["security"] = []
    else:
        nobody: list[_Json] = [{}] if role in ("read", "upload") else []
        made["security"] = [*nobody, {"bearer": []}]
        made["responses"] = responses | _problems(401, 403)
    if query:
        made["parameters"] = _query(query)
    if body:
        made["requestBody"] = {"required": not optional, "content": body}
    made["responses"] |= _problems(400, 503)
    return made


def _estimate(name: str, summary: str, schema: str, *, query: _Json | None = None, body: _Json | None = None) -> _Json:
    content: _Json = {
        "application/json": {"schema": _ref(schema)},
        "text/csv": {"schema": {"type": "string"}},
        "application/vnd.apache.arrow.stream": {"schema": {"type": "string", "format": "binary"}},
    }
    responses = {"200": {"description": "shares with error bars", "content": content}}
    responses |= _problems(404, 408, 409, 413, 422)
    return _operation(name, summary, responses, role="read", query=query, body=body)


def _trend(name: str, summary: str, *, query: _Json | None = None, body: _Json | None = None) -> _Json:
    responses = _json("windows", _list("windows", {"type": "object"})) | _problems(404, 408, 409, 413, 422)
    return _operation(name, summary, responses, role="read", query=query, body=body)


def _as_json(schema: str) -> _Json:
    return {"application/json": {"schema": _ref(schema)}}


def document() -> _Json:
    """The whole document."""
    from deniable import __version__

    listed = {"type": "string", "description": "symbols, separated by commas"}
    once = {**NAMES, **RANGE, "candidates": listed}
    twice = {**once, **SECOND}
    steady = {name: schema for name, schema in once.items() if name != "format"}
    lost = _problems(404)
    posted = _problems(404, 408, 413)
    survey, token = _ref("Survey"), _ref("Token")
    binary: _Json = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
    paths: _Json = {
        "/healthz": {"get": _operation("health", "whether the process is alive", _json("alive", {"type": "object"}))},
        "/readyz": {"get": _operation("ready", "whether reports can be stored", _json("ready", {"type": "object"}))},
        "/openapi.json": {"get": _operation("openapi", "this document", _json("OpenAPI 3.1", {"type": "object"}))},
        "/metrics": {
            "get": _operation(
                "metrics",
                "counters for Prometheus",
                {"200": {"description": "text format", "content": {"text/plain": {"schema": {"type": "string"}}}}},
                role="admin",
            )
        },
        "/v1/collector": {
            "get": _operation(
                "collector",
                "where people reach this collector, if it was told (--public-url)",
                _json("itself", {"type": "object", "properties": {"public_url": {"type": ["string", "null"]}}}),
            )
        },
        "/v1/plan": {
            "post": _operation(
                "plan",
                "how much privacy for how many people and what error: a survey, and what to expect of it",
                _json("the plan", {"type": "object", "required": ["survey", "epsilon", "n", "errors"]})
                | _problems(408, 413, 422),
                role="admin",
                body=_as_json("Plan"),
            )
        },
        "/v1/surveys": {
            "get": _operation("list", "every survey", _json("surveys", _list("surveys", survey)), role="admin"),
            "post": _operation(
                "create",
                "add a survey; it and most of its rules cannot be changed afterwards",
                _json("it was there already, with the same rules", survey)
                | _json("created", survey, 201)
                | _problems(408, 409, 413, 422),
                role="admin",
                body=_as_json("NewSurvey"),
            ),
        },
        "/v1/surveys/{digest}": {
            "parameters": [DIGEST],
            "get": _operation("survey", "a survey and its rules", _json("the survey", survey) | lost),
            "patch": _operation(
                "change",
                "another closing date, introduction or thanks",
                _json("changed", survey) | posted | _problems(422),
                role="owner",
                body=_as_json("Change"),
            ),
            "delete": _operation(
                "delete",
                "delete a survey with its counts, report ids and tokens; there is no way back",
                _json("deleted", _ref("Deleted")) | lost,
                role="owner",
            ),
        },
        "/v1/surveys/{digest}/close": {
            "parameters": [DIGEST],
            "post": _operation(
                "close",
                "take no more reports",
                _json("closed", survey) | posted,
                role="owner",
                body=_as_json("Closing"),
                optional=True,
            ),
        },
        "/v1/surveys/{digest}/reopen": {
            "parameters": [DIGEST],
            "post": _operation(
                "reopen",
                "take reports again; a closing date that has passed is taken off",
                _json("open", survey) | posted | _problems(409),
                role="owner",
            ),
        },
        "/v1/surveys/{digest}/reports": {
            "parameters": [DIGEST],
            "post": _operation(
                "upload",
                "count reports; what is named accepted or duplicate is on disk, once",
                _json("what became of each", _ref("Taken")) | _problems(404, 408, 410, 413, 415, 429),
                role="upload",
                query={"day": DAY, "batch": ID},
                body=_as_json("Reports") | binary,
            ),
        },
        "/v1/surveys/{digest}/tokens": {
            "parameters": [DIGEST],
            "get": _operation("tokens", "tokens", _json("tokens", _list("tokens", token)) | lost, role="admin"),
            "post": _operation(
                "add_token",
                "a new upload or read token",
                _json("made", token, 201) | posted | _problems(422),
                role="admin",
                body=_as_json("NewToken"),
            ),
        },
        "/v1/surveys/{digest}/tokens/{token}": {
            "parameters": [DIGEST, TOKEN],
            "delete": _operation(
                "drop_token", "revoke a token", {"204": {"description": "revoked"}} | lost, role="admin"
            ),
        },
        "/v1/surveys/{digest}/counters": {
            "parameters": [DIGEST],
            "get": _operation(
                "counters", "reports by fate", _json("counters", {"type": "object"}) | lost, role="admin"
            ),
        },
        "/v1/surveys/{digest}/windows": {
            "parameters": [DIGEST],
            "get": _operation(
                "windows", "windows and their reports", _json("windows", _ref("Windows")) | lost, role="read"
            ),
        },
        "/v1/surveys/{digest}/tally": {
            "parameters": [DIGEST],
            "get": _operation(
                "tally",
                "the tally of a range, as a tally file",
                {"200": {"description": "a tally file", "content": binary}} | _problems(404, 409),
                role="read",
                query=RANGE,
            ),
        },
        "/v1/surveys/{digest}/estimate": {
            "parameters": [DIGEST],
            "get": _estimate("estimate", "the decoded distribution of a range", "Estimate", query=once),
            "post": _estimate("estimate_post", "the same, for long lists", "Estimate", body=_as_json("Question")),
        },
        "/v1/surveys/{digest}/trend": {
            "parameters": [DIGEST],
            "get": _trend("trend", "every window of a range, and which of them differ from those before", query=steady),
            "post": _trend("trend_post", "the same, for long lists of candidates", body=_as_json("Trend")),
        },
        "/v1/surveys/{digest}/difference": {
            "parameters": [DIGEST],
            "get": _estimate("difference", "how shares changed from a range to a later one", "Difference", query=twice),
            "post": _estimate("difference_post", "the same", "Difference", body=_as_json("Comparison")),
        },
    }  # fmt: skip
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "deniable collector",
            "version": __version__,
            "description": "Counts randomised reports. It never sees an answer, and stores nothing about who sent one.",
        },
        "paths": paths,
        "components": {
            "schemas": SCHEMAS,
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    }
