/** Before and after: how much each share rose or fell from one time to a later one. */

import { $, fill, percent, points, short, symbolText, table } from "./common.js";
import { comparedTable } from "./quantities.js";
import { changeRows, labelled } from "./rows.js";
import { noiseWords } from "./sofar.js";
import { sentences, text } from "./texts.js";

/** A sentence in place of a comparison. */
export function noChanges(said) {
  fill($("changes-words"), said);
  $("changes").hidden = true;
  fill($("changes-table").lastElementChild);
}

/** Show the changes that were told, the largest first. */
export async function showChanges(told, picture) {
  const ordered = changeRows(told.changes);
  $("changes").hidden = false;
  const wrong = points(1 - told.level, 0);
  const level = percent(told.level, 0);
  $("changes-words").textContent = sentences(
    text("results.fromTo", { before: told.before.n, after: told.after.n }),
    text("results.clear", { level, wrong }),
    noiseWords(told.sharing),
  );
  const cell = (value) => (value === null ? text("forms.unknown") : points(value, 2));
  fill(
    $("changes-table").lastElementChild,
    table(
      text("results.changes"),
      [text("forms.answer"), text("results.change"), text("results.low"), text("forms.to")],
      ordered
        .slice(0, 2000)
        .map((row) => [short(symbolText(row.symbol), 300), ...[row.change, row.low, row.high].map(cell)]),
    ),
  );
  const known = ordered.filter((row) => row.low !== null).slice(0, Number($("top").value));
  const rows = labelled(known).map(({ name, change, low, high, clear }) => ({ name, change, low, high, clear }));
  await picture.draw({
    chart: "difference",
    description: text("results.changesOf", { count: rows.length, level }),
    level: told.level,
    data: { rows },
  });
}

/** Figures of numbers before and after: bins are too many and too narrow to compare one by one. */
export function showFigures(before, after) {
  const { heads, rows } = comparedTable(before.figures, after.figures);
  noChanges(
    sentences(
      text("results.fromTo", { before: before.n, after: after.n }),
      text("results.brackets", { level: percent(after.level, 0) }),
    ),
  );
  fill($("changes-table").lastElementChild, table(text("results.figuresCompared"), heads, rows));
  $("changes-table").open = true;
}
