/**
 * The exact law of the packed bytes, by playing every word to the real code, against the channel that the survey
 * states; and that no two answers differ by more than e**epsilon. Integers and BigInts only. `mutants.test.js` has
 * clients that this must refuse.
 */

import { Client } from "../src/node.js";
import { readEpsilon } from "../src/odds.js";
import { reportOf } from "../src/report.js";
import { hex } from "./vectors.js";

/** Rationals [top, bottom], in lowest terms. */
const gcd = (a, b) => (b ? gcd(b, a % b) : a);
const reduced = (a, b) => [a / gcd(a, b), b / gcd(a, b)];
const times = ([a, b], [c, d]) => reduced(a * c, b * d);
const plus = ([a, b], [c, d]) => reduced(a * d + c * b, b * d);
const same = ([a, b], [c, d]) => a * d === c * b;

/** Whether a / b <= e**epsilon (text, or a rational), decided exactly: Taylor sums below and above in fixed point. */
export function atMostExp([a, b], epsilon) {
  const [n, d] = epsilon.map ? epsilon : readEpsilon(epsilon);
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

/**
 * The lines of the client that make reports, without the state around them: where there are 2**15 tuples of words.
 * Several reports of one answer share their permanent response, which here is drawn from the same words.
 */
export const lineOf =
  (cohort, reports = 1) =>
  (survey, entropy) => {
    const { encoding, mechanism } = survey;
    const cells = new Map();
    return {
      report(value) {
        // The cells are a pure map, so they are looked up once.
        if (!cells.has(value)) cells.set(value, encoding.of(cohort, value));
        const permanent = mechanism.randomize(cells.get(value), entropy);
        const sent = Array.from({ length: reports }, () =>
          reportOf(survey, cohort, mechanism.refresh ? mechanism.refresh(permanent, entropy) : permanent).pack(),
        );
        return { pack: () => Buffer.concat(sent) };
      },
    };
  };

export const realClient = (survey, entropy) => new Client(survey, { memoize: false, entropy });

const choose = (n, k) => (k < 0 || k > n ? 0n : k === 0 ? 1n : (choose(n - 1, k - 1) * BigInt(n)) / BigInt(k));

/** All responses of a survey, each as the cells that it names. */
export function responsesOf({ encoding, mechanism }) {
  const cells = [...Array(mechanism.columns ?? encoding.cells).keys()];
  if (!mechanism.bits) return cells.map((cell) => [cell]);
  const sets = Array.from({ length: 2 ** cells.length }, (_, bits) => cells.filter((cell) => (bits >> cell) & 1));
  return sets.filter((set) => !mechanism.size || set.length === mechanism.size);
}

/** P(the permanent response names these cells | an answer that occupies those), from the stated thresholds. */
function first({ encoding, mechanism }, named, occupied) {
  const { keep, other, flip, clear, inside } = mechanism.thresholds;
  const span = 2n ** BigInt(mechanism.width);
  if (mechanism.columns) return [rowOf(mechanism, encoding.cells, occupied[0])[named[0]], span];
  if (keep) return [occupied.includes(named[0]) ? keep : other, span];
  if (flip) return bits(encoding.cells, named, occupied, flip, clear ?? flip, span);
  const holds = named.includes(occupied[0]);
  return [holds ? inside : span - inside, span * choose(encoding.cells - 1, mechanism.size - (holds ? 1 : 0))];
}

/** The weights of an answer in a table, from what the survey states: written a second time. */
export function rowOf({ thresholds, width }, size, x) {
  const { rows, groups, others, raised, weights, sensitive, order, dimension, keep, other } = thresholds;
  const span = 2n ** BigInt(width);
  const all = [...Array(size).keys()];
  if (rows) return rows[x];
  if (raised)
    return raised.flatMap((group, kind) =>
      (group < 0 ? [-1] : all.filter((y) => groups[y] === group)).map(
        (y) => weights[kind][y === x ? 0 : 1 + groups[x]],
      ),
    );
  if (others)
    return others.flatMap((weight, group) => {
      const members = all.filter((y) => groups[y] === group);
      const rest = span - BigInt(members.length - 1) * weight;
      return members.map((y) => (groups[x] !== group ? 0n : y === x ? rest : weight));
    });
  let points = sensitive.map((_, i) => [i]);
  let mine = [sensitive.indexOf(x)];
  if (order) {
    const digits = (value) =>
      Array.from({ length: dimension }, (_, i) => Math.floor(value / order ** i) % order).reverse();
    points = Array.from({ length: order ** dimension }, (_, value) => digits(value)).filter(
      (point) => point.find((digit) => digit) === 1,
    );
    const own = points[mine[0]];
    mine = points.flatMap((point, i) =>
      own && point.reduce((sum, d, j) => sum + d * own[j], 0) % order === 0 ? [i] : [],
    );
  }
  const rest = span - BigInt(points.length) * other;
  return [
    ...points.map((_, i) => (mine.includes(i) ? keep : other)),
    ...all.filter((y) => !sensitive.includes(y)).map((y) => (y === x ? rest : 0n)),
  ];
}

/** P(a report names these cells | the permanent response names those). */
export function second({ encoding, mechanism }, named, given) {
  const { report_keep: keep, report_other: other, report_flip: flip } = mechanism.thresholds;
  const span = 2n ** BigInt(mechanism.width);
  const equal = String(named) === String(given);
  if (!mechanism.refresh) return [equal ? 1n : 0n, 1n];
  if (other) return [equal ? keep : other, span];
  if (flip) return bits(encoding.cells, named, given, flip, flip, span);
  const sets = choose(encoding.cells, mechanism.size);
  return [(equal ? keep * sets : 0n) + span - keep, span * sets];
}

function bits(cells, named, occupied, flip, clear, span) {
  let chance = [1n, 1n];
  for (let cell = 0; cell < cells; cell++) {
    const wrong = occupied.includes(cell) ? clear : flip;
    chance = times(chance, [named.includes(cell) === occupied.includes(cell) ? span - wrong : wrong, span]);
  }
  return chance;
}

/**
 * What the law of so many reports of an answer must be, written a second time: over all paths, from `first` and
 * `second`.
 */
export function published(survey, value, cohort, reports = 1) {
  const { encoding, mechanism, digest } = survey;
  const { cohorts } = encoding;
  const cells = mechanism.columns ?? encoding.cells;
  const occupied = encoding.of(cohort, value);
  const bytes = (number, size) => Array.from({ length: size }, (_, i) => Math.floor(number / 256 ** i) % 256);
  const size = (count) => [0, 1, 2, 3].find((n) => count <= 256 ** n);
  const responses = responsesOf(survey);
  const wires = responses.map((named) => {
    const number = mechanism.bits ? named.reduce((sum, cell) => sum + 2 ** cell, 0) : named[0];
    const payload = bytes(number, mechanism.bits ? Math.ceil(cells / 8) : size(cells));
    return `01${digest.slice(0, 16)}${hex([...bytes(cohort, size(cohorts)), ...payload])}`;
  });
  const law = new Map();
  for (const permanent of responses) {
    let paths = [["", first(survey, permanent, occupied)]];
    const steps = responses.map((named) => second(survey, named, permanent));
    for (let i = 0; i < reports; i++)
      paths = paths.flatMap(([sent, p]) => wires.map((wire, j) => [sent + wire, times(p, steps[j])]));
    for (const [sent, p] of paths) if (p[0]) law.set(sent, plus(law.get(sent) ?? [0n, 1n], p));
  }
  return law;
}

/** Which promises a client breaks: length, words, law, support, ratio. */
export function violations(survey, values, count, make = realClient, cohort = 0, reports = 1) {
  const bound = reports === 1 ? survey.epsilonReport : survey.epsilon;
  const found = new Set();
  const laws = values.map((value) => lawOf(survey, value, cohort, count, make));
  const wires = new Set(laws.flatMap(({ law }) => [...law.keys()]));
  if (new Set([...wires].map((wire) => wire.length)).size !== 1) found.add("length");
  if (new Set(laws.flatMap(({ drawn }) => [...drawn])).size !== 1) found.add("words");
  laws.forEach(({ law, total }, i) => {
    const stated = published(survey, values[i], cohort, reports);
    if (
      law.size !== stated.size ||
      [...law].some(([wire, n]) => !stated.has(wire) || !same([n, total], stated.get(wire)))
    )
      found.add("law");
  });
  for (const wire of wires)
    for (const [i, one] of laws.entries())
      for (const [j, two] of laws.entries()) {
        // A table promises every two answers an epsilon of their own, or none.
        const most = survey.promised ? survey.promised(values[i], values[j]) : bound;
        const [n, m] = [one.law.get(wire) ?? 0n, two.law.get(wire) ?? 0n];
        if (i === j || most === undefined || !n) continue;
        if (!m) found.add("support");
        else if (!atMostExp([n * two.total, m * one.total], most)) found.add("ratio");
      }
  return found;
}
