"""The OpenAPI document, made from the table of routes. Tests send each route what it allows, and what it forbids."""

from collections.abc import Iterable
from typing import Annotated, Any, get_args, get_origin

from msgspec import Struct
from msgspec.json import schema_components

from deniable import __version__
from deniable.service.models import Problem
from deniable.service.routing import PATH_PARTS, Route

_Json = dict[str, Any]
_BINARY: _Json = {"type": "string", "format": "binary"}


def document(routes: Iterable[Route]) -> _Json:
    """The whole document."""
    routes = tuple(routes)
    models = {Problem}
    for route in routes:
        models |= {model for model in (route.query, route.body, *_answers(route)) if _is_model(model)}
    ordered = sorted(models, key=lambda model: model.__name__)
    refs, components = schema_components(ordered, ref_template="#/components/schemas/{name}")
    schemas = dict(zip(ordered, refs, strict=True))
    paths: _Json = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, schemas, components)
    for path, item in paths.items():
        if parts := [part for part in PATH_PARTS if f"{{{part}}}" in path]:
            item["parameters"] = [
                {"name": part, "in": "path", "required": True,
                 "schema": {"type": "string", "pattern": f"^{PATH_PARTS[part]}$"}} for part in parts
            ]  # fmt: skip
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "deniable collector",
            "version": __version__,
            "description": "Counts randomised reports. It never sees an answer, and stores nothing about who sent one.",
        },
        "paths": paths,
        "components": {
            "schemas": {name: schema for name, schema in components.items() if name not in _queries_alone(routes)},
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    }


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Struct)


def _answers(route: Route) -> tuple[Any, ...]:
    """The types of an answer: a model, or bytes of another kind, or one of several."""
    alone = _is_model(route.answer) or get_origin(route.answer) is Annotated
    return (route.answer,) if alone else get_args(route.answer)


def _queries_alone(routes: Iterable[Route]) -> set[str]:
    """Models of queries that are no body: their fields are parameters."""
    bodies = {route.body for route in routes}
    return {route.query.__name__ for route in routes if route.query is not None and route.query not in bodies}


def _operation(route: Route, schemas: dict[Any, _Json], components: _Json) -> _Json:
    made: _Json = {"operationId": route.name, "summary": route.summary, "responses": _responses(route, schemas)}
    if route.role == "public":
        made["security"] = []
    else:
        nobody: list[_Json] = [{}] if route.role in ("read", "upload") else []
        made["security"] = [*nobody, {"bearer": []}]
    if route.query is not None:
        made["parameters"] = _parameters(components[route.query.__name__])
    if route.body is not None:
        content: _Json = {"application/json": {"schema": schemas[route.body]}}
        if route.binary_body:
            content["application/octet-stream"] = {"schema": _BINARY}
        made["requestBody"] = {"required": not route.body.may_be_empty, "content": content}
    return made


def _parameters(query: _Json) -> list[_Json]:
    """The fields of a query. Nothing in it is null, and lists are separated by commas."""
    found: list[_Json] = []
    for name, schema in query["properties"].items():
        kinds = [kind for kind in schema.get("anyOf", []) if kind != {"type": "null"}]
        told = {key: value for key, value in schema.items() if key != "anyOf"} | (kinds[0] if kinds else {})
        if told.get("default", "") is None:
            del told["default"]
        found.append({"name": name, "in": "query", "schema": told})
        if name in query.get("required", ()):
            found[-1]["required"] = True
        if told.get("type") == "array":
            told["items"] = {"type": "string"}
            found[-1]["explode"] = False
    return found


def _responses(route: Route, schemas: dict[Any, _Json]) -> _Json:
    content: _Json = {}
    for kind in _answers(route):
        if _is_model(kind):
            content["application/json"] = {"schema": schemas[kind]}
        else:
            base, media = get_args(kind)
            content[media] = {"schema": {"type": "string"} if base is str else _BINARY}
    told: _Json = {
        str(status): {"description": route.summary} | ({"content": content} if content else {})
        for status in route.statuses
    }
    refused = {400, 503, *route.problems}
    refused |= {401, 403} if route.role != "public" else set()
    refused |= {404} if "{" in route.path else set()
    refused |= {408, 413} if route.takes_body else set()
    document = {"application/problem+json": {"schema": schemas[Problem]}}
    return told | {
        str(status): {"description": "an RFC 9457 problem", "content": document} for status in sorted(refused)
    }
