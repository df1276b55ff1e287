/** What Results says while it has no shares, or beside them. No element is touched here. */

import { percent, points, whole } from "./common.js";

const FEW = "fewer would say too much about single people.";

const one = (window) => `${window === "hour" ? "an" : "a"} ${window}`;

/** Who sees what, and when: the end of a sentence. */
export const readers = ({ window, minimum }) =>
  `${one(window)}'s answers are shown once it is over (in UTC) and ` +
  `${minimum > 1 ? `${whole(minimum)} of them are in` : "some are in"}, so that no single report can be read off`;

/** How many answers there are, and why there are no results yet. `live`: the reader asked, and sees them at once. */
export function soFar(reports, { minimum, window }, { closed, live }) {
  const least = Math.max(minimum, 1);
  const enough = reports >= least;
  const count = `${whole(reports)}${enough ? "" : ` of ${whole(least)}`} answers${closed ? "" : " so far"}`;
  return { least, count, words: why(enough, least, window, closed, live) };
}

function why(enough, least, window, closed, live) {
  if (enough)
    return (
      `Enough have answered. Results appear by themselves once the ${window} is over (in UTC), so that nobody can ` +
      "watch single answers come in."
    );
  if (closed)
    return (
      `This survey has ended, and results are shown from ${whole(least)} answers on: ${FEW}` +
      `${live ? " To wait for more answers, reopen it below." : ""}`
    );
  const number = least === 1 ? "one is" : `${whole(least)} are`;
  return `Results appear by themselves once ${number} in${live ? "" : ` and the ${window} is over (in UTC)`}: ${FEW}`;
}

/** Candidates that the survey reads as one answer were counted as one: say so. "" where all of them differ. */
export function merged(candidates, estimates) {
  const fewer = candidates - estimates;
  if (fewer < 1) return "";
  const same = `${fewer === 1 ? "is" : "are"} the same answer as another one, written differently.`;
  return `${fewer} of your ${whole(candidates)} candidates ${same}`;
}

/** What a chart over time shows, and how seldom it rings by chance. `alone`: no window is helped by the others. */
export const trendWords = ({ window, windows, level, problem }, alone = false) =>
  `One point ${one(window)}, ${windows.length} of them, ` +
  `${alone || problem ? "each from its own answers alone" : "each estimated with the help of all the others"}. ` +
  (problem
    ? `They could not be followed together: ${problem}`
    : `A ring marks ${one(window)} in which a share changed by more than chance explains; where nothing changes, ` +
      `such a chart has a ring at most once in ${Math.round(1 / (1 - level))} times.`);

/** The same for the mean of answers in an order. */
export const meansWords = ({ window, windows, level }) =>
  `One point ${one(window)}, ${windows.length} of them: the mean, each from its own answers alone, with its ` +
  `${percent(level, 0)} interval.`;

const share = (value) => percent(Math.min(Math.max(value, 0), 1));

/** The last window against a normal one: what is unusual, and by how much. `rows` have names. */
export function latestWords(rows, { window, level }) {
  const unusual = rows.filter((row) => row.unusual).slice(0, 6);
  const normal = `normal is the mean of those before it since a share last changed`;
  if (!unusual.length) return `Nothing unusual: ${normal}.`;
  const told = unusual.map(({ name, raw, normal: usual, raw_low: low, raw_high: high }) => {
    const [least, most, way] = low > 0 ? [low, high, "more"] : [-high, -low, "less"];
    return `${name} ${share(raw)}, normally ${share(usual)} (${points(least)} to ${points(most)} points ${way})`;
  });
  const often = `once in ${Math.round(1 / (1 - level))} times`;
  return `Other than on a normal ${window}: ${told.join("; ")}. Chance alone names something ${often}; ${normal}.`;
}
