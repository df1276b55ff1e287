"""The documentation in a real browser, as a collector serves it: search, calculators, phones, its policy."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.collector import Server
from tests.docs.site import build, program
from tests.e2e.conftest import DESK, PATIENCE, PHONE, Open

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder: Path = tmp_path_factory.mktemp("documentation")
    made = Server(str(folder / "store"), folder, program=program(build(folder))).start()
    yield made
    made.kill()


def address(server: Server, path: str = "") -> str:
    return f"http://127.0.0.1:{server.port}/docs/{path}"


def test_search_finds_a_page_without_a_network(server: Server, fresh: Open) -> None:
    page = fresh()
    page.goto(address(server))
    page.get_by_placeholder("Search").fill("poisoning")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=poisoning**")
    found = page.locator("#search-results a", has_text="Limits and attacks").first
    expect(found).to_be_visible(timeout=PATIENCE)
    found.click()
    expect(page.locator("h1")).to_contain_text("Limits and attacks")


def test_calculators_follow_their_sliders(server: Server, fresh: Open) -> None:
    page = fresh()
    page.goto(address(server, "explanation/local-privacy.html"))
    belief = page.locator("[data-widget=belief]")
    expect(belief.locator(".said")).to_contain_text("at most 7.4 times likelier")
    belief.locator("input").first.fill("1")
    expect(belief.locator(".said")).to_contain_text("at most 2.8 times likelier")
    expect(belief.locator(".said")).to_contain_text("at most 24 % likely")
    error = page.locator("[data-widget=error]")
    before = error.locator(".said").inner_text()
    error.locator("input").first.fill("5")
    expect(error.locator(".said")).to_contain_text("100,000 people")
    assert error.locator(".said").inner_text() != before


def test_a_phone_shows_the_cells_of_a_wide_table_one_under_another(server: Server, fresh: Open) -> None:
    page = fresh(viewport=PHONE)
    page.goto(address(server, "reference/errors.html"))
    row = page.locator("table.stacked tbody tr").first
    first, second = (row.locator("td").nth(place).bounding_box() for place in (0, 1))
    assert first is not None
    assert second is not None
    assert second["y"] >= first["y"] + first["height"]
    expect(row.locator("td").nth(1)).to_have_attribute("data-label", "means")
    wide = "() => [...document.querySelectorAll('.table-wrapper')].some((t) => t.scrollWidth > t.clientWidth + 1)"
    assert not page.evaluate(wide)


@pytest.mark.parametrize("viewport", [PHONE, DESK])
@pytest.mark.parametrize(
    "path",
    ["", "tutorials/telemetry.html", "how-to/operations.html", "reference/api/decoding.html", "examples/groups.html"],
)
def test_pages_fit_and_keep_the_policy(server: Server, fresh: Open, path: str, viewport: object) -> None:
    page = fresh(viewport=viewport)
    page.goto(address(server, path))
    expect(page.locator("h1")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth + 1")
