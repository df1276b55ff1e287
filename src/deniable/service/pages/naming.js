/**
 * What a result is called once it leaves the page: file names, headings of pictures, dates. No element is touched here.
 */

import { line } from "./chart.language.js";
import { dayOf } from "./periods.js";
import { fixed, number, text } from "./texts.js";

const KEPT = 48; // characters of a question in a file name: 192 bytes at most, of 255 that file systems allow

/**
 * A file name that says the question and is safe everywhere: letters and digits of any script, joined by hyphens. The
 * end of the digest keeps two surveys apart, stands alone where a question has no letters, and keeps a name from being
 * one that Windows reserves (CON, NUL).
 */
export function fileName(question, digest, ending) {
  const words =
    question
      .normalize("NFC")
      .toLowerCase()
      .match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
  const slug = [...words.join("-")].slice(0, KEPT).join("").replace(/-$/, "");
  return `${slug || "results"}-${digest.slice(0, 8)}.${ending}`;
}

/** A text in lines of at most so many characters; a word that is longer is cut. */
export function lines(said, most) {
  const found = [];
  for (const word of said.split(/\s+/).filter(Boolean)) {
    const last = found.at(-1);
    if (last !== undefined && [...last, ...word].length < most) found[found.length - 1] = `${last} ${word}`;
    else for (let rest = [...word]; rest.length; rest = rest.slice(most)) found.push(rest.slice(0, most).join(""));
  }
  return found;
}

/** When it was counted: days, or hours where windows are hours. `to` is the first hour that is left out. A window that
 * has not ended, such as this week, ends today: so far. */
export function dates(from, to, window, now = Date.now()) {
  const end = Date.parse(`${to}:00Z`) - (window === "hour" ? 0 : 3.6e6);
  const isRunning = Date.parse(`${from}:00Z`) <= now && now < end;
  const times = [from, new Date(isRunning ? now : end).toISOString().slice(0, 13)];
  const [first, last] = times.map((time) => dayOf(time, window));
  const span = first === last ? last : text("results.span", { from: first, to: last });
  return isRunning ? text("results.spanSoFar", { span }) : span;
}

/** What makes a text of either of the two ranges that were tabulated, which the collector names one way. */
export function rangeNames({ rows, from, to, against_from, against_to }, window) {
  const names = [dates(against_from, against_to, window), dates(from, to, window)];
  return (symbol) => line(names[rows.symbols.indexOf(symbol)]);
}

/** The heading of a saved picture: the question, and under it what the numbers rest on. */
export function heading({ name, n, from, to, level, epsilon_spent: epsilon }, window) {
  const facts = text("results.heading", {
    count: n,
    dates: dates(from, to, window),
    epsilon: fixed(epsilon, 2),
    level: number(level, { style: "percent", maximumFractionDigits: 4 }),
  });
  return { text: lines(name || text("results.nameless"), 60), subtitle: lines(facts, 100) };
}

/** The lines of a text, each once however its letters are put together, without blanks around them and empty ones. */
export const distinctLines = (given) =>
  [
    ...new Set(
      given
        .normalize()
        .split("\n")
        .map((line) => line.trim()),
    ),
  ].filter(Boolean);
