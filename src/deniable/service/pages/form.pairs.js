/**
 * Pairs of questions whose answers are wanted together: which can be, what the planner is asked, and what it costs.
 * Their answers leave the device as one. No element is touched here.
 */

import { errorWords, numbered } from "./form.plan.js";
import { sentences, text } from "./texts.js";
import { listed } from "./words.js";

const MOST = 4096; // pairs of answers: a bit each in a report, at most

/** Why a question cannot be related to any other; "" where it can. */
export const alone = ({ kind }) => (kind === "open" || kind === "free" ? text("relate.open") : "");

/** The questions that cannot be related, in words; "" where there is none. */
export function aloneWords(questions) {
  const titles = questions.filter(alone).map(({ title }) => `“${title}”`);
  return titles.length
    ? text("relate.cannot", { count: titles.length, questions: listed(titles), why: text("relate.open") })
    : "";
}

/** What a pair changes for its two questions, beside how sharp they are. */
export const pairWords = (pair) =>
  sentences(
    pair.some(({ kind }) => kind === "number" || kind === "ordered") && text("relate.lists"),
    pair.some(({ sensitive }) => sensitive?.length) && text("relate.marks"),
  );

/** How many answers the planner is asked for. */
const sizeOf = ({ symbols, ordered, number: ends, bins, step, skip }) =>
  ((symbols ?? ordered)?.length ?? bins ?? Math.round((ends[1] - ends[0]) / step) + 1) + Boolean(skip);

/**
 * The pairs by the names of `asked`, which the planner is asked for, from places among the questions; or the sentence
 * that says why not.
 */
export function related(pairs, asked) {
  const taken = new Set();
  const found = [];
  for (const [i, j] of pairs) {
    const two = [asked[i], asked[j]];
    const which = { first: i + 1, second: j + 1 };
    if (i === j) return text("relate.self", { number: i + 1 });
    if (two.some(({ candidates }) => candidates)) return text("relate.refused", { ...which, why: text("relate.open") });
    const twice = [i, j].find((place) => taken.has(place));
    if (twice !== undefined) return text("relate.twice", { number: twice + 1 });
    const count = sizeOf(two[0]) * sizeOf(two[1]);
    if (count > MOST) return text("relate.refused", { ...which, why: text("relate.tooMany", { count, most: MOST }) });
    taken.add(i).add(j);
    found.push(two.map(({ name }) => name));
  }
  return found;
}

/** Pairs of a form by the places of their questions, for the editor. */
export const pairPlaces = (form) =>
  form.parts
    .filter(({ questions }) => questions.length > 1)
    .map(({ questions }) => questions.map((name) => form.questions.findIndex((one) => one.name === name)));

/**
 * What pairs change, from the plan of the same form without them: a sentence about epsilon where the plan has found it,
 * else one for each question of a pair.
 */
export function relatingWords(found, apart) {
  if (found.found === "epsilon")
    return [text("relate.costEpsilon", { epsilon: numbered(found.epsilon), apart: numbered(apart.epsilon) })];
  const before = new Map(apart.questions.map((one) => [one.name, one]));
  const names = new Set(
    found.form.parts.filter(({ questions }) => questions.length > 1).flatMap((one) => one.questions),
  );
  return found.questions
    .filter(({ name }) => names.has(name))
    .map((one) =>
      text("relate.costError", {
        title: one.title || one.name,
        error: errorWords(one),
        apart: errorWords(before.get(one.name)),
      }),
    );
}
