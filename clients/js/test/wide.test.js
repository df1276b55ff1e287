/**
 * Every cell of the widest surveys, 65,536 of them, on scripted words, in the sources and in the minified file: none is
 * left in the clear, in either stage. The response is made again from the words, by the rule of
 * docs/reference/protocol.md, section 6.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import { hex, scripted } from "./vectors.js";
import * as minified from "../deniable.min.js";
import * as source from "../src/node.js";
import { stream } from "../src/hashing.js";
import { remake } from "../src/survey.js";

const CELLS = 2 ** 16;
const upTo = (n) => [...Array(n).keys()];
const listed = { alphabet: { kind: "closed", symbols: upTo(CELLS) }, encoding: { kind: "direct" } };
const hashed = {
  alphabet: { kind: "open" },
  encoding: { kind: "hashed", cells: CELLS, cohorts: 4, hashes: 2, seed: "00".repeat(16) },
};
const WIDE = {
  rappor: { ...listed, mechanism: { kind: "bitflip", epsilon: "0.1" } },
  oue: { ...listed, mechanism: { kind: "bitflip", epsilon: "0.1", clear: "1" } },
  "rappor, again": { ...listed, mechanism: { kind: "bitflip", epsilon: "0.3", epsilon_report: "0.1" } },
  orappor: { ...hashed, mechanism: { kind: "bitflip", epsilon: "0.1" } },
  subset: { ...listed, mechanism: { kind: "subset", epsilon: "0.1", size: CELLS / 2 } },
};

const flipped = (full, words, clear, flip) =>
  new Set(upTo(CELLS).filter((cell) => words[cell] < (full.has(cell) ? clear : flip) !== full.has(cell)));

/** The cells that a report names, by the rule. */
function expected({ flip, clear = flip, report_flip, inside, size }, cells, words) {
  if (flip) {
    const found = flipped(new Set(cells), words, BigInt(clear), BigInt(flip));
    return report_flip ? flipped(found, words.slice(CELLS), BigInt(report_flip), BigInt(report_flip)) : found;
  }
  const others = upTo(CELLS).filter((cell) => cell !== cells[0]);
  for (let step = 0; step < size; step++) {
    const place = step + Number(words[step + 1] % BigInt(CELLS - 1 - step));
    [others[step], others[place]] = [others[place], others[step]];
  }
  const chosen = others.slice(0, size);
  if (words[0] < BigInt(inside)) chosen[size - 1] = cells[0];
  return new Set(chosen);
}

const texts = Object.fromEntries(
  Object.entries(WIDE).map(([kind, fields]) => [kind, remake({ name: kind, ...fields }).stated]),
);

/** The cells that are not what the words make them; `change` is a fault in the randomiser. */
function differing(kind, answer, { readSurvey, Client } = source, change = (mechanism) => mechanism) {
  const survey = readSurvey(texts[kind]);
  const stated = JSON.parse(texts[kind]).mechanism;
  const count = stated.size ? 1 + stated.size : CELLS * (stated.report_flip ? 2 : 1);
  const words = upTo(count).map((i) => stream(BigInt(answer) + 12345n, i));
  const entropy = scripted([1n, ...words]);
  const client = new Client(change === undefined ? survey : { ...survey, mechanism: change(survey.mechanism) }, {
    memoize: false,
    entropy,
  });
  const { cohort, payload } = client.report(answer);
  assert.equal(entropy.left(), 0);
  const named = upTo(CELLS).map((cell) => (payload[cell >> 3] >> (cell & 7)) & 1);
  const rule = expected(stated, survey.encoding.of(cohort, answer), words);
  assert.equal(hex(payload).length, CELLS / 4);
  return upTo(CELLS).filter((cell) => Boolean(named[cell]) !== rule.has(cell));
}

const ANSWERS = [0, 255, 256, 4096, CELLS - 1];

for (const kind of Object.keys(WIDE))
  test(`every one of 65,536 cells is what its word makes it: ${kind}`, () => {
    for (const answer of ANSWERS) assert.deepEqual(differing(kind, answer), []);
    assert.deepEqual(
      differing(kind, 4097, minified, (mechanism) => mechanism),
      [],
    );
  });

for (const first of [256, 4096, CELLS - 64])
  test(`cells in the clear from ${first} on are found out`, () => {
    for (const kind of ["rappor", "oue", "rappor, again", "orappor"]) {
      const careless = (mechanism) => ({
        ...mechanism,
        randomize: (truth, entropy) => [
          ...mechanism.randomize(truth, entropy).filter((cell) => cell < first),
          ...truth.filter((cell) => cell >= first),
        ],
      });
      const found = new Set(differing(kind, 40_000, source, careless).map((cell) => cell >> 5));
      for (let part = first >> 5; part < CELLS >> 5; part++) assert.ok(found.has(part), `${kind} at ${part}`);
    }
  });

test("one cell of 65,536 is what its word makes it", () => {
  const stated = remake({ name: "krr", ...listed, mechanism: { kind: "krr", epsilon: "8" } }).stated;
  const { keep, other } = JSON.parse(stated).mechanism;
  const [k, o] = [BigInt(keep), BigInt(other)];
  for (const { readSurvey, Client } of [source, minified]) {
    const survey = readSurvey(stated);
    for (const truth of [...ANSWERS, 40_000]) {
      const rule = [
        [0n, truth],
        [k - 1n, truth],
      ];
      for (const block of [0, 1, 254, 255, 256, 4095, 4096, truth - 1, truth, CELLS - 2].filter(
        (one) => one >= 0 && one < CELLS - 1,
      ))
        for (const word of [k + BigInt(block) * o, k + BigInt(block + 1) * o - 1n])
          rule.push([word, block + (block >= truth)]);
      for (const [word, cell] of rule) {
        const { payload } = new Client(survey, { memoize: false, entropy: scripted([1n, word]) }).report(truth);
        assert.equal(payload[0] + 256 * payload[1], cell);
      }
    }
  }
});
