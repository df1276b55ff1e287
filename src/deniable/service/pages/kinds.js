/**
 * What pages must know of a survey's kind: its channel in numbers, where an answer is given, what happens to it, and how
 * what came of it is told and drawn. Most surveys have what is here; the others bring a module of their own, which is
 * loaded where there is such a survey and has the same names.
 */

import { marksSent, picture, rolled } from "./dice.js";
import { field } from "./fields.js";
import { inWords } from "./telling.js";
import { deniability, numbers, unknowable, whatHappens } from "./words.js";

const TABLES = ["sensitive", "sensitive-design", "blocks", "budgets", "table"];

const plain = {
  numbers,
  field,
  whatHappens,
  inWords,
  rolled,
  picture,
  /** What is drawn where nobody knows the truth any more. */
  afterwards: (n, cells) => (n.shape === "marks" ? marksSent(n, cells) : null),
  denial: (n) => `${unknowable(n)} ${deniability(n)}`,
};

/** The kind of a survey, by what its file says. */
export async function kindOf({ encoding, mechanism }) {
  if (encoding.kind === "neighbours") return { ...plain, ...(await import("./near.js")) };
  if (TABLES.includes(mechanism.kind)) return { ...plain, ...(await import("./tables.js")) };
  return plain;
}
