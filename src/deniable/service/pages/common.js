/** What the pages share that are for whoever asks, beside what every page needs: tables, files, numbers, sentences. */

import { el, fill } from "./page.js";
import { fixed, has, isolated, number, percentage, text } from "./texts.js";

export * from "./page.js";

/** Say something where a person looks: beside what was pressed. It gets the focus, so that it is seen, and read out. */
export function tell(place, text, kind = "") {
  fill(place, text && el("p", { class: `note ${kind}` }, text));
  if (!text) return;
  place.focus({ preventScroll: true });
  place.scrollIntoView({ block: "nearest" });
}

/** A sentence of a program, which speaks English whatever the page does. */
export const foreign = (said) => el("bdi", { lang: "en" }, said);

/** What a mechanism is called: a name that all languages share, or words, and whether its boxes are those of a list. */
export function called(mechanism) {
  const [, name, ofList] = /^(.*?)( \(closed\))?$/.exec(mechanism);
  const key = `desk.name_${name.toLowerCase().replace(/\W+/g, "_")}`;
  return isolated((has(key) ? text(key) : name) + (ofList ? ` (${text("desk.name_closed")})` : ""));
}

/** The key of what a decoder is called, from its name in a request or an answer: "least-squares", "LeastSquares". */
export const decoderKey = (name) => `desk.decoder_${name.replace(/-|\B(?=[A-Z])/g, "_").toLowerCase()}`;
export const constraintKey = (name) => `desk.constraint_${name.toLowerCase()}`;

/** A sentence begins with a capital and ends with a full stop. */
export const sentence = (text) => {
  const whole = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(whole) ? whole : `${whole}.`;
};

export const whole = (value) => number(Math.round(value));
export const percent = (share, digits = 1) => percentage(share, digits);
export const points = (share, digits = 1) => fixed(100 * share, digits);

/** Save bytes as a file. */
export function download(name, blob) {
  const link = el("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1e4);
}

/** A table: heads, and rows whose first cell names the row. Numbers stand right. */
export function table(caption, heads, rows) {
  const numeric = (i) => (i ? { class: "n" } : {});
  return el(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    el(
      "table",
      {},
      el("thead", {}, el("tr", {}, ...heads.map((head, i) => el("th", { scope: "col", ...numeric(i) }, head)))),
      el(
        "tbody",
        {},
        ...rows.map((row) =>
          el(
            "tr",
            {},
            ...row.map((cell, i) => (i ? el("td", numeric(i), cell) : el("th", { scope: "row" }, el("bdi", {}, cell)))),
          ),
        ),
      ),
    ),
  );
}
