/** Memoised by cell: devices whose answers change, against the golden sequences, and what they spend in all. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Client } from "../src/node.js";
import { device, hex, rows, scripted, surveys, symbolOf, texts } from "./vectors.js";

const ROWS = rows("sequences");

/** What a device sends for the answers of a row; `made` says whose storage each of them meets. */
const sent = ({ survey, secret, cohort, words, symbols }, made = () => [secret, cohort]) => {
  const entropy = scripted(words);
  const stores = new Map();
  return symbols.map(symbolOf).map((symbol, step) => {
    const whose = made(symbol, step);
    if (!stores.has(`${whose}`)) stores.set(`${whose}`, device(surveys[survey], ...whose));
    return hex(new Client(texts[survey], { storage: stores.get(`${whose}`), entropy }).report(symbol).pack());
  });
};

test("sequences of changing answers", () => {
  for (const row of ROWS) assert.deepEqual(sent(row), row.reports);
});

test("answers that share their cell share their permanent response, and no others need to", () => {
  let pairs = 0;
  for (const row of ROWS.filter(({ words }) => !words.length)) {
    const reports = sent(row);
    const cells = row.symbols.map((symbol) => `${surveys[row.survey].encoding.of(row.cohort, symbolOf(symbol))}`);
    cells.forEach((cell, i) => {
      const first = cells.indexOf(cell);
      assert.equal(reports[i], reports[first]);
      pairs += first < i && `${row.symbols[first]}` !== `${row.symbols[i]}`;
    });
  }
  assert.ok(pairs > 8);
});

// Devices with a fault; each must send something else than the golden bytes.
const other = (text) => Buffer.from(text.padEnd(32).slice(0, 32)).toString("hex");
const FAULTS = {
  "permanent words of each answer": ({ secret, cohort }) => [
    (symbol) => [other(`${secret.slice(0, 8)}${symbol}`), cohort],
  ],
  "a cohort drawn for each report": ({ survey, secret, cohort }) => [
    (_, step) => [secret, (cohort + step) % surveys[survey].encoding.cohorts],
  ],
};
for (const [title, fault] of Object.entries(FAULTS))
  test(`caught: ${title}`, () => {
    const caught = ROWS.filter((row) => `${sent(row, ...fault(row))}` !== `${row.reports}`);
    assert.ok(caught.length > ROWS.length / 2);
  });

test("caught: a second stage that is drawn once", () => {
  const again = ROWS.filter(({ words }) => words.length);
  assert.ok(again.length);
  for (const row of again) assert.notDeepEqual(sent({ ...row, words: row.words.map(() => row.words[0]) }), row.reports);
});

test("whatever the answers do, the ledger charges epsilon a cell and no more", () => {
  // Eight cells, epsilon 4 and 2 a report: 32 in all, after 16 reports.
  const client = new Client(texts["orr, open again"]);
  const worst = Array.from({ length: 20 }, (_, i) => {
    client.report(`answer ${i}`);
    return client.status().worst;
  });
  assert.deepEqual(
    worst,
    worst.map((_, i) => Math.min(2 * (i + 1), 32)),
  );
  assert.equal(client.status().spent, 4);
});
