/**
 * A device's secret as a key of the platform that can be used and not read (WebCrypto, HMAC, not extractable), kept in
 * IndexedDB. A copy of the storage, a backup of its text or a script that sends it away hold nothing that a sent report
 * could be tested against. Whoever can run scripts on the page can still use the key, and a browser may keep its bytes
 * in the files of its profile.
 *
 *     const client = new Client(survey, { storage: localStorage, key: await deviceKey() });
 *     await client.queue("firefox");
 */

import { Bytes, big, hex, join, little, word64 } from "./bytes.js";
import { need } from "./errors.js";

const NAME = "deniable-client/1";
const HMAC = { name: "HMAC", hash: "SHA-256" };

const done = (request) =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

/** The key of this browser, made at the first call. Rejects with a `StateError` where the platform has none. */
export async function deviceKey() {
  need(
    globalThis.crypto?.subtle && globalThis.indexedDB,
    "deviceKey must have crypto.subtle and indexedDB, which pages have over https",
    "State",
  );
  const opening = indexedDB.open(NAME);
  opening.onupgradeneeded = () => opening.result.createObjectStore("keys");
  const database = await done(opening);
  try {
    const made = await crypto.subtle.generateKey({ ...HMAC, length: 256 }, false, ["sign"]);
    // One transaction, so that two tabs that begin at once end up with one key.
    const transaction = database.transaction("keys", "readwrite", { durability: "strict" });
    const durable = new Promise((resolve, reject) => {
      transaction.oncomplete = resolve;
      transaction.onabort = () => reject(transaction.error);
    });
    const store = transaction.objectStore("keys");
    const kept = await done(store.get("device"));
    if (!kept) store.put(made, "device");
    // A report that was made with a key that a crash took away could never be made again.
    await durable;
    return await wordsOf(kept ?? made);
  } finally {
    database.close();
  }
}

/** What a client takes as `key`, from a CryptoKey for HMAC-SHA-256; docs/reference/protocol.md, section 7. */
export async function wordsOf(key) {
  const sign = async (...parts) => new Bytes(await crypto.subtle.sign("HMAC", key, join(...parts)));
  const check = hex(await sign(new TextEncoder().encode("check"))).slice(0, 16);
  return {
    check,
    /** Words for `label`: `count` of them, and some more for those that are drawn again. */
    async words(label, count) {
      const head = join(little(label.length, 8), label);
      const blocks = await Promise.all(
        Array.from({ length: (count >> 2) + 4 }, (_, block) => sign(head, little(big(block), 8))),
      );
      let at = 0;
      return {
        width: 64,
        word() {
          // Ten words in a row at or past a multiple of the bound: once in 2**400 reports.
          need(at < 4 * blocks.length, "key must give words enough; answer again", "State");
          return word64(blocks[at >> 2], 8 * (at++ & 3));
        },
      };
    },
  };
}
