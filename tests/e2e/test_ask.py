"""The Ask page: what to do when a plan is not possible, where links lead, and what is for experts."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page

import deniable as dn
from tests.collector import ADMIN, Server, serving
from tests.e2e.conftest import PHONE, Open, Watch
from tests.e2e.steps import address, ask_for, fits, violations


def few(page: Page, server: Server, question: str) -> None:
    page.goto(address(server, "/", token=ADMIN))
    page.get_by_label("Your question").fill(question)
    page.locator("#people").fill("150")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["closed", "open"])
def test_too_few_people_is_no_dead_end(kind: str, server: Server, fresh: Open) -> None:
    page = fresh(viewport=PHONE)
    few(page, server, f"Are 150 enough, {kind}?")
    if kind == "open":
        page.get_by_label("They write what they like").check()
        page.locator("#candidates").fill("20")
    else:
        page.locator("#answers").fill("no\nperhaps\nyes")
    page.locator("#ways button").first.wait_for()
    said = page.locator("#plan").inner_text()
    assert "150 people are too few to know every share up to ± 5 points." in said
    assert "max_error" not in said
    assert "0.05" not in said
    ways = page.locator("#ways button").all_inner_texts()
    wanted = (
        r"About ± ([\d.]+) points with strong privacy",
        r"About ± ([\d.]+) points with weak privacy",
        r"Ask about ([\d,]+) people: About ± 5 points with strong privacy",
    )
    found = [re.fullmatch(pattern, way) for pattern, way in zip(wanted, ways, strict=True)]
    assert None not in found, ways
    strong, weak = (float(one[1]) for one in found[:2] if one)
    assert 5 < weak < strong < 50
    assert violations(page) == []
    fits(page)
    assert page.locator("#create").is_disabled()
    people = int(found[2][1].replace(",", "")) if found[2] else 0
    # Each button sets epsilon, so that its word is true, and the plan then has about the precision it named.
    for place, asked, epsilon, word, exact in (
        (0, 150, "2", "strong", strong),
        (1, 150, "4", "weak", weak),
        (2, people, "2", "strong", 5.0),
    ):
        page.locator("#ways button").nth(place).click()
        page.locator("#plan .big").wait_for()
        assert page.get_by_label("How private the answers are.").is_checked()
        assert page.locator("#epsilon").input_value() == epsilon
        assert page.locator("#people").input_value() == str(asked)
        assert page.locator("#plan .big").inner_text().lower() == f"{word} privacy"
        mean, bound = (float(text.split()[1]) for text in page.locator("#sharpness b").all_inner_texts())
        assert mean < bound
        assert 0.8 * exact < bound < 1.2 * exact
        assert page.locator("#create").is_enabled()
        page.get_by_label("How exact the results are.").check()
        page.locator("#people").fill("150")
        page.locator("#ways button").first.wait_for()


@pytest.mark.slow
def test_words_of_the_form_are_english_and_of_one_scale(server: Server, fresh: Open) -> None:
    page = fresh()
    few(page, server, "Which words?")
    page.locator("#answers").fill("a\nb")
    form = page.locator("#form").inner_text()
    assert "How exact the results are. Privacy is then as strong as it can be." in form
    assert "as it leaves" not in form
    page.get_by_label("How private the answers are.").check()
    assert page.locator("#scale").inner_text() == (
        "Smaller is more private: up to 1 is very strong privacy, up to 2 is strong privacy, up to 3 is moderate "
        "privacy, up to 4 is weak privacy, more is hardly any privacy"
    )
    for epsilon, word, headline in (
        ("1", "very strong", "can tell what anyone chose"),
        ("2", "strong", "can tell what anyone chose"),
        ("3.29", "weak", "can be sure what anyone chose, but what is sent gives a clear hint"),
        ("6", "hardly any", "hides their answers hardly at all"),
    ):
        page.locator("#epsilon").fill(epsilon)
        page.get_by_text(f"Epsilon {float(epsilon):.3g}"[:9]).first.wait_for()
        page.locator("#plan .big", has_text=re.compile(f"^{word} privacy", re.I)).wait_for()
        assert headline in page.locator("#headline").inner_text()
    for foolish in ("0", "-1", "13"):
        page.locator("#epsilon").fill(foolish)
        page.get_by_text("Say which epsilon you want to offer: from 0.001 to 12.").wait_for()
        assert page.locator("#create").is_disabled()


@pytest.mark.slow
def test_mechanisms_and_curves_are_for_experts(server: Server, fresh: Open, watch: Watch) -> None:
    page = fresh()
    page.goto(address(server, "/", token=ADMIN))
    page.get_by_label("Your question").fill("Who wants curves?")
    page.locator("#answers").fill("a\nb")
    page.locator("#plan .big").wait_for()
    assert page.locator("#chart, #mechanism").first.is_hidden()
    assert "W-RR" not in page.locator("main").inner_text()
    assert not [one for one in watch.requests if "vega" in one.url], "and their library is not even loaded"
    page.locator("#experts summary").click()
    page.locator("#chart svg").wait_for()
    assert "W-RR" in page.locator("#mechanism").inner_text()
    assert page.locator("#chart svg").evaluate("(svg) => svg.clientWidth") > 300, "as wide as there is room"
    page.locator("#people").fill("2000")
    page.get_by_text("Planning…").wait_for(state="hidden")
    page.locator("#plan .big").wait_for()
    assert page.locator("#experts").is_visible()


@pytest.mark.slow
def test_a_local_link_says_that_nobody_else_can_open_it(server: Server, fresh: Open) -> None:
    page = fresh(viewport=PHONE)
    ask_for(page, server, "Can they open it?", ["a", "b"])
    caution = page.locator("#caution").inner_text()
    assert "Nobody else can open this link: 127.0.0.1 always means the computer it is opened on." in caution
    assert "--public-url" in caution
    assert violations(page) == []
    fits(page)


@pytest.mark.slow
def test_links_and_the_code_have_the_public_address(fresh: Open, tmp_path: Path, watch: Watch) -> None:
    with serving(str(tmp_path / "store"), tmp_path, "--public-url", "https://reports.example.org") as server:
        watch.host = f"http://127.0.0.1:{server.port}/"
        assert '"public": "https://reports.example.org"' in server.log()
        page = fresh()
        answer, results = ask_for(page, server, "Where is it?", ["a", "b"])
        digest = answer.rsplit("/", 1)[1]
        assert answer == f"https://reports.example.org/answer/{digest}"
        assert results.startswith(f"https://reports.example.org/results/{digest}#token=")
        assert page.locator("#caution").count() == 0
        code = """async (text) => {
          const { picture } = await import("/pages/qr.js");
          return picture(text).outerHTML == document.querySelector("#made .qr").outerHTML;
        }"""
        assert page.evaluate(code, answer), "the code is that of the same link"


def test_an_unknown_address_has_a_page(server: Server, fresh: Open) -> None:
    page = fresh(viewport=PHONE)
    answer = page.goto(address(server, "/answers/nothing"))
    assert answer is not None
    assert answer.status == 404
    page.get_by_role("heading", name="There is nothing here").wait_for()
    fits(page)
    page.get_by_role("link", name="ask a question").click()
    page.locator("#door").wait_for()
    for kind in ("answer", "results"):
        for unknown in (dn.krr(3, epsilon=1, name="never asked").digest, "xyz"):
            told = page.goto(address(server, f"/{kind}/{unknown}"))
            assert told is not None
            assert (told.status, told.headers["content-type"]) == (404, "text/html; charset=utf-8")
            page.get_by_role("heading", name="There is no such survey").wait_for()
            page.get_by_text("The link may be incomplete, the survey may have been deleted").wait_for()
