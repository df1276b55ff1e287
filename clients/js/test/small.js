/** Surveys of a few cells with words of a few bits, which no survey file may have: for enumeration. */

import { closed, open } from "../src/alphabet.js";
import { upTo } from "../src/bytes.js";
import { direct, hadamard, neighbours, prefixes, projective, seeded } from "../src/encodings.js";
import { number } from "../src/numbers.js";
import { bitflip, krr, subset } from "../src/mechanisms.js";
import { readEpsilon } from "../src/odds.js";
import { blocks, budgets, full, sensitive } from "../src/tables.js";

const SEED = "000102030405060708090a0b0c0d0e0f";

/** The randomiser alone; `epsilon` is one epsilon, or a list of those of the lifetime and of one report. */
export function stages(make, epsilon, width, ...rest) {
  const [whole, one] = [epsilon].flat();
  return { width, ...make(readEpsilon(whole), one && readEpsilon(one), 2n ** BigInt(width), ...rest) };
}

const whole = (encoding, mechanism, epsilon, symbols) => ({
  name: "",
  digest: "ab".repeat(32),
  epsilon: [epsilon].flat()[0],
  epsilonReport: [epsilon].flat().at(-1),
  encoding: { cohorts: 1, ...encoding },
  mechanism,
  symbols,
});

/** The maker of an encoding on a closed alphabet of so many symbols. */
const listed = (maker, size, fields = {}) => maker(fields, size, closed({ symbols: upTo(size) }).find);

export const smallKrr = (size, epsilon, width) =>
  whole(listed(direct, size), stages(krr, epsilon, width, size, 1), epsilon, size);

export const smallBits = (size, epsilon, width, optimized) =>
  whole(listed(direct, size), stages(bitflip, epsilon, width, size, 1, 0, optimized), epsilon, size);

export const smallSets = (size, w, epsilon, width) =>
  whole(listed(direct, size), stages(subset, epsilon, width, size, 1, w), epsilon, size);

const smallDesign = (encoding, epsilon, width, size) =>
  whole(encoding, stages(krr, epsilon, width, encoding.cells, encoding.hashes), epsilon, size);

export const smallHadamard = (size, blocks, epsilon, width) =>
  smallDesign(listed(hadamard, size, { blocks }), epsilon, width, size);

export const smallPlane = (size, order, dimension, epsilon, width) =>
  smallDesign(listed(projective, size, { order, dimension }), epsilon, width, size);

/** A table of weights; `promised(x, other)` is the epsilon of one answer against another, if there is one. */
const smallTable = (make, size, epsilon, width, fields, promised) => ({
  ...whole(
    listed(direct, size),
    { width, ...make(readEpsilon(epsilon), 2n ** BigInt(width), size, fields) },
    epsilon,
    size,
  ),
  promised,
});

export const smallSensitive = (size, hidden, epsilon, width, space = {}) =>
  smallTable(sensitive, size, epsilon, width, { sensitive: hidden, ...space }, (x) =>
    hidden.includes(x) ? epsilon : undefined,
  );

export const smallBlocks = (groups, epsilon, width) =>
  smallTable(blocks, groups.length, epsilon, width, { groups }, (x, other) =>
    groups[x] === groups[other] ? epsilon : undefined,
  );

export const smallBudgets = (groups, each, raised, weights, epsilon, width) =>
  smallTable(budgets, groups.length, epsilon, width, { groups, budgets: each, raised, weights }, (x, other) =>
    Number(each[groups[x]]) < Number(each[groups[other]]) ? each[groups[x]] : each[groups[other]],
  );

export const smallFull = (rows, epsilon, width) =>
  smallTable(full, rows.length, epsilon, width, { rows }, () => epsilon);

/** Numbers from 0 to `size`, one bin each; numbers outside go to the ends. */
export const smallNumbers = (size, reach, epsilon, width) =>
  smallDesign(
    neighbours({ reach }, size, number({ low: "0", high: `${size}`, bins: size }).find),
    epsilon,
    width,
    size,
  );

/** With exact text, or with `text` "folded". */
export const smallHashed = (cells, cohorts, hashes, epsilon, width, text) => {
  const encoding = seeded({ kind: "hashed", cells, cohorts, hashes, seed: SEED }, 0, open({ text }).find);
  return whole(encoding, channel(cells, hashes, epsilon, width), epsilon, 0);
};

export const smallPermuted = (size, cells, cohorts, hashes, epsilon, width) => {
  const encoding = listed(seeded, size, { kind: "permuted", cells, cohorts, hashes, seed: SEED });
  return whole(encoding, channel(cells, hashes, epsilon, width), epsilon, size);
};

export const smallPrefixes = (cells, levels, epsilon, width) => {
  const encoding = prefixes({ cells, levels, overlong: "cut", seed: SEED }, 0, open({ text: "folded" }).find);
  return whole(encoding, channel(cells, 1, epsilon, width), epsilon, 0);
};

/** O-RR with one hash; with more, bits that share epsilon. */
const channel = (cells, hashes, epsilon, width) => stages(hashes === 1 ? krr : bitflip, epsilon, width, cells, hashes);
