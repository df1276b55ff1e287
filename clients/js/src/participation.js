/** One report a window, for surveys that say so; docs/reference/protocol.md, section 10, has the rule. */

import { today } from "./delivery.js";
import { need } from "./errors.js";

// How many hours a window has, and how many of them had passed when 1970 began: weeks start on Monday, in UTC.
const WINDOWS = { hour: [1, 0], day: [24, 0], week: [168, 72] };
// From 2026-01-01: a clock that shows less has stopped or was never set.
const [FIRST_DAY, END] = [20454, 2 ** 20];

/**
 * The number of the window that it is now, which must be later than the `last` one that was answered in, and a `turn`
 * of this device, which has one in `every` so many windows. It is asked before the answer is looked at.
 */
export function thisWindow(window, last = 0, every = 1, turn = 0) {
  const [hours, shift] = WINDOWS[window];
  const now = ((Date.now() / 36e5 + shift) / hours) | 0;
  const start = (number) => `${new Date((number * hours - shift) * 36e5).toISOString().slice(0, 16)}Z`;
  const day = today();
  need(
    day >= FIRST_DAY && day < END && last <= now,
    "the clock of this device must be right and not go back; set the clock",
    "Participation",
  );
  const earliest = last < now ? now : now + 1;
  const next = earliest + ((turn + every - (earliest % every)) % every);
  const often = every > 1 ? `in one ${window} of ${every}` : `once ${window === "hour" ? "an" : "a"} ${window}`;
  need(
    next === now,
    `this survey must be answered ${often} on this device; the next answer is taken from ${start(next)}`,
    "Participation",
  );
  return now;
}
