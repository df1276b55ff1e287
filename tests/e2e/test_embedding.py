"""A survey on another site: in a frame where that site is listed, in none where it is not, or behind a button."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import FrameLocator, Page

import deniable as dn
from tests.collector import Server
from tests.e2e.conftest import Open, Watch
from tests.e2e.steps import QUESTION, SYMBOLS, answer_link, counters, survey_of, until

# Whatever the page around could see of a frame, kept where a test can read it.
EMBEDDING = """<!DOCTYPE html><html lang="en"><title>A site</title><h1>A site</h1><script>
window.heard = []; window.loads = 0;
addEventListener("message", (event) => heard.push([event.data, event.origin, event.ports.length]));
</script><iframe id="survey" title="A question" src="%s" width="380" height="800" onload="loads++"></iframe></html>"""
BUTTON = """<!DOCTYPE html><html lang="en"><title>A site</title><h1>A site</h1><script>
window.heard = []; addEventListener("message", (event) => heard.push(event.data));
</script><script src="%s/pages/button.js" data-survey="%s" data-label="Answer one question"></script></html>"""

Site = Callable[..., str]


@pytest.fixture
def site(watch: Watch) -> Iterator[Site]:
    """A site of another origin: `site(html)` is its address."""
    pages: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = pages[-1].encode() if self.path == "/" else b""
            self.send_response(200)
            self.send_header("content-type", "text/html; charset=utf-8")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    made = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=made.serve_forever, daemon=True).start()

    def serve(html: str = "", host: str = "127.0.0.1") -> str:
        pages.append(html)
        return f"http://{host}:{made.server_port}"

    yield serve
    made.shutdown()
    made.server_close()


def opened(fresh: Open, watch: Watch, origin: str) -> Page:
    """A browser on that site; the site and the collector are all it may speak to."""
    page = fresh()
    host = watch.host
    watch.host = "http://"  # two hosts, named in each test
    page.goto(origin)
    assert all(request.url.startswith((origin, host, "data:")) for request in watch.requests)
    return page


def answered(frame: FrameLocator) -> None:
    frame.get_by_label("once", exact=True).check()
    frame.get_by_role("button", name="Roll the die").click()
    frame.get_by_role("button", name="Send this").click()
    frame.get_by_text("Your answer is counted").wait_for()


def test_a_listed_site_has_the_survey_in_a_frame_and_learns_that_it_is_done(
    server: Server, fresh: Open, watch: Watch, site: Site
) -> None:
    survey = survey_of(f"{QUESTION} In a frame.")
    origin = site("")
    server.create(survey, frames=["https://other.example", origin])
    site(EMBEDDING % answer_link(server, survey))
    page = opened(fresh, watch, origin)
    frame = page.frame_locator("#survey")
    frame.get_by_label("once", exact=True).check()
    assert page.evaluate("heard") == [], "nothing before it is sent"
    answered(frame)
    until(page, "heard.length > 0")
    page.wait_for_timeout(300)
    assert page.evaluate("heard") == [["done", watch_host(server), 0]], "that, once, and nothing else"
    seen = "[loads, survey.contentWindow.length, location.href]"
    assert page.evaluate(seen) == [1, 0, f"{origin}/"]
    assert counters(server, survey)["accepted"] == 1
    # Who comes back has answered before: the page around is not told.
    page.reload()
    page.frame_locator("#survey").get_by_text("This browser has answered").wait_for()
    page.wait_for_timeout(300)
    assert page.evaluate("heard") == []


def watch_host(server: Server) -> str:
    return f"http://127.0.0.1:{server.port}"


def test_what_the_page_around_hears_does_not_depend_on_the_answer(
    server: Server, fresh: Open, watch: Watch, site: Site
) -> None:
    heard = []
    for answer in SYMBOLS:
        survey = survey_of(f"{QUESTION} Then {answer}?")
        origin = site("")
        server.create(survey, frames=[origin])
        site(EMBEDDING % answer_link(server, survey))
        page = opened(fresh, watch, origin)
        frame = page.frame_locator("#survey")
        frame.get_by_label(answer, exact=True).check()
        frame.get_by_role("button", name="Roll the die").click()
        frame.get_by_role("button", name="Send this").click()
        until(page, "heard.length > 0")
        heard.append(json.dumps(page.evaluate("heard")))
        assert survey.digest not in heard[-1]
    assert len(set(heard)) == 1


def test_the_page_around_does_not_see_how_far_somebody_came_in_a_form(
    server: Server, fresh: Open, watch: Watch, site: Site
) -> None:
    """Which questions follow depends on an answer that is not sent: the history of both has no entry a screen."""
    form = dn.form(
        smokes=dn.warner(epsilon=1, name="Do you smoke?"),
        fjord=dn.warner(epsilon=1, name="Have you seen a fjord?"),
        epsilon=2,
        public={"land": ["Norway", "Sweden"]},
        when={"fjord": ("land", "Norway")},
        name=f"{QUESTION} In a frame, and in Norway.",
    )
    origin = site("")
    server.create(form, frames=[origin])  # type: ignore[arg-type]
    site(EMBEDDING % answer_link(server, form))  # type: ignore[arg-type]
    for land, dice in (("Norway", 2), ("Sweden", 1)):
        page = opened(fresh, watch, origin)
        frame = page.frame_locator("#survey")
        frame.get_by_label(land, exact=True).check()
        seen = "[history.length, loads, survey.contentWindow.length]"
        before = page.evaluate(seen)
        frame.locator("#next").click()
        for title in ("Do you smoke?", "Have you seen a fjord?")[:dice]:
            frame.locator("#legend > span", has_text=title).wait_for()
            frame.get_by_label("yes", exact=True).check()
            frame.locator("#next").click()
        frame.get_by_role("button", name="Roll the").click()
        if dice > 1:
            frame.locator("#onward").click()
        frame.get_by_role("button", name="Send this").click()
        frame.get_by_text("Your answer is counted").wait_for()
        assert page.evaluate(seen) == before


def test_a_frame_that_may_keep_nothing_leads_to_a_tab_of_its_own(
    server: Server, fresh: Open, watch: Watch, site: Site
) -> None:
    """Browsers that block what other sites store block it here: a roll that nobody keeps could be rolled again."""
    survey = survey_of(f"{QUESTION} In a foreign frame.")
    origin = site("", host="localhost")
    server.create(survey, frames=[origin])
    site(EMBEDDING % answer_link(server, survey))
    page = opened(fresh, watch, origin)
    frame = page.frame_locator("#survey")
    frame.get_by_text("This browser cannot take part").wait_for()
    with page.context.expect_page() as waiting:
        frame.get_by_role("link", name="Answer in a tab of its own").click()
    watch.over(waiting.value).locator("#form").wait_for()
    assert waiting.value.evaluate("opener") is None
    assert page.evaluate("heard") == []


@pytest.mark.parametrize("listed", [[], ["https://other.example"]], ids=["none", "another"])
def test_a_site_that_is_not_listed_gets_no_frame(
    listed: list[str], server: Server, fresh: Open, watch: Watch, site: Site
) -> None:
    survey = survey_of(f"{QUESTION} Not for {len(listed)} sites.")
    server.create(survey, frames=listed)
    origin = site(EMBEDDING % answer_link(server, survey))
    page = opened(fresh, watch, origin)
    until(page, "loads == 1")
    refused = next(frame for frame in page.frames if frame != page.main_frame)
    assert refused.url.startswith("chrome-error:"), "there is nothing to lay anything over"
    assert page.evaluate("heard") == []
    assert watch.faults, "and the browser says why"
    assert all("frame-ancestors" in fault for fault in watch.faults)
    watch.faults.clear()


def test_a_button_opens_the_page_in_a_tab_that_knows_nothing_of_the_site(
    server: Server, fresh: Open, watch: Watch, site: Site
) -> None:
    survey = survey_of(f"{QUESTION} Behind a button.")
    server.create(survey)
    origin = site(BUTTON % (watch_host(server), survey.digest))
    page = opened(fresh, watch, origin)
    with page.context.expect_page() as waiting:
        page.get_by_role("button", name="Answer one question").click()
    tab = watch.over(waiting.value)
    tab.locator("#form").wait_for()
    assert tab.url == answer_link(server, survey)
    assert tab.evaluate("[opener, document.referrer]") == [None, ""]
    tab.get_by_label("once", exact=True).check()
    tab.get_by_role("button", name="Roll the die").click()
    tab.get_by_role("button", name="Send this").click()
    tab.get_by_text("Your answer is counted").wait_for()
    page.wait_for_timeout(300)
    assert page.evaluate("heard") == []
