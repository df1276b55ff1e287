"""What the answer page has forgotten: once the die is rolled, once it is left, and on the disk when the browser ended.

`test_stores.py` has what it keeps.
"""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

import deniable as dn
from tests.collector import Server
from tests.e2e.conftest import PATIENCE, PHONE, Open, chromium
from tests.e2e.steps import answer_link, roll, thanked
from tests.e2e.stores import changed, note_uses, remembers

SYMBOLS = [f"answer {letter}" for letter in "abcdefghij"]


def test_a_page_that_is_left_forgets_what_was_chosen(browser: Browser, server: Server, fresh: Open) -> None:
    """Browsers fill fields again when one comes back, and show a page again as it was."""
    survey = dn.orr(epsilon=2, cells=8, cohorts=4, seed=bytes(16), name="And back again?")
    server.create(survey)
    page = fresh(viewport=PHONE)
    page.goto(answer_link(server, survey))
    page.locator("#text").fill("rosebud")
    page.goto(f"http://127.0.0.1:{server.port}/explore")
    page.go_back()
    page.locator("#text").wait_for()
    assert page.locator("#text").input_value() == ""
    assert page.locator("#roll").is_disabled()
    # This browser loads a page anew when one comes back; others show the one that was left, after this event.
    left = "() => void dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))"
    page.locator("#text").fill("rosebud")
    assert page.locator("#roll").is_enabled()
    page.evaluate(left)
    assert page.locator("#text").input_value() == ""
    assert page.locator("#roll").is_disabled()
    page.locator("#text").fill("rosebud")
    roll(page)
    assert page.locator("#fell").count() == 1
    page.evaluate(left)
    assert page.locator("#fell, .mine, .truth").count() == 0
    page.goto(f"http://127.0.0.1:{server.port}/explore")
    page.go_back()
    page.get_by_role("button", name="Send this").wait_for()
    assert page.locator("#fell, .mine, .truth").count() == 0


WORD = "Xylographers"  # one that no browser has in its own files
OPEN_KEPT = dn.orr(epsilon=2, cells=8, cohorts=4, seed=bytes(16), name="Remembered?")
REMEMBERING = {
    "nothing": None,
    "a global": 'globalThis.last = value; $("form").reset();',
    "a closure": 'addEventListener("online", () => value.at(0)); $("form").reset();',
    "a timer that writes it later": 'setTimeout(() => (localStorage.late = value), 3e8); $("form").reset();',
    "a field of an element": '$("status").last = value; $("form").reset();',
    "an attribute": 'document.body.dataset.last = value; $("form").reset();',
    "the form": '$("form").hidden = true;',
}


@pytest.mark.parametrize("place", REMEMBERING)
def test_the_page_has_forgotten_the_answer_once_the_die_is_rolled(place: str, server: Server, fresh: Open) -> None:
    """In the memory of its scripts and in the document; and a page that has not is found out."""
    server.create(OPEN_KEPT)
    page = fresh(viewport=PHONE)
    note_uses(page)
    if (mutant := REMEMBERING[place]) is not None:
        ending = '$("form").reset();$("form").remove();'
        old = ending if place == "the form" else '$("form").reset();'
        changed(page, "**/pages/answer.js", (old, mutant))
    page.goto(answer_link(server, OPEN_KEPT))
    page.locator("#text").press_sequentially(WORD)  # letter by letter: no call of this test brings the word to the page
    roll(page)
    found = [remembers(page, WORD)]
    if mutant is None:
        page.get_by_role("button", name="Send this").click()
        thanked(page)
        found.append(remembers(page, WORD))
    assert any(found) == (mutant is not None)


FAILING = {
    "text that no survey takes": "document.querySelector('#text').value += '\\ud800'",
    "a store that is full": "Storage.prototype.setItem = () => { throw new DOMException('', 'QuotaExceededError') }",
    # What a browser says of a call that failed may quote what the call was given.
    "an error with the answer in it": """Storage.prototype.getItem = () => {
      throw Object.assign(new Error(document.querySelector("#text").value), { name: "AlphabetError" });
    }""",
    "something that is no error": "Storage.prototype.getItem = () => { throw null }",
}
NAMING = [
    "say(value, 'bad')",
    "say(`Nothing was sent: ${problem.message}`)",
    "document.title = value",
    "$('rolled').title = value",
]


def told_of(page: Page) -> str:
    """All that the page shows but the field that the answer is written in, attributes and title included."""
    page.get_by_text("Nothing was sent").or_(page.locator("#status .bad")).first.wait_for()
    assert WORD in page.locator("#text").input_value(), "it may be mended"
    assert page.locator("#roll").is_enabled()
    html: str = page.evaluate("document.documentElement.outerHTML")
    return html


@pytest.mark.parametrize("why", FAILING)
def test_an_error_does_not_name_the_answer(why: str, server: Server, fresh: Open) -> None:
    server.create(OPEN_KEPT)
    page = fresh(viewport=PHONE)
    page.goto(answer_link(server, OPEN_KEPT))
    page.locator("#text").fill(WORD)
    page.evaluate(f"() => {{ {FAILING[why]} }}")
    page.get_by_role("button", name="Roll the die").click()
    assert WORD not in told_of(page)
    assert page.evaluate("localStorage.length") == 0


@pytest.mark.parametrize("mutant", NAMING)
def test_an_error_that_names_the_answer_is_found_out(mutant: str, server: Server, fresh: Open) -> None:
    server.create(OPEN_KEPT)
    page = fresh(viewport=PHONE)
    said = 'say(notRolled(problem?.name), "bad");'
    changed(page, "**/pages/answer.js", (f"return void {said}", f"{said} {mutant}; return;"))
    page.goto(answer_link(server, OPEN_KEPT))
    page.locator("#text").fill(WORD)
    page.evaluate(f"() => {{ {FAILING['an error with the answer in it']} }}")
    page.get_by_role("button", name="Roll the die").click()
    assert WORD in told_of(page)


def test_fields_are_not_for_the_browser_to_remember(server: Server, fresh: Open) -> None:
    """Browsers offer what was typed before, and choose again what was chosen when a page is loaded anew."""
    listed = dn.krr(SYMBOLS, epsilon=1, name="Not to be remembered?")
    page = fresh(viewport=PHONE)
    for survey in (listed, OPEN_KEPT):
        server.create(survey)
        page.goto(answer_link(server, survey))
        page.locator("#form").wait_for()
        said = page.locator("#choices input").evaluate_all("(all) => all.map((one) => one.autocomplete)")
        assert set(said) == {"off"}


@pytest.mark.slow
def test_no_byte_of_the_profile_holds_the_answer(browser: Browser, server: Server, tmp_path: Path) -> None:
    """On disk: stores, sessions that a browser would restore, caches and histories, after it has ended."""
    survey = dn.orr(epsilon=2, cells=8, cohorts=4, seed=bytes(16), name="On the disk?")
    server.create(survey)

    def profile(name: str, *, marked: bool = False) -> bytes:
        context = browser.browser_type.launch_persistent_context(
            str(tmp_path / name), executable_path=chromium(), args=["--no-sandbox"], reduced_motion="reduce"
        )
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        page.goto(answer_link(server, survey))
        page.locator("#text").fill(WORD)
        page.reload()  # chosen and left, and then once more
        page.locator("#text").fill(WORD)
        roll(page)
        if marked:
            page.evaluate("(word) => localStorage.setItem('x', word)", WORD)
        page.get_by_role("button", name="Send this").click()
        thanked(page)
        context.close()
        return b"\0".join(path.read_bytes() for path in (tmp_path / name).rglob("*") if path.is_file())

    def holds(data: bytes) -> bool:
        small = data.lower()
        return any(WORD.lower().encode(code) in small for code in ("utf-8", "utf-16-le"))

    kept = profile("good")
    assert len(kept) > 1000
    assert not holds(kept)
    assert holds(profile("marked", marked=True)), "one that keeps it is found out"
