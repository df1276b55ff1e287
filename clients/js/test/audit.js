/**
 * This client for `deniable audit`: every line in holds the values of one new device, separated by tabs, and the line
 * out its packed reports in hexadecimal.
 *
 *     deniable audit SURVEY.json --command "node clients/js/test/audit.js SURVEY.json"
 *
 * With a second argument, `min`, it is the minified file; or one of the faults below, which the audit must find.
 */

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

import { Client, readSurvey } from "../src/node.js";
import { hex, symbolOf } from "./vectors.js";

const [, , path, form] = process.argv;
const text = readFileSync(path, "utf8");

/** Each takes a survey, and gives what makes a device. */
const FAULTS = {
  // The permanent noise is drawn anew for every report.
  redraws: (survey) => () => new Client(survey, { memoize: false }),
  // The permanent response is sent as it is, without the second stage.
  forgets: (survey) => faulty(survey, { refresh: undefined }),
  // The last bit is never turned round.
  clear(survey) {
    const { randomize } = survey.mechanism;
    const last = survey.encoding.cells - 1;
    return faulty(survey, {
      randomize: (truth, entropy) => [
        ...randomize(truth, entropy).filter((cell) => cell !== last),
        ...truth.filter((cell) => cell === last),
      ],
    });
  },
};

const faulty = (survey, change) => {
  const changed = { ...survey, mechanism: { ...survey.mechanism, ...change } };
  return () => new Client(changed);
};

async function maker() {
  if (!form) return faulty(readSurvey(text), {});
  if (form !== "min") return FAULTS[form](readSurvey(text));
  const minified = await import("../deniable.min.js");
  const survey = minified.readSurvey(text);
  return () => new minified.Client(survey);
}

const device = await maker();
// A line is text; a closed survey says which of its symbols are numbers.
const listed = (JSON.parse(text).alphabet.symbols ?? []).map(symbolOf);
const symbols = new Map(
  listed.filter((symbol) => typeof symbol !== "object").map((symbol) => [String(symbol), symbol]),
);
let said = [];
for await (const line of createInterface({ input: process.stdin })) {
  const client = device();
  said.push(
    line
      .split("\t")
      .map((value) => hex(client.report(symbols.get(value) ?? value).pack()))
      .join("\t"),
  );
  if (said.length === 1000) {
    process.stdout.write(`${said.join("\n")}\n`);
    said = [];
  }
}
if (said.length) process.stdout.write(`${said.join("\n")}\n`);
