"""A survey that is answered once a day, in a real browser: it says so, keeps no report, and asks again tomorrow."""

import hashlib
import json
import time
from typing import Any

import pytest
from playwright.sync_api import Page, Route

import deniable as dn
from tests.collector import Server
from tests.e2e.conftest import PHONE, Open
from tests.e2e.steps import answer_link, choose_and_roll, fits, roll
from tests.e2e.stores import changed, note_uses, read_stores, remembers, suspects

pytestmark = pytest.mark.slow

SYMBOLS = ["answer c", *(f"other {number}" for number in range(49))]


def sent_by(page: Page) -> bytes:
    with page.expect_request(lambda request: "/reports" in request.url) as sent:
        page.get_by_role("button", name="Send this").click()
    page.get_by_text("You have answered today; the next answer is taken from").wait_for()
    body = sent.value.post_data_buffer
    assert body is not None
    return body[16:]


def noon_of(page: Page) -> int:
    """The page's clock stands at today's noon; other days are chosen by its session storage, before a reload."""
    day = int(time.time() // 86_400)
    noon = 86_400_000 * day + 43_200_000
    page.add_init_script(f"Date.now = () => {noon} + 864e5 * Number(sessionStorage.getItem('days') ?? 0)")
    return day


def test_a_page_asks_once_a_day(server: Server, fresh: Open) -> None:
    survey = dn.oue(SYMBOLS, epsilon=2, name="How are you today?", participation="window")
    server.create(survey)
    assert server.ask("GET", f"/v1/surveys/{survey.digest}").json()["rules"]["window"] == "day"
    page = fresh(viewport=PHONE)
    noon_of(page)
    page.goto(answer_link(server, survey))
    choose_and_roll(page, "answer c")
    report = sent_by(page)
    fits(page)
    stores = read_stores(page)
    assert report.hex()[18:] not in json.dumps(stores), "what was sent is gone"
    # Fifty bits at epsilon 2: a guessed secret gives the same ones with probability below 1e-6.
    assert suspects(stores, survey, SYMBOLS, report) == set(), "a copy of it has nothing to test with"
    page.reload()
    page.get_by_text("You have answered today").wait_for()
    assert page.locator("#form").is_hidden()
    page.evaluate("sessionStorage.setItem('days', '-1')")  # a clock that went back
    page.reload()
    page.get_by_text("You have answered today").wait_for()
    # The collector takes tomorrow's report under its own day: the device sends it again without one.
    page.evaluate("sessionStorage.setItem('days', '1')")
    page.reload()
    choose_and_roll(page, "answer c")
    assert sent_by(page) == report, "the same answer has the same noise"
    assert server.ask("GET", f"/v1/surveys/{survey.digest}/counters").json()["counters"]["accepted"] == 2


# What the device's key says of the word "check": what a state may keep of it.
CHECK = """async () => {
  const done = (request) => new Promise((resolve) => (request.onsuccess = () => resolve(request.result)));
  const database = await done(indexedDB.open("deniable-client/1"));
  const key = await done(database.transaction("keys").objectStore("keys").get("device"));
  database.close();
  const signed = await crypto.subtle.sign("HMAC", key, new TextEncoder().encode("check"));
  return [...new Uint8Array(signed, 0, 8)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}"""


def answered(page: Page, server: Server, survey: dn.Survey) -> tuple[dict[str, Any], bytes, int]:
    """Answer, with the collector away for a while: all stores at five moments, what was sent, and its day."""
    away = set[bytes]()
    note_uses(page)
    day = noon_of(page)

    def lose(route: Route) -> None:
        away.add(route.request.post_data_buffer or b"")
        route.abort()

    page.route("**/reports?*", lose)
    page.goto(answer_link(server, survey))
    page.locator("#form").wait_for()
    page.get_by_label("answer c", exact=True).check()
    moments = {"chosen": read_stores(page)}
    roll(page)
    moments["rolled"] = read_stores(page)
    page.get_by_role("button", name="Send this").click()
    page.get_by_text("The collector does not answer").wait_for()
    moments["waiting"] = read_stores(page)
    page.unroute("**/reports?*")
    page.get_by_text("You have answered today").wait_for()
    moments["after"] = read_stores(page)
    page.reload()
    page.get_by_text("You have answered today").wait_for()
    moments["reloaded"] = read_stores(page)
    (sent,) = away
    return moments, sent, day


def kept_beside(moments: dict[str, Any], survey: dn.Survey, sent: bytes, day: int, check: str) -> list[str]:
    """The moments at which the stores hold more than follows from the report as it is sent, the day and the key."""
    cohort = dn.Report.unpack(survey, sent[16:]).cohort
    account = {"cohort": cohort, "made": [1, 0], "spent": [2 * 10**9] * 2, "window": day}
    unsent, acknowledged = {"outbox": {sent.hex(): day}}, {"outbox": {}, "refused": {}, "unknown": 0}
    wrong = []
    for name, stores in moments.items():
        part = acknowledged if name in ("after", "reloaded") else unsent
        text = json.dumps({survey.digest: account | part, "secret": check}, sort_keys=True, separators=(",", ":"))
        fields: dict[str, Any] = {"state": hashlib.sha256(text.encode()).hexdigest() + text}
        if name != "rolled":
            fields["sending"] = True
        told = {f"deniable-answer/2/{survey.digest}": json.dumps(fields, separators=(",", ":"))}
        lock = [f"deniable-answer/{survey.digest}/{day}"] if name in ("rolled", "waiting", "after") else []
        if stores["local"] != ({} if name == "chosen" else told):
            wrong.append(name)
        ((database, tables),) = stores["databases"].items()
        ((table, ((key, kept),)),) = tables.items()
        # A key that cannot be read shows no bytes of itself here.
        if (database, table, key) != ("deniable-client/1", "keys", "device") or len(json.dumps(kept)) > 64:
            wrong.append(f"databases {name}")
        ignored = {"local", "databases", "address", "locks", "history", "title"}
        wrong += [f"{store} {name}" for store, value in stores.items() if value and store not in ignored]
        length, state = stores["history"]
        if stores["locks"] != lock or state or length != moments["chosen"]["history"][0]:
            wrong.append(f"locks or history {name}")
        if stores["title"] != survey.name or not stores["address"].endswith(f"/answer/{survey.digest}"):
            wrong.append(f"title or address {name}")
    return wrong


LEAKS = {
    "nothing": None,
    "a secret that can be read": (
        "answer.js",
        ("const key = window && every === 1 && (await deviceKey());", "const key = undefined;"),
    ),
    "the report that was sent": (
        "kept.js",
        ("write({ ...entry(), state });", "write({ ...entry(), sent: entry().state, state });"),
    ),
    "the true cells": ("answer.js", ('$("form").reset();', 'sessionStorage.x = truth; $("form").reset();')),
    "the answer in the lock": (
        "answer.js",
        ("digest, kept.window()]", "digest, kept.window(), $('choices').querySelector(':checked').value]"),
    ),
    "the time of the answer": ("kept.js", ("write({ state, before:", "write({ state, at: Date.now(), before:")),
}


@pytest.mark.parametrize("leak", LEAKS)
def test_what_is_kept_follows_from_the_report_the_day_and_the_key(leak: str, server: Server, fresh: Open) -> None:
    """At every moment and in every store; and a page that keeps more is found out."""
    survey = dn.oue(SYMBOLS, epsilon=2, name=f"Today, with {leak}?", participation="window")
    server.create(survey)
    page = fresh(viewport=PHONE)
    if (mutant := LEAKS[leak]) is not None:
        file, (old, new) = mutant
        changed(page, f"**/pages/{file}", (old, new))
    moments, sent, day = answered(page, server, survey)
    check = page.evaluate(CHECK) if leak != "a secret that can be read" else ""
    found = kept_beside(moments, survey, sent, day, check) if check else ["the secret"]
    assert (found == []) == (mutant is None), found
    named = suspects(moments["waiting"], survey, SYMBOLS, sent[16:])
    assert named == ({"answer c"} if leak == "a secret that can be read" else set())


def test_what_was_rolled_yesterday_is_sent_today_and_not_lost(server: Server, fresh: Open) -> None:
    survey = dn.oue(SYMBOLS, epsilon=2, name="Yesterday?", participation="window")
    server.create(survey)
    page = fresh(viewport=PHONE)
    noon_of(page)
    page.route("**/reports*", lambda route: route.abort())
    page.goto(answer_link(server, survey))
    choose_and_roll(page, "answer c")
    page.get_by_role("button", name="Send this").click()
    page.get_by_text("The collector does not answer").wait_for()
    page.evaluate("sessionStorage.setItem('days', '1')")
    page.unroute("**/reports*")
    page.reload()
    page.get_by_text("That was rolled in an earlier day; load this page again to answer for today.").wait_for()
    assert server.ask("GET", f"/v1/surveys/{survey.digest}/counters").json()["counters"]["accepted"] == 1
    page.reload()
    choose_and_roll(page, "answer c")


def test_a_browser_that_began_without_keys_goes_on_with_its_secret(server: Server, fresh: Open) -> None:
    """Over plain http, or where a browser stores none: a key that comes later would be new noise on an old answer."""
    survey = dn.oue(SYMBOLS, epsilon=2, name="Without keys?", participation="window")
    server.create(survey)
    first = fresh(viewport=PHONE)
    noon_of(first)
    first.add_init_script("Object.defineProperty(globalThis, 'indexedDB', { value: undefined })")
    first.goto(answer_link(server, survey))
    choose_and_roll(first, "answer c")
    report = sent_by(first)
    second = first.context.new_page()
    noon_of(second)
    second.goto(answer_link(server, survey))
    second.get_by_text("You have answered today").wait_for()
    assert suspects(read_stores(second), survey, SYMBOLS, report) == {"answer c"}, "as known-vulnerabilities.md says"
    second.evaluate("sessionStorage.setItem('days', '1')")
    second.reload()
    choose_and_roll(second, "answer c")
    assert sent_by(second) == report, "the same answer has the same noise"
    second.close()


def test_of_a_survey_that_is_closed_for_good_no_secret_is_kept(server: Server, fresh: Open) -> None:
    survey = dn.oue(SYMBOLS, epsilon=2, name="Never again?", participation="window")
    server.create(survey)
    page = fresh(viewport=PHONE)
    page.goto(answer_link(server, survey))
    choose_and_roll(page, "answer c")
    sent_by(page)
    path = f"/v1/surveys/{survey.digest}/close"
    server.ask("POST", path, b"{}")
    page.reload()
    page.get_by_text("You have answered today").wait_for()
    assert '"secret' in json.dumps(read_stores(page)["local"]), "it may be opened again, with the same noise"
    server.ask("POST", path, b'{"final": true}')
    page.reload()
    page.get_by_text("This browser has answered. There is nothing more to do.").wait_for()
    assert read_stores(page)["local"] == {f"deniable-answer/2/{survey.digest}": '{"done":"before"}'}


def test_a_tab_sends_what_it_shows_and_nothing_that_another_has_rolled(server: Server, fresh: Open) -> None:
    """Nothing is sent before somebody has seen it and said so, also where an old tab still tries to send its own."""
    survey = dn.oue(SYMBOLS, epsilon=2, name="Two tabs, two days?", participation="window")
    server.create(survey)
    old = fresh(viewport=PHONE)
    noon_of(old)
    held: list[Route] = []  # its request is on its way all the while, as that of a tab that was put to sleep
    old.add_init_script("AbortSignal.timeout = () => new AbortController().signal")
    old.route("**/reports*", lambda route: held.append(route))
    old.goto(answer_link(server, survey))
    choose_and_roll(old, "answer c")
    with old.expect_request("**/reports*"):
        old.get_by_role("button", name="Send this").click()
    tomorrow = old.context.new_page()
    noon_of(tomorrow)
    tomorrow.goto(answer_link(server, survey))
    tomorrow.get_by_text("You have answered today").wait_for()  # it has sent what waited
    tomorrow.evaluate("sessionStorage.setItem('days', '1')")
    tomorrow.reload()
    choose_and_roll(tomorrow, "answer c")
    held[0].abort()
    old.unroute("**/reports*")
    old.locator("#send:enabled").wait_for()  # it was loaded again, and shows what the other one has rolled
    told = server.ask("GET", f"/v1/surveys/{survey.digest}/counters").json()["counters"]
    assert told == {"accepted": 1}, "the second waits for somebody to send it"
    tomorrow.close()


def test_the_page_has_forgotten_an_answer_that_it_will_ask_for_again(server: Server, fresh: Open) -> None:
    """Its words are waited for, so the answer is held for longer than on a page that asks once."""
    word = "Xylographers"
    survey = dn.orr(epsilon=2, cells=8, cohorts=4, seed=bytes(16), name="Again?", participation="window:week")
    server.create(survey)
    page = fresh(viewport=PHONE)
    note_uses(page)
    page.goto(answer_link(server, survey))
    page.locator("#text").press_sequentially(word)
    roll(page)
    assert not remembers(page, word)
