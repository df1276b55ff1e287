/**
 * Pure maps from (cohort, symbol) to sorted, distinct cells. Each maker takes the encoding's fields and the alphabet
 * (`size` is 0 for an open one) and gives the `cells` and `cohorts` there are (no cells where the two do not fit), how
 * many cells an answer fills at most (`hashes`), `of`, and what else a survey must say of it (`stated`): `x | 0` is not x
 * for what is not an integer.
 */

import { ceil, hex, min, unhex, upTo, utf8 } from "./bytes.js";
import { fingerprint, permute, scaled, stream } from "./hashing.js";

/** Each symbol is its own cell. */
export const direct = (fields, size, find) => ({ cells: size, hashes: 1, of: (cohort, value) => [find(value)] });

/** Hash functions over an open alphabet, or permutations of a closed one: `hashes` of them for each cohort. */
export function seeded({ kind, cells, cohorts, hashes, seed }, size, find) {
  const key = unhex(seed);
  const stated = { cohorts: cohorts | 0, hashes: hashes | 0, seed: hex(key) };
  // "p" is not a type byte, so no symbol's fingerprint is the root of the permutations.
  const root = fingerprint(key, utf8("permutations"));
  return {
    // A hashed encoding has an open alphabet, and a permuted one a closed one.
    cells: (kind == "hashed") == !size && key.length > 7 && key.length < 65 ? cells | 0 : 0,
    ...stated,
    stated,
    of(cohort, value) {
      const place = size ? find(value) : fingerprint(key, find(value));
      const found = new Set();
      for (let i = cohort * hashes; i < (cohort + 1) * hashes; i++)
        found.add(size ? permute(stream(root, i), size, place) % cells : scaled(place, i, cells));
      return [...found].sort((a, b) => a - b);
    },
  };
}

/** Whether the digits of two numbers in base `order` are orthogonal. */
function orthogonal(x, y, order) {
  let dot = 0;
  for (; x && y; x = (x / order) | 0, y = (y / order) | 0) dot += (x % order) * (y % order);
  return dot % order == 0;
}

/** A block design: every answer fills the same number of cells, those where `fills(answer, cell)`. */
const design = (cells, hashes, find, stated, fills) => ({
  cells,
  hashes,
  block: 1,
  stated,
  of(cohort, value) {
    const place = find(value);
    return upTo(cells).filter((cell) => fills(place, cell));
  },
});

/** Rows of a Hadamard matrix: symbol x has block x mod B, row x div B + 1, and the columns where that row is +1. */
export function hadamard({ blocks }, size, find) {
  let rows = 2;
  while (rows <= min(size, ceil(size / blocks))) rows *= 2;
  return design(
    blocks <= 2 * size ? blocks * rows : 0,
    rows / 2,
    find,
    { blocks: blocks | 0 },
    (place, cell) => ((cell / rows) | 0) == place % blocks && orthogonal((place / blocks + 1) | 0, cell % rows, 2),
  );
}

/** Points of a projective space over the integers mod a prime; symbol x has the points orthogonal to point x. */
export function projective({ order, dimension }, size, find) {
  const points = (digits) => (order ** digits - 1) / (order - 1);
  // Point i is the number that its digits spell: a leading 1, then any digits, in order of size.
  const spelled = (point, digits = 0) =>
    point < points(digits + 1) ? point - points(digits) + order ** digits : spelled(point, digits + 1);
  let prime = size && order < 2 ** 16;
  for (let divisor = 2; prime && divisor * divisor <= order; divisor++) prime = order % divisor;
  return design(
    prime && size <= points(dimension) ? points(dimension) : 0,
    points(dimension - 1),
    find,
    { order: order | 0, dimension: dimension | 0 },
    (place, cell) => orthogonal(spelled(place), spelled(cell), order),
  );
}
