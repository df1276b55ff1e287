"""`deniable survey register | list | close | reopen | delete` against a real collector, and how they refuse."""

import http.server
import io
import json
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import deniable as dn
from deniable.cli import main
from tests.collector import ADMIN, Server, one_cell_each, records, serving
from tests.unit.cli.test_cli import refused

NAMED, PLAIN = one_cell_each(1024, "Which homepage?"), one_cell_each(512)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("collector")
    with serving(str(folder / "store"), folder) as made:
        yield made


@pytest.fixture
def url(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The collector without a survey, and a folder with its token where `deniable serve` leaves it."""
    monkeypatch.chdir(tmp_path)
    for one in server.ask("GET", "/v1/surveys").json()["surveys"]:
        assert server.ask("DELETE", f"/v1/surveys/{one['digest']}").status == 200
    (tmp_path / "collector").mkdir()
    (tmp_path / "collector" / "admin-token").write_text(ADMIN + "\n")
    NAMED.save("named.json")
    PLAIN.save("plain.json")
    found = f"http://127.0.0.1:{server.port}"
    monkeypatch.setenv("DENIABLE_COLLECTOR", found)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")  # what is on this machine is asked for directly
    return found


def said(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    assert main(["survey", *argv]) == 0, capsys.readouterr().err
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def count(server: Server, survey: dn.Survey, reports: int) -> None:
    path, body = f"/v1/surveys/{survey.digest}/reports", records(survey, range(reports))
    assert server.ask("POST", path, body, kind="application/octet-stream").json()["accepted"] == reports


def test_a_survey_from_registration_to_deletion(server: Server, url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "list") == "no survey is registered; `deniable survey register FILE` does that\n"
    rules = ["--window", "hour", "--minimum", "7", "--results", "public", "--closes", "2999-12-24T18:00"]
    rules += ["--introduction", "Hello,\n\nplease answer.", "--thanks", "Bye", "--horizon", "9", "--rate", "1e6"]
    told = f"""registered Which homepage? ({NAMED.digest[:8]}), open
answer it:    {url}/answer/{NAMED.digest}
its results:  {url}/results/{NAMED.digest}
"""
    for _ in range(2):
        assert said(capsys, "register", "named.json", *rules) == told
    said(capsys, "register", "plain.json", "--uploads", "open", "--retention", "90")
    stored = server.ask("GET", f"/v1/surveys/{NAMED.digest}").json()["rules"]
    assert stored["introduction"] == "Hello,\n\nplease answer."
    assert (stored["window"], stored["minimum"], stored["results"], stored["rate"]) == ("hour", 7, "public", 10**6)
    count(server, NAMED, 20)
    assert said(capsys, "close", NAMED.digest[:6]) == f"Which homepage? ({NAMED.digest[:8]}) is closed\n"
    assert said(capsys, "close", "plain.json", "--for-good") == f"{PLAIN.digest[:8]} is closed for good\n"
    assert said(capsys, "list") == (
        "name             digest        state            answers  closes\n"
        f"Which homepage?  {NAMED.digest[:12]}  closed                20  2999-12-24T18:00Z\n"
        f"(no name)        {PLAIN.digest[:12]}  closed for good        0\n"
    )
    listed = json.loads(said(capsys, "list", "--json"))["surveys"]
    assert [(one["digest"], one["reports"]) for one in listed] == [(NAMED.digest, 20), (PLAIN.digest, 0)]
    opened = f"Which homepage? ({NAMED.digest[:8]}) is open until 2999-12-24T18:00Z\n"
    assert said(capsys, "reopen", NAMED.digest) == opened
    told = f"deleted Which homepage? ({NAMED.digest[:8]}) and its 20 answers\n"
    assert said(capsys, "delete", "named.json", "--yes") == told
    assert server.ask("GET", f"/v1/surveys/{NAMED.digest}").status == 404


def test_a_deletion_is_confirmed_by_a_word(
    server: Server, url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    said(capsys, "register", "plain.json")
    count(server, PLAIN, 1)
    name = PLAIN.digest[:8]
    told = f"--yes must be given to delete {name} where nobody can be asked"
    monkeypatch.setattr("sys.stdin", io.StringIO("delete\n"))
    assert refused(capsys, "survey", "delete", name) == told
    for typed in ("yes\n", ""):
        _person_types(monkeypatch, typed)
        assert main(["survey", "delete", name]) == 2
        asked = f"{name} and its 1 answer, its report ids and its tokens will be gone for good.\nType delete to go on: "
        why = f"deniable: {name} must be confirmed with the word delete; nothing was deleted\n"
        assert capsys.readouterr().err == asked + why
    assert server.ask("GET", f"/v1/surveys/{PLAIN.digest}").status == 200
    _person_types(monkeypatch, "delete\n")
    assert main(["survey", "delete", name]) == 0
    assert capsys.readouterr().out == f"deleted {name} and its 1 answer\n"


def _person_types(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    typed = io.StringIO(text)
    typed.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr("sys.stdin", typed)


def test_what_is_asked_for_wrongly_is_refused_in_a_sentence(
    server: Server, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said(capsys, "register", "named.json")
    said(capsys, "register", "plain.json")
    again = "rules must stay as they are once survey"
    assert again in refused(capsys, "survey", "register", "named.json", "--minimum", "5")
    past = refused(capsys, "survey", "register", "named.json", "--closes", "soon")
    assert past == f"{url} answered 422: closes must be like 2026-11-15 or 2026-11-15T14:30, in UTC, got 'soon'"
    gone = "0" * 64
    for action in ("close", "reopen", "delete"):
        told = f"survey 00000000 must be registered at {url}, got an unknown one; see `deniable survey list`"
        assert refused(capsys, "survey", action, gone) == told
        told = (
            f"SURVEY must be a survey file, a digest, how one starts, or the name of a survey of {url}, got 'no.json'"
        )
        assert refused(capsys, "survey", action, "no.json") == told
        assert "got ''" in refused(capsys, "survey", action, "")
    odd = refused(capsys, "survey", "register", "named.json", "--window", "x")
    assert "--window must be one of hour, day, week" in odd
    assert refused(capsys, "survey", "register", "nothing.json") == (
        "nothing.json cannot be read: no such file or directory"
    )


def test_the_start_of_a_digest_must_name_one_survey(
    server: Server, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    surveys = [one_cell_each(512, f"number {number}") for number in range(17)]  # two of them start alike
    for survey in surveys:
        server.create(survey)
    starts = [survey.digest[0] for survey in surveys]
    twice = next(start for start in starts if starts.count(start) > 1)
    told = f"SURVEY must name one survey of {url}, got {starts.count(twice)} that start with {twice}"
    assert refused(capsys, "survey", "close", twice) == f"{told}; see `deniable survey list`"


def test_a_survey_is_named_by_its_name_where_one_alone_has_it(
    server: Server, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    alone, *alike = (
        one_cell_each(256, "a question?"),
        one_cell_each(512, "asked twice"),
        one_cell_each(1024, "asked twice"),
    )
    for survey in (alone, *alike):
        server.create(survey)
    assert said(capsys, "close", "a question?").endswith("is closed\n")
    assert said(capsys, "reopen", "a question?").endswith("is open\n")
    told = f"SURVEY must name one survey of {url}, got 2 called 'asked twice'; see `deniable survey list`"
    assert refused(capsys, "survey", "delete", "asked twice", "--yes") == told
    assert said(capsys, "delete", "a question?", "--yes").startswith("deleted ")
    assert [one["digest"] for one in server.ask("GET", "/v1/surveys").json()["surveys"]] == [s.digest for s in alike]


def test_tokens_that_are_missing_wrong_or_unreadable(
    server: Server, url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "wrong").write_text("nonsense")
    told = f"token file wrong must hold the administrator's token of {url}, got one that it refuses"
    assert refused(capsys, "survey", "list", "--token-file", "wrong") == f"{told}; name another with --token-file"
    told = "token file nowhere must be readable: no such file or directory; name the collector's admin-token with"
    assert refused(capsys, "survey", "list", "--token-file", "nowhere") == f"{told} --token-file"
    for text in (b"", b"two\nlines", b"\xff"):
        (tmp_path / "odd").write_bytes(text)
        told = "token file odd must hold one line of text, the administrator's secret"
        assert refused(capsys, "survey", "list", "--token-file", "odd") == told
    monkeypatch.setenv("DENIABLE_TOKEN_FILE", "wrong")
    assert "token file wrong must hold" in refused(capsys, "survey", "list")
    assert said(capsys, "list", "--token-file", "collector/admin-token")


def test_an_owner_may_close_and_delete_what_is_theirs(
    server: Server, url: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    said(capsys, "register", "plain.json")
    body = json.dumps({"kind": "owner"}).encode()
    secret = server.ask("POST", f"/v1/surveys/{PLAIN.digest}/tokens", body).json()["token"]
    (tmp_path / "mine").write_text(secret)
    assert said(capsys, "close", "plain.json", "--token-file", "mine") == f"{PLAIN.digest[:8]} is closed\n"
    told = f"deleted {PLAIN.digest[:8]} and its 0 answers\n"
    assert said(capsys, "delete", PLAIN.digest, "--yes", "--token-file", "mine") == told


@pytest.mark.parametrize("address", ["localhost:1", "ftp://x", "http://", "http://me@host", "http://a b", "http://h?q"])
def test_an_address_is_an_http_address(address: str, url: str, capsys: pytest.CaptureFixture[str]) -> None:
    told = f"--collector must be like http://127.0.0.1:8765 or https://host, got {address!r}"
    assert refused(capsys, "survey", "list", "--collector", address) == told


def test_nobody_there(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
        told = f"a collector must answer at {address}, got connection refused; start it with `deniable serve`, or name"
        assert refused(capsys, "survey", "list", "--collector", address) == f"{told} another with --collector"


def _pretend(answer: Callable[[http.server.BaseHTTPRequestHandler], None]) -> Iterator[tuple[str, list[str]]]:
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            answer(self)

        def log_message(self, *_: object) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{made.server_port}", asked
        made.shutdown()


@pytest.mark.parametrize(("status", "got"), [(200, "something else"), (500, "status 500"), (302, "status 302")])
def test_something_that_is_no_collector(status: int, got: str, url: str, capsys: pytest.CaptureFixture[str]) -> None:
    def answer(handler: http.server.BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("Location", "/elsewhere")
        handler.send_header("Content-Length", "6")
        handler.end_headers()
        handler.wfile.write(b"<html>")

    for address, asked in _pretend(answer):
        told = f"{address} must answer as a collector does, got {got}; is --collector right?"
        assert refused(capsys, "survey", "list", "--collector", address) == told
        assert asked == ["/v1/surveys"], "a redirect would take the secret elsewhere"


def test_a_token_in_the_clear_is_warned_about(
    url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("http_proxy")
    assert main(["survey", "list", "--collector", "http://collector.invalid"]) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert first == "deniable: http://collector.invalid is not https://, so others on the way can read the token"
    assert second.startswith("deniable: a collector must answer at http://collector.invalid, got ")
