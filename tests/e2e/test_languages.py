"""The pages in the language of whoever reads them: which one, which way it runs, and how it is changed."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route

import deniable as dn
from tests.collector import ADMIN, Server, serving
from tests.e2e.conftest import PATIENCE, PHONE, Open, Watch
from tests.e2e.forms import FORM, answered_store
from tests.e2e.steps import address, answer_link, counters, fits, survey_of, until
from tests.e2e.stores import changed, note_uses, remembers
from tests.waiting import wait_for

QUESTION = "هل دخّنت هذا الأسبوع؟"
SURVEY = dn.krr(["نعم", "لا"], epsilon=1, name=QUESTION)
SAID = {
    "en-GB": ("ltr", "Your real answer", "Roll the die", "Send this", "Your answer is counted"),
    "de-CH": ("ltr", "Ihre wirkliche Antwort", "Würfeln", "Das senden", "Ihre Antwort ist gezählt"),
    "ar-EG": ("rtl", "إجابتك الحقيقية", "ارمِ النرد", "أرسل هذا", "احتُسبت إجابتك"),
    "fi-FI": ("ltr", "Your real answer", "Roll the die", "Send this", "Your answer is counted"),
}


@pytest.mark.parametrize("locale", SAID)
def test_a_question_is_answered_in_the_browsers_language(server: Server, fresh: Open, locale: str) -> None:
    direction, legend, roll, send, counted = SAID[locale]
    server.create(SURVEY)
    page = fresh(viewport=PHONE, locale=locale)
    before = counters(server, SURVEY).get("accepted", 0)
    page.goto(answer_link(server, SURVEY))
    page.get_by_text(legend, exact=True).wait_for()
    language = "en" if locale.startswith("fi") else locale[:2]
    assert page.evaluate("[document.documentElement.lang, document.documentElement.dir]") == [language, direction]
    assert page.locator("h1").text_content() == QUESTION, "what whoever asks has written is not translated"
    assert page.evaluate("getComputedStyle(document.querySelector('h1')).direction") == "rtl", (
        "and has its own direction"
    )
    fits(page)
    page.get_by_label("نعم", exact=True).check()
    page.get_by_role("button", name=roll).click()
    page.get_by_role("button", name=send).click()
    page.get_by_text(counted).wait_for()
    fits(page)
    assert counters(server, SURVEY)["accepted"] == before + 1


def test_a_switch_changes_the_language_and_it_is_remembered(server: Server, fresh: Open) -> None:
    server.create(SURVEY)
    page = fresh(viewport=PHONE, locale="en-US")
    page.goto(answer_link(server, SURVEY))
    page.locator("#form").wait_for()
    assert page.evaluate("localStorage.length") == 0, "nothing is kept of who chooses nothing"
    page.get_by_label("Language").select_option(label="العربية")
    page.get_by_role("button", name="ارمِ النرد").wait_for()
    until(page, "document.documentElement.dir == 'rtl'")
    page.reload()
    page.get_by_role("button", name="ارمِ النرد").wait_for()
    page.get_by_label("اللغة").select_option(label="Deutsch")
    page.get_by_role("button", name="Würfeln").wait_for()
    assert page.evaluate("document.documentElement.lang") == "de"


# All that somebody reads or hears, but for the switch: texts, names of things without words, what stands in fields.
READ = """() => {
  const walker = document.createTreeWalker(document.documentElement, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
  const found = [];
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (node.closest?.("#languages, script, style, noscript") ?? node.parentElement.closest("#languages, noscript"))
      continue;
    if (node.nodeType === Node.TEXT_NODE) found.push(node.data.trim());
    else for (const name of ["aria-label", "placeholder", "title"])
      if (node.hasAttribute(name)) found.push(node.getAttribute(name));
  }
  return found.filter(Boolean);
}"""
KEPT = "() => JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie, location.href, history.state])"
WORD = "Xylographers"  # one that no browser has in its own files


def switch(page: Page, language: str) -> None:
    page.locator("#languages select").select_option(language)
    until(page, "(language) => document.documentElement.lang == language", language)


def fresh_text(fresh: Open, url: str, locale: str, work: Any) -> list[str]:
    """What a page says that was in this language from the start, once `work` has entered the same."""
    page = fresh(viewport=PHONE, locale=locale)
    page.goto(url)
    work(page)
    said: list[str] = page.evaluate(READ)
    return said


SCALE = dn.number(18, 90, 1, bins=24, name="How old are you?")
TEXT = dn.orr(epsilon=2, cells=8, cohorts=4, seed=bytes(16), name="What would you change?")
TABLE = dn.sensitive(["flu", "hiv", "nothing"], sensitive=["hiv"], epsilon=1, name="What did the doctor find?")
BITS = dn.krappor(["red", "green", "blue"], epsilon=1, name="")


def entered(page: Page) -> list[Any]:
    said: list[Any] = page.evaluate(
        "[...document.querySelectorAll('#form input')].map((one) => [one.value, one.checked])"
    )
    return said


@pytest.mark.parametrize("survey", [SURVEY, SCALE, TEXT, TABLE, BITS], ids=["list", "number", "text", "table", "marks"])
def test_a_switch_keeps_a_choice_that_was_not_rolled(survey: dn.Survey, server: Server, fresh: Open) -> None:
    """On the page alone: no load, nothing stored but the language, nothing sent, and all of it as in a new page."""
    server.create(survey)

    def choose(page: Page) -> None:
        page.locator("#form").wait_for()
        if page.locator("#form [type=radio]").count():
            page.locator("#form [type=radio]").nth(1).check()
        else:
            page.locator("#form input").fill("41")

    page = fresh(viewport=PHONE, locale="en-GB")
    page.goto(answer_link(server, survey))
    choose(page)
    page.evaluate("window.same = true")
    before, kept = entered(page), page.evaluate(KEPT)
    asked: list[Any] = []
    page.on("request", lambda request: asked.append((request.method, request.url, request.post_data)))
    for language, locale in (("ar", "ar"), ("de", "de")):
        switch(page, language)
        there = fresh_text(fresh, answer_link(server, survey), locale, choose)
        until(page, "(said) => JSON.stringify((" + READ + ")()) == JSON.stringify(said)", there)
        assert entered(page) == before
        assert page.locator("#roll").is_enabled()
    assert page.evaluate("window.same"), "the page was not loaded again"
    stored = json.loads(page.evaluate(KEPT))
    assert stored == [{"deniable-language/1": "de"}, *json.loads(kept)[1:]]
    assert asked, "texts were fetched"
    for method, url, data in asked:
        assert (method, data) == ("GET", None)
        assert re.fullmatch(r"http://[^/]+/pages/(ar|de)\.[a-z]+\.json", url)
    page.get_by_role("button", name="Würfeln").click()
    page.get_by_role("button", name="Das senden").click()
    page.get_by_text("Ihre Antwort ist gezählt").wait_for()


def test_a_switch_keeps_a_form_that_is_half_filled(server: Server, fresh: Open) -> None:
    server.create(FORM)  # type: ignore[arg-type]

    def begin(page: Page) -> None:
        page.locator("#skip").click()
        until(page, "!document.querySelector('#skip')")
        page.locator("#form [type=radio]").nth(2).check()
        page.locator("#next").click()
        page.locator("#number").fill("41")
        page.locator("#next").click()
        page.locator("#text").fill("Voss")

    page = fresh(viewport=PHONE, locale="en-GB")
    page.goto(answer_link(server, FORM))  # type: ignore[arg-type]
    begin(page)
    page.evaluate("window.same = true")
    switch(page, "de")
    there = fresh_text(fresh, answer_link(server, FORM), "de", begin)  # type: ignore[arg-type]
    until(page, "(said) => JSON.stringify((" + READ + ")()) == JSON.stringify(said)", there)
    assert page.locator("#text").input_value() == "Voss"
    page.locator("#back").click()
    page.locator("#number").wait_for()
    assert page.locator("#number").input_value() == "41"
    switch(page, "ar")
    assert page.locator("#number").input_value() == "41"
    page.go_back()  # the browser's own way back stays that of the page
    page.locator("#text").wait_for()
    assert page.locator("#text").input_value() == "Voss"
    page.locator("#next").click()
    for _ in range(2):
        page.locator("#form [type=radio]").first.check()
        page.locator("#next").click()
    page.get_by_text("إجاباتك الحقيقية").wait_for()
    said = page.locator(".said-before dd").all_inner_texts()
    assert ["لا إجابة" in said[0], "Voss" in said[3]] == [True, True]
    assert page.evaluate("window.same")


def test_what_others_wrote_begins_where_a_right_to_left_page_does(server: Server, fresh: Open) -> None:
    survey = survey_of("Is this English, in an Arabic page?", ["1", "2"])
    server.create(survey)
    page = fresh(viewport=PHONE, locale="ar")
    page.goto(answer_link(server, survey))
    page.locator("#form [type=radio]").first.check()
    page.locator("#roll").click()
    page.locator("#send").wait_for()
    aligned = "[...document.querySelectorAll('h1, .sent')].map((one) => getComputedStyle(one).textAlign)"
    assert page.evaluate(aligned) == ["right", "right"]


def test_after_the_roll_a_switch_loads_the_page_again_and_what_was_rolled_is_sent(server: Server, fresh: Open) -> None:
    server.create(TEXT)
    page = fresh(viewport=PHONE, locale="en-GB")
    page.goto(answer_link(server, TEXT))
    page.locator("#text").fill("rosebud")
    page.get_by_role("button", name="Roll the die").click()
    page.get_by_role("button", name="Send this").wait_for()
    page.locator("#wire summary").click()
    rolled = page.locator("#wire .bytes").inner_text()
    page.locator("#languages select").select_option("de")
    page.get_by_role("button", name="Das senden").wait_for()
    page.locator("#wire summary").click()
    assert page.locator("#wire .bytes").inner_text() == rolled


LEAVING = {
    "nothing": None,
    "a store": 'localStorage.late = $("text").value;',
    "the address": 'history.replaceState($("text").value, "");',
    "a function": "globalThis.again = () => value.at(0);",
}


@pytest.mark.parametrize("place", LEAVING)
def test_after_a_switch_and_the_roll_nothing_has_the_answer(place: str, server: Server, fresh: Open) -> None:
    """And a page that leaves it anywhere on the way is found out."""
    server.create(TEXT)
    page = fresh(viewport=PHONE, locale="en-GB")
    note_uses(page)
    if (mutant := LEAVING[place]) is not None:
        there = "page.again = reload;" if place == "a function" else "field.again?.();"
        changed(page, "**/pages/answer.js", (there, f"{mutant} {there}"))
    page.goto(answer_link(server, TEXT))
    page.locator("#text").press_sequentially(WORD)
    switch(page, "de")
    until(page, "document.querySelector('#roll').innerText == 'Würfeln'")
    left = WORD in page.evaluate(KEPT)
    page.get_by_role("button", name="Würfeln").click()
    page.get_by_role("button", name="Das senden").wait_for()
    assert (remembers(page, WORD) or left) == (mutant is not None)


@pytest.mark.slow
def test_a_switch_keeps_a_question_that_is_half_written(server: Server, fresh: Open) -> None:
    def write(page: Page) -> None:
        page.locator("#question").fill("Do you lie?")
        page.locator("#answers").fill("never\nonce ")
        page.locator("#people").fill("5000")
        page.locator("details:has(#introduction) summary").click()
        page.locator("#introduction").fill("Hello")
        page.locator("#plan .big").wait_for()

    page = fresh(locale="en-GB")
    page.goto(address(server, "/", token=ADMIN))
    write(page)
    page.evaluate("window.same = true")
    for language in ("de", "ar"):
        switch(page, language)
        there = fresh(locale=language)
        there.goto(address(server, "/", token=ADMIN))
        write(there)
        until(page, "(said) => JSON.stringify((" + READ + ")()) == JSON.stringify(said)", there.evaluate(READ))
    values = {
        name: page.locator(f"#{name}").input_value() for name in ("question", "answers", "people", "introduction")
    }
    assert values == {"question": "Do you lie?", "answers": "never\nonce ", "people": "5000", "introduction": "Hello"}
    assert page.evaluate("window.same")


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A collector whose form was answered on three days."""
    folder = tmp_path_factory.mktemp("counted")
    answered_store(folder / "store")
    with serving(str(folder / "store"), folder) as made:
        yield made


TURNED = "section[aria-labelledby=pair-sport-likes]"
HEADS = f"""() => JSON.stringify([...document.querySelectorAll("{TURNED} tbody th")].map((one) => one.textContent))
  == JSON.stringify(["=tea", "coffee"])"""


@pytest.mark.slow
def test_a_switch_keeps_what_was_chosen_on_results(counted: Server, browser: Browser) -> None:
    """All is as on a page that was in this language from the start: charts, tables, names, what is looked for."""
    url = address(counted, f"/results/{FORM.digest}", token=ADMIN)
    contexts = []

    def there(locale: str) -> Page:
        contexts.append(browser.new_context(locale=locale, viewport=PHONE, reduced_motion="reduce"))
        page = contexts[-1].new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(url)
        page.locator("#of-town-candidates").fill("Oslo\nBergen")
        page.locator("#form-results .field button").click()
        page.locator("section:has(#of-town) svg").wait_for()
        page.locator("#from").select_option(index=2)
        page.locator(f"{TURNED} .actions button").first.click()
        until(page, HEADS)
        page.locator("#manage textarea").first.wait_for(state="attached")
        page.locator("#manage details").evaluate("(one) => (one.open = true)")
        page.locator("#manage textarea").first.fill("Written, and not saved")
        return page

    try:
        page = there("en-GB")
        page.evaluate("window.same = true")
        switch(page, "ar")
        wanted = there("ar")
        same = "(said) => JSON.stringify((" + READ + ")()) == JSON.stringify(said)"
        wait_for(
            lambda: page.evaluate(same, wanted.evaluate(READ)), "the same", rest=lambda: page.wait_for_timeout(200)
        )
        chart = page.locator("section:has(#of-smokes) svg").first.text_content() or ""
        assert "نسبة المشاركين" in chart
        assert "share of" not in chart
        assert page.evaluate(HEADS), "the cross-table stays turned"
        assert page.locator("#from").input_value() == page.locator("#from option").nth(2).get_attribute("value")
        assert page.locator("#of-town-candidates").input_value() == "Oslo\nBergen"
        assert page.locator("#manage textarea").first.input_value() == "Written, and not saved"
        assert page.evaluate("window.same")
    finally:
        for context in contexts:
            context.close()


def test_a_module_or_a_text_that_does_not_come_is_asked_for_again(server: Server, fresh: Open) -> None:
    """What came once may be refused later: nobody is told that this browser keeps nothing."""
    server.create(SCALE)
    page = fresh(viewport=PHONE, locale="en-GB")
    refused: list[str] = []

    def once(route: Route) -> None:
        url = route.request.url
        if url in refused:
            route.continue_()
            return
        refused.append(url)
        if url.endswith(".js"):
            route.abort()
        else:
            route.fulfill(status=503, json={"detail": "later"})

    page.route(re.compile(r"/pages/(near\.js|en\.near\.json)$"), once)
    page.goto(answer_link(server, SCALE))
    page.get_by_text("The collector does not answer. Trying again…").wait_for()
    page.locator("#form input").first.wait_for()
    assert len(refused) == 2
    assert page.locator("#status").inner_text() == ""


# Pauses of a second and more are noted, and over at once.
HURRY = """() => {
  const real = window.setTimeout;
  window.setTimeout = (work, pause = 0, ...more) => {
    if (pause >= 1000) sessionStorage.pauses = `${sessionStorage.pauses ?? ""} ${pause}`;
    return real(work, pause >= 1000 ? 1 : pause, ...more);
  };
}"""


@pytest.mark.parametrize("away", ["**/pages/near.js", "**/pages/en.near.json", "**/v1/surveys/*"])
def test_what_does_not_come_is_asked_for_later_each_time_and_not_for_ever(
    server: Server, fresh: Open, away: str
) -> None:
    server.create(SCALE)
    page = fresh(viewport=PHONE, locale="en-GB")
    page.add_init_script(f"({HURRY})()")
    page.route(away, lambda route: route.abort())
    page.goto(answer_link(server, SCALE))
    page.get_by_text("Load this page again later").wait_for()
    assert page.evaluate("sessionStorage.pauses") == " 2000 4000 8000 16000 30000 30000 30000"
    page.unroute(away)
    page.reload()
    page.locator("#form input").first.wait_for()
    assert page.evaluate("history.state") is None


@pytest.mark.parametrize("language", ["en", "de", "ar"])
@pytest.mark.parametrize(
    ("error", "mutant"), [("TypeError", "undefined.nowhere;"), ("ReferenceError", "nowhere();")], ids=["type", "name"]
)
def test_an_error_of_the_page_is_told_as_one(
    server: Server, fresh: Open, watch: Watch, language: str, error: str, mutant: str
) -> None:
    """Once: not as a collector that is away, and not as a browser that keeps nothing."""
    server.create(SURVEY)
    page = fresh(viewport=PHONE, locale=language)
    page.add_init_script(f"({HURRY})()")
    changed(page, "**/pages/answer.js", ("const kind = await", f"{mutant} const kind = await"))
    page.goto(answer_link(server, SURVEY))
    page.locator("#status p", has_text=error).wait_for()
    said = page.locator("#status").inner_text()
    wanted = {"en": "This page has an error", "de": "Diese Seite hat einen Fehler", "ar": "في هذه الصفحة خطأ"}
    assert said.startswith(wanted[language])
    assert page.evaluate("sessionStorage.pauses ?? ''") == ""
    assert page.locator("#form").is_hidden()
    assert len(watch.faults) == 1
    assert "nowhere" in watch.faults.pop(), "and whoever looks for it finds it"


def test_a_language_whose_texts_do_not_come_is_not_switched_to(server: Server, fresh: Open) -> None:
    """The collector says no in JSON: nothing of that is a text, and the same switch can be tried again."""
    server.create(SURVEY)
    page = fresh(viewport=PHONE, locale="en-GB")
    page.goto(answer_link(server, SURVEY))
    page.locator("#form").wait_for()
    page.route("**/pages/de.*.json", lambda route: route.fulfill(status=503, json={"detail": "later"}))
    select = page.locator("#languages select")
    select.select_option("de")
    until(page, "document.querySelector('#languages select').value == 'en'")
    assert page.get_by_role("button", name="Roll the die").is_visible()
    assert page.evaluate("localStorage.length") == 0
    page.unroute("**/pages/de.*.json")
    switch(page, "de")
    page.get_by_role("button", name="Würfeln").wait_for()


def test_a_switch_that_fails_late_leaves_the_newer_one_alone(server: Server, fresh: Open) -> None:
    server.create(SURVEY)
    page = fresh(viewport=PHONE, locale="en-GB")
    page.goto(answer_link(server, SURVEY))
    page.locator("#form").wait_for()
    waiting: dict[str, list[Route]] = {"de": [], "ar": []}
    page.route(
        re.compile(r"/pages/(de|ar)\.\w+\.json$"),
        lambda route: waiting[route.request.url.split("/")[-1][:2]].append(route),
    )
    for language, held in waiting.items():
        page.locator("#languages select").select_option(language)
        wait_for(lambda held=held: len(held) >= 3, "all texts", rest=lambda: page.wait_for_timeout(50))  # type: ignore[misc]
    with page.expect_event("requestfinished", lambda one: "/de." in one.url):
        waiting["de"].pop().fulfill(status=503, json={"detail": "later"})
    page.wait_for_timeout(100)
    for route in waiting["ar"]:
        route.continue_()
    page.get_by_role("button", name="ارمِ النرد").wait_for()
