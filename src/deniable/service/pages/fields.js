/** Where an answer is given: a list to choose from, or a line to write into. `chosen` gives the answer. */

import { el, symbolText } from "./page.js";
import { symbolValue } from "./record.js";

/** Radio buttons in the survey's order; `mark` says more about an answer, by its place. */
export function list({ survey }, mark = () => null) {
  const { symbols } = survey.alphabet;
  const one = (symbol, i) =>
    el(
      "label",
      {},
      el("input", { type: "radio", name: "answer", value: i, autocomplete: "off" }),
      el("span", { dir: "auto" }, symbolText(symbol)),
      mark(i),
    );
  const shown = el("div", { class: symbols.length > 12 ? "choices long" : "choices" }, ...symbols.map(one));
  const chosen = () => {
    const radio = shown.querySelector(":checked");
    return radio ? symbolValue(symbols[radio.value]) : undefined;
  };
  return { shown: [shown], chosen };
}

/** A line of text. */
export function line() {
  const shown = el("input", {
    type: "text",
    id: "text",
    autocomplete: "off",
    autocapitalize: "off",
    autocorrect: "off",
    spellcheck: "false",
    maxlength: "1000",
    "aria-labelledby": "legend",
  });
  return { shown: [shown], chosen: () => shown.value.trim() || undefined };
}

export const field = (asked) => (asked.survey.alphabet.symbols ? list(asked) : line());
