/**
 * Cross-tables as the Results page shows them: rows of the chart and of the table, and what is said beside them. No
 * element is touched.
 */

import { isForm } from "./form.asking.js";
import { lines } from "./naming.js";
import { fixed, number, percentage, text } from "./texts.js";

const LEAST_CHANCE = 0.01; // of 100 surveys: smaller ones are told as "fewer than"
const SURE = 0.05; // a p-value below it is told as a relation

/** The pairs of questions of a form that were sent together. */
export const pairsOf = (form) =>
  (isForm(form) ? form.parts : [])
    .filter(({ questions }) => questions.length === 2)
    .map(({ questions }) => questions.map((name) => form.questions.find((one) => one.name === name)));

/** A share as a cell shows it: finer where it is small. */
export function shareText(share) {
  if (share === null) return text("pairs.none");
  const inside = Math.min(Math.max(share, 0), 1);
  return percentage(inside, inside > 0 && inside < 0.1 ? 1 : 0);
}

/** Cells of the heat map, as its template has them; `label` makes texts of the answers of `rows` and of `columns`. */
export const heatRows = (told, label) =>
  told.cells.map(({ row, column, within_row, certain }) => ({
    row: label.rows(row),
    column: label.columns(column),
    share: shareText(within_row),
    certain: text({ 1: "pairs.more", [-1]: "pairs.fewer", 0: "pairs.unknown" }[certain]),
  }));

/** Heads and rows of the table of numbers: shares within rows with their limits. */
export function tableRows(told, label) {
  const columns = told.columns.symbols;
  const limit = (share) => percentage(Math.min(Math.max(share, 0), 1), 1);
  const cell = ({ within_row, within_row_low, within_row_high }) =>
    within_row === null || within_row_low === null
      ? text("pairs.none")
      : text("pairs.cell", {
          share: percentage(within_row, 1),
          low: limit(within_row_low),
          high: limit(within_row_high),
        });
  const rows = told.rows.symbols.map((symbol, i) => [
    label.rows(symbol),
    ...told.cells.slice(i * columns.length, (i + 1) * columns.length).map(cell),
  ]);
  return { heads: ["", ...columns.map(label.columns)], rows };
}

/** Whether the answers have anything to do with each other, in a sentence. */
export function independenceWords({ p_value }) {
  if (p_value === null) return text("pairs.untested");
  const chance = Math.max(100 * p_value, LEAST_CHANCE);
  return p_value < SURE
    ? text("pairs.related", { chance: fixed(Math.ceil(chance * 100) / 100, 2) })
    : text("pairs.unrelated", { chance: number(Math.round(chance)) });
}

/** What stands under the picture. */
export const legendWords = ({ level }) => text("pairs.legend", { sure: number(Math.round(100 * level)) });

/** The picture: the template with this table's titles and words. */
export function heatMap(told, { label, titles }) {
  const words = ["pairs.more", "pairs.fewer", "pairs.unknown"].map((key) => text(key)); // in the order of the template
  const patch = (part) => {
    if (part.field === "certain" && part.scale) part.scale.domain = words;
    if (part.field === "row" && part.type) part.title = titles.rows;
    if (part.field === "column" && part.type) part.title = titles.columns;
  };
  const heading = {
    text: lines(text("pairs.within", { columns: titles.columns }), 60),
    subtitle: lines(`${text("pairs.answers", { count: told.n })}. ${independenceWords(told.independence)}`, 100),
  };
  const description = text("pairs.described", titles);
  return { chart: "crosstab", level: told.level, heading, description, patch, data: { rows: heatRows(told, label) } };
}
