/** The respondent's side of deniable: answers are randomised before they leave the device. */

/** Text (read as the survey says: folded, so that case and blanks around words make no difference, or exact), an exact integer, or bytes. */
export type Answer = string | number | bigint | Uint8Array;

/** A survey that has been read and checked; what is in `encoding` and `mechanism` is for the client alone. */
export interface Survey {
  readonly name: string;
  /** SHA-256 of the canonical text, in hexadecimal. */
  readonly digest: string;
  /** The epsilon that all memoised reports of an answer spend together at most, as the survey spells it. */
  readonly epsilon: string;
  /** What one report spends at most: the same, unless the survey has a second stage. */
  readonly epsilonReport: string;
  /** How many symbols a closed alphabet has; 0 for an open one. */
  readonly symbols: number;
  readonly encoding: object;
  readonly mechanism: object;
}

/** The survey in JSON text, or in the object that such a text holds; throws a `SurveyError`. */
export function readSurvey(source: string | object): Survey;

/** One privatised answer: the only thing that may leave a device. */
export interface Report {
  readonly cohort: number;
  readonly payload: Uint8Array;
  /** The bytes that leave the device; their number depends on the survey alone. */
  pack(): Uint8Array;
}

/** What a collector said. */
export interface Delivery {
  accepted: number;
  duplicate: number;
  refused: { index: number; id: string; reason: string }[];
  /** How many reports are still in the outbox. */
  pending: number;
}

export interface Status {
  /** Drawn once, before any answer; it travels in the clear with every report. */
  cohort: number;
  /** How many reports wait for a collector's acknowledgement. */
  pending: number;
  /** The epsilon that this survey has spent if its answer stayed the same, and at most, however often it changed. */
  spent: number;
  worst: number;
  /** The same for all surveys in this storage: `totalSpent` if answers stayed the same, `total` at most. */
  totalSpent: number;
  total: number;
}

export interface Options {
  /** Where cohort, secret, ledger and outbox are kept, such as `localStorage`; in memory if it is not given. */
  storage?: { getItem(key: string): string | null | undefined; setItem(key: string, value: string): unknown };
  /** Whether the same answer gives the same bytes; true unless said otherwise. */
  memoize?: boolean;
  /** The epsilon that all surveys in this storage may spend together, if answers stay the same; no limit by default. */
  cap?: number;
  /** The same, however often answers change. */
  hardCap?: number;
  /** The collector, without a slash at its end. Without it reports stay in the outbox. */
  url?: string;
  /** Sent as `Authorization: Bearer`. */
  token?: string;
  /** Keep reports in the outbox; may be changed later, as a property of the client. */
  offline?: boolean;
  /** How many reports one upload holds at most: 100. */
  batch?: number;
  /** How many failures in a row end a flush: 5. */
  attempts?: number;
  /** Milliseconds that the first pause takes about; it doubles with every failure: 1000. */
  pause?: number;
  /** For tests, and for platforms with their own randomness: fresh, uniform words of `width` bits. */
  entropy?: { width: number; word(): bigint };
  fetch?: typeof globalThis.fetch;
}

/** One respondent of one survey. */
export class Client {
  constructor(survey: Survey | string | object, options?: Options);
  readonly survey: Survey;
  offline: boolean | undefined;
  /** Randomise one answer, and charge the ledger. Nothing is sent. */
  report(value: Answer): Report;
  /** Randomise one answer, put it into the outbox, and deliver what is there. */
  send(value: Answer): Promise<Delivery>;
  /** Deliver the outbox; throws a `DeliveryError`, and keeps the outbox, if no collector takes it. */
  flush(): Promise<Delivery>;
  status(): Status;
  toString(): string;
}

/** Every error that this package raises on purpose; `name` says of which kind. No message ever holds an answer. */
export class DeniableError extends Error {
  name: "SurveyError" | "AlphabetError" | "StateError" | "BudgetError" | "DeliveryError" | "WireError";
}
