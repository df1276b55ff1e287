/**
 * The dice of a report as pictures: what was likely, how likely, and what came. `rolled` is the picture in numbers,
 * which tests hold against the survey's channel; `picture` draws it. Both know the truth, so what they make is shown
 * once and kept nowhere.
 */

import { el } from "./page.js";
import { sentences, text } from "./texts.js";
import { chance } from "./words.js";

const MOST_DRAWN = 24; // outcomes of one die
const LONGEST_ROLL = 15_000; // milliseconds after which the result is told whatever the browser says of its animations

/**
 * One die: its `parts`, each a share of the strip, and the `place` that came. `legend` says how likely what is, and
 * `said` what happened.
 */
export function rolled(n, truth, cells) {
  if (n.shape === "some") return list(n, truth, cells);
  const what = n.block ? text("you.number", { count: n.mine }) : text(n.named ? "you.answer" : "you.box");
  const outcomes = Array.from({ length: n.cells }, (_, cell) => {
    const mine = truth.includes(cell);
    return { share: mine ? n.hit : n.miss, mine };
  });
  return strip(outcomes, cells[0], what);
}

/**
 * All outcomes of one die side by side, each as wide as it is likely, those of the answer first; many are drawn as
 * fewer, together as wide. `fell` is the number of the one that came, and `what` it is if it is one of the answer's.
 */
export function strip(outcomes, fell, what) {
  const hit = outcomes[fell].mine;
  const kinds = [true, false].map((mine) => outcomes.filter((one) => one.mine === mine));
  const sums = kinds.map((some) => some.reduce((sum, { share }) => sum + share, 0));
  const parts = kinds.map((some, i) =>
    some.length <= MOST_DRAWN ? some : Array(MOST_DRAWN).fill({ share: sums[i] / MOST_DRAWN, mine: !i }),
  );
  // Which of its kind: its place among them.
  const rank = outcomes.slice(0, fell).filter(({ mine }) => mine === hit).length;
  const [drawn, all] = [parts, kinds].map((both) => both[hit ? 0 : 1].length);
  const legend = [
    [what, chance(sums[0])],
    [text("words.others", { count: kinds[1].length }), chance(sums[1])],
  ];
  return {
    parts: parts.flat(),
    place: (hit ? 0 : parts[0].length) + Math.floor((rank * drawn) / all),
    legend,
    said: hit ? text("words.fell", { what }) : text("words.fellElse"),
  };
}

/** One die decides whether the answer is on the list; the others on it are drawn like lots. */
function list(n, [mine], cells) {
  const hit = cells.includes(mine);
  const parts = [
    { share: n.hit, mine: true },
    { share: 1 - n.hit, mine: false },
  ];
  const legend = [
    [text("you.onList"), chance(n.hit)],
    [text("words.notOnList"), chance(1 - n.hit)],
  ];
  const others = n.size - (hit ? 1 : 0);
  const lots = others && text(hit ? "words.lotsBeside" : "words.lots", { count: others, others: n.cells - 1 });
  return { parts, place: hit ? 0 : 1, legend, said: sentences(text(hit ? "you.fellOnList" : "you.fellOffList"), lots) };
}

export function svg(name, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** What `rolled` gave, drawn: the die falls before one's eyes where the device allows motion. */
export const picture = ({ parts, place, legend }) => framed(legend, drawStrip(parts, place));

/** A picture with its legend under it. */
export const framed = (legend, ...drawn) =>
  el(
    "div",
    { class: "die" },
    ...drawn,
    el("div", { class: "marks" }, el("b", {}, ...told(legend[0])), el("span", {}, ...told(legend[1]))),
    el("p", { class: "quiet small", id: "fell", "aria-live": "polite" }), // what it fell on is told when it rests
  );

/** What it is and how likely; a number and its unit stay on one line. */
const told = ([what, share]) => [`${what}: `, el("span", { class: "whole" }, share)];

export const soon = (work) => requestAnimationFrame(() => requestAnimationFrame(work));
export const moving = () => matchMedia("(prefers-reduced-motion: no-preference)").matches;

/**
 * When a picture has come to rest: at once where nothing moves or nobody watches, else when its last transition has
 * ended.
 */
export async function rest(drawn) {
  if (!drawn || !moving() || document.hidden) return;
  const ended = new Promise((done) =>
    soon(() => Promise.allSettled(drawn.getAnimations({ subtree: true }).map(({ finished }) => finished)).then(done)),
  );
  // A tab that is hidden meanwhile draws no frame, and its transitions may never end.
  const hidden = new Promise((done) => document.addEventListener("visibilitychange", done, { once: true }));
  await Promise.race([ended, hidden, new Promise((done) => setTimeout(done, LONGEST_ROLL))]);
}

function drawStrip(parts, place) {
  const starts = parts.map((_, i) => 1000 * parts.slice(0, i).reduce((sum, { share }) => sum + share, 0));
  const boxes = parts.map(({ share, mine }, i) =>
    svg("rect", { x: starts[i], y: 0, width: 1000 * share, height: 54, class: mine ? "truth" : "other" }),
  );
  const pointer = svg("rect", { x: -5, y: 0, width: 10, height: 54, class: "pointer" });
  soon(() => pointer.setAttribute("transform", `translate(${starts[place] + 500 * parts[place].share} 0)`));
  return svg("svg", { viewBox: "0 0 1000 54", preserveAspectRatio: "none", "aria-hidden": "true" }, ...boxes, pointer);
}
