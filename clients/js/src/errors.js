/**
 * What can go wrong: one class, and a `name` that says what kind of problem it is. Messages read
 * `<name> must <rule>, got <value>; <next step>`, and none of them ever holds an answer.
 *
 *     SurveyError        a survey that is malformed, out of range, or not what it claims to be
 *     ArgumentError      an argument of another kind than it must be of; named, and shown unless it is a secret
 *     AlphabetError      a value that this survey cannot encode (never shows the value)
 *     StateError         a state that is lost, foreign or damaged, or that the storage does not keep
 *     BudgetError        a report that would spend more than a cap
 *     ParticipationError a second report in a window of a survey that takes one, or a clock that went back
 *     DeliveryError      a collector that cannot be reached or refuses; the reports stay in the outbox
 *     WireError          bytes that are no report of this survey (only `unpack` raises it)
 */

import { Obj } from "./bytes.js";

export class DeniableError extends Error {}

/** Refuse with a sentence unless `ok`. */
export function need(ok, message = "", kind = "Survey") {
  if (!ok) throw Obj.assign(new DeniableError(message.slice(0, 240)), { name: `${kind}Error` });
}
