"""Surveys, tokens and rules over HTTP, and who may do what: every route, every role."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import deniable as dn
from deniable.errors import StoreError
from deniable.service.entries import Rules
from deniable.service.routes import ROUTES
from deniable.service.sqlite import SQLiteStore
from deniable.service.tokens import check_admin
from tests.collector import ADMIN, Caller, Ticking, name_of, one_cell_each, records, run

SURVEY = one_cell_each(1024)
PATH = f"/v1/surveys/{SURVEY.digest}"
RINGING = dn.Survey(SURVEY.alphabet, SURVEY.encoding, SURVEY.mechanism, "Ring\x07?")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    made = SQLiteStore(tmp_path)
    yield made
    made.close()


def test_a_survey_from_creation_to_its_end(store: SQLiteStore) -> None:
    async def scene() -> None:
        async with Caller(store) as call:
            body = {"survey": json.loads(SURVEY.to_json()), "rules": {"window": "week", "minimum": 7}}
            made = await call.admin("POST", "/v1/surveys", body)
            assert made.status == 201
            assert (await call.admin("POST", "/v1/surveys", body)).status == 200
            other = await call.admin("POST", "/v1/surveys", body | {"rules": {"window": "day"}})
            assert other.status == 409
            assert "rules must stay as they are once survey" in other.json()["detail"]
            seen = (await call("GET", PATH)).json()
            assert dn.Survey.from_fields(seen["survey"]) == SURVEY, "a client may load it from here"
            assert seen["rules"] == Rules(window="week", minimum=7).to_json()
            assert seen["state"] == "open"
            assert [s["digest"] for s in (await call.admin("GET", "/v1/surveys")).json()["surveys"]] == [SURVEY.digest]
            for _ in range(2):
                assert (await call.admin("POST", f"{PATH}/close")).json()["state"] == "closed"
            assert (await call("GET", PATH)).json()["state"] == "closed"
            assert (await call.upload(SURVEY, records(SURVEY, [1]))).status == 410

    run(scene())


QUOTA = "quota must be a positive number of reports, for upload tokens only"
WRONG = [
    ("/v1/surveys", b"[]", 400, "body must be an object with survey and at most rules, survey"),
    ("/v1/surveys", b"{", 400, "body must be JSON in UTF-8, with whole numbers"),
    ("/v1/surveys", {"survey": {}, "more": 1}, 400, "body must be an object with survey"),
    ("/v1/surveys", {"survey": {"format": "x"}}, 422, "survey must have the field"),
    (
        "/v1/surveys",
        {"survey": json.loads(RINGING.to_json())},
        422,
        "name must not have control characters or line breaks, got U+0007; write it in one line",
    ),
    ("/v1/surveys", {"survey": 1}, 422, "survey must be an object, got int"),
    (f"{PATH}/tokens", {"kind": "admin"}, 422, "kind must be upload, read or owner"),
    (f"{PATH}/tokens", {"kind": "read", "quota": 4}, 422, QUOTA),
    (f"{PATH}/tokens", {"kind": "upload", "quota": True}, 422, QUOTA),
    (f"{PATH}/tokens", {"kind": "upload", "name": "x" * 201}, 422, "name must be text of at most 200 characters"),
    (f"{PATH}/tokens", {}, 400, "body must be an object with kind"),
]


def test_what_an_administrator_may_get_wrong(store: SQLiteStore) -> None:
    async def scene() -> None:
        async with Caller(store) as call:
            await call.create(SURVEY)
            for path, body, status, sentence in WRONG:
                answer = await call.admin("POST", path, body)
                assert (answer.status, answer.headers["content-type"]) == (status, "application/problem+json"), answer
                assert sentence in answer.json()["detail"], answer
            gone = await call.admin("DELETE", f"{PATH}/tokens/{'0' * 16}")
            assert gone.json()["detail"] == "there is no such token of this survey"
            for method, path, status, sentence in (
                ("GET", "/nowhere", 404, "there is nothing here; see /openapi.json"),
                ("OPTIONS", "/nowhere", 404, "there is nothing here; see /openapi.json"),
                ("PUT", PATH, 405, "method must be one of DELETE, GET, PATCH here"),
                ("GET", f"{PATH}/tally?day=3", 400, "query must not have the parameter 'day'; see /openapi.json"),
                ("GET", f"{PATH}/tally?from=1&from=2", 400, "query must not repeat a parameter"),
                ("GET", f"{PATH}/tally?from=%ff", 400, "query must be percent-encoded UTF-8"),
            ):
                answer = await call.admin(method, path)
                assert answer.status == status, answer
                assert answer.json()["detail"] == sentence

    run(scene())


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ([], "rules must be an object, got list"),
        ({"epsilon": 1}, "rules must not have the field 'epsilon'; this version does not know it"),
        ({"window": "year"}, "window must be one of hour, day, week, got 'year'"),
        ({"results": None}, "results must be one of private, public, got 'None'"),
        ({"minimum": -1}, "minimum must be a whole number from 0 to 9007199254740992, got '-1'"),
        ({"horizon": True}, "horizon must be a whole number from 1 to 36500, got 'True'"),
        ({"rate": 0}, "rate must be a whole number from 1 to 2147483648, got '0'"),
        ({"closes": 7}, "closes must be a time like 2026-11-15T14:30, in UTC, got int"),
        ({"closes": "soon"}, "closes must be like 2026-11-15 or 2026-11-15T14:30, in UTC, got 'soon'"),
        ({"closes": "2026-02-30"}, "closes must be like 2026-11-15 or 2026-11-15T14:30, in UTC, got '2026-02-30'"),
        ({"closes": "1969-12-31"}, "closes must be like 2026-11-15 or 2026-11-15T14:30, in UTC, got '1969-12-31'"),
        ({"thanks": None}, "thanks must be text, got NoneType"),
        ({"introduction": "x" * 2001}, "introduction must have at most 2000 characters, got 2001"),
        ({"thanks": "x" * 1001}, "thanks must have at most 1000 characters, got 1001"),
        ({"thanks": "\x00"}, "thanks must be plain text, got control characters"),
        ({"thanks": "\ud800"}, "thanks must be plain text, got control characters"),
        ({"frames": "https://a.example"}, "frames must be a list of origins, got str"),
        ({"frames": ["https://a.example"] * 21}, "frames must have at most 20 origins, got 21"),
        *(
            (
                {"frames": [wrong]},
                f"frames must be origins like https://www.example.org, got {str(wrong)[:60]!r}; leave out the path, "
                "and use https",
            )
            for wrong in (
                "*", "https://*.example", "http://www.example.org", "https://a.example/", "https://a.example/page",
                "https://a.example; script-src *", "https://a.example https://b.example", "https://a.example\n", "null",
                "'self'", "https:", "https://", "data:", "https://a@b.example", "https://-a.example", "https://a..b",
                "https://a.example:0", "https://a.example:", "javascript:alert(1)", "https://bücher.example", 7, None,
            )
        ),
    ],
)  # fmt: skip
def test_rules_are_checked(given: object, sentence: str) -> None:
    with pytest.raises(StoreError) as refused:
        Rules.read(given)
    assert str(refused.value) == sentence
    assert Rules.read(Rules(retention=3).to_json()) == Rules(retention=3)
    read = Rules.read({"thanks": " one\r\n\r\ntwo\t\n", "closes": "2026-11-20T17Z"})
    assert (read.thanks, read.closes) == ("one\n\ntwo", "2026-11-20T17:00Z")


def test_origins_are_written_as_browsers_write_them() -> None:
    given = ["https://WWW.Example.org:443", "https://www.example.org", "http://127.0.0.1:80", "http://[::1]:8000"]
    rules = Rules.read({"frames": [*given, "https://[2001:db8::1]:8443"]})
    assert rules.frames == (
        "https://www.example.org", "http://127.0.0.1", "http://[::1]:8000", "https://[2001:db8::1]:8443",
    )  # fmt: skip
    assert Rules.read(rules.to_json()) == rules
    assert Rules.read(json.loads(json.dumps(rules.to_json()))) == rules
    assert rules.fixed == Rules(), "no result depends on it"


def test_a_survey_that_is_answered_once_a_window_is_counted_by_it(store: SQLiteStore) -> None:
    async def scene() -> None:
        async with Caller(store) as call:
            for window in ("hour", "day", "week"):
                survey = dn.warner(epsilon=1, participation=f"window:{window}")
                body = {"survey": json.loads(survey.to_json())}
                for other in {"hour", "day", "week"} - {window}:
                    refused = await call.admin("POST", "/v1/surveys", body | {"rules": {"window": other}})
                    assert refused.status == 422
                    assert refused.json()["detail"] == (
                        f"window must be {window!r}, which devices answer this survey once in, got {other!r}; "
                        "leave it out"
                    )
                for rules in ({}, {"window": window}, {"minimum": 100}):
                    made = await call.admin("POST", "/v1/surveys", body | {"rules": rules})
                    assert made.status == (201 if rules == {} else 200), "the same rules each time"
                    assert made.json()["rules"]["window"] == window
                wrong = await call.admin("POST", "/v1/surveys", body | {"rules": {"window": ["day"]}})
                assert wrong.status == 422
                assert wrong.json()["detail"] == "window must be one of hour, day, week, got \"['day']\""
            event = {"survey": json.loads(dn.warner(epsilon=1, participation="event").to_json())}
            made = await call.admin("POST", "/v1/surveys", event | {"rules": {"window": "week"}})
            assert (made.status, made.json()["rules"]["window"]) == (201, "week")

    run(scene())


def test_an_administrators_secret_is_not_short() -> None:
    with pytest.raises(StoreError, match="admin token must have at least 16 characters, got 6"):
        check_admin("secret")


# What each route answers to whom: nobody, a wrong token, an owner token of another survey, an upload token, a read
# token, an owner token. What an owner may do to a survey is in test_lifecycle.py.
REFUSED: dict[str, list[int | None]] = {
    "admin": [401, 403, 403, 403, 403, 403],
    "owner": [401, 403, 403, 403, 403],
    "read": [401, 403, 403, 403, None, None],
}
NEEDED = {
    "admin": "the administrator's token",
    "owner": "the administrator's token or an owner token of this survey",
    "read": "a read token of this survey",
}
BODIES: dict[str, object] = {
    "create": {"survey": json.loads(one_cell_each(2048).to_json())},
    "add_token": {"kind": "read"},
    "change": {"rules": {"thanks": "no"}},
    "estimate_post": {"candidates": ["a", "b"]},
    "discover": {},
    "difference_post": {"candidates": ["a", "b"], "against_to": "2020-01-01", "from": "2020-01-01"},
    "crosstab_post": {"candidates": ["a", "b"], "against_to": "2020-01-01", "from": "2020-01-01"},
}


# Who may use which route, said a second time: the table of routes alone could open one to everyone by a slip.
ROLES = {
    "public": {"health", "ready", "openapi", "collector", "survey"},
    "upload": {"upload"},
    "read": {
        "windows", "tally", "estimate", "estimate_post", "trend", "trend_post", "difference", "difference_post",
        "discover", "crosstab", "crosstab_post",
    },
    "owner": {"change", "delete", "close", "reopen"},
    "admin": {
        "metrics", "plan", "plan_form", "replace", "list", "create", "tokens", "add_token", "drop_token", "counters",
    },
}  # fmt: skip


def test_every_route_has_the_role_that_is_meant() -> None:
    found = {role: {route.name for route in ROUTES if route.role == role} for role in {route.role for route in ROUTES}}
    assert found == ROLES
    assert set(ROLES) == {"public", "upload", *REFUSED}


@pytest.mark.slow
def test_every_route_with_no_a_wrong_and_a_lesser_token(store: SQLiteStore) -> None:
    async def scene() -> None:
        async with Caller(store, decode_seconds=30) as call:
            await call.create(SURVEY, uploads="token", minimum=1)
            other = one_cell_each(1024, "another")
            await call.create(other)

            async def token(survey: dn.Survey, kind: str) -> str:
                made = await call.admin("POST", f"/v1/surveys/{survey.digest}/tokens", {"kind": kind})
                return str(made.json()["token"])

            secrets = [None, "nonsense", await token(other, "owner"), await token(SURVEY, "upload")]
            secrets += [await token(SURVEY, "read"), await token(SURVEY, "owner")]
            for route in ROUTES:
                path = route.path.replace("{digest}", SURVEY.digest).replace("{token}", "0" * 16)
                for who, secret in enumerate(secrets[:5] if route.role == "owner" else secrets):
                    body = records(SURVEY, [who]) if route.role == "upload" else BODIES.get(route.name, b"")
                    kind = "application/octet-stream" if route.role == "upload" else None
                    answer = await call(route.method, path, body, token=secret, kind=kind)
                    where = (route.name, who, answer)
                    if route.role == "public":
                        assert answer.status == 200, where
                    elif route.role == "upload":
                        assert answer.status == [401, 403, 403, 200, 403, 403][who], where
                    elif (expected := REFUSED[route.role][who]) is not None:
                        assert answer.status == expected, where
                        assert set(answer.json()) == {"type", "title", "status", "detail"}, where
                        assert ("www-authenticate" in answer.headers) == (expected == 401), where
                        needed = NEEDED[route.role]
                        told = f"this must carry {needed} as Authorization: Bearer"
                        if expected == 403:
                            told = f"the token must be {needed}"
                        assert answer.json()["detail"] == told
                    else:
                        assert answer.status not in (401, 403), where
                if route.role not in ("upload", "public", "owner"):
                    answer = await call(route.method, path, BODIES.get(route.name, b""), token=ADMIN)
                    assert answer.status in (200, 201, 204, 400, 404, 409, 422), (route.name, answer)
            assert [entry.closed for entry in store.entries()] == [0] * 3, "no lesser token closed or deleted a survey"
            assert [entry.rules.thanks for entry in store.entries()] == [""] * 3
            assert len(store.tokens(store.entries()[0])) == 4, "and none made one: the fourth is the administrator's"

    run(scene())


def test_who_may_not_read_does_not_learn_whether_a_survey_exists(store: SQLiteStore) -> None:
    async def scene() -> None:
        async with Caller(store) as call:
            await call.create(SURVEY)
            for digest in (SURVEY.digest, "0" * 64):
                assert (await call("POST", f"/v1/surveys/{digest}/close")).status == 401
                assert (await call("POST", f"/v1/surveys/{digest}/close", token="nonsense")).status == 403

    run(scene())


def test_public_results_need_no_token(store: SQLiteStore) -> None:
    async def scene() -> None:
        clock = Ticking()
        async with Caller(store, clock=clock) as call:
            path = await call.create(SURVEY, results="public", minimum=2)
            few = await call.admin("GET", f"{path}/tally")
            assert few.status == 409
            assert few.json()["detail"] == "results are shown from 2 reports on; this range has fewer"
            await call.upload(SURVEY, records(SURVEY, range(2)))
            assert (await call("GET", f"{path}/tally")).status == 409, "the day is not over"
            clock.pass_hours(25)
            assert (await call("GET", f"{path}/tally")).status == 200
            assert (await call("GET", f"{path}/windows")).status == 200
            assert (await call("GET", f"{path}/counters")).status == 401, "how many were refused is not a result"
            assert name_of(1) not in (await call("GET", f"{path}/tally")).body

    run(scene())


def test_health_and_readiness(store: SQLiteStore) -> None:
    async def scene() -> None:
        async with Caller(store) as call:
            assert (await call("GET", "/healthz")).json() == {"status": "alive"}
            assert (await call("GET", "/readyz")).json() == {"status": "ready", "clock": "trusted"}
            head = await call("HEAD", "/readyz")
            assert (head.status, head.body) == (200, b"")
            store.database.broken = "the database failed: disk I/O error; check the disk, then restart"
            broken = await call("GET", "/readyz")
            assert broken.status == 503
            assert broken.json()["detail"] == store.broken
            assert (await call("GET", "/healthz")).status == 200, "a process that cannot write is alive all the same"
            store.database.broken = None
            call.app.stopping = True
            stopping = await call("GET", "/readyz")
            assert stopping.json()["detail"] == "the collector is stopping"
            assert stopping.headers["retry-after"] == "5"

    run(scene())
