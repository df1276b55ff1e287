/**
 * From a symbol to a cell, the same on every platform. None of this protects anyone (the seed is public). BigInts: a
 * report needs a few dozen of these steps, and pairs of 32-bit halves would be twice the code.
 */

import { big, ceil, num, word64 } from "./bytes.js";
import { hmac } from "./sha256.js";

const u64 = (x) => big.asUintN(64, x);

/** Word `index` of the SplitMix64 stream that starts at `key`. */
export const stream = (key, index, z = u64(key + (big(index) + 1n) * 0x9e3779b97f4a7c15n)) => {
  z = u64((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
  z = u64((z ^ (z >> 27n)) * 0x94d049bb133111ebn);
  return z ^ (z >> 31n);
};

/** Word `index` of the stream, scaled to [0, size) by multiplication, as a Number. */
export const scaled = (key, index, size) => num((stream(key, index) * big(size)) >> 64n);

/** The first 8 bytes of HMAC-SHA-256(seed, message), little-endian. */
export const fingerprint = (seed, message) => word64(hmac(seed, message), 0);

/** Where the permutation of [0, size) under `key` sends x: a Feistel network on Z_a x Z_b with cycle walking. */
export function permute(key, size, x) {
  const a = ceil(Math.sqrt(size));
  const b = ceil(size / a);
  do {
    let left = (x / b) | 0;
    let right = x % b;
    for (let turn = 0; turn < 10; ) {
      left = (left + scaled(key, turn++ * 2 ** 32 + right, a)) % a;
      right = (right + scaled(key, turn++ * 2 ** 32 + left, b)) % b;
    }
    x = left * b + right;
  } while (x >= size);
  return x;
}
