/** The golden vectors that this client shares with the Python one, and doubles for its randomness and its storage. */

import { readFileSync } from "node:fs";

import { lookAtState, ours } from "./forensics.js";
import { readSurvey } from "../src/node.js";
import { write } from "../src/state.js";

export const rows = (name) => {
  const found = JSON.parse(readFileSync(new URL(`../../../tests/vectors/${name}.json`, import.meta.url), "utf8"));
  if (!found.length) throw new Error(`${name} is empty`);
  return found;
};

export const texts = Object.fromEntries(rows("surveys").map(({ title, text }) => [title, text]));
export const surveys = Object.fromEntries(Object.entries(texts).map(([title, text]) => [title, readSurvey(text)]));

export const hex = (bytes) => Buffer.from(bytes).toString("hex");
export const unhex = (text) => new Uint8Array(Buffer.from(text, "hex"));

/** A symbol from its JSON form. */
export const symbolOf = (json) =>
  typeof json !== "object" ? json : "bytes" in json ? unhex(json.bytes) : BigInt(json.int);

/** An entropy that plays given words in order; `left` says how many were not used. */
export function scripted(words, width = 64) {
  const script = words.map(BigInt);
  let at = 0;
  return {
    width,
    word() {
      if (at === script.length) throw new RangeError("the script has no word left");
      return script[at++];
    },
    left: () => script.length - at,
  };
}

/** A storage like `localStorage`, with what is in it. */
export function storage() {
  const items = new Map();
  return {
    items,
    getItem: (key) => items.get(key) ?? null,
    setItem(key, text) {
      if (ours()) lookAtState(text, items.get(key));
      items.set(key, String(text));
    },
  };
}

/** The storage of a device that has this secret, and this cohort in this survey. */
export function device(survey, secret, cohort) {
  const kept = storage();
  write(kept, { [survey.digest]: { cohort, made: [0, 0], spent: [0, 0], outbox: {} }, secret });
  return kept;
}
