/**
 * Charts on pages: the project's own specifications with rows filled in, drawn by Vega. Its expressions are
 * interpreted, not compiled, so no page has to allow `eval`.
 */

import { el, percent } from "./common.js";
import { untilItFails } from "./once.js";

/**
 * Vega, and the specifications; loaded when the first chart is, and once more after it failed: a busy collector needs a
 * while.
 */
export const library = untilItFails(async (tries) => {
  // A browser keeps a module that failed: each try has an address of its own.
  const [, answer] = await Promise.all([import(`./vega.js?${tries}`), fetch("/pages/charts.json")]);
  if (!answer.ok) throw new Error("the charts cannot be loaded now");
  return answer.json();
});

const dark = matchMedia("(prefers-color-scheme: dark)");

/** Visit every object in a specification. */
function walk(part, visit) {
  if (part === null || typeof part !== "object") return;
  visit(part);
  for (const inner of Object.values(part)) walk(inner, visit);
}

/** A specification with its data. `names` are the lines of a chart over time; `level` stands in
 * legends and titles; `patch` is shown every part. */
function filled(templates, { chart, data, level = 0.95, names, patch, description }) {
  const spec = JSON.parse(
    JSON.stringify(templates[chart]).replaceAll("95 % interval", `${Number((100 * level).toPrecision(6))} % interval`),
  );
  Object.assign(spec.datasets, data);
  delete spec.title;
  spec.description = description;
  if (patch) walk(spec, patch);
  if (spec.height?.step) spec.height.step = data.rows.length <= 16 ? 30 : 22;
  if (names)
    walk(spec, (part) => {
      if (part.domain?.length === templates.series && part.domain[0] === "a") {
        part.domain = names;
        part.range = part.range.slice(0, names.length);
      }
    });
  return spec;
}

/** The same for a page: as wide as there is room, in its fonts and in its light. */
function fitted(templates, what, width) {
  let spec = filled(templates, what);
  if (dark.matches) {
    let text = JSON.stringify({ ...spec, datasets: undefined });
    for (const [light, other] of Object.entries(templates.dark)) text = text.replaceAll(`"${light}"`, `"${other}"`);
    spec = { ...JSON.parse(text), datasets: spec.datasets };
  } else spec.config.background = "transparent";
  Object.assign(spec.config, {
    font: "system-ui, -apple-system, Segoe UI, Roboto, Liberation Sans, Arial, sans-serif",
    padding: 4,
  });
  spec.width = width;
  spec.autosize = { type: "fit-x", contains: "padding" };
  const narrow = width < 520;
  if (narrow && spec.datasets.last) spec.datasets.last = []; // there is no room for words between the lines
  walk(spec, (part) => {
    if (part.labelLimit) part.labelLimit = narrow ? 120 : 240;
    // Names of kinds are longer than those of lines.
    if (part.orient === "top" && part.symbolSize) part.columns = !narrow ? 4 : part.symbolType === "circle" ? 1 : 2;
    if (narrow && part.tickCount === 8) part.tickCount = 4;
    if (narrow && part.title?.length > 36) part.title = inTwo(part.title);
  });
  return spec;
}

/** A text in two lines of about the same length. */
function inTwo(text) {
  const places = [...text.matchAll(/ /g)].map((found) => found.index);
  const middle = places.sort((a, b) => Math.abs(a - text.length / 2) - Math.abs(b - text.length / 2))[0];
  return [text.slice(0, middle), text.slice(middle + 1)];
}

// Vega warns of data that are left out on purpose; only its errors are of interest.
const OPTIONS = {
  ast: true,
  logLevel: 1,
  renderer: "svg",
  actions: false,
  defaultStyle: false,
  tooltip: { disableDefaultStyle: true },
};

/** A place on a page that shows a chart, redraws it when the page turns or darkens, and can save it. */
export class Picture {
  constructor(place) {
    this.place = place;
    this.turn = Promise.resolve();
    const again = () => this.what && this.draw(this.what);
    dark.addEventListener("change", again);
    let width = place.clientWidth;
    new ResizeObserver(() => {
      if (Math.abs(place.clientWidth - width) < 8) return;
      width = place.clientWidth;
      again();
    }).observe(place);
  }

  /** Draw, one at a time, and only the last of what was asked for meanwhile. */
  draw(what) {
    this.what = what;
    this.turn = this.turn.then(async () => {
      if (this.what !== what) return;
      const templates = await library();
      const target = el("div");
      const { view } = await window.vegaEmbed(
        target,
        fitted(templates, what, Math.max(this.place.clientWidth, 240)),
        OPTIONS,
      );
      this.view?.finalize();
      this.view = view;
      // One picture with one name; its numbers are in a table beside it.
      for (const [name, value] of Object.entries({ role: "img", "aria-label": what.description }))
        target.setAttribute(name, value);
      target.removeAttribute("aria-roledescription");
      target.querySelector("svg").setAttribute("aria-hidden", "true");
      this.place.replaceChildren(target);
    });
    return this.turn;
  }

  /** The chart as a file, as Python draws it: on white, in its own size, under the heading that a page does without. */
  async file(kind) {
    const templates = await library();
    const spec = { ...filled(templates, this.what), title: this.what.heading };
    const { view } = await window.vegaEmbed(el("div"), spec, {
      ...OPTIONS,
      renderer: kind === "png" ? "canvas" : "svg",
    });
    try {
      if (kind === "svg") return new Blob([await view.toSVG()], { type: "image/svg+xml" });
      const canvas = await view.toCanvas(2);
      return await new Promise((done) => canvas.toBlob(done, "image/png"));
    } finally {
      view.finalize();
    }
  }
}

/** An interval as people are shown it: no share is below 0 or above 1, and no change below -1. */
export const cut = (low, high, least = 0) =>
  low === null || high === null ? [null, null] : [low, high].map((bound) => Math.min(Math.max(bound, least), 1));

/** Rows of an estimate's chart. */
export function estimateRows(estimates, label, dots) {
  const some = estimates.some((row) => row.raw_low !== null);
  return labelled(estimates, label).map(({ probability, raw, raw_low, raw_high, name }) => {
    const [low, high] = cut(raw_low, raw_high);
    const unknown = some && low === null;
    return {
      name,
      estimate: probability,
      low,
      high,
      truth: null,
      raw: dots ? raw : null,
      unknown,
      value: unknown ? null : percent(probability),
    };
  });
}

/** Rows with names that differ: two equal labels would share a bar. */
export function labelled(rows, label) {
  const seen = new Map();
  return rows.map((row) => {
    // What cannot be seen or would turn the line around is spelled out.
    let name =
      label(row.symbol).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (c) =>
        c === "\u200d" ? c : `\\u${c.codePointAt(0).toString(16).padStart(4, "0")}`,
      ) || '""';
    // Vega looks names up in plain objects, which know these already: a mark that nobody sees makes them others.
    if (name in {}) name += "\u2060";
    seen.set(name, (seen.get(name) ?? 0) + 1);
    return { ...row, name: seen.get(name) > 1 ? `${name} (${seen.get(name)})` : name };
  });
}
