/**
 * Surveys of numbers and of answers in an order. A report names a place on the scale, which has a few more places at
 * both ends than there are answers: those within `reach` of the answer's own are likely, and alike; all others are not,
 * and alike, too. So the odds are a curve over the scale: low, high around the answer, low again.
 */

import { framed, soon, svg } from "./dice.js";
import { list } from "./fields.js";
import { el, fill, symbolText } from "./page.js";
import { number as formatted, sentences, text } from "./texts.js";
import { atMost, chance, deniability, nobody, numbers as plain, watch, YOU } from "./words.js";

const HEIGHT = 100; // of the curve where it is highest, in the picture's units

/** A number of the scale, which the survey has in digits, as the page's language writes it. */
const written = (digits) => formatted(digits, { useGrouping: false, maximumFractionDigits: 20 });

/** The channel in numbers: beside those of any survey how many answers there are, and the names of both ends. */
export function numbers(survey) {
  const { alphabet, encoding } = survey;
  const { reach } = encoding;
  const ends = alphabet.symbols
    ? [alphabet.symbols[0], alphabet.symbols.at(-1)].map(symbolText)
    : [alphabet.low, alphabet.high].map(written);
  return { ...plain(survey), reach, answers: encoding.cells - 2 * reach, ends, scale: !alphabet.symbols };
}

const near = (n) => (n.reach ? text("near.within", { count: n.reach }) : text("near.at"));
const likely = (n) => chance(n.mine * n.hit);

/** What will happen to an answer. */
export const whatHappens = (n, who = YOU) =>
  sentences(
    watch(n, who),
    n.twice && text("words.together"),
    text(`near.happens_${who}`, { chance: likely(n), near: near(n) }),
  );

/** A bin of numbers by its ends, or a number. */
const spoken = (name) => span(...name.split(" to ").map(written));
const span = (start, end = start) => (start === end ? start : text("near.range", { start, end }));

/** What becomes of a number, as the survey says. */
export const scaleWords = ({ low, high, bins, step, outside }) =>
  sentences(
    step
      ? text("near.steps", { low: written(low), high: written(high), step: written(step) })
      : text("near.bins", { low: written(low), high: written(high), bins }),
    outside === "refuse" ? text("near.refuse") : text(step ? "near.clampSteps" : "near.clampBins"),
  );

/** Where the answer is given, and under it the odds that it would have. Whatever is shown of it goes with the form. */
export function field(asked) {
  const { client, n } = asked;
  const odds = el("div", {});
  const placeOf = (value) => client.survey.encoding.of(0, value)[0];
  const draw = (place) => fill(odds, place !== undefined && framed(oddsOf(n, place).legend, curve(oddsOf(n, place))));
  const { shown, chosen, tell, again } = n.scale ? number(asked) : { ...list(asked), tell: () => {} };
  const at = () => (chosen() === undefined ? undefined : placeOf(chosen()));
  const show = (place = at()) => {
    tell(place);
    draw(place);
  };
  const forget = () => {
    tell();
    draw();
  };
  const inWords = () => {
    again?.();
    show();
  };
  return { shown: [...shown, odds], chosen, changed: () => show(), forget, again: inWords };
}

/** A field for a number, and what it counts as. */
export function number({ survey, client }) {
  const { low, high, step, outside } = survey.alphabet;
  const note = el("p", { class: "quiet small", id: "counts", role: "status" });
  const shown = el("input", {
    type: "number",
    id: "number",
    inputmode: Number(low) < 0 ? undefined : "decimal", // pads of digits may have no minus
    min: outside === "refuse" ? low : undefined,
    max: outside === "refuse" ? high : undefined,
    step: step ?? "any",
    autocomplete: "off",
    "aria-labelledby": "legend",
    "aria-describedby": "scale counts",
  });
  const inside = (value) => value >= Number(low) && value <= Number(high);
  const given = () => (Number.isFinite(shown.valueAsNumber) ? shown.valueAsNumber : undefined);
  const chosen = () => {
    const value = given();
    return value === undefined || (outside === "refuse" && !inside(value)) ? undefined : value;
  };
  const tell = (place) => {
    const value = given();
    const refused = value !== undefined && chosen() === undefined;
    shown.setAttribute("aria-invalid", String(refused));
    note.textContent = refused
      ? text("near.takes", { low: written(low), high: written(high) })
      : place === undefined
        ? ""
        : text(inside(value) ? "near.countsAs" : "near.countsAsEnd", { name: spoken(client.survey.names[place]) });
  };
  const hint = el("p", { class: "hint", id: "scale" });
  const again = () => fill(hint, scaleWords(survey.alphabet));
  again();
  return { shown: [hint, shown, note], chosen, tell, again };
}

/** The odds of every place for the answer in a place, and in words. */
export function oddsOf(n, place) {
  const away = n.cells - n.mine;
  const legend = [
    [text("near.legend", { near: near(n) }), likely(n)],
    [text("near.others", { count: away }), chance(1 - n.mine * n.hit)],
  ];
  return { cells: n.cells, from: place, to: place + n.mine, low: n.miss / n.hit, ends: n.ends, reach: n.reach, legend };
}

/** The same, and where the die fell. */
export function rolled(n, truth, [cell]) {
  const hit = truth.includes(cell);
  return {
    ...oddsOf(n, truth[0]),
    place: cell,
    said: hit ? text("near.fell", { near: near(n) }) : text("near.fellAway"),
  };
}

/** The curve: as high over each place as that is likely, with the ends of the scale under it. */
function curve({ cells, from, to, low, ends, reach, place }) {
  const wide = 1000 / cells;
  const bar = (start, end, height, name) =>
    svg("rect", {
      x: wide * start,
      y: HEIGHT * (1 - height),
      width: wide * (end - start),
      height: HEIGHT * height,
      class: name,
    });
  const parts = [bar(0, from, low, "other"), bar(from, to, 1, "truth"), bar(to, cells, low, "other")];
  if (place !== undefined) {
    const pointer = svg("rect", { x: -5, y: 0, width: 10, height: HEIGHT, class: "pointer" });
    soon(() => pointer.setAttribute("transform", `translate(${wide * (place + 0.5)} 0)`));
    parts.push(pointer);
  }
  const view = { viewBox: `0 0 1000 ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true", class: "curve" };
  const [first, last] = ends.map((end) => el("span", { dir: "auto" }, end));
  const line = el("div", { class: "ends", "aria-hidden": "true" }, first, last);
  line.style.paddingInline = `${(100 * reach) / cells}%`; // the scale begins and ends inside of the picture
  return el("div", {}, svg("svg", view, ...parts), line);
}

/** For whoever asks: the odds of an answer in the middle. */
export const preview = (n) =>
  el(
    "figure",
    {},
    el("div", { class: "die" }, curve(oddsOf(n, Math.floor((n.answers - 1) / 2)))),
    el("figcaption", {}, text("near.preview", { chance: likely(n) })),
  );

export const picture = (fell) => framed(fell.legend, curve(fell));

/** Which answers a place is likeliest for: all of them alike. */
export function likeliest(n, cell, names) {
  const [first, last] = [Math.max(0, cell - 2 * n.reach), Math.min(n.answers - 1, cell)].map((i) => names[i]);
  const [start, end] = n.scale ? [first.split(" to ")[0], last.split(" to ").at(-1)].map(written) : [first, last];
  return span(start, end);
}

/** What a report says. */
export function inWords([cell], { survey, n, client }) {
  const names = client.survey.names ?? survey.alphabet.symbols.map(symbolText);
  const range = likeliest(n, cell, names);
  return el(
    "div",
    {},
    el("p", { class: "sent", dir: "auto" }, range),
    el("p", {}, text("near.place", { place: cell + 1, cells: n.cells, odds: atMost(n.odds) })),
  );
}

/** What a reader of the report cannot know. */
export const denial = (n) => sentences(text("near.denial", { nobody: nobody(n) }), deniability(n));
