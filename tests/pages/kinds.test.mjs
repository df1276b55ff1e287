/** Numbers, answers in an order and tables of weights on the answer page: what is drawn, and said of a report. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { readSurvey } from "../../src/deniable/service/pages/deniable.min.js";
import { kindOf } from "../../src/deniable/service/pages/kinds.js";
import { likeliest, oddsOf, scaleWords } from "../../src/deniable/service/pages/near.js";
import { denial, numbers, rolled, standsFor } from "../../src/deniable/service/pages/tables.js";
import { ending } from "../../src/deniable/service/pages/telling.js";
import { chance } from "../../src/deniable/service/pages/words.js";
import { read } from "./english.mjs";

const VECTORS = JSON.parse(readFileSync(new URL("../vectors/surveys.json", import.meta.url), "utf8"));
const surveys = VECTORS.map(({ text }) => JSON.parse(text));
const tables = surveys.filter(({ mechanism }) => /^(sensitive|blocks|budgets|table)/.test(mechanism.kind));

test("certain things are said to be certain", () => {
  assert.deepEqual(
    [0, 1, 0.5, 0.9997].map((one) => chance(one)),
    ["0%", "100%", "50%", "99.970%"],
  );
});

test("every survey of the vectors has a kind that reads it", async () => {
  assert.ok(tables.length > 3);
  for (const survey of surveys) {
    const kind = await kindOf(survey);
    const n = kind.numbers(survey);
    assert.ok(n.odds > 1 && Number.isFinite(n.odds), survey.name);
    assert.ok(!/undefined|NaN|Infinity/.test(kind.whatHappens(n)), kind.whatHappens(n));
  }
});

test("the strip of a table has the row that the client draws from", () => {
  for (const survey of tables) {
    const n = numbers(survey);
    const { row } = readSurvey(survey).mechanism;
    for (const place of [0, n.answers - 1]) {
      const weights = row(place).map((weight) => Number(weight) / 2 ** 64);
      const column = weights.findIndex((weight) => weight > 0);
      const { parts, place: fell, said } = rolled(n, [place], [column]);
      const sum = parts.reduce((total, { share }) => total + share, 0);
      assert.ok(Math.abs(sum - 1) < 1e-9);
      assert.equal(parts[fell].mine, standsFor(n, column).likeliest.includes(place));
      if (n.cells <= 24) {
        assert.equal(parts.length, weights.filter((weight) => weight > 0).length);
        assert.equal(parts[fell].share, weights[column]);
      }
      assert.equal(/another one/.test(said), !standsFor(n, column).likeliest.includes(place));
    }
  }
});

const sensitive = tables.find(({ mechanism }) => mechanism.kind === "sensitive" && mechanism.sensitive.length > 1);

test("a harmless answer that is sent as it is is said to be seen", () => {
  const n = numbers(sensitive);
  assert.equal(denial(n, [n.cells - 1]), "Whoever reads this knows that it is your answer: it needs no hiding here.");
  assert.match(
    denial(n, [0]),
    /^Nobody, including us, can tell whether .* You can honestly deny any sensitive answer\.$/,
  );
  assert.match(ending("sent", n)[0], /^Thank you\. Your answer is counted\. /, "no more than is so");
});

test("numbers of a scale are written as the language's other numbers are", () => {
  const n = { scale: true, reach: 0, answers: 2 };
  const alphabet = { low: "-0.5", high: "12000", bins: 2, outside: "clamp" };
  const named = ["-0.5 to 7", "7 to 12000"];
  read("ar", "ar-EG");
  try {
    for (const said of [scaleWords(alphabet), likeliest(n, 0, named), likeliest(n, 1, named)])
      assert.doesNotMatch(said, /[0-9]/);
    assert.match(likeliest({ ...n, scale: false }, 0, ["1st", "2nd"]), /1st/, "answers are the author's own");
    read("de");
    assert.match(scaleWords(alphabet), /-0,5 .* 12000/);
  } finally {
    read("en", "en-GB");
  }
  assert.equal(likeliest(n, 1, named), "7 to 12000");
});

test("a place near the ends of a scale stands for fewer answers", () => {
  const n = { scale: true, reach: 2, answers: 4, cells: 8, mine: 5, hit: 0.15, miss: 0.05, ends: ["0", "4"] };
  const names = ["0 to 1", "1 to 2", "2 to 3", "3 to 4"];
  assert.deepEqual(
    [0, 3, 7].map((cell) => likeliest(n, cell, names)),
    ["0 to 1", "0 to 4", "3 to 4"],
  );
  const { from, to, low, legend } = oddsOf(n, 3);
  assert.deepEqual([from, to], [3, 8]);
  assert.ok(Math.abs(low - 1 / 3) < 1e-12);
  assert.deepEqual(legend, [
    ["within 2 steps of your answer", "75%"],
    ["3 other places together", "25%"],
  ]);
});
