"""What requests and answers look like, as JSON Schema: the larger half of the OpenAPI document."""

from typing import Any

from deniable.service.clock import WINDOWS
from deniable.service.decoding import CONSTRAINTS, DECODERS, FORMATS
from deniable.service.entries import LONGEST
from deniable.survey.strength import SCALE

__all__ = ["DAY", "DIGEST", "ID", "NAMES", "RANGE", "SCHEMAS", "SECOND", "TOKEN"]

_Json = dict[str, Any]

DIGEST = {"name": "digest", "in": "path", "required": True, "schema": {"type": "string", "pattern": "^[0-9a-f]{64}$"}}
TOKEN = {"name": "token", "in": "path", "required": True, "schema": {"type": "string", "pattern": "^[0-9a-f]{16}$"}}
_TIME = {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2})?$", "examples": ["2026-11-15"]}
_LEVEL = {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1, "default": 0.95}
ID = {"type": "string", "pattern": "^[0-9a-fA-F]{32}$"}
DAY = {"type": "integer", "minimum": 1, "maximum": 1048575, "description": "UTC days since 1970-01-01"}
NAMES: _Json = {
    "decoder": {"type": "string", "enum": list(DECODERS), "description": "the best known, unless given"},
    "constraint": {"type": "string", "enum": list(CONSTRAINTS)},
    "complete": {"type": "boolean", "default": False, "description": "the candidates are all there is"},
    "simultaneous": {"type": "boolean", "default": False, "description": "all intervals hold at once"},
    "top": {"type": "integer", "minimum": 1, "maximum": 2**31 - 1, "description": "only so many symbols, the largest"},
    "order": {
        "type": "string",
        "enum": ["size", "own"],
        "default": "size",
        "description": "of the rows: the largest first, or as in the survey or the list of candidates",
    },
    "format": {"type": "string", "enum": list(FORMATS), "default": "json"},
    "level": _LEVEL,
}
RANGE: _Json = {"from": _TIME, "to": _TIME}
SECOND: _Json = {"against_from": _TIME, "against_to": _TIME}
_SYMBOLS: _Json = {"type": "array", "minItems": 1, "items": {}, "description": "symbols as a survey writes them"}

CHANGES: _Json = {
    "closes": {
        "type": ["string", "null"],
        "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}(:[0-9]{2})?)?Z?$",
        "description": "no report is taken from this time on, in UTC; a date alone is its first minute",
        "examples": ["2026-11-20T17:00Z"],
    },
    "introduction": {
        "type": "string",
        "maxLength": LONGEST["introduction"],
        "description": "plain text above the question",
    },
    "thanks": {"type": "string", "maxLength": LONGEST["thanks"], "description": "plain text after an answer"},
}
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
        **CHANGES,
    },
}
SCHEMAS: _Json = {
    "Problem": {
        "type": "object",
        "required": ["type", "title", "status", "detail"],
        "properties": {
            "type": {"type": "string"},
            "title": {"type": "string"},
            "status": {"type": "integer"},
            "detail": {"type": "string"},
            "least": {
                "type": ["number", "null"],
                "description": "of a plan that is not possible: the smallest error there is, whatever the privacy",
            },
            "alternatives": {
                "type": "array",
                "description": "of the same: plans that are possible; n people at this epsilon have about this error",
                "items": {
                    "type": "object",
                    "required": ["n", "epsilon", "privacy", "error"],
                    "additionalProperties": False,
                    "properties": {
                        "n": {"type": "integer"},
                        "epsilon": {"type": "number"},
                        "privacy": {"type": "string", "enum": [word for _, word in SCALE]},
                        "error": {"type": "number", "description": "predicted, of the kind that was asked for"},
                    },
                },
            },
            "survey": {"type": "string", "description": "the digest, where a device acts on `type`: closed, unknown"},
        },
    },
    "Rules": _RULES,
    "Survey": {
        "type": "object",
        "required": ["digest", "state", "final", "rules", "survey"],
        "properties": {
            "digest": {"type": "string"},
            "state": {"type": "string", "enum": ["open", "closed"]},
            "final": {"type": "boolean", "description": "closed for good: it cannot be opened again"},
            "reports": {"type": "integer", "description": "how many were accepted; in the list of all surveys"},
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
    "Closing": {
        "type": "object",
        "additionalProperties": False,
        "properties": {"final": {"type": "boolean", "default": False, "description": "for good: forget the ids now"}},
    },
    "Change": {
        "type": "object",
        "required": ["rules"],
        "additionalProperties": False,
        "properties": {"rules": {"type": "object", "additionalProperties": False, "properties": CHANGES}},
    },
    "Deleted": {
        "type": "object",
        "required": ["digest", "reports"],
        "properties": {"digest": {"type": "string"}, "reports": {"type": "integer", "description": "that went"}},
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
                        "id": ID,
                        "report": {"type": "string", "contentEncoding": "base64"},
                        "day": DAY,
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
            "kind": {"type": "string", "enum": ["upload", "read", "owner"]},
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
        "properties": {**NAMES, **RANGE, "candidates": _SYMBOLS},
    },
    "Plan": {
        "type": "object",
        "additionalProperties": False,
        "description": "the arguments of dn.plan: two of n, epsilon and one error, and symbols or candidates",
        "properties": {
            "n": {"type": "integer"},
            **{name: {"type": ["number", "string"]} for name in ("epsilon", "epsilon_report")},
            **{name: {"type": "number"} for name in ("max_l1", "max_l2", "max_error", "visible", "confidence")},
            **{name: {"type": ["array", "integer"]} for name in ("symbols", "candidates")},
            "other": {"type": "string"},
            "metric": {"type": "string", "enum": ["l1", "l2", "max"]},
            "text": {"type": "string", "enum": ["folded", "exact"], "default": "folded"},
            "shape": {"type": ["string", "array"]},
            **{name: {"type": "integer"} for name in ("max_bytes", "max_cohorts", "seed")},
            "name": {"type": "string"},
        },
    },
    "Trend": {
        "type": "object",
        "additionalProperties": False,
        "properties": {**NAMES, **RANGE, "candidates": _SYMBOLS, "format": {"type": "string", "enum": ["json"]}},
    },
    "Comparison": {
        "type": "object",
        "additionalProperties": False,
        "properties": {**NAMES, **RANGE, **SECOND, "candidates": _SYMBOLS},
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
_ESTIMATED: _Json = dict.fromkeys(("probability", "raw", "standard_error", "raw_low", "raw_high"), _NUMBER)
_CHANGED: _Json = dict.fromkeys(("before", "after", "raw", "standard_error", "raw_low", "raw_high"), _NUMBER)
_BOUND: _Json = {"type": "string", "description": "an hour, in UTC; without a bound, where its windows begin or end"}
_SHARED: _Json = {
    "survey": {"type": "string"},
    "level": {"type": "number"},
    "simultaneous": {"type": "boolean"},
    "intervals": {
        "enum": ["exact", "approximate", "conditional", None],
        "description": "conditional: given that a candidate was kept, or not; null: too many for error bars",
    },
    "from": _BOUND,
    "to": _BOUND,
}
_SIDE = _record({"survey": {"type": "string"}, "n": {"type": "integer"}})
SCHEMAS["Estimate"] = _record({
    **_SHARED,
    "name": {"type": "string"},
    "mechanism": {"type": "string"},
    "epsilon_spent": {"type": "number"},
    "n": {"type": "integer"},
    "decoder": {"type": "string"},
    "constraint": {"type": "string"},
    "estimates": {
        "type": "array",
        "description": "largest first; significant: above zero, family-wise: all marks are right at that level",
        "items": _record({"symbol": {}, **_ESTIMATED, "significant": _MARKED}),
    },
    "unallocated": _record(_ESTIMATED, nullable=True) | {
        "description": "what no candidate explains; where intervals are conditional, what no kept candidate does"
    },
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
SCHEMAS["Difference"] = _record({
    **_SHARED,
    "against_from": _BOUND,
    "against_to": _BOUND,
    "before": _SIDE,
    "after": _SIDE,
    "changes": {
        "type": "array",
        "description": "largest first; changed: significantly, family-wise: all marks are right at that level",
        "items": _record({"symbol": {}, **_CHANGED, "changed": _MARKED}),
    },
    "unallocated": _record(_CHANGED, nullable=True) | {"description": "what no candidate explains"},
})  # fmt: skip
SCHEMAS["Windows"] = _record({
    "window": {"type": "string", "enum": list(WINDOWS)},
    "minimum": {"type": "integer"},
    "live": {"type": "boolean", "description": "whether windows that have not ended are here, too"},
    "reports": {"type": "integer", "description": "so far, in all; where not live, in windows that have ended"},
    "windows": {
        "type": "array",
        "items": _record({
            "start": {"type": "string"},
            "end": {"type": "string"},
            "reports": {"type": "integer"},
        }),
    },
})  # fmt: skip
