/**
 * SHA-256 and HMAC-SHA-256 (FIPS 180-4, RFC 2104). Our own, because `crypto.subtle` is missing on pages without TLS and
 * asynchronous everywhere. Checked against Node's in `test/hashing.test.js`.
 */

import { big, Bytes, join, num } from "./bytes.js";

/** The first 32 bits of the fraction of a prime's square or cube root, by exact integers: no table to mistype. */
function rootBits(prime, degree) {
  let root = 0n;
  for (let bit = 1n << 34n; bit; bit >>= 1n) if ((root | bit) ** degree <= big(prime) << (32n * degree)) root |= bit;
  return num(big.asIntN(32, root));
}

const primes = [];
for (let n = 2; primes.length < 64; n++) if (primes.every((p) => n % p)) primes.push(n);
const rounds = primes.map((p) => rootBits(p, 3n));
const start = primes.slice(0, 8).map((p) => rootBits(p, 2n));

const turn = (x, n) => (x >>> n) | (x << (32 - n));

export function sha256(message) {
  const { length } = message;
  const size = (length + 72) & ~63;
  const padded = new Bytes(size);
  const view = new DataView(padded.buffer);
  padded.set(message);
  padded[length] = 128;
  view.setBigUint64(size - 8, big(length) * 8n);
  let state = start;
  const w = [];
  for (let at = 0; at < size; at += 64) {
    let [a, b, c, d, e, f, g, h] = state;
    for (let i = 0; i < 64; i++) {
      // The last sixteen words of the schedule, in a ring.
      const x = w[(i + 1) & 15];
      const y = w[(i + 14) & 15];
      w[i & 15] =
        i < 16
          ? view.getInt32(at + 4 * i)
          : (w[i & 15] + (turn(x, 7) ^ turn(x, 18) ^ (x >>> 3)) + w[(i + 9) & 15] + (turn(y, 17) ^ turn(y, 19) ^ (y >>> 10))) | 0;
      const first = h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + rounds[i] + w[i & 15];
      const second = first + (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
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
  return Bytes.from(state.flatMap((x) => [x >>> 24, x >>> 16, x >>> 8, x]));
}

/** For keys of at most 64 bytes, which all of ours are. */
export function hmac(key, message) {
  const pad = (byte) => new Bytes(64).map((_, i) => key[i] ^ byte);
  return sha256(join(pad(0x5c), sha256(join(pad(0x36), message))));
}
