/**
 * A form as the editor has it, as the planner is asked for it, and as it was made. No element is touched here.
 *
 * Questions are what QuestionEditor has as its value, and `skip`. Answers are looked up by names that follow from the
 * questions, so that a column of a download says what it is about.
 */

import { symbolText } from "./common.js";
import { related } from "./form.pairs.js";
import { NO_ANSWER } from "./form.plan.js";
import { answersOf, request } from "./planning.js";
import { text } from "./texts.js";

export const FORMAT = "deniable-form/1";
export const isForm = (survey) => survey.format === FORMAT;

const MOST_SKIPPED = 24; // bins of numbers that may be left out: they are a list then, of which each has a bar
const LONGEST = 24; // characters of a name, before a number that keeps two apart

/** A name for each title: letters, digits and underscores of any script, and no two alike. */
export function namesOf(titles) {
  const taken = new Set();
  return titles.map((title, i) => {
    const words =
      title
        .normalize("NFKC")
        .toLowerCase()
        .normalize("NFC")
        .match(/[\p{L}\p{M}\p{Nd}]+/gu) ?? [];
    const cut = [...words.join("_")].slice(0, LONGEST).join("").replace(/_$/, "");
    const base = /^\p{L}/u.test(cut) ? cut : `question_${cut || i + 1}`;
    let name = base;
    for (let more = 2; taken.has(name); more += 1) name = `${base}_${more}`;
    taken.add(name);
    return name;
  });
}

const binsOf = ({ number: [low, high], bins, step }) => bins ?? Math.round((high - low) / step) + 1;

/** Moved from one place to another; the others keep their order. */
export function moved(list, from, to) {
  const found = [...list];
  found.splice(to, 0, ...found.splice(from, 1));
  return found;
}

/** What the planner is to be asked for a form, or the sentence that says what is missing. Its numbers are texts. */
export function formRequest({ title, questions, relate = [], ...settings }) {
  if (!title) return text("forms.writeTitle");
  const names = namesOf(questions.map(({ name }) => name));
  const asked = [];
  for (const [i, { name, skip, kind, ...fields }] of questions.entries()) {
    const answers = kind === "free" ? text("free.notInForms") : answersOf(kind, fields);
    if (!name) return text("forms.writeQuestion", { number: i + 1 });
    if (typeof answers === "string") return text("forms.ofQuestion", { number: i + 1, said: answers });
    if (skip && kind === "number" && binsOf(answers) > MOST_SKIPPED)
      return text("forms.ofQuestion", { number: i + 1, said: text("forms.fewBins", { count: MOST_SKIPPED }) });
    if (skip && [...(answers.symbols ?? []), ...(answers.ordered ?? [])].includes(NO_ANSWER))
      return text("forms.ofQuestion", { number: i + 1, said: text("forms.noAnswerThere", { answer: NO_ANSWER }) });
    asked.push({ name: names[i], title: name, ...answers, ...(skip && { skip: true }) });
  }
  const pairs = related(relate, asked);
  if (typeof pairs === "string") return pairs;
  // What a form shares with a survey of one list: people, and an error or an epsilon.
  const shared = request({ ...settings, kind: "closed", symbols: ["", " "], name: title });
  if (typeof shared === "string") return shared;
  const { n, epsilon, max_error } = shared;
  const found = { n, name: title, questions: asked, ...(epsilon === undefined ? { max_error } : { epsilon }) };
  return pairs.length ? { ...found, relate: pairs } : found;
}

/** How a question is answered, in the fields of the editor. */
export function answered({ alphabet, encoding, mechanism }, looked) {
  if (alphabet.kind === "number") {
    const { low, high, bins, step, outside } = alphabet;
    return { kind: "number", low, high, bins, step, outside };
  }
  const symbols = alphabet.symbols?.map(symbolText);
  if (!symbols)
    return encoding.kind === "prefixes"
      ? { kind: "free", text: alphabet.text ?? "exact", length: encoding.levels.at(-1)[0] }
      : { kind: "open", text: alphabet.text ?? "exact", candidates: looked > 1 ? looked : undefined, symbols };
  if (encoding.kind === "neighbours") return { kind: "ordered", symbols };
  const marked = mechanism.sensitive?.filter((place) => place < symbols.length);
  return { kind: "closed", symbols, sensitive: marked?.map((place) => symbols[place]) };
}

/** The part of a form that a question belongs to. */
export const partOf = (form, name) => form.parts.find(({ questions }) => questions.includes(name));

/** The questions of a form, for the editor. */
export const draftQuestions = (form) =>
  form.questions.map((question) => ({
    question: question.title || question.name,
    ...answered({ ...partOf(form, question.name), alphabet: question.alphabet }),
    skip: Boolean(question.skip),
  }));
