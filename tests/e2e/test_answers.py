"""The answer page for every kind of report: it says and draws the survey's channel, and shows the bytes it sends."""

import re

import pytest
from playwright.sync_api import Page

import deniable as dn
from deniable.cli.words import at_most
from tests.collector import Server
from tests.contracts.test_pages import chance
from tests.e2e.conftest import PHONE, Open
from tests.e2e.steps import answer_link, counters, fits, roll, thanked, violations

SYMBOLS = [f"answer {letter}" for letter in "abcdefghij"]
SEED = bytes(range(16))
SURVEYS = {
    "subset": dn.subset(SYMBOLS, epsilon=1, name="Which, as a list?"),
    "krappor": dn.krappor(SYMBOLS, epsilon=2, name="Which, in bits?"),
    "oue": dn.oue(SYMBOLS, epsilon=2, name="Which, in better bits?"),
    "hadamard": dn.hadamard(SYMBOLS, epsilon=2, name="Which, by a matrix?"),
    "projective": dn.projective(SYMBOLS, epsilon=1, name="Which, in a plane?"),
    "orr": dn.orr(symbols=SYMBOLS, epsilon=2, cells=4, cohorts=16, seed=SEED, name="Which, in boxes?"),
    "orappor": dn.orappor(symbols=SYMBOLS, epsilon=2, cells=8, cohorts=4, hashes=2, seed=SEED, name="Which in Bloom?"),
    "open": dn.orr(epsilon=2, cells=8, cohorts=300, seed=SEED, name="Which word?"),
    "open bits": dn.orappor(epsilon=2, cells=32, cohorts=4, hashes=2, seed=SEED, name="Which word, in bits?"),
    "krr twice": dn.krr(SYMBOLS, epsilon=3, epsilon_report=2, name="Which, twice?"),
    "oue twice": dn.oue(SYMBOLS, epsilon=2, epsilon_report=1, name="Which, in bits and twice?"),
    "open twice": dn.orr(epsilon=3, epsilon_report=2, cells=8, cohorts=8, seed=SEED, name="Which word, twice?"),
}


def sent_by(page: Page, survey: dn.Survey) -> dn.Report:
    page.locator("#wire summary").click()
    wire = bytes.fromhex(re.sub(r"\s", "", page.locator("#wire .bytes").inner_text()))
    with page.expect_request(re.compile("/reports")) as sent:
        page.get_by_role("button", name="Send this").click()
    assert sent.value.post_data_buffer == wire, "the page shows the very bytes that it sends"
    assert f"?day={sent.value.url.split('day=')[1]}" in page.locator("#wire").inner_text(), "and all else that it says"
    return dn.Report.unpack(survey, wire[16:])


@pytest.mark.parametrize("kind", SURVEYS)
def test_every_kind_of_report(kind: str, server: Server, fresh: Open) -> None:
    survey = SURVEYS[kind]
    server.create(survey)
    page = fresh(viewport=PHONE)
    page.goto(answer_link(server, survey))
    if survey.alphabet.is_open:
        page.locator("#text").fill("  Grüße ")
    else:
        page.get_by_label("answer c", exact=True).check()
    answer = "Grüße" if survey.alphabet.is_open else "answer c"
    what = page.locator("#what").inner_text()
    roll(page)
    fits(page)
    fell = page.locator("#fell").inner_text()
    sent, listed = page.locator("#sent").inner_text(), page.locator("#sent li").all_inner_texts()
    die = page.locator("#die").inner_text()
    drawn = {name: page.locator(f"#die {name}").count() for name in ("svg.list", ".mark", ".mark.mine", ".mark.yes")}
    hit, miss = survey.mechanism.hit, survey.mechanism.miss
    report = sent_by(page, survey)
    thanked(page)
    assert page.locator("#fell, .mine, .truth").count() == 0, "with what was sent, that is the answer"
    truth, cells = survey.encode(report.cohort, answer), sorted(survey.mechanism.columns_hit(report.response))
    told = sorted(set(truth) & set(cells))
    if drawn["svg.list"]:
        assert f"your yes stays: {chance(hit)}" in die
        assert f"a no turns into a yes: {chance(miss)}" in die
        assert f"Of {survey.cells - len(truth)} no marks {len(cells) - len(told)} turned into a yes" in fell
        assert drawn[".mark"] == survey.cells
        assert drawn[".mark.mine"] == len(truth)
        assert drawn[".mark.yes"] == len(cells)
    elif kind == "subset":
        assert f"your answer is on the list: {chance(hit)}" in die
        assert ("the list with your answer" in fell) == bool(told)
        assert chance(hit) in what
    else:
        mine = chance(len(truth) * hit)
        assert f"your answer: {mine}" in die
        assert f"With probability {mine}" in what or f"with probability {mine}" in what
        assert ("another one" in fell) != bool(told)
    if kind in ("subset", "krappor", "oue", "oue twice"):
        assert listed == [SYMBOLS[cell] for cell in cells]
    elif "krr" not in kind:
        assert re.search(r"\d+", sent)[0] == str(cells[0] + 1 if survey.mechanism.hits == 1 else len(cells))  # type: ignore[index]
    if survey.cohorts > 1:
        assert f"group {report.cohort + 1} of {survey.cohorts}" in sent
    page.locator("#meaning summary").click()
    explained = page.locator("#explained").inner_text()
    assert f"at most {at_most(survey.mechanism.odds)} times" in explained
    if "twice" in kind:
        assert f"at most {at_most(survey.mechanism.permanent.odds)} times" in explained
        assert f"epsilon {survey.epsilon_report:.2f} for one report, and {survey.epsilon_spent:.2f}" in explained
    fits(page)
    if kind in ("subset", "open bits", "oue twice"):
        assert violations(page) == []
    page.reload()
    thanked(page)
    assert page.locator("#rolled").is_hidden(), "what was sent is no longer here"
    assert page.locator("#wire").is_hidden()
    assert page.locator("#fell, .mine, .truth").count() == 0
    assert counters(server, survey) == {"accepted": 1}


def test_a_roll_that_was_cut_short_is_the_one_that_is_sent(server: Server, fresh: Open) -> None:
    """The browser dies when the roll is in the outbox, and before the page has shown anything of it."""
    survey = dn.krr(SYMBOLS, epsilon=1, name="Cut short?")
    server.create(survey)
    page = fresh(viewport=PHONE)
    page.goto(answer_link(server, survey))
    page.get_by_label("answer c", exact=True).check()
    # Nothing after the first change of the storage happens.
    page.evaluate(
        """() => {
          const real = Storage.prototype.setItem;
          Storage.prototype.setItem = function (...given) {
            real.apply(this, given);
            Storage.prototype.getItem = () => { throw new Error("dead"); };
          };
        }"""
    )
    page.get_by_role("button", name="Roll the die").click()
    page.get_by_text("Nothing was sent").wait_for()
    kept = page.evaluate("JSON.stringify(localStorage)")
    assert survey.digest[:16] in kept
    page.reload()
    page.get_by_role("button", name="Send this").wait_for()
    assert page.evaluate("JSON.stringify(localStorage)") == kept, "there is no second roll"
    page.get_by_role("button", name="Send this").click()
    thanked(page)
    page.reload()
    thanked(page)
    assert page.locator("#form").is_hidden()
    assert counters(server, survey) == {"accepted": 1}


# When the words are told, where the pointer is and which marks are drawn in their colour; and where they end up. What
# the title was meanwhile: a test on a busy machine may look too late to see it.
TELLING = """window.titles = [];
new MutationObserver(() => {
  const title = document.querySelector("#rolled-title")?.textContent;
  if (title && titles.at(-1) !== title) titles.push(title);
  const sent = document.querySelector("#sent");
  if (!sent?.textContent || window.told) return;
  const look = () => [...document.querySelectorAll("#die .pointer, #die .mark")].map((one) => {
    const { transform, fill } = getComputedStyle(one);
    return [transform, fill, one.getAttribute("transform"), one.getAttribute("class")].join();
  });
  window.told = { then: look(), hidden: document.hidden, look };
}).observe(document, { childList: true, subtree: true })"""


@pytest.mark.parametrize("kind", ["strip", "marks"])
def test_the_die_rests_before_its_result_is_told(kind: str, server: Server, fresh: Open) -> None:
    make = dn.krr if kind == "strip" else dn.oue
    survey = make(SYMBOLS, epsilon=1, name=f"Does it rest, as {kind}?")
    server.create(survey)
    page = fresh(viewport=PHONE)
    page.emulate_media(reduced_motion="no-preference")
    page.add_init_script(TELLING)
    page.goto(answer_link(server, survey))
    page.get_by_label("answer c", exact=True).check()
    page.get_by_role("button", name="Roll the die").click()
    page.get_by_role("button", name="Send this").wait_for()
    assert page.locator("#rolled-title").inner_text() == "Here is what will leave your device"
    assert "The die is rolling…" in page.evaluate("titles")
    assert page.locator("#fell").inner_text() != ""
    assert page.evaluate("told.then.length > 0")
    assert page.evaluate("document.getAnimations().length") == 0
    assert page.evaluate("told.then.join() == told.look().join()"), "nothing moved after it was told"
    assert page.locator("#sent").get_attribute("aria-live") == "polite"


def test_a_hidden_tab_does_not_wait_for_the_die(server: Server, fresh: Open) -> None:
    survey = dn.krr(SYMBOLS, epsilon=1, name="And in a hidden tab?")
    server.create(survey)
    page = fresh(viewport=PHONE)
    page.emulate_media(reduced_motion="no-preference")
    # No frame is ever drawn, as in a tab that is hidden; first from the start, then while the die rolls.
    page.add_init_script("window.requestAnimationFrame = () => 0")
    page.goto(answer_link(server, survey))
    page.get_by_label("answer c", exact=True).check()
    page.evaluate("window.setTimeout = () => 0")  # and no clock helps it
    page.get_by_role("button", name="Roll the die").click()
    page.get_by_role("heading", name="The die is rolling…").wait_for()
    assert page.locator("#send").is_hidden()
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    page.get_by_role("button", name="Send this").wait_for()


@pytest.mark.parametrize(
    ("epsilon", "said", "thanks"),
    [
        (1, "Nobody can tell what you chose.", "is counted, and nobody knows it."),
        (
            "3.29",
            "Nobody can be sure what you chose, but what is sent gives a clear hint.",
            "nobody can be sure of it.",
        ),
        (6, "What is sent hides your answer hardly at all", "Your answer is counted. This"),
    ],
)
def test_the_headline_follows_epsilon(epsilon: object, said: str, thanks: str, server: Server, fresh: Open) -> None:
    survey = dn.krr(SYMBOLS, epsilon=epsilon, name=f"How sure is it at {epsilon}?")
    server.create(survey)
    page = fresh(viewport=PHONE)
    page.goto(answer_link(server, survey))
    page.locator("#form").wait_for()
    assert said in page.locator("#lead").inner_text()
    assert "Nobody learns" not in page.locator("main").inner_text()
    page.get_by_label("answer c", exact=True).check()
    roll(page)
    page.get_by_role("button", name="Send this").click()
    thanked(page)
    assert thanks in page.locator("#status").inner_text()


def test_a_phone_does_not_change_what_is_written(server: Server, fresh: Open) -> None:
    survey = dn.orr(epsilon=2, cells=8, cohorts=4, seed=SEED, name="Which word, on a phone?")
    server.create(survey)
    page = fresh(viewport=PHONE)
    page.goto(answer_link(server, survey))
    field = page.locator("#text")
    off = {"autocapitalize": "off", "autocorrect": "off", "autocomplete": "off", "spellcheck": "false"}
    assert {name: field.get_attribute(name) for name in off} == off


def test_two_tabs_roll_once(server: Server, fresh: Open) -> None:
    survey = dn.krr(SYMBOLS, epsilon=1, name="In two tabs?")
    server.create(survey)
    one = fresh(viewport=PHONE)
    two = one.context.new_page()
    for page in (one, two):
        page.goto(answer_link(server, survey))
        page.get_by_label("answer c" if page is one else "answer d", exact=True).check()
    one.bring_to_front()  # a tab behind another takes seconds for a press
    roll(one)
    said = one.locator("#sent").inner_text()
    two.bring_to_front()
    two.get_by_role("button", name="Roll the die").click()
    two.get_by_role("button", name="Send this").wait_for()
    assert two.locator("#sent").inner_text() == said, "what the first tab rolled"
    two.get_by_role("button", name="Send this").click()
    thanked(two)
    assert counters(server, survey) == {"accepted": 1}
