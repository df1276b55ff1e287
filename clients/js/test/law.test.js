/** The law of the bytes: every word of 5 to 12 bits is played, and at 64 bits every threshold is walked. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Client } from "../src/node.js";
import { readEpsilon } from "../src/odds.js";
import { atMostExp, lineOf, published, realClient, violations } from "./law.js";
import { smallBits, smallHadamard, smallHashed, smallKrr, smallPermuted, smallPlane, smallSets } from "./small.js";
import { hex, scripted, surveys, unhex } from "./vectors.js";

const upTo = (n) => [...Array(n).keys()];

// [survey, answers, words of one report, cohort]
const CASES = {
  "warner, 12 bits": [smallKrr(2, "1", 12), upTo(2), 1],
  "krr of 5, 10 bits": [smallKrr(5, "0.7", 10), upTo(5), 1],
  "krr of 7, 8 bits": [smallKrr(7, "2", 8), upTo(7), 1],
  "hadamard, 10 bits": [smallHadamard(4, 1, "1", 10), upTo(4), 1],
  "hadamard in 2 blocks, 10 bits": [smallHadamard(5, 2, "2", 10), upTo(5), 1],
  "fano plane, 10 bits": [smallPlane(7, 2, 3, "1", 10), upTo(7), 1],
  "plane of order 3, 10 bits": [smallPlane(13, 3, 3, "1", 10), upTo(13), 1],
  "orr, open, cohort 2 of 3, 10 bits": [smallHashed(4, 3, 1, "1", 10), ["a", "b", "é", 7, -7, unhex("ff")], 1, 2],
  "orr, closed, cohort 1 of 4, 10 bits": [smallPermuted(7, 3, 4, 1, "1/3", 10), upTo(7), 1, 1],
  "subset 1 of 3, 6 bits": [smallSets(3, 1, "1", 6), upTo(3), 2],
  "krappor of 2, 6 bits": [smallBits(2, "1", 6, false), upTo(2), 2],
  "oue of 2, 6 bits": [smallBits(2, "1", 6, true), upTo(2), 2],
};

for (const [title, [survey, values, count, cohort = 0]] of Object.entries(CASES))
  test(`the law of the bytes is the published channel: ${title}`, () => {
    assert.deepEqual(violations(survey, values, count, realClient, cohort), new Set());
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

for (const title of ["warner", "krr", "krr, counted", "orr, open", "orr, closed", "hadamard", "hadamard, blocks", "projective"])
  test(`at 64 bits every block of words begins and ends where it must: ${title}`, () => {
    const survey = surveys[title];
    const { keep, other } = survey.mechanism.thresholds;
    const value = { warner: "yes", krr: "apple", "orr, open": "a", hadamard: "c", projective: "b" }[title] ?? 5;
    const truth = survey.encoding.encode(0, value);
    const others = upTo(survey.encoding.cells).filter((cell) => !truth.includes(cell));
    let word = 0n;
    for (const [cells, weight] of [[truth, keep], [others, other]])
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
    const truth = survey.encoding.encode(0, "a");
    const bit = (payload, cell) => (payload[cell >> 3] >> (cell & 7)) & 1;
    for (let cell = 0; cell < cells; cell++) {
      const threshold = truth.includes(cell) ? clear : flip;
      for (const [word, flipped] of [[0n, 1], [threshold - 1n, 1], [threshold, 0], [2n ** 64n - 1n, 0]])
        for (const rest of [0n, 2n ** 64n - 1n]) {
          const payload = answer(survey, "a", upTo(cells).map((place) => (place === cell ? word : rest)));
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

test("at 64 bits a set holds the true cell below its threshold and not from there on", () => {
  const survey = surveys.subset;
  const { inside } = survey.mechanism.thresholds;
  upTo(5).forEach((place) => {
    const value = "abcde"[place];
    for (const [word, holds] of [[0n, true], [inside - 1n, true], [inside, false], [2n ** 64n - 1n, false]])
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
