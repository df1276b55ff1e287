/** Charts in every language: no word of a template stays English, and numbers and dates are the language's own. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { numberLocale, timeLocale } from "../../src/deniable/service/pages/chart.language.js";
import { heatMap } from "../../src/deniable/service/pages/pairs.js";
import { planChart } from "../../src/deniable/service/pages/planning.js";
import { densityChart, meansChart } from "../../src/deniable/service/pages/quantities.js";
import { filled } from "../../src/deniable/service/pages/specification.js";
import { read } from "./english.mjs";
import { chartTemplates } from "./python.mjs";

const templates = chartTemplates();
const CHARTS = Object.keys(templates).filter((name) => templates[name].layer);

const TABLE = { cells: [], rows: { symbols: [] }, columns: { symbols: [] }, level: 0.95, n: 9, independence: {} };
const figure = { value: 2, low: 1, high: 3 };
const figures = { mean: figure, median: figure, "lower quartile": figure, "upper quartile": figure };
const NUMBERS = {
  estimates: [{ probability: 1 }],
  density: { edges: [0, 4], bands: [{ from: 0, to: 4, low: 0.5, high: 1 }] },
  figures,
  level: 0.9,
};
const MEANS = { windows: [{ start: "2026-11-15T00", figures }], level: 0.9 };
const whats = {
  crosstab: () => heatMap(TABLE, { label: String, titles: { rows: "سؤال", columns: "سؤال آخر" } }),
  density: () => densityChart(NUMBERS),
  means: () => meansChart(MEANS),
  plan: () => planChart({ mechanism: "OUE", n: 1000, epsilon: 1, lines: [{ mechanism: "best plan", n: 1e3 }] }),
};
const whatOf = (chart) => whats[chart]?.() ?? { chart, data: { rows: [] }, names: ["أ", "ب"] };

const NAMES = /\b(k-RR|k-RAPPOR|O-RR|O-RAPPOR|OUE|Hadamard|projective|n)\b/g; // of mechanisms and of a number

/** Every word of a specification that somebody reads. */
function words(spec) {
  const found = [];
  const look = (part, key) => {
    if (typeof part === "string" && ["title", "domain", "value"].includes(key)) found.push(part);
    else if (typeof part === "string" && ["calculate", "filter", "labelExpr"].includes(key))
      for (const [, one, two] of part.matchAll(/"([^"]*)"|'([^']*)'/g)) found.push(one ?? two);
    else if (part && typeof part === "object")
      for (const [name, inner] of Object.entries(part)) look(inner, Array.isArray(part) ? key : name);
    if (Array.isArray(part?.tooltip)) for (const one of part.tooltip) found.push(one.title ?? one.field);
  };
  look({ ...spec, datasets: undefined });
  return found.filter((said) => !/^(#\w+|width|[+.,~\d]*[a-z%]?|g|%[a-zA-Z ,:%]*)$/.test(said.trim()));
}

const english = (said) => /[a-z]{2}/.test(said.replace(NAMES, ""));

test("every word that a template shows has a text, and none stays English", () => {
  assert.ok(CHARTS.length > 8);
  read("ar");
  try {
    for (const chart of CHARTS)
      for (const said of words(filled(templates, whatOf(chart)))) assert.ok(!english(said), `${chart}: ${said}`);
    // And the test would see it: a template with one word more.
    const odd = { ...templates, odd: { ...templates.estimate, layer: [{ encoding: { x: { title: "a new axis" } } }] } };
    assert.ok(words(filled(odd, whatOf("odd"))).some(english));
    const bare = { ...templates, odd: { config: {}, datasets: {}, layer: [{ tooltip: [{ field: "something" }] }] } };
    assert.ok(words(filled(bare, whatOf("odd"))).some(english));
  } finally {
    read("en", "en-GB");
  }
});

test("rows are named as the legend has it, and an answer that is spelled like a word of a chart stays", () => {
  read("de");
  try {
    const { density } = { density: filled(templates, whats.density()) };
    const kinds = words(density).filter((said) => said.includes("Intervall"));
    assert.ok(kinds.includes("90\u00a0%-Intervall eines Bereichs"), String(kinds));
    const rows = density.datasets.rows.map(({ kind }) => kind);
    assert.deepEqual(rows, ["Dichte", "90\u00a0%-Intervall eines Bereichs"]);
    assert.ok(JSON.stringify(density).includes('datum.kind == \\"Mittel\\"'));
    const data = { rows: [{ window: "2026-11-15T00:00", name: "estimate", estimate: 0.5 }] };
    const trend = filled(templates, { chart: "trend", data, names: ["estimate", "from"] });
    assert.equal(trend.datasets.rows[0].name, "estimate");
    assert.ok(JSON.stringify(trend).includes('"domain":["estimate","from"]'));
  } finally {
    read("en", "en-GB");
  }
});

test("numbers and dates of charts are those of the language", () => {
  const of = (language, locale) => {
    read(language, locale);
    return [numberLocale(), timeLocale()];
  };
  try {
    const [german, dates] = of("de", "de-DE");
    assert.deepEqual([german.decimal, german.thousands, german.percent], [",", ".", "\u00a0%"]);
    assert.deepEqual([dates.date, dates.days[0], dates.months[11]], ["%d.%m.%Y", "Sonntag", "Dezember"]);
    const [arabic, months] = of("ar", "ar-EG");
    assert.deepEqual([arabic.decimal, arabic.thousands, arabic.numerals[5]], ["٫", "٬", "٥"]);
    assert.match(arabic.percent, /^٪/);
    assert.equal(months.shortMonths[10], "نوفمبر");
    assert.equal(months.date, "%d/%m/%Y");
    assert.match(JSON.stringify(filled(templates, whatOf("trend"))), /regexp\('5', 'g'\), '٥'/);
    const [british, days] = of("en", "en-GB");
    assert.deepEqual([british.decimal, british.thousands, british.percent, british.minus], [".", ",", "%", "-"]);
    assert.deepEqual([days.date, days.shortDays[1]], ["%d/%m/%Y", "Mon"]);
    assert.equal(of("en", "en-US")[1].date, "%m/%d/%Y");
    assert.doesNotMatch(JSON.stringify(filled(templates, whatOf("trend"))), /regexp/);
  } finally {
    read("en", "en-GB");
  }
});
