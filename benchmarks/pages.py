"""Until something is to be seen on each page, in a real Chromium, against a page of one line of the same collector."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from playwright.sync_api import Browser, sync_playwright

import deniable as dn
from benchmarks.measure import Line
from tests.collector import ADMIN, serving

ROUNDS = 5
PLAIN = "/healthz"  # one line of text
PAINTS = "performance.getEntriesByName('first-contentful-paint').map((entry) => entry.startTime)"


def first_paint(browser: Browser, url: str) -> float:
    """Seconds from the start of the navigation, in a browser that has never been there; the best of a few."""
    found = []
    for _ in range(ROUNDS):
        context = browser.new_context()
        page = context.new_page()
        page.goto(url)
        while not (paints := page.evaluate(PAINTS)):
            page.wait_for_timeout(20)
        found.append(float(paints[0]) / 1000)
        context.close()
    return min(found)


def lines() -> Iterator[Line]:
    path = shutil.which("chromium") or shutil.which("google-chrome")
    survey = dn.krr(symbols=["never", "once", "often"], epsilon=1, name="Have you ever lied to get a day off?")
    with tempfile.TemporaryDirectory() as folder, serving(str(Path(folder) / "store"), Path(folder)) as server:
        server.create(survey, minimum=0)
        pages = ["/", "/explore", f"/results/{survey.digest}#token={quote(ADMIN)}", f"/answer/{survey.digest}"]
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
            plain = first_paint(browser, f"http://127.0.0.1:{server.port}{PLAIN}")
            for page in pages:
                spent = first_paint(browser, f"http://127.0.0.1:{server.port}{page}")
                yield Line(f"first paint, /{page.split('/')[1]}", "a page of one line", spent, plain, 4)
            browser.close()
