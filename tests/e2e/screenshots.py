"""Take the pictures of the README again: python -m tests.e2e.screenshots

From `deniable serve --demo`, on a phone and on a desk, in light and dark, into out/screenshots. Look at them, and copy
the ones that docs/images/pages has.
"""

import re
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

from tests.e2e.conftest import MISSING, PATIENCE, PHONE, chromium

FOLDER = Path(__file__).parents[2] / "out" / "screenshots"
DESK: ViewportSize = {"width": 1080, "height": 800}

# Each is asked once: a survey has its question in its digest.
QUESTIONS = {
    ("desk", "light"): "Have you ever driven after drinking?",
    ("desk", "dark"): "Have you ever driven home after drinking?",
    ("phone", "light"): "Did you ever drive after drinking?",
    ("phone", "dark"): "Did you ever drive home after drinking?",
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
