/**
 * Charts in the page's language. The templates are those of Python and have its words; `words` of charts.json says
 * which text of the page each of them is. Vega writes numbers and dates by a locale of its own, which is made here of
 * how the browser writes them. No element is touched.
 */

import { isolated, moment, number, percentage, text } from "./texts.js";

const EXPRESSIONS = ["calculate", "filter", "labelExpr"];
const QUOTED = /"([^"]*)"|'([^']*)'/g;
const NAMED = ["kind", "mechanism"]; // columns of rows that have words of a template; all others have the survey's own

/** Visit every object in a specification. */
export function walk(part, visit) {
  if (part === null || typeof part !== "object") return;
  visit(part);
  for (const inner of Object.values(part)) walk(inner, visit);
}

/** A function that gives for a word of a template that of the page, and leaves anything else as it is. */
export const translator = (words, level) => (word) =>
  Object.hasOwn(words, word) ? text(words[word], { level: percentage(level, digitsOf(level)) }) : word;

/** A line of a chart: all of it runs as the language does, also where marks stand at its end. */
export const line = (said) => (isolated("") ? `\u2067${said}\u2069` : said);

const digitsOf = (level) => (Number.isInteger(Number((100 * level).toPrecision(6))) ? 0 : 1);

/** Put the page's words into a template: titles, legends, tooltips, and what its expressions compare with. */
export function translate(spec, said) {
  walk(spec, (part) => {
    if (Array.isArray(part.tooltip)) for (const one of part.tooltip) one.title ??= one.field;
    if (typeof part.title === "string") part.title = line(said(part.title));
    if (typeof part.value === "string") part.value = said(part.value);
    if (Array.isArray(part.domain)) part.domain = part.domain.map(said);
    for (const name of EXPRESSIONS)
      if (typeof part[name] === "string")
        part[name] = part[name].replace(QUOTED, (whole, one, two) => {
          const found = said(one ?? two);
          return found === (one ?? two) ? whole : JSON.stringify(found);
        });
    if (part.axis?.format?.includes("%d")) part.axis.labelExpr = localDigits("datum.label");
    if (part.field === "window" && part.type === "nominal")
      Object.assign(part, { type: "temporal", format: "%x, %H:%M" });
  });
  spec.config.locale = { number: numberLocale(), time: timeLocale() };
}

/** Rows whose words are those of the template, in the page's. */
export const translated = (rows, said) =>
  rows.map((row) => ({
    ...row,
    ...Object.fromEntries(NAMED.filter((name) => name in row).map((name) => [name, said(row[name])])),
  }));

const DIGITS = [...Array(10).keys()];
const bare = (said, taken) => said.replace(taken, "");

/** Vega writes days of dates in the digits of English: an expression with those of the language, if it has others. */
function localDigits(label) {
  return DIGITS.filter((digit) => number(digit) !== String(digit)).reduce(
    (made, digit) => `replace(${made}, regexp('${digit}', 'g'), '${number(digit)}')`,
    label,
  );
}

/** How numbers are written, as Vega takes it. */
export const numberLocale = () => ({
  decimal: bare(number(1.5), /\p{Nd}/gu),
  thousands: [...number(1e7)].find((sign) => !/\p{Nd}/u.test(sign)) ?? "",
  grouping: [3],
  currency: ["", ""],
  numerals: DIGITS.map((digit) => number(digit)),
  percent: bare(percentage(0), number(0)),
  minus: bare(number(-1), number(1)),
});

/** How dates are written, as Vega takes it: the names of months and days, and the order of a date's parts. */
export function timeLocale() {
  const names = (times, options) => times.map((time) => moment(time, { ...options, timeZone: "UTC" }));
  const months = DIGITS.concat(10, 11).map((month) => Date.UTC(2023, month, 15));
  const days = DIGITS.slice(0, 7).map((day) => Date.UTC(2023, 0, 1 + day)); // a Sunday comes first
  const date = bare(moment(Date.UTC(2023, 10, 25), { dateStyle: "short", timeZone: "UTC" }), /[\u200e\u200f]/g)
    .replace(new RegExp(`${number(2023, { useGrouping: false })}|${number(23)}`), "%Y")
    .replace(number(11), "%m")
    .replace(number(25), "%d");
  return {
    dateTime: `${date}, %H:%M`,
    date,
    time: "%H:%M:%S",
    periods: ["AM", "PM"],
    days: names(days, { weekday: "long" }),
    shortDays: names(days, { weekday: "short" }),
    months: names(months, { month: "long" }),
    shortMonths: names(months, { month: "short" }),
  };
}
