/**
 * The randomisers. Each takes the cells of one answer and an entropy, and gives the cells that the report names: cells
 * in, cells out, so that a second randomiser could follow the first. Thresholds are BigInts over 2**width.
 *
 * Claim: for every mechanism the law of the cells is the channel that the survey states, and no two answers differ in it
 *     by more than e**epsilon.
 * Proof: test/law.test.js, which plays every word to this code; test/mutants.test.js has what it must catch.
 */

import { big, num } from "./bytes.js";
import { uniformBelow } from "./noise.js";
import { otherWeight } from "./odds.js";

/** k-ary randomised response: of 2**width words, `keep` name each true cell and `other` each of the others. */
export function krr(epsilon, cells, occupied = 1, width = 64) {
  const s = big(occupied);
  const rest = big(cells) - s;
  const span = 1n << big(width);
  let other = otherWeight(epsilon, cells, width, occupied);
  // s A + (b - s) B = 2**width: the first B from the least one on that leaves a whole A.
  for (let i = s; i && (span - rest * other) % s; i--) other++;
  const keep = (span - rest * other) / s;
  return {
    width,
    // Where words are too coarse for so many cells there is no such channel, and no survey states these.
    thresholds: keep >= other && s * keep + rest * other == span ? { keep, other } : {},
    randomize(truth, entropy) {
      const word = entropy.word();
      if (word < s * keep) return [truth[num(word / keep)]];
      // The block number counts the cells that are not true; it steps over each true cell on the way.
      let cell = num((word - s * keep) / other);
      for (const true_ of truth) if (true_ <= cell) cell++;
      return [cell];
    },
  };
}

/** Independent bit flips: an empty bit is set by a word below `flip`, a set one is cleared by a word below `clear`. */
export function bitflip([n, d], cells, distance, optimized, width = 64) {
  // One bit is k-RR on two cells. Two answers differ in up to `distance` bits, which share epsilon; where a set bit is
  // cleared half of the time it says nothing, and the empty bits have all of epsilon.
  const flip = otherWeight([n, optimized ? d : d * big(distance)], 2, width);
  const clear = optimized ? 1n << big(width - 1) : flip;
  return {
    bits: 1,
    width,
    thresholds: optimized ? { flip, clear } : { flip },
    randomize(truth, entropy) {
      const set = [];
      const occupied = new Set(truth);
      for (let cell = 0; cell < cells; cell++)
        if (entropy.word() < (occupied.has(cell) ? clear : flip) !== occupied.has(cell)) set.push(cell);
      return set;
    },
  };
}

/** Subset selection: a set of `size` cells, which holds the true one for words below `inside`. */
export function subset(epsilon, cells, size, width = 64) {
  const inside = (1n << big(width)) - otherWeight(epsilon, cells, width, size, cells - size);
  return {
    bits: 1,
    width,
    size,
    thresholds: { inside },
    randomize([truth], entropy) {
      const keep = entropy.word() < inside;
      // A shuffle of the other cells that stops after `size` steps; `moved` holds the places that it has touched. All
      // are drawn, and the last gives way to the true cell, so that the work does not depend on the answer.
      const moved = [];
      const drawn = [];
      for (let step = 0; step < size; step++) {
        const place = step + uniformBelow(entropy, cells - 1 - step);
        const other = moved[place] ?? place;
        moved[place] = moved[step] ?? step;
        drawn.push(other + (other >= truth));
      }
      if (keep) drawn[size - 1] = truth;
      return drawn;
    },
  };
}
