/**
 * What a device keeps, in anything that has `getItem` and `setItem`, such as `localStorage`: its secret, and by the
 * digest of each survey the cohort, how many reports it made and what they spent, and the packed reports that no
 * collector has acknowledged yet, in the order of their random ids, with the day that they were made on; for a survey
 * that is answered once a window, the number of the last one, and the device's turn where only a share of them answers
 * in each. No answer, no other time, and nothing that an answer could be read from without the secret.
 *
 * Every change reads the state anew, so tabs that share a storage share one state.
 */

import { canonical, hex, parse, utf8 } from "./bytes.js";
import { need } from "./errors.js";
import { sha256 } from "./sha256.js";

const KEY = "deniable-client/1";

/** A storage that is gone with the page. */
export function memory() {
  let kept;
  return {
    getItem: () => kept,
    setItem(_key, text) {
      kept = text;
    },
  };
}

// It catches damage, not forgery: whoever can write the storage is the device.
const sealed = (fields) => {
  const text = canonical(fields);
  return hex(sha256(utf8(text))) + text;
};

/**
 * The state in `storage`, which must hold this survey, and the secret that it had, if any; or, to start with, an empty
 * one where there is none yet.
 */
export function read(storage, digest, secret) {
  const text = storage.getItem(KEY);
  if (!digest && text == null) return {};
  let state;
  try {
    state = parse(text.slice(64));
  } catch {
    // Nothing of it is shown: the parser's error holds the text, and so the device's secret.
  }
  need(
    state && sealed(state) === text && (!digest || (state[digest] && (!secret || state.secret === secret))),
    "client state must be whole and its own; restore it, or clear it and let reports add up",
    "State",
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
  need(storage.getItem(KEY) === text, "storage must keep the client state", "State");
}
