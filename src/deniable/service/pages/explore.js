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
import { strength } from "./words.js";

const FIELDS = ["size", "people", "epsilon", "population", "power", "cells"];
const TRIALS = {
  "Yes or no: Warner, 1965": { size: 1, people: 3, epsilon: 0, population: "uniform", cells: 0 },
  "Few answers: k-RR wins": { size: 2, people: 4, epsilon: 0.3, population: "geometric", cells: 0 },
  "Many answers, little epsilon: bits win": { size: 8, people: 6, epsilon: -0.3, population: "geometric", cells: 0 },
  "Many answers, much epsilon: k-RR again": { size: 8, people: 6, epsilon: 0.8, population: "geometric", cells: 0 },
  "Too few cells for a large epsilon": { size: 8, people: 6, epsilon: 0.7, population: "geometric", cells: 4 },
};

/**
 * Show what the sliders say; `measured` is the table of the default decoder, `curves` that of the mechanisms, `crowd`
 * that of what a crowd adds.
 */
function update(chart, { curves, measured, crowd }) {
  const settings = settingsOf(Object.fromEntries(FIELDS.map((id) => [id, $(id).value])));
  const { S, n, epsilon, name, power } = settings;
  $("size-now").textContent = S;
  $("people-now").textContent = whole(n);
  $("epsilon-now").textContent = epsilon;
  $("power-now").textContent = power;
  $("power-field").hidden = name !== "zipf";
  const found = compared(settings, curves, measured);
  const { numbers, rests } = bothNumbers(epsilon, crowdAt(crowd, settings));
  fill(
    $("here"),
    el("p", { class: "big" }, strength({ odds: Math.exp(epsilon) })),
    el(
      "div",
      { class: "facts", id: "both" },
      ...numbers.map(([number, text]) => el("div", {}, el("b", {}, number), text)),
    ),
    el("p", { class: "quiet small" }, `${rests} It holds for every mechanism of this epsilon that has no cohorts.`),
    ...inWords(settings, found).map((text) => el("p", {}, text)),
  );
  const heads = ["mechanism", "error in all", "people needed"];
  fill($("ranking"), table("Mechanisms at this epsilon", heads, tableRows(found, n)));
  chart.draw({
    chart: "curves",
    description: `Expected error of ${MECHANISMS.length} mechanisms and the default decoder by epsilon`,
    data: { rows: found.rows, more: [{ epsilon }] },
  });
}

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
  const buttons = Object.entries(TRIALS).map(([title, values]) =>
    el("button", { type: "button", class: "plain", onclick: () => put(values) }, title),
  );
  fill($("try"), ...buttons);
  show();
}

$("form").addEventListener("submit", (event) => event.preventDefault());
await open();
start().catch(() =>
  fill($("here"), el("p", { class: "note bad" }, "The collector does not answer. Load this page again.")),
);
