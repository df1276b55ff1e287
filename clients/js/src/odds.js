/**
 * Epsilon as an exact rational, and the integer thresholds that follow from it: BigInts throughout, no float.
 *
 * e**x is irrational for every rational x > 0, so the least integer past a fraction in it is one well-defined integer.
 * It is found by bracketing e**x: both ends must agree, so every client gets the same integer. (Whoever finds an
 * epsilon of 256 bits for which 1024 bits do not decide has a survey that this client refuses.)
 */

import { big } from "./bytes.js";
import { need } from "./errors.js";

const gcd = (a, b) => (b ? gcd(b, a % b) : a);

/** [numerator, denominator] of epsilon from its one spelling: plain decimal text where exact, else a fraction. */
export function readTotal(text, most) {
  const [, whole, part = "", below] = /^(0|[1-9]\d*)(?:\.(\d*[1-9])|\/([1-9]\d*))?$/.exec(text) ?? [0, 0];
  const top = big(whole + part);
  const bottom = below ? big(below) : 10n ** big(part.length);
  const common = gcd(top, bottom);
  need(
    // A fraction is in lowest terms, and none that decimal text could spell: its denominator divides no power of ten.
    (!below || (common < 2n && 10n ** 256n % bottom)) &&
      top <= most * bottom &&
      top * 10n ** 9n >= bottom &&
      !(((top | bottom) / common) >> 256n),
    `epsilon must be 1e-9 to ${most} in canonical text, got ${text}`,
  );
  return [top / common, bottom / common];
}

/** The epsilon of a survey; that of a form is a sum. */
export const readEpsilon = (text) => readTotal(text, 64n);

/**
 * e**epsilon with 1024 bits after the point: Taylor's series, rounded down. Fewer than 2**12 terms are each less than 1
 * too small, which grows by at most e**64 < 2**93 further on; once a term is 0 what is left of the series is less.
 */
export const expOf = ([n, d], i = 1n, term = 1n << 1024n, sum = term) => {
  for (; term; i++) sum += term = (term * n) / (d * i);
  return sum;
};

/** a / b, rounded up. */
export const ceiling = (a, b) => (a + b - 1n) / b;

/**
 * The least weight of replacements that keeps every ratio at most E = e**epsilon:
 *
 *     ceil(words (high - low E) / (cells high - unit + (unit - cells low) E))
 *
 * Before the replacement a cell has weight `high` if it is true and `low` if it is not, and all of them have `unit` in
 * sum, in any one unit. Each gets the weight that is asked for, of `words` words; twice as many words count the weight
 * of two of them. A first stage replaces the truth itself: `high` is 1, `low` 0, and `unit` is the number of true
 * cells.
 */
export function leastWeight(epsilon, words, cells, unit, high = 1n, low = 0n) {
  const one = 1n << 1024n;
  const exp = expOf(epsilon);
  const weight = (e) => ceiling(words * (high * one - low * e), (cells * high - unit) * one + (unit - cells * low) * e);
  const found = weight(exp);
  need(
    // Neither no replacement at all, nor more than would say nothing.
    found === weight(exp + (1n << 105n)) && found > 0n && found * cells <= words,
    "epsilon must fit its words, and epsilon_report be less",
  );
  return found;
}
