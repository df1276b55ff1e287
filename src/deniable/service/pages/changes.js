/** Before and after: how much each share rose or fell from one time to a later one. */

import { $, fill, percent, points, short, symbolText, table, whole } from "./common.js";
import { comparedTable } from "./quantities.js";
import { changeRows, labelled } from "./rows.js";

/** A sentence in place of a comparison. */
export function noChanges(text) {
  $("changes-words").textContent = text;
  $("changes").hidden = true;
  fill($("changes-table").lastElementChild);
}

/** Show the changes that were told, the largest first. */
export async function showChanges(told, picture) {
  const ordered = changeRows(told.changes);
  $("changes").hidden = false;
  const wrong = points(1 - told.level, 0);
  $("changes-words").textContent =
    `From ${whole(told.before.n)} answers before to ${whole(told.after.n)} after. The lines show how exactly a ` +
    `change is known (${percent(told.level, 0)} intervals). Clear changes are more than chance explains: where ` +
    `nothing changed, at most ${wrong} of 100 such charts show any.${told.shared_noise ? ` ${told.shared_noise}` : ""}`;
  const cell = (value) => (value === null ? "not determined" : points(value, 2));
  fill(
    $("changes-table").lastElementChild,
    table(
      "Changes",
      ["answer", "change in points", "from", "to"],
      ordered
        .slice(0, 2000)
        .map((row) => [short(symbolText(row.symbol), 300), ...[row.change, row.low, row.high].map(cell)]),
    ),
  );
  const known = ordered.filter((row) => row.low !== null).slice(0, Number($("top").value));
  const rows = labelled(known).map(({ name, change, low, high, clear }) => ({ name, change, low, high, clear }));
  await picture.draw({
    chart: "difference",
    description: `Changes of ${rows.length} shares with ${percent(told.level, 0)} intervals`,
    level: told.level,
    data: { rows },
  });
}

/** Figures of numbers before and after: bins are too many and too narrow to compare one by one. */
export function showFigures(before, after) {
  const { heads, rows } = comparedTable(before.figures, after.figures);
  noChanges(
    `From ${whole(before.n)} answers before to ${whole(after.n)} after; in brackets the ${percent(after.level, 0)} ` +
      "interval of each. Intervals that do not meet are a clear change.",
  );
  fill($("changes-table").lastElementChild, table("Figures before and after", heads, rows));
  $("changes-table").open = true;
}
