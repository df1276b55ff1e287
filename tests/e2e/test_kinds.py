"""Numbers, answers in an order and sensitive answers, as people meet them: ask, answer on a phone, see results."""

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page

import deniable as dn
from deniable.cli.demo_store import _answer
from deniable.service import Rules, open_store
from tests.collector import ADMIN, Server, serving
from tests.e2e.conftest import DESK, PHONE, Open, Watch
from tests.e2e.steps import address, answer_link, counters, fits, roll, scripted, thanked, violations

SMALL = {"width": 360, "height": 740}
DAYS = 4


def create(page: Page) -> tuple[str, str]:
    """Create the survey that the form has a plan for: both links."""
    page.locator("#plan .big").wait_for()
    page.get_by_role("button", name="Create the survey").click()
    page.locator("#made .qr").wait_for()
    links = page.locator("#made .link input")
    return links.nth(0).input_value(), links.nth(1).input_value()


def begin(page: Page, server: Server, question: str) -> None:
    page.goto(address(server, "/", token=ADMIN))
    page.get_by_label("Your question").fill(question)
    page.get_by_text("Who sees what").click()
    page.locator("#minimum").fill("20")


def survey_at(page: Page) -> dn.Survey:
    told = page.evaluate("fetch(location.pathname.replace('answer', 'v1/surveys')).then((reply) => reply.json())")
    return dn.Survey.from_json(json.dumps(told["survey"]))


@pytest.mark.slow
def test_ask_a_number_answer_on_a_phone_and_see_mean_and_median(server: Server, fresh: Open, watch: Watch) -> None:
    desk = fresh()
    begin(desk, server, "How old are you?")
    desk.get_by_label("They give a number").check()
    desk.locator("#low").fill("18")
    desk.locator("#high").fill("90")
    desk.locator("#people").fill("400")
    desk.locator("#mean-error").fill("8")
    desk.get_by_text("± 8").first.wait_for()
    plan = desk.locator("#plan").inner_text()
    assert "the mean, in 9 of 10 surveys" in plan
    numbers = desk.locator("#both b").all_inner_texts()
    local, crowd = (float(text.removeprefix("epsilon ")) for text in numbers)
    assert crowd < local
    rests = desk.locator("#rests").inner_text()
    for part in ("order, the time and the sender", "400 honest people", "one round"):
        assert part in rests
    assert violations(desk) == []
    respondents, private = create(desk)

    phone = fresh(viewport=SMALL, has_touch=True, is_mobile=True, color_scheme="dark")
    phone.goto(respondents)
    phone.locator("#form").wait_for()
    survey = survey_at(phone)
    assert survey.alphabet.bins is not None
    assert survey.epsilon == pytest.approx(local, rel=5e-3)
    assert crowd == pytest.approx(dn.crowd(survey, 400).epsilon, rel=5e-3)
    field = phone.get_by_role("spinbutton", name="Your real answer")
    field.fill("130")
    assert phone.locator("#counts").inner_text() == "It counts as 90, the end of the scale."
    field.fill("34")
    assert phone.locator("#counts").inner_text() == "It counts as 34."
    assert phone.locator("#choices svg.curve rect").count() == 3, "the odds of this answer"
    assert violations(phone) == []
    fits(phone)
    before = len(watch.requests)
    roll(phone)
    assert phone.locator("#die svg.curve .pointer").count() == 1
    said = phone.locator("#sent .sent").inner_text()
    assert re.fullmatch(r"\d+ to \d+|\d+", said)
    cell = int(re.findall(r"place (\d+) of", phone.locator("#sent").inner_text())[0]) - 1
    near = [str(symbol) for symbol in survey.symbols or () if cell in survey.encode(0, symbol)]
    assert said == (near[0] if len(near) == 1 else f"{near[0]} to {near[-1]}")
    assert violations(phone) == []
    fits(phone)
    assert len(watch.requests) == before, "nothing left yet"
    phone.get_by_role("button", name="Send this").click()
    thanked(phone)
    assert counters(server, survey) == {"accepted": 1}

    scripted(phone, survey, [40] * 100 + [50] * 99)
    desk.goto(private)
    desk.locator("#shares svg").wait_for()
    facts = desk.locator("#facts").inner_text()
    assert "the mean; 95% interval" in facts
    assert "the median; 95% interval" in facts
    words = desk.locator("#figures-words").inner_text()
    found = re.match(r"The mean is ([\d.]+) \(([\d.]+) to ([\d.]+)\)\. Half of all answers are at most", words)
    assert found is not None, words
    assert float(found[2]) <= float(found[3])
    legend = " ".join(desk.locator("#shares svg text").all_text_contents())
    assert "mean" in legend
    assert "median" in legend
    assert desk.locator("#order").is_hidden(), "numbers have one order"
    desk.locator("#shares-table summary").click()
    rows = desk.get_by_role("region", name="Figures").locator("tbody th").all_inner_texts()
    assert rows == ["mean", "lower quartile", "median", "upper quartile"]
    assert desk.get_by_role("region", name="Ranges").locator("tbody tr").count() == 8
    with desk.expect_download() as waiting:
        desk.get_by_role("button", name="SVG", exact=True).click()
    assert "median" in Path(waiting.value.path()).read_text(encoding="utf-8")
    assert violations(desk) == []
    fits(desk)


def test_a_number_outside_is_refused_in_words_where_the_survey_says_so(server: Server, fresh: Open) -> None:
    survey = dn.number(0, 80, 1, bins=40, outside="refuse", name="How many hours?")
    server.create(survey)
    page = fresh(viewport=SMALL)
    page.goto(answer_link(server, survey))
    page.locator("#number").fill("93")
    assert page.locator("#counts").inner_text() == "This survey takes numbers from 0 to 80."
    assert page.locator("#number").get_attribute("aria-invalid") == "true"
    assert page.locator("#roll").is_disabled()
    assert "Others are refused: nothing is sent for them." in page.locator("#scale").inner_text()
    page.locator("#number").fill("37.5")
    assert page.locator("#counts").inner_text() == "It counts as 36 to 38."
    page.keyboard.press("Enter")
    page.locator("#send").wait_for()
    assert page.locator("#number").count() == 0, "the answer is gone with its form"
    assert "37.5" not in page.content()


@pytest.mark.slow
def test_answers_in_an_order_from_ask_to_results(server: Server, fresh: Open) -> None:
    desk = fresh()
    begin(desk, server, "How often do you skip lunch?")
    desk.get_by_label("They choose from a list that has an order").check()
    answers = ["never", "seldom", "often", "daily"]
    desk.locator("#answers").fill("\n".join(answers))
    desk.get_by_text("the mean place").first.wait_for()
    respondents, private = create(desk)
    phone = fresh(viewport=SMALL)
    phone.goto(respondents)
    phone.locator("#form").wait_for()
    survey = survey_at(phone)
    assert survey.encoding.is_ordered
    assert survey.alphabet.symbols == tuple(answers)
    assert phone.locator("#choices label").all_inner_texts() == answers, "in their order"
    phone.get_by_label("often", exact=True).check()
    assert phone.locator("#choices svg.curve").count() == 1
    roll(phone)
    assert phone.locator("#sent .sent").inner_text().split(" to ")[0] in answers
    fits(phone)
    phone.get_by_role("button", name="Send this").click()
    thanked(phone)
    scripted(phone, survey, answers * 30)
    desk.goto(private)
    desk.locator("#shares svg").wait_for()
    assert "The mean place is" in desk.locator("#figures-words").inner_text()
    labels = desk.locator("#shares .role-axis-label text").all_text_contents()
    drawn = [label.removesuffix(" (median)") for label in labels if "%" not in label]
    assert drawn == answers, "bars stand in the order of the answers"
    assert sum("(median)" in label for label in labels) == 1


@pytest.mark.slow
def test_sensitive_answers_from_ask_to_results(server: Server, fresh: Open) -> None:
    desk = fresh()
    begin(desk, server, "What did the doctor find?")
    desk.locator("#answers").fill("nothing\nflu\nhiv\nhpv")
    desk.get_by_text("Only some of the answers are sensitive").click()
    for answer in ("hiv", "hpv"):
        desk.locator("#sensitive").get_by_label(answer).check()
    desk.get_by_text("privacy for the sensitive answers").wait_for()
    plan = desk.locator("#plan").inner_text()
    assert "An answer that is not sensitive may be seen for what it is" in plan
    assert "What a crowd adds cannot be said here" in plan
    assert violations(desk) == []
    respondents, private = create(desk)
    phone = fresh(viewport=SMALL, color_scheme="dark")
    phone.goto(respondents)
    phone.locator("#form").wait_for()
    survey = survey_at(phone)
    assert survey.title in ("uRR", "uBD")
    assert phone.locator("#choices .tag").count() == 2
    assert "whoever reports one is known not to have reported a sensitive one" in phone.locator("#hidden").inner_text()
    assert violations(phone) == []
    phone.get_by_label("hiv").check()
    roll(phone)
    assert "deny any sensitive answer" in phone.locator("#deny").inner_text()
    fits(phone)
    phone.get_by_role("button", name="Send this").click()
    thanked(phone)
    scripted(phone, survey, ["nothing", "flu", "hiv"] * 30)
    desk.goto(private)
    desk.locator("#shares svg").wait_for()
    assert desk.locator("#shares-table tbody tr").count() == 4
    assert desk.locator("#figures-words").inner_text() == ""
    desk.get_by_text("privacy for the sensitive answers").wait_for()


def test_a_duplicate_of_a_number_has_its_scale(server: Server, fresh: Open) -> None:
    survey = dn.number("0.5", 10, 2, step="0.5", outside="refuse", name="How many litres?")
    server.create(survey)
    page = fresh()
    page.goto(address(server, "/", token=ADMIN))
    one = page.locator("#surveys li", has_text="How many litres?")
    one.get_by_role("button", name="Copy as a new version").click()
    assert page.get_by_label("They give a number").is_checked()
    found = {name: page.locator(f"#{name}").input_value() for name in ("low", "high", "step", "outside", "epsilon")}
    assert found == {"low": "0.5", "high": "10", "step": "0.5", "outside": "refuse", "epsilon": "2"}
    page.locator("#plan .big").wait_for()


@pytest.fixture(scope="module")
def days(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, list[dn.Survey]]]:
    """Four days of a number and of answers in an order."""
    folder = tmp_path_factory.mktemp("days")
    surveys = [
        dn.number(0, 100, 3, bins=50, name="How many minutes?"),
        dn.ordered(["never", "seldom", "often"], 3, name="How often?"),
    ]
    now = int(time.time() // 3600)
    rng = np.random.default_rng(0)
    store = open_store(str(folder / "store"))
    for survey in surveys:
        store.create(survey, Rules(minimum=1, results="private"))
        for day in range(DAYS):
            numbers = rng.normal(40 + 5 * day, 10, 2000)
            column = list(numbers) if survey.symbols and survey.alphabet.bins else ["never", "seldom", "often"] * 500
            _answer(store, survey, column, now - 24 * (DAYS - 1 - day))
    store.close()
    with serving(str(folder / "store"), folder) as made:
        yield made, surveys


@pytest.mark.slow
@pytest.mark.parametrize("viewport", [SMALL, DESK, PHONE], ids=["small", "desk", "phone"])
def test_the_mean_is_followed_over_days(
    days: tuple[Server, list[dn.Survey]], fresh: Open, watch: Watch, viewport: dict[str, int]
) -> None:
    server, (number, ordered) = days
    watch.host = f"http://127.0.0.1:{server.port}/"
    page = fresh(viewport=viewport)
    page.goto(address(server, f"/results/{number.digest}", token=ADMIN))
    page.locator("#trend svg .mark-line path").wait_for()
    assert page.locator("#trend svg .mark-line path").count() == 1
    assert f"One point a day, {DAYS} of them. The mean, each" in page.locator("#trend-words").inner_text()
    assert page.locator("#trend-choice").is_hidden()
    page.get_by_role("region", name="Figures before and after").wait_for()
    before, after = (
        page.get_by_role("region", name="Figures before and after").locator("tr", has_text="mean").locator("td").all()
    )
    assert float(before.inner_text().split()[0]) < float(after.inner_text().split()[0])
    assert violations(page) == []
    fits(page)
    page.goto(address(server, f"/results/{ordered.digest}", token=ADMIN))
    page.locator("#trend svg .mark-line path").wait_for()
    page.locator("#changes svg").wait_for()
    assert "could not be followed" not in page.locator("#trend-words").inner_text()
    fits(page)
