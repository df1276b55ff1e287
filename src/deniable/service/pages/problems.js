/**
 * Refusals in the page's language: a sentence a type of problem document. What the collector itself says is in English,
 * and stands beside the sentence where one type has many reasons.
 */

import { el, foreign, sentence } from "./common.js";
import { has, text } from "./texts.js";

const SEVERAL = ["malformed", "plan", "survey", "undecodable"]; // types with a reason of their own each time

/** The type of a problem document, as the collector's routes name it: "too-few". */
const typeOf = ({ told }) => told?.type?.split(":").at(-1) ?? "";

/** A problem as a sentence, or as one of the page's and the collector's own. */
export function problemText(problem) {
  if (problem.status === 0) return problem.message; // of the page itself
  const type = typeOf(problem);
  const key = `problems.${type.replaceAll("-", "_")}`;
  const own = foreign(sentence(problem.message));
  if (!has(key)) return own;
  return SEVERAL.includes(type) ? el("span", {}, text(key), " ", own) : text(key);
}
