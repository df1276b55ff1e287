/** What a collector may answer: which reports leave the outbox, as what they are counted, and which stay. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { accept, client, collector, fail, nothing, on, survey, text } from "./collecting.js";
import { hex, storage, surveys } from "./vectors.js";
import { Client } from "../src/node.js";

const gone = (status, word, changes) => () => ({
  status,
  headers: { "Content-Type": "application/problem+json" },
  body: {
    type: `urn:deniable:problem:${word}`,
    title: "x",
    status,
    detail: "a sentence",
    survey: survey.digest,
    ...changes,
  },
});

test("what a closed survey refused leaves the outbox in one request, counted; the ledger stays", async () => {
  const kept = storage();
  const one = client({ storage: kept, batch: 2 });
  const sent = [1, 2, 3].map((value) => one.queue(value) && value).length;
  const before = one.status();
  collector.answers = [gone(410, "closed")];
  const { refused, ...told } = await one.send();
  assert.deepEqual(told, {
    accepted: 0,
    duplicate: 0,
    waiting: 0,
    problem: "collector must take reports, got status 410; 3 dropped",
  });
  assert.equal(collector.requests.length, 1);
  assert.equal(sent, 3);
  assert.deepEqual(
    refused.map(({ reason }) => reason),
    ["closed", "closed", "closed"],
  );
  assert.deepEqual(
    refused.slice(0, 2).map(({ id }) => id),
    collector.requests[0].records.map((record) => hex(record.subarray(0, 16))),
  );
  assert.deepEqual(one.status(), { ...before, waiting: 0, refused: { closed: 3 } });
  assert.deepEqual(new Client(text, { storage: kept }).status().refused, { closed: 3 });
  assert.deepEqual(await one.send(), nothing);
  one.queue(1);
  collector.answers = [gone(410, "closed")];
  await one.send();
  assert.deepEqual(one.status().refused, { closed: 4 });
});

test("a survey that closes between two batches drops the rest", async () => {
  const one = client({ batch: 2 });
  for (const value of [1, 2, 3]) one.queue(value);
  collector.answers = [accept, gone(410, "closed")];
  const { accepted, refused, waiting } = await one.send();
  assert.deepEqual([accepted, refused.length, waiting], [2, 1, 0]);
});

test("an unknown survey drops after thirty days of being unknown, and starts anew once it is known", async () => {
  const one = client();
  const tell = (day, ...said) =>
    on(day, () => {
      collector.answers = said;
      return one.send();
    });
  const unknown = gone(404, "unknown-survey");
  const message = "collector must take reports, got status 404; 1 wait";
  one.queue(5);
  for (const day of [20_000, 20_029]) await assert.rejects(tell(day, unknown), { name: "DeliveryError", message });
  assert.equal((await tell(20_029)).accepted, 1);
  one.queue(5);
  for (const day of [20_040, 20_069]) await assert.rejects(tell(day, unknown), { name: "DeliveryError", message });
  const { refused, problem } = await tell(20_070, unknown);
  assert.deepEqual(
    [refused[0].reason, problem],
    ["unknown-survey", "collector must take reports, got status 404; 1 dropped"],
  );
  assert.deepEqual(one.status().refused, { "unknown-survey": 1 });
});

test("nothing but the collector's word on this survey drops anything", async () => {
  const wrong = [
    gone(410, "closed", { survey: surveys.warner.digest }),
    gone(410, "closed", { survey: undefined }),
    gone(410, "closed", { survey: survey.digest.slice(0, 8) }),
    gone(410, "unknown-survey"),
    gone(404, "closed"),
    gone(404, "unknown-path"),
    gone(403, "closed"),
    gone(410, "closed", { type: "closed" }),
    () => ({ status: 410, body: "<html>gone</html>" }),
    () => ({ status: 404, body: "null" }),
  ];
  for (const answer of wrong) {
    const one = client();
    one.queue(5);
    for (const day of [20_000, 20_400]) {
      collector.answers = [answer];
      await on(day, () => assert.rejects(one.send(), { name: "DeliveryError" }));
    }
    assert.deepEqual([one.status().waiting, one.status().refused], [1, {}]);
  }
});

test("only an answer that accounts for every report empties the outbox", async () => {
  const wrong = [
    "<html>Welcome to the hotel</html>",
    "",
    "null",
    "[]",
    "{}",
    { accepted: 0, duplicate: 0, refused: [] },
    { accepted: 2, duplicate: 0, refused: [] },
    { accepted: "1", duplicate: 0, refused: [] },
    { accepted: 1, duplicate: 0 },
    { accepted: 1, duplicate: 0, refused: 5 },
    { accepted: 0, duplicate: 0, refused: "xx" },
  ];
  for (const body of wrong) {
    collector.answers = [() => ({ status: 200, body })];
    const one = client();
    one.queue(5);
    const { problem, waiting } = await one.send();
    assert.deepEqual({ problem, waiting }, { problem: "collector must take reports, got status 200", waiting: 1 });
    assert.equal(one.status().waiting, 1);
  }
});

test("refused reports are told and not sent again", async () => {
  collector.answers = [
    (records) => ({
      status: 200,
      body: {
        accepted: 0,
        duplicate: 0,
        refused: [{ index: 0, id: hex(records[0].subarray(0, 16)), reason: "too late" }],
      },
    }),
  ];
  const one = client();
  one.queue(5);
  const { refused, waiting, problem } = await one.send();
  assert.deepEqual([waiting, problem], [0, undefined]);
  assert.equal(refused[0].reason, "too late");
  assert.deepEqual(one.status().refused, { refused: 1 });
  await one.send();
  assert.equal(collector.requests.length, 1);
});

test("many reports go in batches, and two sendings at once are one", async () => {
  const one = client({ batch: 4 });
  for (let i = 0; i < 10; i++) one.queue(i);
  const [first, second] = await Promise.all([one.send(), one.send()]);
  assert.equal(first, second);
  assert.equal(first.accepted, 10);
  assert.deepEqual(
    collector.requests.map(({ records }) => records.length),
    [4, 4, 2],
  );
  assert.equal(new Set(collector.requests.flatMap(({ records }) => records.map(hex))).size, 10);
});

test("a report that is made just as a delivery ends is delivered by its own", async () => {
  const one = client();
  one.queue(1);
  const first = one.send();
  // As soon as the promise is settled, before anything else that waits for it.
  const second = first.then(() => one.queue(2) && one.send());
  const [a, b] = await Promise.all([first, second, one.send()]);
  assert.equal(a.accepted, 1);
  assert.equal(b.accepted, 1);
  assert.equal(one.status().waiting, 0);
});

test("a report that is queued while others are sent is not lost", async () => {
  const one = client();
  collector.answers = [
    (records) => {
      one.queue(2);
      return accept(records);
    },
    fail(503),
  ];
  one.queue(1);
  const { accepted, waiting } = await one.send();
  assert.deepEqual({ accepted, waiting }, { accepted: 1, waiting: 1 });
  assert.equal(one.status().waiting, 1);
  assert.equal((await one.send()).accepted, 1);
});
