"""Forms as people meet them: a question a screen, back and forth, one roll for all, one send."""

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Page, Response

import deniable as dn
from deniable.cli.words import at_most
from tests.collector import Server
from tests.e2e.conftest import DESK, PHONE, Open, Watch
from tests.e2e.steps import answer_link, counters, fits, thanked, violations

SEED = bytes(range(16))
WORD = "Smultringer"


def form_of(name: str, **more: Any) -> dn.Form:
    """A question of each kind, two that may be left out, one that is asked in Norway alone, and a pair."""
    return dn.form(
        smokes=dn.warner(epsilon=1, name="Have you smoked this week?"),
        fruit=dn.krr(["apple", "pear", "cherry"], epsilon=1, name="Which fruit do you like best?"),
        age=dn.number(18, 90, 1, bins=24, name="How old are you?"),
        word=dn.orr(epsilon=1, cells=16, cohorts=8, name="What would you change first?", seed=SEED),
        tea=dn.warner(epsilon=1, name="Do you drink tea?"),
        cups=dn.number(0, 10, 1, step=1, name="How many cups a day?"),
        **{
            "epsilon": 4,
            "name": name,
            "skip": ["fruit", "word"],
            "relate": [("tea", "cups")],
            "public": {"land": ["Norway", "Sweden"]},
            "when": {"word": ("land", "Norway")},
            **more,
        },
    )


def create(server: Server, form: dn.Form) -> None:
    server.create(form)  # type: ignore[arg-type]


def asks(page: Page, title: str) -> None:
    """Wait for the screen of a question; it has the focus, so that it is read out, and nothing sticks out."""
    page.locator("#legend > span", has_text=title).wait_for()


def pick(page: Page, title: str, answer: str) -> None:
    asks(page, title)
    page.get_by_label(answer, exact=True).check()
    page.locator("#next").click()


def answer_all(page: Page) -> None:
    pick(page, "land", "Norway")
    pick(page, "Have you smoked", "yes")
    asks(page, "Which fruit")
    page.locator("#skip").click()
    asks(page, "How old")
    page.locator("#number").fill("41")
    page.locator("#next").click()
    asks(page, "What would you change")
    page.locator("#text").fill(WORD)
    page.locator("#next").click()
    pick(page, "Do you drink tea", "yes")
    asks(page, "How many cups")
    page.locator("#number").fill("3")
    page.locator("#next").click()
    asks(page, "Your real answers")


def roll(page: Page, dice: int) -> None:
    """Roll, and look at one die after another; the button to send comes with the last."""
    page.get_by_role("button", name="Roll the dice").click()
    for number in range(1, dice + 1):
        page.get_by_text(f"Die {number} of {dice}").wait_for()
        page.locator("#fell", has_text="Only you can see this line").wait_for()
        if number < dice:
            assert page.locator("#send").is_hidden()
            page.locator("#onward").click()
    page.get_by_role("button", name="Send this").wait_for()


def sent_by(page: Page, form: dn.Form) -> dn.Report:
    page.locator("#wire summary").click()
    wire = bytes.fromhex(re.sub(r"\s", "", page.locator("#wire .bytes").inner_text()))
    with page.expect_request(re.compile("/reports")) as sent:
        page.get_by_role("button", name="Send this").click()
    assert sent.value.post_data_buffer == wire, "the page shows the very bytes that it sends"
    return dn.Report.unpack(form, wire[16:])


def test_a_form_on_a_phone(server: Server, fresh: Open, watch: Watch) -> None:
    """Every kind of question, one left out, one that depends on a public answer, and a pair."""
    form = form_of("Health and habits")
    create(server, form)
    page = fresh(viewport=PHONE)
    page.goto(answer_link(server, form))  # type: ignore[arg-type]
    asks(page, "land")
    before = len(watch.requests)
    assert "It is not sent" in page.locator("#legend").inner_text()
    answer_all(page)
    fits(page)
    review = page.locator(".said-before").inner_text()
    for said in ("Norway", "yes", "no answer", "41", WORD, "3"):
        assert said in review
    assert watch.requests[before:] == [], "nothing left the device"
    kept = page.evaluate("JSON.stringify([...Object.entries(localStorage), history.state, location.href])")
    assert WORD not in kept
    assert "Norway" not in kept
    roll(page, 5)
    fits(page)
    page.locator("#meaning summary").click()
    assert f"at most {at_most(form.odds)} times" in page.locator("#explained").inner_text()
    assert "Which questions you were asked can be seen" in page.locator("#explained").inner_text()
    report = sent_by(page, form)
    thanked(page)
    assert report.cohort == 0b11111
    told = page.locator("#sent").inner_text()
    for title in ("Have you smoked", "Which fruit", "How old", "What would you change", "Do you drink tea"):
        assert title in told
    assert page.locator("#fell, .mine, .truth").count() == 0, "with what was sent, that is the answer"
    assert counters(server, form) == {"accepted": 1}  # type: ignore[arg-type]
    page.reload()
    thanked(page)
    assert page.locator("#rolled").is_hidden()
    assert WORD not in page.evaluate("JSON.stringify(Object.entries(localStorage))")


def test_back_and_forth_without_losing_anything(server: Server, fresh: Open) -> None:
    form = form_of("Back and forth?")
    create(server, form)
    page = fresh(viewport=PHONE)
    page.goto(answer_link(server, form))  # type: ignore[arg-type]
    answer_all(page)
    assert page.locator("#progress").inner_text() == "All 7 questions answered"
    page.get_by_role("button", name="Change: What would you change first?").click()
    asks(page, "What would you change")
    assert page.locator("#text").input_value() == WORD
    page.locator("#back").click()
    asks(page, "How old")
    assert page.locator("#number").input_value() == "41"
    page.go_back()  # the browser's own way back: where one was
    asks(page, "What would you change")
    assert page.locator("#text").input_value() == WORD
    page.get_by_text("Question 5 of 7").wait_for()
    # Whoever moves is not asked for the word any more; what was said stays, in case they move back.
    for title in ("How old", "Which fruit", "Have you smoked", "land"):
        page.locator("#back").click()
        asks(page, title)
    pick(page, "land", "Sweden")
    asks(page, "Have you smoked")
    assert page.get_by_label("yes", exact=True).is_checked()
    for title in ("Which fruit", "How old", "Do you drink tea", "How many cups", "Your real answers"):
        page.locator("#next").click()
        asks(page, title)
    assert WORD not in page.locator(".said-before").inner_text()
    page.get_by_role("button", name="Change: Which fruit do you like best?").click()
    asks(page, "Which fruit")
    assert page.locator("#choices :checked").count() == 0, "it was left out"
    pick(page, "Which fruit", "pear")
    page.get_by_role("button", name="Change: land").or_(page.locator("#next")).first.wait_for()
    while page.locator("#next").count():
        page.locator("#next").click()
        page.wait_for_timeout(50)
    assert "pear" in page.locator(".said-before").inner_text()
    roll(page, 4)
    report = sent_by(page, form)
    thanked(page)
    assert report.cohort == sum(1 << place for place, part in enumerate(form.parts) if part.name != "word")


def test_the_keyboard_and_the_focus(server: Server, fresh: Open) -> None:
    form = form_of("By keys?", public=None, when=None)
    create(server, form)
    page = fresh(viewport=DESK, color_scheme="dark")
    page.goto(answer_link(server, form))  # type: ignore[arg-type]
    asks(page, "Have you smoked")
    assert violations(page) == []
    page.keyboard.press("Enter")
    assert page.locator("#progress").inner_text() == "Question 1 of 6"
    page.get_by_label("no", exact=True).focus()
    page.keyboard.press("Space")
    page.keyboard.press("Enter")
    asks(page, "Which fruit")
    assert page.evaluate("document.activeElement.id") == "legend", "the next question is read out"
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    asks(page, "How old")
    page.keyboard.press("Tab")
    page.keyboard.type("200")
    page.get_by_text("the end of the scale").wait_for()
    assert violations(page) == []
    page.keyboard.press("Enter")
    asks(page, "What would you change")
    page.keyboard.press("Tab")
    page.keyboard.type("less noise")
    page.keyboard.press("Enter")
    pick(page, "Do you drink tea", "no")
    asks(page, "How many cups")
    page.locator("#number").fill("0")
    page.keyboard.press("Enter")
    asks(page, "Your real answers")
    assert violations(page) == []
    page.locator("#roll").focus()
    page.keyboard.press("Enter")
    page.get_by_text("Die 1 of 5").wait_for()
    page.locator("#onward").focus()
    page.keyboard.press("Enter")
    page.get_by_text("Die 2 of 5").wait_for()
    assert page.evaluate("document.activeElement.id") == "rolled-question"
    assert violations(page) == []


def test_what_was_drawn_stays_drawn(server: Server, fresh: Open) -> None:
    """Whoever does not like the question must not get another one: not by loading again, nor in another tab."""
    names = {f"q{place}": dn.warner(epsilon=1, name=f"Is it number {place}?") for place in range(12)}
    form = dn.form(names, epsilon=1, spend="sample", draw=2, name="Two of twelve?")
    create(server, form)
    page = fresh(viewport=PHONE)
    page.goto(answer_link(server, form))  # type: ignore[arg-type]

    def titles(tab: Page) -> list[str]:
        asks(tab, "Is it number")
        first = tab.locator("#legend > span").first.inner_text()
        assert tab.locator("#progress").inner_text() == "Question 1 of 2"
        tab.get_by_label("yes", exact=True).check()
        tab.locator("#next").click()
        tab.get_by_text("Question 2 of 2").wait_for()
        return [first, tab.locator("#legend > span").first.inner_text()]

    drawn = titles(page)
    other = page.context.new_page()
    other.goto(answer_link(server, form))  # type: ignore[arg-type]
    assert titles(other) == drawn
    page.bring_to_front()  # a tab behind another takes seconds for a press
    for _ in range(3):
        page.reload()
        assert titles(page) == drawn
    page.get_by_label("no", exact=True).check()
    page.locator("#next").click()
    other.bring_to_front()
    other.get_by_label("no", exact=True).check()
    other.locator("#next").click()
    page.bring_to_front()
    roll(page, 2)
    page.locator("#meaning summary").click()
    assert "Your browser drew which of the questions it asks" in page.locator("#explained").inner_text()
    wire = page.locator("#wire .bytes").text_content()
    # The other tab shows what this one has rolled: there is one roll.
    other.bring_to_front()
    other.get_by_role("button", name="Roll the dice").click()
    other.get_by_role("button", name="Send this").wait_for()
    assert other.locator("#wire .bytes").text_content() == wire
    page.bring_to_front()
    report = sent_by(page, form)
    thanked(page)
    places = [place for place, part in enumerate(form.parts) if part.survey.name in drawn]
    assert report.cohort == sum(1 << place for place in places)
    assert counters(server, form) == {"accepted": 1}  # type: ignore[arg-type]


def test_what_was_rolled_waits_for_the_collector(server: Server, fresh: Open) -> None:
    """Without a network a form is rolled and kept; loaded again it is still the same, and is sent as it was."""
    form = form_of("Without a network?", public=None, when=None)
    create(server, form)
    page = fresh(viewport=PHONE)
    page.goto(answer_link(server, form))  # type: ignore[arg-type]
    pick(page, "Have you smoked", "no")
    pick(page, "Which fruit", "pear")
    asks(page, "How old")
    page.locator("#number").fill("30")
    page.locator("#next").click()
    asks(page, "What would you change")
    page.locator("#skip").click()
    pick(page, "Do you drink tea", "no")
    asks(page, "How many cups")
    page.locator("#number").fill("0")
    page.locator("#next").click()
    page.context.set_offline(True)
    roll(page, 5)
    wire = page.locator("#wire .bytes").text_content()
    page.context.set_offline(False)
    page.reload()
    page.get_by_role("button", name="Send this").wait_for()
    assert page.locator("#fell, .truth").count() == 0, "what it fell on is forgotten"
    assert page.locator("#wire .bytes").text_content() == wire
    page.context.set_offline(True)
    page.get_by_role("button", name="Send this").click()
    page.get_by_text("What was rolled is kept on this device").wait_for()
    page.context.set_offline(False)
    thanked(page)
    assert counters(server, form) == {"accepted": 1}  # type: ignore[arg-type]


def test_a_form_is_answered_offline_once_it_is_there(server: Server, fresh: Open, watch: Watch) -> None:
    """A number that may be left out has its field from a module that no other question of this form needs."""
    form = dn.form(
        likes=dn.krr(["tea", "coffee"], epsilon=1, name="What do you drink?"),
        cups=dn.number(0, 10, 1, step=1, name="How many cups?"),
        epsilon=2,
        skip=["cups"],
        name="In a tunnel?",
    )
    create(server, form)
    page = fresh(viewport=PHONE)
    page.goto(answer_link(server, form))  # type: ignore[arg-type]
    asks(page, "What do you drink")
    page.wait_for_load_state("networkidle")
    page.context.set_offline(True)
    before = len(watch.requests)
    pick(page, "What do you drink", "tea")
    asks(page, "How many cups")
    page.locator("#number").fill("3")
    page.locator("#next").click()
    asks(page, "Your real answers")
    roll(page, 2)
    assert watch.requests[before:] == [], "how far somebody came is nobody's business"
    page.context.set_offline(False)
    sent_by(page, form)
    thanked(page)


def test_a_form_with_windows_gives_the_same_answer_the_same_noise(server: Server, fresh: Open) -> None:
    form = dn.form(
        mood=dn.krr(["low", "fair", "good"], epsilon=1, name="How is it?"),
        slept=dn.warner(epsilon=1, name="Slept well?"),
        epsilon=2,
        name="Each day?",
        participation="window:day",
    )
    create(server, form)
    page = fresh(viewport=PHONE)
    page.goto(answer_link(server, form))  # type: ignore[arg-type]
    pick(page, "How is it?", "good")
    pick(page, "Slept well?", "yes")
    roll(page, 2)
    sent_by(page, form)
    page.get_by_text("You have answered today").wait_for()
    kept = page.evaluate("JSON.stringify(Object.entries(localStorage))")
    state = json.loads(json.loads(kept)[0][1])["state"]
    assert "outbox" in state
    assert "good" not in kept


@pytest.mark.slow
def test_what_a_form_weighs(server: Server, fresh: Open) -> None:
    form = form_of("How heavy is a form?")
    create(server, form)
    page = fresh(viewport=PHONE)
    answers: list[Response] = []
    page.on("response", lambda response: answers.append(response))
    page.goto(answer_link(server, form))  # type: ignore[arg-type]
    asks(page, "land")
    # Texts have a bar of their own (test_safety.py).
    weights = {one.url: len(one.body()) for one in answers if not re.search(r"/pages/\w\w\.\w+\.json", one.url)}
    assert any("form.min.js" in url for url in weights)
    assert 60_000 < sum(weights.values()) < 98_000, weights
