/**
 * Explore: error curves of all mechanisms under sliders, from three tables in the package. Nothing is asked of the
 * collector but its own files.
 */

import { Picture } from "./charts.js";
import { $, el, fill, table, whole } from "./common.js";
import { MECHANISMS } from "./curves.js";
import { open } from "./languages.js";
import { oncePerFrame } from "./once.js";
import { bothNumbers } from "./planning.js";
import { compared, crowdAt, inWords, settingsOf, tableRows } from "./ranking.js";
import { digits, sentences, text } from "./texts.js";
import { strength } from "./words.js";

const FIELDS = ["size", "people", "epsilon", "population", "power", "cells"];
const TRIALS = {
  warner: { size: 1, people: 3, epsilon: 0, population: "uniform", cells: 0 },
  few: { size: 2, people: 4, epsilon: 0.3, population: "geometric", cells: 0 },
  bits: { size: 8, people: 6, epsilon: -0.3, population: "geometric", cells: 0 },
  again: { size: 8, people: 6, epsilon: 0.8, population: "geometric", cells: 0 },
  cells: { size: 8, people: 6, epsilon: 0.7, population: "geometric", cells: 4 },
};

/**
 * Show what the sliders say; `measured` is the table of the default decoder, `curves` that of the mechanisms, `crowd`
 * that of what a crowd adds.
 */
function update(chart, { curves, measured, crowd }) {
  const settings = settingsOf(Object.fromEntries(FIELDS.map((id) => [id, $(id).value])));
  const { S, n, epsilon, name, power } = settings;
  $("size-now").textContent = whole(S);
  $("people-now").textContent = whole(n);
  $("epsilon-now").textContent = digits(epsilon, 2);
  $("power-now").textContent = digits(power, 2);
  $("power-field").hidden = name !== "zipf";
  const found = compared(settings, curves, measured);
  const { numbers, rests } = bothNumbers(epsilon, crowdAt(crowd, settings));
  fill(
    $("here"),
    el("p", { class: "big" }, strength({ odds: Math.exp(epsilon) })),
    el(
      "div",
      { class: "facts", id: "both" },
      ...numbers.map(([number, said]) => el("div", {}, el("b", {}, number), said)),
    ),
    el("p", { class: "quiet small" }, sentences(rests, text("explore.everyMechanism"))),
    ...inWords(settings, found).map((said) => el("p", {}, said)),
  );
  const heads = [text("forms.mechanism"), text("explore.errorInAll"), text("explore.needed")];
  fill($("ranking"), table(text("explore.ranking"), heads, tableRows(found, n)));
  chart.draw({
    chart: "curves",
    description: text("explore.described", { count: MECHANISMS.length }),
    data: { rows: found.rows, more: [{ epsilon }] },
  });
}

const page = {}; // `again` shows all that is made of texts, once there is something to show

async function start() {
  const chart = new Picture($("chart"));
  const read = async (name) => (await fetch(`/pages/${name}.json`)).json();
  const [curves, measured, crowd] = await Promise.all([read("curves"), read("decoded"), read("crowd")]);
  const show = () => update(chart, { curves, measured, crowd });
  const put = (values) => {
    for (const [id, value] of Object.entries(values)) $(id).value = value;
    show();
  };
  $("form").addEventListener("input", oncePerFrame(show)); // however fast a slider moves
  const button = ([title, values]) =>
    el("button", { type: "button", class: "plain", onclick: () => put(values) }, text(`explore.try_${title}`));
  page.again = () => {
    fill($("try"), ...Object.entries(TRIALS).map(button));
    show();
  };
  page.again();
}

$("form").addEventListener("submit", (event) => event.preventDefault());
await open(() => page.again?.());
start().catch(() => fill($("here"), el("p", { class: "note bad" }, text("explore.away"))));
