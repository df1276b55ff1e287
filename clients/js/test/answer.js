/**
 * For `tests/contracts/test_js_client.py`: answers JSON lines {survey, symbol, words} or {survey, symbol, secret, cohort} with the
 * packed report in hexadecimal, or with the name of the error.
 */

import { createInterface } from "node:readline";

import { Client, readSurvey } from "../src/node.js";
import { device, hex, scripted, symbolOf } from "./vectors.js";

for await (const line of createInterface({ input: process.stdin })) {
  const { survey, symbol, words, secret, cohort } = JSON.parse(line);
  let said;
  try {
    const read = readSurvey(survey);
    const entropy = words && scripted(words);
    const options = words ? { memoize: false, entropy } : { storage: device(read, secret, cohort) };
    const wire = hex(new Client(read, options).report(symbolOf(symbol)).pack());
    said = { report: wire, left: entropy?.left() ?? 0, digest: read.digest };
  } catch (problem) {
    said = { error: problem.name, message: problem.message };
  }
  console.log(JSON.stringify(said));
}
