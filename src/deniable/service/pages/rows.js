/**
 * Estimates as rows of charts and tables: their order, their names, and intervals cut to what a share can be. No
 * element is touched here.
 */

import { percent, short, symbolText } from "./common.js";

const SHOWN = 24; // characters of an answer in a chart

/** What an answer is called in a chart. */
export const label = (symbol) => short(symbolText(symbol), SHOWN);

/** The same where what cannot be seen, or would turn the line around, is spelled out. */
const spelled = (symbol) =>
  label(symbol).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (c) =>
    c === "\u200d" ? c : `\\u${c.codePointAt(0).toString(16).padStart(4, "0")}`,
  ) || '""';

/** What tells an answer from every other. */
export const key = (symbol) => JSON.stringify(symbol);

export const bySize = (rows) => [...rows].sort((a, b) => b.probability - a.probability);

/**
 * Rows as the form wants them: by size, or as they came, which is how the survey (or the list of candidates) has them.
 */
export const inOrder = (rows, order) => (order === "own" ? rows : bySize(rows));

/** An interval as people are shown it: no share is below 0 or above 1, and no change below -1. */
export const cut = (low, high, least = 0) =>
  low === null || high === null ? [null, null] : [low, high].map((bound) => Math.min(Math.max(bound, least), 1));

/** Rows of an estimate's chart. */
export function estimateRows(estimates, dots, called) {
  const some = estimates.some((row) => row.raw_low !== null);
  return labelled(estimates, called).map(({ probability, raw, raw_low, raw_high, name }) => {
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

/** Rows with names that differ: two equal labels would share a bar. `called` may have the page's own words for some. */
export function labelled(rows, called = symbolText) {
  const seen = new Map();
  return rows.map((row) => {
    const own = called(row.symbol);
    let name = own === symbolText(row.symbol) ? spelled(row.symbol) : own;
    // Vega looks names up in plain objects, which know these already: a mark that nobody sees makes them others.
    if (name in {}) name += "\u2060";
    seen.set(name, (seen.get(name) ?? 0) + 1);
    return { ...row, name: seen.get(name) > 1 ? `${name} (${seen.get(name)})` : name };
  });
}

/** Changes of shares, the largest first, in either direction. */
export const changeRows = (changes) =>
  changes
    .map(({ symbol, raw, raw_low: least, raw_high: greatest, changed }) => {
      const [low, high] = cut(least, greatest, -1);
      return { symbol, change: raw, low, high, clear: changed };
    })
    .sort((a, b) => Math.abs(b.change) - Math.abs(a.change));

/**
 * One row a window and answer; an answer that a window does not know has none there. `chosen` are rows with names.
 * Shares are from all windows together, where they were tracked, or from each window `alone`.
 */
export const trendRows = (windows, chosen, alone = false) =>
  windows.flatMap(({ start, estimates, smooth, changed }) =>
    chosen.flatMap(({ symbol, name }) => {
      const rows = alone ? estimates : (smooth ?? estimates);
      const row = rows.find((other) => key(other.symbol) === key(symbol));
      if (!row) return [];
      const [low, high] = cut(row.raw_low, row.raw_high);
      const ring = changed.some((other) => key(other) === key(symbol));
      return [{ window: `${start}:00`, name, estimate: row.probability, low, high, changed: ring }];
    }),
  );

/** Which answers a trend shows until somebody chooses: those that changed, then the largest; four to `most` keys. */
export function firstDrawn(order, windows, most) {
  const changed = new Set(windows.flatMap((one) => one.changed.map(key)));
  const keys = order.map(key);
  const wanted = new Set([...keys.filter((one) => changed.has(one)), ...keys]);
  return [...wanted].slice(0, Math.max(4, Math.min(most, changed.size)));
}
