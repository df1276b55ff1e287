/** Reports that name answers, numbers of answers or boxes, in words. */

import { el, symbolText } from "./common.js";
import { symbolValue } from "./record.js";

/** What a report names, as people read it. */
export function inWords(cells, { survey, n, client }) {
  const { symbols } = survey.alphabet;
  const name = (cell) => symbolText(symbols[cell]);
  if (n.named && n.shape === "one") return el("p", { class: "sent", dir: "auto" }, name(cells[0]));
  if (n.named) {
    const shown = cells.slice(0, 60).map((cell) => el("li", { dir: "auto" }, name(cell)));
    const rest = cells.length > 60 ? [el("li", {}, `and ${cells.length - 60} more`)] : [];
    return el(
      "div",
      {},
      el(
        "p",
        {},
        cells.length
          ? `${n.shape === "marks" ? "Yes for" : "A list of"} ${cells.length} of the ${n.cells} answers:`
          : "Yes for none of the answers.",
      ),
      el("ul", { class: "sent" }, ...shown, ...rest),
    );
  }
  const { cohort } = client.status();
  const numbered = cells.map((cell) => cell + 1);
  const boxes =
    n.shape === "one"
      ? `${n.block ? "Number" : "Box"} ${numbered[0]} of ${n.cells}`
      : `Yes for ${cells.length} of ${n.cells} boxes`;
  const group = n.cohorts > 1 ? `, sorted as in group ${cohort + 1} of ${n.cohorts}` : "";
  const few = symbols && symbols.length <= 2000 && n.shape === "one";
  const inside = few
    ? symbols.filter((symbol) => client.survey.encoding.of(cohort, symbolValue(symbol)).includes(cells[0]))
    : [];
  return el(
    "div",
    {},
    el("p", { class: "sent" }, boxes + group),
    inside.length
      ? el(
          "p",
          { dir: "auto" },
          `It stands for ${inside.slice(0, 12).map(symbolText).join(", ")}` +
            `${inside.length > 12 ? ` and ${inside.length - 12} more` : ""}.`,
        )
      : null,
    n.open ? el("p", {}, "A box stands for every text that the public rule sorts there: endlessly many.") : null,
  );
}
