/** Surveys in a list: how they stand, and what a duplicate begins with. */

import "./english.mjs";
import assert from "node:assert/strict";
import { test } from "node:test";

import { draftOf, nameOf, standing } from "../../src/deniable/service/pages/surveys.js";

test("how a survey stands", () => {
  const told = (state, closes = null, final = false) => standing({ state, final, rules: { closes } });
  assert.equal(told("open"), "open");
  assert.match(told("open", "2999-02-03T10:00Z"), /^open until \d+ February 2999/);
  assert.equal(told("closed"), "closed");
  assert.match(told("closed", "2020-02-03T10:00Z"), /^ended on \d+ February 2020/);
  assert.equal(told("closed", "2999-02-03T10:00Z"), "closed", "closed by hand, before its date");
  assert.equal(told("closed", "2020-02-03T10:00Z", true), "closed for good");
});

test("a survey without a name is called by its digest", () => {
  assert.equal(nameOf({ survey: { name: "Yes?" }, digest: "ab".repeat(32) }), "Yes?");
  assert.equal(nameOf({ survey: { name: "" }, digest: "ab".repeat(32) }), "ab".repeat(8));
});

const RULES = { introduction: "Hello", thanks: "Bye", results: "public", minimum: 20, window: "hour" };
const survey = (name, epsilon = "1", alphabet = { symbols: ["yes", { int: "12345678901234567890" }] }) => ({
  name,
  alphabet,
  encoding: { kind: "direct" },
  mechanism: { epsilon },
});

test("a duplicate has another number, the same answers and the same epsilon", () => {
  const draft = draftOf({ survey: survey("Yes?", "1/3"), rules: RULES, reports: 40 });
  assert.equal(draft.question, "Yes? (2)");
  assert.deepEqual(draft.symbols, ["yes", "12345678901234567890"]);
  assert.deepEqual([draft.epsilon, draft.people], ["0.333333", 40]);
  assert.deepEqual(
    [draft.introduction, draft.thanks, draft.results, draft.minimum, draft.window],
    Object.values(RULES),
  );
  const name = (text) => draftOf({ survey: survey(text), rules: RULES }).question;
  assert.deepEqual(["Yes? (2)", "Yes? (99)", "(2)", "two\nlines"].map(name), [
    "Yes? (3)",
    "Yes? (100)",
    "(2) (2)",
    "two\nlines (2)",
  ]);
});

test("what is not known stays as the form has it", () => {
  const draft = draftOf({ survey: survey("Yes?", "2", { text: "folded" }), rules: RULES, reports: 9, looked: 1 });
  assert.deepEqual(
    [draft.symbols, draft.people, draft.candidates, draft.text],
    [undefined, undefined, undefined, "folded"],
  );
  const open = draftOf({ survey: survey("Yes?", "2", {}), rules: RULES, reports: 10, looked: 7 });
  assert.deepEqual([open.people, open.candidates, open.text], [10, 7, "exact"], "surveys before folding are exact");
});

test("a duplicate is answered as the survey is", () => {
  const kept = (more) => {
    const { kind, symbols, sensitive, low, high, bins, step, outside } = draftOf({
      survey: { ...survey("Yes?"), ...more },
      rules: RULES,
    });
    return { kind, symbols, sensitive, low, high, bins, step, outside };
  };
  const scale = { low: "0", high: "80", step: "0.5", outside: "refuse" };
  const number = kept({ alphabet: { kind: "number", ...scale }, encoding: { kind: "neighbours" } });
  assert.deepEqual(number, { kind: "number", ...scale, bins: undefined, symbols: undefined, sensitive: undefined });
  const ordered = kept({ alphabet: { symbols: ["a", "b"] }, encoding: { kind: "neighbours" } });
  assert.deepEqual([ordered.kind, ordered.symbols], ["ordered", ["a", "b"]]);
  const some = kept({ alphabet: { symbols: ["a", "b", "c"] }, mechanism: { epsilon: "1", sensitive: [0, 2] } });
  assert.deepEqual([some.kind, some.sensitive], ["closed", ["a", "c"]]);
});
