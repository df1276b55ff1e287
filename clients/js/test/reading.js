/** Reads packed reports of many surveys from standard input, and prints what `unpack` makes of each. */

import { readFileSync } from "node:fs";

import { readSurvey } from "../src/node.js";
import { unpack } from "../src/unpack.js";
import { unhex } from "./vectors.js";

const judged = (survey, wire) => {
  try {
    const { cohort, cells } = unpack(survey, unhex(wire));
    return { cohort, cells };
  } catch ({ message }) {
    return { message };
  }
};

const given = JSON.parse(readFileSync(0, "utf8"));
const found = given.map(({ survey, wires }) => {
  const read = readSurvey(survey);
  return wires.map((wire) => judged(read, wire));
});
process.stdout.write(JSON.stringify(found));
