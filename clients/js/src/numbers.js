/**
 * Answers that are numbers, in bins. Edges are decimal numbers, worked out as integers in units of 10**-12, and each is
 * used as the double nearest to it; so every platform puts every double into the same bin.
 */

import { big, num, upTo } from "./bytes.js";
import { need } from "./errors.js";

/** A decimal number in units; the text must be its one spelling, of at most ten places. */
function units(text) {
  need(/^(?!-0$)-?(0|[1-9]\d{0,14})(\.\d{0,9}[1-9])?$/.test(text), `low, high and step must be decimal, got ${text}`);
  const [whole, places = ""] = text.split(".");
  return big(whole + places.padEnd(12, "0"));
}

const spelled = (n) => {
  const digits = `${n < 0 ? -n : n}`.padStart(13, "0");
  return (n < 0 ? "-" : "") + `${digits.slice(0, -12)}.${digits.slice(-12)}`.replace(/\.?0+$/, "");
};

/** A scale from `low` to `high`: equal `bins`, or the numbers that are a `step` apart. Others go to the ends. */
export function number({ low, high, bins, step, outside }) {
  const from = units(low);
  const range = units(high) - from;
  const stride = step ? units(step) : 0n;
  const size = step ? num(range / stride) + 1 : bins | 0;
  need(size > 1 && size <= 2 ** 16 && (!step || range % stride === 0n), `bins must be 2 to 2**16, got ${size}`);
  const places = upTo(size + 1).map((i) => spelled(from - stride / 2n + ((range + stride) * big(i)) / big(size)));
  const edges = places.map(num);
  need(
    edges.every((edge, i) => !i || edges[i - 1] < edge),
    `low must be below high, and bins wide enough, got ${low}, ${high}`,
  );
  // The names of the bins are answers, too.
  const names = upTo(size).map((i) => (step ? spelled(from + stride * big(i)) : `${places[i]} to ${places[i + 1]}`));
  const refuse = outside === "refuse";
  return {
    size,
    names,
    stated: {
      kind: "number",
      low,
      high,
      bins: step ? undefined : size,
      step,
      outside: refuse ? outside : "clamp",
    },
    find(value) {
      const place = names.indexOf(value);
      if (place >= 0) return place;
      const x = typeof value === "bigint" ? num(value) : value;
      need(num.isFinite(x) && !(refuse && (x < low || x > high)));
      // All edges are compared, so that the time taken does not depend on the number.
      return edges.slice(1, -1).filter((edge) => x >= edge).length;
    },
  };
}
