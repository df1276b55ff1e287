"""The demonstration in every panel of the results, live updates, open alphabets, and the Explore page."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from deniable.cli.demo_store import CANDIDATES, DAYS, SHIFT
from tests.collector import ADMIN, Server
from tests.e2e.conftest import DESK, PATIENCE, Open, Watch
from tests.e2e.steps import SYMBOLS, address, scripted, survey_of, until


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """`deniable serve --demo`: the links that it prints."""
    log = tmp_path_factory.mktemp("demo") / "log"
    with log.open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "deniable", "serve", "--demo", "--port", "0"],
            stdout=subprocess.PIPE, stderr=errors, text=True,
        )  # fmt: skip
    assert process.stdout is not None
    printed = ""
    for line in process.stdout:
        printed += line
        if "/explore" in line:
            break
    yield re.findall(r"http\S+", printed)
    process.terminate()
    process.stdout.close()
    assert process.wait(30) == 0
    secret = re.search(r"token=(\w+)", printed)
    assert secret is not None
    assert secret[1] not in log.read_text(), "the log has no secret"


@pytest.fixture
def page(browser: Browser, demo: list[str]) -> Iterator[Page]:
    context = browser.new_context(viewport=DESK, reduced_motion="reduce")
    context.set_default_timeout(PATIENCE)
    made = context.new_page()
    faults: list[Any] = []
    made.on("pageerror", lambda error: faults.append(error))
    made.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    yield made
    context.close()
    assert faults == []


def test_every_panel_of_the_demo_has_something_to_show(demo: list[str], page: Page) -> None:
    page.goto(demo[2])
    page.locator("#changes svg").wait_for()
    assert int(page.locator("#n").inner_text().replace(",", "")) > DAYS * 2000
    assert page.locator("#shares .mark-rect.role-mark path").count() == 6
    marks = page.locator("#trend-marks li").all_inner_texts()
    # A mark where nothing changed is as rare as the level says, once in twenty: tests/statistical/test_trend.py.
    assert any("anxious" in mark for mark in marks), "the shift is marked"
    assert f"One point a day, {DAYS} of them" in page.locator("#trend-words").inner_text()
    assert page.locator("#trend svg .mark-line path").count() == 4
    days = page.locator("#b-from option").all_inner_texts()
    assert len(days) == DAYS
    page.locator("#a-to").select_option(index=SHIFT - 1)
    page.locator("#b-from").select_option(index=SHIFT)
    page.locator("#changes-table summary").click()
    told = "[...document.querySelectorAll('#changes-table tr')].map((row) => row.innerText.split('\\t'))"
    # From 9 to 19 points, and beyond doubt; with the ranges that are chosen at first it was 6.
    until(page, f"{told}.some(([name, change, low]) => name == 'anxious' && change > 8 && change < 12 && low > 6)")
    health = page.locator("#health").inner_text()
    assert "If one answer in a hundred were planted" in health
    assert "No alarm" in health


def test_controls_change_what_is_shown(demo: list[str], page: Page) -> None:
    page.goto(demo[2])
    page.locator("#changes svg").wait_for()
    assert page.locator("#shares .mark-symbol.role-mark path").count() == 0
    page.locator("#raw").check()
    until(page, "document.querySelectorAll('#shares .mark-symbol.role-mark path').length == 6")

    def reach() -> float:
        return float(page.locator("#facts").inner_text().split("± ")[1].split()[0])

    before = reach()
    page.locator("#level").select_option("0.99")
    page.get_by_text("a typical 99 % interval").wait_for()
    assert reach() > before
    page.locator("#decoder").select_option("least-squares")
    page.get_by_text("Decoded by LeastSquares").wait_for()
    whole = page.locator("#n").inner_text()
    page.locator("#from").select_option(index=DAYS)
    until(page, "(whole) => document.getElementById('n').innerText != whole", whole)
    assert int(page.locator("#n").inner_text().replace(",", "")) < 5000


def test_candidates_of_an_open_survey(demo: list[str], page: Page, tmp_path: Path) -> None:
    page.goto(demo[4])
    page.locator("#shares svg").wait_for()
    assert page.locator("#candidates").input_value().splitlines() == list(CANDIDATES)
    assert page.locator("#shares .mark-rect.role-mark path").count() == len(CANDIDATES)
    rest = page.locator("#rest").inner_text()
    share = re.match(r"Answers that are not on the list: ([\d.]+) %, between ([\d.]+) % and ([\d.]+) %", rest)
    assert share is not None, rest
    value, low, high = map(float, share.groups())
    # What hardly anybody else wrote: 5 % before the shift, 4 % after. Twelve standard errors to either side.
    assert abs(value - 4.7) < 3 * (high - low) < 20
    page.locator("#candidates").fill("flu\nsleep\nnever written by anyone")
    page.get_by_role("button", name="Look for these").click()
    until(page, "document.querySelectorAll('#shares .mark-rect.role-mark path').length == 3")
    # Most of what was written is missing from the list, and the fit says so.
    page.get_by_text("do not fit these candidates").wait_for()
    listed = tmp_path / "candidates.txt"
    listed.write_text("\r\n".join(CANDIDATES[:5]), encoding="utf-8")
    page.locator("#file").set_input_files(str(listed))
    until(page, "document.querySelectorAll('#shares .mark-rect.role-mark path').length == 5")
    assert "candidate=flu" in page.url, "a bookmark keeps them"
    assert "token" not in page.url, "and no key"
    page.locator(".skip").focus()
    page.keyboard.press("Enter")
    assert "candidate=flu" in page.url, "a skip link leaves the address alone"
    page.reload()
    until(page, "document.querySelectorAll('#shares .mark-rect.role-mark path').length == 5")


def test_results_before_there_are_enough(server: Server, fresh: Open) -> None:
    survey = survey_of("How many does it take?")
    server.create(survey, minimum=30, results="public")
    page = fresh()
    page.goto(address(server, f"/results/{survey.digest}", token=ADMIN))
    page.get_by_text("Results are shown from 30 reports on").wait_for()
    assert page.locator("#all").is_hidden()
    scripted(page, survey, SYMBOLS * 10)
    page.locator("#shares svg").wait_for()
    assert page.locator("#n").inner_text() == "30"


def test_readers_are_told_when_they_will_see_what(server: Server, fresh: Open) -> None:
    """Public results are of windows that have ended: an empty page says so; closed for good, a survey shows all."""
    survey = survey_of("Who sees it when?")
    server.create(survey, minimum=20, results="public")
    page = fresh()
    page.goto(address(server, f"/results/{survey.digest}"))
    scripted(page, survey, SYMBOLS * 10)
    page.get_by_text("There is nothing to show yet: to readers a day's answers are shown once it is over").wait_for()
    assert page.locator("#all").is_hidden()
    asker = fresh()
    asker.goto(address(server, f"/results/{survey.digest}", token=ADMIN))
    asker.get_by_text("You see answers as they arrive").wait_for()
    assert server.ask("POST", f"/v1/surveys/{survey.digest}/close", b'{"final": true}').status == 200
    page.reload()
    page.locator("#shares svg").wait_for()
    assert page.locator("#n").inner_text() == "30"
    assert page.locator("#closed").is_visible()
    assert page.locator("#live").is_hidden()


def test_explore_needs_no_data_of_the_server(server: Server, fresh: Open, watch: Watch) -> None:
    page = fresh()
    page.goto(address(server, "/explore"))
    page.locator("#chart svg").wait_for()
    assert page.locator("#ranking tbody tr").count() == 10
    assert "What deniable shows is better than that" in page.locator("#here").inner_text()
    before = page.locator("#ranking").inner_text()
    page.locator("#epsilon").focus()
    for _ in range(10):
        page.keyboard.press("ArrowRight")
    until(page, "(text) => document.getElementById('ranking').innerText != text", before)
    page.get_by_role("button", name="Yes or no: Warner, 1965").click()
    assert page.locator("#size-now").inner_text() == "2"
    page.locator("#population").select_option("zipf")
    page.locator("#power").wait_for()
    asked = {request.url.removeprefix(watch.host).split("/")[0] for request in watch.requests}
    assert asked == {"explore", "pages"}
