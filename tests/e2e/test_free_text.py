"""Free text without a list, in Chromium: asked with a plan, answered, and found on Results step by step."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Route

import deniable as dn
from deniable.noise import DerivedEntropy
from deniable.service import pages
from tests.collector import ADMIN, Server, serving
from tests.e2e.conftest import PHONE, Open, Watch
from tests.e2e.steps import address, fits, roll, says, thanked, until, violations

QUESTION = "Which <i>tree</i> do you like?"
WRITTEN = {"oak": 2400, "ash": 1800, "elm": 1200, "lime": 500, "fir": 20, "yew": 20}
PEOPLE = sum(WRITTEN.values())
SURVEY = dn.discovery(epsilon=5, length=4, cohorts=64, seed=bytes(16), name=QUESTION)


def uploaded(server: Server, survey: dn.Survey, written: dict[str, int] = WRITTEN) -> dn.Tally:
    """What simulated people wrote, each from a device of its own, with the same noise in every run."""
    texts = [text for text, count in written.items() for _ in range(count)]
    tally, body = dn.Tally(survey), b""
    for i, text in enumerate(texts):
        noise = DerivedEntropy(i.to_bytes(32, "big"), QUESTION.encode())
        report = dn.Client(survey, memoize=False, entropy=noise).report(text)
        tally.accumulate(report)
        body += i.to_bytes(16, "big") + report.pack()
    sent = server.ask("POST", f"/v1/surveys/{survey.digest}/reports", body, kind="application/octet-stream")
    assert sent.json()["accepted"] == len(texts)
    return tally


def free(page: Page, server: Server, question: str = QUESTION) -> None:
    """Ask with a question of free text without a list."""
    page.goto(address(server, "/", token=ADMIN))
    page.get_by_label("Your question").fill(question)
    page.get_by_label("They write what they like").check()
    page.get_by_label("How do you learn what they wrote?").select_option("free")


def found(page: Page) -> list[str]:
    """The texts that Results shows, from the table beside the chart."""
    rows = "[...document.querySelectorAll('#shares-table tbody th')].map((one) => one.textContent)"
    until(page, f"{rows}.length > 0")
    return [str(one) for one in page.evaluate(rows)]


@pytest.mark.slow
def test_asked_answered_and_found(server: Server, fresh: Open) -> None:
    page = fresh()
    free(page, server)
    assert page.locator("#candidates").is_hidden(), "nobody names anything"
    page.get_by_label("The longest answer, in letters").fill("4")
    page.get_by_label("What answers are made of").select_option("letters")
    page.locator("#people").fill(str(PEOPLE))
    page.get_by_label("At least so many percent of people write it").fill("12")
    page.locator("#plan .big").wait_for()
    plan = page.locator("#plan").inner_text()
    assert "12% of people or more write, although nobody listed it" in plan
    assert "how answers of more than 4 letters end" in plan
    assert "answers that fewer than 12% write" in plan
    assert "Only the beginning of an answer counts: its first 2 to 4 letters" in plan
    page.locator("#experts summary").click()
    assert "O-RR on the beginnings of answers" in page.locator("#mechanism").inner_text()
    page.get_by_text("Preview, as on a phone").click()
    assert page.locator("#preview input[type=text]:disabled").count() == 1
    assert violations(page) == []
    page.locator("#create").click()
    page.locator("#made .qr").wait_for()
    links = page.locator("#made .link input")
    respondents, private = links.nth(0).input_value(), links.nth(1).input_value()
    assert private.endswith("&alphabet=letters")
    digest = respondents.rpartition("/")[2]
    told = server.ask("GET", f"/v1/surveys/{digest}").json()["survey"]
    survey = dn.Survey.from_json(json.dumps(told))
    assert (survey.name, survey.encoding.length) == (QUESTION, 4)  # type: ignore[attr-defined]

    person = fresh(viewport=PHONE)
    person.goto(respondents)
    person.locator("#text").wait_for()
    assert "Only the beginning of an answer counts" in person.locator("#what").inner_text()
    assert "What is longer is cut." in person.locator("#what").inner_text()
    person.locator("#text").fill("Oak")
    roll(person)
    person.get_by_role("button", name="Send this").click()
    thanked(person)
    assert violations(person) == []

    uploaded(server, survey)
    with page.expect_request(re.compile("/discover$")) as searching:
        page.goto(private)
    page.locator("#shares svg").wait_for()
    page.locator("#shares-table summary").click()
    assert found(page)[:3] == ["oak", "ash", "elm"]
    assert page.locator("#open-title").inner_text() == "Found without a list"
    asked: Any = searching.value.post_data_json
    assert asked["alphabet"] == "letters"
    assert page.get_by_label("What answers are made of").input_value() == "letters"


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, dn.Tally]]:
    """A collector with a survey of free text that was answered, and its counts."""
    folder: Path = tmp_path_factory.mktemp("search")
    with serving(str(folder / "store"), folder) as made:
        made.create(SURVEY, minimum=50)
        yield made, uploaded(made, SURVEY)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_search_tells_how_far_it_is_and_goes_on_with_more_time(
    searched: tuple[Server, dn.Tally], watch: Watch, fresh: Open, scheme: str
) -> None:
    server, tally = searched
    watch.host = f"http://127.0.0.1:{server.port}/"
    page = fresh(viewport=PHONE, color_scheme=scheme)
    asked: list[dict[str, Any]] = []
    budgets = [1e-9, 1e-9, None]  # seconds: two searches that give up at once, and one that takes as long as it needs

    def hurry(route: Route) -> None:
        body: Any = route.request.post_data_json
        asked.append(body)
        seconds = budgets[min(len(asked) - 1, 2)]
        route.continue_(post_data=json.dumps(body if seconds is None else body | {"seconds": seconds}))

    page.add_init_script("window.told = []")
    page.route("**/discover", hurry)
    page.goto(address(server, f"/results/{SURVEY.digest}", token=ADMIN))
    page.evaluate(
        "new MutationObserver(() => told.push(document.querySelector('#status').innerText))"
        ".observe(document.querySelector('#status'), { childList: true, subtree: true })"
    )
    page.locator("#shares svg").wait_for()
    assert "Searching for what people wrote: level 0 of 3." in page.evaluate("told")
    assert [body["seconds"] for body in asked[:3]] == [6, 18, 54], "what did not suffice is asked for with more"
    assert [body.get("resume", {}).get("levels") for body in asked[:3]] == [None, 0, 0]
    page.locator("#shares-table summary").click()
    texts = found(page)
    assert texts[:4] == ["oak", "ash", "elm", "lime"], "the largest first"
    expected = dn.discover(tally)
    assert texts == list(expected.symbols), "what the library finds in the same reports"
    assert not {"fir", "yew"} & set(texts), "what few wrote is kept back"
    kept = page.locator("#merged").inner_text()
    passed = f"{len(texts)} texts passed the test; 95% of such lists name nothing that nobody wrote."
    assert kept.startswith(passed), kept
    least = float(re.search(r"fewer than about ([\d.]+)% wrote", kept)[1])  # type: ignore[index]
    assert 100 * 20 / PEOPLE < least < 100 * 500 / PEOPLE
    assert "it is kept back" in kept
    assert page.locator("#trend-part").is_hidden()
    assert page.locator("#status").inner_text() == ""
    assert violations(page) == []
    fits(page)


@pytest.mark.slow
def test_another_alphabet_and_texts_that_are_named_are_searched_anew(
    searched: tuple[Server, dn.Tally], watch: Watch, fresh: Open
) -> None:
    server, tally = searched
    watch.host = f"http://127.0.0.1:{server.port}/"
    page = fresh()
    page.goto(address(server, f"/results/{SURVEY.digest}", token=ADMIN))
    page.locator("#shares svg").wait_for()
    page.locator("#shares-table summary").click()
    page.get_by_text("Narrow the search, or name texts").click()
    page.get_by_label("What answers are made of").select_option("own")
    page.get_by_label("These characters").fill("ashok")
    page.get_by_label("These characters").press("Tab")
    rows = "[...document.querySelectorAll('#shares-table tbody th')].map((one) => one.textContent).sort().join()"
    assert sorted(dn.discover(tally, alphabet="ahkos").symbols) == ["ash", "oak"]
    until(page, f"{rows} == 'ash,oak'")
    assert page.evaluate("location.hash") == "#alphabet=own&characters=ashok"
    page.get_by_label("Answers to look for").fill("elm")
    page.get_by_role("button", name="Test these, too").click()
    until(page, f"{rows} == 'ash,elm,oak'")
    page.reload()  # the address has kept what was chosen
    page.locator("#shares svg").wait_for()
    assert page.get_by_label("These characters").input_value() == "ashok"
    until(page, f"{rows} == 'ash,elm,oak'")
    page.locator("#languages select").select_option("de")
    places = "#open-title, #search-more > summary, [for=alphabet], [for=characters], #alphabet *"
    said = f"[...document.querySelectorAll('{places}')]"
    german = json.loads((Path(str(pages.__file__)).parent / "languages" / "de.json").read_text())
    until(page, f"{said}[0].textContent == {json.dumps(german['search']['found'])}")
    texts = page.evaluate(f"{said}.map((one) => one.textContent)")
    assert len(texts) == 9
    assert [one for one in texts if one not in german["search"].values()] == []
    assert page.get_by_label("Diese Zeichen").input_value() == "ashok"


@pytest.mark.slow
def test_nothing_that_is_found_is_said_and_has_no_chart(server: Server, fresh: Open) -> None:
    """There is no list, so nothing is said of one; and no share that planted answers could raise."""
    survey = dn.discovery(epsilon=1, length=2, cohorts=32, seed=bytes(16), name="Too few answers?")
    server.create(survey, minimum=50)
    assert dn.discover(uploaded(server, survey, {f"{i:02}": 1 for i in range(60)})).symbols == ()
    page = fresh(viewport=PHONE)
    page.goto(address(server, f"/results/{survey.digest}", token=ADMIN))
    page.get_by_text("Nothing was written by so many").wait_for()
    facts = page.locator("#facts").inner_text()
    assert "100.0%\nof people must write a text for it to be found" in facts, facts
    assert page.locator("#shares, #shares-words, #shares-table, #downloads, #rest").locator("visible=true").count() == 0
    said = page.locator("main").inner_text()
    assert [word for word in ("list", "planted", "precision") if word in said.replace("without a list", "")] == []
    assert violations(page) == []


@pytest.mark.slow
def test_too_few_people_are_offered_what_is_possible(server: Server, fresh: Open) -> None:
    page = fresh(viewport=PHONE)
    free(page, server, "Too few?")
    page.locator("#ways button").first.wait_for()
    assert "1,000 people are too few to find that." in page.locator("#plan").inner_text()
    ways = page.locator("#ways button").all_inner_texts()
    assert ways[0].startswith("Answers of 44% or more with weak privacy"), "what half must write is no use"
    crowd = next(place for place, way in enumerate(ways) if re.match(r"Ask about [\d,]+ people: .* strong", way))
    page.locator("#ways button").nth(crowd).click()
    page.locator("#plan .big").wait_for()
    assert page.locator("#plan .big").inner_text().lower() == "strong privacy"
    assert page.locator("#sharpness b").first.inner_text() == "10.0%"
    page.get_by_label("How exact the results are.").check()
    page.locator("#find-by").select_option("byCount")
    page.locator("#find-texts").fill("3")
    page.locator("#people").fill("100000")
    page.locator("#plan .big").wait_for()
    assert page.locator("#sharpness b").first.inner_text() == "3 answers"
    page.locator("#people").fill("999")
    says(page, "Say how many people will answer: 1,000 or more.")
    page.locator("#people").fill("1000")
    page.locator("#length").fill("0")
    says(page, "Say how long an answer may be: 1 to 255 letters.")
    assert page.locator("#create").is_disabled()
    fits(page)


@pytest.mark.slow
def test_a_form_says_that_it_finds_nothing_without_a_list(server: Server, fresh: Open) -> None:
    page = fresh()
    free(page, server, "What do you think?")
    page.get_by_role("button", name="Add another question").click()
    page.locator("#q2-question").fill("Do you smoke?")
    page.locator("#q2-answers").fill("no\nyes")
    page.locator("#form-title").fill("Two questions")
    says(page, "Question 1: A form cannot find answers that nobody listed.")
    assert page.locator("#create").is_disabled()


@pytest.mark.slow
def test_a_copy_asks_for_the_same_texts(server: Server, fresh: Open) -> None:
    page = fresh()
    again = dn.discovery(epsilon=3, length=6, cohorts=64, seed=bytes(16), name="Copied?", text="exact")
    server.create(again)
    page.goto(address(server, "/", token=ADMIN))
    page.locator("#surveys li").filter(has_text="Copied?").get_by_role("button", name="Copy as a new version").click()
    assert page.get_by_label("How do you learn what they wrote?").input_value() == "free"
    assert page.get_by_label("The longest answer, in letters").input_value() == "6"
    assert page.locator("#text").input_value() == "exact"
    page.locator("#people").fill("5000")
    page.locator("#plan .big").wait_for()
