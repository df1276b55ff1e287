"""All traffic of the answer page, read: it must say no more about the answer than the channel does.

The page's randomness is replaced by a stream that a seed fixes, so that a run is a function of (seed, answer). Two
things are asked of it:

* whatever leaves, and whatever the browser keeps, is a function of (seed, what the channel gave): where two answers
  gave the same, every request and every store is the same, byte for byte, in the same order;
* what the channel gave is what the client gives on those words, and its law is proved (clients/js/test/law.test.js).

Together: beyond the channel's output nothing in the traffic depends on the answer. Times between requests are not read.
"""

import json
import re
from itertools import combinations
from typing import Any, NamedTuple

import pytest
from playwright.sync_api import Browser, Page, Route

import deniable as dn
from tests.collector import Server
from tests.e2e.conftest import PATIENCE
from tests.e2e.steps import SYMBOLS, answer_link, choose_and_roll, survey_of, thanked
from tests.e2e.stores import read_stores

pytestmark = pytest.mark.slow

SEEDS = range(5)
DAY = re.compile(r"day=\d+$")  # that of the roll, which may be midnight
STAMP = re.compile(r"[0-9a-f]{64}(?=\{)|(?<=\\\\\\\":)\d{5}(?=\})")
SURVEY: dn.Survey = survey_of("What was sent?", epsilon=0.5)

# A small generator in place of the platform's: every page gets the same words from the same seed.
SEEDED = """(() => {
  let state;
  globalThis.reseed = () => (state = %d);
  reseed();
  const next = () => {
    state = (state + 0x9e3779b9) | 0;
    let z = state ^ (state >>> 16);
    z = Math.imul(z, 0x21f0aaad);
    z ^= z >>> 15;
    z = Math.imul(z, 0x735a2d97);
    return (z ^ (z >>> 15)) & 255;
  };
  crypto.getRandomValues = (array) => {
    const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
    for (let i = 0; i < bytes.length; i++) bytes[i] = next();
    return array;
  };
  Math.random = () => 0.5;
})()"""


class Run(NamedTuple):
    """Everything that left the page or was kept by it, and the payload in it."""

    traffic: list[Any]
    payload: bytes


@pytest.fixture(scope="module")
def asked(server: Server) -> Server:
    server.create(SURVEY)
    return server


def run(browser: Browser, server: Server, seed: int, answer: str, mutant: tuple[str, str] | None = None) -> Run:
    """Answer once, in a browser that was never here."""
    context = browser.new_context(reduced_motion="reduce")
    try:
        context.set_default_timeout(PATIENCE)
        context.add_init_script(SEEDED % (seed * 7919))
        page = context.new_page()
        sent: list[Any] = []
        page.on("request", lambda request: sent.append(request))
        if mutant is not None:
            page.route("**/pages/answer.js", lambda route: _change(route, mutant))
        page.goto(answer_link(server, SURVEY))
        choose_and_roll(page, answer)
        kept = [_stores(page)]
        page.get_by_role("button", name="Send this").click()
        thanked(page)
        kept.append(_stores(page))
        # Two frames later the page has done what it does after its thanks.
        page.evaluate("() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
        traffic = [
            (
                one.method,
                DAY.sub("day", one.url),
                sorted(one.all_headers().items()),
                (one.post_data_buffer or b"").hex(),
            )
            for one in sent
        ]
        (upload,) = [one for one in sent if "/reports" in one.url]
        return Run([traffic, kept], (upload.post_data_buffer or b"")[-1:])
    finally:
        context.close()


def _stores(page: Page) -> str:
    """All stores, without the day of the roll and what is computed over it."""
    return STAMP.sub("", json.dumps(read_stores(page), sort_keys=True))


def _change(route: Route, mutant: tuple[str, str]) -> None:
    response = route.fetch()
    text = response.text()
    assert text.count(mutant[0]) == 1, "the page has changed; so must its mutant"
    route.fulfill(response=response, body=text.replace(*mutant))


def expected(browser: Browser, server: Server, seed: int) -> dict[str, bytes]:
    """What the client alone gives on the words of a seed, for every answer."""
    context = browser.new_context()
    try:
        context.set_default_timeout(PATIENCE)
        context.add_init_script(SEEDED % (seed * 7919))
        page = context.new_page()
        page.goto(answer_link(server, SURVEY))
        page.locator("#form").wait_for()
        code = """async ([survey, answers]) => {
          const { Client } = await import("/pages/deniable.min.js");
          return answers.map((answer) => {
            reseed();
            return [...new Client(survey, { memoize: false }).report(answer).payload];
          });
        }"""
        found = page.evaluate(code, [json.loads(SURVEY.to_json()), SYMBOLS])
        return {answer: bytes(payload) for answer, payload in zip(SYMBOLS, found, strict=True)}
    finally:
        context.close()


Runs = dict[tuple[int, str], Run]
Given = dict[tuple[int, str], bytes]


def meetings(runs: Runs) -> list[tuple[Run, Run]]:
    """Runs of one seed in which two answers gave the same report."""
    return [
        (one, two)
        for (seed, answer), one in runs.items()
        for (other_seed, other), two in runs.items()
        if seed == other_seed and answer < other and one.payload == two.payload
    ]


def told_apart(runs: Runs, given: Given) -> list[str]:
    """Where the traffic says more than the channel: nowhere, for a page that is as it should be."""
    unlike = [f"{key} was not sent through the channel" for key, one in runs.items() if one.payload != given[key]]
    met = [one.payload for one, two in meetings(runs) if one.traffic != two.traffic]
    return unlike + [f"two answers gave {payload!r} and other traffic" for payload in met]


@pytest.fixture(scope="module")
def given(browser: Browser, asked: Server) -> Given:
    return {(seed, answer): one for seed in SEEDS for answer, one in expected(browser, asked, seed).items()}


def test_traffic_says_no_more_than_the_channel(browser: Browser, asked: Server, given: Given) -> None:
    runs = {(seed, answer): run(browser, asked, seed, answer) for seed in SEEDS for answer in SYMBOLS}
    assert told_apart(runs, given) == []
    assert len(meetings(runs)) >= 3, "too few answers met for the test to say anything; choose other seeds"
    assert len({run.payload for run in runs.values()}) == 3, "all outcomes were seen"


MUTANTS = {
    "a request more for one answer": (
        '$("form").reset();',
        "if (truth[0] == 1) fetch('/healthz'); $(\"form\").reset();",
    ),
    "the answer in an address": ('$("form").reset();', "fetch('/healthz?' + truth); $(\"form\").reset();"),
    "the answer in a header": (
        '$("form").reset();',
        "fetch('/healthz', { headers: { 'x-page': String(truth) } }); $(\"form\").reset();",
    ),
    "the answer in a random number": (
        "try {if (!(await alone(",
        """
        const draw = crypto.getRandomValues;
        crypto.getRandomValues = (array) => {
          draw(array);
          if (array.length == 16) array[0] = value.length;
          return array;
        };
        try {
          if (!(await alone(""",
    ),
    "no noise": (
        "memoize: Boolean(window), key",
        "memoize: Boolean(window), key, entropy: { width: 64, word: () => 0n }",
    ),
    "the answer in a store": ('$("form").reset();', 'sessionStorage.seen = truth; $("form").reset();'),
    "a cookie": ('$("form").reset();', 'document.cookie = `seen=${truth}`; $("form").reset();'),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_page_that_leaks_is_found_out(browser: Browser, asked: Server, given: Given, name: str) -> None:
    # Two answers that give the same report in the same seed.
    seed, one, two = next(
        (seed, one, two)
        for seed in SEEDS
        for one, two in combinations(SYMBOLS, 2)
        if given[seed, one] == given[seed, two]
    )
    runs = {(seed, answer): run(browser, asked, seed, answer, MUTANTS[name]) for answer in (one, two)}
    assert told_apart(runs, given) != []
