"""The whole story, as people live it: ask, answer on a phone, see results; by keyboard, in the dark, at bad moments."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route

import deniable as dn
from tests.collector import ADMIN, Server
from tests.e2e.conftest import PHONE, Open, Watch
from tests.e2e.steps import (
    QUESTION,
    SYMBOLS,
    address,
    answer_link,
    ask_for,
    choose_and_roll,
    counters,
    scripted,
    survey_of,
    thanked,
    until,
)


@pytest.mark.slow
def test_ask_then_answer_on_a_phone_then_a_hundred_more_then_results(server: Server, fresh: Open, watch: Watch) -> None:
    desk = fresh()
    respondents, private = ask_for(desk, server, QUESTION, SYMBOLS, people=200, error=10, minimum=20)
    plan = desk.locator("#plan").inner_text()
    assert "You will be able to see" in plan
    assert "Epsilon" in plan

    phone = fresh(viewport=PHONE, has_touch=True, is_mobile=True)
    phone.goto(respondents)
    phone.locator("#form").wait_for()
    assert phone.locator("h1").inner_text() == QUESTION
    told = phone.evaluate("fetch(location.pathname.replace('answer', 'v1/surveys')).then((reply) => reply.json())")
    survey = dn.Survey.from_json(json.dumps(told["survey"]))
    hit = float(survey.mechanism.hit)
    assert f"With probability {round(100 * hit)}% it sends your real answer" in phone.locator("#what").inner_text()
    choose_and_roll(phone, "once")
    said = phone.locator("#sent").inner_text()
    phone.locator("#wire summary").click()
    wire = bytes.fromhex(re.sub(r"\s", "", phone.locator(".bytes").inner_text()))
    with phone.expect_request(re.compile("/reports")) as sent:
        phone.get_by_role("button", name="Send this").click()
    assert sent.value.post_data_buffer == wire, "the page shows the very bytes that it sends"
    report = dn.Report.unpack(survey, wire[16:])
    assert survey.alphabet.symbols is not None
    assert survey.alphabet.symbols[report.payload[0]] == said, "and says what they mean"
    thanked(phone)

    scripted(phone, survey, (SYMBOLS * 34)[:100])
    desk.goto(private)
    desk.locator("#shares svg").wait_for()
    assert desk.locator("#n").inner_text() == "101"
    assert desk.locator("#shares-table tbody tr").count() == 3
    scripted(phone, survey, ["never"] * 9)
    desk.get_by_text("110", exact=True).wait_for()  # by itself
    leaked = [r.url for r in watch.requests if ADMIN.replace(" ", "+") in r.url or private.split("token=")[1] in r.url]
    assert leaked == [], "secrets travel in a header"


def test_with_a_keyboard_alone(server: Server, fresh: Open) -> None:
    page = fresh()
    page.goto(address(server, "/", token=ADMIN))
    page.locator("#form").wait_for()
    _tab_to(page, "question")
    page.keyboard.type("Do you like keyboards?")
    _tab_to(page, "answers")
    page.keyboard.type("yes\nno")
    page.locator("#plan .big").wait_for()
    _tab_to(page, "create")
    page.keyboard.press("Enter")
    page.locator("#made .qr").wait_for()
    assert page.evaluate("document.activeElement.tagName") == "H2", "the news has the focus"
    link = page.locator("#made .link input").first.input_value()

    page.goto(link)
    page.locator("#form").wait_for()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('#languages')?.id") == "languages", "first what it is read in"
    page.keyboard.press("Tab")
    assert page.get_by_label("yes", exact=True).evaluate("(one) => one === document.activeElement"), "then the answers"
    page.keyboard.press("Space")
    page.keyboard.press("ArrowDown")
    assert page.get_by_label("no", exact=True).is_checked()
    _tab_to(page, "roll")
    page.keyboard.press("Enter")
    page.locator("#send").wait_for()
    assert page.evaluate("document.activeElement.id") == "rolled-title"
    _tab_to(page, "send")
    page.keyboard.press("Space")
    thanked(page)


def _tab_to(page: Page, name: str, most: int = 40) -> None:
    for _ in range(most):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == name:
            return
    pytest.fail(f"no number of tabs leads to {name}")


@pytest.mark.slow
def test_the_server_stops_and_starts_while_somebody_answers(
    server: Server, fresh: Open, tmp_path: Path, watch: Watch
) -> None:
    other = Server(str(tmp_path / "store"), tmp_path).start()
    watch.host = f"http://127.0.0.1:{other.port}/"
    survey = survey_of("What now?")
    other.create(survey)
    page = fresh(viewport=PHONE)
    page.goto(answer_link(other, survey))
    choose_and_roll(page, "often")
    other.stop()
    page.get_by_role("button", name="Send this").click()
    page.get_by_text("The collector does not answer.").wait_for()
    again = Server(str(tmp_path / "store"), tmp_path, "--port", str(other.port)).start()
    try:
        thanked(page)
        page.reload()
        thanked(page)
        assert counters(again, survey) == {"accepted": 1}
    finally:
        again.kill()


def test_an_answer_whose_acknowledgement_was_lost_counts_once(server: Server, fresh: Open) -> None:
    survey = survey_of("And if the network eats the reply?")
    server.create(survey)
    page = fresh(viewport=PHONE)
    page.goto(answer_link(server, survey))
    bodies: list[bytes | None] = []

    def swallow(route: Route) -> None:
        bodies.append(route.request.post_data_buffer)
        if len(bodies) == 1:
            route.fetch()  # the collector has it
            route.abort()  # and the browser never learns so
        else:
            route.continue_()

    page.route("**/reports?*", swallow)
    choose_and_roll(page, "never")
    page.get_by_role("button", name="Send this").click()
    thanked(page)
    assert len(bodies) == 2
    assert bodies[0] == bodies[1], "the same bytes under the same id"
    assert counters(server, survey) == {"accepted": 1, "duplicate": 1}


def test_a_reload_between_roll_and_send_rolls_no_second_time(server: Server, fresh: Open, watch: Watch) -> None:
    survey = survey_of("Once more?")
    server.create(survey)
    page = fresh(viewport=PHONE)
    page.goto(answer_link(server, survey))
    choose_and_roll(page, "once")
    said = page.locator("#sent").inner_text()
    kept = page.evaluate("JSON.stringify(localStorage)")
    assert "once" not in kept, "the answer is kept nowhere"
    page.reload()
    page.get_by_role("button", name="Send this").wait_for()
    assert page.locator("#sent").inner_text() == said
    assert page.locator("#form").is_hidden()
    page.get_by_role("button", name="Send this").click()
    thanked(page)
    page.reload()
    thanked(page)
    assert page.locator("#send").is_hidden()
    uploads = [request for request in watch.requests if request.method == "POST"]
    assert len(uploads) == 1
    assert counters(server, survey) == {"accepted": 1}


def test_a_survey_that_is_closed_meanwhile(server: Server, fresh: Open) -> None:
    survey = survey_of("Too late?")
    server.create(survey)
    page = fresh(viewport=PHONE)
    page.goto(answer_link(server, survey))
    choose_and_roll(page, "once")
    assert server.ask("POST", f"/v1/surveys/{survey.digest}/close").status == 200
    page.get_by_role("button", name="Send this").click()
    page.get_by_text("closed before your answer arrived").wait_for()
    assert counters(server, survey).get("accepted", 0) == 0
    late = fresh(viewport=PHONE)
    late.goto(answer_link(server, survey))
    late.get_by_text("This survey is closed.").wait_for()
    assert late.locator("#form").is_hidden()


@pytest.mark.slow
def test_dark_pages_are_dark_and_their_charts_are_light(server: Server, fresh: Open) -> None:
    survey = survey_of("At night?")
    server.create(survey, minimum=1, results="public")
    page = fresh(color_scheme="dark")
    page.goto(address(server, f"/results/{survey.digest}", token=ADMIN))
    scripted(page, survey, SYMBOLS * 10)
    page.locator("#shares svg").wait_for()
    light = """(element) => {
      const style = getComputedStyle(element);
      const colour = element.tagName == "text" ? style.fill : style.backgroundColor;
      return colour.match(/[\\d.]+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0) / 3;
    }"""
    assert page.locator("body").evaluate(light) < 60
    label = page.locator("#shares svg text").first.evaluate(light)
    assert label > 180
    page.emulate_media(color_scheme="light")
    until(page, "getComputedStyle(document.querySelector('#shares svg text')).fill == 'rgb(34, 34, 34)'")
    assert page.locator("body").evaluate(light) > 240


def test_unknown_and_private_surveys_say_so(server: Server, fresh: Open) -> None:
    page = fresh(viewport=PHONE)
    for path in (f"/answer/{'0' * 64}", "/answer/nonsense", f"/results/{'0' * 64}"):
        page.goto(address(server, path))
        page.get_by_text("There is no such survey").wait_for()
    survey = survey_of("Private?")
    server.create(survey)
    page.goto(address(server, f"/results/{survey.digest}"))
    page.get_by_text("These results are private.").wait_for()
    page.goto("about:blank")
    page.goto(address(server, f"/results/{survey.digest}", token="wrong"))
    page.get_by_text("This key does not open these results.").wait_for()
    page.goto("about:blank")
    page.goto(address(server, "/", token="wrong"))
    page.get_by_text("This key does not open this collector.").wait_for()
