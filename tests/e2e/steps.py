"""What people do on the pages, as steps that tests share."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page

import deniable as dn
from tests.collector import ADMIN, Server
from tests.waiting import wait_for

AXE = Path(__file__).parents[2] / "clients" / "js" / "node_modules" / "axe-core" / "axe.min.js"
QUESTION = "Have you ever lied to get a day off?"
SYMBOLS = ["never", "once", "often"]


def survey_of(name: str = QUESTION, symbols: list[str] | None = None, epsilon: float = 1.0) -> dn.Survey:
    return dn.krr(symbols=symbols or SYMBOLS, epsilon=epsilon, name=name)


def address(server: Server, path: str, **secret: str) -> str:
    return f"http://127.0.0.1:{server.port}{path}" + (f"#{urlencode(secret)}" if secret else "")


def answer_link(server: Server, survey: dn.Survey) -> str:
    return address(server, f"/answer/{survey.digest}")


def choose_and_roll(page: Page, answer: str) -> None:
    page.get_by_label(answer, exact=True).check()
    roll(page)


def roll(page: Page) -> None:
    page.get_by_role("button", name="Roll the die").click()
    page.get_by_role("button", name="Send this").wait_for()


def thanked(page: Page) -> None:
    page.get_by_text("Your answer is counted").wait_for()


def says(page: Page, text: str) -> None:
    page.get_by_text(text).wait_for()


def counters(server: Server, survey: dn.Survey) -> dict[str, int]:
    told: dict[str, int] = server.ask("GET", f"/v1/surveys/{survey.digest}/counters").json()["counters"]
    return told


def scripted(page: Page, survey: dn.Survey, answers: Sequence[str | int]) -> None:
    """Answers through the JavaScript client in this browser, each from a device of its own."""
    code = """async ([survey, answers]) => {
      const { Client } = await import("/pages/deniable.min.js");
      for (const answer of answers) {
        const client = new Client(survey);
        client.queue(answer);
        await client.send(location.origin);
      }
    }"""
    page.evaluate(code, [json.loads(survey.to_json()), list(answers)])


def ask_for(page: Page, server: Server, question: str, answers: list[str], **fields: Any) -> tuple[str, str]:
    """The Ask page from end to end: the link for respondents and the private one."""
    page.goto(address(server, "/", token=ADMIN))
    page.get_by_label("Your question").fill(question)
    page.locator("#answers").fill("\n".join(answers))
    page.get_by_text("Who sees what").click()
    for name, value in fields.items():
        page.locator(f"#{name}").fill(str(value))
    page.locator("#plan .big").wait_for()
    page.get_by_role("button", name="Create the survey").click()
    page.locator("#made .qr").wait_for()
    fields_of = page.locator("#made .link input")
    return fields_of.nth(0).input_value(), fields_of.nth(1).input_value()


def until(page: Page, code: str, arg: Any = None) -> None:
    """Wait for an expression to hold. (Playwright's own way evaluates strings in the page; its policy forbids that.)"""
    wait_for(lambda: page.evaluate(code, arg), code, rest=lambda: page.wait_for_timeout(50))


def fits(page: Page) -> None:
    width = page.evaluate("[document.scrollingElement.scrollWidth, innerWidth]")
    assert width[0] <= width[1], "nothing sticks out"


# Text that stands alone and is a value of the program, not a word for people: `condition && element` shows "false".
_VALUES = """() => {
  const value = /^(false|true|null|undefined|NaN|-?Infinity)$|\\[object |\\bundefined\\b|\\bNaN\\b/;
  const all = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  while (all.nextNode()) {
    const text = all.currentNode.data.trim();
    if (value.test(text)) found.push(text);
  }
  return found;
}"""


def violations(page: Page) -> list[str]:
    """What axe finds that is serious or critical, and values of the program that are shown as text."""
    if not AXE.exists():
        pytest.fail("axe-core must be installed: npm ci in clients/js, which make test runs")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found: dict[str, Any] = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    return [f"shown as text: {value}" for value in page.evaluate(_VALUES)] + [
        f"{one['impact']}: {one['id']}: {one['nodes'][0]['html'][:160]}"
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
    ]
