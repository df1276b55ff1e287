/** Forms on the pages: what the planner is asked, a plan in words, and results question by question. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import "./english.mjs";
import { draftQuestions, formRequest, isForm, moved, namesOf } from "../../src/deniable/service/pages/form.asking.js";
import {
  expertTables,
  formNumbers,
  formRefusal,
  guaranteeWords,
  screens,
  seenWords,
  sharpnessRows,
  spendingWords,
  surveyOf,
} from "../../src/deniable/service/pages/form.plan.js";
import {
  barsWords,
  drawnRows,
  factsOf,
  formsIn,
  joinedTables,
  marked,
  pictureHeading,
  sectionsOf,
  skippedWords,
} from "../../src/deniable/service/pages/form.rows.js";
import { numbersOf } from "../../src/deniable/service/pages/form.shown.js";
import { draftOf, editOf } from "../../src/deniable/service/pages/surveys.js";

const SETTINGS = { goal: "error", people: "1000", error: "5", epsilon: "1", limits: ["0.001", "12"] };
const LIST = { kind: "closed", name: "Do you smoke?", symbols: ["no", "yes"], sensitive: [], skip: false };
const AGE = {
  kind: "number",
  name: "How old are you?",
  low: "18",
  high: "90",
  by: "bySteps",
  step: "1",
  bins: "64",
  outside: "clamp",
  skip: false,
};
const FORM = { ...SETTINGS, title: "Health", questions: [LIST, AGE] };

test("names follow from titles, are words, and no two are alike", () => {
  assert.deepEqual(namesOf(["Do you smoke?", "Do you smoke?", "", "2 + 2?", "Wie groß bist du?", "كم عمرك؟"]), [
    "do_you_smoke",
    "do_you_smoke_2",
    "question_3",
    "question_2_2",
    "wie_groß_bist_du",
    "كم_عمرك",
  ]);
  const [long] = namesOf(["a".repeat(30)]);
  assert.equal(long.length, 24);
  assert.deepEqual(namesOf(["__proto__", "constructor"]), ["proto", "constructor"]);
});

test("a question that moves leaves the others in their order", () => {
  assert.deepEqual(moved(["a", "b", "c"], 0, 2), ["b", "c", "a"]);
  assert.deepEqual(moved(["a", "b", "c"], 2, 1), ["a", "c", "b"]);
});

test("a form is one request to the planner", () => {
  assert.deepEqual(formRequest(FORM), {
    n: 1000,
    name: "Health",
    questions: [
      { name: "do_you_smoke", title: "Do you smoke?", symbols: ["no", "yes"] },
      { name: "how_old_are_you", title: "How old are you?", number: ["18", "90"], outside: "clamp", step: "1" },
    ],
    max_error: 0.05,
  });
  const marked = { ...LIST, sensitive: ["yes"], skip: true };
  const { questions, epsilon, max_error } = formRequest({ ...FORM, goal: "epsilon", questions: [marked, AGE] });
  assert.deepEqual([questions[0].sensitive, questions[0].skip, epsilon, max_error], [["yes"], true, "1", undefined]);
});

for (const [fields, said] of [
  [{ title: "" }, "Say what the form is called."],
  [{ questions: [LIST, { ...AGE, name: "" }] }, "Write question 2 first."],
  [{ questions: [{ ...LIST, symbols: [] }, AGE] }, "Question 1: Write at least two answers, one a line."],
  [
    { questions: [LIST, { ...AGE, skip: true }] },
    "Question 2: Count numbers that may be left out in at most 24 steps or bins: their results are a list, " +
      "without a mean.",
  ],
  [{ people: "3" }, "Say how many people will answer: 10 or more."],
  [
    { questions: [{ ...LIST, symbols: ["yes", "no answer"], skip: true }, AGE] },
    "Question 1: The list has “no answer”, which is what is counted for people who leave the question out: word it " +
      "otherwise.",
  ],
  [{ error: "" }, "Say how far off a share may be: more than 0 and less than 100 percentage points."],
])
  test(`a form with ${JSON.stringify(fields).slice(0, 40)} says what is missing`, () => {
    assert.equal(formRequest({ ...FORM, ...fields }), said);
  });

const part = (questions, encoding, mechanism) => ({ questions, encoding, mechanism });
const MADE = {
  format: "deniable-form/1",
  name: "Health",
  epsilon: "2",
  drawn: 1,
  digest: "ab".repeat(32),
  questions: [
    { name: "smokes", title: "Do you smoke?", alphabet: { kind: "closed", symbols: ["no", "yes"] }, skip: 1 },
    { name: "ill", title: "", alphabet: { kind: "closed", symbols: ["no", "flu", "hiv"] } },
    { name: "age", title: "Age?", alphabet: { kind: "number", low: "18", high: "90", bins: 8, outside: "clamp" } },
    { name: "town", title: "Town?", alphabet: { kind: "open", text: "folded" } },
  ],
  parts: [
    part(["smokes"], { kind: "direct", cells: 3 }, { kind: "krr", epsilon: "2" }),
    part(["ill"], { kind: "direct", cells: 3 }, { kind: "sensitive", epsilon: "2", sensitive: [2] }),
    part(["age"], { kind: "neighbours", cells: 16, reach: 3 }, { kind: "krr", epsilon: "2" }),
    part(["town"], { kind: "hashed", cells: 8, cohorts: 4 }, { kind: "krr", epsilon: "2" }),
  ],
};

test("a part is a survey: what may be left out has an answer more, a pair has those of both", () => {
  assert.deepEqual(surveyOf(MADE, MADE.parts[0]).alphabet.symbols, ["no", "yes", "no answer"]);
  assert.equal(surveyOf(MADE, MADE.parts[3]).alphabet.symbols, undefined);
  const pair = part(["smokes", "ill"], { kind: "direct", cells: 9 }, { kind: "krr", epsilon: "2" });
  assert.equal(surveyOf(MADE, pair).alphabet.symbols.length, 9);
});

test("what a form costs is what the parts of a device cost together", () => {
  const parts = [{ odds: 2 }, { odds: 3, hidden: 1 }, { odds: 5, lifetime: 7 }, { odds: 1.5 }];
  const one = formNumbers(MADE, parts);
  assert.deepEqual([one.odds, one.lifetime, one.seen], [5, 7, ["ill"]]);
  const every = formNumbers({ ...MADE, drawn: 4 }, parts);
  assert.deepEqual([every.odds, every.lifetime], [45, 63]);
  assert.equal(
    guaranteeWords({ form: MADE, epsilon: 2 }, one),
    "Epsilon 2.00 for all answers of a person together. Whatever anyone answers to all of it, what is sent is at " +
      "most 5 times likelier than with any other answers. Of “ill” only the answers that you marked are hidden: the " +
      "others may be seen for what they are.",
  );
  assert.equal(seenWords(MADE, { seen: [] }), "");
});

test("a form of every kind of part has a channel in numbers, within its budget", async () => {
  const vectors = JSON.parse(readFileSync(new URL("../vectors/forms.json", import.meta.url), "utf8"));
  for (const { title, text } of vectors) {
    const form = JSON.parse(text);
    const { odds, lifetime, seen } = await numbersOf({ form });
    const most = Math.exp(form.epsilon) * (1 + 1e-9);
    assert.ok(odds > 1 && odds <= lifetime && lifetime <= most, `${title}: ${odds}, ${lifetime}`);
    assert.equal(seen.length > 0, /^(uneven|designs)$/.test(title), title);
  }
});

const PLAN = {
  form: MADE,
  n: 1000,
  epsilon: 2,
  found: "epsilon",
  questions: [
    {
      name: "smokes",
      title: "Do you smoke?",
      measure: "share",
      error: 0.0401,
      mechanism: "W-RR",
      parameters: "",
      epsilon: 2,
    },
    { name: "age", title: "", measure: "mean", error: 3.21, mechanism: "SW", parameters: "reach 3", epsilon: 2 },
    { name: "often", title: "Often?", measure: "place", error: 0.12, mechanism: "SW", parameters: "", epsilon: 2 },
  ],
  spendings: [
    { name: "sample 1 of 4", drawn: 1, needs: 2 },
    { name: "split, best shares", drawn: 4, needs: 3.456 },
    { name: "split, equal shares", drawn: 4, needs: null },
  ],
};

test("a plan says who answers what and how sharp it will be, as the planner does", () => {
  assert.deepEqual(sharpnessRows(PLAN), [
    ["Do you smoke?", "± 4.1 points", "250 people are asked"],
    ["age", "mean ± 3.3", "250 people are asked"],
    ["Often?", "mean ± 0.12 places", "250 people are asked"],
  ]);
  assert.match(spendingWords(PLAN), /^Each person answers 1 of the 4 questions\. Their own browser draws which/);
  const every = { ...PLAN, spendings: [PLAN.spendings[1]] };
  assert.match(spendingWords(every), /^Everybody answers all 4 questions\./);
  const { mechanisms, spendings } = expertTables(PLAN);
  assert.deepEqual(mechanisms.rows[1], ["age", "SW, reach 3", "2"]);
  assert.deepEqual(spendings, {
    heads: ["who answers what", "needs epsilon"],
    rows: [
      ["1 of 4 questions each, drawn", "2"],
      ["everything, in the best shares", "3.46"],
      ["everything, in equal shares", "cannot"],
    ],
  });
});

test("what cannot be had comes with what can", () => {
  const ways = [{ n: 1000, epsilon: 2, privacy: "strong", error: 0.0912 }];
  const found = formRefusal({ message: "no", told: { alternatives: ways } }, { n: 1000, max_error: 0.02 });
  assert.equal(found.said, "1,000 people are too few to know every share up to ± 2 points.");
  assert.deepEqual(
    found.ways.map(({ bold, epsilon }) => [bold, epsilon]),
    [["About ± 9.2 points with strong privacy", 2]],
  );
  assert.deepEqual(formRefusal({ message: "Why.", told: {} }, { n: 1 }), { said: "Why.", ways: [] });
});

test("the preview has a screen for the beginning, each question and the end", () => {
  const texts = { introduction: " Hello. ", thanks: "Bye.", closes: null };
  const found = screens({ title: "Health", ...texts, questions: [LIST, AGE, { kind: "open", name: "", skip: true }] });
  assert.deepEqual(
    found.map(({ what, title }) => [what, title]),
    [
      ["start", "Health"],
      ["question", "Do you smoke?"],
      ["question", "How old are you?"],
      ["question", "Question 3"],
      ["end", "Thank you"],
    ],
  );
  assert.deepEqual(
    [found[0].introduction, found[1].choices, found[2].scale, found[3].line, found[3].skip],
    ["Hello.", ["no", "yes"], ["18", "90"], true, true],
  );
  const alone = screens({ title: "", introduction: "", thanks: "", closes: null, questions: [LIST] });
  assert.deepEqual(
    alone.map(({ what }) => what),
    ["question", "end"],
    "one question stays one screen",
  );
});

test("a form that is copied gets a number, one that is edited stays as it is", () => {
  const rules = {
    introduction: "Hi",
    thanks: "",
    results: "private",
    minimum: 50,
    window: "day",
    closes: "2030-01-01T00:00Z",
  };
  const copy = draftOf({ survey: MADE, rules, reports: 40 });
  assert.deepEqual([copy.question, copy.epsilon, copy.people, copy.closes], ["Health (2)", "2", 40, undefined]);
  const same = editOf({ survey: MADE, rules, reports: 0 });
  assert.deepEqual([same.question, same.closes, same.people], ["Health", "2030-01-01T00:00Z", undefined]);
  assert.deepEqual(same.questions, draftQuestions(MADE));
  assert.deepEqual(
    same.questions.map(({ question, kind, skip }) => [question, kind, skip]),
    [
      ["Do you smoke?", "closed", true],
      ["ill", "closed", false],
      ["Age?", "number", false],
      ["Town?", "open", false],
    ],
  );
  assert.deepEqual(same.questions[1].sensitive, ["hiv"]);
  assert.ok(isForm(MADE));
});

const SECTIONS = sectionsOf(MADE);
const row = (symbol, probability, low = probability - 0.1) => ({
  symbol,
  probability,
  raw: probability,
  raw_low: low,
  raw_high: low === null ? null : probability + 0.1,
});
const SMOKES = { level: 0.95, n: 10, estimates: [row("no", 0.3), row("yes", 0.5), row("no answer", 0.2)] };

test("a section knows its question, and what was left out is not one of its bars", () => {
  assert.deepEqual(
    SECTIONS.map(({ title, open, own, skip, related }) => [title, open, own, skip, related]),
    [
      ["Do you smoke?", false, false, true, false],
      ["ill", false, false, false, false],
      ["Age?", false, true, false, false],
      ["Town?", true, false, false, false],
    ],
  );
  assert.deepEqual(sectionsOf({ name: "a survey" }), []);
  const drawn = drawnRows(SECTIONS[0], SMOKES);
  assert.deepEqual(
    drawn.rows.map(({ symbol }) => symbol),
    ["yes", "no"],
  );
  assert.equal(
    skippedWords(SECTIONS[0], SMOKES),
    "20.0% of those who were asked left this out (between 10.0% and 30.0%, 95% interval). The shares above are of " +
      "all who were asked.",
  );
  assert.equal(skippedWords(SECTIONS[1], SMOKES), "", "an answer of that name elsewhere is an answer");
  const vague = { ...SMOKES, estimates: [row("no answer", 0.2, null)] };
  assert.match(skippedWords(SECTIONS[0], vague), /^20\.0% of those who were asked left this out\. /);
  assert.match(barsWords(drawn, SMOKES), /^Chance was part of every answer: .* 95 of 100 such lines/);
  assert.match(barsWords(drawn, vague), /^There are too many answers/);
  const many = { level: 0.95, estimates: Array.from({ length: 30 }, (_, i) => row(i, i / 100)) };
  const own = drawnRows(SECTIONS[2], many);
  assert.deepEqual([own.rows[0].symbol, own.rows.length, own.count], [10, 20, 30]);
  assert.match(barsWords(own, many), /^The 20 largest of 30\. /);
});

test("the median is named, and so is what a picture rests on", () => {
  const rows = [{ symbol: "a" }, { symbol: "b" }];
  const named = marked([{ name: "a" }, { name: "b" }], rows, { median: { value: "b" } });
  assert.deepEqual(
    named.map(({ name }) => name),
    ["a", "b (median)"],
  );
  const found = pictureHeading(
    SECTIONS[0],
    { n: 1234, from: "2025-11-01T00", to: "2025-11-03T00", level: 0.95 },
    "day",
    2,
  );
  assert.deepEqual(found.text, ["Do you smoke?"]);
  assert.match(
    found.subtitle.join(" "),
    /^1,234 randomised answers, 1 Nov 2025 to 2 Nov 2025 .* epsilon 2\.00 for the whole form, 95% intervals$/,
  );
});

test("forms are counted in the range, and facts say how private they are", () => {
  const windows = [1, 2, 3].map((day) => ({
    start: `2025-11-0${day}T00`,
    end: `2025-11-0${day + 1}T00`,
    reports: day,
  }));
  assert.equal(formsIn(windows, {}), 6);
  assert.equal(formsIn(windows, { from: "2025-11-02T00", to: "2025-11-03T00" }), 2);
  const shares = { from: "2025-11-01T00", to: "2025-11-02T00" };
  assert.deepEqual(factsOf(6, shares, "day", { odds: 7.4 }, "strong privacy", String), [
    ["6", "forms, 1 Nov 2025"],
    ["strong privacy", "what one person sent is at most 7.4 times likelier than with any other answers"],
  ]);
  const [, twice] = factsOf(6, shares, "day", { odds: 4.5, lifetime: 20.1 }, "moderate privacy", String);
  assert.match(twice[1], /at most 20\.1 times/); // of all that a person sends, as the word is, not of one report
});

test("files of several questions are one table", () => {
  assert.equal(joinedTables(["a,b\r\n1,2\r\n", "a,b\r\n3,4\r\n"]), "a,b\r\n1,2\r\n3,4\r\n");
  assert.equal(joinedTables(["a,b\n1,2\n"]), "a,b\n1,2\r\n");
  assert.throws(() => joinedTables(["a,b\r\n1,2", "a,c\r\n3,4"]), /files to join must have the same columns/);
});
