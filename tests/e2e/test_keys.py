"""The keys of the pages: taken out of the address at once, kept for the tab, given to new tabs, forgotten if wished."""

import json
from urllib.parse import quote

import pytest
from playwright.sync_api import Page

from tests.collector import ADMIN, Server
from tests.e2e.conftest import Open
from tests.e2e.steps import address, ask_for, says, survey_of, until


def opened(page: Page) -> None:
    """The Ask page with its form, and no key in its address."""
    page.locator("#form").wait_for()
    assert page.locator("#door").is_hidden()
    assert "token" not in page.url
    assert page.evaluate("history.length") >= 1


def test_the_key_survives_other_pages_reloads_and_skip_links(server: Server, fresh: Open) -> None:
    page = fresh()
    page.goto(address(server, "/", token=ADMIN))
    opened(page)
    assert page.url == address(server, "/")
    page.get_by_role("link", name="Explore").click()
    page.locator("#here .big").wait_for()
    page.get_by_role("link", name="Ask", exact=True).click()
    opened(page)
    page.go_back()
    page.go_back()
    opened(page)
    page.locator(".skip").focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    assert page.url == address(server, "/"), "no fragment, which a reload would take for a key"
    page.reload()
    opened(page)
    page.get_by_role("link", name="deniable").click()
    opened(page)


EVERYTHING = """() => ({
  address: location.href, state: JSON.stringify(history.state), title: document.title, referrer: document.referrer,
  entries: (window.navigation?.entries() ?? []).map((one) => [one.url, JSON.stringify(one.getState() ?? null)]),
  links: [...document.querySelectorAll("*")].flatMap((one) =>
    [...one.attributes].filter(({ name }) => /^(href|src|action|formaction|data-.*|title|value)$/.test(name))
      .map(({ value }) => value).concat(one.href ?? [])),
  fields: [...document.querySelectorAll("input:not([type=password]), textarea")].map((one) => one.value),
  text: document.documentElement.textContent,
})"""


@pytest.mark.slow
def test_no_link_of_a_page_has_the_administrators_key(server: Server, fresh: Open) -> None:
    """After each step: every link and field, the address, this tab's history, and the addresses of all requests."""
    survey = survey_of("Who may share this?")
    server.create(survey, minimum=1)
    page = fresh()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))

    def clean(step: str) -> None:
        held = json.dumps([page.evaluate(EVERYTHING), page.url, asked], ensure_ascii=False)
        assert ADMIN not in held, step
        assert quote(ADMIN, safe="") not in held, step

    page.goto(address(server, "/", token=ADMIN))
    row = page.locator("#surveys li").filter(has_text="Who may share this?")
    row.wait_for()
    clean("Ask")
    links = page.evaluate("[...document.querySelectorAll('a')].map((one) => one.href)")
    assert [one for one in links if "token" in one] == [], "and no other key before there is a private link"
    row.get_by_role("link", name="Results").click()
    page.locator("#so-far").wait_for()
    assert page.locator("#door").is_hidden(), "the administrator's key opens all results"
    assert "token" not in page.url
    page.locator("#manage button").first.wait_for()
    clean("Results")
    page.locator("#manage").get_by_role("button", name="Copy as a new version").click()
    page.locator("#form").wait_for()
    until(page, "(document.getElementById('question')?.value ?? '') != ''")
    clean("Duplicate")
    page.locator("#plan .big").wait_for()
    page.get_by_role("button", name="Create the survey").click()
    page.locator("#made .qr").wait_for()
    clean("the private link")
    private = page.locator("#made .link input").nth(1).input_value()
    hint = page.locator("#made .hint").nth(1).inner_text()
    assert "A browser that opens it may keep it in its history, with the key" in hint
    page.goto(private)
    page.locator("#manage button").first.wait_for()
    clean("its results")
    page.goto(address(server, f"/answer/{survey.digest}"))
    page.locator("#form").wait_for()
    clean("Answer")
    page.goto(address(server, "/explore"))
    page.locator("#here .big").wait_for()
    clean("Explore")
    page.goto(address(server, "/nothing/here"))
    clean("a missing page")
    page.go_back()
    page.locator("#here .big").wait_for()
    page.get_by_role("link", name="Ask", exact=True).click()
    opened(page)
    clean("and back")


@pytest.mark.slow
def test_a_private_link_opens_its_survey_and_no_other(server: Server, fresh: Open) -> None:
    desk = fresh()
    _, private = ask_for(desk, server, "Whose link is it?", ["no", "yes"], minimum=1)
    other = survey_of("And another one's?")
    server.create(other)
    assert "#token=" in private, "the page that shows the link to keep still does"
    reader = fresh()
    reader.goto(private)
    reader.locator("#forget").wait_for()
    assert reader.url == private.split("#")[0]
    reader.reload()
    reader.locator("#so-far").wait_for()
    reader.goto(address(server, f"/results/{other.digest}"))
    says(reader, "These results are private.")
    reader.goto(address(server, "/"))
    reader.locator("#door").wait_for()
    # The whole link may be pasted where a key is asked for.
    fourth = fresh()
    fourth.goto(private.split("#")[0])
    fourth.locator("#token").fill(private)
    fourth.get_by_role("button", name="Open").click()
    fourth.locator("#so-far").wait_for()
    assert "token" not in fourth.url
    # The address takes what else the link says: what a search is told.
    fifth = fresh()
    fifth.goto(private.split("#")[0])
    fifth.locator("#token").fill(f"{private}&alphabet=own&characters=a%26+b")
    fifth.get_by_role("button", name="Open").click()
    fifth.locator("#so-far").wait_for()
    assert fifth.url == private.split("#")[0] + "#alphabet=own&characters=a%26+b"


@pytest.mark.slow
def test_a_key_is_typed_once_and_a_wrong_one_is_not_kept(server: Server, fresh: Open) -> None:
    page = fresh()
    page.goto(address(server, "/"))
    page.locator("#token").fill("wrong")
    page.get_by_role("button", name="Open").click()
    says(page, "This key does not open this collector.")
    assert page.evaluate("JSON.stringify(sessionStorage)") == "{}"
    assert page.locator("#forget").count() == 0
    hint = page.locator("#door .hint").inner_text()
    assert "This tab keeps it until you close it" in hint
    assert "no page puts it into an address" in hint
    assert "your browser's own history may keep that link" in hint
    page.locator("#token").fill(f" {ADMIN} ")
    page.get_by_role("button", name="Open").click()
    opened(page)
    page.reload()
    opened(page)
    assert page.evaluate("JSON.stringify(localStorage)") == "{}", "nothing outlives the tab"


@pytest.mark.slow
def test_a_new_tab_gets_the_key_from_an_open_one_and_all_forget_together(server: Server, fresh: Open) -> None:
    one = fresh()
    one.goto(address(server, "/", token=ADMIN))
    opened(one)
    two = one.context.new_page()
    two.goto(address(server, "/"))
    opened(two)
    stranger = fresh()
    stranger.goto(address(server, "/"))
    stranger.locator("#door").wait_for()
    two.get_by_role("button", name="Forget the key").click()
    for page in (one, two):
        page.locator("#door").wait_for()
        assert page.evaluate("JSON.stringify(sessionStorage)") == "{}"
        page.reload()
        page.locator("#door").wait_for()
    one.goto("about:blank")
    two.goto(address(server, "/", token=ADMIN))
    opened(two)
    two.evaluate("(key) => (location.hash = new URLSearchParams({ token: key }))", "another")
    says(two, "This key does not open this collector.")
    until(two, "!location.href.includes('token')")


@pytest.mark.parametrize("case", ["late", "another's", "forgotten"])
def test_a_tab_that_answers_late_still_gives_the_key(case: str, server: Server, fresh: Open) -> None:
    """However busy the computer is: the new tab has asked a person by then. But nobody gets what they did not ask for,
    nor a key that all tabs were told to forget since."""
    busy = fresh()
    busy.goto(address(server, "/nothing/here"))
    busy.evaluate(
        """() => {
          window.asked = [];
          window.tabs = new BroadcastChannel("deniable-keys");
          tabs.addEventListener("message", ({ data }) => data.wanted && asked.push(data));
        }"""
    )
    page = busy.context.new_page()
    page.goto(address(server, "/"))
    page.locator("#door").wait_for()
    until(busy, "asked.length == 1")
    assert busy.evaluate("asked[0].wanted") == ["admin"]
    if case == "late":
        busy.evaluate("(key) => tabs.postMessage({ given: { admin: key }, ticket: asked[0].ticket })", ADMIN)
        opened(page)
        page.reload()
        opened(page)
        return
    if case == "forgotten":
        busy.evaluate("tabs.postMessage({ forgotten: true })")
    ticket = "asked[0].ticket" if case == "forgotten" else "asked[0].ticket + 1"
    busy.evaluate(f"(key) => tabs.postMessage({{ given: {{ admin: key }}, ticket: {ticket} }})", ADMIN)
    # Messages of one tab come in their order: when this one is answered, those before it were heard.
    page.evaluate("window.heard = 0; new BroadcastChannel('deniable-keys').onmessage = () => heard++")
    busy.evaluate("tabs.postMessage({})")
    until(page, "heard > 0")
    assert page.locator("#door").is_visible()
    assert page.evaluate("JSON.stringify(sessionStorage)") == "{}"
