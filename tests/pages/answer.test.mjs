/** The answer page: symbols and reports as bytes, and what it says of them. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { cellsOf, partsOf, symbolValue } from "../../src/deniable/service/pages/record.js";
import { ended, ending, explanation, notRolled } from "../../src/deniable/service/pages/telling.js";

test("a symbol is what the client takes", () => {
  assert.equal(symbolValue("yes"), "yes");
  assert.equal(symbolValue(0), 0);
  assert.equal(symbolValue({ int: "9007199254740993" }), 9007199254740993n);
  assert.deepEqual(symbolValue({ bytes: "00ff" }), Uint8Array.of(0, 255));
  assert.deepEqual(symbolValue({ bytes: "" }), new Uint8Array(0));
});

const record = (group, payload) => `${"aa".repeat(16)}01${"bb".repeat(8)}${group}${payload}`;

test("a report is taken apart into all of its bytes", () => {
  for (const [n, group, payload] of [
    [{ shape: "one", cells: 2 }, "", "01"],
    [{ shape: "one", cells: 256 }, "", "ff"],
    [{ shape: "one", cells: 257 }, "0300", "0001"],
    [{ shape: "some", cells: 9 }, "", "0101"],
    [{ shape: "marks", cells: 8 }, "07", "80"],
  ]) {
    const text = record(group, payload);
    const parts = partsOf(text, n);
    assert.deepEqual(Object.keys(parts), ["id", "version", "survey", "group", "payload"]);
    assert.equal(Object.values(parts).flat().join(""), text);
    assert.deepEqual([parts.group.join(""), parts.payload.join("")], [group, payload]);
  }
});

test("cells are a number with its lowest byte first, or bits with the lowest first", () => {
  assert.deepEqual(cellsOf(["01", "02"], { shape: "one", cells: 1000 }), [513]);
  assert.deepEqual(cellsOf(["05", "01"], { shape: "marks", cells: 9 }), [0, 2, 8]);
  assert.deepEqual(cellsOf(["ff"], { shape: "some", cells: 3 }), [0, 1, 2], "bits beyond the cells are none");
  assert.deepEqual(cellsOf(["00"], { shape: "marks", cells: 8 }), []);
});

const n = (epsilon, more = {}) => ({ odds: Math.exp(epsilon), lifetime: Math.exp(epsilon), cohorts: 1, ...more });

test("how it ended says no more than epsilon allows", () => {
  assert.deepEqual(ending("sent", n(1)), [
    "Thank you. Your answer is counted, and nobody knows it. This browser has answered; there is nothing more to do.",
    "good",
  ]);
  assert.match(ending("sent", n(3))[0], /is counted, and nobody can be sure of it\./);
  assert.match(ending("sent", n(6))[0], /is counted\. This browser/);
  assert.deepEqual(ending("closed", n(1)), ["The survey was closed before your answer arrived. It is not counted."]);
  assert.deepEqual(ending("gone", n(1)), ["The survey was deleted before your answer arrived. It is not counted."]);
  assert.deepEqual(ending("before", n(1)), ["This browser has answered. There is nothing more to do."]);
  for (const how of ["refused", "whatever"])
    assert.deepEqual(ending(how, n(1)), ["The collector refused what was sent. It is not counted.", "bad"]);
});

test("why there was no roll is told by the kind of the error alone", () => {
  assert.equal(
    notRolled("AlphabetError"),
    "Nothing was sent: this survey cannot take what is written there. Write it in another way.",
  );
  for (const name of ["StateError", "rosebud", undefined])
    assert.equal(
      notRolled(name),
      "Nothing was sent: this browser does not keep what it rolls. Allow this page to store data, then try again.",
    );
});

test("a survey is over since its date, if that has come", () => {
  assert.match(ended({ closes: "2020-05-06T12:00Z" }), /^This survey ended on \d+ May 2020/);
  assert.equal(ended({ closes: "9999-01-01T00:00Z" }), "This survey is closed.");
  assert.equal(ended({ closes: null }), "This survey is closed.");
});

test("what it means: groups and a second stage are told where there are any", () => {
  const said = (numbers) => explanation(numbers, { window: "day" }).flat().join("\n");
  const plain = said(n(1));
  assert.ok(plain.includes("epsilon 1.00"));
  assert.ok(plain.includes("of the time only the day."));
  assert.ok(!/group|could ever send/.test(plain));
  assert.ok(said(n(1, { cohorts: 64 })).includes("Your group number (one of 64) is in the clear, too."));
  const twice = said(n(1, { lifetime: Math.exp(2), twice: true }));
  assert.ok(twice.includes("those 2.8 and 7.4"));
  assert.equal(twice.match(/everything that this browser could ever send/g).length, 3);
});
