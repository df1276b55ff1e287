/** What people answered: the facts at the top, bars, the numbers in tables, and what no listed answer explains. */

import { $, el, fill, percent, points, short, symbolText, table, whole } from "./common.js";
import { dates } from "./naming.js";
import { densityChart, figureFacts, figureTable, figureWords, rangeTable } from "./quantities.js";
import { bySize, cut, estimateRows, inOrder, key, label } from "./rows.js";
import { atMost, deniability, strength } from "./words.js";

const LISTED = 2000; // answers in a table
const VAGUE = 0.15; // half the width of a typical interval from which shares say little: 15 points

/** Privacy and precision at a glance; `n` is the channel in numbers. */
export function head(shares, n, rules) {
  const spans = shares.estimates.filter((row) => row.raw_low !== null).map((row) => cut(row.raw_low, row.raw_high));
  const reach = spans.map(([low, high]) => (high - low) / 2).sort((a, b) => a - b)[spans.length >> 1];
  const sure = percent(shares.level, 0).replace(" %", "");
  fill(
    $("facts"),
    el(
      "div",
      {},
      el("b", { id: "n" }, whole(shares.n)),
      "answers, ",
      el("span", { class: "whole" }, dates(shares.from, shares.to, rules.window)),
    ),
    el(
      "div",
      {},
      el("b", {}, strength(n)),
      `what one person sent${n.hidden ? " for a sensitive answer" : ""} is at most ${atMost(n.odds)} times likelier ` +
        `than with another answer${n.scope === " within a group" ? " of its group" : ""}`,
    ),
    ...precision(shares, reach, sure).map(([number, text]) => el("div", {}, el("b", { dir: "auto" }, number), text)),
  );
  $("lead").textContent =
    "Everyone's answer was changed by chance before it was sent, so these are estimates. " +
    `${deniability(n, { You: "Everyone", yours: "theirs" })}`;
}

/** How exact it is: of answers in an order the mean and the median, of others a typical share. */
function precision({ figures, level, estimates }, reach, sure) {
  if (figures) return figureFacts(figures, level, estimates.length);
  if (reach === undefined) return [["precision unknown", "there are too many answers on the list"]];
  const vague = reach < VAGUE ? "" : ": there are too few answers to tell much";
  return [[`± ${points(reach)} points`, `how far off a share typically is at most, ${sure} times in 100${vague}`]];
}

/** The chart, the tables and the sentences of a result; `picture` draws. */
export async function drawShares(shares, picture, heading) {
  const { level, estimates, unallocated, figures, density } = shares;
  $("figures-words").textContent = figures ? figureWords(figures, level) : "";
  for (const id of ["order", "top"]) $(id).parentElement.hidden = Boolean(density); // bins have one order
  const most = Number($("top").value);
  const largest = new Set(bySize(estimates).slice(0, most));
  const ordered = inOrder(estimates, $("order").value);
  const rows = ordered.filter((row) => largest.has(row));
  const wide = percent(level, 0);
  const sure = wide.replace(" %", "");
  const some = estimates.some((row) => row.raw_low !== null);
  $("shares-words").textContent =
    (estimates.length > most ? `The ${most} largest of ${estimates.length}. ` : "") +
    (some
      ? "Chance was part of every answer, so a share is known only roughly: the line at its end shows how roughly. " +
        `${sure} of 100 such lines hold the share of everyone's real answers.`
      : "There are too many answers on the list to say how exact the shares are; name fewer.");
  $("rest").hidden = !unallocated;
  if (unallocated) {
    const [low, high] = cut(unallocated.raw_low, unallocated.raw_high);
    // From a long list only what stands out is kept: the rest may be on it as well.
    const whose =
      shares.intervals === "conditional" ? "All other answers, on the list or not" : "Answers that are not on the list";
    $("rest").textContent =
      `${whose}: ${percent(Math.max(unallocated.probability, 0))}` +
      `${low === null ? "" : `, between ${percent(low)} and ${percent(high)} (${wide} interval)`}.`;
  }
  tables(ordered.slice(0, LISTED), wide, shares);
  if (density) {
    $("shares-words").textContent =
      `Bars are bins; a box is a wider range of them, and ${sure} of 100 such boxes hold the share of everyone's ` +
      "real answers in it. At the top: the mean and the median, with their intervals.";
    return picture.draw(densityChart(shares, heading));
  }
  if (!$("shares").childElementCount) fill($("shares"), quick(rows));
  const dots = $("raw").checked;
  await picture.draw({
    chart: dots ? "raw" : "estimate",
    level,
    heading,
    description: `Estimated shares of ${rows.length} answers with ${wide} intervals`,
    data: { rows: marked(estimateRows(rows, dots), rows, figures) },
  });
}

/** Rows of a chart, of which the median's says so. */
const marked = (drawn, rows, figures) =>
  drawn.map((row, i) =>
    figures && key(rows[i].symbol) === key(figures.median.value) ? { ...row, name: `${row.name} (median)` } : row,
  );

function tables(rows, wide, shares) {
  const name = (row) => short(symbolText(row.symbol), 300);
  const cell = (value) => (value === null ? "not determined" : percent(value, 2));
  const wanted = ["answer", "share", `${wide} from`, "to"];
  const listed = rows.map((row) => [name(row), cell(row.probability), ...cut(row.raw_low, row.raw_high).map(cell)]);
  const both = (made) => [made.heads, made.rows];
  fill(
    $("shares-table").lastElementChild,
    shares.figures && table("Figures", ...both(figureTable(shares.figures, shares.level))),
    shares.density && table("Ranges", ...both(rangeTable(shares))),
    // Of single bins no interval says anything.
    shares.density
      ? table(
          "Estimated shares of bins",
          wanted.slice(0, 2),
          listed.map((row) => row.slice(0, 2)),
        )
      : table("Estimated shares", wanted, listed),
  );
  fill(
    $("raw-table").lastElementChild,
    table(
      "Unbiased estimates",
      ["answer", "unbiased", "standard error", `raw ${wide} from`, "to"],
      rows.map((row) => [name(row), ...[row.raw, row.standard_error, row.raw_low, row.raw_high].map(cell)]),
    ),
  );
}

/** The numbers at once, with plain bars, until the charts' library is here. */
const quick = (rows) => {
  const largest = Math.max(...rows.map((row) => row.probability), 1e-9);
  return el(
    "ul",
    { class: "quick", "aria-hidden": "true" },
    ...rows.map((row) =>
      el(
        "li",
        {},
        el("span", { dir: "auto" }, label(row.symbol)),
        el("progress", { max: largest, value: Math.max(row.probability, 0) }),
        el("b", {}, percent(row.probability)),
      ),
    ),
  );
};
