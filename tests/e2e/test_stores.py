"""What a browser keeps of an answer: read by one who has the browser, between the steps and after the last one.

A report is one draw of the channel. Whoever has the browser may hold that, until the collector has it; not what it was
made with, from which the answer follows, and after the thanks nothing but that the survey was answered. That what is
kept depends on the answer through the report alone is in `test_traffic.py`; here is what an attacker tries.
"""

import hashlib
import json
import math
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from playwright.sync_api import Page, Route

import deniable as dn
from tests.collector import Server
from tests.e2e.conftest import PHONE, Open
from tests.e2e.steps import address, answer_link, choose_and_roll, counters, roll, thanked
from tests.e2e.stores import changed, note_uses, read_stores, secrets_in, suspects

pytestmark = pytest.mark.slow

SYMBOLS = [f"answer {letter}" for letter in "abcdefghij"]
KINDS = {
    "krr": dn.krr(SYMBOLS, epsilon=2, name="Kept, one?"),
    "subset": dn.subset(SYMBOLS, epsilon=2, name="Kept, as a list?"),
    "oue": dn.oue(SYMBOLS, epsilon=2, name="Kept, in better bits?"),
    "rappor": dn.krappor(SYMBOLS, epsilon=2, name="Kept, in bits?"),
    "twice": dn.oue(SYMBOLS, epsilon=3, epsilon_report=2, name="Kept, twice?"),
}


def entry(survey: dn.Survey) -> str:
    return f"deniable-answer/2/{survey.digest}"


def answered(page: Page, server: Server, survey: dn.Survey) -> tuple[dict[str, Any], bytes, int]:
    """Answer, with the collector away for a while: all stores at six moments, what was sent, and its day."""
    away = set[tuple[bytes, str]]()

    def lose(route: Route) -> None:
        away.add((route.request.post_data_buffer or b"", route.request.url))
        route.abort()

    page.route("**/reports?*", lose)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    note_uses(page)
    page.goto(answer_link(server, survey))
    page.locator("#form").wait_for()
    moments = {"before": read_stores(page)}
    page.get_by_label("answer c", exact=True).check()
    moments["chosen"] = read_stores(page)
    roll(page)
    moments["rolled"] = read_stores(page)
    page.get_by_role("button", name="Send this").click()
    page.get_by_text("The collector does not answer").wait_for()
    moments["waiting"] = read_stores(page)
    page.unroute("**/reports?*")
    thanked(page)
    moments["after"] = read_stores(page)
    page.reload()
    thanked(page)
    moments["reloaded"] = read_stores(page)
    places = rf"/(answer/{survey.digest}|pages/[\w.-]+|v1/surveys/{survey.digest}(/reports\?day=\d+)?)"
    moments["reloaded"]["asked"] = [url for url in asked if not re.fullmatch(address(server, places), url)]
    ((sent, url),) = away
    return moments, sent, int(url.split("day=")[1])


def expected(survey: dn.Survey, record: bytes, day: int, *, sending: bool) -> dict[str, str]:
    """What may be kept of a report that waits: made here from the report as it is sent, and from nothing else."""
    cohort = dn.Report.unpack(survey, record[16:]).cohort
    spent = math.ceil(Fraction(str(survey.epsilon_report)) * 10**9)
    kept = {"cohort": cohort, "made": [0, 1], "outbox": {record.hex(): day}, "spent": [spent, spent]}
    text = json.dumps({survey.digest: kept}, separators=(",", ":"))
    state = hashlib.sha256(text.encode()).hexdigest() + text
    fields = {"state": state, "sending": True} if sending else {"state": state}
    return {entry(survey): json.dumps(fields, separators=(",", ":"))}


def said_too_much(moments: dict[str, Any], survey: dn.Survey, sent: bytes, day: int) -> list[str]:
    """The moments at which the stores hold anything that does not follow from the report as it is sent."""
    allowed = {
        "before": {},
        "chosen": {},
        "rolled": expected(survey, sent, day, sending=False),
        "waiting": expected(survey, sent, day, sending=True),
        "after": {entry(survey): '{"done":"sent"}'},
        "reloaded": {entry(survey): '{"done":"sent"}'},
    }
    wrong = [name for name, stores in moments.items() if stores["local"] != allowed[name]]
    start = moments["before"]
    for name, stores in moments.items():
        length, state = stores["history"]
        more = length - start["history"][0]  # an entry may hold a state, also one that was gone back from
        # Other tabs see the name of a lock: it is that of the survey, and it is taken for the roll.
        lock = [f"deniable-answer/{survey.digest}"] if name in ("rolled", "waiting", "after") else []
        changes = {"local": None, "history": more or state, "title": stores["title"] != survey.name}
        rest = {**stores, **changes, "locks": stores["locks"] != lock}
        assert rest.pop("address").endswith(f"/answer/{survey.digest}")
        wrong += [f"{store} {name}" for store, value in rest.items() if value]
    return wrong


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_kept_follows_from_the_report(kind: str, server: Server, fresh: Open) -> None:
    survey = KINDS[kind]
    server.create(survey)
    moments, sent, day = answered(fresh(viewport=PHONE), server, survey)
    assert said_too_much(moments, survey, sent, day) == []
    assert counters(server, survey) == {"accepted": 1}


# Every request of the page's scripts, with all that it was asked with but its body.
FETCHES = """(() => {
  const real = globalThis.fetch;
  globalThis.fetches = [];
  globalThis.fetch = (path, { body, signal, ...options } = {}) => {
    fetches.push({ path: String(path), options, timed: signal instanceof AbortSignal, body: body?.constructor.name });
    return real(path, { body, signal, ...options });
  };
})()"""
ASKED = {"method": "GET", "headers": {}, "credentials": "omit", "referrerPolicy": "no-referrer", "cache": "no-store"}
SENT = ASKED | {"method": "POST", "headers": {"Content-Type": "application/octet-stream"}, "redirect": "manual"}
SENDER = {"accept", "accept-encoding", "content-length", "content-type", "host", "origin", "user-agent"}


def asked_with_more(page: Page, server: Server, survey: dn.Survey) -> list[Any]:
    """What the page asks with beyond what it must, and the fields of its upload that are not those of any browser."""
    page.add_init_script(FETCHES)
    page.goto(answer_link(server, survey))
    choose_and_roll(page, "answer c")
    with page.expect_request(re.compile("/reports")) as sending:
        page.get_by_role("button", name="Send this").click()
    thanked(page)
    path = f"/v1/surveys/{survey.digest}"
    ask = {"path": path, "options": ASKED, "timed": False}
    send = {"path": address(server, path + "/reports"), "options": SENT, "timed": True, "body": "Uint8Array"}
    options = {"credentials": "omit", "referrerPolicy": "no-referrer"}  # a browser may keep the texts of a language
    texts = [
        {"path": f"/pages/en.{section}.json", "options": options, "timed": False}
        for section in ("words", "you", "answer")
    ]
    wrong = []
    for one in page.evaluate("fetches"):
        one["path"] = re.sub(r"(?<=/reports)\?day=\d+$", "", one["path"])
        if {name: value for name, value in one.items() if value is not None} not in (ask, send, *texts):
            wrong.append(one)
    usual = {name for name in sending.value.all_headers() if not name.startswith(("sec-", "accept-language"))}
    return wrong + sorted(usual - SENDER - {"connection", "cache-control", "pragma"})


def test_the_page_asks_and_sends_with_nothing_else(server: Server, fresh: Open) -> None:
    survey = dn.krr(SYMBOLS, epsilon=1, name="Asked with what?")
    server.create(survey)
    assert asked_with_more(fresh(viewport=PHONE), server, survey) == []


@pytest.mark.parametrize(
    ("file", "mutant"),
    [
        ("page.js", ('credentials: "omit"', 'credentials: "include"')),
        ("page.js", ('referrerPolicy: "no-referrer"', 'referrerPolicy: "unsafe-url"')),
        ("page.js", ("headers: {", 'headers: { "X-Time": String(Date.now()),')),
        ("deniable.min.js", ('credentials:"omit"', 'credentials:"include"')),
        ("deniable.min.js", ('redirect:"manual"', 'redirect:"follow"')),
    ],
    ids=lambda value: value if isinstance(value, str) else value[1],
)
def test_a_page_that_asks_with_more_is_found_out(
    file: str, mutant: tuple[str, str], server: Server, fresh: Open
) -> None:
    survey = dn.krr(SYMBOLS, epsilon=1, name="Asked with more?")
    server.create(survey)
    page = fresh(viewport=PHONE)
    changed(page, f"**/pages/{file}", mutant)
    assert asked_with_more(page, server, survey) != []


LEAKS = {
    "a secret": ("answer.js", "kept.storage, memoize: Boolean(window), key", "kept.storage", {"rolled", "waiting"}),
    "the report that was sent": (
        "kept.js",
        "write({ done });",
        "write({ ...entry(), done });",
        {"after"},
    ),
    "the true cells": (
        "answer.js",
        '$("form").reset();',
        'sessionStorage.x = truth; $("form").reset();',
        {"session rolled"},
    ),
    "the answer in the history": (
        "answer.js",
        '$("form").reset();',
        'history.replaceState(value, ""); $("form").reset();',
        {"history after"},
    ),
    "the answer in a database": (
        "answer.js",
        '$("form").reset();',
        'indexedDB.open(value); $("form").reset();',
        {"databases after"},
    ),
    "the answer in a cache": (
        "answer.js",
        '$("form").reset();',
        'await caches.open(value).then((cache) => cache.put("/" + value, new Response(value))); $("form").reset();',
        {"cached rolled"},
    ),
    "the answer in an entry of the history that was left": (
        "answer.js",
        '$("form").reset();',
        'history.pushState(value, ""); history.back(); $("form").reset();',
        {"history after", "used rolled"},
    ),
    "the answer in the title": (
        "answer.js",
        '$("form").reset();',
        'document.title += value; $("form").reset();',
        {"title rolled", "title after"},
    ),
    "the answer for other tabs": (
        "answer.js",
        '$("form").reset();',
        'new BroadcastChannel("deniable").postMessage(value); $("form").reset();',
        {"used rolled"},
    ),
    "the cells in a timeline": (
        "answer.js",
        '$("form").reset();',
        'performance.mark(truth); $("form").reset();',
        {"marks waiting"},
    ),
    "the answer on the console": (
        "answer.js",
        '$("form").reset();',
        'console.debug(value); $("form").reset();',
        {"used rolled"},
    ),
    "the time in a question": (
        "answer.js",
        "ask(`/v1/surveys/${digest}`).then(",
        "ask(`/v1/surveys/${digest}?t=${Date.now()}`).then(",
        {"asked reloaded"},
    ),
    "the answer in the name of a lock": (
        "answer.js",
        '$("form").reset();',
        'await navigator.locks.request(value, () => {}); $("form").reset();',
        {"locks rolled"},
    ),
    "a roll that takes no lock": (
        "answer.js",
        "if (!navigator.locks) return once();",
        "return once();",
        {"locks rolled"},
    ),
    "the answer in the name": (
        "answer.js",
        '$("form").reset();',
        'window.name = value; $("form").reset();',
        {"name waiting"},
    ),
}


@pytest.mark.parametrize("leak", LEAKS)
def test_a_page_that_keeps_more_is_found_out(leak: str, server: Server, fresh: Open) -> None:
    file, old, new, found = LEAKS[leak]
    survey = dn.oue(SYMBOLS, epsilon=2, name=f"Kept: {leak}?")
    server.create(survey)
    page = fresh(viewport=PHONE)
    changed(page, f"**/pages/{file}", (old, new))
    moments, sent, day = answered(page, server, survey)
    assert set(said_too_much(moments, survey, sent, day)) >= found


@pytest.mark.parametrize("make", [dn.subset, dn.oue, dn.krappor])
def test_a_kept_secret_names_the_answer(make: Callable[..., dn.Survey], server: Server, fresh: Open) -> None:
    """The attack itself: with the secret in its stores, the browser names the answer and no other."""
    symbols = [*SYMBOLS, *(f"other {number}" for number in range(40))]
    survey = make(symbols, epsilon=2, name="Kept, with a secret?")
    server.create(survey)
    page = fresh(viewport=PHONE)
    changed(page, "**/pages/answer.js", ("kept.storage, memoize: Boolean(window), key", "kept.storage"))
    moments, sent, _ = answered(page, server, survey)
    assert suspects(moments["rolled"], survey, symbols, sent[16:]) == {"answer c"}
    assert secrets_in(moments["after"], survey) == set(), "and with nothing left it names none"


def test_what_earlier_versions_kept_is_removed(server: Server, fresh: Open) -> None:
    """They kept a secret and the record that was sent."""
    survey = dn.krr(SYMBOLS, epsilon=1, name="Kept before?")
    server.create(survey)
    page = fresh(viewport=PHONE)
    page.goto(answer_link(server, survey))
    page.locator("#form").wait_for()
    page.evaluate(
        """(digest) => {
          const other = "ab".repeat(32);
          const made = { cohort: 0, made: [1, 0], outbox: {}, spent: [1e9, 1e9] };
          const seen = { cohort: 0, made: [0, 0], outbox: {}, spent: [0, 0] };
          const state = JSON.stringify({ [digest]: made, [other]: seen, secret: "cd".repeat(32) });
          localStorage.setItem("deniable-client/1", "ef".repeat(32) + state);
          const page = JSON.stringify({ record: "00".repeat(30), day: 1, done: "sent" });
          localStorage.setItem(`deniable-page/1/${digest}`, page);
        }""",
        survey.digest,
    )
    page.reload()
    thanked(page)
    assert read_stores(page)["local"] == {entry(survey): '{"done":"sent"}'}


def test_a_crash_before_the_thanks_is_no_second_roll(server: Server, fresh: Open) -> None:
    """The collector has acknowledged it, and the page died before it noted how it ended."""
    survey = dn.krr(SYMBOLS, epsilon=1, name="Acknowledged?")
    server.create(survey)
    page = fresh(viewport=PHONE)
    changed(page, "**/pages/kept.js", ("write({ done });", ";"))
    page.goto(answer_link(server, survey))
    choose_and_roll(page, "answer c")
    page.get_by_role("button", name="Send this").click()
    thanked(page)
    page.unroute("**/pages/kept.js")
    page.reload()
    thanked(page)
    assert page.locator("#form").is_hidden()
    assert read_stores(page)["local"] == {entry(survey): '{"done":"sent"}'}
    assert counters(server, survey) == {"accepted": 1}


def test_a_tab_that_cannot_see_yet_what_another_one_rolled_does_not_roll(server: Server, fresh: Open) -> None:
    """What one tab stores may reach another one late: the lock of the first says so, for as long as it is open."""
    survey = dn.krappor(SYMBOLS, epsilon=1, name="Seen late?")
    server.create(survey)
    one = fresh(viewport=PHONE)
    two = one.context.new_page()
    for page, answer in ((one, "answer c"), (two, "answer d")):
        page.goto(answer_link(server, survey))
        page.get_by_label(answer, exact=True).check()
    one.get_by_role("button", name="Roll the die").click()
    one.get_by_role("button", name="Send this").wait_for()
    two.evaluate("""() => {
      const real = Storage.prototype.getItem;
      globalThis.looks = 0;
      Storage.prototype.getItem = function (name) {
        const late = name.startsWith("deniable-answer/") && ++globalThis.looks < 8;
        return late ? null : real.call(this, name);
      };
    }""")
    two.get_by_role("button", name="Roll the die").click()
    two.get_by_role("button", name="Send this").wait_for()
    assert one.locator("#sent").inner_text() == two.locator("#sent").inner_text()


def test_two_tabs_that_roll_at_once_roll_once(server: Server, fresh: Open) -> None:
    survey = dn.krappor(SYMBOLS, epsilon=1, name="At once, in two tabs?")
    server.create(survey)
    one = fresh(viewport=PHONE)
    two = one.context.new_page()
    for page, answer in ((one, "answer c"), (two, "answer d")):
        page.goto(answer_link(server, survey))
        page.get_by_label(answer, exact=True).check()
    # Neither waits for the other: both clicks are on their way before either page has handled its own.
    for page in (one, two):
        page.evaluate("() => void setTimeout(() => document.querySelector('#roll').click())")
    said = []
    for page in (one, two):
        page.get_by_role("button", name="Send this").wait_for()
        said.append(page.locator("#sent").inner_text())
    assert said[0] == said[1]
    for page in (one, two):
        page.get_by_role("button", name="Send this").click()
        thanked(page)
    told = counters(server, survey)
    assert told.pop("duplicate", 0) <= 1
    assert told == {"accepted": 1}
