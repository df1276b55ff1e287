/** The project's charts as a page shows or saves them: templates with rows filled in. No element is touched here. */

import { line, translate, translated, translator, walk } from "./chart.language.js";

/**
 * A specification with its data, in the page's language. `names` are the lines of a chart over time, and `kinds` those
 * of a chart of mechanisms; `level` stands in legends and titles; `patch` is shown every part.
 */
export function filled(templates, { chart, data, level = 0.95, names, kinds, patch, description }) {
  const spec = JSON.parse(JSON.stringify(templates[chart]));
  const said = translator(templates.words, level);
  delete spec.title;
  if (kinds)
    walk(spec, (part) => {
      if (!Array.isArray(part.domain) || !part.domain.includes(kinds[0])) return;
      part.range = part.range.filter((_, i) => kinds.includes(part.domain[i]));
      part.domain = part.domain.filter((kind) => kinds.includes(kind));
    });
  translate(spec, said);
  Object.assign(
    spec.datasets,
    Object.fromEntries(Object.entries(data).map(([name, rows]) => [name, translated(rows, said)])),
  );
  spec.description = description;
  if (patch) walk({ ...spec, datasets: undefined }, patch);
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
export function fitted(templates, what, { width, dark }) {
  let spec = filled(templates, what);
  if (dark) {
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
    if (part.orient === "top" && part.symbolSize) {
      const long = part.symbolType === "circle" || what.chart === "density";
      part.columns = !narrow ? 4 : long ? 1 : 2;
      part.labelLimit ??= 0;
    }
    // Whole sentences, of which one is a line on a phone.
    if (narrow && part.orient === "bottom" && part.labelLimit === 0) part.columns = 1;
    if (narrow && part.tickCount === 8) part.tickCount = 4;
    if (narrow && part.title?.length > 36) part.title = inTwo(part.title);
  });
  return spec;
}

/** A text in two lines of about the same length. */
export function inTwo(whole) {
  const text = whole.replace(/^\u2067|\u2069$/g, "");
  const places = [...text.matchAll(/ /g)].map((found) => found.index);
  const middle = places.sort((a, b) => Math.abs(a - text.length / 2) - Math.abs(b - text.length / 2))[0];
  return [text.slice(0, middle), text.slice(middle + 1)].map(line);
}
