/** The ask page and the explore page: what the planner is asked, a plan in words, and the order of mechanisms. */

import "./english.mjs";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import {
  alternatives,
  bothNumbers,
  epsilonUp,
  firstMeanError,
  mechanismWords,
  planChart,
  refusal,
  request,
  scaleWords,
  sharpness,
  visible,
} from "../../src/deniable/service/pages/planning.js";
import { compared, crowdAt, inWords, settingsOf, tableRows } from "../../src/deniable/service/pages/ranking.js";
import { filled } from "../../src/deniable/service/pages/specification.js";

const FORM = {
  kind: "closed",
  goal: "error",
  name: "Yes?",
  symbols: ["yes", "no"],
  text: "folded",
  limits: ["0.001", "12"],
  people: "1000",
  error: "5",
  epsilon: "1",
  candidates: "50",
};

test("the scale of epsilon is one sentence", () => {
  assert.equal(
    scaleWords(),
    "Smaller is more private: up to 1 is very strong privacy, up to 2 is strong privacy, up to 3 is moderate " +
      "privacy, up to 4 is weak privacy, more is hardly any privacy",
  );
});

test("a form that is filled in is a question for the planner", () => {
  assert.deepEqual(request(FORM), { n: 1000, name: "Yes?", symbols: ["yes", "no"], max_error: 0.05 });
  assert.deepEqual(request({ ...FORM, goal: "epsilon", kind: "open", people: "99.6" }), {
    n: 100,
    name: "Yes?",
    candidates: 50,
    text: "folded",
    epsilon: "1",
    metric: "max",
  });
});

for (const [fields, said] of [
  [{ name: "" }, "Write your question first."],
  [{ symbols: ["yes"] }, "Write at least two answers, one a line."],
  [{ people: "9" }, "Say how many people will answer: 10 or more."],
  [{ people: " " }, "Say how many people will answer: 10 or more."],
  [{ people: "many" }, "Say how many people will answer: 10 or more."],
  [{ error: "0" }, "Say how far off a share may be: more than 0 and less than 100 percentage points."],
  [{ error: "100" }, "Say how far off a share may be: more than 0 and less than 100 percentage points."],
  [{ goal: "epsilon", epsilon: "" }, "Say which epsilon you want to offer: from 0.001 to 12."],
  [{ goal: "epsilon", epsilon: "12.1" }, "Say which epsilon you want to offer: from 0.001 to 12."],
  [{ kind: "open", candidates: "1" }, "Say how many different answers you will look for: 2 or more."],
])
  test(`what is missing: ${JSON.stringify(fields)}`, () => {
    assert.equal(request({ ...FORM, ...fields }), said);
  });

test("fields that are not asked about may be empty", () => {
  assert.equal(typeof request({ ...FORM, epsilon: "", candidates: "" }), "object");
  assert.equal(typeof request({ ...FORM, goal: "epsilon", error: "" }), "object");
  assert.equal(typeof request({ ...FORM, kind: "open", symbols: [] }), "object");
});

const SCALE = { kind: "number", low: "0", high: "80", by: "bySteps", step: "0.5", bins: "16", outside: "refuse" };

test("a number is asked for by its scale and the error of its mean", () => {
  const number = { ...FORM, ...SCALE, mean_error: "2.5" };
  const asked = { n: 1000, name: "Yes?", number: ["0", "80"], outside: "refuse" };
  assert.deepEqual(request(number), { ...asked, step: "0.5", max_mean_error: 2.5 });
  assert.deepEqual(request({ ...number, by: "byBins", goal: "epsilon" }), { ...asked, bins: 16, epsilon: "1" });
  for (const [fields, said] of [
    [{ low: "80" }, "Say which numbers there are: the smallest, and a larger one."],
    [{ high: "" }, "Say which numbers there are: the smallest, and a larger one."],
    [{ step: "3" }, "Say in which steps numbers are counted: some of them must lead from the smallest to the largest."],
    [{ step: "0.01" }, "Count numbers in 2 to 4,096 steps or bins."],
    [{ by: "byBins", bins: "1" }, "Count numbers in 2 to 4,096 steps or bins."],
    [{ by: "byBins", bins: "7.5" }, "Count numbers in 2 to 4,096 steps or bins."],
    [{ mean_error: "0" }, "Say how far off the mean may be: more than 0."],
  ])
    assert.equal(request({ ...number, ...fields }), said);
  assert.deepEqual([firstMeanError(SCALE), firstMeanError({ kind: "ordered" })], [4, 0.3]);
  const stars = (count) => ({ kind: "ordered", symbols: Array(count).fill("") });
  assert.deepEqual(
    [5, 11, 21].map((count) => firstMeanError(stars(count))),
    [0.3, 0.5, 1],
  );
});

test("answers in an order, and those of which only some are sensitive", () => {
  const symbols = ["never", "often", "daily"];
  assert.deepEqual(request({ ...FORM, kind: "ordered", symbols, mean_error: "0.2" }), {
    n: 1000,
    name: "Yes?",
    ordered: symbols,
    max_mean_error: 0.2,
  });
  const some = request({ ...FORM, symbols, sensitive: ["daily"] });
  assert.deepEqual([some.symbols, some.sensitive, some.max_error], [symbols, ["daily"], 0.05]);
  assert.equal(request({ ...FORM, symbols, sensitive: symbols }).sensitive, undefined, "all of them is as none");
});

test("a plan for a mean says how exact it is, and what cannot be had", () => {
  const errors = { mean: { bound: 4.9832 } };
  assert.deepEqual(sharpness({ errors }, { scale: true }), [["± 5", "the mean, in 9 of 10 surveys"]]);
  const { seen, unseen } = visible({ errors }, { odds: Math.E, scale: true });
  assert.equal(seen[0], "the mean, up to about 5 either way");
  assert.deepEqual(unseen.at(-1), "differences of means below about 5");
  assert.match(mechanismWords({ mechanism: "SW", errors }, { cells: 94, mine: 31 }), /^SW, .*94 places, .* has 31\./);
  const told = {
    alternatives: [
      { n: 50, error: 18.159, privacy: "strong", epsilon: 2 },
      { n: 17000, error: 1, privacy: "strong", epsilon: 2 },
    ],
  };
  const now = { n: 50, number: ["0", "100"], step: "1", max_mean_error: 1 };
  const { said, ways } = refusal({ message: "no", told }, now);
  assert.equal(said, "50 people are too few to know the mean up to ± 1.");
  assert.deepEqual(
    ways.map(({ bold, rest }) => bold + rest),
    ["About ± 19 with strong privacy", "Ask about 17,000 people: About ± 1 with strong privacy"],
  );
  assert.match(
    refusal({ message: "no", told }, { ...now, step: undefined, bins: 10 }).said,
    /half a bin is 5\. Use more/,
  );
});

test("the crowd's number stands beside epsilon, rounded up, with what it rests on", () => {
  const crowd = { n: 1000, delta: 1e-6, epsilon: 0.131572, problem: null, reason: null };
  const { numbers, rests } = bothNumbers(1, crowd);
  assert.deepEqual(numbers, [
    ["epsilon 1", "for whoever sees a single report, the collector included"],
    ["epsilon 0.132", "for whoever sees only the counts of 1,000 people"],
  ]);
  for (const part of ["order, the time and the sender", "1,000 honest people", "one round", "one time in 1,000,000"])
    assert.ok(rests.includes(part), part);
  assert.deepEqual(bothNumbers(2, { ...crowd, epsilon: 2 }), {
    numbers: [["epsilon 2", "for whoever sees a single report, the collector included"]],
    rests: "A crowd of 1,000 is too small to add anything that can be certified.",
  });
  const none = bothNumbers(2, { ...crowd, epsilon: null, reason: "certain" });
  assert.match(none.rests, /^What a crowd adds cannot be said here: some reports can only come from certain answers/);
  const slow = bothNumbers(2, { ...crowd, epsilon: null, reason: "slow" });
  assert.match(slow.rests, /cannot be said here: it takes longer to compute than this page waits\.$/);
  assert.equal(none.numbers.length, 1);
  assert.deepEqual([0.0684321, 2, 12.3401, 0.000267025].map(epsilonUp), ["0.0685", "2", "12.4", "0.000268"]);
});

test("what a plan shows, and what it does not, follows its error and its epsilon", () => {
  const plan = { errors: { max_error: { mean: 0.02, bound: 0.05 } }, smallest_visible: 0.04 };
  const { seen, unseen } = visible(plan, { odds: Math.E });
  assert.deepEqual(seen, [
    "every answer that 4.0% of people or more give",
    "each share, up to about 5.0 points either way",
  ]);
  assert.deepEqual(unseen.slice(0, 2), [
    "what anyone answered",
    "answers that fewer than 4.0% give: they may look like none",
  ]);
  const weak = visible({ ...plan, smallest_visible: null }, { odds: Math.exp(3.5) });
  assert.deepEqual(weak.seen[0], "hardly any single answer for certain");
  assert.deepEqual(weak.unseen.slice(0, 2), ["for certain what anyone answered, though you get hints", "rare answers"]);
  const none = visible(plan, { odds: Math.exp(6) });
  assert.equal(none.unseen[0], "with full certainty what anyone answered, though you can come close");
});

test("a plan for experts", () => {
  const plan = {
    mechanism: "SS",
    parameters: "size 2",
    report_bytes: 3,
    decoder: "EmpiricalBayes, Projected",
    repeats: 40,
    shape: "even",
    errors: {},
  };
  assert.equal(
    mechanismWords({ ...plan, shapes: [1, 2, 3] }),
    "SS, size 2; 3 bytes a report; decoded by empirical Bayes, projected; 40 surveys simulated; " +
      "answers taken to be even, the worst of 3 shapes for this error.",
  );
  assert.match(mechanismWords({ ...plan, parameters: "", shapes: [] }), /^SS; 3 bytes/);
  const others = [
    { mechanism: "OUE", parameters: "", needs: 1.23456 },
    { mechanism: "k-RR", parameters: "k 3", needs: null },
  ];
  assert.deepEqual(alternatives({ found: "epsilon", alternatives: others }), {
    heads: ["instead", "needs epsilon"],
    rows: [
      ["OUE", "1.23"],
      ["k-RR k 3", "cannot"],
    ],
  });
  assert.equal(alternatives({ found: "error", alternatives: [] }).heads[1], "largest error, as a share");
});

test("what cannot be had is said in the form's units, and what can is offered", () => {
  const told = {
    alternatives: [
      { n: 100, error: 0.123, privacy: "weak", epsilon: 4 },
      { n: 5000, error: 0.05, privacy: "strong", epsilon: 2 },
    ],
  };
  const { said, ways } = refusal({ message: "no", told }, { n: 100, max_error: 0.05 });
  assert.equal(said, "100 people are too few to know every share up to ± 5 points.");
  assert.deepEqual(
    ways.map(({ n, epsilon, bold, rest }) => [n, epsilon, bold, rest]),
    [
      [100, 4, "About ± 12 points with weak privacy", ""],
      [5000, 2, "Ask about 5,000 people", ": About ± 5 points with strong privacy"],
    ],
  );
  assert.deepEqual(refusal({ message: "no plan", told: {} }, { n: 1, max_error: 0.1 }), { said: "No plan.", ways: [] });
});

test("the chart of a plan keeps to its people, and to mechanisms that it shows", () => {
  const line = (mechanism, n) => ({ mechanism, n, epsilon: 1 });
  const lines = [line("best plan", 1000), line("OUE", 900), line("k-RR", 10_000_000)];
  const { data, patch, description, kinds } = planChart({ mechanism: "OUE", n: 1000, epsilon: 0.0456, lines });
  assert.deepEqual(
    data.rows.map((row) => row.mechanism),
    ["best plan", "OUE"],
  );
  assert.equal(description, "Epsilon against the number of people; planned: epsilon 0.0456, 1,000 people");
  const colours = { domain: ["best plan", "k-RR", "OUE"], range: ["red", "green", "blue"] };
  const templates = { words: {}, plan: { config: {}, datasets: {}, layer: [colours] } };
  assert.deepEqual(filled(templates, { chart: "plan", data, kinds }).layer[0], {
    domain: ["best plan", "OUE"],
    range: ["red", "blue"],
  });
  const across = { field: "n", scale: {}, axis: {} };
  patch(across);
  assert.deepEqual([across.scale.domain, across.axis.values], [[750, 1200], [1000]]);
  assert.equal(across.axis.labelExpr, '({"1000":"1k"})[datum.value]');
  const up = { field: "epsilon", scale: {} };
  patch(up);
  assert.ok(up.scale.domain[0] < 0.0456);
});

const [CURVES, MEASURED] = ["curves", "decoded"].map((name) =>
  JSON.parse(readFileSync(new URL(`../../src/deniable/service/pages/${name}.json`, import.meta.url), "utf8")),
);
const SLIDERS = { size: "8", people: "4", epsilon: "-0.3", population: "zipf", power: "1", cells: "0" };

test("sliders are logarithms of round numbers", () => {
  const told = settingsOf({ ...SLIDERS, people: "3.3" });
  assert.deepEqual(told, { S: 256, n: 2000, epsilon: 0.5, name: "zipf", power: 1, cells: 0 });
});

test("the table of crowds has every position of the sliders, and a crowd never takes anything away", () => {
  const crowd = JSON.parse(
    readFileSync(new URL("../../src/deniable/service/pages/crowd.json", import.meta.url), "utf8"),
  );
  const steps = (from, to, step) =>
    Array.from({ length: Math.round((to - from) / step) + 1 }, (_, i) => from + i * step);
  for (const people of steps(2, 8, 0.2))
    for (const epsilon of steps(-1, 0.9, 0.05)) {
      const settings = settingsOf({ ...SLIDERS, people: people.toFixed(1), epsilon: epsilon.toFixed(2) });
      assert.ok(crowd.people.includes(settings.n) && crowd.epsilons.includes(settings.epsilon), `${people} ${epsilon}`);
      const found = crowdAt(crowd, settings);
      assert.ok(found.epsilon > 0 && found.epsilon <= settings.epsilon);
    }
  for (const row of crowd.central) for (let i = 1; i < row.length; i++) assert.ok(row[i] <= 1.02 * row[i - 1]);
});

test("mechanisms stand by their errors; the best one is one that randomises", () => {
  const settings = settingsOf(SLIDERS);
  const found = compared(settings, CURVES, MEASURED);
  const errors = found.ranked.map((one) => one.error);
  assert.deepEqual(
    errors,
    [...errors].sort((a, b) => a - b),
  );
  assert.equal(found.ranked[0].mechanism, "no privacy");
  assert.ok(!["no privacy", "default decoder"].includes(found.best.mechanism));
  assert.ok(found.after > 0 && found.after < found.best.error);
  const rows = tableRows(found, settings.n);
  assert.equal(rows.find(([name]) => name === found.best.mechanism)[2], "10,000");
  assert.equal(rows.find(([name]) => name === "default decoder")[2], "");
  for (const [i, { mechanism, error }] of found.ranked.entries())
    if (mechanism !== "default decoder" && error > found.best.error)
      assert.ok(Number(rows[i][2].replaceAll(",", "")) >= settings.n, mechanism);
  const [odds, exact, after] = inWords(settings, found);
  assert.match(odds, /^At epsilon 0\.5 a report is at most 1\.7 times likelier .* with probability 0\.64%\.$/);
  assert.ok(exact.startsWith(`With 10,000 people and 256 answers, ${found.best.mechanism} is the best of these:`));
  assert.match(after, /^What deniable shows is better than that/);
  assert.match(inWords(settings, { best: { ...found.best, error: 1.5 }, after: 1.5 })[1], /no better than a guess\.$/);
});
