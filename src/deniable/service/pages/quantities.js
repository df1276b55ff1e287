/**
 * Figures of numbers and of answers in an order: the mean, the median and the quartiles in words, as rows of tables and
 * of charts. No element is touched here.
 */

import { percent, symbolText } from "./common.js";
import { digits, number, text } from "./texts.js";

/** A figure as people read it: a number with four digits, or the answer itself. */
export const figureText = (value) => (typeof value === "number" ? digits(value, 4) : symbolText(value));

/** What a bin of numbers is called: "18 to 21" by the ends that the survey has, or "18" where it is one number. */
export function binText(symbol) {
  const plain = (end) => number(end, { useGrouping: false, maximumFractionDigits: 20 });
  if (/^-?\d+(\.\d+)?$/.test(symbol)) return plain(Number(symbol));
  const ends = /^(\S+) to (\S+)$/.exec(symbol)?.slice(1).map(Number);
  return ends?.every(Number.isFinite)
    ? text("results.span", { from: plain(ends[0]), to: plain(ends[1]) })
    : symbolText(symbol);
}

const told = ({ value, low, high }) =>
  text("results.figure", { value: figureText(value), low: figureText(low), high: figureText(high) });

const NAMES = { mean: "mean", "mean place": "mean place" };

/** What a figure is called on the page. */
const called = (name) => text(`results.name_${name.replaceAll(" ", "_")}`);

/** The mean, of numbers or of places, and what it is called. */
export const meanOf = (figures) => {
  const name = Object.keys(NAMES).find((one) => figures[one]);
  return { name, ...figures[name] };
};

/** The two facts at the top of the page: a number and words each. */
export function figureFacts(figures, level, answers) {
  const { name, value, low, high } = meanOf(figures);
  const { median } = figures;
  const range = (one) => ({ level: percent(level, 0), low: figureText(one.low), high: figureText(one.high) });
  const mean = figureText(value);
  return [
    name === "mean"
      ? [mean, text("results.meanFact", range({ low, high }))]
      : [text("results.placeOf", { place: mean, count: answers }), text("results.placeFact", range({ low, high }))],
    [figureText(median.value), text("results.medianFact", range(median))],
  ];
}

/** All of them in sentences. */
export function figureWords(figures, level) {
  const { median, "lower quartile": lower, "upper quartile": upper } = figures;
  const { name, ...mean } = meanOf(figures);
  return text(name === "mean" ? "results.figureWords" : "results.placeWords", {
    mean: told(mean),
    median: told(median),
    lower: told(lower),
    upper: told(upper),
    level: percent(level, 0),
  });
}

/** Heads and rows of a table of figures. */
export const figureTable = (figures, level) => ({
  heads: ["", text("results.estimate"), text("forms.from", { level: percent(level, 0) }), text("forms.to")],
  rows: Object.entries(figures).map(([name, one]) => [called(name), ...[one.value, one.low, one.high].map(figureText)]),
});

/** Heads and rows of a table of ranges, each with its share and the limits of that. */
export function rangeTable({ estimates, density, level }) {
  const { edges, bands } = density;
  const inside = ({ from, to }) => estimates.filter((_, i) => edges[i] >= from && edges[i + 1] <= to);
  const share = (band) => inside(band).reduce((sum, { probability }) => sum + probability, 0);
  return {
    heads: [
      text("results.rangeHead"),
      text("forms.shareOf"),
      text("forms.from", { level: percent(level, 0) }),
      text("forms.to"),
    ],
    rows: bands.map((band) => [
      text("results.span", { from: figureText(band.from), to: figureText(band.to) }),
      ...[share(band), band.low, band.high].map((one) => percent(one)),
    ]),
  };
}

/** The same for two times. */
export const comparedTable = (before, after) => ({
  heads: ["", text("results.before"), text("results.after")],
  rows: Object.keys(before).map((name) => [called(name), told(before[name]), told(after[name])]),
});

const RANGE = "95 % interval of a range"; // a word of the template, which has the level put into it

/** The chart of numbers: bars of bins, boxes of ranges, marks of the mean and the median. */
export function densityChart({ estimates, density, figures, level }, heading) {
  const { edges, bands } = density;
  const bins = estimates.map(({ probability }, i) => ({
    x: edges[i],
    to: edges[i + 1],
    floor: 0,
    density: probability / (edges[i + 1] - edges[i]),
    kind: "density",
  }));
  const ranges = bands.map(({ from, to, low, high }) => ({
    x: from,
    to,
    low: low / (to - from),
    high: high / (to - from),
    kind: RANGE,
  }));
  const more = ["mean", "median"].map((kind) => {
    const { value, low, high } = figures[kind];
    return { kind, x: value, low, high, value: told(figures[kind]) };
  });
  return {
    chart: "density",
    level,
    heading,
    description: text("results.densityOf", {
      count: bins.length,
      mean: told(figures.mean),
      median: told(figures.median),
    }),
    patch: (part) => {
      if (part.field === "x" && part.scale?.domain) part.scale.domain = [edges[0], edges.at(-1)];
    },
    data: { rows: [...bins, ...ranges], more },
  };
}

/** The mean over time, each window from its own answers alone. */
export function meansChart({ windows, level }) {
  const rows = windows.flatMap(({ start, figures }) => {
    if (!figures) return [];
    const { name, value, low, high } = meanOf(figures);
    return [{ window: `${start}:00`, name: called(name), estimate: value, low, high, changed: false }];
  });
  const names = [...new Set(rows.map(({ name }) => name))];
  return {
    chart: "means",
    level,
    names,
    description: text("results.meansOf", { name: names[0], count: rows.length, level: percent(level, 0) }),
    data: { rows },
  };
}
