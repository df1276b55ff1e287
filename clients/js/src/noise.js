/**
 * The only place that draws randomness for privacy. A mechanism asks an entropy for words of `width` bits, as BigInts,
 * and for nothing else. Nothing is seeded or buffered, and `Math.random` is used nowhere, not even to space retries.
 */

import { Bytes, big, join, little, num, unhex, utf8, word64 } from "./bytes.js";
import { hmac } from "./sha256.js";

/** `count` bytes from the platform's own generator. */
export const randomBytes = (count) => crypto.getRandomValues(new Bytes(count));

/** Fresh words. */
export const osEntropy = { width: 64, word: () => word64(randomBytes(8), 0) };

/** An integer uniform on [0, bound), a Number: words past the last whole multiple of `bound` are drawn again. */
export const uniformBelow = (entropy, bound, word = entropy.word(), span = 1n << big(entropy.width)) =>
  word < span - (span % big(bound)) ? num(word % big(bound)) : uniformBelow(entropy, bound);

/** Permanent words: HMAC-SHA-256(secret, length of label, label, block number), four little-endian words a block. */
export const derivedEntropy = (secret, label, count = 0, block) => ({
  width: 64,
  word() {
    const place = count++ % 4;
    if (!place) block = hmac(secret, join(little(label.length, 8), label, little(count >> 2, 8)));
    return word64(block, 8 * place);
  },
});

/** What permanent words are derived for: what they are, the digest that they belong to, and numbers of four bytes. */
export const labelOf = (what, digest, ...numbers) =>
  join(utf8(what), unhex(digest), ...numbers.map((number) => little(number, 4)));
