/**
 * The randomisers. Each takes the cells of one answer and an entropy, and gives the cells that the report names: cells
 * in, cells out, so that `refresh`, the second stage of surveys that have one, follows `randomize`. Thresholds are
 * BigInts over `span`, 2**width; those of no channel at all are left out, and then no survey states them. All makers
 * take the same arguments: the two epsilons (the second may be missing), 2**width, and what surveys may say.
 *
 * Claim: for every mechanism the law of the cells is the channel that the survey states, and no two answers differ in
 *     it by more than e**epsilon, nor in one report by more than e**epsilon_report.
 * Proof: test/law.test.js, which plays every word to this code; test/mutants.test.js has what it must catch.
 */

import { big, min, num, upTo } from "./bytes.js";
import { uniformBelow } from "./noise.js";
import { leastWeight } from "./odds.js";

/** One cell: `keep` words name each of the given cells, `other` each of the others. */
const name =
  (keep, other) =>
  (given, entropy, word = entropy.word(), inside = big(given.length) * keep) => [
    word < inside
      ? given[num(word / keep)]
      : // The block number counts the cells that were not given; it steps over each of those on the way.
        given.reduce((cell, one) => cell + (one <= cell), num((word - inside) / other)),
  ];

/** A bit for each cell: an empty one is set by a word below `set`, a full one is cleared by a word below `clear`. */
const flips =
  (cells, set, clear) =>
  (given, entropy, full = new Set(given)) =>
    upTo(cells).filter((cell) => entropy.word() < (full.has(cell) ? clear : set) !== full.has(cell));

/** `size` of the cells below `count`: a shuffle that stops after so many steps. */
const draw = (entropy, count, size, cells = upTo(count)) =>
  upTo(size).map((step) => {
    const place = step + uniformBelow(entropy, count - step);
    const cell = cells[place];
    cells[place] = cells[step];
    return cell;
  });

/** k-ary randomised response: of 2**width words, `keep` name each true cell and `other` each of the others. */
export function krr(epsilon, report, span, cells, occupied) {
  const b = big(cells);
  const s = big(occupied);
  const rest = b - s;
  let other = leastWeight(epsilon, span, b, s);
  // s A + (b - s) B = 2**width: the first B from the least one on that leaves a whole A.
  for (let i = s; i && (span - rest * other) % s; i--) other++;
  const keep = (span - rest * other) / s;
  const again = report && leastWeight(report, span, b, span, keep, other);
  const kept = report && span - (b - 1n) * again;
  return {
    // Where words are too coarse for so many cells there is no such channel.
    thresholds:
      keep < other || s * keep + rest * other !== span ? {} : { keep, other, report_keep: kept, report_other: again },
    randomize: name(keep, other),
    refresh: report && name(kept, again),
  };
}

/** Independent bit flips: an empty bit is set by a word below `flip`, a set one is cleared by a word below `clear`. */
export function bitflip(epsilon, report, span, cells, hashes, _size, optimized) {
  // One bit is k-RR on two cells. Two answers differ in up to twice `hashes` bits, which share epsilon; where a set bit
  // is cleared half of the time it says nothing, and the empty bits have all of epsilon.
  const shares = big(optimized ? 1 : min(2 * hashes, cells));
  const weight = ([n, d], ...rest) => leastWeight([n, d * shares], span, 2n, ...rest);
  const flip = weight(epsilon, 1n);
  const clear = optimized ? span / 2n : undefined;
  const again = report && weight(report, span, span - flip, flip);
  return {
    bits: 1,
    thresholds: { flip, clear, report_flip: again },
    randomize: flips(cells, flip, clear ?? flip),
    refresh: report && flips(cells, again, again),
  };
}

/** Subset selection: a set of `size` cells, which holds the true one for words below `inside`. */
export function subset(epsilon, report, span, cells, _hashes, size) {
  const k = big(cells);
  const w = big(size);
  const rest = k - w;
  const outside = leastWeight(epsilon, rest * span, k, w);
  const inside = span - outside;
  const again = report && leastWeight(report, k * span, k, span * w * rest, inside * rest, outside * w);
  const kept = report && span - again;
  return {
    bits: 1,
    size,
    thresholds: { inside, report_keep: kept },
    // All are drawn, and the last gives way to the true cell, so that the work does not depend on the answer.
    randomize: ([truth], entropy, holds = entropy.word() < inside, others = draw(entropy, cells - 1, size)) => {
      others = others.map((cell) => cell + (cell >= truth));
      if (holds) others[size - 1] = truth;
      return others;
    },
    // A set of all cells is drawn, whether or not it takes the place of the given one.
    refresh:
      report &&
      ((given, entropy, stays = entropy.word() < kept, others = draw(entropy, cells, size)) =>
        stays ? given : others),
  };
}
