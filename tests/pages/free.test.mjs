/** Free text without a list on Ask: what the planner is asked, the plan in words, and what answers are made of. */

import assert from "node:assert/strict";
import { test } from "node:test";

import "./english.mjs";
import { answered } from "../../src/deniable/service/pages/form.asking.js";
import * as free from "../../src/deniable/service/pages/free.js";
import { request } from "../../src/deniable/service/pages/planning.js";
import { numbers, whatHappens } from "../../src/deniable/service/pages/prefixes.js";
import { readAlphabet, searched, written } from "../../src/deniable/service/pages/search.alphabet.js";
import { THEY } from "../../src/deniable/service/pages/words.js";

const ASKED = {
  kind: "free",
  goal: "error",
  name: "Which tree?",
  people: "20000",
  length: "6",
  text: "folded",
  find_by: "byShare",
  above: "10",
  texts: "20",
  epsilon: "2",
  error: "",
  limits: ["0.001", "12"],
};

test("a question is one request: what is to be found, or epsilon", () => {
  const shared = { n: 20_000, name: "Which tree?", length: 6, text: "folded" };
  assert.deepEqual(request(ASKED), { ...shared, discover_above: 0.1 });
  assert.deepEqual(request({ ...ASKED, find_by: "byCount" }), { ...shared, discover: 20 });
  assert.deepEqual(request({ ...ASKED, goal: "epsilon", above: "" }), { ...shared, epsilon: "2" });
});

for (const [fields, said] of [
  [{ name: "" }, "Write your question first."],
  [{ people: "999" }, "Say how many people will answer: 1,000 or more. Fewer do not show what nobody listed."],
  [{ goal: "epsilon", people: "999" }, /^Say how many people will answer: 1,000 or more/],
  [{ goal: "epsilon", epsilon: "13" }, "Say which epsilon you want to offer: from 0.001 to 12."],
  [{ length: "0" }, "Say how long an answer may be: 1 to 255 letters."],
  [{ length: "2.5" }, /^Say how long/],
  [{ length: "256" }, /^Say how long/],
  [{ above: "0" }, /^Say which answers are to be found: those of more than 0 and up to 50 percent/],
  [{ above: "51" }, /^Say which answers/],
  [{ above: "" }, /^Say which answers/],
  [{ find_by: "byCount", texts: "1.5" }, "Say how many answers are to be found: 1 to 100,000."],
])
  test(`${JSON.stringify(fields)} says what is missing`, () => {
    const found = request({ ...ASKED, ...fields });
    if (typeof said === "string") assert.equal(found, said);
    else assert.match(found, said);
  });

const LEVELS = [
  [2, 64],
  [6, 192],
];
const SURVEY = {
  alphabet: { kind: "open", text: "exact" },
  encoding: { kind: "prefixes", cells: 8, cohorts: 256, overlong: "cut", levels: LEVELS },
  mechanism: { kind: "krr", epsilon: "2", keep: "9472756646864840604", other: "1281998203834958716" },
};
const PLAN = { errors: { share: { bound: 0.0413 } }, mechanism: "O-RR", survey: SURVEY, confidence: 0.9, texts: null };

test("a plan says what is found, what stays unseen, and how it works", () => {
  assert.ok(free.isFree(PLAN) && free.isFree({ length: 6 }) && !free.isFree({ errors: { mean: {} } }));
  const n = numbers(SURVEY);
  assert.deepEqual(free.sharpness(PLAN), [
    ["4.2%", "of people or more write it: then an answer is found, in 9 of 10 surveys"],
  ]);
  assert.equal(free.sharpness({ ...PLAN, texts: 5 })[0][0], "5 answers");
  const { seen, unseen } = free.visible(PLAN, n);
  assert.equal(seen[0], "every answer that 4.2% of people or more write, although nobody listed it");
  assert.deepEqual(unseen, [
    "what anyone answered",
    "answers that fewer than 4.2% write: most of them are kept back, since chance looks the same",
    "how answers of more than 6 letters end",
  ]);
  const none = free.visible({ ...PLAN, errors: { share: { bound: 0.7 } } }, { odds: Math.exp(6) });
  assert.match(none.seen[0], /^hardly anything/);
  assert.equal(none.seen.length, 1);
  assert.equal(none.unseen[0], "with full certainty what anyone answered, though you can come close");
  assert.match(free.visible(PLAN, { odds: Math.exp(3.5) }).unseen[0], /^for certain what anyone answered/);
  assert.equal(
    free.mechanismWords(PLAN, n),
    "O-RR on the beginnings of answers, with 8 boxes in each of 256 groups. Bytes that count, and for how many " +
      "groups: 2 (64), 6 (192). Found in 90% of surveys, whatever the others write.",
  );
  assert.deepEqual(free.alternatives(), { heads: [], rows: [] });
});

test("what cannot be found comes with what can; what half of all must write is no offer", () => {
  const told = {
    alternatives: [
      { n: 1000, error: 0.62, privacy: "strong", epsilon: 2 },
      { n: 1000, error: 0.436, privacy: "weak", epsilon: 4 },
      { n: 23_000, error: 0.1, privacy: "strong", epsilon: 2 },
    ],
  };
  const { said, ways } = free.refusal({ message: "no", told }, { n: 1000, discover_above: 0.1, length: 12 });
  assert.equal(said, "1,000 people are too few to find that.");
  assert.deepEqual(
    ways.map(({ epsilon, bold, rest }) => [epsilon, bold, rest]),
    [
      [4, "Answers of 44% or more with weak privacy", ""],
      [2, "Ask about 23,000 people", ": Answers of 10% or more with strong privacy"],
    ],
  );
  assert.deepEqual(free.refusal({ message: "no plan", told: {} }, { n: 1 }), { said: "No plan.", ways: [] });
});

test("respondents are told how much of an answer counts", () => {
  const said = whatHappens(numbers(SURVEY), THEY);
  assert.match(said, /^Only the beginning of an answer counts: its first 2 to 6 letters.* What is longer is cut\. /);
  const refused = { ...SURVEY, encoding: { ...SURVEY.encoding, overlong: "refuse" } };
  assert.match(whatHappens(numbers(refused)), /What is longer cannot be sent\./);
});

test("a copy asks for the same length and reading", () => {
  assert.deepEqual(answered(SURVEY, 7), { kind: "free", text: "exact", length: 6 });
});

test("what answers are made of goes into the private link and back, and to the search", () => {
  for (const [alphabet, characters, link] of [
    ["any", "", ""],
    ["digits", "", "alphabet=digits"],
    ["own", "äb &=#", "alphabet=own&characters=%C3%A4b+%26%3D%23"],
  ]) {
    assert.equal(String(new URLSearchParams(written(alphabet, characters))), link);
    assert.deepEqual(readAlphabet(`#${link}`), { alphabet, characters });
  }
  assert.deepEqual(written("own", ""), {}, "no characters are any text");
  for (const strange of ["#alphabet=latin", "#alphabet=own", "#alphabet=__proto__", "", "#candidate=a&characters=b"])
    assert.deepEqual(readAlphabet(strange), { alphabet: "any", characters: "" });
  assert.equal(searched({ alphabet: "any" }), undefined);
  assert.equal(searched({ alphabet: "own", characters: "" }), undefined);
  // As they were typed, so that the collector can refuse a range or a name.
  assert.equal(searched({ alphabet: "own", characters: "hello, a-z" }), "helo, a-z");
  assert.equal(searched({ alphabet: "domains" }), "domains");
  assert.equal(searched({ alphabet: "letters" }), "letters");
});
