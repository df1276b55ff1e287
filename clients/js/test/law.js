/**
 * The exact law of the packed bytes, by playing every word to the real code, against the channel that the survey states;
 * and that no two answers differ by more than e**epsilon. Integers and BigInts only. `mutants.test.js` has clients that this
 * must refuse.
 */

import { Client } from "../src/node.js";
import { readEpsilon } from "../src/odds.js";
import { reportOf } from "../src/report.js";
import { hex } from "./vectors.js";

/** Rationals [top, bottom]. */
const times = ([a, b], [c, d]) => [a * c, b * d];
const same = ([a, b], [c, d]) => a * d === c * b;

/** Whether a / b <= e**epsilon, decided exactly: Taylor sums below and above in fixed point. */
export function atMostExp([a, b], epsilon) {
  const [n, d] = readEpsilon(epsilon);
  const bits = 400n;
  let term = 1n << bits;
  let low = term;
  for (let i = 1n; term; i++) low += term = (term * n) / (d * i);
  // Each of fewer than 2**12 terms was rounded down by less than 1, times at most e**64 < 2**93 further on.
  const high = low + (1n << 105n);
  const left = a << bits;
  if (left <= low * b) return true;
  if (left > high * b) return false;
  throw new Error("400 bits do not decide this");
}

/** Play every tuple of `count` words, and count the bytes that come out; words drawn again are not counted. */
export function lawOf(survey, value, cohort, count, make = realClient) {
  const { width } = survey.mechanism;
  const span = 1 << width;
  const words = Array(count).fill(0);
  const ran = Symbol("ran dry");
  let at = 0;
  let started = false;
  const entropy = {
    width,
    word() {
      if (!started) return BigInt(cohort);
      if (at === count) throw ran;
      return BigInt(words[at++]);
    },
  };
  const client = make(survey, entropy);
  started = true;
  const law = new Map();
  const drawn = new Set();
  let total = 0n;
  for (let place = 0; place < count; ) {
    at = 0;
    try {
      const wire = hex(client.report(value).pack());
      law.set(wire, (law.get(wire) ?? 0n) + 1n);
      total++;
      drawn.add(at);
    } catch (problem) {
      if (problem !== ran) throw problem;
    }
    for (place = 0; place < count && ++words[place] === span; place++) words[place] = 0;
  }
  return { law, total, drawn };
}

/** The line of the client that makes a report, without the state around it: where there are 2**15 tuples of words. */
export const lineOf = (cohort) => (survey, entropy) => {
  const cells = new Map();
  return {
    report(value) {
      // The cells are a pure map, so they are looked up once.
      if (!cells.has(value)) cells.set(value, survey.encoding.encode(cohort, value));
      return reportOf(survey, cohort, survey.mechanism.randomize(cells.get(value), entropy));
    },
  };
};

export const realClient = (survey, entropy) => new Client(survey, { memoize: false, entropy });

const choose = (n, k) => (k < 0 || k > n ? 0n : k === 0 ? 1n : (choose(n - 1, k - 1) * BigInt(n)) / BigInt(k));

/** What the law must be, written a second time: from the stated thresholds and the cells of `encode`. */
export function published(survey, value, cohort) {
  const { encoding, mechanism, digest } = survey;
  const { cells, cohorts } = encoding;
  const { keep, other, flip, clear = flip, inside } = mechanism.thresholds;
  const span = 2n ** BigInt(mechanism.width);
  const occupied = encoding.encode(cohort, value);
  const bytes = (number, size) => Array.from({ length: size }, (_, i) => Math.floor(number / 256 ** i) % 256);
  const size = (count) => [0, 1, 2, 3].find((n) => count <= 256 ** n);
  const law = new Map();
  for (let response = 0; response < (keep ? cells : 2 ** cells); response++) {
    const named = [...Array(cells).keys()].filter((cell) => (response >> cell) & 1);
    let chance = [1n, 1n];
    if (keep) chance = [occupied.includes(response) ? keep : other, span];
    else if (inside) {
      if (named.length !== mechanism.size) continue;
      const holds = named.includes(occupied[0]);
      chance = [holds ? inside : span - inside, span * choose(cells - 1, mechanism.size - (holds ? 1 : 0))];
    } else
      for (let cell = 0; cell < cells; cell++) {
        const wrong = occupied.includes(cell) ? clear : flip;
        chance = times(chance, [named.includes(cell) === occupied.includes(cell) ? span - wrong : wrong, span]);
      }
    const payload = bytes(response, keep ? size(cells) : Math.ceil(cells / 8));
    law.set(`01${digest.slice(0, 16)}${hex([...bytes(cohort, size(cohorts)), ...payload])}`, chance);
  }
  return law;
}

/** Which promises a client breaks: length, words, law, support, ratio. */
export function violations(survey, values, count, make = realClient, cohort = 0) {
  const found = new Set();
  const laws = values.map((value) => lawOf(survey, value, cohort, count, make));
  const wires = new Set(laws.flatMap(({ law }) => [...law.keys()]));
  if (new Set([...wires].map((wire) => wire.length)).size !== 1) found.add("length");
  if (new Set(laws.flatMap(({ drawn }) => [...drawn])).size !== 1) found.add("words");
  laws.forEach(({ law, total }, i) => {
    const stated = published(survey, values[i], cohort);
    if (law.size !== stated.size || [...law].some(([wire, n]) => !stated.has(wire) || !same([n, total], stated.get(wire))))
      found.add("law");
  });
  for (const wire of wires)
    for (const one of laws)
      for (const two of laws) {
        const [n, m] = [one.law.get(wire) ?? 0n, two.law.get(wire) ?? 0n];
        if (n && !m) found.add("support");
        else if (n && !atMostExp([n * two.total, m * one.total], survey.epsilon)) found.add("ratio");
      }
  return found;
}
