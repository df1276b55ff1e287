/**
 * Explore: error curves of all mechanisms under sliders, computed here from closed forms; that of the default decoder
 * from a table in the package. Nothing is asked of the collector but its own files.
 */

import { Picture } from "./charts.js";
import { $, el, fill, points, table, whole } from "./common.js";
import { DECODED, decoded, error, MECHANISMS, population } from "./curves.js";
import { atMost, chance, strength } from "./words.js";

const STEPS = 48;
const chart = new Picture($("chart"));
const ALL = [...MECHANISMS.slice(0, -1), DECODED, MECHANISMS.at(-1)];
let frame, measured;

const EPSILONS = Array.from({ length: STEPS }, (_, i) => 0.1 * 80 ** (i / (STEPS - 1)));

const settings = () => ({
  S: Math.round(2 ** Number($("size").value)),
  n: Number((10 ** Number($("people").value)).toPrecision(2)),
  epsilon: Number((10 ** Number($("epsilon").value)).toPrecision(2)),
  name: $("population").value,
  power: Number($("power").value),
  cells: Number($("cells").value),
});

function update() {
  const { S, n, epsilon, name, power, cells } = settings();
  $("size-now").textContent = S;
  $("people-now").textContent = whole(n);
  $("epsilon-now").textContent = epsilon;
  $("power-now").textContent = power;
  $("power-field").hidden = name !== "zipf";
  const p = population(name, S, power);
  const at = (mechanism, x) =>
    mechanism === DECODED ? decoded(measured, name, power, x, p, n) : error(mechanism, x, p, n, cells);
  const ranked = ALL.map((mechanism) => ({ mechanism, error: at(mechanism, epsilon) })).sort(
    (a, b) => a.error - b.error,
  );
  const best = ranked.find((one) => one.mechanism !== "no privacy" && one.mechanism !== DECODED);
  const after = at(DECODED, epsilon);
  const odds = Math.exp(epsilon);
  fill(
    $("here"),
    el("p", { class: "big" }, strength({ odds })),
    el(
      "p",
      {},
      `At epsilon ${epsilon} a report is at most ${atMost(odds)} times likelier under one answer than under ` +
        `another. k-RR sends the real answer with probability ${chance(odds / (odds + S - 1))}.`,
    ),
    el(
      "p",
      {},
      `With ${whole(n)} people and ${S} answers, ${best.mechanism} is the best of these: shares are off by ` +
        `${points(best.error / S, 2)} points on average, ${points(best.error, best.error < 0.1 ? 1 : 0)} points in ` +
        `all${best.error > 1 ? ", which is no better than a guess" : ""}.`,
    ),
    el(
      "p",
      {},
      after < 0.98 * best.error
        ? "What deniable shows is better than that: its default decoder knows that shares are no less than zero " +
            `and learns how they are spread, which leaves ${points(after, after < 0.1 ? 1 : 0)} points in all.`
        : "The default decoder of deniable can do no better here: there is little noise to take away.",
    ),
  );
  fill(
    $("ranking"),
    table(
      "Mechanisms at this epsilon",
      ["mechanism", "error in all", "people needed"],
      ranked.map((one) => [
        one.mechanism,
        one.error.toPrecision(3),
        one.mechanism === DECODED ? "" : whole(Math.max(1, (n * one.error ** 2) / best.error ** 2)),
      ]),
    ),
  );
  const rows = ALL.flatMap((mechanism) => EPSILONS.map((x) => ({ mechanism, epsilon: x, error: at(mechanism, x) })));
  chart.draw({
    chart: "curves",
    description: `Expected error of ${MECHANISMS.length} mechanisms and the default decoder by epsilon`,
    data: { rows, more: [{ epsilon }] },
  });
}

/** At most one redraw a frame, however fast a slider moves. */
function soon() {
  cancelAnimationFrame(frame);
  frame = requestAnimationFrame(update);
}

const put = (values) => {
  for (const [id, value] of Object.entries(values)) $(id).value = value;
  update();
};

const TRIALS = {
  "Yes or no: Warner, 1965": { size: 1, people: 3, epsilon: 0, population: "uniform", cells: 0 },
  "Few answers: k-RR wins": { size: 2, people: 4, epsilon: 0.3, population: "geometric", cells: 0 },
  "Many answers, little epsilon: bits win": { size: 8, people: 6, epsilon: -0.3, population: "geometric", cells: 0 },
  "Many answers, much epsilon: k-RR again": { size: 8, people: 6, epsilon: 0.8, population: "geometric", cells: 0 },
  "Too few cells for a large epsilon": { size: 8, people: 6, epsilon: 0.7, population: "geometric", cells: 4 },
};
$("form").addEventListener("submit", (event) => event.preventDefault());
fetch("/pages/decoded.json")
  .then((response) => response.json())
  .then((table) => {
    measured = table;
    $("form").addEventListener("input", soon);
    fill(
      $("try"),
      ...Object.entries(TRIALS).map(([title, values]) =>
        el("button", { type: "button", class: "plain", onclick: () => put(values) }, title),
      ),
    );
    update();
  })
  .catch(() => fill($("here"), el("p", { class: "note bad" }, "The collector does not answer. Load this page again.")));
