import type { Survey } from "./index.js";

/** The cohort, payload and named cells of a packed report; throws a `WireError` for anything else. */
export function unpack(survey: Survey, wire: Uint8Array): { cohort: number; payload: Uint8Array; cells: number[] };
