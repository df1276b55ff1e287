/** One report a window: what is refused, when, and what is kept. */

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";

import * as minified from "../deniable.min.js";
import { wordsOf } from "../src/key.js";
import { Client } from "../src/node.js";
import { thisWindow } from "../src/participation.js";
import { hex, storage, texts, unhex } from "./vectors.js";

const KEY = "deniable-client/1";
const HOURLY = texts["krr, once an hour"];
const DAILY = texts["warner, once a day"];
const WEEKLY = texts["orr, once a week"];
const real = Date.now;
const at = (time) => (Date.now = () => Date.parse(time));
afterEach(() => (Date.now = real));

const answered = (often, from) => ({
  name: "ParticipationError",
  message: `this survey must be answered once ${often} on this device; the next answer is taken from ${from}`,
});
const wrongClock = {
  name: "ParticipationError",
  message: "the clock of this device must be right and not go back; set the clock",
};
const entryOf = (kept, { survey }) => JSON.parse(kept.getItem(KEY).slice(64))[survey.digest];

test("windows are hours, days and weeks from Monday, in UTC", () => {
  for (const [time, hour, day, week] of [
    ["2026-11-15T23:59:59.999Z", 498551, 20772, 2967],
    ["2026-11-16T00:00:00Z", 498552, 20773, 2968],
    ["2026-11-22T23:59:59Z", 498719, 20779, 2968],
  ]) {
    at(time);
    assert.deepEqual(
      ["hour", "day", "week"].map((window) => thisWindow(window)),
      [hour, day, week],
    );
  }
});

for (const [title, text, value, often, first, second, from] of [
  ["an hour", HOURLY, 7, "an hour", "2026-11-18T14:00Z", "2026-11-18T14:59:59.999Z", "2026-11-18T15:00Z"],
  ["a day", DAILY, "yes", "a day", "2026-11-18T00:00Z", "2026-11-18T23:59:59.999Z", "2026-11-19T00:00Z"],
  ["a week", WEEKLY, "x", "a week", "2026-11-16T00:00Z", "2026-11-22T23:59:59.999Z", "2026-11-23T00:00Z"],
])
  for (const Made of [Client, minified.Client])
    test(`once ${title}, also after a restart (${Made === Client ? "source" : "minified"})`, () => {
      const kept = storage();
      at(first);
      const client = new Made(text, { storage: kept });
      client.queue(value);
      const before = kept.getItem(KEY);
      at(second);
      // A right answer, a wrong one and none at all are refused in one sentence, and nothing is written.
      for (const one of [client, new Made(text, { storage: kept })])
        for (const given of [value, {}, undefined])
          for (const ask of [one.report, one.queue]) assert.throws(() => ask(given), answered(often, from));
      assert.equal(kept.getItem(KEY), before);
      at(from);
      client.report(value);
      assert.equal(client.status().waiting, 1);
      at(first);
      assert.throws(() => client.report(value), wrongClock);
    });

test("what is kept is the number of the window, whatever was answered", () => {
  at("2026-11-18T14:30Z");
  const fields = ["no", "yes"].map((value) => {
    const kept = storage();
    const client = new Client(DAILY, { storage: kept });
    client.report(value);
    return JSON.stringify(entryOf(kept, client));
  });
  assert.equal(fields[0], fields[1]);
  const whole = { cohort: 0, made: [1, 0], outbox: {}, spent: [1e9, 1e9], window: 20775 };
  assert.deepEqual(JSON.parse(fields[0]), whole, "and no other time");
});

test("an answer that the survey does not take leaves the window open", () => {
  at("2026-11-18T14:30Z");
  const kept = storage();
  const client = new Client(DAILY, { storage: kept });
  assert.throws(() => client.report("perhaps"), { name: "AlphabetError" });
  assert.equal(entryOf(kept, client).window, undefined);
  client.report("yes");
});

test("a clock that was never set, or shows no day there will be, is refused", () => {
  for (const time of ["1970-01-01T00:00Z", "2025-12-31T23:59Z", "+010000-01-01T00:00:00Z"]) {
    at(time);
    assert.throws(() => new Client(DAILY).report("yes"), wrongClock);
  }
  at("2026-01-01T00:00Z");
  new Client(DAILY).report("yes");
});

test("the same answer gives the same bytes in every window, with a key too", async () => {
  const hmac = { name: "HMAC", hash: "SHA-256" };
  const key = wordsOf(await crypto.subtle.importKey("raw", unhex("11".repeat(32)), hmac, false, ["sign"]));
  for (const options of [{}, { key: await key }]) {
    const client = new Client(WEEKLY, options);
    const sent = new Set();
    for (const time of ["2026-11-18T14:30Z", "2026-11-25T14:30Z", "2026-12-30T14:30Z"]) {
      at(time);
      sent.add(hex((await client.report("lynx")).pack()));
      for (const value of ["lynx", {}])
        await assert.rejects(async () => client.report(value), { name: "ParticipationError" });
    }
    assert.equal(sent.size, 1);
    const { spent, worst } = client.status();
    assert.deepEqual(
      [spent, worst],
      [1, 3].map((times) => times * Number(client.survey.epsilon)),
      "each is charged",
    );
  }
});

test("fresh noise is no reason to answer twice in a window", () => {
  for (const Made of [Client, minified.Client]) {
    at("2026-11-18T14:30Z");
    const client = new Made(DAILY, { memoize: false });
    client.report("yes");
    for (const value of ["yes", {}])
      for (const ask of [client.report, client.queue]) assert.throws(() => ask(value), { name: "ParticipationError" });
    at("2026-11-19T00:00Z");
    client.queue("yes");
  }
});

test("windows are those of UTC wherever a device is", () => {
  const zone = process.env.TZ;
  try {
    for (const there of ["Asia/Tokyo", "America/Los_Angeles"]) {
      process.env.TZ = there;
      at("2026-11-18T00:00Z");
      assert.notEqual(new Date(Date.now()).getTimezoneOffset(), 0, "the zone is known here");
      const client = new Client(DAILY);
      client.report("yes");
      at("2026-11-18T23:59:59Z");
      assert.throws(() => client.report("yes"), answered("a day", "2026-11-19T00:00Z"));
      at("2026-11-19T00:00Z");
      client.report("yes");
    }
  } finally {
    if (zone === undefined) delete process.env.TZ;
    else process.env.TZ = zone;
  }
});

test("a device that takes turns keeps its turn, and has fresh noise of its own in each", () => {
  const SEVENTH = texts["krr, one day in seven"];
  const start = Date.parse("2026-11-18T12:00Z");
  for (const Made of [Client, minified.Client])
    for (const options of [{}, { memoize: false }]) {
      const kept = storage();
      at("2026-11-18T00:00Z");
      const { turn } = entryOf(kept, new Made(SEVENTH, { storage: kept, ...options }));
      assert.ok(Number.isInteger(turn) && turn >= 0 && turn < 7);
      const answeredOn = [];
      for (let day = 0; day < 28; day++) {
        Date.now = () => start + day * 864e5;
        const client = new Made(SEVENTH, { storage: kept, ...options });
        const next = new Date(start + (day + ((turn + 14 - ((20775 + day) % 7)) % 7 || 7)) * 864e5);
        try {
          client.report("apple");
          answeredOn.push(20775 + day);
        } catch {
          // It was not its turn.
        }
        // A right answer, a wrong one and none at all are refused in one sentence.
        for (const given of ["apple", {}, undefined])
          assert.throws(() => client.report(given), {
            name: "ParticipationError",
            message:
              "this survey must be answered in one day of 7 on this device; the next answer is taken from " +
              `${next.toISOString().slice(0, 10)}T00:00Z`,
          });
      }
      assert.deepEqual(
        answeredOn.map((day) => day % 7),
        [turn, turn, turn, turn],
      );
      const entry = entryOf(kept, new Made(SEVENTH, { storage: kept, ...options }));
      assert.deepEqual(
        [entry.turn, entry.made, entry.spent],
        [turn, [0, 4], [4e9, 4e9]],
        "each report spends epsilon, whatever the answers",
      );
    }
});

test("turns are as likely as one another", () => {
  const SEVENTH = texts["krr, one day in seven"];
  const counts = Array(7).fill(0);
  for (let word = 0; word < 70; word++) {
    const kept = storage();
    const entropy = { width: 64, word: () => BigInt(word) };
    counts[entryOf(kept, new Client(SEVENTH, { storage: kept, memoize: false, entropy })).turn]++;
  }
  assert.deepEqual(counts, Array(7).fill(10));
});

test("surveys that are answered once, or at every event, are as they were", () => {
  for (const title of ["krappor", "krappor, at every event"]) {
    const kept = storage();
    const client = new Client(texts[title], { storage: kept });
    for (const value of ["a", "b", "a"]) client.report(value);
    assert.ok(!("window" in entryOf(kept, client)));
  }
});
