/** What came of a form: which rows of a question are drawn, what is said beside them, files. No element is touched. */

import { line } from "./chart.language.js";
import { symbolText } from "./common.js";
import { isForm, partOf } from "./form.asking.js";
import { NO_ANSWER } from "./form.plan.js";
import { dates, lines } from "./naming.js";
import { binText } from "./quantities.js";
import { bySize, cut, key } from "./rows.js";
import { fixed, number, percentage, text } from "./texts.js";

const MOST = 20; // answers in a chart

/** What makes a text of an answer to a question of a form: left out, a bin of numbers, or what is listed. */
export const namesOf =
  ({ alphabet, skip }) =>
  (symbol) => {
    if (skip && symbol === NO_ANSWER) return line(text("forms.noAnswer"));
    return alphabet.kind === "number" ? line(binText(symbol)) : symbolText(symbol);
  };

/**
 * The questions of a form as sections show them: whether people wrote what they liked, whether answers have an order,
 * whether another question was sent together with it, so that it has no results over time, and what makes a text of an
 * answer.
 */
export const sectionsOf = (form) =>
  (isForm(form) ? form.questions : []).map(({ name, title, alphabet, skip }) => {
    const part = partOf(form, name);
    const numbers = alphabet.symbols?.every((symbol) => typeof symbol === "number");
    return {
      name,
      title: title || name,
      open: alphabet.kind === "open",
      own: part.encoding.kind === "neighbours" || alphabet.kind === "number" || Boolean(numbers),
      skip: Boolean(skip),
      related: part.questions.length > 1,
      called: namesOf({ alphabet, skip }),
    };
  });

const isSkipped = (section, row) => section.skip && row.symbol === NO_ANSWER;

/** The rows of a question's chart, in its order, and how many there are; what was left out is told beside it. */
export function drawnRows(section, { estimates }) {
  const answers = estimates.filter((row) => !isSkipped(section, row));
  const largest = bySize(answers).slice(0, MOST);
  const kept = new Set(largest);
  return { rows: section.own ? answers.filter((row) => kept.has(row)) : largest, count: answers.length };
}

/** How many left a question out, with the limits of that; "" where it could not be. */
export function skippedWords(section, { estimates, level }) {
  const row = estimates.find((one) => isSkipped(section, one));
  if (!row) return "";
  const [low, high] = cut(row.raw_low, row.raw_high);
  const share = percentage(Math.max(row.probability, 0), 1);
  if (low === null) return text("forms.skippedUnknown", { share });
  return text("forms.skipped", {
    share,
    low: percentage(low, 1),
    high: percentage(high, 1),
    level: percentage(level),
  });
}

/** What stands under the bars of a question. */
export function barsWords({ count, rows }, { level, estimates }) {
  const some = estimates.some((row) => row.raw_low !== null);
  const first = rows.length < count ? `${text("forms.largest", { count: rows.length, of: count })} ` : "";
  return first + (some ? text("forms.bars", { sure: number(Math.round(100 * level)) }) : text("forms.vague"));
}

/** Rows of a chart, of which the median's says so. */
export const marked = (drawn, rows, figures) =>
  drawn.map((row, i) =>
    figures && key(rows[i].symbol) === key(figures.median.value)
      ? { ...row, name: text("forms.median", { answer: row.name }) }
      : row,
  );

/** How many forms are in a range of windows. */
export const formsIn = (windows, { from, to }) =>
  windows
    .filter((one) => (!from || one.start >= from) && (!to || one.end <= to))
    .reduce((sum, one) => sum + one.reports, 0);

/** The facts at the top: how many, since when, and how private a person's answers are. */
export const factsOf = (count, shares, window, { odds, lifetime = odds }, strength, atMost) => [
  [number(count), text("forms.forms", { dates: dates(shares.from, shares.to, window) })],
  [strength, text("forms.likelier", { odds: atMost(lifetime) })],
];

/** The heading of a saved picture: the question, and under it what the numbers rest on. */
export function pictureHeading(section, { n, from, to, level }, window, epsilon) {
  const facts = text("forms.rests", {
    count: n,
    dates: dates(from, to, window),
    epsilon: fixed(epsilon, 2),
    level: percentage(level),
  });
  return { text: lines(section.title, 60), subtitle: lines(facts, 100) };
}

/** Files of several questions as one: all have the same columns, one of which names the question. */
export function joinedTables(files) {
  const [first = "", ...others] = files.map((file) => file.replace(/\r?\n$/, ""));
  const [head] = first.split(/\r?\n/, 1);
  const rest = others.map((file) => {
    const [own] = file.split(/\r?\n/, 1);
    if (own !== head) throw new Error("files to join must have the same columns");
    return file.slice(own.length).replace(/^\r?\n/, "");
  });
  return `${[first, ...rest].join("\r\n")}\r\n`;
}
