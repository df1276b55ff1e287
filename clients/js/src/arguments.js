/** What is said of a wrong argument: its name, the rule, and as much of it as fits on a line. */

import { Obj, spell } from "./bytes.js";
import { need } from "./errors.js";

/** A wrong argument, or as much of it as tells what it is. Never for an answer. */
export function shown(value) {
  try {
    return String(value?.constructor === Obj || Array.isArray(value) ? spell(value) : value).slice(0, 60);
  } catch {
    // What cannot be text.
    return typeof value;
  }
}

/** Refuse an argument with a sentence unless `ok`. */
export function argument(ok, name, rule, value) {
  // A token is a secret, however wrong it is.
  need(ok, `${name} must ${rule}${name === "token" ? "" : `, got ${shown(value)}`}`, "Argument");
}
