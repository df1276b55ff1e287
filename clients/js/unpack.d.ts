import type { Form } from "./form.js";
import type { Survey } from "./index.js";

/** What is in the report of one answer. */
export interface Unpacked {
  cohort: number;
  payload: Uint8Array;
  /** What it names. */
  cells: number[];
}

/** The cohort, payload and named cells of a packed report; throws a `WireError` for anything else. */
export function unpack(survey: Survey, wire: Uint8Array): Unpacked;

/** Of a form the payload, and for each part what it says, or null where it was not answered. */
export function unpack(form: Form, wire: Uint8Array): { payload: Uint8Array; parts: (Unpacked | null)[] };
