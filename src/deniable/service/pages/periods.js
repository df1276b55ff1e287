/** Windows of time, as Results offers them for ranges and comparisons. No element is touched here. */

import { moment, text } from "./texts.js";

const DAY = { timeZone: "UTC", day: "numeric", month: "short", year: "numeric" };
const HOUR = { ...DAY, hour: "2-digit", minute: "2-digit" };

/** A window by the hour it begins with, "2026-03-04T17", as people read it: the day, and the hour of hours. */
export const dayOf = (start, window) => moment(`${start}:00Z`, window === "hour" ? HOUR : DAY);

/** The end of the window that begins at `start`; ranges end before it. Undefined where there is none. */
export const endOf = (windows, start) => windows.find((one) => one.start === start)?.end;

/** The earlier and the later half of all windows: the first and the last start of each, for a comparison. */
export function halves(windows) {
  const starts = windows.map(({ start }) => start);
  const half = Math.floor(starts.length / 2);
  return { "a-from": starts[0], "a-to": starts[half - 1], "b-from": starts[half], "b-to": starts.at(-1) };
}

/** Why two times, given by the starts of their first and last windows, cannot be compared; "" if they can. */
export function incomparable({ aFrom, aTo, bFrom, bTo }) {
  if (aFrom > aTo || bFrom > bTo) return text("results.backwards");
  return aTo >= bFrom ? text("results.overlap") : "";
}
