/** Cross-tables on the results page: cells of the picture, the table, and what is said of them. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { namesOf } from "../../src/deniable/service/pages/form.rows.js";
import { rangeNames } from "../../src/deniable/service/pages/naming.js";
import {
  heatMap,
  heatRows,
  independenceWords,
  legendWords,
  pairsOf,
  shareText,
  tableRows,
} from "../../src/deniable/service/pages/pairs.js";
import { labelled } from "../../src/deniable/service/pages/rows.js";
import { filled, fitted } from "../../src/deniable/service/pages/specification.js";
import { read } from "./english.mjs";
import { chartTemplates } from "./python.mjs";

const cell = (row, column, within_row, certain, reach = 0.05) => ({
  row,
  column,
  within_row,
  within_row_low: within_row === null ? null : within_row - reach,
  within_row_high: within_row === null ? null : within_row + reach,
  certain,
});
const PLAIN = { rows: String, columns: String };
const TOLD = {
  rows: { name: "age", symbols: ["young", 60] },
  columns: { name: "smokes", symbols: ["no", "yes"] },
  n: 1200,
  level: 0.95,
  cells: [
    cell("young", "no", 0.98, 1),
    cell("young", "yes", 0.02, -1),
    cell(60, "no", null, 0),
    cell(60, "yes", 0.5, 0),
  ],
  independence: { statistic: 9.1, degrees_of_freedom: 1, p_value: 0.0026, why_not: "" },
};

test("pairs are the questions of a form that were sent together", () => {
  const question = (name) => ({ name, title: `${name}?` });
  const form = {
    format: "deniable-form/1",
    parts: [{ questions: ["a", "c"] }, { questions: ["b"] }],
    questions: [question("a"), question("b"), question("c")],
  };
  assert.deepEqual(pairsOf(form), [[question("a"), question("c")]]);
  assert.deepEqual(pairsOf({ format: "deniable-survey/1" }), []);
});

test("small shares have a digit more, and nothing is below 0 or above 100 %", () => {
  assert.deepEqual([0.5, 0.031, -0.2, 1.3, null].map(shareText), ["50%", "3.1%", "0%", "100%", "not known"]);
});

test("cells of the picture say what is certain", () => {
  assert.deepEqual(heatRows(TOLD, PLAIN).slice(0, 3), [
    { row: "young", column: "no", share: "98%", certain: "surely more than by chance" },
    { row: "young", column: "yes", share: "2.0%", certain: "surely fewer" },
    { row: "60", column: "no", share: "not known", certain: "not certain" },
  ]);
});

test("the table has shares within rows, with limits inside 0 and 100 %", () => {
  const { heads, rows } = tableRows(TOLD, PLAIN);
  assert.deepEqual(heads, ["", "no", "yes"]);
  assert.deepEqual(rows, [
    ["young", "98.0% (93.0% to 100.0%)", "2.0% (0.0% to 7.0%)"],
    ["60", "not known", "50.0% (45.0% to 55.0%)"],
  ]);
});

test("the test of independence is a sentence without a Greek letter", () => {
  const said = (p_value) => independenceWords({ p_value });
  assert.match(said(0.0026), /^The answers are related: .* fewer than 0\.26 of 100 surveys\.$/);
  assert.match(said(1e-12), /fewer than 0\.01 of 100 surveys/);
  assert.match(said(0.37), /^It cannot be ruled out .* in 37 of 100 surveys\.$/);
  assert.match(said(null), /^Too few answers/);
  assert.match(legendWords(TOLD), /in 95 of 100 such tables all colours are right/);
});

test("the template of Python is filled: titles, words of the legend in the page's language, and rows", () => {
  const templates = chartTemplates();
  read("de");
  try {
    const what = heatMap(TOLD, { label: PLAIN, titles: { rows: "Alter", columns: "Raucht" } });
    const spec = filled(templates, what);
    assert.deepEqual(spec.datasets.rows, what.data.rows);
    const text = JSON.stringify({ ...spec, datasets: {} });
    assert.ok(text.includes('"title":"Alter"') && text.includes('"title":"Raucht"'));
    assert.ok(text.includes("sicher mehr als durch Zufall") && !text.includes("surely"));
    assert.ok(spec.description.startsWith("Kreuztabelle von Alter nach Raucht"));
    const wide = fitted(templates, what, { width: 600, dark: true });
    assert.equal(wide.width, 600);
    const legends = [wide, fitted(templates, what, { width: 320, dark: true })].map((one) =>
      /"columns":1/.test(JSON.stringify(one)),
    );
    assert.deepEqual(legends, [false, true], "on a phone a line a sentence");
  } finally {
    read("en", "en-GB");
  }
});

test("bins of numbers and what was left out are in the page's language, and what somebody listed is not", () => {
  const ages = namesOf({ alphabet: { kind: "number" }, skip: true });
  const listed = namesOf({ alphabet: { kind: "closed" } });
  const told = {
    ...TOLD,
    rows: { symbols: ["18 to 25.5", "no answer"] },
    columns: { symbols: ["18 to 25.5", "no answer"] },
  };
  const shown = () => {
    const { heads, rows } = tableRows(told, { rows: ages, columns: listed });
    return [...rows.map(([name]) => name), ...heads.slice(1)];
  };
  const own = ["18 to 25.5", "no answer"];
  assert.deepEqual(shown(), [...own, ...own]);
  assert.deepEqual(["7", "-2.5", 7].map(ages), ["7", "-2.5", "7"]);
  try {
    read("de");
    assert.deepEqual(shown(), ["18 bis 25,5", "keine Angabe", ...own]);
    read("ar", "ar-EG");
    const range = "\u2067\u2068١٨\u2069 إلى \u2068٢٥٫٥\u2069\u2069";
    assert.deepEqual(shown(), [range, "\u2067بلا إجابة\u2069", ...own]);
    assert.deepEqual(
      ["7", "-2.5"].map((one) => ages(one).replace(/[\u061c\u2067\u2069]/g, "")),
      ["٧", "-٢٫٥"],
    );
    assert.equal(listed("no answer"), "no answer");
    const [bin, sly] = [labelled([{ symbol: "18 to 25.5" }], ages), labelled([{ symbol: "a\u202eb" }], listed)];
    assert.equal(bin[0].name, ages("18 to 25.5"), "marks of the page's own words are not spelled out");
    assert.equal(sly[0].name, "a\\u202eb", "and those of others are");
    assert.deepEqual(
      heatRows({ cells: [cell("no answer", "no answer", 0.5, 0)] }, { rows: ages, columns: listed }).map(
        ({ row, column }) => [row, column],
      ),
      [["\u2067بلا إجابة\u2069", "no answer"]],
    );
  } finally {
    read("en", "en-GB");
  }
});

test("two ranges have the names of their days", () => {
  const symbols = ["2025-11-01T00 to 2025-11-03T00", "2025-11-03T00 to 2025-11-04T00"];
  const [against_from, against_to, from, to] = ["01", "03", "03", "04"].map((day) => `2025-11-${day}T00`);
  const names = () => symbols.map(rangeNames({ rows: { symbols }, against_from, against_to, from, to }, "day"));
  assert.deepEqual(names(), ["1 Nov 2025 to 2 Nov 2025", "3 Nov 2025"]);
  try {
    read("de");
    assert.deepEqual(names(), ["1. Nov. 2025 bis 2. Nov. 2025", "3. Nov. 2025"]);
  } finally {
    read("en", "en-GB");
  }
});
