/**
 * A client for pages and extensions that ask again and again: its state is in `localStorage`, and its secret is a key
 * that no script can read (`key.js`), wherever the platform has such keys. A state that began with a secret of its own
 * goes on with it, because new noise on old answers is worse; so does one that begins where there are no such keys
 * (plain http, a browser that stores none). `keyed` says which.
 *
 *     const client = await browserClient(survey);
 *     await client.queue("firefox");                   a promise, with a key and without
 */

import { argument } from "./arguments.js";
import { Client, check } from "./checked.js";
import { deviceKey } from "./key.js";
import { read } from "./state.js";

/** `localStorage`, or nothing where the page may not have it: browsers throw then. */
function ownStorage() {
  try {
    return globalThis.localStorage;
  } catch {
    return undefined;
  }
}

/**
 * A `Client` of this browser. The options are those of `Client`; `storage` is `localStorage` unless another one is
 * given.
 */
export async function browserClient(survey, options = {}) {
  check(options);
  const { storage = ownStorage(), memoize = true } = options;
  argument(storage, "storage", "be given where a page has no localStorage", storage);
  const { secret } = read(storage);
  // Where the state has the check of a key that is not to be had, the client refuses it.
  const key = options.key ?? (memoize && !secret?.[63] ? await deviceKey().catch(() => undefined) : undefined);
  const client = new Client(survey, { ...options, storage, key });
  const { report, queue } = client;
  return Object.assign(client, {
    keyed: memoize && key !== undefined,
    report: async (value) => report(value),
    queue: async (value) => queue(value),
  });
}
