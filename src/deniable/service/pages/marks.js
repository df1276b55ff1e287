/** The dice of a report that has a mark for each answer or box: as squares, at first the truth, then what is sent. */

import { framed, moving, soon, svg } from "./dice.js";
import { el } from "./page.js";
import { sentences, text } from "./texts.js";
import { chance } from "./words.js";

const MOST_MARKS = 240; // that are drawn

/** One die a mark: for those that are drawn whether they were true, and whether they are sent. */
export function rolled(n, truth, cells) {
  const sent = new Set(cells);
  const own = new Set(truth);
  const kept = truth.filter((cell) => sent.has(cell)).length;
  const [lost, raised, others] = [truth.length - kept, cells.length - kept, n.cells - truth.length];
  // Those of the answer are always drawn, and then the first ones.
  const chosen = [
    ...own,
    ...Array.from({ length: Math.min(n.cells, MOST_MARKS + own.size) }, (_, cell) => cell).filter(
      (cell) => !own.has(cell),
    ),
  ].slice(0, MOST_MARKS);
  const squares = chosen.sort((a, b) => a - b).map((cell) => ({ mine: own.has(cell), sent: sent.has(cell) }));
  const legend = [
    [text("marks.stays"), chance(n.hit)],
    [text("marks.turns"), chance(n.miss)],
  ];
  const mine =
    truth.length > 1
      ? text("marks.several", { count: truth.length, kept, lost })
      : text(kept ? "marks.stayed" : "marks.turned");
  return {
    squares,
    hidden: n.cells - squares.length,
    legend,
    said: sentences(mine, text("marks.others", { others, raised })),
  };
}

/** Squares, at first the truth and then what is sent: filled is yes; those of the answer have a frame. */
function drawMarks(squares) {
  const across = Math.min(squares.length, squares.length > 96 ? 24 : 12);
  const rows = Math.ceil(squares.length / across);
  const delayed = moving();
  const boxes = squares.map(({ mine, sent }, i) => {
    const box = svg("rect", {
      x: 20 * (i % across) + 2,
      y: 20 * Math.floor(i / across) + 2,
      width: 16,
      height: 16,
      rx: 3,
      class: mine ? "mark mine yes" : "mark",
    });
    if (delayed) box.style.transitionDelay = `${Math.round((1200 * i) / squares.length)}ms`;
    soon(() => box.classList.toggle("yes", sent));
    return box;
  });
  return svg("svg", { viewBox: `0 0 ${20 * across} ${20 * rows}`, class: "list", "aria-hidden": "true" }, ...boxes);
}

/** What `rolled` gave, drawn: the marks turn before one's eyes where the device allows motion. */
export function picture({ squares, hidden, legend }) {
  const frame = squares.filter((one) => one.mine).length > 1 ? "marks.frames" : "marks.frame";
  return framed(legend, drawMarks(squares), note(text(frame)), hidden ? undrawn(hidden) : "");
}

const note = (said) => el("p", { class: "quiet small" }, said);
const undrawn = (count) => note(text("marks.undrawn", { count }));

/** The marks that leave, when the truth is forgotten. */
export function afterwards(n, cells) {
  const sent = new Set(cells);
  const drawn = Math.min(n.cells, MOST_MARKS);
  const squares = Array.from({ length: drawn }, (_, cell) => ({ mine: false, sent: sent.has(cell) }));
  return el("div", { class: "die" }, drawMarks(squares), n.cells > drawn ? undrawn(n.cells - drawn) : null);
}
