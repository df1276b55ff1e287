"""A real Chromium for the pages' tests. Without one they fail: skipping would hide the part that people see."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Dialog, Page, ViewportSize, sync_playwright

from tests import waiting
from tests.collector import Server, serving

MISSING = (
    "the tests of the pages need Chromium: python tests/services.py chromium installs Debian's where it may, else "
    "install it by hand"
)
PHONE: ViewportSize = {"width": 390, "height": 844}
DESK: ViewportSize = {"width": 1200, "height": 900}
PATIENCE = 1000 * waiting.PATIENCE  # milliseconds, as Playwright counts

Open = Callable[..., Page]


def chromium() -> str | None:
    """Where Debian and others put it."""
    return next(
        (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
    )


# Playwright's loop runs in this thread while it is in use, and other tests have loops of their own: one a module.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = chromium()
    if path is None:
        pytest.fail(MISSING)
    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield made
        made.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder: Path = tmp_path_factory.mktemp("pages")
    with serving(str(folder / "store"), folder) as made:
        yield made


class Watch:
    """What a page did that it must not: errors, forbidden requests, violations of its policy."""

    def __init__(self, server: Server) -> None:
        self.host = f"http://127.0.0.1:{server.port}/"
        self.requests: list[Any] = []
        self.faults: list[str] = []

    def over(self, page: Page) -> Page:
        page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        page.on("console", lambda message: self._console(message.type, message.text))
        page.on("dialog", self._dialog)
        page.on("request", self._request)
        return page

    def _dialog(self, dialog: Dialog) -> None:
        self.faults.append(f"a dialog: {dialog.message}")
        dialog.dismiss()

    def _console(self, kind: str, text: str) -> None:
        if "Content Security Policy" in text or (kind == "error" and "Failed to load resource" not in text):
            self.faults.append(f"console: {text}")

    def _request(self, request: Any) -> None:
        self.requests.append(request)
        if not request.url.startswith((self.host, "data:", "blob:")):
            self.faults.append(f"elsewhere: {request.url}")


@pytest.fixture
def watch(server: Server) -> Iterator[Watch]:
    made = Watch(server)
    yield made
    assert made.faults == []


@pytest.fixture
def fresh(browser: Browser, watch: Watch) -> Iterator[Open]:
    """Pages in browsers that have never been here: `fresh(viewport=..., color_scheme=...)`."""
    contexts: list[BrowserContext] = []

    def make(viewport: ViewportSize | None = None, **options: Any) -> Page:
        # Dates are written as the browser's language does.
        options = {"locale": "en-GB"} | options
        context = browser.new_context(viewport=viewport or DESK, reduced_motion="reduce", **options)
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        return watch.over(context.new_page())

    yield make
    for context in contexts:
        context.close()
