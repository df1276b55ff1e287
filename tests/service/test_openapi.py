"""The OpenAPI document is true: it names every route, and what is sent by it is answered as it says, never by 5xx."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from deniable.service.openapi import document
from deniable.service.records import REASONS
from deniable.service.routes import ROUTES
from tests.collector import ADMIN, Server, one_cell_each, records, serving
from tests.waiting import PATIENCE

SURVEY, ENDING = one_cell_each(1024), one_cell_each(1024, "ending")
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
NAMES = [(route.name, route.method, route.path) for route in ROUTES]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder: Path = tmp_path_factory.mktemp("openapi")
    with serving(str(folder / "store"), folder) as made:
        made.create(SURVEY, minimum=1, results="public")
        made.create(ENDING)
        path = f"/v1/surveys/{SURVEY.digest}/reports"
        body = records(SURVEY, range(50))
        assert made.ask("POST", path, body, kind="application/octet-stream").json()["accepted"] == 50
        yield made


def test_the_document_names_every_route_and_no_other() -> None:
    found = {
        (operation["operationId"], method.upper(), path)
        for path, item in document(ROUTES)["paths"].items()
        for method, operation in item.items()
        if method != "parameters"
    }
    assert found == set(NAMES)


def test_the_document_names_every_reason_and_parameter() -> None:
    made = document(ROUTES)
    refused = made["components"]["schemas"]["RefusedReport"]["properties"]
    assert tuple(refused["reason"]["enum"]) == REASONS[2:]
    for route in ROUTES:
        operation = made["paths"][route.path][route.method.lower()]
        assert {p["name"] for p in operation.get("parameters", [])} == route.parameters, route.name


@pytest.mark.slow
@pytest.mark.parametrize("name", [route.name for route in ROUTES])
def test_what_the_document_allows_is_answered_as_it_says(server: Server, name: str) -> None:
    served = server.ask("GET", "/openapi.json").json()
    served["paths"] = {
        path: {key: part for key, part in item.items() if key == "parameters" or part["operationId"] == name}
        for path, item in served["paths"].items()
        if any(key != "parameters" and part["operationId"] == name for key, part in item.items())
    }
    schema = schemathesis.openapi.from_dict(served)
    (found,) = schema.get_all_operations()
    operation = found.ok()  # type: ignore[union-attr]
    sent: list[int] = []

    def send(case: Any) -> None:
        if "digest" in (case.path_parameters or {}) and len(sent) % 4:
            # Or nearly all of them would ask for an unknown survey.
            case.path_parameters["digest"] = (ENDING if name in ("close", "reopen", "delete") else SURVEY).digest
        case.headers = {**(case.headers or {}), "Authorization": f"Bearer {ADMIN}"}
        response = case.call(base_url=f"http://127.0.0.1:{server.port}", timeout=PATIENCE)
        sent.append(response.status_code)
        case.validate_response(response, checks=CHECKS)

    for mode, examples in ((GenerationMode.POSITIVE, 20), (GenerationMode.NEGATIVE, 20)):
        with contextlib.suppress(Unsatisfiable):  # a route without parameters has nothing to get wrong
            _given(operation, mode, examples)(send)()
    assert sent
    if name == "upload":
        assert {200, 400} <= set(sent), "some of what was sent got as far as the store"
    assert server.process is not None
    assert server.process.poll() is None
    assert json.loads(server.ask("GET", "/healthz").body) == {"status": "alive"}


def _given(operation: Any, mode: GenerationMode, examples: int) -> Any:
    health = [HealthCheck.filter_too_much, HealthCheck.too_slow, HealthCheck.data_too_large]
    chosen = settings(max_examples=examples, deadline=None, phases=[Phase.generate], suppress_health_check=health)

    def wrap(test: Any) -> Any:
        return chosen(given(case=operation.as_strategy(generation_mode=mode))(test))

    return wrap
