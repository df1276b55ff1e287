/** Delivery: the outbox, retries with the same bytes, and when a report may leave it. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { test } from "node:test";

import { accept, client, collector, fail, fetching, nothing, on, survey, text } from "./collecting.js";
import { hex, storage } from "./vectors.js";
import { Client } from "../src/node.js";
import { unpack } from "../src/unpack.js";

test("a report goes to its survey's place as id and packed bytes, with the token and nothing else", async () => {
  const one = client({ token: "let-me-in" });
  one.queue(5);
  assert.deepEqual(await one.send(), { ...nothing, accepted: 1 });
  const [{ path, method, headers, records }] = collector.requests;
  const day = Math.floor(Date.now() / 864e5);
  const place = `POST /v1/surveys/${survey.digest}/reports?day=`;
  // Nothing finer than a day says when; at midnight the clock may be one on.
  assert.ok([`${place}${day}`, `${place}${day - 1}`].includes(`${method} ${path}`), path);
  assert.equal(headers["content-type"], "application/octet-stream");
  assert.equal(headers.authorization, "Bearer let-me-in");
  assert.equal(headers.cookie ?? headers.referer, undefined);
  assert.equal(unpack(survey, records[0].subarray(16)).cohort, one.status().cohort);
  one.queue(5);
  await new Client(text).send(collector.url);
  assert.equal(collector.requests.length, 1, "nothing waits, so nothing is asked");
  const two = client();
  two.queue(5);
  assert.equal((await two.send(`${collector.url}/`)).accepted, 1);
  assert.equal(collector.requests[1].headers.authorization, undefined);
  assert.ok(
    collector.requests[1].path.startsWith("/v1/surveys/"),
    "a slash at the end of a collector.url is one too many",
  );
});

test("the day is that of UTC, wherever the device is", async () => {
  const zone = process.env.TZ;
  try {
    for (const [place, hour] of [
      ["Pacific/Kiritimati", 23],
      ["Pacific/Niue", 1],
    ]) {
      process.env.TZ = place;
      assert.notEqual(
        new Date(864e5 * 20_000 + 36e5 * hour).getDate(),
        new Date(864e5 * 20_000).getUTCDate(),
        "another day there",
      );
      const one = client();
      await on(20_000 + hour / 24, () => one.queue(5));
      await one.send();
      assert.ok(collector.requests.at(-1).path.endsWith("?day=20000"), place);
    }
  } finally {
    if (zone === undefined) delete process.env.TZ;
    else process.env.TZ = zone;
  }
});

test("a token is for the one sending that it was given for", async () => {
  const one = new Client(text);
  for (const token of ["let-me-in", undefined]) {
    one.queue(5);
    await one.send(collector.url, { token });
  }
  assert.deepEqual(
    collector.requests.map(({ headers }) => headers.authorization),
    ["Bearer let-me-in", undefined],
  );
});

test("reports wait in the outbox until they are sent, and survive a restart", async () => {
  const kept = storage();
  const one = client({ storage: kept });
  for (const value of [1, 2, 3]) assert.ok(one.queue(value).pack().length);
  assert.equal(new Client(text, { storage: kept }).status().waiting, 3);
  assert.equal(collector.requests.length, 0);
  assert.deepEqual(await one.send(), { ...nothing, accepted: 3 });
  assert.equal(new Set(collector.requests[0].records.map((record) => hex(record.subarray(0, 16)))).size, 3);
  assert.deepEqual(await one.send(), nothing);
  assert.equal(collector.requests.length, 1);
});

test("the report is in the storage before anything is sent", async () => {
  const kept = storage();
  let found;
  const original = globalThis.fetch;
  const one = client({ storage: kept });
  one.queue(5);
  await fetching(
    async (...given) => {
      found = kept.getItem("deniable-client/1");
      return original(...given);
    },
    () => one.send(),
  );
  assert.ok(found.includes(hex(collector.requests[0].records[0])));
  assert.ok(!kept.getItem("deniable-client/1").includes(hex(collector.requests[0].records[0])));
});

test("sending again sends the same bytes under the same id, also when the answer was lost", async () => {
  collector.answers = [
    fail(500),
    fail(503),
    (records) => {
      accept(records);
      return { lose: true };
    },
    fail(408),
  ];
  const one = client({ memoize: false });
  one.queue(5);
  for (let i = 0; i < 4; i++) assert.equal((await one.send()).waiting, 1);
  assert.deepEqual(await one.send(), { ...nothing, duplicate: 1 });
  assert.equal(collector.requests.length, 5);
  assert.equal(new Set(collector.requests.map(({ records }) => records.map(hex).join())).size, 1);
});

test("an answer that says later returns at once, with how long to wait", async () => {
  for (const status of [408, 425, 429, 500, 502, 503, 504]) {
    collector.answers = [fail(status)];
    const one = client();
    one.queue(5);
    const { waiting, problem, retryAfter, accepted } = await one.send();
    assert.deepEqual(
      { waiting, problem, accepted },
      { waiting: 1, problem: `collector must take reports, got status ${status}`, accepted: 0 },
    );
    assert.ok(retryAfter >= 0.25 && retryAfter <= 0.5);
  }
  collector.answers = [fail(503, { "Retry-After": "3600" }), fail(503, { "Retry-After": "soon" })];
  const one = client();
  one.queue(5);
  assert.equal((await one.send()).retryAfter, 3600);
  assert.ok((await one.send()).retryAfter <= 0.5, "what cannot be read is no instruction");
});

test("a request that was refused keeps the outbox and rejects", async () => {
  for (const status of [201, 300, 301, 302, 303, 307, 308, 400, 401, 403, 404, 405, 410, 413, 422]) {
    collector.requests = [];
    collector.answers = [fail(status, { Location: "/elsewhere" })];
    const one = client();
    one.queue(5);
    await assert.rejects(one.send(), {
      name: "DeliveryError",
      message: `collector must take reports, got status ${status}; 1 wait`,
    });
    assert.equal(collector.requests.length, 1, "and a redirect is not followed");
    assert.deepEqual([one.status().waiting, one.status().refused], [1, {}]);
  }
});

test("offline it returns at once, and says after how long to try again: longer each time", async () => {
  const one = client();
  one.queue(5);
  let tries = 0;
  const waits = [];
  await fetching(
    async () => {
      tries++;
      throw new TypeError("fetch failed");
    },
    async () => {
      for (let i = 0; i < 9; i++) {
        const { retryAfter, ...told } = await one.send();
        assert.deepEqual(told, { ...nothing, waiting: 1, problem: "collector must take reports, got no answer" });
        waits.push(retryAfter);
      }
    },
  );
  assert.equal(tries, 9, "one try a call: it never sleeps");
  for (const [i, seconds] of waits.entries())
    assert.ok(seconds >= Math.min(2 ** i / 2, 60) / 2 && seconds <= Math.min(2 ** i / 2, 60), `${seconds} at ${i}`);
  assert.deepEqual(await one.send(), { ...nothing, accepted: 1 });
  one.queue(5);
  assert.ok(
    (
      await fetching(
        async () => {
          throw new TypeError();
        },
        () => one.send(),
      )
    ).retryAfter <= 0.5,
    "counted from the last answer on",
  );
});

test("a collector that never collector.answers is offline, too", async () => {
  const silent = createServer(() => {});
  silent.listen(0, "127.0.0.1");
  await once(silent, "listening");
  const one = client({ timeout: 0.05 });
  one.queue(5);
  const { problem } = await one.send(`http://127.0.0.1:${silent.address().port}`);
  assert.equal(problem, "collector must take reports, got no answer");
  silent.close();
  silent.closeAllConnections();
});

test("a day is stated once: reports of two days go in two uploads, and a later one states the same day", async () => {
  const one = client();
  for (const days of [0, 0, 1, 1, 1]) await on(20_000 + days, () => one.queue(5));
  await on(20_005, async () => {
    collector.answers = [fail(503)];
    assert.equal((await one.send()).waiting, 5);
    assert.equal((await one.send()).accepted, 5);
  });
  const days = collector.requests.map(({ path, records }) => [path.slice(-10), records.length]);
  const [first, second, third] = days;
  assert.deepEqual(first, second);
  assert.deepEqual([first, third].sort(), [
    ["?day=20000", 2],
    ["?day=20001", 3],
  ]);
});

test("a report that is too early for the collector goes again without a day, once", async () => {
  const early = (records) => ({
    status: 200,
    body: {
      accepted: records.length - 1,
      duplicate: 0,
      refused: [{ index: 0, id: hex(records[0].subarray(0, 16)), reason: "too_early" }],
    },
  });
  collector.answers = [early];
  const one = client();
  for (const value of [1, 2]) one.queue(value);
  assert.deepEqual(await one.send(), { ...nothing, accepted: 2 });
  assert.deepEqual(collector.requests[1].records, collector.requests[0].records.slice(0, 1));
  assert.ok(collector.requests[0].path.includes("?day=") && collector.requests[1].path.endsWith("/reports"));
  // Who says so again, of a report without a day, is told on and not obeyed.
  collector.requests = [];
  collector.answers = [early, early];
  one.queue(3);
  const { refused } = await one.send();
  assert.deepEqual(refused, [{ id: hex(collector.requests[1].records[0].subarray(0, 16)), reason: "too_early" }]);
  assert.equal(collector.requests.length, 2);
});

test("the outbox is in the order of random ids, and does not show in which order answers were given", async () => {
  const kept = storage();
  const one = client({ storage: kept });
  for (let i = 0; i < 30; i++) one.queue(i % 17);
  const { outbox } = JSON.parse(kept.getItem("deniable-client/1").slice(64))[survey.digest];
  const records = Object.keys(outbox);
  assert.equal(records.length, 30);
  assert.deepEqual(records, [...records].sort());
  assert.deepEqual(
    Object.values(outbox).filter((day) => !(Number.isInteger(day) && day > 20_000)),
    [],
  );
});
