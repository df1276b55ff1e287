/** The same for Node: version 18 has its generator in a module and not yet under the name that browsers have. */

import { webcrypto } from "node:crypto";
import { inspect } from "node:util";

import { Client } from "./index.js";

globalThis.crypto ??= webcrypto;

/** What `console.log` shows. */
Client.prototype[inspect.custom] = function () {
  return String(this);
};

export * from "./index.js";
