"""Queries and JSON bodies as the types of `models`: read as every careful reader would, checked, or refused."""

import json
import math
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin
from urllib.parse import parse_qsl

import msgspec

from deniable.service.models import Input
from deniable.service.problems import RequestError, malformed
from deniable.service.requests import once

_T = TypeVar("_T", bound=Input)
_ABSENT = (type(None), msgspec.UnsetType)
_WORDS: dict[type, str] = {
    bool: "true or false", int: "a whole number", float: "a number", str: "text", list: "a list",
    dict: "an object",
}  # fmt: skip


def names_of(model: type[Input] | None) -> list[str]:
    """What the fields of a query or body are called."""
    return [] if model is None else [field.encode_name for field in msgspec.structs.fields(model)]


def read_query(model: type[_T] | None, raw: bytes) -> _T | None:
    """A query, which must hold known names, each once; None where there is nothing to ask.

    >>> from deniable.service.models import Range
    >>> read_query(Range, b"to=2026-11-15")
    Range(from_=None, to='2026-11-15')
    """
    try:
        pairs = parse_qsl(raw.decode("ascii"), keep_blank_values=True, errors="strict")
    except ValueError:
        raise malformed("query must be percent-encoded UTF-8") from None
    given: dict[str, Any] = dict(pairs)
    if len(given) != len(pairs):
        raise malformed("query must not repeat a parameter")
    if unknown := sorted(set(given) - set(names_of(model))):
        raise malformed(f"query must not have the parameter {unknown[0][:40]!r}; see /openapi.json")
    if model is None:
        return None
    for field in msgspec.structs.fields(model):
        if field.encode_name in given:
            given[field.encode_name] = _value(given[field.encode_name], _types(field.type))
        elif field.required:
            raise malformed(f"query must have the parameter {field.encode_name!r}; see /openapi.json")
    return _checked(model, given)


def read_json(model: type[_T], body: bytes) -> _T:
    """A JSON body: UTF-8, no field twice, no NaN, and no fraction unless the model has one.

    >>> from deniable.service.models import Closing
    >>> read_json(Closing, b'{"final": true}').final
    True
    """
    known = {field.encode_name for field in msgspec.structs.fields(model)}
    needed = {field.encode_name for field in msgspec.structs.fields(model) if field.required}
    if model.may_be_empty and not body:
        body = b"{}"
    try:
        # Decoded here: json.loads would guess UTF-16 and UTF-32 too.
        given = json.loads(
            body.decode(), object_pairs_hook=once, parse_constant=_refused,
            parse_float=_refused if model.whole_numbers else _finite,
        )  # fmt: skip
    except (ValueError, RecursionError):
        raise malformed(f"body must be {model.described or 'JSON in UTF-8, with whole numbers'}") from None
    least = f" with {', '.join(sorted(needed))} and" if needed else " with"
    whole = model.described or f"an object{least} at most {', '.join(sorted(known))}"
    if not isinstance(given, dict) or not needed <= set(given):
        raise malformed(f"body must be {whole}")
    if unknown := sorted(set(given) - known):
        if model.described is None:
            raise malformed(f"body must be {whole}")
        raise malformed(f"body must not have the field {unknown[0][:40]!r}; see /openapi.json")
    return _checked(model, given)


def _refused(text: str) -> object:
    raise ValueError(f"numbers must be whole, got {text[:40]!r}")


def _finite(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError(f"numbers must be finite, got {text[:40]!r}")
    return number


def _checked(model: type[_T], given: dict[str, Any]) -> _T:
    """The fields of a request as a model, each by its type and bounds."""
    fields = {field.name: field for field in msgspec.structs.fields(model)}
    values = {}
    for name, field in fields.items():
        if field.encode_name in given:
            try:
                values[name] = msgspec.convert(given[field.encode_name], field.type)
            except msgspec.ValidationError:
                raise _breaks_rule(model, field, given[field.encode_name]) from None
    try:
        return model(**values)
    except ValueError as problem:  # of `__post_init__`: the field that does not go with the others
        raise _breaks_rule(model, fields[str(problem)]) from None


def _breaks_rule(model: type[Input], field: msgspec.structs.FieldInfo, value: object = None) -> RequestError:
    rules = [meta.extra["must"] for meta in getattr(field.type, "__metadata__", ()) if meta.extra]
    sentence = f"{field.encode_name} must {rules[0] if rules else _rule(field.type)}"
    schema = msgspec.json.schema(field.type)
    most = [one["maxItems"] for one in (schema, *schema.get("anyOf", ())) if "maxItems" in one]
    too_many = isinstance(value, list) and bool(most) and len(value) > max(most)
    return RequestError(*model.refusal, sentence, more={"reason": "many"} if too_many else None)


def _rule(kind: Any) -> str:
    """What a value of a type must be, in words.

    >>> _rule(Literal["size", "own"] | None), _rule(int | str), _rule(Annotated[int, msgspec.Meta(ge=1, le=9)])
    ('be one of size, own', 'be a whole number or text', 'be a whole number from 1 to 9')
    """
    types, schema = _types(kind), msgspec.json.schema(kind)
    if get_origin(types[0]) is Literal:
        return f"be one of {', '.join(get_args(types[0]))}"
    bounds = f" from {schema['minimum']} to {schema['maximum']}" if {"minimum", "maximum"} <= set(schema) else ""
    return f"be {' or '.join(_WORDS[get_origin(one) or one] for one in types)}{bounds}"


def _types(kind: Any) -> list[Any]:
    """The types that a field may have, without what is said about them, and without None."""
    if get_origin(kind) is Annotated:
        return _types(get_args(kind)[0])
    if get_origin(kind) in (Union, UnionType):
        return [inner for one in get_args(kind) if one not in _ABSENT for inner in _types(one)]
    return [kind]


def _value(text: str, types: list[Any]) -> object:
    """The value that a text of a query stands for; a text that stands for none stays, and is refused as such.

    >>> _value("true", [bool]), _value("1", [bool]), _value("12", [int]), _value("a,b", [list[str]])
    (True, '1', 12, ['a', 'b'])
    """
    kind = get_origin(types[0]) or types[0]
    if kind is list:
        return text.split(",")
    if kind is bool:
        return {"true": True, "false": False}.get(text, text)
    if kind is int and text.isascii() and text.isdecimal() and len(text) < 12:
        return int(text)
    if kind is float:
        try:
            return float(text)
        except ValueError:
            return text
    return text
