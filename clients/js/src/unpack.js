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

/** What all reports begin with, whatever is asked; what follows after that. */
function bodyOf(survey, whole, wire) {
  need(wire instanceof Bytes, `report must be a Uint8Array, got ${typeof wire}`, "Wire");
  need(wire[0] === 1, `report must have wire version 1, got ${wire[0] ?? "nothing"}`, "Wire");
  const prefix = hex(wire.subarray(1, 9));
  const expected = survey.digest.slice(0, 16);
  need(prefix === expected, `report must be for survey ${expected}, got ${prefix}; it answers another survey`, "Wire");
  need(wire.length === whole, `report must be ${whole} bytes, got ${wire.length}`, "Wire");
  return wire.slice(9);
}

/** The cohort, payload and named cells of what follows the head of a report. */
function read(survey, body) {
  const { encoding, mechanism } = survey;
  const middle = body.length - reportOf(survey, 0, [0]).payload.length;
  const cohort = number(body.subarray(0, middle));
  need(cohort < encoding.cohorts, `report cohort must be below ${encoding.cohorts}, got ${cohort}`, "Wire");
  const payload = body.slice(middle);
  const cells = cellsOf(mechanism, payload);
  need(
    cells.every((cell) => cell < (mechanism.columns ?? encoding.cells)) &&
      (!mechanism.size || cells.length === mechanism.size),
    "report response must be one that the mechanism can produce",
    "Wire",
  );
  return { cohort, payload, cells };
}

/** Of a form: the payload, and for each part its cohort, payload and cells, or null where it was not answered. */
function readForm(form, wire) {
  const { drawn, parts } = form;
  const sizes = parts.map((part) => reportOf(part, 0, [0]).pack().length - 1);
  const optional = parts.map((part) => Boolean(part.when));
  const head = drawn < parts.length || optional.some(Boolean) ? Math.ceil(parts.length / 8) : 0;
  const body = bodyOf(form, 9 + head + sizes.reduce((sum, size) => sum + size), wire);
  const answered = parts.map((_, place) => !head || Boolean((body[place >> 3] >> (place & 7)) & 1));
  const left = drawn - answered.filter(Boolean).length;
  const bits = [...body.subarray(0, head)].flatMap((byte) => [...byte.toString(2)]).filter((bit) => bit === "1");
  need(
    left >= 0 &&
      left <= optional.filter((may, place) => may && !answered[place]).length &&
      (!head || bits.length === drawn - left),
    "report must have parts that a device answers together, got others",
    "Wire",
  );
  let at = head;
  const found = parts.map((part, place) => {
    const slot = body.subarray(at, at + sizes[place]);
    at += sizes[place];
    if (answered[place]) return read(part, slot);
    need(
      slot.every((byte) => !byte),
      `report must have zeros where ${part.name} was not answered`,
      "Wire",
    );
    return null;
  });
  return { payload: body.slice(head), parts: found };
}

/** What is in the report in `wire`, or a `WireError` that says what is wrong with it. */
export function unpack(survey, wire) {
  argument(survey?.tasks || survey?.encoding?.of, "survey", "be what readSurvey, or readForm, returns", survey);
  if (survey.parts) return readForm(survey, wire);
  return read(survey, bodyOf(survey, reportOf(survey, 0, [0]).pack().length, wire));
}
