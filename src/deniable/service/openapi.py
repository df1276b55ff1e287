"""The OpenAPI document: every route with its parameters, bodies and answers. Tests send what it allows and what not."""

from typing import Any

from deniable.service.clock import WINDOWS
from deniable.service.decoding import CONSTRAINTS, DECODERS, FORMATS

__all__ = ["document"]

_Json = dict[str, Any]

_DIGEST = {"name": "digest", "in": "path", "required": True, "schema": {"type": "string", "pattern": "^[0-9a-f]{64}$"}}
_TOKEN = {"name": "token", "in": "path", "required": True, "schema": {"type": "string", "pattern": "^[0-9a-f]{16}$"}}
_TIME = {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2})?$", "examples": ["2026-11-15"]}
_LEVEL = {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1, "default": 0.95}
_ID = {"type": "string", "pattern": "^[0-9a-fA-F]{32}$"}
_DAY = {"type": "integer", "minimum": 1, "maximum": 1048575, "description": "UTC days since 1970-01-01"}
_NAMES: _Json = {
    "decoder": {"type": "string", "enum": list(DECODERS), "description": "the best known, unless given"},
    "constraint": {"type": "string", "enum": list(CONSTRAINTS)},
    "complete": {"type": "boolean", "default": False, "description": "the candidates are all there is"},
    "simultaneous": {"type": "boolean", "default": False, "description": "all intervals hold at once"},
    "top": {"type": "integer", "minimum": 1, "maximum": 2**31 - 1, "description": "only so many symbols, the largest"},
    "format": {"type": "string", "enum": list(FORMATS), "default": "json"},
    "level": _LEVEL,
}
_RANGE: _Json = {"from": _TIME, "to": _TIME}
_SECOND: _Json = {"against_from": _TIME, "against_to": _TIME}
_SYMBOLS: _Json = {"type": "array", "minItems": 1, "items": {}, "description": "symbols as a survey writes them"}

_RULES: _Json = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "window": {"type": "string", "enum": list(WINDOWS), "default": "day"},
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


def _record(properties: _Json, *, nullable: bool = False) -> _Json:
    """An object that has all of these and nothing else."""
    kind = ["object", "null"] if nullable else "object"
    return {"type": kind, "required": list(properties), "additionalProperties": False, "properties": properties}


_NUMBER: _Json = {"type": ["number", "null"], "description": "null: the reports do not determine it"}
_MARKED: _Json = {"type": ["boolean", "null"]}
_TEST = _record(
    {"statistic": {"type": "number"}, "degrees": {"type": "integer"}, "p_value": {"type": "number"}}, nullable=True
)
_ESTIMATED: _Json = dict.fromkeys(("probability", "raw", "standard_error", "low", "high"), _NUMBER)
_CHANGED: _Json = dict.fromkeys(("before", "after", "raw", "standard_error", "low", "high"), _NUMBER)
_BOUND: _Json = {"type": ["string", "null"], "description": "an hour, in UTC; null: no bound"}
_SHARED: _Json = {
    "survey": {"type": "string"},
    "level": {"type": "number"},
    "simultaneous": {"type": "boolean"},
    "intervals": {"enum": ["exact", "approximate", None], "description": "null: too many candidates for error bars"},
    "from": _BOUND,
    "to": _BOUND,
}
_SIDE = _record({"survey": {"type": "string"}, "n": {"type": "integer"}})
_SCHEMAS["Estimate"] = _record({
    **_SHARED,
    "name": {"type": "string"},
    "mechanism": {"type": "string"},
    "epsilon_spent": {"type": "number"},
    "n": {"type": "integer"},
    "decoder": {"type": "string"},
    "constraint": {"type": "string"},
    "estimates": {
        "type": "array",
        "description": "largest first; significant: above zero beyond doubt, all marks together at that level",
        "items": _record({"symbol": {}, **_ESTIMATED, "significant": _MARKED}),
    },
    "unallocated": _record(_ESTIMATED, nullable=True) | {"description": "what no candidate explains"},
    "groups": {
        "type": "array",
        "description": "candidates that no report can tell apart, and their sum",
        "items": _record({"symbols": _SYMBOLS, "probability": _NUMBER, "standard_error": _NUMBER}),
    },
    "diagnostics": _record({
        "rank": {"type": "integer"},
        "condition": _NUMBER,
        "twins": {"type": "array", "items": _SYMBOLS},
        "fit": _TEST,
        "cohorts": _TEST,
        "influence": {"type": "number", "description": "what 1 % planted reports can add to one symbol, at most"},
        "alarms": {"type": "array", "items": {"type": "string"}},
    }, nullable=True),
})  # fmt: skip
_SCHEMAS["Difference"] = _record({
    **_SHARED,
    "against_from": _BOUND,
    "against_to": _BOUND,
    "before": _SIDE,
    "after": _SIDE,
    "changes": {
        "type": "array",
        "description": "largest first; changed: beyond doubt, all marks together at that level",
        "items": _record({"symbol": {}, **_CHANGED, "changed": _MARKED}),
    },
    "unallocated": _record(_CHANGED, nullable=True) | {"description": "what no candidate explains"},
})  # fmt: skip
_SCHEMAS["Windows"] = _record({
    "window": {"type": "string", "enum": list(WINDOWS)},
    "minimum": {"type": "integer"},
    "windows": {
        "type": "array",
        "items": _record({
            "start": {"type": "string"},
            "end": {"type": "string"},
            "reports": {"type": ["integer", "null"], "description": "null: below the minimum"},
        }),
    },
})  # fmt: skip


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


def _estimate(name: str, summary: str, schema: str, *, query: _Json | None = None, body: _Json | None = None) -> _Json:
    content: _Json = {
        "application/json": {"schema": _ref(schema)},
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
                "windows", "windows and their reports", _json("windows", _ref("Windows")) | lost, role="read"
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
            "get": _estimate("estimate", "the decoded distribution of a range", "Estimate", query=once),
            "post": _estimate("estimate_post", "the same, for long lists", "Estimate", body=_as_json("Question")),
        },
        "/v1/surveys/{digest}/difference": {
            "parameters": [_DIGEST],
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
            "schemas": _SCHEMAS,
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    }
