/**
 * Pure maps from (cohort, symbol) to sorted, distinct cells. Each maker takes the encoding's fields and the alphabet
 * (`size` is 0 for an open one) and gives the `cells` and `cohorts` there are (no cells where the two do not fit), how
 * many cells an answer fills at most (`hashes`), `of`, and what else a survey must say of it (`stated`): `x | 0` is not
 * x for what is not an integer.
 */

import { ceil, hex, isPrime, join, min, unhex, upTo, utf8 } from "./bytes.js";
import { need } from "./errors.js";
import { fingerprint, permute, scaled, stream } from "./hashing.js";

/** Each symbol is its own cell. */
export const direct = (_fields, size, find) => ({ cells: size, hashes: 1, of: (_cohort, value) => [find(value)] });

const seedOf = (seed) => {
  need(/^([\s\S]{2}){8,64}$/.test(seed), "seed must be 8 to 64 bytes in hexadecimal");
  return unhex(seed);
};

/** Hash functions over an open alphabet, or permutations of a closed one: `hashes` of them for each cohort. */
export function seeded({ kind, cells, cohorts, hashes, seed }, size, find) {
  const key = seedOf(seed);
  const stated = { cohorts: cohorts | 0, hashes: hashes | 0, seed: hex(key) };
  // "p" is not a type byte, so no symbol's fingerprint is the root of the permutations.
  const root = fingerprint(key, utf8("permutations"));
  return {
    // A hashed encoding has an open alphabet, and a permuted one a closed one.
    cells: (kind === "hashed") === !size ? cells | 0 : 0,
    ...stated,
    stated,
    of: (cohort, value, place = size ? find(value) : fingerprint(key, find(value))) =>
      [
        ...new Set(
          upTo(hashes).map((i) => {
            i += cohort * hashes;
            return size ? permute(stream(root, i), size, place) % cells : scaled(place, i, cells);
          }),
        ),
      ].sort((a, b) => a - b),
  };
}

/**
 * The beginning of a text in an open alphabet: a cohort hashes as many bytes as its level has, with an end mark (a byte
 * that UTF-8 does not have) where the text ends within them.
 */
export function prefixes({ cells, levels, overlong, seed }, size, find) {
  const key = seedOf(seed);
  const cohorts = levels.reduce((sum, [, count]) => sum + count, 0);
  const last = levels.reduce((before, [length, count]) => {
    need(length > before && length < 256 && count > 0, `levels must rise up to 255 bytes, got ${length}`);
    return length;
  }, 0);
  const cut = overlong === "cut";
  return {
    cells: size ? 0 : cells | 0,
    cohorts,
    hashes: 1,
    stated: {
      cohorts,
      levels: levels.map(([length, count]) => [length | 0, count | 0]),
      overlong: cut ? "cut" : "refuse",
      seed: hex(key),
    },
    of(cohort, value) {
      // Bytes and integers have other type bytes than text.
      const [type, ...text] = find(value);
      need(type === 115 && (cut || text.length <= last));
      for (const [length, count] of levels) {
        if (cohort < count) {
          const start = [length, ...text.slice(0, length), ...(text.length > length ? [] : [255])];
          return [scaled(fingerprint(key, join(start)), cohort, cells)];
        }
        cohort -= count;
      }
    },
  };
}

/** The inner product of the digits of two numbers in base `order`; they are orthogonal where it is 0 mod `order`. */
const product = (x, y, order) =>
  x && y ? (x % order) * (y % order) + product((x / order) | 0, (y / order) | 0, order) : 0;

/** A block design: every answer fills the same number of cells, those where `fills(answer, cell)`. */
const design = (cells, hashes, find, stated, fills) => ({
  cells,
  hashes,
  block: 1,
  stated,
  of: (_cohort, value, place = find(value)) => upTo(cells).filter((cell) => fills(place, cell)),
});

/** Answers in an order: each fills its own cell and `reach` more on each side; there are as many more at both ends. */
export const neighbours = ({ reach }, size, find) =>
  design(
    size && reach >= 0 ? size + 2 * reach : 0,
    2 * reach + 1,
    find,
    { reach: reach | 0 },
    (place, cell) => cell >= place && cell <= place + 2 * reach,
  );

/** Rows of a Hadamard matrix: symbol x has block x mod B, row x div B + 1, and the columns where that row is +1. */
// As many rows as the least power of two above the symbols of a block.
export const hadamard = ({ blocks }, size, find, rows = 2 << (31 - Math.clz32(min(size, ceil(size / blocks))))) =>
  design(
    blocks <= 2 * size ? blocks * rows : 0,
    rows / 2,
    find,
    { blocks: blocks | 0 },
    (place, cell) =>
      ((cell / rows) | 0) === place % blocks && product((place / blocks + 1) | 0, cell % rows, 2) % 2 < 1,
  );

/** Points of a projective space over the integers mod a prime; symbol x has the points orthogonal to point x. */
export function projective({ order, dimension }, size, find) {
  const points = (digits) => (order ** digits - 1) / (order - 1);
  // Point i is the number that its digits spell: a leading 1, then any digits, in order of size.
  const spelled = (point, digits = 0) =>
    point < points(digits + 1) ? point - points(digits) + order ** digits : spelled(point, digits + 1);
  return design(
    size && order < 2 ** 16 && isPrime(order) && size <= points(dimension) ? points(dimension) : 0,
    points(dimension - 1),
    find,
    { order: order | 0, dimension: dimension | 0 },
    (place, cell) => product(spelled(place), spelled(cell), order) % order < 1,
  );
}
