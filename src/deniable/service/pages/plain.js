/** Reports that name answers, numbers of answers or boxes, in words. */

import { el, symbolText } from "./page.js";
import { symbolValue } from "./record.js";
import { text } from "./texts.js";
import { listed } from "./words.js";

const MOST_NAMED = 60; // answers of a list that are named

/** What a report names, as people read it. */
export function inWords(cells, { survey, n, client }) {
  const { symbols } = survey.alphabet;
  const name = (cell) => symbolText(symbols[cell]);
  if (n.named && n.shape === "one") return el("p", { class: "sent", dir: "auto" }, name(cells[0]));
  if (n.named) {
    const shown = cells.slice(0, MOST_NAMED).map((cell) => el("li", { dir: "auto" }, name(cell)));
    const rest = cells.length - shown.length;
    const head = n.shape === "marks" ? "words.yesFor" : "words.listOf";
    return el(
      "div",
      {},
      el("p", {}, cells.length ? text(head, { count: cells.length, cells: n.cells }) : text("words.yesForNone")),
      el("ul", { class: "sent" }, ...shown, rest > 0 && el("li", {}, text("words.more", { count: rest }))),
    );
  }
  const { cohort } = client.status();
  const place = { place: cells[0] + 1, count: n.shape === "one" ? n.cells : cells.length, cells: n.cells };
  const box = n.shape === "one" ? (n.block ? "words.numberOf" : "words.boxOf") : "words.yesForBoxes";
  const few = symbols && symbols.length <= 2000 && n.shape === "one";
  const inside = few
    ? symbols.filter((symbol) => client.survey.encoding.of(cohort, symbolValue(symbol)).includes(cells[0]))
    : [];
  const group = n.cohorts > 1 && el("p", {}, text("words.group", { group: cohort + 1, count: n.cohorts }));
  return el(
    "div",
    {},
    el("p", { class: "sent" }, text(box, place)),
    group,
    inside.length > 0 && el("p", {}, text("words.standsFor", { names: listed(inside.map(symbolText)) })),
    n.open && el("p", {}, text("words.endless")),
  );
}
