/**
 * The plan of a form in words: what the whole costs in privacy, who answers what, and how sharp each answer will be.
 * Every error is the planner's. No element is touched here.
 */

import { symbolText } from "./common.js";
import { named } from "./planning.js";
import { fixed, number, sentences, text } from "./texts.js";
import { atMost, listed, privacy } from "./words.js";

/** Two digits, rounded up, so that "at most" stays true. */
function twoDigits(value) {
  const unit = 10 ** (Math.floor(Math.log10(value)) - 1);
  return number(Math.ceil((value / unit) * (1 - 1e-9)) * unit, { maximumSignificantDigits: 2 });
}
export const numbered = (value) => number(value, { maximumSignificantDigits: 3 });

export const NO_ANSWER = "no answer"; // the symbol that a form adds to a question that may be left out

/** A part of a form as a survey of its own, as far as its channel follows from it. */
export function surveyOf(form, part) {
  const asked = part.questions.map((name) => form.questions.find((question) => question.name === name));
  const [{ alphabet, skip }] = asked;
  const open = alphabet.kind === "open";
  const symbols = alphabet.symbols && [...alphabet.symbols, ...(skip ? [NO_ANSWER] : [])];
  const own = asked.length > 1 ? { kind: "closed", symbols: [...Array(part.encoding.cells).keys()] } : alphabet;
  return { ...part, alphabet: open || asked.length > 1 ? own : { ...alphabet, ...(symbols && { symbols }) } };
}

const product = (values) => values.reduce((all, one) => all * one, 1);

/**
 * A form as a channel, from those of its parts: `odds` is the largest ratio over all complete sets of answers, which
 * the parts of a device multiply to; parts of which some answers may be seen count with what they promise.
 */
export function formNumbers(form, parts) {
  const largest = (what) =>
    product(
      parts
        .map((n) => n[what] ?? n.odds)
        .sort((a, b) => b - a)
        .slice(0, form.drawn),
    );
  const seen = form.parts.filter((_, i) => parts[i].hidden).flatMap(({ questions }) => questions);
  const odds = largest("odds");
  return {
    odds,
    lifetime: largest("lifetime"),
    seen,
    promise: text("forms.promise", { odds: atMost(odds) }),
  };
}

/** Who answers what, and why. Of those that are drawn two related questions are one. */
export function spendingWords({ form, spendings: [best] }) {
  const count = form.parts.length;
  if (best.drawn >= count) return text("forms.everything", { count: form.questions.length });
  const pairs = form.parts.some(({ questions }) => questions.length > 1) && text("relate.asOne");
  return sentences(text("forms.drawn", { count: best.drawn, of: count }), pairs);
}

/** That some answers may be seen, where that is so. */
export function seenWords(form, { seen }) {
  const titles = seen.map((name) => form.questions.find((question) => question.name === name).title || name);
  return titles.length ? text("forms.seen", { questions: listed(titles.map((title) => `“${title}”`)) }) : "";
}

/** How far off a question is, and of what. */
export const errorWords = ({ measure, error }) =>
  text(`forms.${measure}`, { error: twoDigits(measure === "share" ? 100 * error : error) });

/** Of each question its title, how far off it is, and how many are asked. */
export function sharpnessRows(found) {
  const { form, n } = found;
  const people = text("forms.asked", { count: Math.round((n * found.spendings[0].drawn) / form.parts.length) });
  return found.questions.map((one) => [one.title || one.name, errorWords(one), people]);
}

/** Heads and rows for experts: mechanisms, and what other ways to spend the budget need. */
export function expertTables(found) {
  const needs = text(`forms.needs_${found.found}`);
  const told = (value) => (value === null ? text("forms.cannot") : numbered(value));
  return {
    mechanisms: {
      heads: [text("forms.question"), text("forms.mechanism"), text("forms.epsilon")],
      rows: found.questions.map((one) => [one.name, named(one, text("words.comma")), numbered(one.epsilon)]),
    },
    spendings: {
      heads: [text("forms.way"), needs],
      rows: found.spendings.map((one) => [wayWords(one, found.form.parts.length), told(one.needs)]),
    },
  };
}

/** A way to spend a budget: the planner's names for it are for programs. */
const wayWords = ({ name, drawn }, count) =>
  drawn < count
    ? text("forms.wayDrawn", { count: drawn, of: count })
    : text(name.includes("equal") ? "forms.wayEqual" : "forms.wayBest");

/** What cannot be had, and what can: `ways`, each with its words. Epsilon is set in them. */
export function formRefusal({ message, told }, now) {
  if (!told.alternatives || !now.max_error) return { said: message, ways: [] };
  const ways = told.alternatives.map((one) => ({
    ...one,
    bold: text("forms.instead", { error: twoDigits(100 * one.error), privacy: privacy(one.privacy) }),
    rest: "",
  }));
  const said = text("forms.tooFew", { count: now.n, error: numbered(100 * now.max_error) });
  return { said, ways };
}

/** What a person sees of a form, one screen after the other, as its author's fields say it. */
export function screens({ title, introduction, thanks, closes, questions }) {
  const asked = questions.map(({ name, kind, symbols, low, high, skip }, i) => ({
    what: "question",
    title: name || text("forms.untitled", { number: i + 1 }),
    number: i + 1,
    of: questions.length,
    choices: kind === "closed" || kind === "ordered" ? symbols.map(symbolText) : undefined,
    line: kind === "open" || kind === "free",
    scale: kind === "number" ? [low, high] : undefined,
    skip: Boolean(skip),
  }));
  const start = { what: "start", title: title || questions[0].name, introduction: introduction.trim(), closes };
  const intro = questions.length > 1 || start.introduction || closes ? [start] : [];
  return [...intro, ...asked, { what: "end", title: text("forms.preview_end"), thanks: thanks.trim() }];
}

/** What the plan says before the table: the guarantee, and what it does not cover. */
export const guaranteeWords = (found, n) =>
  sentences(text("forms.cost", { epsilon: fixed(found.epsilon, 2) }), n.promise, seenWords(found.form, n));
