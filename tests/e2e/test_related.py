"""Two questions of a form that are related on Ask: chosen, planned with what it costs, answered, and their table."""

import json
import re

import pytest
from playwright.sync_api import Page

import deniable as dn
from tests.collector import ADMIN, Server
from tests.e2e.conftest import PHONE, Open
from tests.e2e.steps import address, fits, says, thanked, until, violations
from tests.e2e.test_forms import asks, pick
from tests.e2e.test_forms import roll as roll_dice

ADDED = "Relate two questions"


def build(page: Page, server: Server, title: str) -> None:
    """Four questions: two lists, a number in few bins, and text."""
    page.goto(address(server, "/", token=ADMIN))
    page.get_by_label("Your question").fill("Do you smoke?")
    page.locator("#answers").fill("no\nyes")
    add = page.get_by_role("button", name="Add another question")
    add.click()
    page.locator("#q2-question").fill("How old are you?")
    page.locator("input[name=q2-kind][value=number]").check()
    page.locator("#q2-low").fill("20")
    page.locator("#q2-high").fill("80")
    page.locator("#q2-by").select_option("byBins")
    page.locator("#q2-bins").fill("3")
    add.click()
    page.locator("#q3-question").fill("Do you drink?")
    page.locator("#q3-answers").fill("no\nyes")
    add.click()
    page.locator("#q4-question").fill("Why?")
    page.locator("input[name=q4-kind][value=open]").check()
    page.locator("#form-title").fill(title)
    page.locator("#people").fill("20000")
    page.get_by_label("How private the answers are.").check()
    page.locator("#epsilon").fill("4")
    page.locator("#relate summary").click()


def created(page: Page) -> dn.Form:
    page.locator("#create").click()
    page.locator("#made .qr").wait_for()
    digest = page.locator("#made .link input").first.input_value().rpartition("/")[2]
    told = page.evaluate("(digest) => fetch(`/v1/surveys/${digest}`).then((found) => found.json())", digest)
    return dn.Form.from_json(json.dumps(told["survey"]))


def uploaded(server: Server, form: dn.Form, people: int) -> None:
    """Simulated people, of whom the older ones do not smoke."""
    wires = []
    for one in range(people):
        client = dn.Client(form, memoize=False)
        old = one % 2 == 0
        every = {"do_you_smoke": "no" if old else "yes", "how_old_are_you": 70 if old else 30}
        every |= {"do_you_drink": "no", "why": "because"}
        names = client.questions  # type: ignore[attr-defined]
        wires.append(one.to_bytes(16, "big") + client.report({name: every[name] for name in names}).pack())
    path = f"/v1/surveys/{form.digest}/reports"
    assert server.ask("POST", path, b"".join(wires), kind="application/octet-stream").json()["accepted"] == people


@pytest.mark.slow
def test_a_pair_is_chosen_planned_and_tabulated(server: Server, fresh: Open) -> None:
    page = fresh()
    build(page, server, "Related")
    page.locator("#plan .big").wait_for()
    part = page.locator("#relate")
    assert "“Why?” cannot be related: people write what they like, and a table needs a list." in part.inner_text()
    part.get_by_role("button", name=ADDED).press("Enter")
    assert page.evaluate("document.activeElement.ariaLabel") == "The first question of the pair"
    second = part.get_by_label("The second question of the pair")
    assert second.locator("option").all_inner_texts() == ["2. How old are you?", "3. Do you drink?"]
    assert "Numbers and answers in an order have bars then, and no mean." in part.inner_text()
    assert part.get_by_role("button", name=ADDED).is_disabled(), "one question is left"
    assert "A question is in one pair only" in part.inner_text()
    page.locator("#relating li").nth(1).wait_for()
    costs = page.locator("#relating li").all_inner_texts()
    assert costs[0].startswith("Do you smoke?: ± ")
    assert "points, without pairs ± " in costs[0]
    assert costs[1].startswith("How old are you?: ± ")
    assert "without pairs mean ± " in costs[1]
    assert "points" in page.locator("#sharpness li").nth(1).inner_text()
    assert violations(page) == []
    # Questions that move stay related; one that goes takes its pair along.
    page.get_by_role("button", name="Move question 1 down").click()
    assert [one.input_value() for one in part.locator("select").all()] != []
    page.locator("#relating li").nth(1).wait_for()
    assert second.locator("option:checked").inner_text() == "1. How old are you?"
    page.get_by_role("button", name="Remove question 4").click()
    page.locator("#relating li").nth(1).wait_for()
    form = created(page)
    assert [part.name for part in form.parts if len(part.questions) == 2] == ["how_old_are_you, do_you_smoke"]
    page.locator("#surveys li").filter(has_text="Related").get_by_role("button", name="Edit").click()
    page.locator("#relating li").nth(1).wait_for()
    assert part.locator("select").nth(1).locator("option:checked").inner_text() == "2. Do you smoke?"
    page.reload()

    page.goto(address(server, f"/answer/{form.digest}"))
    page.locator("#question").wait_for()
    uploaded(server, form, 2000)
    page.goto(address(server, f"/results/{form.digest}", token=ADMIN))
    table = page.locator("section[aria-labelledby=pair-how_old_are_you-do_you_smoke]")
    table.locator("svg").wait_for()
    assert table.locator("h2").inner_text() == "How old are you? and Do you smoke?"
    assert table.locator("svg .mark-rect path").count() >= 6
    assert "The answers are related" in table.inner_text()
    until(page, "document.querySelectorAll('.asked .chart svg').length >= 4")
    assert violations(page) == []


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_relating_costs_in_privacy_and_how_a_pair_goes(server: Server, fresh: Open, scheme: str) -> None:
    page = fresh(viewport=PHONE, color_scheme=scheme)
    build(page, server, "Costly")
    page.get_by_role("button", name="Remove question 4").click()
    page.get_by_role("button", name="Remove question 2").click()
    page.get_by_label("How exact the results are.").check()
    part = page.locator("#relate")
    part.get_by_role("button", name=ADDED).click()
    says(page, "Related, this takes epsilon")
    related, apart = re.findall(r"epsilon ([\d.]+).* take ([\d.]+)\.", page.locator("#relating").inner_text())[0]
    assert float(related) > float(apart) > 0
    fits(page)
    assert violations(page) == []
    # Another kind of question for a moment: the pair waits, and says why it cannot be.
    page.locator("[aria-expanded=false]").filter(has_text="Do you drink?").click()
    page.locator("input[type=radio][value=open]:visible").check()
    page.locator("input[id$=candidates]:visible").fill("20")
    says(page, "Questions 1 and 2 cannot be related: people write what they like")
    assert part.locator("select").count() == 2
    page.locator("input[type=radio][value=closed]:visible").check()
    says(page, "Related, this takes epsilon")
    part.get_by_role("button", name="Remove this pair").press("Enter")
    assert page.evaluate("document.activeElement.id") == "relate-add", "the focus is somewhere"
    page.locator("#plan .big").wait_for()
    assert page.locator("#relating").inner_text() == ""
    part.get_by_role("button", name=ADDED).click()
    page.get_by_role("button", name="Remove question 1").click()
    assert part.locator("select").count() == 0, "its pair went with it"
    assert part.is_hidden(), "one question is no form"
    fits(page)


@pytest.mark.slow
def test_marks_do_not_count_in_a_pair_and_too_many_answers_are_refused(server: Server, fresh: Open) -> None:
    page = fresh()
    build(page, server, "Marked")
    page.locator(".questions .toggle").first.click()
    page.get_by_text("Only some of the answers are sensitive").first.click()
    page.get_by_label("yes", exact=True).first.check()
    part = page.locator("#relate")
    part.get_by_role("button", name=ADDED).click()
    assert "Marks of sensitive answers do not count in a pair" in part.inner_text()
    page.locator("#answers").evaluate("(field) => (field.value = [...Array(2000).keys()].join('\\n'))")
    page.locator("#answers").press("End")
    page.locator("#answers").press("Enter")
    says(page, "together they have 6,000 answers, and 4,096 is the most")
    assert page.locator("#create").is_disabled()


def test_a_pair_with_the_only_number_of_a_form_is_answered(server: Server, fresh: Open) -> None:
    form = dn.form(
        smokes=dn.warner(epsilon=1, name="Do you smoke?"),
        age=dn.number(20, 80, 1, bins=3, name="How old are you?"),
        epsilon=2,
        relate=[("smokes", "age")],
        name="Alone together",
    )
    server.create(form)  # type: ignore[arg-type]
    page = fresh(viewport=PHONE)
    page.goto(address(server, f"/answer/{form.digest}"))
    pick(page, "Do you smoke", "yes")
    asks(page, "How old")
    page.locator("#number").fill("41")
    page.locator("#next").click()
    asks(page, "Your real answers")
    roll_dice(page, 1)
    page.get_by_role("button", name="Send this").click()
    thanked(page)
