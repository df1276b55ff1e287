/**
 * Free text without a list, on Ask: what the planner is asked, and its plan in words. The same names as planning.js
 * has for everything else. No element is touched here.
 */

import { called, percent, sentence } from "./common.js";
import { text } from "./texts.js";
import { chance, isAtLeast, privacy } from "./words.js";

export const LEAST_PEOPLE = 1000; // below it counts are not nearly normal: the planner takes no fewer
const MOST_TEXTS = 100_000; // of the population that a number of texts is counted in
const LONGEST = 255; // bytes that a survey tells apart
const USELESS = 0.5; // a share that half of all people must reach finds nothing worth a survey

const numberOf = (given) => (given.trim() === "" ? NaN : Number(given));
/** A share with two digits, rounded up, so that "at least" stays true. */
const rounded = (share) => chance(share, true);
const isWhole = (value, least, most) => Number.isInteger(value) && value >= least && value <= most;

/** How people answer, as the planner is told, or what is missing of it. */
export const answers = ({ length, text: reading }) =>
  isWhole(numberOf(length), 1, LONGEST)
    ? { length: numberOf(length), text: reading }
    : text("free.sayLength", { count: LONGEST });

/** What is to be found, as the planner is told, or what is missing of it; nothing where epsilon is given. */
export function goal({ find_by: by, texts, above, people }, byError) {
  if (!(Number(people) >= LEAST_PEOPLE)) return text("free.sayPeople", { count: LEAST_PEOPLE });
  if (!byError) return {};
  if (by === "byCount") {
    const count = numberOf(texts);
    return isWhole(count, 1, MOST_TEXTS) ? { discover: count } : text("free.sayTexts", { count: MOST_TEXTS });
  }
  const share = numberOf(above);
  return share > 0 && share <= 100 * USELESS ? { discover_above: share / 100 } : text("free.sayAbove");
}

/** Whether a request or a plan is of texts that nobody lists. */
export const isFree = ({ errors, length }) => errors?.share !== undefined || length !== undefined;

/** What is found, as a number and words. */
export function sharpness({ errors, texts }) {
  const { bound } = errors.share;
  const facts = [[rounded(bound), text("free.sharp")]];
  return texts ? [[text("free.texts", { count: texts }), text("free.sharpTexts")], ...facts] : facts;
}

/** What a plan will show, and what it will not: two lists of sentences' ends. */
export function visible({ errors, survey }, n) {
  const { bound } = errors.share;
  const least = { share: rounded(bound) };
  const hidden = isAtLeast(n, "strong") ? "Answer" : isAtLeast(n, "weak") ? "Unsure" : "Near";
  const length = { count: survey.encoding.levels.at(-1)[0] };
  return {
    seen: bound < USELESS ? [text("free.see", least), text("free.seeShares")] : [text("free.seeNothing")],
    unseen: [text(`ask.hide${hidden}`), text("free.hideRare", least), text("free.hideLong", length)],
  };
}

/** How the plan works, for experts. */
export function mechanismWords({ mechanism, survey, confidence }, n) {
  const levels = survey.encoding.levels.map(([bytes, cohorts]) => `${bytes} (${cohorts})`).join(", ");
  const sure = percent(confidence, 0);
  return text("free.mechanism", { mechanism: called(mechanism), cells: n.cells, groups: n.cohorts, levels, sure });
}

/** No other mechanism is planned for. */
export const alternatives = () => ({ heads: [], rows: [] });

/** What cannot be had, and what can: `ways`, each with its words. Epsilon is set in them. */
export function refusal({ message, told }, now) {
  if (!told.alternatives) return { said: sentence(message), ways: [] };
  const ways = told.alternatives
    .filter(({ error }) => error < USELESS)
    .map((one) => {
      const finds = text("free.instead", { share: rounded(one.error), privacy: privacy(one.privacy) });
      return one.n === now.n
        ? { ...one, bold: finds, rest: "" }
        : { ...one, bold: text("ask.askPeople", { count: one.n }), rest: `: ${finds}` };
    });
  return { said: text("free.tooFew", { count: now.n }), ways };
}
