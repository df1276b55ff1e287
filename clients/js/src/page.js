/** What a page has as one minified file: the client, and what `form.js`, which is fetched for forms alone, shares with it. */

export { RULE } from "./alphabet.js";
export { responsesOf } from "./client.js";
export { need } from "./errors.js";
export * from "./index.js";
export { labelOf, uniformBelow } from "./noise.js";
export { readEpsilon, readTotal } from "./odds.js";
export { reportOf } from "./report.js";
export { sha256 } from "./sha256.js";
export { ALPHABETS, reader, remake } from "./survey.js";
