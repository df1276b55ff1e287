/**
 * What `forensics.test.js` cannot see in memory, because it looks for texts and for the very objects that a client was
 * given: copies of numbers and of bytes. Cells are looked for by their values, which a heap snapshot can hold; bytes by
 * their number. Each must find a client that keeps such a copy where nothing but its own functions can reach it.
 * (Numbers in a `Set` or a `Map` are in no snapshot.)
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import v8 from "node:v8";
import vm from "node:vm";

import "./vectors.js";
import * as minified from "../deniable.min.js";
import { Client } from "../src/node.js";
import { remake } from "../src/survey.js";

// So many cells that the number of one stands nowhere else.
const text = remake({
  name: "",
  alphabet: { kind: "open" },
  encoding: { kind: "hashed", cells: 2 ** 16, cohorts: 1, hashes: 4, seed: "00".repeat(16) },
  mechanism: { kind: "bitflip", epsilon: "0.3", epsilon_report: "0.1" },
}).stated;

/** A client that keeps `copy` of the cells, or of the answer, in a closure. */
class Keeps extends Client {
  constructor(survey, options, copy) {
    super(survey, options);
    const {
      report,
      status,
      survey: { encoding },
    } = this;
    let last;
    this.report = (value) => {
      last = copy(encoding.of(0, value), value);
      return report(value);
    };
    this.status = () => (last ? status() : undefined);
  }
}

/**
 * The texts and numbers in the memory of this process, as bytes: what is looked at must not be in memory the next time.
 */
async function inMemory() {
  const parts = [];
  for await (const part of v8.getHeapSnapshot({ exposeNumericValues: true })) parts.push(Buffer.from(part));
  const whole = Buffer.concat(parts);
  return whole.subarray(whole.lastIndexOf('"strings":['));
}

// No bit is flipped, in either stage: the permanent response is the cells themselves, and a copy of it is found by
// their numbers, too.
const still = { width: 64, word: () => 2n ** 64n - 1n };
let answers = 0;

/**
 * The middle one of three numbers, each of an answer of its own. The platform makes numbers and bytes of its own in the
 * meantime, and among them may once be those that are looked for; a client that keeps a copy keeps it every time.
 */
async function middle(look) {
  const found = [await look(), await look(), await look()];
  return found.sort((one, other) => one - other)[1];
}

/**
 * How many cells of an answer, and their list as text, are in memory after its report was made, and were not before.
 */
async function cellsHeld(Made, memoize, ...rest) {
  const client = new Made(text, { memoize, entropy: still }, ...rest);
  // Another answer each time: numbers that were once made texts are kept by the platform.
  const answer = `rosebud ${answers++}`;
  const before = await inMemory();
  (() => client.report(answer))();
  const after = await inMemory();
  const found = client.survey.encoding.of(0, answer);
  const cells = [...found, found.join()].map((cell) => `"${cell}"`);
  assert.ok(client.status().spent > 0);
  assert.ok(cells.some((cell) => !before.includes(cell)));
  return cells.filter((cell) => after.includes(cell) && !before.includes(cell)).length;
}

test("no cell of an answer is in memory once its report is made, as whatever number", {
  timeout: 300_000,
}, async () => {
  for (const Made of [Client, minified.Client])
    for (const memoize of [true, false]) assert.equal(await middle(() => cellsHeld(Made, memoize)), 0);
  for (const copy of [
    (cells) => [...cells],
    (cells) => ({ first: cells.at(-1) }),
    (cells) => new Map([[`${cells}`, 1]]),
  ])
    assert.ok((await middle(() => cellsHeld(Keeps, false, copy))) > 0, `one that keeps ${copy} is found out`);
});

const SIZE = 2 ** 15; // bytes
v8.setFlagsFromString("--expose-gc");
const gc = vm.runInNewContext("gc");

async function bytesNow() {
  for (let turn = 0; turn < 3; turn++) {
    await new Promise((resolve) => setImmediate(resolve));
    gc();
  }
  return process.memoryUsage().arrayBuffers;
}

/** How many bytes of arrays are held after the report of a long answer was made. */
async function bytesHeld(Made, options, ...rest) {
  const client = new Made(text, options, ...rest);
  const before = await bytesNow();
  (() => client.report(new Uint8Array(SIZE).fill(7)))();
  const held = (await bytesNow()) - before;
  assert.ok(client.status().spent > 0);
  return held;
}

test("no copy of the bytes of an answer is held once its report is made", { timeout: 300_000 }, async () => {
  for (const options of [{}, { memoize: false }])
    assert.ok((await middle(() => bytesHeld(Client, options))) < SIZE / 2);
  assert.ok((await middle(() => bytesHeld(minified.Client, {}))) < SIZE / 2);
  const kept = await middle(() => bytesHeld(Keeps, {}, (_, value) => value.slice()));
  assert.ok(kept >= SIZE, "one that keeps them is found out");
});
