/** Clients with a fault that real projects shipped, or could: each must fail the check that the real one passes. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Client } from "../src/node.js";
import { bitflip, krr, subset } from "../src/mechanisms.js";
import { uniformBelow } from "../src/noise.js";
import { reportOf } from "../src/report.js";
import { lineOf, realClient, violations } from "./law.js";
import {
  smallBits,
  smallFull,
  smallHadamard,
  smallHashed,
  smallKrr,
  smallNumbers,
  smallPlane,
  smallPrefixes,
  smallSensitive,
  smallSets,
  stages,
} from "./small.js";

/** The real client on the same survey with another randomiser behind it; for sets, its line that makes the report. */
const with_ = (change) => (survey, entropy) =>
  (survey === SETS ? lineOf(0) : realClient)(
    { ...survey, mechanism: { ...survey.mechanism, ...change(survey.mechanism, survey) } },
    entropy,
  );
const randomizing = (randomize) =>
  with_(({ thresholds, size }, { encoding }) => ({
    randomize: (truth, entropy) => randomize(truth, entropy, { ...thresholds, size, cells: encoding.cells }),
  }));

const upTo = (n) => [...Array(n).keys()];
const bits = (flips, truth) => upTo(flips.length).filter((cell) => flips[cell] !== truth.includes(cell));
const draw = (entropy, count) => upTo(count).map(() => entropy.word());

const KRR = smallKrr(4, "1", 8);
const PAIRS = smallKrr(4, "1", 5);
const BITS = smallBits(2, "1", 5, false);
const OUE = smallBits(2, "1", 5, true);
const SETS = smallSets(5, 2, "1", 5);
const PLANE = smallPlane(7, 2, 3, "1", 10);
const ROWS = smallHadamard(5, 2, "2", 10);
const OPEN = smallHashed(4, 3, 1, "1", 8);
const NUMBERS = smallNumbers(5, 2, "1", 10);

/** The real client with other cells for an answer. */
const occupying = (change) => (survey, entropy) =>
  realClient(
    { ...survey, encoding: { ...survey.encoding, of: (c, v) => change(v, survey.encoding.of(c, v), survey) } },
    entropy,
  );

const LEVELS = smallPrefixes(
  16,
  [
    [2, 1],
    [4, 1],
  ],
  "1",
  10,
);

const URR = smallSensitive(4, [0, 2], "1", 10);
const UBD = smallSensitive(8, [0, 1, 3, 4, 6], "1", 10, { order: 2, dimension: 3 });
const MATRIX = smallFull(
  [
    ["100", "56", "100"],
    ["60", "96", "100"],
    ["80", "80", "96"],
  ],
  "1",
  8,
);

/** A table that looks a row up in its own way. */
const looking = (row) =>
  with_((mechanism, { encoding }) => ({
    randomize: ([cell], entropy, word = entropy.word(), sum = 0n) => [
      row(mechanism.row, cell, encoding.cells).findIndex((weight) => {
        sum += weight;
        return word < sum;
      }),
    ],
  }));
const harmlessRow = (hidden, seen) => looking((row, cell) => row(hidden.includes(cell) ? seen : cell));

const wrongCohort = (survey, entropy) => {
  const { of, cohorts } = survey.encoding;
  return realClient({ ...survey, encoding: { ...survey.encoding, of: (c, v) => of((c + 1) % cohorts, v) } }, entropy);
};

/** The real client with another rule for what a cohort hashes: all cells of `of` are those of another value. */
const hashing = (other) => (survey, entropy) => {
  const { of } = survey.encoding;
  return realClient({ ...survey, encoding: { ...survey.encoding, of: (c, v) => of(...other(c, v)) } }, entropy);
};

/** Its cohort, in the clear, is one of the level that holds all of the answer. */
const levelOfTheAnswer = (survey, entropy) => ({
  report: (value) => {
    const cohort = value.length > 2 ? 1 : 0;
    const [named] = survey.mechanism.randomize(survey.encoding.of(cohort, value), entropy);
    return reportOf(survey, cohort, [named]);
  },
});

const shortPayload = (survey, entropy) => {
  const client = realClient(survey, entropy);
  return {
    report(value) {
      const wire = client.report(value).pack();
      return { pack: () => (wire.at(-1) ? wire : wire.slice(0, -1)) };
    },
  };
};

// [survey, answers, words of one report, client, what it breaks]
const MUTANTS = {
  "a level drawn from the answer": [LEVELS, ["ab", "abc"], 1, levelOfTheAnswer, ["law", "support"]],
  "a prefix longer than its level": [LEVELS, ["abc", "abd"], 1, hashing((_, value) => [1, value]), ["law"]],
  "the end mark dropped": [LEVELS, ["ab", "abc"], 1, hashing((cohort, value) => [cohort, `${value}zzzz`]), ["law"]],
  "a row shifted by one": [MATRIX, upTo(3), 1, looking((row, cell, cells) => row((cell + 1) % cells)), ["law"]],
  "a sensitive row shifted by one": [
    URR,
    upTo(4),
    1,
    looking((row, cell, cells) => row((cell + 1) % cells)),
    ["law", "support"],
  ],
  "columns shifted by one": [
    MATRIX,
    upTo(3),
    1,
    looking((row, cell) => [...row(cell).slice(1), row(cell)[0]]),
    ["law"],
  ],
  "a threshold off by one unit": [
    MATRIX,
    upTo(3),
    1,
    with_(({ row }) => ({
      randomize: ([cell], entropy, word = entropy.word(), sum = 0n) => [
        row(cell).findIndex((weight) => {
          sum += weight;
          return word <= sum;
        }),
      ],
    })),
    ["law"],
  ],
  "a harmless row for a sensitive answer": [URR, upTo(4), 1, harmlessRow([0, 2], 1), ["law", "support"]],
  "a harmless row for a sensitive answer of a design": [
    UBD,
    upTo(8),
    1,
    harmlessRow([0, 1, 3, 4, 6], 2),
    ["law", "support"],
  ],
  "last bit in clear": [
    BITS,
    [0, 1],
    1,
    randomizing((truth, entropy, { flip, cells }) =>
      bits([...draw(entropy, cells - 1).map((word) => word < flip), false], truth),
    ),
    ["law", "support"],
  ],
  "word reused across bits": [
    BITS,
    [0, 1],
    1,
    randomizing((truth, entropy, { flip, cells }) => bits(Array(cells).fill(entropy.word() < flip), truth)),
    ["law"],
  ],
  "set bit kept like the others": [
    OUE,
    [0, 1],
    2,
    randomizing((truth, entropy, { flip, cells }) =>
      bits(
        draw(entropy, cells).map((word) => word < flip),
        truth,
      ),
    ),
    ["law", "ratio"],
  ],
  "epsilon for each bit": [BITS, [0, 1], 2, with_(() => stages(bitflip, "2", 5, 2, 1)), ["law", "ratio"]],
  "off-by-one cell": [
    KRR,
    upTo(4),
    1,
    randomizing(([truth], entropy, { keep, other }) => {
      const word = entropy.word();
      const block = Number((word - keep) / other);
      return [word < keep ? truth : block + (block > truth)];
    }),
    ["law", "ratio", "support"],
  ],
  "a word too many for the truth": [
    KRR,
    upTo(4),
    1,
    randomizing(([truth], entropy, { keep, other }) => {
      const word = entropy.word();
      const block = Number((word - keep) / other);
      return [word <= keep ? truth : block + (block >= truth)];
    }),
    ["law", "ratio"],
  ],
  "modulo bias": [
    PAIRS,
    upTo(4),
    2,
    randomizing(([truth], entropy, { keep, cells }) => {
      const [first, second] = draw(entropy, 2);
      const block = Number(second % BigInt(cells - 1));
      return [first < keep ? truth : block + (block >= truth)];
    }),
    ["law"],
  ],
  "words depend on the answer": [
    PAIRS,
    upTo(4),
    2,
    (survey, entropy) => {
      const { mechanism } = survey;
      const impatient = (truth, source) => {
        // The second word is used up by all but the answer 0, so that the law stays right.
        const found = mechanism.randomize(truth, source);
        if (truth[0]) source.word();
        return found;
      };
      return realClient({ ...survey, mechanism: { ...mechanism, randomize: impatient } }, entropy);
    },
    ["words"],
  ],
  "twice the budget": [KRR, upTo(4), 1, with_(() => stages(krr, "2", 8, 4, 1)), ["law", "ratio"]],
  "a design that steps over one true cell": [
    PLANE,
    upTo(7),
    1,
    randomizing((truth, entropy, { keep, other }) => {
      const word = entropy.word();
      const inside = 3n * keep;
      if (word < inside) return [truth[Number(word / keep)]];
      const block = Number((word - inside) / other);
      return [block + (block >= truth[0])];
    }),
    ["law", "ratio", "support"],
  ],
  "a design with a favourite cell": [
    ROWS,
    upTo(5),
    1,
    with_(({ randomize }) => ({
      randomize(truth, entropy) {
        const [found] = randomize(truth, entropy);
        return [truth.includes(found) ? truth[0] : found];
      },
    })),
    ["law", "ratio", "support"],
  ],
  "a set of neighbours": [
    SETS,
    upTo(5),
    1,
    randomizing(([truth], entropy, { inside, size, cells }) => {
      const first = entropy.word() < inside ? 0 : 1;
      return upTo(size).map((step) => (truth + first + step) % cells);
    }),
    ["law", "support"],
  ],
  "a set that never draws the last one": [
    SETS,
    [0, 4],
    3,
    randomizing(([truth], entropy, { inside, size, cells }) => {
      const keep = entropy.word() < inside;
      const others = upTo(cells).filter((cell) => cell !== truth);
      const drawn = upTo(size).map(() => others.splice(uniformBelow(entropy, others.length - 1), 1)[0]);
      return keep ? [...drawn.slice(1), truth] : drawn;
    }),
    ["law", "support"],
  ],
  "a set at more budget": [SETS, [0, 4], 3, with_(() => stages(subset, "1.5", 5, 5, 1, 2)), ["law", "ratio"]],
  "a window shifted by one": [
    NUMBERS,
    [0.5, 1.5, 4.5],
    1,
    occupying((_value, cells, { encoding }) => cells.map((cell) => (cell + 1) % encoding.cells).sort((a, b) => a - b)),
    ["law"],
  ],
  "a clamp after the noise": [
    NUMBERS,
    [0.5, 4.5, 7.5],
    1,
    // A number beyond the last bin keeps a window of its own, which only the cells cut off.
    occupying((value, cells, { encoding }) =>
      value < 5 ? cells : upTo(5).map((i) => Math.min(Math.floor(value) + i, encoding.cells - 1)),
    ),
    ["law", "ratio", "support"],
  ],
  "a threshold off by one": [
    NUMBERS,
    [0.5, 1.5, 4.5],
    1,
    randomizing((truth, entropy, { keep, other, cells }) => {
      const word = entropy.word();
      const inside = 5n * keep;
      if (word <= inside) return [truth[Math.min(Number(word / keep), 4)]];
      const block = Number((word - inside) / other);
      return [upTo(cells).filter((cell) => !truth.includes(cell))[block]];
    }),
    ["law"],
  ],
  "wrong cohort": [OPEN, [..."abcdefgh"], 1, wrongCohort, ["law"]],
  "length depends on the response": [KRR, upTo(4), 1, shortPayload, ["law", "length"]],
};

const TWICE = smallKrr(3, ["2", "1"], 5);
const BITS_TWICE = smallBits(2, ["3", "1"], 3, false);
const SETS_TWICE = smallSets(3, 1, ["2", "1"], 3);
const PAIR = smallKrr(2, ["1.5", "1"], 3);

/** The lines that make reports, with other stages. */
const lines =
  (change, reports = 1) =>
  (survey, entropy) =>
    lineOf(0, reports)({ ...survey, mechanism: { ...survey.mechanism, ...change(survey.mechanism, survey) } }, entropy);

/** Two reports of an answer, each by itself. */
const alone = (survey, entropy) => {
  const line = lineOf(0)(survey, entropy);
  return { report: (value) => ({ pack: () => Buffer.concat([line.report(value).pack(), line.report(value).pack()]) }) };
};

// [survey, answers, words, client, how many reports of an answer, what it breaks]
const AGAIN = {
  "second stage forgotten": [TWICE, upTo(3), 1, with_(() => ({ refresh: undefined })), 1, ["law", "ratio"]],
  "thresholds of the first stage in the second": [
    TWICE,
    upTo(3),
    2,
    lines(({ randomize }) => ({ refresh: randomize })),
    1,
    ["law", "ratio"],
  ],
  "second stage of the truth": [
    TWICE,
    upTo(3),
    2,
    lines(({ randomize, refresh }) => ({ randomize: (truth, entropy) => randomize(truth, entropy) && truth, refresh })),
    1,
    ["law", "ratio"],
  ],
  "more noise than the survey says": [
    TWICE,
    upTo(3),
    2,
    lines(() => ({ refresh: stages(krr, ["2", "0.8"], 5, 3, 1).refresh })),
    1,
    ["law"],
  ],
  "one fresh word for all bits": [
    BITS_TWICE,
    upTo(2),
    3,
    lines(({ thresholds }, { encoding }) => ({
      refresh: (given, entropy) => bits(Array(encoding.cells).fill(entropy.word() < thresholds.report_flip), given),
    })),
    1,
    ["law"],
  ],
  "a set that is replaced by another one only": [
    SETS_TWICE,
    upTo(3),
    4,
    lines(({ thresholds }, { encoding }) => ({
      refresh([given], entropy) {
        const stays = entropy.word() < thresholds.report_keep;
        const other = uniformBelow(entropy, encoding.cells - 1);
        return [stays ? given : other + (other >= given)];
      },
    })),
    1,
    ["law"],
  ],
  "permanent response redrawn": [PAIR, upTo(2), 4, alone, 2, ["law", "ratio"]],
  "second stage drawn once": [
    PAIR,
    upTo(2),
    2,
    (survey, entropy) => {
      const line = lineOf(0)(survey, entropy);
      return {
        report(value) {
          const sent = line.report(value).pack();
          return { pack: () => Buffer.concat([sent, sent]) };
        },
      };
    },
    2,
    ["law"],
  ],
};

for (const [title, [survey, values, count, make, reports, broken]] of Object.entries(AGAIN))
  test(`caught: ${title}`, () => {
    const found = violations(survey, values, count, make, 0, reports);
    found.delete("support");
    assert.deepEqual([...found].sort(), broken);
  });

for (const [title, [survey, values, count, make, broken]] of Object.entries(MUTANTS))
  test(`caught: ${title}`, () => {
    assert.deepEqual([...violations(survey, values, count, make)].sort(), broken);
  });

test("fresh noise for the same answer is caught, and a memoising client is not", () => {
  const survey = { ...smallBits(12, "1", 64, false) };
  const bytes = (client) => `${client.report(3).pack()}`;
  const repeats = (client) => new Set(upTo(40).map(() => bytes(client))).size === 1;
  assert.ok(repeats(new Client(survey)));
  // Twelve bits at epsilon 1: the chance that twenty pairs agree by themselves is below 1e-40.
  assert.ok(!repeats(new Client(survey, { memoize: false })));
  assert.ok(!repeats({ report: (value) => reportOf(survey, 0, new Client(survey).report(value).payload) }));
});
