"""A survey's life on the pages: texts and a closing date, close and reopen, duplicate, delete."""

import contextlib
import json
import sqlite3

import pytest
from playwright.sync_api import Page, ViewportSize, expect

import deniable as dn
from deniable.service.entries import Rules
from deniable.service.sqlite import FILE
from tests.collector import ADMIN, Server
from tests.e2e.conftest import DESK, PHONE, Open
from tests.e2e.steps import (
    SYMBOLS,
    address,
    answer_link,
    choose_and_roll,
    fits,
    says,
    scripted,
    survey_of,
    thanked,
    until,
    violations,
)
from tests.waiting import PATIENCE

MARKUP = "Dear <b>all</b>,\n\nthis <script>document.title = 'x'</script> is\non two lines.\n\n😀 مرحبا"


def state_of(server: Server, survey: dn.Survey) -> str:
    answer = server.ask("GET", f"/v1/surveys/{survey.digest}")
    return str(answer.json()["state"]) if answer.status == 200 else "gone"


def open_ask(page: Page, server: Server) -> None:
    page.goto(address(server, "/", token=ADMIN))
    page.locator("#form").wait_for()


@pytest.mark.slow
def test_texts_and_a_date_from_the_form_to_the_answer_page(server: Server, fresh: Open) -> None:
    desk = fresh(timezone_id="America/New_York")
    open_ask(desk, server)
    desk.get_by_label("Your question").fill("May there be markup?")
    desk.locator("#answers").fill("\n".join(SYMBOLS))
    desk.get_by_text("Introduction, thank-you and closing date").click()
    desk.locator("#introduction").fill(MARKUP)
    desk.locator("#thanks").fill("Bye.\n\n<i>See</i> you.")
    desk.locator("#closes").fill("2031-05-06T20:30")
    desk.get_by_role("button", name="Create the survey").click()
    desk.locator("#made .qr").wait_for()
    says(desk, "open until 6 May 2031 at 20:30, 0 answers")
    link = desk.locator("#made .link input").first.input_value()
    told = server.ask("GET", f"/v1/surveys/{link.split('/')[-1]}").json()
    assert told["rules"]["closes"] == "2031-05-07T00:30Z"
    assert told["rules"]["introduction"] == MARKUP
    assert "Dear" not in json.dumps(told["survey"])

    phone = fresh(viewport=PHONE, timezone_id="Europe/Berlin")
    phone.goto(link)
    phone.locator("#form").wait_for()
    shown = phone.locator("#introduction p")
    assert shown.count() == 3, "paragraphs are kept"
    assert shown.all_inner_texts() == MARKUP.split("\n\n"), "and lines, and markup is text"
    assert phone.locator("#introduction b, #introduction script").count() == 0
    assert phone.locator("#until").inner_text() == "Open until 7 May 2031 at 02:30, on this device's clock."
    fits(phone)
    assert violations(phone) == []
    choose_and_roll(phone, "once")
    assert phone.locator("#thanks p").count() == 0
    phone.get_by_role("button", name="Send this").click()
    thanked(phone)
    assert phone.locator("#thanks p").all_inner_texts() == ["Bye.", "<i>See</i> you."]
    phone.reload()
    thanked(phone)
    assert phone.locator("#thanks p").all_inner_texts() == ["Bye.", "<i>See</i> you."]


def test_close_and_reopen_from_the_list(server: Server, fresh: Open) -> None:
    survey = survey_of("Open, closed, open?")
    server.create(survey)
    page, other = fresh(viewport=PHONE), fresh()
    open_ask(page, server)
    mine = page.locator("#surveys li").filter(has_text=survey.name)
    mine.get_by_role("button", name="Close").click()
    says(page, "is closed. It takes no answers until you reopen it.")
    assert state_of(server, survey) == "closed"
    assert "closed, 0 answers" in mine.inner_text()
    other.goto(answer_link(server, survey))
    says(other, "This survey is closed. It takes no more answers, and nothing was sent.")
    fits(page)
    assert violations(page) == []
    mine.get_by_role("button", name="Reopen").click()
    says(page, "is open again.")
    assert state_of(server, survey) == "open"
    other.reload()
    other.locator("#form").wait_for()


def test_a_closed_for_good_survey_offers_no_reopening(server: Server, fresh: Open) -> None:
    survey = survey_of("Never again?")
    server.create(survey)
    server.ask("POST", f"/v1/surveys/{survey.digest}/close", b'{"final": true}')
    page = fresh()
    open_ask(page, server)
    mine = page.locator("#surveys li").filter(has_text=survey.name)
    assert "closed for good, 0 answers" in mine.inner_text()
    assert mine.get_by_role("button").all_inner_texts() == ["Copy as a new version", "Delete"]


def test_a_date_that_passes_ends_the_survey_on_every_page(server: Server, fresh: Open) -> None:
    """The date passes while the page is open: it is put back in the store, as nobody can by HTTP."""
    survey = survey_of("Until when?")
    server.create(survey, minimum=1)
    page = fresh(viewport=PHONE)
    page.goto(answer_link(server, survey))
    choose_and_roll(page, "once")
    rules = json.dumps(Rules(minimum=1, closes="2025-01-02T03:04Z").to_json())
    path = server._log.parent / "store" / FILE
    with contextlib.closing(sqlite3.connect(path, timeout=PATIENCE)) as database, database:
        database.execute("UPDATE survey SET rules = ? WHERE digest = ?", [rules, survey.digest])
    assert state_of(server, survey) == "closed"
    page.get_by_role("button", name="Send this").click()
    says(page, "closed before your answer arrived. It is not counted.")
    assert page.locator("#until").is_hidden()
    late = fresh(viewport=PHONE)
    late.goto(answer_link(server, survey))
    says(late, "This survey ended on 2 January 2025 at ")
    assert late.locator("#form").is_hidden()
    asker = fresh()
    asker.goto(address(server, f"/results/{survey.digest}", token=ADMIN))
    says(asker, "Ended on 2 January 2025 at ")
    asker.get_by_role("button", name="Reopen").click()
    asker.get_by_role("button", name="Close", exact=True).wait_for()
    assert state_of(server, survey) == "open"


def test_texts_and_date_change_later(server: Server, fresh: Open) -> None:
    survey = survey_of("What did I write?")
    server.create(survey)
    page = fresh(viewport=PHONE)
    page.goto(address(server, f"/results/{survey.digest}", token=ADMIN))
    page.get_by_text("Closing date and texts").click()
    page.get_by_label("Introduction").fill("First.")
    page.get_by_label("Thank-you").fill("Last.")
    page.get_by_label("Closes on").fill("2020-01-01T10:00")
    page.get_by_role("button", name="Save").click()
    says(page, "The closing date must be in the future. To end a survey now, close it.")
    page.get_by_label("Closes on").fill("2031-01-01T10:00")
    page.get_by_role("button", name="Save").click()
    says(page, "Open until 1 January 2031 at 10:00")
    told = server.ask("GET", f"/v1/surveys/{survey.digest}").json()["rules"]
    assert (told["introduction"], told["thanks"]) == ("First.", "Last.")
    fits(page)
    assert violations(page) == []
    page.get_by_text("Closing date and texts").click()
    assert page.get_by_label("Introduction").input_value() == "First."


def test_delete_says_what_goes_and_asks_again_by_keyboard(server: Server, fresh: Open) -> None:
    survey = survey_of("Gone tomorrow?")
    server.create(survey, minimum=1)
    page = fresh()
    open_ask(page, server)
    scripted(page, survey, SYMBOLS)
    page.reload()
    mine = page.locator("#surveys li").filter(has_text=survey.name)
    delete = mine.get_by_role("button", name="Delete")
    delete.focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Delete this survey?")
    dialog.wait_for()
    expect(dialog).to_contain_text("Gone tomorrow?")
    expect(dialog).to_contain_text("its 3 answers, its results, its links and its keys will be gone for good")
    assert page.evaluate("document.activeElement.textContent") == "Keep it", "Enter twice deletes nothing"
    assert violations(page) == []
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.evaluate("!document.activeElement.closest('main')"), "the focus stays in the question"
    page.keyboard.press("Escape")
    dialog.wait_for(state="hidden")
    assert page.evaluate("document.activeElement.textContent") == "Delete"
    page.keyboard.press("Enter")
    dialog.get_by_role("button", name="Keep it").click()
    assert state_of(server, survey) == "open"
    delete.click()
    dialog.get_by_role("button", name="Delete it with its 3 answers").focus()
    page.keyboard.press("Enter")
    says(page, "“Gone tomorrow?” is deleted with its 3 answers.")
    assert state_of(server, survey) == "gone"
    assert mine.count() == 0
    gone = fresh(viewport=PHONE)
    gone.goto(answer_link(server, survey))
    says(gone, "There is no such survey")
    gone.goto(address(server, f"/results/{survey.digest}"))
    says(gone, "There is no such survey")


def test_a_survey_deleted_while_somebody_answers(server: Server, fresh: Open) -> None:
    survey = survey_of("Still there?")
    server.create(survey)
    page = fresh(viewport=PHONE)
    page.goto(answer_link(server, survey))
    choose_and_roll(page, "once")
    assert server.ask("DELETE", f"/v1/surveys/{survey.digest}").status == 200
    page.get_by_role("button", name="Send this").click()
    says(page, "The survey was deleted before your answer arrived. It is not counted.")


@pytest.mark.slow
@pytest.mark.parametrize("viewport", [PHONE, DESK], ids=["phone", "desk"])
def test_an_owner_deletes_from_the_results(server: Server, fresh: Open, viewport: ViewportSize) -> None:
    survey = survey_of(f"Mine to delete, {viewport['width']} wide?")
    server.create(survey, minimum=1)
    secrets = {}
    for kind in ("owner", "read"):
        made = server.ask("POST", f"/v1/surveys/{survey.digest}/tokens", json.dumps({"kind": kind}).encode())
        secrets[kind] = made.json()["token"]
    reader = fresh()
    reader.goto(address(server, f"/results/{survey.digest}", token=secrets["read"]))
    says(reader, "answers so far")
    assert reader.locator("#manage").is_hidden(), "who reads may do nothing else"
    page = fresh(viewport=viewport)
    page.goto(address(server, f"/results/{survey.digest}", token=secrets["owner"]))
    scripted(page, survey, SYMBOLS * 2)
    page.locator("#manage").get_by_role("button", name="Delete").click()
    remove = page.get_by_role("button", name="Delete it with its 6 answers")
    remove.wait_for()
    fits(page)
    remove.click()
    page.get_by_role("heading", name="This survey and its data were deleted").wait_for()
    assert state_of(server, survey) == "gone"
    said = page.locator("#lead").inner_text()
    assert said.startswith(f"“{survey.name}” is deleted with its 6 answers.")
    assert page.locator("#manage, #all, #so-far, #door").filter(visible=True).count() == 0
    assert page.evaluate("document.activeElement.id") == "question"
    assert page.evaluate("JSON.stringify(sessionStorage)").find(secrets["owner"]) == -1, "its key opens nothing"
    assert violations(page) == []
    fits(page)
    page.reload()
    page.get_by_role("heading", name="This survey and its data were deleted").wait_for()
    page.get_by_role("link", name="To the start page").click()
    page.locator("#door").wait_for()


@pytest.mark.slow
def test_what_happened_is_said_where_it_was_asked_for(server: Server, fresh: Open) -> None:
    """Far down a list, and on Results without a reload: seen, focused, read out, and still there a while later."""
    surveys = [survey_of(f"Far down, number {i}?") for i in range(12)]
    for survey in surveys:
        server.create(survey, minimum=50)
    page = fresh(viewport=PHONE)
    open_ask(page, server)

    def seen(text: str) -> None:
        note = page.locator("[role=status] .note", has_text=text)
        note.wait_for()
        assert note.evaluate("(one) => one.parentElement == document.activeElement")
        expect(note).to_be_in_viewport()

    last = page.locator("#surveys li").filter(has_text=surveys[-1].name)
    last.get_by_role("button", name="Close").click()
    seen("is closed. It takes no answers until you reopen it.")
    last.get_by_role("button", name="Reopen").click()
    seen("is open again.")
    last.get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Delete it with its 0 answers").click()
    seen("is deleted with its 0 answers.")
    assert violations(page) == []
    fits(page)
    page.goto(address(server, f"/results/{surveys[0].digest}"))
    page.evaluate("window.same = true")
    page.locator("#manage").get_by_role("button", name="Close").click()
    seen("is closed. It takes no answers until you reopen it.")
    assert page.locator("#so-far-count").inner_text() == "0 of 50 answers"
    words = "This survey has ended, and results are shown from 50 answers on"
    assert words in page.locator("#so-far-words").inner_text(), "and none are promised"
    assert "appear" not in page.locator("#so-far-words").inner_text()
    page.locator("#manage").get_by_role("button", name="Reopen").click()
    seen("is open again.")
    assert "Results appear by themselves once 50 are in" in page.locator("#so-far-words").inner_text()
    assert page.evaluate("window.same"), "the page was not loaded anew"
    assert violations(page) == []
    page.locator("#manage").get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Delete it with its 0 answers").click()
    page.get_by_role("link", name="Back to your surveys").click()
    page.locator("#form").wait_for()


@pytest.mark.slow
def test_duplicate_fills_the_form_and_makes_another_survey(server: Server, fresh: Open) -> None:
    survey = survey_of("Again, please?", epsilon=2)
    server.create(survey, introduction="Hello.", thanks="Bye.", results="public", minimum=30, window="hour")
    page = fresh()
    open_ask(page, server)
    page.locator("#surveys li").filter(has_text=survey.name).get_by_role("button", name="Copy as a new version").click()
    filled = {"question": "Again, please? (2)", "answers": "\n".join(SYMBOLS), "epsilon": "2", "introduction": "Hello."}
    filled |= {"thanks": "Bye.", "results": "public", "minimum": "30", "window": "hour", "closes": ""}
    for name, value in filled.items():
        assert page.locator(f"#{name}").input_value() == value, name
    assert page.evaluate("document.activeElement.id") == "question"
    page.get_by_role("button", name="Create the survey").click()
    page.locator("#made .qr").wait_for()
    link = page.locator("#made .link input").first.input_value()
    assert link != answer_link(server, survey)
    made = server.ask("GET", f"/v1/surveys/{link.split('/')[-1]}").json()
    assert made["survey"]["name"] == "Again, please? (2)"
    assert made["survey"]["alphabet"]["symbols"] == SYMBOLS
    assert made["rules"]["introduction"] == "Hello."
    assert made["rules"]["window"] == "hour"


@pytest.mark.slow
def test_duplicate_from_the_results_keeps_what_is_known(server: Server, fresh: Open) -> None:
    survey = dn.orr(epsilon="7/3", cells=8, cohorts=16, name="Free text?", text="exact")
    server.create(survey, minimum=1)
    page = fresh()
    open_ask(page, server)
    scripted(page, survey, ["tea"] * 14)
    page.goto(f"{address(server, f'/results/{survey.digest}')}#candidate=tea&candidate=Tea&candidate=coffee")
    page.locator("#manage").get_by_role("button", name="Copy as a new version").click()
    until(page, "() => document.getElementById('question')?.value == 'Free text? (2)'")
    assert page.locator("#epsilon").input_value() == "2.33333"
    assert page.get_by_label("They write what they like").is_checked()
    assert page.locator("#answers").is_hidden()
    kept = {name: page.locator(f"#{name}").input_value() for name in ("people", "candidates", "text")}
    assert kept == {"people": "14", "candidates": "3", "text": "exact"}
    page.locator("#plan .big").wait_for()
    page.get_by_role("button", name="Create the survey").click()
    page.locator("#made .qr").wait_for()
    link = page.locator("#made .link input").first.input_value()
    made = server.ask("GET", f"/v1/surveys/{link.split('/')[-1]}").json()
    assert made["survey"]["alphabet"] == {"kind": "open"}, "exact"
    page.reload()
    page.locator("#form").wait_for()
    assert page.locator("#question").input_value() == "", "a draft is taken once"


def test_a_private_link_alone_offers_no_duplicate(server: Server, fresh: Open) -> None:
    """A new survey takes the administrator's key, which whoever has the link alone was asked for without a word why."""
    survey = survey_of("Whose is it?")
    server.create(survey)
    made = server.ask("POST", f"/v1/surveys/{survey.digest}/tokens", b'{"kind": "owner"}')
    page = fresh()
    page.goto(address(server, f"/results/{survey.digest}", token=made.json()["token"]))
    buttons = page.locator("#manage .actions button")
    buttons.first.wait_for()
    assert buttons.all_inner_texts() == ["Close", "Delete"]
    assert page.locator("#manage .actions").inner_text().split() == ["Close", "Delete"], "and no word in between"
    assert violations(page) == []
