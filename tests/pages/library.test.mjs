/** What the library calls mechanisms, their parameters, decoders and shapes is said in the page's language. */

import "./elements.mjs";
import assert from "node:assert/strict";
import { test } from "node:test";
import { called } from "../../src/deniable/service/pages/common.js";
import { alternatives, mechanismWords } from "../../src/deniable/service/pages/planning.js";
import { read } from "./english.mjs";
import { python } from "./python.mjs";

const SAID = `
import json
from deniable.service.planning import _plan
from tests.surveys import LARGE, SMALL
print(json.dumps({
    "titles": sorted({survey.title for survey in [*SMALL.values(), *LARGE.values()]}),
    "plan": _plan({"n": 2000, "symbols": ["a", "b", "c", "d"], "sensitive": ["a"], "max_error": 0.05}),
}))`;
const said = python(SAID);
const ENGLISH = /[a-z]{3}|[a-z]{2} [a-z]/;
const all = () => [
  ...said.titles.map(called),
  mechanismWords(said.plan, {}),
  ...alternatives(said.plan).rows.map(([name]) => name),
];

test("no name or word of the library stays English on a page in Arabic", () => {
  assert.ok(said.titles.length > 10);
  assert.ok(said.titles.some((title) => title.endsWith(" (closed)")));
  assert.ok(said.plan.alternatives.some(({ parameters }) => parameters.startsWith("sets of")));
  read("ar");
  try {
    for (const one of all()) assert.doesNotMatch(one, ENGLISH);
    assert.match(called("an unknown mechanism"), ENGLISH, "and one that had no text would be found");
  } finally {
    read("en", "en-GB");
  }
  assert.equal(called("O-RR (closed)"), "O-RR (closed)");
});
