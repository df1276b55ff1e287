/** Reading packed reports back, for tests and for collectors in JavaScript. A device needs none of this. */

import { argument } from "./arguments.js";
import { Bytes, hex } from "./bytes.js";
import { need } from "./errors.js";
import { reportOf } from "./report.js";

const number = (bytes) => bytes.reduce((sum, byte, i) => sum + byte * 256 ** i, 0);

/** The cells that a payload names. */
const cellsOf = ({ bits }, payload) =>
  bits
    ? [...payload].flatMap((byte, i) => [0, 1, 2, 3, 4, 5, 6, 7].filter((j) => (byte >> j) & 1).map((j) => 8 * i + j))
    : [number(payload)];

/** The cohort, payload and named cells of the report in `wire`, or a `WireError` that says what is wrong with it. */
export function unpack(survey, wire) {
  argument(survey?.encoding?.of, "survey", "be what readSurvey returns", survey);
  const { encoding, mechanism } = survey;
  need(wire instanceof Bytes, `report must be a Uint8Array, got ${typeof wire}`, "Wire");
  need(wire[0] === 1, `report must have wire version 1, got ${wire[0] ?? "nothing"}`, "Wire");
  const prefix = hex(wire.subarray(1, 9));
  const expected = survey.digest.slice(0, 16);
  need(prefix === expected, `report must be for survey ${expected}, got ${prefix}; it answers another survey`, "Wire");
  const blank = reportOf(survey, 0, [0]);
  const whole = blank.pack().length;
  const middle = whole - blank.payload.length;
  need(wire.length === whole, `report must be ${whole} bytes, got ${wire.length}`, "Wire");
  const cohort = number(wire.subarray(9, middle));
  need(cohort < encoding.cohorts, `report cohort must be below ${encoding.cohorts}, got ${cohort}`, "Wire");
  const payload = wire.slice(middle);
  const cells = cellsOf(mechanism, payload);
  need(
    cells.every((cell) => cell < (mechanism.columns ?? encoding.cells)) &&
      (!mechanism.size || cells.length === mechanism.size),
    "report response must be one that the mechanism can produce",
    "Wire",
  );
  return { cohort, payload, cells };
}
