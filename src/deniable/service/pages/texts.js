/**
 * What people read: every text of the pages by its key, in one language, and numbers and times as that language
 * writes them. The texts are in languages/*.json and come by sections; who fetches them is languages.js. No element is
 * touched.
 */

const now = { locale: "en", isolated: false, texts: {} };

/** Speak a language from here on: its tag as the browser has it ("de-AT"), and whether it runs right to left. */
export const speak = (locale, rightToLeft = false) => Object.assign(now, { locale, isolated: rightToLeft, texts: {} });

/** Add a section: texts by the rest of their keys. */
export const learn = (section, texts) => (now.texts[section] = { __proto__: null, ...texts });
export const knows = (section) => section in now.texts;

const found = (key) => {
  const [section, name] = key.split(".");
  return now.texts[section]?.[name];
};

/** Whether there is a text of this key. */
export const has = (key) => found(key) !== undefined;

/**
 * The text of a key, such as "answer.roll", with `values` in the place of `{names}`; numbers are written as the
 * language does. A text with plural forms takes the one for `count`.
 */
export const text = (key, values) => parts(key, values).join("");

/** The same in pieces, for values that are elements. */
export function parts(key, values = {}) {
  const said = found(key);
  if (said === undefined) throw new Error(`there is no text ${key}`);
  const form = said.other === undefined ? said : (said[plural(values.count)] ?? said.other);
  return form.split(/\{(\w+)\}/).map((part, i) => (i % 2 ? shown(values[part]) : written(part)));
}

/** Digits of a text itself, as the language writes them. */
const written = (said) => said.replace(/\d+/g, (count) => number(count, { useGrouping: false }));

/** Where lines run right to left, a value that runs the other way must not carry its neighbours along. */
export const isolated = (value) => (now.isolated ? `\u2068${value}\u2069` : value);

const shown = (value) =>
  typeof value === "number" ? number(value) : typeof value === "string" ? isolated(value) : value;

const plural = (count) => new Intl.PluralRules(now.locale).select(count);

/** Sentences one after another; what is not there is left out. */
export const sentences = (...some) => some.filter(Boolean).join(" ");

export const number = (value, options) => new Intl.NumberFormat(now.locale, options).format(value);

/** A number with so many digits after the point, no fewer and no more. */
export const fixed = (value, digits, options) =>
  number(value, { minimumFractionDigits: digits, maximumFractionDigits: digits, ...options });

/** A number with at most so many significant digits. */
export const digits = (value, most) => number(value, { maximumSignificantDigits: most });

/** A share of 1 as a percentage with so many digits after the point. */
export const percentage = (share, digits = 0) => fixed(share, digits, { style: "percent" });

/** A time, as it is on this device's clock; with `timeZone: "UTC"` as it is there. */
export const moment = (time, options = { dateStyle: "long", timeStyle: "short" }) =>
  new Intl.DateTimeFormat(now.locale, options).format(new Date(time));

/** "a, b and c": each is what somebody has written. */
export const series = (some, type = "conjunction") =>
  new Intl.ListFormat(now.locale, { type }).format(some.map(isolated));
