"""The OpenAPI document: every route with its parameters, bodies and answers. Tests send what it allows and what not."""

from typing import Any

__all__ = ["document"]

_Json = dict[str, Any]

_DIGEST = {"name": "digest", "in": "path", "required": True, "schema": {"type": "string", "pattern": "^[0-9a-f]{64}$"}}
_TOKEN = {"name": "token", "in": "path", "required": True, "schema": {"type": "string", "pattern": "^[0-9a-f]{16}$"}}
_TIME = {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2})?$", "examples": ["2026-11-15"]}
_LEVEL = {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1, "default": 0.95}
_ID = {"type": "string", "pattern": "^[0-9a-fA-F]{32}$"}
_DAY = {"type": "integer", "minimum": 1, "maximum": 1048575, "description": "UTC days since 1970-01-01"}
_NAMES: _Json = {
    "decoder": {"type": "string", "enum": ["inversion", "least-squares", "likelihood"]},
    "constraint": {"type": "string", "enum": ["none", "normalized", "projected"], "default": "projected"},
    "format": {"type": "string", "enum": ["json", "csv", "arrow"], "default": "json"},
    "level": _LEVEL,
}
_RANGE: _Json = {"from": _TIME, "to": _TIME}
_SECOND: _Json = {"against_from": _TIME, "against_to": _TIME}
_SYMBOLS: _Json = {"type": "array", "minItems": 1, "items": {}, "description": "symbols as a survey writes them"}

_RULES: _Json = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "window": {"type": "string", "enum": ["hour", "day", "week"], "default": "day"},
        "minimum": {"type": "integer", "minimum": 0, "maximum": 2**53, "default": 100},
        "results": {"type": "string", "enum": ["private", "public"], "default": "private"},
        "uploads": {"type": "string", "enum": ["open", "token"], "default": "open"},
        "horizon": {"type": "integer", "minimum": 1, "maximum": 36500, "default": 30},
        "retention": {"type": ["integer", "null"], "minimum": 1, "maximum": 36500},
        "rate": {"type": ["integer", "null"], "minimum": 1, "maximum": 2**31},
    },
}
_SCHEMAS: _Json = {
    "Problem": {
        "type": "object",
        "required": ["type", "title", "status", "detail"],
        "properties": {
            "type": {"type": "string"},
            "title": {"type": "string"},
            "status": {"type": "integer"},
            "detail": {"type": "string"},
        },
    },
    "Rules": _RULES,
    "Survey": {
        "type": "object",
        "required": ["digest", "state", "rules", "survey"],
        "properties": {
            "digest": {"type": "string"},
            "state": {"type": "string", "enum": ["open", "closed"]},
            "rules": {"$ref": "#/components/schemas/Rules"},
            "survey": {"type": "object", "description": "the file that clients load"},
        },
    },
    "NewSurvey": {
        "type": "object",
        "required": ["survey"],
        "additionalProperties": False,
        "properties": {"survey": {"type": "object"}, "rules": {"$ref": "#/components/schemas/Rules"}},
    },
    "Reports": {
        "type": "object",
        "required": ["reports"],
        "additionalProperties": False,
        "properties": {
            "reports": {
                "type": "array",
                "minItems": 1,
                "maxItems": 65536,
                "items": {
                    "type": "object",
                    "required": ["id", "report"],
                    "additionalProperties": False,
                    "properties": {
                        "id": _ID,
                        "report": {"type": "string", "contentEncoding": "base64"},
                        "day": _DAY,
                    },
                },
            }
        },
    },
    "Taken": {
        "type": "object",
        "required": ["accepted", "duplicate", "refused"],
        "properties": {
            "accepted": {"type": "integer"},
            "duplicate": {"type": "integer"},
            "refused": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["index", "id", "reason"],
                    "properties": {
                        "index": {"type": "integer"},
                        "id": {"type": ["string", "null"]},
                        "reason": {
                            "type": "string",
                            "enum": [
                                "version", "survey", "cohort", "response", "length", "id", "report", "day",
                                "too_old", "too_early", "quota",
                            ],
                        },
                    },
                },
            },
        },
    },
    "NewToken": {
        "type": "object",
        "required": ["kind"],
        "additionalProperties": False,
        "properties": {
            "kind": {"type": "string", "enum": ["upload", "read"]},
            "quota": {"type": ["integer", "null"], "minimum": 1, "maximum": 2**53 - 1},
            "name": {"type": "string", "maxLength": 200},
        },
    },
    "Token": {
        "type": "object",
        "required": ["id", "kind", "quota", "used", "name"],
        "properties": {
            "token": {"type": "string", "description": "the secret, in the answer that creates it and never again"},
            "id": {"type": "string"},
            "kind": {"type": "string"},
            "quota": {"type": ["integer", "null"]},
            "used": {"type": "integer"},
            "name": {"type": "string"},
        },
    },
    "Question": {
        "type": "object",
        "additionalProperties": False,
        "properties": {**_NAMES, **_RANGE, "candidates": _SYMBOLS},
    },
    "Comparison": {
        "type": "object",
        "additionalProperties": False,
        "properties": {**_NAMES, **_RANGE, **_SECOND, "candidates": _SYMBOLS},
    },
}  # fmt: skip


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
) -> _Json:
    made: _Json = {"operationId": name, "summary": summary, "responses": responses}
    if role == "public":
        made["security"] = []
    else:
        optional: list[_Json] = [{}] if role in ("read", "upload") else []
        made["security"] = [*optional, {"bearer": []}]
        made["responses"] = responses | _problems(401, 403)
    if query:
        made["parameters"] = _query(query)
    if body:
        made["requestBody"] = {"required": True, "content": body}
    made["responses"] |= _problems(400, 503)
    return made


def _estimate(name: str, summary: str, *, query: _Json | None = None, body: _Json | None = None) -> _Json:
    content: _Json = {
        "application/json": {"schema": {"type": "object", "required": ["survey", "n", "estimates"]}},
        "text/csv": {"schema": {"type": "string"}},
        "application/vnd.apache.arrow.stream": {"schema": {"type": "string", "format": "binary"}},
    }
    responses = {"200": {"description": "shares with error bars", "content": content}}
    responses |= _problems(404, 408, 409, 413, 422)
    return _operation(name, summary, responses, role="read", query=query, body=body)


def _as_json(schema: str) -> _Json:
    return {"application/json": {"schema": _ref(schema)}}


def document() -> _Json:
    """The whole document."""
    from deniable import __version__

    listed = {"type": "string", "description": "symbols, separated by commas"}
    once = {**_NAMES, **_RANGE, "candidates": listed}
    twice = {**once, **_SECOND}
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
        "/v1/surveys": {
            "get": _operation("list", "every survey", _json("surveys", _list("surveys", survey)), role="admin"),
            "post": _operation(
                "create",
                "add a survey; it cannot be changed afterwards",
                _json("it was there already, with the same rules", survey)
                | _json("created", survey, 201)
                | _problems(408, 409, 413, 422),
                role="admin",
                body=_as_json("NewSurvey"),
            ),
        },
        "/v1/surveys/{digest}": {
            "parameters": [_DIGEST],
            "get": _operation("survey", "a survey and its rules", _json("the survey", survey) | lost),
        },
        "/v1/surveys/{digest}/close": {
            "parameters": [_DIGEST],
            "post": _operation(
                "close", "take no more reports, for good", _json("closed", survey) | posted, role="admin"
            ),
        },
        "/v1/surveys/{digest}/reports": {
            "parameters": [_DIGEST],
            "post": _operation(
                "upload",
                "count reports; what is named accepted or duplicate is on disk, once",
                _json("what became of each", _ref("Taken")) | _problems(404, 408, 410, 413, 415, 429),
                role="upload",
                query={"day": _DAY, "batch": _ID},
                body=_as_json("Reports") | binary,
            ),
        },
        "/v1/surveys/{digest}/tokens": {
            "parameters": [_DIGEST],
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
            "parameters": [_DIGEST, _TOKEN],
            "delete": _operation(
                "drop_token", "revoke a token", {"204": {"description": "revoked"}} | lost, role="admin"
            ),
        },
        "/v1/surveys/{digest}/counters": {
            "parameters": [_DIGEST],
            "get": _operation(
                "counters", "reports by fate", _json("counters", {"type": "object"}) | lost, role="admin"
            ),
        },
        "/v1/surveys/{digest}/windows": {
            "parameters": [_DIGEST],
            "get": _operation(
                "windows", "windows and their reports", _json("windows", _list("windows", {"type": "object"})) | lost,
                role="read",
            ),
        },
        "/v1/surveys/{digest}/tally": {
            "parameters": [_DIGEST],
            "get": _operation(
                "tally",
                "the tally of a range, as a tally file",
                {"200": {"description": "a tally file", "content": binary}} | _problems(404, 409),
                role="read",
                query=_RANGE,
            ),
        },
        "/v1/surveys/{digest}/estimate": {
            "parameters": [_DIGEST],
            "get": _estimate("estimate", "the decoded distribution of a range", query=once),
            "post": _estimate("estimate_post", "the same, for long lists of candidates", body=_as_json("Question")),
        },
        "/v1/surveys/{digest}/difference": {
            "parameters": [_DIGEST],
            "get": _estimate("difference", "how shares changed from an earlier range to a later", query=twice),
            "post": _estimate("difference_post", "the same", body=_as_json("Comparison")),
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
            "schemas": _SCHEMAS,
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    }
