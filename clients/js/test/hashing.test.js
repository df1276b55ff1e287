/** SHA-256 and HMAC against Node's own, and SplitMix64 against numbers of its authors. */

import assert from "node:assert/strict";
import { createHash, createHmac, randomBytes } from "node:crypto";
import { test } from "node:test";

import { stream } from "../src/hashing.js";
import { derivedEntropy, osEntropy, uniformBelow } from "../src/noise.js";
import { hmac, sha256 } from "../src/sha256.js";
import { hex, scripted } from "./vectors.js";

test("SHA-256 is Node's, at every length around a block and at long ones", () => {
  for (const length of [...Array(200).keys(), 1000, 4095, 4096, 100_000]) {
    const message = new Uint8Array(randomBytes(length));
    assert.equal(hex(sha256(message)), createHash("sha256").update(message).digest("hex"), String(length));
  }
});

test("HMAC-SHA-256 is Node's, for keys up to a block", () => {
  for (const length of [0, 8, 16, 32, 63, 64]) {
    const key = new Uint8Array(randomBytes(length));
    for (const size of [0, 1, 63, 64, 65, 300]) {
      const message = new Uint8Array(randomBytes(size));
      assert.equal(hex(hmac(key, message)), createHmac("sha256", key).update(message).digest("hex"));
    }
  }
});

test("SplitMix64 gives the numbers of its reference implementation", () => {
  // Seed 1234567, from the published C code.
  const expected = [6457827717110365317n, 3203168211198807973n, 9817491932198370423n, 4593380528125082431n];
  assert.deepEqual(
    [0, 1, 2, 3].map((index) => stream(1234567n, index)),
    expected,
  );
});

test("an integer below a bound is uniform: every word of 8 bits, for every bound", () => {
  for (let bound = 1; bound <= 256; bound++) {
    const seen = new Map();
    for (let word = 0; word < 256; word++) {
      const entropy = scripted([word, 0], 8);
      const found = uniformBelow(entropy, bound);
      // A word that was drawn again has used the second one.
      if (entropy.left()) seen.set(found, (seen.get(found) ?? 0) + 1);
    }
    assert.equal(seen.size, bound);
    assert.deepEqual(new Set(seen.values()), new Set([Math.floor(256 / bound)]));
  }
});

test("at 64 bits the words past the last whole multiple are drawn again, and no others", () => {
  for (const bound of [3, 5, 6, 7, 300, 65535]) {
    const limit = 2n ** 64n - (2n ** 64n % BigInt(bound));
    assert.equal(uniformBelow(scripted([limit - 1n]), bound), bound - 1);
    for (const refused of [limit, 2n ** 64n - 1n]) assert.equal(uniformBelow(scripted([refused, 1n]), bound), 1);
  }
});

test("platform words differ, fill 64 bits, and are not kept", () => {
  const words = Array.from({ length: 64 }, () => osEntropy.word());
  assert.equal(new Set(words).size, 64);
  // Each bit is set in some word and clear in another: missing one has probability 128 * 2**-64.
  assert.equal(
    words.reduce((all, word) => all | word, 0n),
    2n ** 64n - 1n,
  );
  assert.equal(
    words.reduce((all, word) => all & word, 2n ** 64n - 1n),
    0n,
  );
});

test("permanent words depend on the secret and the label, and on nothing else", () => {
  const play = (secret, label) => {
    const entropy = derivedEntropy(new Uint8Array(32).fill(secret), new TextEncoder().encode(label));
    return Array.from({ length: 9 }, () => entropy.word());
  };
  assert.deepEqual(play(1, "a"), play(1, "a"));
  assert.equal(new Set([...play(1, "a"), ...play(1, "b"), ...play(2, "a"), ...play(1, "ab")]).size, 36);
});
