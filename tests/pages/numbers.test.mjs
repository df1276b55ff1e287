/** Numbers, symbols and sentences as every page writes them, and work that is done once. */

import "./english.mjs";
import assert from "node:assert/strict";
import { test } from "node:test";

import { percent, points, sentence, short, symbolText, whole } from "../../src/deniable/service/pages/common.js";
import { distinctLines } from "../../src/deniable/service/pages/naming.js";
import { oncePerFrame, untilItFails } from "../../src/deniable/service/pages/once.js";
import { fromField, toField } from "../../src/deniable/service/pages/written.js";

test("shares are percentages or points, with a fixed number of digits", () => {
  assert.deepEqual(
    [0, 0.1234, 1].map((share) => percent(share)),
    ["0.0%", "12.3%", "100.0%"],
  );
  assert.equal(percent(0.95, 0), "95%");
  assert.deepEqual([points(0.05), points(-0.0125, 2)], ["5.0", "-1.25"]);
  assert.deepEqual([whole(999.5), whole(1234567)], ["1,000", "1,234,567"]);
});

test("a sentence begins with a capital and ends once", () => {
  assert.deepEqual(["name must be short", "Really?", "É", "already done."].map(sentence), [
    "Name must be short.",
    "Really?",
    "É.",
    "Already done.",
  ]);
});

test("symbols of every type are readable", () => {
  const symbols = ["yes", 7, { int: "123456789012345678901" }, { bytes: "00ff" }, null, { other: 1 }];
  assert.deepEqual(symbols.map(symbolText), ["yes", "7", "123456789012345678901", "0x00ff", "null", '{"other":1}']);
});

test("long texts are cut between characters, not inside one", () => {
  assert.equal(short("🦊".repeat(60)), "🦊".repeat(60));
  assert.equal(short("🦊".repeat(61)), `${"🦊".repeat(59)}…`);
  assert.equal(short("abcdef", 4), "abc…");
});

test("lines are taken once, without blanks around them", () => {
  assert.deepEqual(distinctLines("  yes \n\nno\r\nyes\n \n"), ["yes", "no"]);
  assert.deepEqual(distinctLines("e\u0301\n\u00e9"), ["\u00e9"], "as files of some systems have it");
  assert.deepEqual(distinctLines(""), []);
});

test("a time of the collector survives the field of a form, whatever the clock", () => {
  for (const time of ["2026-01-31T23:30Z", "2026-07-01T00:00Z"]) assert.equal(fromField(toField(time)), time);
  assert.deepEqual([toField(null), fromField("")], ["", null]);
});

test("work is shared while it goes well, and tried again after it failed", async () => {
  const tries = [];
  const load = untilItFails(async (number) => {
    tries.push(number);
    if (number === 1) throw new Error("not yet");
    return number;
  });
  const [one, two] = [load(), load()];
  assert.equal(one, two, "one load for all who ask");
  await assert.rejects(one, /not yet/);
  assert.deepEqual(await Promise.all([load(), load()]), [2, 2]);
  assert.equal(await load(), 2);
  assert.deepEqual(tries, [1, 2]);
});

test("a frame draws once, and what is asked for in the next one again", () => {
  const frames = new Map();
  let next = 1;
  globalThis.requestAnimationFrame = (work) => frames.set(next, work) && next++;
  globalThis.cancelAnimationFrame = (frame) => frames.delete(frame);
  let drawn = 0;
  const draw = oncePerFrame(() => drawn++);
  const pass = () => {
    for (const [frame, work] of frames) frames.delete(frame) && work();
  };
  for (let i = 0; i < 5; i++) draw();
  pass();
  assert.equal(drawn, 1);
  draw();
  pass();
  assert.equal(drawn, 2);
});
