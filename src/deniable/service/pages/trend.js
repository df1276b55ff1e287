/** Results over time: one point a window, and rings where one differs from those before it. */

import { cut, labelled } from "./charts.js";
import { $, el, fill, short, symbolText } from "./common.js";
import { bySize, key, label } from "./shares.js";

const MOST = 6; // lines that can be told apart

let drawn; // keys of the answers that are drawn

/** Choose anew which answers are drawn. */
export const forgetChoice = () => (drawn = undefined);

/** Show the windows that were told; `shares` are those of all of them together. */
export async function showTrend(told, shares, day, picture) {
  $("trend-part").hidden = told.windows.length < 2;
  if (told.windows.length < 2) return;
  const order = bySize(shares.estimates).map((row) => row.symbol);
  const changed = new Set(told.windows.flatMap((one) => one.changed.map(key)));
  // Those that changed first, then the largest.
  const wanted = [...order.map(key).filter((one) => changed.has(one)), ...order.map(key)];
  drawn ??= new Set([...new Set(wanted)].slice(0, Math.max(4, Math.min(MOST, changed.size))));
  const draw = () => drawTrend(told, order, day, picture);
  offerNames(order, draw);
  await draw();
}

async function drawTrend(told, order, day, picture) {
  const chosen = labelled(
    order.filter((symbol) => drawn.has(key(symbol))).map((symbol) => ({ symbol })),
    label,
  );
  const rows = told.windows.flatMap((one) =>
    chosen.flatMap(({ symbol, name }) => {
      const row = one.estimates.find((other) => key(other.symbol) === key(symbol));
      if (!row) return [];
      const [low, high] = cut(row.raw_low, row.raw_high);
      return [
        {
          window: `${one.start}:00`,
          name,
          estimate: row.probability,
          low,
          high,
          changed: one.changed.some((other) => key(other) === key(symbol)),
        },
      ];
    }),
  );
  $("trend-words").textContent =
    `One point a ${told.window}, ${told.windows.length} of them. A ring marks a ${told.window} that differs from ` +
    "those before it by more than chance explains; where nothing changes, such a chart has a ring at most once in " +
    `${Math.round(1 / (1 - told.level))} times.`;
  const marks = told.windows.filter((one) => one.changed.length).slice(-MOST);
  const listed = marks.map((one) =>
    el(
      "li",
      { dir: "auto" },
      `${day(one.start)}: ${one.changed
        .slice(0, 8)
        .map((symbol) => short(symbolText(symbol), 60))
        .join(", ")} changed`,
    ),
  );
  fill($("trend-marks"), ...(listed.length ? listed : [el("li", {}, "No change that chance would not explain.")]));
  await picture.draw({
    chart: "trend",
    description: `Shares of ${chosen.length} answers over ${told.windows.length} windows`,
    level: told.level,
    names: chosen.map(({ name }) => name),
    data: { rows },
  });
}

function offerNames(order, draw) {
  const boxes = order.slice(0, 40).map((symbol) => {
    const box = el("input", { type: "checkbox" });
    box.checked = drawn.has(key(symbol));
    box.addEventListener("change", () => {
      if (box.checked && drawn.size >= MOST) box.checked = false;
      else if (!box.checked && drawn.size === 1) box.checked = true;
      else if (box.checked) drawn.add(key(symbol));
      else drawn.delete(key(symbol));
      draw();
    });
    return el("p", {}, el("label", {}, box, " ", el("span", { dir: "auto" }, short(symbolText(symbol), 80))));
  });
  fill($("trend-names"), ...boxes);
}
