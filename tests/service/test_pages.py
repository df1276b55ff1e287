"""Pages, plans and trends over HTTP: what is served, to whom, and what is refused."""

import asyncio
import gzip
import json
import re
from pathlib import Path

import pytest

import deniable as dn
from deniable.service.children import FAILED
from deniable.service.pages import POLICY, _read
from deniable.service.pages.library import Library
from deniable.service.planning import Planning
from deniable.service.sqlite import SQLiteStore
from tests.collector import Caller, Ticking, run

PAGES = Path(dn.__file__).parent / "service" / "pages"


def test_pages_are_served_with_their_policy_and_a_tag(tmp_path: Path) -> None:
    async def story() -> None:
        async with Caller(SQLiteStore(tmp_path)) as call:
            survey = dn.krr(symbols=["no", "yes"], epsilon=3)
            await call.create(survey)
            other = dn.krr(symbols=["no", "yes"], epsilon=3, name="never asked")
            for path, name, status in (
                ("/", "ask", 200),
                ("/explore", "explore", 200),
                (f"/answer/{survey.digest}", "answer", 200),
                (f"/results/{survey.digest}", "results", 200),
                ("/answer/x", "answer", 404),
                ("/results/x", "results", 404),
                (f"/answer/{other.digest}", "answer", 404),
                (f"/results/{other.digest}", "results", 404),
            ):
                page = await call("GET", path)
                assert (page.status, page.headers["content-type"]) == (status, "text/html; charset=utf-8")
                assert re.sub(rb"<noscript.*?</noscript>", b"", page.body) == re.sub(
                    rb"<noscript.*?</noscript>", b"", (PAGES / f"{name}.html").read_bytes()
                )
                assert "unsafe" not in page.headers["content-security-policy"]
            for name in sorted(path.name for path in PAGES.iterdir() if path.suffix in (".js", ".css", ".svg")):
                # What is left out of scripts and sheets changes nothing: tests/pages/sources.test.mjs.
                made = _read(name)
                assert made is not None
                assert (await call("GET", f"/pages/{name}")).body == made
            for path in ("/pages/library.py", "/pages/nothing.js", "/pages/../app.py", "/answer/", "/answer/a/b"):
                assert (await call("GET", path)).status == 404, path
            refused = await call("POST", "/")
            assert (refused.status, refused.json()["detail"]) == (405, "method must be GET here")

    run(story())


def test_a_browser_that_has_a_file_is_told_so(tmp_path: Path) -> None:
    async def story() -> None:
        async with Caller(SQLiteStore(tmp_path)) as call:
            sent: list[dict[str, object]] = []

            async def send(message: dict[str, object]) -> None:
                sent.append(message)

            async def get(**headers: str) -> tuple[int, dict[bytes, bytes], bytes]:
                sent.clear()
                listed = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
                scope = {
                    "type": "http",
                    "method": "GET",
                    "path": "/pages/style.css",
                    "query_string": b"",
                    "headers": listed,
                }
                await call.app(scope, None, send)  # type: ignore[arg-type]
                return sent[0]["status"], dict(sent[0]["headers"]), sent[1]["body"]  # type: ignore[return-value, call-overload]

            status, headers, body = await get()
            assert (status, headers[b"cache-control"]) == (200, b"no-cache")
            packed = await get(accept_encoding="gzip, br")
            assert packed[1][b"content-encoding"] == b"gzip"
            assert gzip.decompress(packed[2]) == body
            again = await get(if_none_match=headers[b"etag"].decode())
            assert (again[0], again[2]) == (304, b"")
            assert b"content-length" not in again[1]

    run(story())


@pytest.mark.slow
def test_the_charts_library_and_templates_are_made_once(tmp_path: Path) -> None:
    async def story() -> None:
        async with Caller(SQLiteStore(tmp_path)) as call:
            library, charts = await call("GET", "/pages/vega.js"), await call("GET", "/pages/charts.json")
            assert library.headers["content-type"] == "text/javascript; charset=utf-8"
            assert b"vegaEmbed" in library.body
            assert len(library.body) < 1_200_000
            assert charts.json()["estimate"]["data"] == {"name": "rows"}

    run(story())


def test_a_plan_over_http(tmp_path: Path) -> None:
    async def story() -> None:
        async with Caller(SQLiteStore(tmp_path)) as call:
            asked = {"n": 5000, "symbols": ["no", "yes"], "max_error": 0.05, "name": "ready"}
            assert (await call("POST", "/v1/plan", asked)).status == 401
            made = (await call.admin("POST", "/v1/plan", asked)).json()
            survey = dn.Survey.from_json(json.dumps(made["survey"]))
            assert (survey.name, made["found"], made["mechanism"]) == ("ready", "epsilon", "W-RR")
            assert made["errors"]["max_error"]["bound"] <= 0.05
            assert {"mechanism", "n", "epsilon"} == set(made["lines"][0])
            created = await call.admin("POST", "/v1/surveys", {"survey": made["survey"]})
            assert created.status == 201
            for body, status, said in (
                (b"[]", 400, "body must be a JSON object of the planner's arguments"),
                (b'{"m": 1}', 400, "body must not have the field 'm'; see /openapi.json"),
                (
                    {"n": 10, "epsilon": "1", "symbols": 5000},
                    422,
                    "symbols must be at most 4096 here; deniable plan takes more",
                ),
                ({"n": 10, "symbols": 2, "max_error": 0.001}, 422, "max_error must be at least"),
            ):  # fmt: skip
                refused = await call.admin("POST", "/v1/plan", body)
                assert refused.status == status
                assert said in refused.json()["detail"]

    run(story())


@pytest.mark.slow
@pytest.mark.parametrize("answers", [{"symbols": ["no", "maybe", "yes"]}, {"candidates": 20}], ids=["closed", "open"])
def test_a_plan_that_is_not_possible_comes_with_what_is(tmp_path: Path, answers: dict[str, object]) -> None:
    async def story() -> None:
        async with Caller(SQLiteStore(tmp_path)) as call:
            asked = {"n": 150, "max_error": 0.05, "name": "few", **answers}
            refused = await call.admin("POST", "/v1/plan", asked)
            told = refused.json()
            assert (refused.status, told["type"]) == (422, "urn:deniable:problem:plan")
            assert told["detail"].startswith("max_error must be at least")
            assert 0.05 < told["least"] < 0.2
            ways = told["alternatives"]
            assert [(way["epsilon"], way["privacy"]) for way in ways] == [
                (2.0, "strong"), (4.0, "weak"), (2.0, "strong"),
            ]  # fmt: skip
            assert told["least"] < ways[1]["error"] < ways[0]["error"] < 0.5
            assert [way["n"] for way in ways[:2]] == [150, 150]
            assert (ways[2]["n"] > 150, ways[2]["error"]) == (True, 0.05)
            for way in ways:
                wanted = {"n": way["n"], "epsilon": way["epsilon"], "metric": "max", "name": "few", **answers}
                made = await call.admin("POST", "/v1/plan", wanted)
                assert made.status == 200
                assert 0.8 < made.json()["errors"]["max_error"]["bound"] / way["error"] < 1.2
            other = (await call.admin("POST", "/v1/plan", {"n": 150, "symbols": 2, "max_error": 3})).json()
            assert "alternatives" not in other, "a question that is wrong in itself has none"

    run(story())


def test_a_plan_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    async def story() -> None:
        async with Caller(SQLiteStore(tmp_path), decode_seconds=1e-6) as call:
            refused = await call.admin("POST", "/v1/plan", {"n": 100, "symbols": 2, "epsilon": "1"})
            assert (refused.status, refused.headers["retry-after"]) == (503, "60")
            assert refused.json()["detail"] == "a plan must take at most 1e-06 seconds; name fewer answers"

    run(story())


@pytest.mark.parametrize("shifted", [True, False])
def test_a_trend_marks_the_window_that_differs(tmp_path: Path, shifted: bool) -> None:
    async def story() -> None:
        clock = Ticking()
        survey = dn.krr(symbols=["no", "yes"], epsilon=3)
        async with Caller(SQLiteStore(tmp_path), clock=clock) as call:
            path = await call.create(survey, minimum=10, window="day")
            assert (await call.admin("GET", path + "/trend")).json()["detail"] == (
                "results are shown from 10 reports on; no window has as many"
            )
            for day in range(6):
                yes = 700 if shifted and day >= 4 else 200
                # The cells themselves, not random ones: a test of marks, not of noise.
                cells = [0] * (1000 - yes) + [1] * yes
                body = b"".join(
                    (day * 1000 + i).to_bytes(16, "big") + dn.Report(survey, 0, bytes([cell])).pack()
                    for i, cell in enumerate(cells)
                )
                assert (await call.upload(survey, body)).json()["accepted"] == 1000
                clock.pass_hours(24)
            assert (await call("GET", path + "/trend")).status == 401
            told = (await call.admin("GET", path + "/trend?level=0.9")).json()
            assert [one["n"] for one in told["windows"]] == [1000] * 6
            marks = [one["changed"] for one in told["windows"]]
            assert marks == [[], [], [], [], ["no", "yes"] if shifted else [], []]
            assert (told["window"], told["level"]) == ("day", 0.9)
            last = told["windows"][-1]["start"]
            only = (await call.admin("POST", path + "/trend", {"from": last})).json()
            assert [one["start"] for one in only["windows"]] == [last]
            refused = await call.admin("POST", path + "/trend", {"format": "csv"})
            assert refused.json()["detail"] == "format must be json for results over time"

    run(story())


def test_only_listed_sites_may_frame_and_only_the_answer_page(tmp_path: Path) -> None:
    async def story() -> None:
        async with Caller(SQLiteStore(tmp_path)) as call:
            survey = dn.krr(symbols=["no", "yes"], epsilon=3)
            path = await call.create(survey, frames=["https://a.example", "http://localhost:8000"])
            page = f"/answer/{survey.digest}"
            before = await call("GET", page)
            directives = before.headers["content-security-policy"].split("; ")
            assert directives[-1] == "frame-ancestors https://a.example http://localhost:8000"
            assert directives[:-1] == POLICY.split("; ")[:-1], "nothing else is looser"
            for other in ("/", "/explore", f"/results/{survey.digest}", "/answer/x", "/nowhere", "/pages/answer.js"):
                found = await call("GET", other, accept="text/html")
                if "content-security-policy" in found.headers:
                    assert found.headers["content-security-policy"] == POLICY, other
            assert (await call("GET", path)).json()["rules"]["frames"] == ["https://a.example", "http://localhost:8000"]
            assert (await call.admin("PATCH", path, {"rules": {"frames": []}})).status == 200
            after = await call("GET", page)
            assert after.headers["content-security-policy"] == POLICY
            assert after.headers["etag"] != before.headers["etag"], "with another policy it is another page"
            assert after.body == before.body

    run(story())


def test_browsers_get_a_page_for_unknown_addresses_and_programs_a_problem(tmp_path: Path) -> None:
    async def story() -> None:
        async with Caller(SQLiteStore(tmp_path)) as call:
            browser = "text/html,application/xhtml+xml,*/*;q=0.8"
            for path in ("/nowhere", "/answer", "/answer/", "/answer/a/b", "/results/"):
                page = await call("GET", path, accept=browser)
                assert (page.status, page.headers["content-type"]) == (404, "text/html; charset=utf-8"), path
                assert b'<a href="/" data-text="missing.ask"></a>' in page.body
                assert "unsafe" not in page.headers["content-security-policy"]
                told = await call("GET", path)
                assert (told.status, told.headers["content-type"]) == (404, "application/problem+json"), path
                assert told.json()["detail"] == "there is nothing here; see /openapi.json"
            for method, path in (("GET", "/v1/nothing"), ("POST", "/nowhere"), ("GET", "/pages/nothing.js")):
                told = await call(method, path, accept=browser)
                assert told.headers["content-type"] == "application/problem+json", "a program's address"

    run(story())


def test_the_collector_says_where_people_reach_it(tmp_path: Path) -> None:
    async def story() -> None:
        async with Caller(SQLiteStore(tmp_path / "a")) as call:
            assert (await call("GET", "/v1/collector")).json() == {"public_url": None}
        async with Caller(SQLiteStore(tmp_path / "b"), public_url="https://reports.example.org") as call:
            assert (await call("GET", "/v1/collector")).json() == {"public_url": "https://reports.example.org"}

    run(story())


def test_no_page_names_another_host() -> None:
    for path in PAGES.iterdir():
        if path.suffix in (".html", ".js", ".css") and not path.name.endswith(".min.js"):
            text = path.read_text().replace("http://www.w3.org/2000/svg", "")
            assert "http:" not in text, path.name
            assert "https:" not in text, path.name
            assert " style=" not in text, path.name
            assert "innerHTML" not in text, path.name


def test_what_cannot_be_made_is_a_bug_that_is_logged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/bin/false")

    async def story() -> None:
        with pytest.raises(RuntimeError, match="the charts' JavaScript could not be made; the lines above say why"):
            await Library().file("vega.js")
        async with Caller(SQLiteStore(tmp_path)) as call:
            assert (await call("GET", "/pages/vega.js")).status == 500
            assert (await call("GET", "/pages/style.css")).status == 200

    run(story())


def test_a_planner_that_fails_says_so_in_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    async def failed(self: Planning, message: bytes, seconds: float) -> tuple[int, bytes]:
        return FAILED, b"a trace"

    monkeypatch.setattr(Planning, "_exchange", failed)
    with pytest.raises(RuntimeError, match="planning failed:\na trace"):
        run(Planning().answer({}))


def test_who_asked_sees_windows_grow_and_readers_see_those_that_ended(tmp_path: Path) -> None:
    async def story() -> None:
        clock = Ticking()
        survey = dn.krr(symbols=["no", "yes"], epsilon=3)
        async with Caller(SQLiteStore(tmp_path), clock=clock) as call:
            path = await call.create(survey, minimum=10, window="day")
            secrets = {}
            for kind in ("read", "owner"):
                secrets[kind] = (await call.admin("POST", path + "/tokens", {"kind": kind})).json()["token"]
            for day in range(3):
                body = b"".join(
                    (day * 100 + i).to_bytes(16, "big") + dn.Report(survey, 0, bytes([i % 2])).pack() for i in range(50)
                )
                assert (await call.upload(survey, body)).json()["accepted"] == 50
                clock.pass_hours(24 if day < 2 else 1)
            for kind, days in (("owner", 3), ("read", 2)):
                windows = (await call("GET", path + "/windows", token=secrets[kind])).json()["windows"]
                assert [one["reports"] for one in windows] == [50] * days, kind
                told = (await call("GET", path + "/trend", token=secrets[kind])).json()["windows"]
                assert [(one["start"], one["end"]) for one in told] == [(one["start"], one["end"]) for one in windows]
                assert (await call("GET", path + "/estimate", token=secrets[kind])).json()["n"] == 50 * days
            for route, status in (("/counters", 403), ("/tokens", 403)):
                assert (await call("GET", path + route, token=secrets["owner"])).status == status, "no more than that"

    run(story())


def test_how_many_answered_is_told_below_the_minimum_too(tmp_path: Path) -> None:
    """To who asked as they come; to readers once the window is over, so that nobody watches a colleague answer."""

    async def story() -> None:
        clock = Ticking()
        survey = dn.krr(symbols=["no", "yes"], epsilon=3)
        async with Caller(SQLiteStore(tmp_path), clock=clock) as call:
            path = await call.create(survey, minimum=50, window="day", results="public")
            owner = (await call.admin("POST", path + "/tokens", {"kind": "owner"})).json()["token"]

            async def send(first: int, count: int) -> None:
                body = b"".join(
                    (first + i).to_bytes(16, "big") + dn.Report(survey, 0, bytes([i % 2])).pack() for i in range(count)
                )
                assert (await call.upload(survey, body)).json()["accepted"] == count

            async def told(token: str | None) -> tuple[int, list[int]]:
                found = (await call("GET", path + "/windows", token=token)).json()
                return found["reports"], [one["reports"] for one in found["windows"]]

            assert await told(owner) == await told(None) == (0, [])
            await send(0, 12)
            assert await told(owner) == (12, [12])
            assert await told(None) == (12, []), "how many came is no secret, and no result"
            assert (await call("GET", path + "/estimate")).status == 409
            assert (await call("GET", path + "/estimate", token=owner)).status == 409, "the count alone is told"
            clock.pass_hours(25)
            assert await told(None) == (12, [])
            await send(100, 40)
            assert await told(owner) == (52, [12, 40])
            assert await told(None) == (52, [])
            clock.pass_hours(25)
            assert await told(None) == (52, [52]), "joined, as their results are"
            await send(200, 3)
            assert await told(None) == (52, [52])
            await call.admin("POST", f"{path}/close")
            assert (await told(None))[0] == 52, "it may be opened again"
            await call.admin("POST", f"{path}/close", {"final": True})
            assert (await told(None))[0] == 55, "nothing more can come"

    run(story())


def test_a_trend_that_is_asked_for_again_decodes_what_has_grown(tmp_path: Path) -> None:
    async def story() -> None:
        clock = Ticking()
        survey = dn.krr(symbols=["no", "yes"], epsilon=3)
        async with Caller(SQLiteStore(tmp_path), clock=clock) as call:
            path = await call.create(survey, minimum=10, window="day")

            async def send(first: int) -> None:
                body = b"".join(
                    (first + i).to_bytes(16, "big") + dn.Report(survey, 0, bytes([i % 2])).pack() for i in range(50)
                )
                assert (await call.upload(survey, body)).json()["accepted"] == 50

            for day in range(4):
                await send(1000 * day)
                clock.pass_hours(24 if day < 3 else 1)
            asked: list[int] = []
            real = call.app.decoding._in_turn

            async def counted(message: bytes, seconds: float) -> bytes:
                asked.append(len(json.loads(message)["parts"]))
                return await real(message, seconds)

            call.app.decoding._in_turn = counted  # type: ignore[method-assign]
            first = (await call.admin("GET", path + "/trend")).json()
            assert sorted(asked) == [1, 1, 1, 1, 4], "each window, and all of them together"
            asked.clear()
            assert (await call.admin("GET", path + "/trend")).json() == first
            assert asked == []
            await send(9000)
            grown = (await call.admin("GET", path + "/trend")).json()
            assert sorted(asked) == [1, 4], "the window that goes on, and all of them together"
            alone = [[window["estimates"] for window in told["windows"][:3]] for told in (grown, first)]
            assert alone[0] == alone[1]
            assert grown["windows"][3]["n"] == 100

    run(story())


def test_a_collector_that_is_told_to_loads_before_anybody_asks(tmp_path: Path) -> None:
    async def story() -> None:
        async with Caller(SQLiteStore(tmp_path), warm_after=0.0) as call:
            while call.app.decoding._process is None:
                await asyncio.sleep(0.01)
        async with Caller(SQLiteStore(tmp_path)) as call:
            await asyncio.sleep(0)
            assert call.app.decoding._process is None

    run(story())


@pytest.mark.parametrize(
    ("path", "charted"), [("/", False), ("/answer/a", False), ("/explore", True), ("/results/a", True)]
)
def test_a_page_with_charts_has_what_draws_them_made(path: str, charted: bool, tmp_path: Path) -> None:
    async def story() -> None:
        async with Caller(SQLiteStore(tmp_path)) as call:
            await call("GET", path)
            assert (call.app.pages._library._making is not None) == charted

    run(story())
