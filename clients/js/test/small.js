/** Surveys of a few cells with words of a few bits, which no survey file may have: for enumeration. */

import { closed } from "../src/alphabet.js";
import { direct, hadamard, projective, seeded } from "../src/encodings.js";
import { bitflip, krr, subset } from "../src/mechanisms.js";
import { readEpsilon } from "../src/odds.js";

const listed = (size) => closed({ symbols: [...Array(size).keys()] });
const SEED = "000102030405060708090a0b0c0d0e0f";

const whole = (encoding, mechanism, epsilon, symbols) => ({
  name: "",
  digest: "ab".repeat(32),
  epsilon,
  encoding: { cohorts: 1, ...encoding },
  mechanism,
  symbols,
});

export const smallKrr = (size, epsilon, width) =>
  whole(direct({}, listed(size)), krr(readEpsilon(epsilon), size, 1, width), epsilon, size);

export const smallBits = (size, epsilon, width, optimized) =>
  whole(direct({}, listed(size)), bitflip(readEpsilon(epsilon), size, 2, optimized, width), epsilon, size);

export const smallSets = (size, w, epsilon, width) =>
  whole(direct({}, listed(size)), subset(readEpsilon(epsilon), size, w, width), epsilon, size);

export const smallHadamard = (size, blocks, epsilon, width) => {
  const encoding = hadamard({ blocks }, listed(size));
  return whole(encoding, krr(readEpsilon(epsilon), encoding.cells, encoding.hashes, width), epsilon, size);
};

export const smallPlane = (size, order, dimension, epsilon, width) => {
  const encoding = projective({ order, dimension }, listed(size));
  return whole(encoding, krr(readEpsilon(epsilon), encoding.cells, encoding.hashes, width), epsilon, size);
};

export const smallHashed = (cells, cohorts, hashes, epsilon, width) => {
  const encoding = seeded({ kind: "hashed", cells, cohorts, hashes, seed: SEED }, { size: 0 });
  return whole(encoding, channel(cells, hashes, epsilon, width), epsilon, 0);
};

export const smallPermuted = (size, cells, cohorts, hashes, epsilon, width) => {
  const encoding = seeded({ kind: "permuted", cells, cohorts, hashes, seed: SEED }, listed(size));
  return whole(encoding, channel(cells, hashes, epsilon, width), epsilon, size);
};

/** O-RR with one hash; with more, bits that share epsilon. */
const channel = (cells, hashes, epsilon, width) =>
  hashes === 1
    ? krr(readEpsilon(epsilon), cells, 1, width)
    : bitflip(readEpsilon(epsilon), cells, Math.min(2 * hashes, cells), false, width);
