/** Refusals in the page's language, by the type of the problem document. */

import "./elements.mjs";
import assert from "node:assert/strict";
import { test } from "node:test";
import { Problem } from "../../src/deniable/service/pages/common.js";
import { alarmTexts, problemText } from "../../src/deniable/service/pages/problems.js";
import { read } from "./english.mjs";

const refusal = (word, detail) => new Problem(409, detail, { type: `urn:deniable:problem:${word}`, detail });
const said = (problem) => problemText(problem).textContent ?? problemText(problem);

test("a refusal is a sentence of the page's language", () => {
  read("de");
  try {
    const few = refusal("too-few", "results are shown from 50 reports on; there are 3");
    assert.equal(said(few), "In diesem Bereich sind zu wenige Antworten, um Ergebnisse zu zeigen.");
    // A type with many reasons says which one, as the collector does.
    const found = problemText(refusal("survey", "minimum must be a positive number"));
    assert.match(found.textContent, /^Der Server nimmt diese Umfrage oder ihre Regeln nicht an\. Minimum must be/);
    assert.equal(found.children.find((one) => one.name === "bdi").attributes.lang, "en");
    const told = { type: "urn:deniable:problem:survey", reason: "past" };
    assert.equal(
      problemText(new Problem(422, "closes must be in the future", told)),
      "Der Server nimmt diese Umfrage oder ihre Regeln nicht an. Das Enddatum muss in der Zukunft liegen. Um eine " +
        "Umfrage jetzt zu beenden, schließen Sie sie.",
    );
    assert.equal(said(new Problem(0, "Der Server antwortet nicht.")), "Der Server antwortet nicht.");
  } finally {
    read("en", "en-GB");
  }
});

test("an alarm is a sentence of the page's language, by the test that failed", () => {
  const failed = { p_value: 1e-9 };
  const passed = { p_value: 0.4 };
  read("ar");
  try {
    const told = alarmTexts({ fit: failed, cohorts: passed, floor: failed, alarms: ["one", "two", "three"] });
    assert.deepEqual([told.length, told.every((said) => /\p{Script=Arabic}/u.test(said))], [3, true]);
  } finally {
    read("en", "en-GB");
  }
  assert.match(alarmTexts({ fit: failed, cohorts: null, floor: null, alarms: ["one"] })[0], /do not fit these/);
  assert.match(alarmTexts({ fit: passed, cohorts: null, floor: null, alarms: ["one"] })[0], /too few cohorts/);
  assert.deepEqual(alarmTexts({ fit: passed, cohorts: failed, floor: null, alarms: [] })[0], undefined);
  const unknown = alarmTexts({ fit: null, cohorts: null, floor: null, alarms: ["one", "two"] });
  assert.deepEqual(
    unknown.map(({ textContent }) => textContent),
    ["one", "two"],
  );
});

test("what has no sentence is told as it came, in English", () => {
  const found = problemText(refusal("constructor", "something new"));
  assert.deepEqual([found.name, found.attributes.lang, found.textContent], ["bdi", "en", "Something new."]);
  assert.equal(problemText(new TypeError("x is not a function")).attributes.lang, "en");
});
