"""A survey that is answered once a day, in a real browser: it says so, keeps no report, and asks again tomorrow."""

import json
import time

import pytest
from playwright.sync_api import Page

import deniable as dn
from tests.collector import Server
from tests.e2e.conftest import PHONE, Open
from tests.e2e.steps import answer_link, choose_and_roll, fits
from tests.e2e.stores import read_stores, suspects

pytestmark = pytest.mark.slow

SYMBOLS = ["answer c", *(f"other {number}" for number in range(49))]


def sent_by(page: Page) -> bytes:
    with page.expect_request(lambda request: "/reports" in request.url) as sent:
        page.get_by_role("button", name="Send this").click()
    page.get_by_text("You have answered today; the next answer is taken from").wait_for()
    body = sent.value.post_data_buffer
    assert body is not None
    return body[16:]


def test_a_page_asks_once_a_day(server: Server, fresh: Open) -> None:
    survey = dn.oue(SYMBOLS, epsilon=2, name="How are you today?", participation="window")
    server.create(survey)
    assert server.ask("GET", f"/v1/surveys/{survey.digest}").json()["rules"]["window"] == "day"
    page = fresh(viewport=PHONE)
    # The first day is today at noon; another one is chosen by the page's own session storage, before a reload.
    noon = 86_400_000 * int(time.time() // 86_400) + 43_200_000
    page.add_init_script(f"Date.now = () => {noon} + 864e5 * Number(sessionStorage.getItem('days') ?? 0)")
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
