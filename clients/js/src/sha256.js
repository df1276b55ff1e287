/**
 * SHA-256 and HMAC-SHA-256 (FIPS 180-4, RFC 2104). Our own, because `crypto.subtle` is missing on pages without TLS and
 * asynchronous everywhere. Checked against Node's in `test/hashing.test.js`.
 */

import { Bytes, isPrime, join, upTo } from "./bytes.js";

// The first 32 bits of the fractions of roots of the first 64 primes: no table to mistype. Of the 53 bits of a root at
// most 3 are before the point, and none of these fractions is within 2**-8 of an integer, so a platform's last bits do
// not matter.
const fractions = (power) =>
  upTo(312)
    .filter(isPrime)
    .map((p) => (p ** power * 2 ** 32) | 0);
const rounds = fractions(1 / 3);
const start = fractions(0.5).slice(0, 8);

const turn = (x, n) => (x >>> n) | (x << (32 - n));

export function sha256(message) {
  const { length } = message;
  const size = (length + 72) & ~63;
  const padded = new Bytes(size);
  const view = new DataView(padded.buffer);
  padded.set(message);
  padded[length] = 128;
  // The length in bits has 64 of them, and no message here is longer than 32 can say.
  view.setUint32(size - 4, length * 8);
  let state = start;
  const w = [];
  for (let at = 0; at < size; at += 64) {
    let [a, b, c, d, e, f, g, h] = state;
    for (let i = 0; i < 64; i++) {
      const x = w[i - 15];
      const y = w[i - 2];
      w[i] =
        i < 16
          ? view.getInt32(at + 4 * i)
          : (w[i - 16] + (turn(x, 7) ^ turn(x, 18) ^ (x >>> 3)) + w[i - 7] + (turn(y, 17) ^ turn(y, 19) ^ (y >>> 10))) |
            0;
      const first = h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + rounds[i] + w[i];
      const second = first + (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & (b ^ c)) ^ (b & c));
      // Plain assignments: a pattern of eight would make an array in each round.
      h = g;
      g = f;
      f = e;
      e = (d + first) | 0;
      d = c;
      c = b;
      b = a;
      a = second | 0;
    }
    const next = [a, b, c, d, e, f, g, h];
    state = state.map((x, i) => (x + next[i]) | 0);
  }
  state.map((x, i) => view.setInt32(4 * i, x));
  return padded.slice(0, 32);
}

/** For keys of at most 64 bytes, which all of ours are. */
export const hmac = (key, message, pad = (byte) => new Bytes(64).map((_, i) => key[i] ^ byte)) =>
  sha256(join(pad(0x5c), sha256(join(pad(0x36), message))));
