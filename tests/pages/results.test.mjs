/** The results page: rows of charts, windows of time, charts as they are drawn, and what it says while it waits. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { decoderKey } from "../../src/deniable/service/pages/common.js";

import { dates } from "../../src/deniable/service/pages/naming.js";
import { dayOf, endOf, halves, incomparable } from "../../src/deniable/service/pages/periods.js";
import {
  bySize,
  changeRows,
  cut,
  estimateRows,
  firstDrawn,
  inOrder,
  labelled,
  trendRows,
} from "../../src/deniable/service/pages/rows.js";
import {
  decodedWords,
  latestWords,
  merged,
  noiseWords,
  readers,
  soFar,
  trendWords,
} from "../../src/deniable/service/pages/sofar.js";
import { filled, fitted, inTwo } from "../../src/deniable/service/pages/specification.js";
import { has } from "../../src/deniable/service/pages/texts.js";
import { read } from "./english.mjs";
import { python } from "./python.mjs";

const estimate = (symbol, probability, raw_low = probability - 0.1, raw_high = probability + 0.1) => ({
  symbol,
  probability,
  raw: probability,
  raw_low,
  raw_high,
});

test("intervals are cut to what a share or a change can be", () => {
  assert.deepEqual(cut(-0.2, 0.3), [0, 0.3]);
  assert.deepEqual(cut(0.9, 1.4), [0.9, 1]);
  assert.deepEqual(cut(-0.3, -0.1), [0, 0], "an interval below zero is a point at zero");
  assert.deepEqual(cut(-1.4, 0.2, -1), [-1, 0.2]);
  assert.deepEqual(cut(null, 0.5), [null, null]);
});

test("rows are sorted by size on a copy, or stay as they came", () => {
  const rows = [estimate("a", 0.2), estimate("b", 0.5), estimate("c", 0.3)];
  assert.deepEqual(
    bySize(rows).map((row) => row.symbol),
    ["b", "c", "a"],
  );
  assert.equal(inOrder(rows, "own"), rows);
  assert.deepEqual(
    inOrder(rows, "size").map((row) => row.symbol),
    ["b", "c", "a"],
  );
  assert.equal(rows[0].symbol, "a");
});

test("names differ where labels do not, hide nothing, and are none that an object knows", () => {
  const names = (...symbols) => labelled(symbols.map((symbol) => ({ symbol }))).map(({ name }) => name);
  const long = "x".repeat(30);
  assert.deepEqual(names(`${long}1`, `${long}2`), [`${"x".repeat(23)}…`, `${"x".repeat(23)}… (2)`]);
  assert.deepEqual(names("", "\u202eevil", "a\tb"), ['""', "\\u202eevil", "a\\u0009b"]);
  assert.deepEqual(names("👩\u200d🚀"), ["👩\u200d🚀"], "a joiner inside an emoji stays");
  assert.ok(!(names("constructor")[0] in {}));
});

test("rows of a chart: an answer whose interval is unknown has no value where others have one", () => {
  const [one, two] = estimateRows([estimate("a", 0.25), { ...estimate("b", 0), raw_low: null, raw_high: null }], true);
  assert.deepEqual([one.estimate, one.low, one.high, one.raw, one.value], [0.25, 0.15, 0.35, 0.25, "25.0%"]);
  assert.deepEqual([two.low, two.high, two.unknown, two.value], [null, null, true, null]);
  const [alone] = estimateRows([{ ...estimate("b", 0.5), raw_low: null, raw_high: null }], false);
  assert.deepEqual([alone.unknown, alone.value, alone.raw], [false, "50.0%", null]);
});

test("changes are sorted by how large they are, down or up", () => {
  const change = (symbol, raw) => ({ symbol, raw, raw_low: raw - 0.6, raw_high: raw + 0.6, changed: raw < 0 });
  const rows = changeRows([change("up", 0.2), change("down", -0.5), change("none", 0)]);
  assert.deepEqual(
    rows.map((row) => row.symbol),
    ["down", "up", "none"],
  );
  assert.deepEqual([rows[0].low, rows[0].clear], [-1, true]);
});

test("a trend has one row a window and answer, and rings where the window says so", () => {
  const windows = [
    { start: "2026-01-01T00", estimates: [estimate("a", 0.5), estimate({ int: "9" }, 0.5)], changed: [] },
    { start: "2026-01-02T00", estimates: [estimate({ int: "9" }, 0.8)], changed: [{ int: "9" }] },
  ];
  const rows = trendRows(windows, [
    { symbol: "a", name: "A" },
    { symbol: { int: "9" }, name: "nine" },
  ]);
  assert.deepEqual(
    rows.map(({ window, name, changed }) => [window, name, changed]),
    [
      ["2026-01-01T00:00", "A", false],
      ["2026-01-01T00:00", "nine", false],
      ["2026-01-02T00:00", "nine", true],
    ],
  );
  assert.equal(rows[2].high, 0.9);
});

test("a trend is smooth where windows were tracked, unless each is wanted alone", () => {
  const smooth = [{ symbol: "a", probability: 0.45, raw_low: 0.4, raw_high: 0.5 }];
  const windows = [{ start: "2026-01-01T00", estimates: [estimate("a", 0.5)], smooth, changed: [] }];
  const chosen = [{ symbol: "a", name: "A" }];
  assert.deepEqual(trendRows(windows, chosen)[0].estimate, 0.45);
  assert.deepEqual(trendRows(windows, chosen, true)[0].estimate, 0.5);
  assert.deepEqual(trendRows([{ ...windows[0], smooth: null }], chosen)[0].estimate, 0.5);
});

test("the last window against a normal one: what is unusual, and by how much", () => {
  const row = { name: "anxious", raw: 0.191, normal: 0.09, raw_low: 0.08, raw_high: 0.12, unusual: true };
  const words = (rows) => latestWords(rows, { window: "day", level: 0.95 });
  assert.match(
    words([row]),
    /^Other than on a normal day: anxious 19\.1%, normally 9\.0% \(8\.0 to 12\.0 points more\)\. Chance/,
  );
  assert.match(
    words([{ ...row, raw_low: -0.12, raw_high: -0.08 }]),
    /12\.0 points less\)\. .* once in 20 times\. Normal/,
  );
  assert.match(words([{ ...row, unusual: false }]), /^Nothing unusual\. Normal is the mean/);
  const alike = (cycle) => latestWords([], { window: "day", level: 0.95, cycle });
  assert.match(alike(7), /^Nothing unusual\. Days of the week differ here, so normal is the mean of the same weekday/);
  assert.match(alike(24), /^Nothing unusual\. Hours of the day differ here, so normal is the mean of the same hour/);
});

test("a trend shows what changed first, then the largest: four lines, or as many as changed, up to six", () => {
  const order = [..."abcdefghij"];
  const keys = (changed) =>
    firstDrawn(order, [{ changed }], 6)
      .map((one) => JSON.parse(one))
      .join("");
  assert.equal(keys([]), "abcd");
  assert.equal(keys(["j"]), "jabc");
  assert.equal(keys([..."jihgf"]), "fghij");
  assert.equal(keys([..."jihgfedc"]), "cdefgh");
});

test("windows in words, and the halves that are compared at first", () => {
  assert.equal(dayOf("2026-03-04T17", "hour"), "4 Mar 2026, 17:00");
  assert.equal(dayOf("2026-03-04T00", "day"), "4 Mar 2026");
  const windows = ["a", "b", "c", "d", "e"].map((start) => ({ start, end: `${start}'` }));
  assert.deepEqual(halves(windows), { "a-from": "a", "a-to": "b", "b-from": "c", "b-to": "e" });
  assert.deepEqual(halves(windows.slice(0, 2)), { "a-from": "a", "a-to": "a", "b-from": "b", "b-to": "b" });
  assert.deepEqual([endOf(windows, "c"), endOf(windows, ""), endOf([], "c")], ["c'", undefined, undefined]);
});

test("two times can be compared when each goes forward and the first is over before the second", () => {
  const at = (aFrom, aTo, bFrom, bTo) => incomparable({ aFrom, aTo, bFrom, bTo });
  assert.equal(at("1", "2", "3", "4"), "");
  assert.equal(at("1", "1", "2", "2"), "");
  for (const times of [
    ["2", "1", "3", "4"],
    ["1", "2", "4", "3"],
  ])
    assert.equal(at(...times), "Each of the two times must end after it begins.");
  assert.equal(at("1", "3", "3", "4"), "The time before must end before the time after begins.");
});

test("what is missing until there are results", () => {
  const rules = { minimum: 50, window: "day" };
  assert.deepEqual(soFar(12, rules, { closed: false, live: true }), {
    least: 50,
    count: "12 of 50 answers so far",
    words: "Results appear by themselves once 50 are in. Fewer would say too much about single people.",
  });
  assert.match(
    soFar(12, rules, { closed: false, live: false }).words,
    /once 50 are in and the day is over \(in UTC\)\. Fewer/,
  );
  assert.match(soFar(0, { minimum: 0, window: "day" }, { closed: false, live: true }).words, /once one is in\. Fewer/);
  const over = soFar(1200, rules, { closed: true, live: false });
  assert.equal(over.count, "1,200 answers");
  assert.match(over.words, /^Enough have answered\. Results appear by themselves once the day is over/);
  const few = (live) => soFar(1, rules, { closed: true, live }).words;
  assert.match(few(true), /^This survey has ended, .* reopen it below\.$/);
  assert.ok(!few(false).includes("reopen"));
});

test("a trend in words: how often it errs follows its level", () => {
  const told = (window, level) => trendWords({ window, level, windows: Array(12) });
  assert.match(told("day", 0.95), /^One point a day, 12 of them\. Each is estimated .* A ring .* once in 20 times\.$/);
  assert.match(
    told("hour", 0.99),
    /^One point an hour, 12 of them\. .* A ring marks an hour in which .* once in 100 times\.$/,
  );
  const single = { window: "day", level: 0.95, windows: [], problem: "tallies must determine every symbol" };
  assert.match(trendWords({ ...single, reason: "many" }), /alone\. They could not .*: Those are too many answers/);
  assert.match(trendWords({ ...single, reason: null }), /alone\. They could not .*: These answers cannot be evaluated/);
});

test("who sees what, and candidates that are one answer", () => {
  assert.match(readers({ window: "hour", minimum: 1000 }), /^Readers see an hour's answers once it is over/);
  assert.match(readers({ window: "day", minimum: 1000 }), /and 1,000 of them are in, so that/);
  assert.match(readers({ window: "day", minimum: 1 }), /and some are in, so that/);
  assert.equal(merged(3, 3), "");
  assert.equal(merged(3, 2), "1 of your 3 candidates is the same answer as another one, written differently.");
  assert.equal(merged(5, 3), "2 of your 5 candidates are the same answer as another one, written differently.");
});

const TEMPLATES = {
  series: 3,
  words: { "95 % interval": "charts.interval" },
  dark: { "#fff": "#000" },
  line: {
    title: "A title",
    datasets: { rows: [] },
    config: {},
    height: { step: 1 },
    layer: [
      { scale: { domain: ["a", "b", "c"], range: ["#111", "#222", "#333"] }, legend: { title: "95 % interval" } },
      { fill: "#fff", legend: { orient: "top", symbolSize: 9, symbolType: "circle" }, axis: { tickCount: 8 } },
    ],
  },
};

test("a template is filled with rows, names and its level, and stays as it is", () => {
  const before = JSON.stringify(TEMPLATES);
  const what = { chart: "line", data: { rows: [{ x: 1 }] }, level: 0.999, names: ["yes", "no"], description: "Two" };
  const made = filled(TEMPLATES, what);
  assert.deepEqual(made.datasets.rows, [{ x: 1 }]);
  assert.deepEqual(made.layer[0].scale, { domain: ["yes", "no"], range: ["#111", "#222"] });
  assert.equal(made.layer[0].legend.title, "99.9% interval");
  assert.deepEqual([made.title, made.description, made.height.step], [undefined, "Two", 30]);
  assert.equal(JSON.stringify(TEMPLATES), before);
});

test("a chart fits a phone and the dark, and its data are never recoloured", () => {
  const what = { chart: "line", data: { rows: [{ colour: "#fff" }], last: [{ label: "here" }] } };
  const narrow = fitted(TEMPLATES, what, { width: 300, dark: true });
  assert.equal(narrow.layer[1].fill, "#000");
  assert.equal(narrow.datasets.rows[0].colour, "#fff");
  assert.deepEqual(narrow.datasets.last, []);
  assert.deepEqual([narrow.layer[1].legend.columns, narrow.layer[1].axis.tickCount], [1, 4]);
  const wide = fitted(TEMPLATES, what, { width: 900, dark: false });
  assert.deepEqual([wide.layer[1].fill, wide.config.background], ["#fff", "transparent"]);
  assert.deepEqual([wide.layer[1].legend.columns, wide.layer[1].axis.tickCount], [4, 8]);
});

test("a long title is broken near its middle", () => {
  assert.deepEqual(inTwo("one two three four"), ["one two", "three four"]);
});

test("which intervals are shown where devices repeat their noise, from a case and numbers, in each language", () => {
  const nothing = { windows: null, wider: null, turnover: null, change: null };
  const some = { case: "some", windows: 20, wider: 3.8174, turnover: 0.05, change: 0.1 };
  assert.equal(noiseWords(null), "");
  const parts = [
    "20 windows share devices, which repeat their noise,",
    "but for 5% of devices that are replaced each window and 10% of answers that are drawn anew each window:",
    "intervals are 3.82 times those of as many people.",
  ];
  assert.equal(noiseWords(some), parts.join(" "));
  assert.match(noiseWords({ ...some, change: null }), /but for 5% of devices that are replaced each window: /);
  assert.match(noiseWords({ ...some, turnover: null }), /but for 10% of answers that are drawn anew each window: /);
  assert.match(noiseWords({ ...some, turnover: 0, change: null }), /but for 0% of devices/);
  const all = { ...nothing, case: "all", windows: 7, wider: Math.sqrt(7) };
  assert.match(noiseWords(all), /^7 windows may be of the same devices, .* 2\.65 times/);
  const others = ["unnamed", "unknown", "left_out"].map((one) => ({ ...nothing, case: one }));
  assert.equal(new Set(others.map(noiseWords)).size, 3);
  try {
    read("de");
    assert.match(noiseWords(some), /^20 Zeiträume haben .* bis auf 5\u00a0% der Geräte, .*/);
    assert.match(noiseWords(some), / und 10\u00a0% .* 3,82-mal/);
    read("ar", "ar-EG");
    for (const one of [some, all, ...others]) assert.doesNotMatch(noiseWords(one), /[A-Za-z0-9]/);
    assert.match(noiseWords(all), /٢٫٦٥/);
  } finally {
    read("en", "en-GB");
  }
});

test("how shares were decoded is said by the names of the page", () => {
  const found = { decoder: "WeightedLeastSquares", constraint: "Projected", intervals: null, mechanism: "k-RR" };
  const survey = { digest: "ab…", epsilons: "epsilon 2.00" };
  assert.equal(
    decodedWords(found, survey),
    "weighted least squares, projected; no intervals; k-RR; survey ab…; epsilon 2.00",
  );
  assert.equal(decoderKey("empirical-bayes-ordered"), "desk.decoder_empirical_bayes_ordered");
  try {
    read("de");
    assert.match(
      decodedWords(found, survey),
      /^gewichtete kleinste Quadrate, projiziert; keine Vertrauensintervalle; /,
    );
    read("ar");
    assert.deepEqual(decodedWords(found, survey).match(/[A-Za-z]{3,}/g), ["epsilon"]);
  } finally {
    read("en", "en-GB");
  }
});

test("every decoder and constraint of the library has a name in each language", () => {
  const code = [
    "import json",
    "from deniable.decoders import base, constraints",
    "import deniable",
    "kinds = base.Decoder, constraints.Constraint",
    "print(json.dumps([[one.__name__ for one in kind.__subclasses__()] for kind in kinds]))",
  ].join("\n");
  const [decoders, kinds] = python(code);
  assert.ok(decoders.length > 5 && kinds.length > 2);
  for (const name of decoders) assert.ok(has(decoderKey(name)), name);
  for (const name of kinds) assert.ok(has(`desk.constraint_${name.toLowerCase()}`), name);
  assert.ok(!has(decoderKey("Guessing")));
});

test("days and hours are written as the page's language does, and are those of UTC", () => {
  const day = ["2025-11-01T00", "2025-11-03T00", "day"];
  const hour = ["2025-11-01T22", "2025-11-01T23", "hour"];
  assert.equal(dates(...day), "1 Nov 2025 to 2 Nov 2025", "a range ends before its end");
  assert.equal(dates("2025-11-01T00", "2025-11-02T00", "day"), "1 Nov 2025");
  assert.equal(dates(...hour), "1 Nov 2025, 22:00 to 1 Nov 2025, 23:00");
  const [week, friday] = [["2026-11-16T00", "2026-11-23T00", "week"], Date.UTC(2026, 10, 20, 9, 30)];
  assert.equal(dates(...week, friday), "16 Nov 2026 to 20 Nov 2026 so far", "no day that has not come");
  assert.equal(dates(...week, friday + 3 * 864e5), "16 Nov 2026 to 22 Nov 2026");
  assert.equal(dates("2026-11-20T09", "2026-11-20T10", "hour", friday), "20 Nov 2026, 09:00 so far");
  try {
    read("de");
    assert.equal(dates(...week, friday), "16. Nov. 2026 bis 20. Nov. 2026, bisher");
    assert.equal(dates(...day), "1. Nov. 2025 bis 2. Nov. 2025");
    read("ar", "ar-EG");
    assert.match(dates(...day), /^\u2068١ نوفمبر ٢٠٢٥\u2069 إلى \u2068٢ نوفمبر ٢٠٢٥\u2069$/);
    assert.doesNotMatch(dates(...hour), /[0-9A-Za-z]/);
  } finally {
    read("en", "en-GB");
  }
});
