/** Refusals in the page's language, by the type of the problem document. */

import "./elements.mjs";
import assert from "node:assert/strict";
import { test } from "node:test";
import { Problem } from "../../src/deniable/service/pages/common.js";
import { problemText } from "../../src/deniable/service/pages/problems.js";
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
    assert.equal(said(new Problem(0, "Der Server antwortet nicht.")), "Der Server antwortet nicht.");
  } finally {
    read("en", "en-GB");
  }
});

test("what has no sentence is told as it came, in English", () => {
  const found = problemText(refusal("constructor", "something new"));
  assert.deepEqual([found.name, found.attributes.lang, found.textContent], ["bdi", "en", "Something new."]);
  assert.equal(problemText(new TypeError("x is not a function")).attributes.lang, "en");
});
