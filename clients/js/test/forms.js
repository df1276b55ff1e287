/**
 * Forms for tests: those of the golden vectors, small ones for enumeration, and the exact law of their packed bytes,
 * which is written a second time from the published channels of the parts.
 */

import { responsesOf } from "../src/client.js";
import { readForm } from "../src/form.js";
import { answering } from "../src/form_line.js";
import { Client } from "../src/node.js";
import { readEpsilon } from "../src/odds.js";
import { atMostExp, published } from "./law.js";
import { hex, rows, storage, symbolOf } from "./vectors.js";
import { write } from "../src/state.js";

export const formTexts = Object.fromEntries(rows("forms").map(({ title, text }) => [title, text]));
export const forms = Object.fromEntries(Object.entries(formTexts).map(([title, text]) => [title, readForm(text)]));

/** Answers from their JSON form. */
export const answersOf = (json) =>
  Object.fromEntries(
    Object.entries(json).map(([name, value]) => [
      name,
      value === null ? null : typeof value === "object" && "double" in value ? Number(value.double) : symbolOf(value),
    ]),
  );

/** The storage of a device that has this secret, if any, and drew this number. */
export function deviceOf({ digest }, cohort, secret) {
  const kept = storage();
  write(kept, { [digest]: { cohort, made: [0, 0], spent: [0, 0], outbox: {} }, secret });
  return kept;
}

/** A form of small surveys by name, of which `drawn` are answered; `skip` names those that may be left out. */
export function smallForm(surveys, { drawn = Object.keys(surveys).length, skip = [], digest = "cd".repeat(32) } = {}) {
  const questions = Object.keys(surveys).map((name) => ({ name, skip: skip.includes(name) ? 1 : undefined }));
  const parts = Object.entries(surveys).map(([name, survey], i) => ({
    ...survey,
    digest: "",
    name,
    questions: [questions[i]],
    // The last answer of a small survey stands for one that was not given.
    symbol: (given) => given[name] ?? survey.symbols - 1,
  }));
  const sum = (which) =>
    parts
      .map((part) => readEpsilon(part[which]))
      .sort(([a, b], [c, d]) => Number(c * b - a * d))
      .slice(0, drawn)
      .reduce(([a, b], [c, d]) => [a * d + c * b, b * d]);
  return {
    digest,
    drawn,
    questions,
    parts,
    spends: [sum("epsilon"), sum("epsilonReport")],
    responses: Math.max(...parts.map(responsesOf)),
    ...answering({ digest, drawn, parts, questions, open: [] }),
  };
}

/** Play words of `width` bits to `work`, as many as it asks for: what came of it, and how many of all tuples that is. */
function walk(width, work) {
  const dry = Symbol("dry");
  const law = new Map();
  const drawn = new Set();
  const open = [[]];
  while (open.length) {
    const script = open.pop();
    let at = 0;
    const word = () => {
      if (at === script.length) throw dry;
      return script[at++];
    };
    try {
      const found = work({ width, word });
      const [n = 0n, bits] = law.get(found) ?? [];
      // In units of so many bits; all are brought to one below.
      const more = bits === undefined ? script.length : Math.max(bits, script.length);
      const scaled = (count, from) => count << BigInt(width * (more - from));
      law.set(found, [(bits === undefined ? 0n : scaled(n, bits)) + scaled(1n, script.length), more]);
      drawn.add(at);
    } catch (problem) {
      if (problem !== dry) throw problem;
      // A word that is drawn again is a tuple that is not counted: what follows it has the same law.
      if (script.length < LONGEST) for (let n = 0n; n < 1n << BigInt(width); n++) open.push([...script, n]);
    }
  }
  let total = [0n, 1n];
  const found = new Map();
  for (const [result, [n, bits]] of law) {
    found.set(result, [n, 1n << BigInt(width * bits)]);
    total = [total[0] * found.get(result)[1] + n * total[1], total[1] * found.get(result)[1]];
  }
  return { law: new Map([...found].map(([result, [n, m]]) => [result, reduced(n * total[1], m * total[0])])), drawn };
}

const LONGEST = 5;
const gcd = (a, b) => (b ? gcd(b, a % b) : a);
const reduced = (a, b) => [a / gcd(a, b), b / gcd(a, b)];
const plus = ([a, b], [c, d]) => reduced(a * d + c * b, b * d);
const times = ([a, b], [c, d]) => reduced(a * c, b * d);
const same = ([a, b], [c, d]) => a * d === c * b;

export const realForm = (form, options) => new Client(form, options);

/** The exact law of the bytes of a fresh device whose owner would give these answers; the page asks what was drawn. */
export function lawOfForm(form, answers, make = realForm) {
  const { width } = form.parts[0].mechanism;
  const begun = walk(width, (entropy) => form.begin(entropy));
  const law = new Map();
  const drawn = new Set();
  for (const [cohort, chance] of begun.law) {
    const kept = deviceOf(form, cohort);
    const text = kept.getItem("deniable-client/1");
    let now;
    // The same device for every tuple of words: what it keeps is put back.
    const same = { width, word: () => now.word() };
    const client = make(form, { memoize: false, entropy: same, storage: { ...kept, setItem: kept.setItem } });
    const asked = Object.fromEntries(client.questions.map((name) => [name, answers[name]]));
    const given = Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== undefined));
    const here = walk(width, (entropy) => {
      now = entropy;
      kept.items.set("deniable-client/1", text);
      return hex(client.report(given).pack());
    });
    for (const [wire, one] of here.law) law.set(wire, plus(law.get(wire) ?? [0n, 1n], times(chance, one)));
    for (const count of here.drawn) drawn.add(count);
  }
  return { law, drawn };
}

/** What the law must be: every set of parts alike, and in each the product of the published channels of its parts. */
export function publishedForm(form, answers) {
  const { parts, drawn, digest } = form;
  const sets = Array.from({ length: 2 ** parts.length }, (_, bits) => bits).filter(
    (bits) => [...bits.toString(2)].filter((bit) => bit === "1").length === drawn,
  );
  const law = new Map();
  for (const set of sets) {
    let paths = [["", [1n, BigInt(sets.length)]]];
    parts.forEach((part, place) => {
      const { cohorts } = part.encoding;
      const slots = new Map();
      for (let own = 0; own < cohorts; own++)
        for (const [wire, chance] of published(part, part.symbol(answers), own))
          slots.set(wire.slice(2), plus(slots.get(wire.slice(2)) ?? [0n, 1n], times(chance, [1n, BigInt(cohorts)])));
      const blank = "0".repeat([...slots.keys()][0].length);
      const steps = (set >> place) & 1 ? [...slots] : [[blank, [1n, 1n]]];
      paths = paths.flatMap(([sent, p]) => steps.map(([slot, chance]) => [sent + slot, times(p, chance)]));
    });
    const mask = drawn < parts.length ? hex([set]) : "";
    for (const [slots, chance] of paths) law.set(`01${digest.slice(0, 16)}${mask}${slots}`, chance);
  }
  return law;
}

/** Which promises a client of a form breaks: length, words, drawn, law, support, ratio. */
export function formViolations(form, given, make = realForm) {
  const found = new Set();
  const laws = given.map((answers) => lawOfForm(form, answers, make));
  const wires = new Set(laws.flatMap(({ law }) => [...law.keys()]));
  if (new Set([...wires].map((wire) => wire.length)).size !== 1) found.add("length");
  const counts = laws.map(({ drawn }) => String([...drawn].sort()));
  if (new Set(counts).size !== 1) found.add("words");
  if (form.drawn < form.parts.length) {
    const shown = laws.map(({ law }) => {
      const masks = new Map();
      for (const [wire, p] of law) masks.set(wire.slice(18, 20), plus(masks.get(wire.slice(18, 20)) ?? [0n, 1n], p));
      return String([...masks].sort());
    });
    if (new Set(shown).size !== 1) found.add("drawn");
  }
  laws.forEach(({ law }, i) => {
    const stated = publishedForm(form, given[i]);
    if (law.size !== stated.size || [...law].some(([wire, p]) => !stated.has(wire) || !same(p, stated.get(wire))))
      found.add("law");
  });
  for (const wire of wires)
    for (const one of laws)
      for (const two of laws) {
        const [p, q] = [one.law.get(wire), two.law.get(wire)];
        if (one === two || !p) continue;
        if (!q) found.add("support");
        else if (!atMostExp(reduced(p[0] * q[1], p[1] * q[0]), form.spends[1])) found.add("ratio");
      }
  return found;
}
