/**
 * The client for pages: a key that cannot be read wherever there are such keys, and otherwise a secret; what began goes
 * on.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import { device, storage, surveys, texts } from "./vectors.js";
import { browserClient } from "../src/browser.js";
import { deviceKey } from "../src/key.js";
import { Client } from "../src/node.js";

const secretOf = (kept) => JSON.parse(kept.getItem("deniable-client/1").slice(64)).secret;

/** As much of IndexedDB as a key needs: requests that succeed later, and a transaction that is complete after them. */
class Databases {
  kept = new Map();
  writes = 0;

  later(work) {
    const request = {};
    setTimeout(() => {
      request.result = work();
      request.onupgradeneeded?.();
      request.onsuccess?.();
    });
    return request;
  }

  open(name) {
    return this.later(() => ({
      createObjectStore: () => {},
      close: () => {},
      transaction: (...given) => this.transaction(name, ...given),
    }));
  }

  transaction(name, store, mode, { durability } = {}) {
    const made = {};
    // What was asked of it in the next turn, too, belongs to it.
    setTimeout(() => setTimeout(() => setTimeout(() => (this.crash ? made.onabort?.() : made.oncomplete?.()))));
    made.objectStore = () => ({
      get: (key) => this.later(() => this.kept.get(`${name} ${store} ${key}`)),
      put: (value, key) => {
        assert.deepEqual([mode, durability], ["readwrite", "strict"]);
        this.writes++;
        if (!this.crash) this.kept.set(`${name} ${store} ${key}`, value);
        return this.later(() => key);
      },
    });
    return made;
  }
}

/** Run in a browser that has these databases. */
async function inBrowser(databases, work) {
  globalThis.indexedDB = databases;
  try {
    return await work();
  } finally {
    delete globalThis.indexedDB;
  }
}

test("a new device has a key that nobody can read, and its state nothing to test a report against", async () => {
  const databases = new Databases();
  await inBrowser(databases, async () => {
    const kept = storage();
    const client = await browserClient(texts["oue, again"], { storage: kept });
    assert.equal(client.keyed, true);
    assert.match(secretOf(kept), /^[0-9a-f]{16}$/);
    const [key] = databases.kept.values();
    assert.deepEqual([key.extractable, key.type, key.algorithm.length, key.usages], [false, "secret", 256, ["sign"]]);
    await assert.rejects(crypto.subtle.exportKey("raw", key), { name: /^InvalidAccess/ });
    assert.equal(key.algorithm.hash.name, "SHA-256");
    await client.queue(7);
    // A device of one key: a second client gives the same permanent bytes, and a second survey shares it.
    const [one, two] = [
      await browserClient(texts.krr, { storage: kept }),
      await browserClient(texts.krr, { storage: kept }),
    ];
    assert.deepEqual((await one.report(7)).pack(), (await two.report(7)).pack());
    assert.equal((await deviceKey()).check, secretOf(kept));
    assert.equal(databases.writes, 1, "a key is made once");
  });
});

test("the check of a key is eight bytes of its own, and no word of an answer", async () => {
  const key = await inBrowser(new Databases(), () => deviceKey());
  assert.match(key.check, /^[0-9a-f]{16}$/);
  const labels = ["", "check", "permanent"].map((text) => new TextEncoder().encode(text));
  for (const label of labels) {
    const words = await key.words(label, 8);
    for (let i = 0; i < 8; i++)
      assert.notEqual(Buffer.from(new BigUint64Array([words.word()]).buffer).toString("hex"), key.check);
  }
});

test("where there are no such keys a secret is kept, and the calls are the same", async () => {
  for (const databases of [
    undefined,
    {
      open: () => {
        throw new Error("private window");
      },
    },
  ]) {
    const kept = storage();
    const client = await inBrowser(databases, () => browserClient(texts.warner, { storage: kept }));
    assert.equal(client.keyed, false);
    assert.match(secretOf(kept), /^[0-9a-f]{64}$/);
    assert.deepEqual((await client.queue("yes")).pack(), (await client.report("yes")).pack());
    await assert.rejects(client.report("maybe"), { name: "AlphabetError" });
    assert.equal(client.status().waiting, 1);
  }
});

test("a state that began with a secret goes on with it, also where there are keys", async () => {
  const secret = "5a".repeat(32);
  const kept = device(surveys.warner, secret, 0);
  const before = new Client(texts.warner, { storage: kept }).report("yes").pack();
  const client = await inBrowser(new Databases(), () => browserClient(texts.warner, { storage: kept }));
  assert.equal(client.keyed, false);
  assert.deepEqual((await client.report("yes")).pack(), before);
  assert.equal(secretOf(kept), secret);
});

test("a state that began with a key is refused where that is gone: new noise on old answers is worse", async () => {
  const kept = storage();
  await inBrowser(new Databases(), () => browserClient(texts.warner, { storage: kept }));
  const sentence = { name: "StateError", message: "key must be the one of this client state" };
  await assert.rejects(browserClient(texts.warner, { storage: kept }), sentence);
  await assert.rejects(
    inBrowser(new Databases(), () => browserClient(texts.warner, { storage: kept })),
    sentence,
  );
});

test("a key that is not durable is not used", async () => {
  const databases = Object.assign(new Databases(), { crash: true });
  await inBrowser(databases, async () => {
    await assert.rejects(deviceKey());
    const client = await browserClient(texts.warner, { storage: storage() });
    assert.equal(client.keyed, false);
  });
});

test("who is asked once needs neither", async () => {
  const kept = storage();
  const databases = new Databases();
  const client = await inBrowser(databases, () => browserClient(texts.warner, { storage: kept, memoize: false }));
  assert.deepEqual([client.keyed, secretOf(kept), databases.kept.size], [false, undefined, 0]);
  assert.ok((await client.report("yes")).pack().length);
});

test("wrong options have sentences", async () => {
  await assert.rejects(browserClient(texts.warner, 7), {
    name: "ArgumentError",
    message: "options must be an object, got 7",
  });
  await assert.rejects(browserClient(texts.warner, { memoise: true }), { name: "ArgumentError" });
  const own = Object.getOwnPropertyDescriptor(globalThis, "localStorage");
  const none = {
    name: "ArgumentError",
    message: "storage must be given where a page has no localStorage, got undefined",
  };
  try {
    for (const get of [
      () => undefined,
      () => {
        throw new Error("SecurityError");
      },
    ]) {
      Object.defineProperty(globalThis, "localStorage", { configurable: true, get });
      await assert.rejects(browserClient(texts.warner), none);
    }
    const kept = storage();
    Object.defineProperty(globalThis, "localStorage", { configurable: true, get: () => kept });
    await browserClient(texts.warner);
    assert.match(secretOf(kept), /^[0-9a-f]{64}$/);
  } finally {
    Object.defineProperty(globalThis, "localStorage", own);
  }
});
