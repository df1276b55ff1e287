/** Forms: several questions, one report. `new Client(readForm(text))` answers one. */

import type { Answer, Survey } from "./index.js";

/** Answers by the names of questions; null is one that is skipped, where the form allows that. */
export type Answers = { [question: string]: Answer | null | undefined };

/** What a question that may be skipped adds to its answers. */
export const NO_ANSWER: "no answer";

export interface Question {
  readonly name: string;
  /** What people read. */
  readonly title: string;
  /** 1 where it may be left out. */
  readonly skip?: 1;
  /** What people choose from; nothing where they write. Symbols are as in the file. */
  readonly listed?: readonly (string | number | { bytes: string } | { int: string })[];
  /** Whether its answer is no secret: it is not sent, and others may depend on it. */
  readonly public?: true;
}

/** What is randomised as one: a question, or a related pair. */
export interface Part extends Survey {
  readonly questions: readonly Question[];
}

/** A form that has been read and checked. */
export interface Form {
  readonly name: string;
  /** SHA-256 of the canonical text, in hexadecimal. */
  readonly digest: string;
  /** The epsilon that all answers of a person spend together at most, as the form spells it. */
  readonly epsilon: string;
  readonly spend: "split" | "sample" | "each";
  /** How many parts each device answers. */
  readonly drawn: number;
  /** In the order in which they are asked. */
  readonly questions: readonly Question[];
  readonly public: readonly Question[];
  readonly parts: readonly Part[];
  /** The window in which a device reports once; nothing where there is none. */
  readonly window?: "hour" | "day" | "week";
  /** Whether a question is asked, given the public answers that are known. */
  asks(question: string, given: Answers): boolean;
  /** The names of the questions of a device that drew this number (`status().cohort`). */
  drawnBy(cohort: string): string[];
}

/** The privatised answers to a form: the only thing that may leave a device. */
export interface FormReport {
  /** Places of the parts that were answered. */
  readonly parts: readonly number[];
  readonly payload: Uint8Array;
  /** The bytes that leave the device; their number depends on the form alone. */
  pack(): Uint8Array;
}

/** The form in JSON text, or in the object that such a text holds; throws a `SurveyError`. */
export function readForm(source: string | object): Form;
