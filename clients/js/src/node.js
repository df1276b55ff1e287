/** The same for Node: version 18 has its generator in a module and not yet under the name that browsers have. */

import { webcrypto } from "node:crypto";

globalThis.crypto ??= webcrypto;

export * from "./index.js";
