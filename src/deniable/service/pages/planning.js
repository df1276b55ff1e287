/** What Ask asks of the planner, and a plan in words and as a chart. No element is touched here. */

import { percent, points, sentence, whole } from "./common.js";
import { isAtLeast, numbers, SCALE } from "./words.js";

/** The scale of epsilon in a sentence, for the field of one. */
export const scaleWords = () => {
  const words = SCALE.slice(0, -1).map(({ most, word }, i) => `${i ? "" : "up to "}${most} is ${word}`);
  return `Smaller is more private: ${words.join(", ")}, more is hardly any`;
};

const numberOf = (text) => (text.trim() === "" ? NaN : Number(text));

/**
 * What the planner is to be asked, or the sentence that says what is missing. The form's numbers are texts; `limits`
 * are the least and the greatest epsilon that it takes.
 */
export function request({ kind, goal, name, symbols, text, limits, ...fields }) {
  const open = kind === "open";
  const byError = goal === "error";
  const people = numberOf(fields.people);
  const error = numberOf(fields.error);
  const epsilon = numberOf(fields.epsilon);
  const candidates = numberOf(fields.candidates);
  const [least, most] = limits;
  if (!name) return "Write your question first.";
  if (!open && symbols.length < 2) return "Write at least two answers, one a line.";
  if (!(people >= 10)) return "Say how many people will answer: 10 or more.";
  if (byError && !(error > 0 && error < 100))
    return "Say how far off a share may be: more than 0 and less than 100 percentage points.";
  if (!byError && !(epsilon >= Number(least) && epsilon <= Number(most)))
    return `Say which epsilon you want to offer: from ${least} to ${most}.`;
  if (open && !(candidates >= 2)) return "Say how many different answers you will look for: 2 or more.";
  return {
    n: Math.round(people),
    name,
    ...(open ? { candidates: Math.round(candidates), text } : { symbols }),
    ...(byError ? { max_error: error / 100 } : { epsilon: String(epsilon), metric: "max" }),
  };
}

/** What a plan will show, and what it will not: two lists of sentences' ends. */
export function visible({ survey, errors, smallest_visible: smallest }) {
  const n = numbers(survey);
  const bound = points(errors.max_error.bound);
  const seen = [
    smallest === null
      ? "hardly any single answer for certain"
      : `every answer that ${percent(smallest)} of people or more give`,
    `each share, up to about ${bound} points either way`,
  ];
  const certain = isAtLeast(n, "weak")
    ? "for certain what anyone answered, though you get hints"
    : "with full certainty what anyone answered, though you can come close";
  const unseen = [
    isAtLeast(n, "strong") ? "what anyone answered" : certain,
    smallest === null ? "rare answers" : `answers that fewer than ${percent(smallest)} give: they may look like none`,
    `differences below about ${bound} points, and small groups of people`,
  ];
  return { seen, unseen };
}

/** The mechanism of a plan and how it was found, for experts. */
export const mechanismWords = (found) =>
  `${found.mechanism}${found.parameters ? `, ${found.parameters}` : ""}; ${found.report_bytes} bytes a report; ` +
  `decoded by ${found.decoder}; ${found.repeats} surveys simulated; answers taken to be ${found.shape}, the worst ` +
  `of ${found.shapes.length} shapes for this error.`;

/** Heads and rows of the table of other mechanisms, and what they would need. */
export function alternatives({ found, alternatives: others }) {
  const needs = found === "error" ? "an error of" : found === "n" ? "n" : "epsilon";
  const rows = others.map((one) => [
    `${one.mechanism} ${one.parameters}`.trim(),
    one.needs === null ? "cannot" : String(Number(one.needs.toPrecision(3))),
  ]);
  return { heads: ["instead", `needs ${needs}`], rows };
}

const digits = (share) => String(Number((100 * share).toPrecision(2)));

/** What cannot be had, in the fields' own units, and what can: `ways`, each with its words. Epsilon is set in them. */
export function refusal({ message, told }, now) {
  if (!told.alternatives || !now.max_error) return { said: sentence(message), ways: [] };
  const ways = told.alternatives.map((one) => {
    const exact = `about ± ${digits(one.error)} points with ${one.privacy} privacy`;
    return one.n === now.n
      ? { ...one, bold: sentence(exact).slice(0, -1), rest: "" }
      : { ...one, bold: `Ask about ${whole(one.n)} people`, rest: `: ${exact}` };
  });
  const most = digits(now.max_error);
  return { said: `${whole(now.n)} people are too few to know every share up to ± ${most} points.`, ways };
}

/** Epsilon against n through the plan, within a thousandfold of its people. */
export function planChart(found) {
  const rows = found.lines.filter((row) => row.n >= found.n / 1e3 && row.n <= found.n * 1e3);
  const kinds = [...new Set(rows.map((row) => row.mechanism))];
  const across = [found.n, ...rows.map((row) => row.n)];
  const point = { mechanism: found.mechanism, n: found.n, epsilon: found.epsilon };
  const label = `epsilon ${found.epsilon.toPrecision(3)}, ${whole(found.n)} people`;
  const low = Math.min(...across) / 1.2;
  const high = Math.max(...across) * 1.2;
  const tens = Array.from({ length: 16 }, (_, power) => 10 ** power).filter((ten) => ten >= low && ten <= high);
  const patch = (part) => {
    if (part.domain?.[0] === "best plan") {
      part.range = part.range.filter((_, i) => kinds.includes(part.domain[i]));
      part.domain = part.domain.filter((kind) => kinds.includes(kind));
    }
    if (part.field === "n" && part.scale) {
      part.scale.domain = [low, high];
      part.axis.values = tens;
    }
    if (part.field === "epsilon" && part.scale) part.scale.domain = [Math.min(0.1, found.epsilon / 1.5), 12];
  };
  return {
    chart: "plan",
    description: `Epsilon against the number of people; planned: ${label}`,
    patch,
    data: { rows, more: [point], last: [{ label: `●  ${label}` }] },
  };
}
