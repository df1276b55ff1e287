/** What people answered: the facts at the top, bars, the numbers in tables, and what no listed answer explains. */

import { $, el, fill, percent, points, short, symbolText, table, whole } from "./common.js";
import { dates } from "./naming.js";
import { binText, densityChart, figureFacts, figureTable, figureWords, rangeTable } from "./quantities.js";
import { bySize, cut, estimateRows, inOrder, key, label } from "./rows.js";
import { sentences, text } from "./texts.js";
import { atMost, deniability, strength, THEY } from "./words.js";

const LISTED = 2000; // answers in a table
const VAGUE = 0.15; // half the width of a typical interval from which shares say little: 15 points

/** Privacy and precision at a glance; `n` is the channel in numbers. */
export function head(shares, n, rules) {
  const spans = shares.estimates.filter((row) => row.raw_low !== null).map((row) => cut(row.raw_low, row.raw_high));
  const reach = spans.map(([low, high]) => (high - low) / 2).sort((a, b) => a - b)[spans.length >> 1];
  const sure = points(shares.level, 0);
  fill(
    $("facts"),
    el(
      "div",
      {},
      el("b", { id: "n" }, whole(shares.n)),
      text("results.answersOf"),
      el("span", { class: "whole" }, dates(shares.from, shares.to, rules.window)),
    ),
    el(
      "div",
      {},
      el("b", {}, strength(n)),
      text(n.what ? `results.likelier_${n.hidden ? "sensitive" : "group"}` : "results.likelier", {
        odds: atMost(n.lifetime ?? n.odds), // of all reports of one answer, as the word is
      }),
    ),
    ...precision(shares, reach, sure).map(([number, said]) => el("div", {}, el("b", { dir: "auto" }, number), said)),
  );
  $("lead").textContent = sentences(text("results.lead"), deniability(n, THEY));
}

/** How exact it is: of answers in an order the mean and the median, of others a typical share. */
function precision({ figures, level, estimates, searched }, reach, sure) {
  if (figures) return figureFacts(figures, level, estimates.length);
  if (searched && !estimates.length) return [[percent(searched.smallest), text("search.needed")]];
  if (reach === undefined) return [[text("results.unknownPrecision"), text("results.tooMany")]];
  const off = text("results.typically", { sure });
  return [[text("forms.share", { error: points(reach) }), reach < VAGUE ? off : sentences(off, text("results.vague"))]];
}

/** The chart, the tables and the sentences of a result; `picture` draws. */
export async function drawShares(shares, picture, heading) {
  const { level, estimates, unallocated, figures, density, searched } = shares;
  $("figures-words").textContent = figures ? figureWords(figures, level) : "";
  // Bins have one order, and of what was searched for the largest come first.
  $("order").parentElement.hidden = Boolean(density || searched);
  const nothing = Boolean(searched && !estimates.length); // the search has said so
  $("top").parentElement.hidden = Boolean(density) || nothing;
  for (const part of [$("shares").parentElement, $("shares-table"), $("downloads")]) part.hidden = nothing;
  const most = Number($("top").value);
  const largest = new Set(bySize(estimates).slice(0, most));
  const ordered = inOrder(estimates, $("order").value);
  const rows = ordered.filter((row) => largest.has(row));
  const wide = percent(level, 0);
  const sure = points(level, 0);
  const some = estimates.some((row) => row.raw_low !== null);
  $("shares-words").textContent = sentences(
    estimates.length > most && text("forms.largest", { count: most, of: estimates.length }),
    some ? text("results.bars", { sure }) : text("forms.vague"),
  );
  $("rest").hidden = !unallocated || nothing;
  if (unallocated) {
    const [low, high] = cut(unallocated.raw_low, unallocated.raw_high);
    // From a long list only what stands out is kept: the rest may be on it as well.
    const whose = searched ? "restOther" : shares.intervals === "conditional" ? "restAll" : "restUnlisted";
    const told = { share: percent(Math.max(unallocated.probability, 0)), low: "", high: "", level: wide };
    $("rest").textContent =
      low === null
        ? text(`results.${whose}`, told)
        : text(`results.${whose}Between`, { ...told, low: percent(low), high: percent(high) });
  }
  tables(ordered.slice(0, LISTED), wide, shares);
  if (nothing) return undefined;
  if (density) {
    $("shares-words").textContent = text("results.density", { sure });
    return picture.draw(densityChart(shares, heading));
  }
  if (!$("shares").childElementCount) fill($("shares"), quick(rows));
  const dots = $("raw").checked;
  await picture.draw({
    chart: dots ? "raw" : "estimate",
    level,
    heading,
    description: text("results.described", { count: rows.length, level: wide }),
    data: { rows: marked(estimateRows(rows, dots), rows, figures) },
  });
}

/** Rows of a chart, of which the median's says so. */
const marked = (drawn, rows, figures) =>
  drawn.map((row, i) =>
    figures && key(rows[i].symbol) === key(figures.median.value)
      ? { ...row, name: text("forms.median", { answer: row.name }) }
      : row,
  );

function tables(rows, wide, shares) {
  const called = shares.density ? binText : symbolText;
  const name = (row) => short(called(row.symbol), 300);
  const cell = (value) => (value === null ? text("forms.unknown") : percent(value, 2));
  const wanted = [text("forms.answer"), text("forms.shareOf"), text("forms.from", { level: wide }), text("forms.to")];
  const listed = rows.map((row) => [name(row), cell(row.probability), ...cut(row.raw_low, row.raw_high).map(cell)]);
  const both = (made) => [made.heads, made.rows];
  fill(
    $("shares-table").lastElementChild,
    shares.figures && table(text("forms.figures"), ...both(figureTable(shares.figures, shares.level))),
    shares.density && table(text("forms.ranges"), ...both(rangeTable(shares))),
    // Of single bins no interval says anything.
    shares.density
      ? table(
          text("results.sharesOfBins"),
          wanted.slice(0, 2),
          listed.map((row) => row.slice(0, 2)),
        )
      : table(text("forms.shares"), wanted, listed),
  );
  fill(
    $("raw-table").lastElementChild,
    table(
      text("results.raw"),
      [
        text("forms.answer"),
        text("results.unbiased"),
        text("results.standardError"),
        text("results.rawFrom", { level: wide }),
        text("forms.to"),
      ],
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
