"""Forms on the pages: built on Ask, by keyboard too, edited until somebody answers, and their results."""

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page

import deniable as dn
from tests.collector import ADMIN, Server, serving
from tests.e2e.conftest import PHONE, Open, Watch
from tests.e2e.forms import FORM, PEOPLE, answered_store
from tests.e2e.steps import address, ask_for, fits, says, until, violations


def build(page: Page, server: Server, title: str) -> None:
    """A form of a list, a number and an open question."""
    page.goto(address(server, "/", token=ADMIN))
    page.get_by_label("Your question").fill("Do you smoke?")
    page.locator("#answers").fill("no\nyes")
    page.get_by_role("button", name="Add another question").click()
    page.locator("#q2-question").fill("How old are you?")
    page.locator("input[name=q2-kind][value=number]").check()
    page.locator("#q2-low").fill("18")
    page.locator("#q2-high").fill("90")
    page.locator("#form-title").fill(title)
    page.locator("#people").fill("20000")


def order(page: Page) -> list[str]:
    return page.locator(".questions .toggle span").all_inner_texts()


def created(page: Page) -> dn.Form:
    """Create the survey, and read what the collector has under its link."""
    page.locator("#plan .big").wait_for()
    page.locator("#create").click()
    page.locator("#made .qr").wait_for()
    digest = page.locator("#made .link input").first.input_value().rpartition("/")[2]
    told = page.evaluate("(digest) => fetch(`/v1/surveys/${digest}`).then((found) => found.json())", digest)
    return dn.Form.from_json(json.dumps(told["survey"]))


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_form_is_built_by_keyboard_previewed_and_created(server: Server, fresh: Open, scheme: str) -> None:
    page = fresh(viewport=PHONE, color_scheme=scheme)
    build(page, server, f"Health <i>{scheme}</i>")
    add = page.get_by_role("button", name="Add another question")
    add.focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "q3-question"
    page.keyboard.type("Why?")
    page.locator("input[name=q3-kind][value=open]").check()
    toggles = page.locator(".questions .toggle")
    toggles.nth(2).focus()
    page.keyboard.press("Alt+ArrowUp")
    assert order(page) == ["Do you smoke?", "Why?", "How old are you?"]
    assert "Why?" in page.evaluate("document.activeElement.textContent"), "whoever moves it keeps the focus"
    says(page, "Moved: now question 2 of 3.")
    page.get_by_role("button", name="Move question 2 down").press("Enter")
    assert order(page)[2] == "Why?"
    page.get_by_role("button", name="Remove question 3").press("Enter")
    toggles.first.press("Enter")
    page.get_by_label("People may leave this question out").first.check()
    page.locator("#plan .big").wait_for()
    assert page.locator("#sharpness li").count() == 2
    assert "points" in page.locator("#sharpness li").first.inner_text()
    assert "mean ±" in page.locator("#sharpness li").nth(1).inner_text()
    assert "question" in page.locator("#spending").inner_text()
    page.get_by_text("Preview, as on a phone").click()
    shown = page.locator("#preview .title")
    assert shown.inner_text() == f"Health <i>{scheme}</i>", "text stays text"
    page.get_by_role("button", name="Next").press("Enter")
    assert shown.inner_text() == "Do you smoke?"
    assert page.locator("#preview input[type=radio]:disabled").count() == 2
    says(page, "Leave this out")
    page.get_by_role("button", name="Next").press("Enter")
    page.get_by_role("button", name="Next").press("Enter")
    assert shown.inner_text() == "Thank you"
    assert page.evaluate("document.activeElement.textContent") == "Back"
    assert violations(page) == []
    fits(page)
    form = created(page)
    assert (form.name, [question.title for question in form.questions]) == (
        f"Health <i>{scheme}</i>", ["Do you smoke?", "How old are you?"],
    )  # fmt: skip
    assert [question.skip for question in form.questions] == [True, False]
    fits(page)


@pytest.mark.slow
def test_a_form_that_loses_its_second_question_is_a_survey_again(server: Server, fresh: Open) -> None:
    page = fresh()
    build(page, server, "Not for long")
    page.get_by_role("button", name="Remove question 2").click()
    assert page.locator("#form-title").is_hidden()
    assert page.locator(".questions .head").is_hidden()
    page.locator("#plan .big").wait_for()
    page.locator("#create").click()
    page.locator("#made .qr").wait_for()
    assert page.locator("#made h2").inner_text() == "“Do you smoke?” is ready"


@pytest.mark.slow
def test_questions_are_dragged_and_a_form_without_a_title_says_so(server: Server, fresh: Open) -> None:
    page = fresh()
    build(page, server, "")
    says(page, "Say what the form is called.")
    assert page.locator("#create").is_disabled()
    handles = page.locator(".questions .handle")
    handles.nth(1).drag_to(page.locator(".questions > li").first)
    until(page, "document.querySelector('.questions .toggle').innerText.includes('How old are you?')")
    page.locator("#form-title").fill("Now it has one")
    page.locator("#plan .big").wait_for()


@pytest.mark.slow
def test_too_few_people_for_a_form_is_no_dead_end(server: Server, fresh: Open) -> None:
    page = fresh(viewport=PHONE)
    build(page, server, "Few people")
    page.locator("#people").fill("100")
    page.locator("#ways button").first.wait_for()
    assert "100 people are too few to know every share up to ± 5 points." in page.locator("#plan").inner_text()
    page.locator("#ways button").first.click()
    page.locator("#plan .big").wait_for()
    assert page.locator("#epsilon").input_value() == "2"
    fits(page)


@pytest.mark.slow
def test_a_survey_is_edited_until_somebody_answers(server: Server, fresh: Open) -> None:
    page = fresh()
    build(page, server, "Drat")
    first = created(page)
    mine = page.locator("#surveys li").filter(has_text="Drat")
    mine.get_by_role("button", name="Edit").click()
    says(page, "You are editing “Drat”, which nobody has answered yet.")
    assert page.locator("#form-title").input_value() == "Drat"
    page.locator("#form-title").fill("Draft")
    page.locator("#introduction").evaluate("(field) => (field.closest('details').open = true)")
    page.locator("#introduction").fill("Hello.")
    page.locator("#plan .big").wait_for()
    assert page.locator("#create").inner_text() == "Save the changes"
    second = created(page)
    assert second.name == "Draft"
    assert page.locator("#create").text_content() == "Create the survey"
    assert server.ask("GET", f"/v1/surveys/{first.digest}").status == 404
    path = f"/v1/surveys/{second.digest}"
    assert server.ask("GET", path).json()["rules"]["introduction"] == "Hello."
    # Somebody answers while it is edited.
    page.locator("#surveys li").filter(has_text="Draft").get_by_role("button", name="Edit").click()
    page.locator("#form-title").fill("Too late")
    page.locator("#plan .big").wait_for()
    client = dn.Client(second)
    every = {"do_you_smoke": "yes", "how_old_are_you": 41}
    wire = client.report({name: every[name] for name in client.questions}).pack()  # type: ignore[attr-defined]
    sent = server.ask("POST", f"{path}/reports", bytes(16) + wire, kind="application/octet-stream")
    assert sent.json()["accepted"] == 1
    page.locator("#create").click()
    says(page, "This survey has answers already")
    assert server.ask("GET", path).status == 200
    page.reload()
    mine = page.locator("#surveys li").filter(has_text="Draft")
    mine.wait_for()
    assert mine.get_by_role("button", name="Edit").count() == 0
    mine.get_by_role("button", name="Copy as a new version").click()
    says(page, "The form is filled in.")
    assert page.locator("#form-title").input_value() == "Draft (2)"
    assert order(page) == ["Do you smoke?", "How old are you?"]
    assert page.locator("#introduction").input_value() == "Hello."


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A collector whose form was answered on three days."""
    folder: Path = tmp_path_factory.mktemp("forms")
    answered_store(folder / "store")
    with serving(str(folder / "store"), folder) as made:
        yield made


def section(page: Page, name: str) -> Locator:
    return page.locator(".asked", has=page.locator(f"#of-{name}"))


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_results_have_a_section_a_question(answered: Server, watch: Watch, fresh: Open, scheme: str) -> None:
    watch.host = f"http://127.0.0.1:{answered.port}/"
    page = fresh(viewport=PHONE, color_scheme=scheme)
    page.goto(address(answered, f"/results/{FORM.digest}"))
    says(page, "These results are private.")
    page.goto(address(answered, f"/results/{FORM.digest}", token=ADMIN))
    section(page, "likes").locator(".chart svg").first.wait_for()
    assert page.locator("h1").inner_text() == "Habits <b>of</b> adults"
    assert page.locator("#facts b").first.inner_text() == f"{3 * PEOPLE:,}"
    asked = [f"{i}. {question.title}" for i, question in enumerate(FORM.questions, 1)]
    pairs = page.locator(".asked h2[id^=pair-]").all_inner_texts()  # of questions that were sent together, below
    assert page.locator(".asked h2").all_inner_texts() == asked + pairs
    titles = [question.title for question in FORM.questions] + pairs
    assert page.locator("nav.contents a").all_inner_texts() == titles
    assert len(pairs) == sum(len(part.questions) == 2 for part in FORM.parts)
    smokes = section(page, "smokes")
    assert "of those who were asked left this out" in smokes.inner_text()
    assert "The mean is" in section(page, "age").inner_text()
    assert "The mean place is" in section(page, "often").inner_text()
    town = section(page, "town")
    assert "Name the answers to look for" in town.inner_text()
    town.get_by_label("Answers to look for").fill("Oslo\nBergen")
    town.get_by_role("button", name="Look for these").click()
    town.locator(".chart svg").first.wait_for()
    smokes.get_by_text("Over time").click()
    smokes.locator("details .chart svg").wait_for()
    assert section(page, "sport").get_by_text("Over time").is_hidden(), (
        "of a related pair there are no results over time"
    )
    page.locator("nav.contents a").nth(2).click()
    assert page.evaluate("document.activeElement.id") == "of-age"
    smokes.get_by_text("The numbers").click()
    assert violations(page) == []
    fits(page)


@pytest.mark.slow
def test_one_question_or_all_are_downloaded(answered: Server, watch: Watch, fresh: Open) -> None:
    watch.host = f"http://127.0.0.1:{answered.port}/"
    reader = answered.ask("POST", f"/v1/surveys/{FORM.digest}/tokens", json.dumps({"kind": "read"}).encode()).json()
    page = fresh()
    page.goto(address(answered, f"/results/{FORM.digest}", token=reader["token"]))
    section(page, "likes").locator(".chart svg").first.wait_for()

    def download(button: Locator) -> tuple[str, bytes]:
        with page.expect_download() as found:
            button.click()
        return found.value.suggested_filename, Path(found.value.path()).read_bytes()

    name, body = download(section(page, "likes").get_by_role("button", name="CSV"))
    rows = list(csv.DictReader(io.StringIO(body.decode("utf-8-sig"))))
    assert name == f"habits-b-of-b-adults-what-do-you-drink-{FORM.digest[:8]}.csv"
    assert [row["symbol"] for row in rows] == ["'=tea", "coffee"]
    everything = page.locator("#all-downloads")
    name, body = download(everything.get_by_role("button", name="CSV"))
    rows = list(csv.DictReader(io.StringIO(body.decode("utf-8-sig"))))
    asked = list(dict.fromkeys(row["question"] for row in rows))
    assert asked == [question.title for question in FORM.questions if question.name != "town"], "nobody named answers"
    # The reader sees days that are over.
    assert {row["n"] for row in rows} == {str(2 * PEOPLE)}
    _, body = download(everything.get_by_role("button", name="JSON"))
    told = json.loads(body)
    assert (told["form"], next(iter(told["questions"]))) == (FORM.digest, "smokes")
    _, body = download(everything.get_by_role("button", name="the tally"))
    assert dn.Tally.from_bytes(body).n == 2 * PEOPLE
    _, body = download(everything.get_by_role("button", name="the form"))
    assert dn.Form.from_json(body) == FORM
    assert page.locator("#manage").is_hidden()


@pytest.mark.slow
def test_a_form_that_few_have_answered_waits(server: Server, fresh: Open) -> None:
    page = fresh(viewport=PHONE)
    build(page, server, "Nobody yet")
    form = created(page)
    page.goto(address(server, f"/results/{form.digest}", token=ADMIN))
    says(page, "0 of 50 answers so far")
    fits(page)


@pytest.mark.slow
def test_a_single_question_is_asked_as_before(server: Server, fresh: Open) -> None:
    page = fresh(viewport=PHONE)
    ask_for(page, server, "Is one question enough?", ["yes", "no"])
    assert page.locator(".questions .head").is_hidden()
    assert page.locator("#form-title").is_hidden()
