/** The plan of a form on the Ask page: the words and tables of form.plan.js as elements. */

import { $, el, fill, table } from "./common.js";
import { readForm } from "./form.min.js";
import { expertTables, formNumbers, guaranteeWords, sharpnessRows, spendingWords, surveyOf } from "./form.plan.js";
import { kindOf } from "./kinds.js";
import { text } from "./texts.js";
import { deniability, headline, strength, THEY } from "./words.js";

/** The channel of a planned form in numbers. */
export async function numbersOf({ form }) {
  const read = readForm(form);
  const parts = await Promise.all(
    form.parts.map(async (part, place) => {
      const survey = { ...surveyOf(form, part), made: read.parts[place] };
      return (await kindOf(survey)).numbers(survey);
    }),
  );
  return formNumbers(form, parts);
}

/** A plan in words; `n` are its numbers. */
export function showForm(found, n) {
  const sharp = sharpnessRows(found).map(([title, error, people]) =>
    el(
      "li",
      {},
      el("span", { dir: "auto", class: "break" }, title),
      el("b", {}, error),
      el("span", { class: "quiet small" }, people),
    ),
  );
  const { mechanisms, spendings } = expertTables(found);
  fill(
    $("plan"),
    el("p", { class: "big" }, strength(n)),
    el("p", {}, guaranteeWords(found, n), " ", deniability(n, THEY)),
    el("h3", {}, text("forms.spending")),
    el("p", { id: "spending" }, spendingWords(found)),
    el("h3", {}, text("forms.sharp")),
    el("ul", { id: "sharpness", class: "sharp" }, ...sharp),
    el("p", { class: "quiet small" }, text("forms.nine")),
    el("div", { id: "relating" }),
  );
  fill(
    $("mechanism"),
    el("p", {}, text("forms.bytes", { count: found.report_bytes })),
    table(text("forms.mechanisms"), mechanisms.heads, mechanisms.rows),
    table(text("forms.ways"), spendings.heads, spendings.rows),
  );
  $("curve").hidden = true;
  $("headline").textContent = headline(n, THEY);
}
