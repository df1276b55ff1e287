/** Two questions of a form that are related on Ask: which can be, what the planner is asked, and what it changes. */

import assert from "node:assert/strict";
import { test } from "node:test";

import "./english.mjs";
import { formRequest } from "../../src/deniable/service/pages/form.asking.js";
import {
  alone,
  aloneWords,
  pairPlaces,
  pairWords,
  relatingWords,
} from "../../src/deniable/service/pages/form.pairs.js";
import { spendingWords } from "../../src/deniable/service/pages/form.plan.js";
import { editOf } from "../../src/deniable/service/pages/surveys.js";

const list = (name, symbols = ["no", "yes"], more = {}) => ({ kind: "closed", name, symbols, sensitive: [], ...more });
const AGE = { kind: "number", name: "Age?", low: "18", high: "90", by: "bySteps", step: "1", outside: "clamp" };
const WHY = { kind: "open", name: "Why?", candidates: "50", text: "folded" };
const FORM = {
  goal: "epsilon",
  people: "1000",
  error: "5",
  epsilon: "2",
  limits: ["0.001", "12"],
  title: "Health",
  questions: [list("Smokes?"), AGE, list("Drinks?"), WHY],
};
const asked = (relate, questions = FORM.questions) => formRequest({ ...FORM, questions, relate });

test("pairs are asked for by the names of their questions", () => {
  assert.deepEqual(asked([[0, 1]]).relate, [["smokes", "age"]]);
  assert.deepEqual(asked([[0, 2]]).relate, [["smokes", "drinks"]]);
  assert.ok(!("relate" in asked([])) && !("relate" in asked(undefined)));
});

for (const [relate, questions, said] of [
  [[[0, 3]], undefined, "Questions 1 and 4 cannot be related: people write what they like, and a table needs a list."],
  [[[0, 0]], undefined, "Question 1 cannot be related to itself."],
  [
    [
      [0, 1],
      [1, 2],
    ],
    undefined,
    "Question 2 is in two pairs, and each answer is sent once: keep the pair that matters more.",
  ],
  [
    [[0, 1]],
    [list("Town?", Array.from({ length: 57 }, String)), AGE],
    "Questions 1 and 2 cannot be related: together they have 4,161 answers, and 4,096 is the most; use fewer " +
      "answers, or wider bins.",
  ],
])
  test(`${said.slice(0, 48)} is said before the planner is asked`, () => {
    assert.equal(asked(relate, questions ?? FORM.questions), said);
  });

test("a question that may be left out has an answer more; as many as the library takes are taken", () => {
  const towns = (count, more) => [list("Town?", Array.from({ length: count }, String), more), AGE]; // 73 ages
  assert.equal(asked([[0, 1]], towns(56)).relate.length, 1, "4,088 answers");
  assert.match(asked([[0, 1]], towns(56, { skip: true })), /together they have 4,161 answers/);
  const wide = [list("Town?", Array.from({ length: 64 }, String)), { ...AGE, by: "byBins", bins: "64" }];
  assert.equal(asked([[0, 1]], wide).relate.length, 1, "4,096 answers");
});

test("what cannot be related is named, and what a pair changes is said", () => {
  assert.ok(alone(WHY) && alone({ kind: "free" }) && !alone(AGE));
  assert.equal(aloneWords([{ kind: "closed", title: "a" }]), "");
  assert.equal(
    aloneWords([
      { kind: "open", title: "Why?" },
      { kind: "free", title: "Where?" },
    ]),
    "“Why?”, “Where?” cannot be related: people write what they like, and a table needs a list.",
  );
  assert.equal(pairWords([list("a"), list("b")]), "");
  assert.equal(
    pairWords([AGE, list("b", ["no", "yes"], { sensitive: ["yes"] })]),
    "Numbers and answers in an order have bars then, and no mean. Marks of sensitive answers do not count in a pair: " +
      "all of its answers are hidden.",
  );
});

const MADE = {
  format: "deniable-form/1",
  name: "Health",
  epsilon: "2",
  questions: ["age", "smokes", "drinks"].map((name) => ({
    name,
    title: `${name}?`,
    alphabet: { kind: "closed", symbols: ["no", "yes"] },
  })),
  parts: [
    { questions: ["age", "drinks"], encoding: { kind: "direct", cells: 4 }, mechanism: { kind: "krr" } },
    { questions: ["smokes"], encoding: { kind: "direct", cells: 2 }, mechanism: { kind: "krr" } },
  ],
};

test("a form that is edited has its pairs, by the places of their questions", () => {
  assert.deepEqual(pairPlaces(MADE), [[0, 2]]);
  const rules = { introduction: "", thanks: "", results: "private", minimum: 50, window: "day" };
  assert.deepEqual(editOf({ survey: MADE, rules, reports: 0 }).relate, [[0, 2]]);
});

test("who answers what counts questions; of drawn ones a pair is one", () => {
  assert.match(spendingWords({ form: MADE, spendings: [{ drawn: 2 }] }), /^Everybody answers all 3 questions\./);
  const drawn = spendingWords({ form: MADE, spendings: [{ drawn: 1 }] });
  assert.match(drawn, /^Each person answers 1 of the 2 questions\..* Two related questions count as one of them\.$/);
});

test("what relating changes is said as epsilon, or as errors of the questions of a pair", () => {
  const plan = (found, epsilon, errors) => ({
    found,
    epsilon,
    form: MADE,
    questions: Object.entries(errors).map(([name, [measure, error]]) => ({ name, title: `${name}?`, measure, error })),
  });
  const together = { age: ["share", 0.0513], smokes: ["share", 0.02], drinks: ["share", 0.04] };
  const apart = { age: ["mean", 1.31], smokes: ["share", 0.021], drinks: ["share", 0.03] };
  assert.deepEqual(relatingWords(plan("error", 2, together), plan("error", 2, apart)), [
    "age?: ± 5.2 points, without pairs mean ± 1.4",
    "drinks?: ± 4 points, without pairs ± 3 points",
  ]);
  assert.deepEqual(relatingWords(plan("epsilon", 3.3361, together), plan("epsilon", 1.14, apart)), [
    "Related, this takes epsilon 3.34; without pairs it would take 1.14.",
  ]);
});
