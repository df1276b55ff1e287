/** The law of the bytes: every word of 2 to 12 bits is played, and at 64 bits every threshold is walked. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Client } from "../src/node.js";
import { readEpsilon } from "../src/odds.js";
import { atMostExp, lawOf, lineOf, published, realClient, responsesOf, second, violations } from "./law.js";
import {
  smallBits,
  smallBlocks,
  smallBudgets,
  smallFull,
  smallHadamard,
  smallHashed,
  smallKrr,
  smallNumbers,
  smallPermuted,
  smallPlane,
  smallPrefixes,
  smallSensitive,
  smallSets,
} from "./small.js";
import { hex, scripted, surveys, unhex } from "./vectors.js";

const upTo = (n) => [...Array(n).keys()];

const LEVELS = [
  [2, 1],
  [4, 2],
];

// [survey, answers, words of one report, cohort]
const CASES = {
  "warner, 12 bits": [smallKrr(2, "1", 12), upTo(2), 1],
  "krr of 5, 10 bits": [smallKrr(5, "0.7", 10), upTo(5), 1],
  "krr of 7, 8 bits": [smallKrr(7, "2", 8), upTo(7), 1],
  "hadamard, 10 bits": [smallHadamard(4, 1, "1", 10), upTo(4), 1],
  "hadamard in 2 blocks, 10 bits": [smallHadamard(5, 2, "2", 10), upTo(5), 1],
  "numbers, 10 bits": [smallNumbers(5, 2, "1", 10), [0, 0.5, 1.5, 2.5, 3.5, 5, -3, 1e9], 1],
  "fano plane, 10 bits": [smallPlane(7, 2, 3, "1", 10), upTo(7), 1],
  "plane of order 3, 10 bits": [smallPlane(13, 3, 3, "1", 10), upTo(13), 1],
  "orr, open, cohort 2 of 3, 10 bits": [smallHashed(4, 3, 1, "1", 10), ["a", "b", "é", 7, -7, unhex("ff")], 1, 2],
  "orr, folded, cohort 2 of 3, 10 bits": [
    smallHashed(4, 3, 1, "1", 10, "folded"),
    ["a", " A", "É", "ß", "SS", 7, unhex("ff")],
    1,
    2,
  ],
  "orr, closed, cohort 1 of 4, 10 bits": [smallPermuted(7, 3, 4, 1, "1/3", 10), upTo(7), 1, 1],
  "prefixes, first level, 10 bits": [
    smallPrefixes(16, LEVELS, "1", 10),
    ["", "a", "ab", "AB ", "abc", "abcde", "é"],
    1,
    0,
  ],
  "prefixes, last level, 10 bits": [smallPrefixes(16, LEVELS, "1", 10), ["", "a", "abcd", "abcde", "🦊"], 1, 2],
  "subset 1 of 3, 6 bits": [smallSets(3, 1, "1", 6), upTo(3), 2],
  "krappor of 2, 6 bits": [smallBits(2, "1", 6, false), upTo(2), 2],
  "oue of 2, 6 bits": [smallBits(2, "1", 6, true), upTo(2), 2],
  "sensitive 2 of 5, 10 bits": [smallSensitive(5, [1, 3], "1", 10), upTo(5), 1],
  "sensitive 1 of 4, 10 bits": [smallSensitive(4, [2], "2", 10), upTo(4), 1],
  "sensitive 5 of 8 in a plane, 10 bits": [
    smallSensitive(8, [0, 1, 3, 4, 6], "1", 10, { order: 2, dimension: 3 }),
    upTo(8),
    1,
  ],
  "blocks, 10 bits": [smallBlocks([0, 1, 0, 1, 1, 2], "1", 10), upTo(6), 1],
  "budgets, 8 bits": [
    smallBudgets(
      [0, 1, 1],
      ["1", "2"],
      [0, 1],
      [
        ["136", "0", "60"],
        ["156", "60", "40"],
      ],
      "2",
      8,
    ),
    upTo(3),
    1,
  ],
  "budgets with a column for nobody, 8 bits": [
    smallBudgets(
      [0, 1, 1],
      ["1", "2"],
      [0, 1, -1],
      [
        ["116", "0", "50"],
        ["136", "52", "30"],
        ["0", "36", "40"],
      ],
      "2",
      8,
    ),
    upTo(3),
    1,
  ],
  "a matrix, 8 bits": [
    smallFull(
      [
        ["100", "56", "100"],
        ["60", "96", "100"],
        ["80", "80", "96"],
      ],
      "1",
      8,
    ),
    upTo(3),
    1,
  ],
  "warner again, 6 bits": [smallKrr(2, ["2", "1"], 6), upTo(2), 2],
  "krr of 3 again, 5 bits": [smallKrr(3, ["2", "1"], 5), upTo(3), 2],
  "hadamard again, 5 bits": [smallHadamard(2, 1, ["2", "1"], 5), upTo(2), 2],
  "orr, open again, cohort 1 of 3, 5 bits": [smallHashed(3, 3, 1, ["2", "0.5"], 5), ["a", "b", 7], 2, 1],
};

for (const [title, [survey, values, count, cohort = 0]] of Object.entries(CASES))
  test(`the law of the bytes is the published channel: ${title}`, () => {
    assert.deepEqual(violations(survey, values, count, realClient, cohort), new Set());
  });

test("answers that fold to one text have one law, and in an exact survey they have two", () => {
  const laws = (text) =>
    ["Ibuprofen", " ibuprofen\t", "IBUPROFEN"].map((value) => {
      const { law } = lawOf(smallHashed(16, 3, 1, "1", 8, text), value, 1, 1, realClient);
      return JSON.stringify([...law].map(([wire, n]) => [wire, String(n)]).sort());
    });
  assert.equal(new Set(laws("folded")).size, 1);
  assert.ok(new Set(laws()).size > 1);
});

test("a level sees as many bytes as it has, and whether the answer ended within them", () => {
  const laws = (cohort, ...values) =>
    new Set(
      values.map((value) => {
        const { law } = lawOf(smallPrefixes(16, LEVELS, "1", 10), value, cohort, 1, realClient);
        return JSON.stringify([...law].map(([wire, n]) => [wire, String(n)]).sort());
      }),
    ).size;
  assert.equal(laws(0, "abc", "abd", "abcdefgh"), 1);
  assert.equal(laws(0, "ab", "abc"), 2);
  assert.equal(laws(1, "abcd", "abcde", "abce"), 3);
  assert.equal(laws(1, "abcde", "abcdf"), 1);
});

for (const [title, survey, values, cohort] of [
  ["krappor of 3, 5 bits", smallBits(3, "1", 5, false), [0, 2], 0],
  ["oue of 3, 5 bits", smallBits(3, "2", 5, true), [0, 2], 0],
  ["orappor, open, 2 hashes, cohort 1 of 2, 5 bits", smallHashed(3, 2, 2, "2", 5), ["a", "c"], 1],
  ["subset 2 of 4, 5 bits", smallSets(4, 2, "1", 5), [0, 3], 0],
])
  test(`the law of the bytes is the published channel: ${title}`, () => {
    assert.deepEqual(violations(survey, values, 3, lineOf(cohort), cohort), new Set());
  });

// [survey, answers, words of one report, and of two that share their permanent response]
const AGAIN = {
  "warner, 5 bits": [smallKrr(2, ["2", "1"], 5), upTo(2), 2, 3],
  "krr of 3, 4 bits": [smallKrr(3, ["2", "1"], 4), upTo(3), 2, 3],
  "hadamard, 4 bits": [smallHadamard(2, 1, ["2", "1"], 4), upTo(2), 2, 3],
  "fano plane, 4 bits": [smallPlane(7, 2, 3, ["2", "1"], 4), [0, 3, 6], 2, 3],
  "krappor of 2, 2 bits": [smallBits(2, ["3", "2"], 2, false), upTo(2), 4, 6],
  "oue of 2, 2 bits": [smallBits(2, ["3", "1"], 2, true), upTo(2), 4, 6],
  "subset 1 of 3, 2 bits": [smallSets(3, 1, ["2", "1"], 2), upTo(3), 4, 6],
};

for (const [title, [survey, values, one, two]] of Object.entries(AGAIN))
  test(`two stages: one report is the composed channel, two of an answer keep the lifetime's promise: ${title}`, () => {
    assert.ok(survey.mechanism.refresh);
    assert.deepEqual(violations(survey, values, one, lineOf(0)), new Set());
    assert.deepEqual(violations(survey, values, two, lineOf(0, 2), 0, 2), new Set());
  });

test("the second stage of sets, from every set to every set", () => {
  const survey = smallSets(4, 2, ["2", "1"], 5);
  for (const given of responsesOf(survey)) {
    const make = (_, entropy) => ({ report: () => ({ pack: () => survey.mechanism.refresh(given, entropy).sort() }) });
    const { law, total } = lawOf(survey, 0, 0, 3, make);
    assert.equal(law.size, 6);
    for (const named of responsesOf(survey)) {
      const [n, m] = second(survey, named, given);
      assert.equal(law.get(hex(named)) * m, n * total);
    }
  }
});

test("the published law is a law, and the cells of the golden surveys have it too", () => {
  for (const [survey, values] of Object.values(CASES))
    for (const value of values) {
      let [top, bottom] = [0n, 1n];
      for (const [n, m] of published(survey, value, 0).values()) [top, bottom] = [top * m + n * bottom, bottom * m];
      assert.equal(top, bottom);
    }
});

/** The response of a fresh client of one of the golden surveys in cohort 0, on these words. */
const answer = (survey, value, words) => {
  const entropy = scripted([0n, ...words]);
  const { payload } = new Client(survey, { memoize: false, entropy }).report(value);
  assert.equal(entropy.left(), 0);
  return payload;
};
const number = (bytes) => bytes.reduce((sum, byte, i) => sum + byte * 256 ** i, 0);

for (const title of [
  "warner",
  "krr",
  "krr, counted",
  "orr, open",
  "orr, closed",
  "hadamard",
  "hadamard, blocks",
  "projective",
])
  test(`at 64 bits every block of words begins and ends where it must: ${title}`, () => {
    const survey = surveys[title];
    const { keep, other } = survey.mechanism.thresholds;
    const value = { warner: "yes", krr: "apple", "orr, open": "a", hadamard: "c", projective: "b" }[title] ?? 5;
    const truth = survey.encoding.of(0, value);
    const others = upTo(survey.encoding.cells).filter((cell) => !truth.includes(cell));
    let word = 0n;
    for (const [cells, weight] of [
      [truth, keep],
      [others, other],
    ])
      for (const cell of cells) {
        for (const inside of [word, word + 1n, word + weight / 2n, word + weight - 1n])
          assert.equal(number(answer(survey, value, [inside])), cell);
        word += weight;
      }
    assert.equal(word, 2n ** 64n);
    assert.ok(atMostExp([keep, other], survey.epsilon));
    // And the noise is not larger than it must be: with one step fewer for the others the promise would break.
    const step = truth.length;
    const less = other - BigInt(step);
    const more = (2n ** 64n - BigInt(others.length) * less) / BigInt(truth.length);
    assert.ok(!atMostExp([more, less], survey.epsilon));
  });

for (const title of ["krappor", "oue", "orappor, open"])
  test(`at 64 bits every bit has its own word and its own threshold: ${title}`, () => {
    const survey = surveys[title];
    const { flip, clear = flip } = survey.mechanism.thresholds;
    const { cells } = survey.encoding;
    const truth = survey.encoding.of(0, "a");
    const bit = (payload, cell) => (payload[cell >> 3] >> (cell & 7)) & 1;
    for (let cell = 0; cell < cells; cell++) {
      const threshold = truth.includes(cell) ? clear : flip;
      for (const [word, flipped] of [
        [0n, 1],
        [threshold - 1n, 1],
        [threshold, 0],
        [2n ** 64n - 1n, 0],
      ])
        for (const rest of [0n, 2n ** 64n - 1n]) {
          const payload = answer(
            survey,
            "a",
            upTo(cells).map((place) => (place === cell ? word : rest)),
          );
          for (let place = 0; place < cells; place++) {
            const changes = place === cell ? flipped : rest ? 0 : 1;
            assert.equal(bit(payload, place), truth.includes(place) ? 1 - changes : changes);
          }
        }
    }
    const span = 2n ** 64n;
    const b = BigInt(Math.min(2 * survey.encoding.hashes, cells));
    if (title === "oue") assert.ok(atMostExp([(span - clear) * (span - flip), clear * flip], survey.epsilon));
    else assert.ok(atMostExp([(span - flip) ** b, flip ** b], survey.epsilon));
  });

/** The weights of one report's true and other cells through both stages, over 2**128. */
const composed = (high, low, span, parts, again) =>
  [high, low].map((weight) => weight * (span - BigInt(parts) * again) + span * again);

for (const title of [
  "warner, again",
  "krr, again",
  "krr, counted again",
  "orr, open again",
  "hadamard, again",
  "projective, again",
])
  test(`at 64 bits a memoised answer keeps its permanent cell, and fresh words move it: ${title}`, () => {
    const survey = surveys[title];
    const { keep, other, report_keep: kept, report_other: again } = survey.mechanism.thresholds;
    const { cells } = survey.encoding;
    const value =
      { "warner, again": "yes", "krr, again": "apple", "orr, open again": "a", "hadamard, again": "c" }[title] ?? 5;
    let word = 0n;
    const entropy = { width: 64, word: () => word };
    const client = new Client(survey, { entropy });
    const send = (next) => {
      word = next;
      return number(client.report(value).payload);
    };
    const permanent = send(0n);
    for (const stays of [0n, 1n, kept / 2n, kept - 1n]) assert.equal(send(stays), permanent);
    let at = kept;
    for (const cell of upTo(cells).filter((other) => other !== permanent)) {
      for (const inside of [at, at + again / 2n, at + again - 1n]) assert.equal(send(inside), cell);
      at += again;
    }
    const span = 2n ** 64n;
    assert.equal(at, span);
    assert.ok(atMostExp(composed(keep, other, span, cells, again), survey.epsilonReport));
    assert.ok(!atMostExp(composed(keep, other, span, cells, again - 1n), survey.epsilonReport));
  });

for (const title of ["krappor, again", "oue, again", "orappor, closed again"])
  test(`at 64 bits every permanent bit has its own fresh word: ${title}`, () => {
    const survey = surveys[title];
    const { flip, clear, report_flip: again } = survey.mechanism.thresholds;
    const { cells, hashes } = survey.encoding;
    let words = [];
    const entropy = { width: 64, word: () => words.shift() ?? 0n };
    const client = new Client(survey, { entropy });
    const send = (next) => {
      words = next;
      const { payload } = client.report(title === "krappor, again" ? "b" : 5);
      assert.equal(words.length, 0);
      return upTo(cells).map((cell) => (payload[cell >> 3] >> (cell & 7)) & 1);
    };
    const last = 2n ** 64n - 1n;
    const permanent = send(Array(cells).fill(last));
    for (let cell = 0; cell < cells; cell++)
      for (const [word, flipped] of [
        [0n, 1],
        [again - 1n, 1],
        [again, 0],
        [last, 0],
      ])
        for (const rest of [0n, last])
          assert.deepEqual(
            send(upTo(cells).map((place) => (place === cell ? word : rest))),
            permanent.map((bit, place) => bit ^ (place === cell ? flipped : rest ? 0 : 1)),
          );
    const span = 2n ** 64n;
    const ratio = (weight) => {
      const [high, low] = composed(span - flip, flip, span, 2, weight);
      const shared = clear ? 1n : BigInt(Math.min(2 * hashes, cells));
      return [high ** shared, low ** shared];
    };
    assert.ok(atMostExp(ratio(again), survey.epsilonReport));
    assert.ok(!atMostExp(ratio(again - 1n), survey.epsilonReport));
  });

test("at 64 bits a permanent set is sent below its threshold, and any set from there on", () => {
  const survey = surveys["subset, again"];
  const { inside, report_keep: kept } = survey.mechanism.thresholds;
  const script = [];
  const client = new Client(survey, { entropy: { width: 64, word: () => script.shift() ?? 0n } });
  const send = (...words) => {
    script.push(...words);
    const [payload] = client.report("c").payload;
    assert.equal(script.length, 0);
    return payload;
  };
  const permanent = send(0n, 0n, 0n);
  const drawn = new Set();
  for (const [word, stays] of [
    [0n, true],
    [kept - 1n, true],
    [kept, false],
    [2n ** 64n - 1n, false],
  ])
    for (const one of upTo(5))
      for (const two of upTo(4)) {
        const sent = send(word, BigInt(one), BigInt(two));
        if (stays) assert.equal(sent, permanent);
        else drawn.add(sent);
      }
  assert.equal(drawn.size, 10, "every pair of five");
  // P(a set holds the true cell) is 2/5 + (inside - 2/5) kept, all over 2**64.
  const span = 2n ** 64n;
  const odds = (stays) => {
    const holds = 2n * span * span + stays * (5n * inside - 2n * span);
    return [holds * 3n, (5n * span * span - holds) * 2n];
  };
  assert.ok(atMostExp(odds(kept), survey.epsilonReport));
  assert.ok(!atMostExp(odds(kept + 1n), survey.epsilonReport));
});

test("at 64 bits a set holds the true cell below its threshold and not from there on", () => {
  const survey = surveys.subset;
  const { inside } = survey.mechanism.thresholds;
  upTo(5).forEach((place) => {
    const value = "abcde"[place];
    for (const [word, holds] of [
      [0n, true],
      [inside - 1n, true],
      [inside, false],
      [2n ** 64n - 1n, false],
    ])
      for (const first of upTo(4))
        for (const second of upTo(3)) {
          const payload = answer(survey, value, [word, BigInt(first), BigInt(second)]);
          assert.equal(Boolean((payload[0] >> place) & 1), holds);
          assert.equal(hex(payload).length, 2);
          assert.equal(upTo(5).filter((cell) => (payload[0] >> cell) & 1).length, 2);
        }
  });
  const [n, span] = [inside, 2n ** 64n];
  assert.ok(atMostExp([n * 3n, (span - n) * 2n], survey.epsilon));
  assert.ok(!atMostExp([(n + 1n) * 3n, (span - n - 1n) * 2n], survey.epsilon));
});

test("the comparison with e**epsilon is exact", () => {
  assert.ok(atMostExp([2718281828n, 10n ** 9n], "1"));
  assert.ok(!atMostExp([2718281829n, 10n ** 9n], "1"));
  assert.deepEqual(readEpsilon("1/3"), [1n, 3n]);
});
