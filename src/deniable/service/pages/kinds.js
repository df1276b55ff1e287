/**
 * What pages must know of a survey's kind: its channel in numbers, where an answer is given, what happens to it, and
 * how what came of it is told and drawn. What most surveys have is here. The rest is in modules that have the same
 * names, and of which only those are loaded that a survey needs.
 */

import { picture, rolled } from "./dice.js";
import { field } from "./fields.js";
import { load } from "./languages.js";
import { fetched } from "./page.js";
import { sentences } from "./texts.js";
import { deniability, numbers, unknowable, whatHappens } from "./words.js";

const TABLES = ["sensitive", "sensitive-design", "blocks", "budgets", "table"];

const usual = {
  /** What the client takes: of a form, more than its file. */
  prepare: (survey) => survey,
  keepsDraw: () => false,
  /** What else can be seen, in paragraphs. */
  clear: () => [],
  /** What is shown when it was sent, beside what is there. */
  end: () => {},
  /** The cells of an answer. */
  truth: ({ client }, value) => client.survey.encoding.of(client.status().cohort, value),
  numbers,
  field,
  whatHappens,
  rolled,
  picture,
  /** What is drawn where nobody knows the truth any more. */
  afterwards: () => null,
  denial: (n) => sentences(unknowable(n), deniability(n)),
};

function modules({ parts, encoding, mechanism }) {
  if (parts) return [import("./form.answer.js")];
  const { kind } = mechanism;
  if (encoding.kind === "neighbours") return [import("./near.js"), load("near")];
  if (TABLES.includes(kind)) return [import("./tables.js"), load("tables")];
  const more = kind === "bitflip" ? "marks" : encoding.kind === "prefixes" && "prefixes";
  return [import("./plain.js"), ...(more ? [import(`./${more}.js`), load(more)] : [])];
}

/** The kind of a survey, by what its file says. */
export const kindOf = async (survey) => Object.assign({}, usual, ...(await fetched(modules(survey))));
