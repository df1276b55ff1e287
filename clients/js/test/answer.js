/**
 * For `tests/contracts/test_js_client.py`: answers JSON lines {survey, symbol, words} (fresh noise) or {survey, symbol,
 * words, secret, cohort} (memoised; the words are for the second stage, if there is one) with the packed report in
 * hexadecimal, or with the name of the error, and what the survey must say where that is what is wrong with it.
 */

import { createInterface } from "node:readline";

import { Client, readSurvey } from "../src/node.js";
import { remake } from "../src/survey.js";
import { device, hex, scripted, symbolOf } from "./vectors.js";

for await (const line of createInterface({ input: process.stdin })) {
  const { survey, symbol, words, secret, cohort } = JSON.parse(line);
  let said;
  try {
    const read = readSurvey(survey);
    const entropy = scripted(words);
    const options = secret ? { storage: device(read, secret, cohort) } : { memoize: false };
    const wire = hex(new Client(read, { entropy, ...options }).report(symbolOf(symbol)).pack());
    said = { report: wire, left: entropy.left(), digest: read.digest };
  } catch (problem) {
    said = { error: problem.name, message: problem.message };
    if (problem.message.startsWith("survey must say ")) said.hint = remake(JSON.parse(survey)).stated;
  }
  console.log(JSON.stringify(said));
}
