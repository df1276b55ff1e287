/** A secret that cannot be read: the same bytes as from one that can, and nothing of it in the storage. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { device, hex, rows, scripted, storage, surveys, symbolOf, texts, unhex } from "./vectors.js";
import * as minified from "../deniable.min.js";
import { deviceKey, wordsOf } from "../src/key.js";
import { Client } from "../src/node.js";

const HMAC = { name: "HMAC", hash: "SHA-256" };
const imported = (secret) => crypto.subtle.importKey("raw", unhex(secret), HMAC, false, ["sign"]).then(wordsOf);
const SECRET = "11".repeat(32);

test("the golden permanent reports, from a key", async () => {
  for (const { survey, secret, cohort, symbol, report, words = [] } of rows("permanent")) {
    const key = await imported(secret);
    for (const Made of [Client, minified.Client]) {
      const kept = device(surveys[survey], key.check, cohort);
      const client = new Made(texts[survey], { storage: kept, key, entropy: scripted(words) });
      const sent = client.report(symbolOf(symbol));
      assert.ok(sent instanceof Promise);
      assert.equal(hex((await sent).pack()), report);
      assert.ok(!JSON.stringify([...kept.items]).includes(secret));
    }
  }
});

test("the storage holds a check of the key and no secret, and a report is charged and queued as ever", async () => {
  const kept = storage();
  const key = await imported(SECRET);
  const client = new Client(texts["oue, again"], { storage: kept, key });
  await client.queue(7);
  await client.report(7);
  const { secret, ...state } = JSON.parse(kept.getItem("deniable-client/1").slice(64));
  assert.equal(secret, key.check);
  assert.match(secret, /^[0-9a-f]{16}$/);
  const [entry] = Object.values(state);
  assert.deepEqual([entry.made, Object.keys(entry.outbox).length], [[2, 0], 1]);
  assert.equal(client.status().waiting, 1);
});

test("a key of another device, and a storage of another kind, are refused", async () => {
  const sentence = { name: "StateError", message: "key must be the one of this client state" };
  const [one, two] = [await imported(SECRET), await imported("22".repeat(32))];
  const kept = storage();
  new Client(texts.warner, { storage: kept, key: one });
  assert.throws(() => new Client(texts.warner, { storage: kept, key: two }), sentence);
  assert.throws(() => new Client(texts.warner, { storage: kept }), sentence);
  const plain = storage();
  new Client(texts.warner, { storage: plain });
  assert.throws(() => new Client(texts.warner, { storage: plain, key: one }), sentence);
});

test("a cap refuses before the answer is looked at, also where there is a key", async () => {
  const client = new Client(texts.krr, { key: await imported(SECRET), memoize: true, hardCap: 0.1 });
  await assert.rejects(client.report("kiwi"), { name: "AlphabetError" });
  await client.report(7);
  for (const value of [7, "kiwi", null]) await assert.rejects(client.report(value), { name: "BudgetError" });
  assert.equal(client.status().worst, 0.1);
});

test("where the platform has no keys, that is a sentence", async () => {
  await assert.rejects(deviceKey(), {
    name: "StateError",
    message: "deviceKey must have crypto.subtle and indexedDB, which pages have over https",
  });
});

test("a key that gives too few words makes no report", async () => {
  const short = { check: "0".repeat(16), words: async (label) => (await imported(SECRET)).words(label, -12) };
  const kept = storage();
  const client = new Client(texts["krappor, counted"], { storage: kept, key: short });
  await assert.rejects(client.queue(5), { name: "StateError", message: "key must give words enough; answer again" });
  assert.deepEqual([client.status().waiting, client.status().worst], [0, 0]);
});
