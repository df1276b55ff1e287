"""A route is declared once, in the table, and the rest follows: here one is planted, and the package is searched."""

import ast
import json
from pathlib import Path
from typing import Annotated

import pytest
from msgspec import Meta, Struct
from msgspec.structs import fields

import deniable.service as room
from deniable.service.collector import Collector
from deniable.service.entries import Entry
from deniable.service.inputs import read_json, read_query
from deniable.service.models import EstimateRequest, Input, NewSurvey, PlanRequest
from deniable.service.problems import RequestError
from deniable.service.routes import ROUTES
from deniable.service.routing import Route
from deniable.service.sqlite import SQLiteStore
from tests.collector import Caller, one_cell_each, run

SURVEY = one_cell_each(1024)
PLANTED = "/v1/surveys/{digest}/echo"


class Echo(Input, frozen=True, kw_only=True):
    times: Annotated[int, Meta(ge=1, le=3, description="how often")]
    loud: bool = False


class Echoed(Struct, frozen=True):
    said: list[str]
    by: str


async def echo(collector: Collector, entry: Entry, role: str, given: Echo) -> Echoed:
    word = entry.survey.digest[:4]
    return Echoed([word.upper() if given.loud else word] * given.times, role)


def test_a_route_that_is_planted_in_the_table_is_complete(tmp_path: Path) -> None:
    """Answered, checked, preflighted, counted and documented, by one line for each method."""
    planted = (
        Route("GET", PLANTED, "read", echo, "say it again"),
        Route("POST", PLANTED, "owner", echo, "the same", name="echo_post", problems=(409,)),
    )

    async def scene() -> None:
        async with Caller(SQLiteStore(tmp_path), routes=(*ROUTES, *planted)) as call:
            path = await call.create(SURVEY) + "/echo"
            word = SURVEY.digest[:4]
            answer = await call.admin("GET", f"{path}?times=2&loud=true")
            assert (answer.status, answer.json()) == (200, {"said": [word.upper()] * 2, "by": "admin"})
            answer = await call.admin("POST", path, {"times": 1})
            assert (answer.status, answer.json()) == (200, {"said": [word], "by": "admin"})
            # The role.
            reader = (await call.admin("POST", f"/v1/surveys/{SURVEY.digest}/tokens", {"kind": "read"})).json()
            assert (await call("GET", f"{path}?times=1")).status == 401
            assert (await call("GET", f"{path}?times=1", token="wrong")).status == 403
            found = await call("GET", f"{path}?times=1", token=reader["token"])
            assert (found.status, found.json()["by"]) == (200, "reader")
            assert (await call("POST", path, {"times": 1}, token=reader["token"])).status == 403
            # What it takes.
            for query, sentence in (
                ("times=4", "times must be a whole number from 1 to 3"),
                ("loud=true", "query must have the parameter 'times'; see /openapi.json"),
                ("times=1&loud=1", "loud must be true or false"),
                ("times=1&more=1", "query must not have the parameter 'more'; see /openapi.json"),
            ):
                refused = await call.admin("GET", f"{path}?{query}")
                assert (refused.status, refused.json()["detail"]) == (400, sentence)
            for body, sentence in (
                (b'{"times": 1, "times": 2}', "body must be JSON in UTF-8, with whole numbers"),
                ({"times": True}, "times must be a whole number from 1 to 3"),
                ({}, "body must be an object with times and at most loud, times"),
            ):
                refused = await call.admin("POST", path, body)
                assert (refused.status, refused.json()["detail"]) == (400, sentence)
            assert (await call.admin("GET", "/v1/surveys/" + "0" * 64 + "/echo?times=1")).status == 404
            refused = await call.admin("PUT", path)
            assert (refused.status, refused.json()["detail"]) == (405, "method must be one of GET, POST here")
            # What a browser asks, what is counted, and what is written down.
            preflight = await call("OPTIONS", path)
            assert (preflight.status, preflight.headers["access-control-allow-methods"]) == (204, "GET, POST")
            counted = (await call.admin("GET", "/metrics")).body.decode()
            assert 'deniable_requests_total{route="echo_post",status="400"} 3' in counted
            document = (await call("GET", "/openapi.json")).json()
            get, post = (document["paths"][PLANTED][method] for method in ("get", "post"))
            assert get["parameters"] == [
                {"name": "times", "in": "query", "required": True,
                 "schema": {"type": "integer", "minimum": 1, "maximum": 3, "description": "how often"}},
                {"name": "loud", "in": "query", "schema": {"type": "boolean", "default": False}},
            ]  # fmt: skip
            assert post["requestBody"]["content"]["application/json"]["schema"]["$ref"].endswith("/Echo")
            assert set(post["responses"]) == {"200", "400", "401", "403", "404", "408", "409", "413", "503"}
            assert (get["security"], post["security"]) == ([{}, {"bearer": []}], [{"bearer": []}])
            assert document["components"]["schemas"]["Echoed"]["required"] == ["said", "by"]

    run(scene())


def test_no_route_is_declared_outside_the_table() -> None:
    """No other module of the collector makes a `Route`, or has a text that begins like the path of one."""
    begins = tuple({route.path.partition("{")[0] for route in ROUTES})
    found = []
    for path in sorted(Path(room.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            made = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Route"
            text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
            if made or text.startswith(begins):
                found.append(path.name)
    assert set(found) == {"routes.py"}


def test_every_handler_says_what_it_takes_and_gives() -> None:
    names = [route.name for route in ROUTES]
    assert len(names) == len(set(names))
    for route in ROUTES:
        assert set(route.wants) <= {"entry", "role", "token", "given"}, route.name
        assert ("entry" in route.wants) <= ("{digest}" in route.path), route.name
        assert route.answer is not None or route.statuses == (204,), route.name
    assert [route.name for route in ROUTES if route.handler is None] == ["upload"], "the one that is answered apart"


DEEP = b'{"survey": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"


@pytest.mark.parametrize("model", [EstimateRequest, NewSurvey, PlanRequest], ids=lambda model: model.__name__)
@pytest.mark.parametrize(
    "body",
    [b'{"n": 1, "n": 2}', b'{"n": NaN}', b'{"n": 1e999}', b'{"n": ' + b"9" * 5000 + b"}", DEEP, "{}".encode("utf-16")],
    ids=["twice", "NaN", "infinite", "huge", "deep", "UTF-16"],
)
def test_json_that_readers_disagree_about_is_refused_by_every_model(model: type[Input], body: bytes) -> None:
    with pytest.raises(RequestError, match="body must be") as refused:
        read_json(model, body)
    assert (refused.value.status, refused.value.word) == (400, "malformed")


BODIES = sorted({route.body for route in ROUTES if route.body is not None}, key=lambda model: model.__name__)


@pytest.mark.parametrize("model", BODIES, ids=lambda model: model.__name__)
def test_a_value_of_another_type_is_refused_in_words_in_every_field(model: type[Input]) -> None:
    """`resume: false` was a bug of the collector: objects had no word."""
    every = fields(model)
    needed: dict[str, object] = {field.encode_name: {} for field in every if field.required}
    refused = []
    for field in every:
        for wrong in (None, True, 0.5, "x", [[None]], {"x": [None]}):
            try:
                read_json(model, json.dumps(needed | {field.encode_name: wrong}).encode())
            except RequestError as problem:
                refused.append(problem)
    assert refused
    assert all(problem.word in ("malformed", model.refusal[1]) and " must " in str(problem) for problem in refused)


def test_a_text_of_a_query_is_no_null_and_no_other_value() -> None:
    for query in (b"top=null", b"top=%D9%A1", b"top=1.0", b"complete=True", b"level=nan", b"decoder=null"):
        with pytest.raises(RequestError):
            read_query(EstimateRequest, query)
    asked = read_query(EstimateRequest, b"top=12&complete=false&level=.5&candidates=a,b,1")
    assert asked is not None
    assert (asked.top, asked.complete, asked.level, asked.candidates) == (12, False, 0.5, ["a", "b", "1"])
