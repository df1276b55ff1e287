/**
 * Epsilon as an exact rational, and the integer thresholds that follow from it: BigInts throughout, no float.
 *
 * e**x is irrational for every rational x > 0, so ceil(2**width / (e**x + k - 1)) is one well-defined integer. It is
 * found by bracketing e**x and narrowing the bracket until both ends agree; so every client gets the same integer.
 */

import { big } from "./bytes.js";
import { need } from "./errors.js";

const gcd = (a, b) => (b ? gcd(b, a % b) : a);

/** [numerator, denominator] of epsilon from its one spelling: plain decimal text where exact, else a fraction. */
export function readEpsilon(text) {
  const [, whole, part = "", above, below] =
    /^(?:(0|[1-9]\d*)(?:\.(\d*[1-9]))?|([1-9]\d*)\/([1-9]\d*))$/.exec(text) ?? [];
  const top = big(above ?? (whole ?? 0) + part);
  const bottom = below ? big(below) : 10n ** big(part.length);
  const common = gcd(top, bottom);
  need(
    text.length < 200 &&
      // A fraction is in lowest terms, and none that decimal text could spell: its denominator divides no power of ten.
      !(below && (common > 1n || !(10n ** 256n % bottom))) &&
      top <= 64n * bottom &&
      top * 10n ** 9n >= bottom &&
      !(((top | bottom) / common) >> 256n),
    `epsilon must be 1e-9 to 64 in canonical text, got ${text}`,
  );
  return [top / common, bottom / common];
}

const ceil = (a, b) => (a + b - 1n) / b;

/** ceil(times * 2**width / (s e**epsilon + b - s)), with s of b cells true: the least weight of `times` other cells. */
export function otherWeight([n, d], cells, width, occupied = 1, times = 1) {
  const s = big(occupied);
  for (let bits = 2n * big(width) + 64n; ; bits *= 2n) {
    // Taylor's series in fixed point, each term rounded down (up); once i > 2x what is left is at most the last term.
    let low = 1n << bits;
    let high = low;
    let lowTerm = low;
    let highTerm = low;
    for (let i = 1n; lowTerm || highTerm > 1n || (i - 1n) * d <= 2n * n; i++) {
      low += lowTerm = (lowTerm * n) / (d * i);
      high += highTerm = ceil(highTerm * n, d * i);
    }
    const weight = (exp) => ceil(big(times) << (big(width) + bits), s * exp + ((big(cells) - s) << bits));
    if (weight(low) === weight(high + highTerm)) return weight(low);
  }
}
