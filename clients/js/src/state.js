/**
 * What a device keeps, in anything that has `getItem` and `setItem`, such as `localStorage`: its secret, and for each survey
 * the cohort, what it has spent at most, and the packed reports that no collector has acknowledged yet. No answer, and nothing
 * that an answer could be read from without the secret.
 *
 * Every change reads the state anew, so tabs that share a storage share one state.
 */

import { hex, spell, utf8 } from "./bytes.js";
import { need } from "./errors.js";
import { sha256 } from "./sha256.js";

const KEY = "deniable-client/1";

/** A storage that is gone with the page. */
export function memory() {
  let kept;
  return { getItem: () => kept, setItem: (key, text) => (kept = text) };
}

// It catches damage, not forgery: whoever can write the storage is the device.
const sealed = (fields) => {
  const text = spell(fields);
  return hex(sha256(utf8(text))) + text;
};

/** The state in `storage`, which must hold this survey; without one, an empty state where there is none yet. */
export function read(storage, digest) {
  const text = storage.getItem(KEY);
  if (!digest && text == null) return { worst: 0, surveys: {} };
  let state;
  try {
    state = JSON.parse(text.slice(64));
  } catch {
    // Nothing of it is shown: the parser's error holds the text, and so the device's secret.
  }
  need(
    state && sealed(state) == text && (!digest || state.surveys[digest]),
    "client state is gone, damaged or foreign; restore it, or clear it and accept that reports add up",
    "StateError",
  );
  return state;
}

/** Keep the state; a report may leave only after this has returned. */
export function write(storage, state) {
  const text = sealed(state);
  try {
    storage.setItem(KEY, text);
  } catch {
    // A full or forbidden storage: what it holds is compared next.
  }
  need(storage.getItem(KEY) == text, "client state must be kept, and the storage did not take it", "StateError");
}
