"""Take the pictures of the README again: python -m tests.e2e.screenshots

From `deniable serve --demo`, on a phone and on a desk, in light and dark, into out/screenshots. Look at them, and copy
the ones that docs/images/pages has.
"""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

import deniable as dn
from tests.e2e.conftest import MISSING, PATIENCE, PHONE, chromium
from tests.e2e.steps import scripted

FOLDER = Path(__file__).parents[2] / "out" / "screenshots"
DESK: ViewportSize = {"width": 1080, "height": 800}

# Each is asked once: a survey has its question in its digest.
QUESTIONS = {
    ("desk", "light"): "Have you ever driven after drinking?",
    ("desk", "dark"): "Have you ever driven home after drinking?",
    ("phone", "light"): "Did you ever drive after drinking?",
    ("phone", "dark"): "Did you ever drive home after drinking?",
}

# Questions of the other kinds, and answers that are given a hundred times each.
KINDS: dict[str, tuple[str, list[str | int]]] = {
    "number": ("How old are you?", [24, 31, 38, 45, 52, 60]),
    "ordered": ("How often do you lie?", ["never", "seldom", "seldom", "often", "daily"]),
    "sensitive": ("What did the doctor find?", ["nothing", "nothing", "flu", "hepatitis", "hiv"]),
}


def take(browser: Browser, links: list[str], kind: str, scheme: str) -> None:
    viewport = PHONE if kind == "phone" else DESK
    context = browser.new_context(
        viewport=viewport,
        color_scheme="dark" if scheme == "dark" else "light",
        device_scale_factor=1.5 if kind == "phone" else 1,
        reduced_motion="reduce",
    )
    context.set_default_timeout(PATIENCE)
    page = context.new_page()

    def shoot(name: str) -> None:
        page.evaluate("() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
        page.screenshot(path=FOLDER / f"{name}-{kind}-{scheme}.png", full_page=True)

    _ask(page, links[0], QUESTIONS[kind, scheme])
    shoot("ask")
    page.locator("#create").click()
    page.locator("#made .qr").wait_for()
    shoot("made")
    page.goto(links[1])
    page.get_by_label("anxious").check()
    shoot("choose")
    _roll(page)
    shoot("answer")
    page.goto(links[3])
    page.locator("#text").fill("sleep")
    _roll(page)
    shoot("answer-open")
    for name, link in (("results", links[2]), ("results-open", links[4])):
        page.goto(link)
        page.locator("#changes svg").wait_for()
        shoot(name)
    for name in KINDS:
        _kind(page, links[0], name, f"{kind} {scheme}", shoot)
    _form(page, links[0], f"{kind} {scheme}", shoot)
    page.goto(links[-1])
    page.locator("#chart svg").wait_for()
    shoot("explore")
    context.close()


def _ask(page: Page, link: str, question: str) -> None:
    page.goto(link)
    page.get_by_label("Your question").fill(question)
    page.locator("#answers").fill("never\nonce\nmore than once")
    page.locator("#plan .big").wait_for()
    page.locator("h1").click()


def _kind(page: Page, link: str, name: str, where: str, shoot: Callable[[str], None]) -> None:
    """A number, answers in an order or sensitive ones, from the question to the results."""
    question, answers = KINDS[name]
    page.goto(link)
    page.get_by_label("Your question").fill(f"{question} ({where})")
    page.locator(f"input[name=kind][value={name if name in ('number', 'ordered') else 'closed'}]").check()
    if name == "number":
        page.locator("#low").fill("18")
        page.locator("#high").fill("90")
    else:
        page.locator("#answers").fill("\n".join(dict.fromkeys(map(str, answers))))
    if name == "sensitive":
        page.locator("#sensitive summary").click()
        for answer in answers[-2:]:
            page.locator("#sensitive").get_by_label(str(answer)).check()
        page.get_by_text("privacy for the sensitive answers").wait_for()
    page.locator("#plan .big").wait_for()
    page.locator("h1").click()
    shoot(f"ask-{name}")
    page.locator("#create").click()
    page.locator("#made .qr").wait_for()
    fields = page.locator("#made .link input")
    respondents, private = fields.nth(0).input_value(), fields.nth(1).input_value()
    page.goto(respondents)
    page.locator("#form").wait_for()
    if name == "number":
        page.locator("#number").fill("41")
    else:
        page.locator("input[name=answer]").nth(2).check()
    shoot(f"choose-{name}")
    _roll(page)
    shoot(f"answer-{name}")
    told = page.evaluate("fetch(location.pathname.replace('answer', 'v1/surveys')).then((reply) => reply.json())")
    scripted(page, dn.Survey.from_json(json.dumps(told["survey"])), answers * 100)
    page.goto(private)
    page.locator("#shares svg").wait_for()
    shoot(f"results-{name}")


def _form(page: Page, link: str, where: str, shoot: Callable[[str], None]) -> None:
    """A form of three questions, from the first one to the results."""
    page.goto(link)
    page.get_by_label("Your question").fill("Do you smoke?")
    page.locator("#answers").fill("no\nyes")
    page.locator("#add-question").click()
    page.locator("#q2-question").fill("How often do you drink?")
    page.locator("input[name=q2-kind][value=ordered]").check()
    page.locator("#q2-answers").fill("never\nseldom\noften\ndaily")
    page.locator("#add-question").click()
    page.locator("#q3-question").fill("How old are you?")
    page.locator("input[name=q3-kind][value=number]").check()
    page.locator("#q3-low").fill("18")
    page.locator("#q3-high").fill("90")
    page.locator("#form-title").fill(f"Habits ({where})")
    page.locator("#people").fill("5000")
    page.locator("#plan .big").wait_for()
    page.locator("#preview-part summary").click()
    page.get_by_role("button", name="Next").click()
    page.locator("h1").click()
    shoot("ask-form")
    page.locator("#create").click()
    page.locator("#made .qr").wait_for()
    fields = page.locator("#made .link input")
    respondents, private = fields.nth(0).input_value(), fields.nth(1).input_value()
    page.goto(respondents)
    page.evaluate(
        """async (count) => {
          const told = await (await fetch(location.pathname.replace("answer", "v1/surveys"))).json();
          const { Client } = await import("/pages/deniable.min.js");
          const { readForm } = await import("/pages/form.min.js");
          const form = readForm(told.survey);
          const often = ["never", "seldom", "seldom", "often"];
          for (let i = 0; i < count; i++) {
            const client = new Client(form);
            const every = { do_you_smoke: i % 4 ? "no" : "yes", how_often_do_you_drink: often[i % 4],
              how_old_are_you: 20 + ((7 * i) % 60) };
            client.queue(Object.fromEntries(client.questions.map((name) => [name, every[name]])));
            await client.send(location.origin);
          }
        }""",
        600,
    )
    page.goto(private)
    page.locator(".asked .chart svg").nth(2).wait_for()
    shoot("results-form")


def _roll(page: Page) -> None:
    page.locator("#roll").click()
    page.locator("#wire summary").click()
    page.locator("h1").click()


def main() -> None:
    path = chromium()
    if path is None:
        sys.exit(MISSING)
    FOLDER.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "deniable", "serve", "--demo", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as demo, sync_playwright() as playwright:
        try:
            assert demo.stdout is not None
            printed = ""
            while "/explore" not in printed:
                printed += demo.stdout.readline()
            browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
            for kind in ("phone", "desk"):
                for scheme in ("light", "dark"):
                    take(browser, re.findall(r"http\S+", printed), kind, scheme)
            browser.close()
        finally:
            demo.terminate()


if __name__ == "__main__":
    main()
