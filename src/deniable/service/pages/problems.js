/**
 * Refusals in the page's language: a sentence a type of problem document, and where one type has many reasons, one a
 * reason. What the collector itself says is in English; it stands beside the sentence where it names no reason.
 */

import { el, foreign, sentence } from "./common.js";
import { has, sentences, text } from "./texts.js";

const SEVERAL = ["malformed", "plan", "survey", "undecodable"]; // types with a reason of their own each time

/** The type of a problem document, as the collector's routes name it: "too-few". */
const typeOf = ({ told }) => told?.type?.split(":").at(-1) ?? "";

const ALARM = 1e-3; // p-values below it are alarms, as deniable.decoders.goodness has it
const TESTS = ["fit", "cohorts", "floor"]; // in the order of their sentences; the last sentence may be of no test

/** Why a result is not to be trusted: the alarms of its diagnostics. */
export function alarmTexts({ alarms, ...found }) {
  const failed = TESTS.filter((name) => found[name]?.p_value < ALARM);
  if (alarms.length > failed.length) failed.push("hidden");
  return failed.length === alarms.length ? failed.map((name) => text(`forms.alarm_${name}`)) : alarms.map(foreign);
}

/** A problem as a sentence, or as one of the page's and the collector's own. */
export function problemText(problem) {
  if (problem.status === 0) return problem.message; // of the page itself
  const type = typeOf(problem);
  const key = `problems.${type.replaceAll("-", "_")}`;
  const own = foreign(sentence(problem.message));
  if (!has(key)) return own;
  if (!SEVERAL.includes(type)) return text(key);
  const why = `reasons.${problem.told.reason}`;
  return has(why) ? sentences(text(key), text(why)) : el("span", {}, text(key), " ", own);
}
