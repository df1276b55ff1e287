/** The respondent's side of deniable: answers are randomised before they leave the device. */

import type { Answers, Form, FormReport } from "./form.js";
import type { DeviceKey } from "./key.js";

/**
 * Text (read as the survey says: folded, so that case and blanks around words make no difference, or exact), an exact
 * integer, or bytes. To a survey of numbers: any finite number, or the name of a bin.
 */
export type Answer = string | number | bigint | Uint8Array;

/** What a client is given, and gives: of a form, answers by the names of its questions. */
export type AnswerTo<Asked> = Asked extends Form ? Answers : Answer;
export type ReportOf<Asked> = Asked extends Form ? FormReport : Report;

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
  /** What the bins of a survey of numbers are called; nothing for other surveys. */
  readonly names?: readonly string[];
  /** The window in which a device reports once; nothing where there is none. */
  readonly window?: "hour" | "day" | "week";
  /** How many windows there are to one turn of a device: 1, unless a share of the devices reports in each. */
  readonly every: number;
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

/** A report that no collector will ever take: it has left the outbox. */
export interface Refusal {
  id: string;
  /** `closed`, `unknown-survey`, or what the collector said of the report. */
  reason: string;
}

/** What became of the outbox. */
export interface Delivery {
  /** How many reports were counted now, and how many had been counted before. */
  accepted: number;
  duplicate: number;
  refused: Refusal[];
  /** How many reports are still in the outbox. */
  waiting: number;
  /** Why some wait, or why all were refused. */
  problem?: string;
  /** If some wait, after how many seconds to send again. */
  retryAfter?: number;
}

export interface Status {
  /**
   * Drawn once, before any answer; it travels in the clear with every report. Of a form it is the number of all that
   * was drawn, in decimal digits.
   */
  cohort: number | string;
  /** How many reports are in the outbox. */
  waiting: number;
  /** How many reports left the outbox without being counted: `closed`, `unknown-survey`, or `refused` one by one. */
  refused: { [why: string]: number };
  /** The epsilon that this survey has spent if its answer stayed the same, and at most, however often it changed. */
  spent: number;
  worst: number;
  /** The same for all surveys in this storage. */
  totalSpent: number;
  totalWorst: number;
}

/** Where a device's state is kept, such as `localStorage` or `fileStorage` of `deniable-client/file`. */
export interface Storage {
  getItem(key: string): string | null | undefined;
  setItem(key: string, value: string): unknown;
  /** Runs `work` while no other process does, if the storage can see to that. */
  locked?<R>(work: () => R): R;
}

export interface Options {
  /** Where cohort, secret, ledger and outbox are kept; in memory if it is not given. */
  storage?: Storage;
  /** Whether the same answer gives the same bytes; true unless said otherwise. */
  memoize?: boolean;
  /**
   * A secret that no script can read: `await deviceKey()` of `deniable-client/key`. Then `report` and `queue` return
   * promises.
   */
  key?: DeviceKey;
  /** The epsilon that all surveys in this storage may spend together, if answers stay the same; no limit by default. */
  cap?: number;
  /** The same, however often answers change. */
  hardCap?: number;
  /** For tests, and for platforms with their own randomness: fresh, uniform words of `width` bits. */
  entropy?: { width: number; word(): bigint };
}

export interface SendOptions {
  /** An upload token, sent as `Authorization: Bearer`. */
  token?: string;
  /** How many reports one upload holds at most: 500. */
  batch?: number;
  /** After how many seconds without an answer this device counts as offline: 10. */
  timeout?: number;
}

/** One respondent of one survey, or of a form. */
export class Client<
  Key extends DeviceKey | undefined = undefined,
  Asked extends Survey | Form | string | object = Survey,
> {
  constructor(survey: Asked, options?: Options & { key?: Key });
  readonly survey: Asked extends Form ? Form : Survey;
  /** The names of the questions that this device answers, of a form: ask no others. */
  readonly questions: Asked extends Form ? readonly string[] : undefined;
  /** Randomise one answer, or those to a form, and charge the ledger. Nothing is sent. A promise if there is a key. */
  report(value: AnswerTo<Asked>): Key extends DeviceKey ? Promise<ReportOf<Asked>> : ReportOf<Asked>;
  /** The same, and put it into the outbox, where it waits for `send`; no network is needed. */
  queue(value: AnswerTo<Asked>): Key extends DeviceKey ? Promise<ReportOf<Asked>> : ReportOf<Asked>;
  /**
   * Deliver the outbox to the collector at `url`, a batch after the other. Without an answer, or with one that says
   * later, it returns at once; what a survey that is closed, or has been unknown for 30 days, refused for good is
   * dropped; any other answer rejects with a `DeliveryError`, and the outbox stays.
   */
  send(url: string, options?: SendOptions): Promise<Delivery>;
  status(): Status;
  toString(): string;
}

/** Every error that this package raises on purpose; `name` says of which kind. No message ever holds an answer. */
export class DeniableError extends Error {
  name:
    | "SurveyError"
    | "ArgumentError"
    | "AlphabetError"
    | "StateError"
    | "BudgetError"
    | "ParticipationError"
    | "DeliveryError"
    | "WireError";
}
