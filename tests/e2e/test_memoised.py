"""A device in a browser that is asked again and again: a copy of its stores has nothing to test a report against.

`test_stores.py` has the answer page, which asks once.
"""

import json
from pathlib import Path

import pytest

import deniable as dn
from tests.collector import Server
from tests.e2e.conftest import PHONE, Open
from tests.e2e.steps import answer_link
from tests.e2e.stores import read_stores, suspects

SYMBOLS = [f"answer {letter}" for letter in "abcdefghij"]
SOURCES = Path(__file__).parents[2] / "clients" / "js" / "src"
# A device that is asked again and again: what it sent, the same from a second client, and whether its key can be read.
AGAIN = """async ([survey, answer, how]) => {
  const { Client } = await import("/pages/client/index.js");
  const { browserClient } = await import("/pages/client/browser.js");
  const { deviceKey } = await import("/pages/client/key.js");
  const [key, same] = how == "with a key" ? await Promise.all([deviceKey(), deviceKey()]) : [];
  const options = { storage: localStorage };
  const made = (key) => how == "by default" ? browserClient(survey) : new Client(survey, { ...options, key });
  const client = await made(key);
  const report = [...(await client.report(answer)).pack()];
  const again = [...(await (await made(same)).report(answer)).pack()];
  if (how == "with a secret") return { report, again };
  const done = (request) => new Promise((resolve) => (request.onsuccess = () => resolve(request.result)));
  const database = await done(indexedDB.open("deniable-client/1"));
  const kept = await done(database.transaction("keys").objectStore("keys").get("device"));
  const read = await crypto.subtle.exportKey("raw", kept).then(() => "read", ({ name }) => name);
  return { report, again, read, keyed: [kept.extractable, key?.check == same?.check] };
}"""


@pytest.mark.slow
@pytest.mark.parametrize("how", ["by default", "with a key", "with a secret"])
def test_a_memoised_device_with_a_key_holds_nothing_to_test_a_report_against(
    how: str, server: Server, fresh: Open
) -> None:
    symbols = [*SYMBOLS, *(f"other {number}" for number in range(40))]
    survey = dn.oue(symbols, epsilon=2, name=f"Again and again, {how}?")
    server.create(survey)
    page = fresh(viewport=PHONE)
    page.route(
        "**/pages/client/*.js",
        lambda route: route.fulfill(
            body=(SOURCES / route.request.url.rsplit("/", 1)[1]).read_text(encoding="utf-8"),
            content_type="text/javascript",
        ),
    )
    page.goto(answer_link(server, survey))
    page.locator("#form").wait_for()
    told = page.evaluate(AGAIN, [json.loads(survey.to_json()), "answer c", how])
    assert told["report"] == told["again"], "the same answer gives the same bytes"
    found = suspects(read_stores(page), survey, symbols, bytes(told["report"]))
    if how != "with a secret":
        assert (told["read"], told["keyed"]) == ("InvalidAccessError", [False, True])
        assert found == set()
    else:
        assert found == {"answer c"}
