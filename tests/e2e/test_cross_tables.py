"""Cross-tables on the Results page: two questions that were sent together, and two times as a table."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

import deniable as dn
from deniable.service.entries import Rules, Upload
from deniable.service.sqlite import SQLiteStore
from tests.collector import Server, serving
from tests.e2e.conftest import DESK, PATIENCE
from tests.e2e.forms import FORM, answered_store
from tests.e2e.steps import until

PLAIN = dn.krr(["no", "yes"], epsilon=3, name="Do you smoke?")


def plain_store(place: Path) -> None:
    """Days of noes, then days of yeses."""
    store = SQLiteStore(place)
    entry, _ = store.create(PLAIN, Rules.read({"minimum": 50, "results": "public"}))
    today = 24 * int(time.time() // 86_400)
    for day in range(4):
        wires = [dn.Client(PLAIN).report("no" if day < 2 else "yes").pack() for _ in range(100)]
        packed = b"".join((100 * day + i).to_bytes(16, "little") + wire for i, wire in enumerate(wires))
        store.write([Upload(entry, packed)], hours=today - 24 * (4 - day))
    store.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("tables")
    answered_store(folder / "store", results="public")
    plain_store(folder / "store")
    with serving(str(folder / "store"), folder) as made:
        yield made


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport=DESK, reduced_motion="reduce")
    context.set_default_timeout(PATIENCE)
    made = context.new_page()
    faults: list[object] = []
    made.on("pageerror", lambda error: faults.append(error))
    yield made
    context.close()
    assert faults == []


def test_a_pair_has_a_section_and_can_be_turned(server: Server, page: Page) -> None:
    page.goto(f"http://127.0.0.1:{server.port}/results/{FORM.digest}")
    section = page.locator("section[aria-labelledby=pair-sport-likes]")
    section.locator("svg").wait_for()
    assert section.locator("h2").inner_text() == "How much sport do you do? and What do you drink?"
    assert section.locator("svg .mark-rect path").count() >= 6
    section.locator("summary").click()
    heads = (
        "[...document.querySelectorAll('section[aria-labelledby=pair-sport-likes] tbody th')].map((e) => e.innerText)"
    )
    assert page.evaluate(heads) == ["none", "some", "much"]
    section.get_by_text("Turn rows and columns").click()
    until(page, f"JSON.stringify({heads}) == JSON.stringify(['=tea', 'coffee'])")
    with page.expect_download() as loaded:
        section.get_by_role("button", name="CSV").click()
    text = loaded.value.path().read_text(encoding="utf-8-sig")
    assert text.startswith('"row","column","probability"')
    assert '"\'=tea"' in text, "no spreadsheet runs it"


def test_two_times_as_a_table(server: Server, page: Page) -> None:
    page.goto(f"http://127.0.0.1:{server.port}/results/{PLAIN.digest}")
    page.locator("#changes svg").wait_for()
    page.locator("#compare-as-table > summary").click()
    page.locator("#compare-as-table svg").wait_for()
    assert "The answers are related: if they were not" in page.locator("#compare-as-table").inner_text()
    assert page.locator("#compare-as-table tbody tr").count() == 2
