/** What Results says while it has no shares, or beside them. No element is touched here. */

import { called, constraintKey, decoderKey, percent, points } from "./common.js";
import { digits, number, sentences, series, text } from "./texts.js";

const WEEK = 7; // windows to a cycle: days; elsewhere hours of a day

/** Who sees what, and when. */
export const readers = ({ window, minimum }) =>
  minimum > 1 ? text(`results.readers_${window}`, { count: minimum }) : text(`results.readersSome_${window}`);

/** How many answers there are, and why there are no results yet. `live`: the reader asked, and sees them at once. */
export function soFar(reports, { minimum, window }, { closed, live }) {
  const least = Math.max(minimum, 1);
  const enough = reports >= least;
  const key = enough ? (closed ? "count" : "countSoFar") : closed ? "countOf" : "countOfSoFar";
  const count = text(`results.${key}`, { count: reports, least });
  return { least, count, words: why(enough, least, window, closed, live) };
}

function why(enough, least, window, closed, live) {
  if (enough) return text(`results.enough_${window}`);
  const few = text("results.few");
  if (closed) return sentences(text("results.ended", { count: least }), few, live && text("results.reopen"));
  return sentences(text(live ? "results.once" : `results.once_${window}`, { count: least }), few);
}

/** Candidates that the survey reads as one answer were counted as one: say so. "" where all of them differ. */
export function merged(candidates, estimates) {
  const fewer = candidates - estimates;
  if (fewer < 1) return "";
  return text("results.merged", { count: fewer, candidates });
}

/** What a chart over time shows, and how seldom it rings by chance. `alone`: no window is helped by the others. */
export const trendWords = ({ window, windows, level, problem, reason, cycle }, alone = false) =>
  sentences(
    text(`results.points_${window}`, { count: windows.length }),
    text(alone || problem ? "results.fromAlone" : "results.withOthers"),
    problem
      ? text("results.notFollowed", { problem: text(reason ? `reasons.${reason}` : "problems.undecodable") })
      : text(`results.ring_${window}`, { count: Math.round(1 / (1 - level)) }),
    cycle && text(cycle === WEEK ? "results.repeats_weekday" : "results.repeats_hour"),
  );

/** The same for the mean of answers in an order. */
export const meansWords = ({ window, windows, level }) =>
  sentences(
    text(`results.points_${window}`, { count: windows.length }),
    text("results.meanAlone", { level: percent(level, 0) }),
  );

const share = (value) => percent(Math.min(Math.max(value, 0), 1));

/** The last window against a normal one: what is unusual, and by how much. `rows` have names. */
export function latestWords(rows, { window, level, cycle }) {
  const unusual = rows.filter((row) => row.unusual).slice(0, 6);
  const place = cycle === WEEK ? "weekday" : "hour";
  const normal = text(cycle ? `results.normal_${place}` : "results.normal");
  if (!unusual.length) return sentences(text("results.nothingUnusual"), normal);
  const told = unusual.map(({ name, raw, normal: usual, raw_low: low, raw_high: high }) => {
    const [least, most, way] = low > 0 ? [low, high, "more"] : [-high, -low, "less"];
    const told = { name, share: share(raw), usual: share(usual), low: points(least), high: points(most) };
    return text(`results.${way}`, told);
  });
  const often = text("results.chance", { count: Math.round(1 / (1 - level)) });
  return sentences(text(`results.other_${window}`, { told: told.join("; ") }), often, normal);
}

const part = (key, value) =>
  value !== null && text(key, { share: number(value, { style: "percent", maximumSignificantDigits: 6 }) });

/** Which intervals are shown where devices take part again and repeat their noise; "" where they do not. */
export function noiseWords(sharing) {
  if (!sharing) return "";
  const { case: which, windows: count, wider, turnover, change } = sharing;
  const less = [part("results.lessTurnover", turnover), part("results.lessChange", change)].filter(Boolean);
  return text(`results.noise_${which}`, { count, wider: wider && digits(wider, 3), less: series(less) });
}

/** How shares were decoded, for experts; `survey` has the start of the digest, and privacy in words. */
export const decodedWords = ({ decoder, constraint, intervals, mechanism }, survey) =>
  text("results.decoded", {
    decoder: text(decoderKey(decoder)),
    constraint: text(constraintKey(constraint)),
    intervals: text(`results.intervals_${intervals ?? "unknown"}`),
    mechanism: called(mechanism),
    ...survey,
  });
