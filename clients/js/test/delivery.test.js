/** Delivery: the outbox, retries with the same bytes, and what a collector may answer. A real server on this machine. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { after, before, beforeEach, test } from "node:test";

import { Client } from "../src/node.js";
import { unpack } from "../src/unpack.js";
import { hex, storage, surveys, texts } from "./vectors.js";

const survey = surveys["orr, closed"];
const text = texts["orr, closed"];
const SIZE = 16 + 12;

let server, url, requests, answers;

/** What a collector says of reports that it has not seen, and of those that it has. */
const seen = new Set();
function accept(records) {
  const ids = records.map((record) => hex(record.subarray(0, 16)));
  const duplicate = ids.filter((id) => seen.has(id)).length;
  ids.forEach((id) => seen.add(id));
  return { status: 200, body: { accepted: ids.length - duplicate, duplicate, refused: [] } };
}

before(async () => {
  server = createServer(async (request, response) => {
    const parts = [];
    for await (const part of request) parts.push(part);
    const body = new Uint8Array(Buffer.concat(parts));
    const records = Array.from({ length: body.length / SIZE }, (_, i) => body.subarray(i * SIZE, (i + 1) * SIZE));
    requests.push({ path: request.url, method: request.method, headers: request.headers, records, at: Date.now() });
    const { status, body: said, headers = {}, lose } = (answers.shift() ?? accept)(records);
    if (lose) return request.socket.destroy();
    response.writeHead(status, { "Content-Type": "application/json", ...headers });
    response.end(typeof said === "string" ? said : JSON.stringify(said));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  url = `http://127.0.0.1:${server.address().port}`;
});
after(() => {
  server.close();
  server.closeAllConnections();
});
beforeEach(() => {
  requests = [];
  answers = [];
});

const client = (options = {}) => new Client(text, { url, pause: 1, ...options });
const fail = (status, headers) => () => ({ status, headers, body: { detail: "no" } });

test("a report goes to its survey's place as id and packed bytes, with the token and nothing else", async () => {
  const one = client({ token: "let me in" });
  assert.deepEqual(await one.send(5), { accepted: 1, duplicate: 0, refused: [], pending: 0 });
  const [{ path, method, headers, records }] = requests;
  const day = Math.floor(Date.now() / 864e5);
  const place = `POST /v1/surveys/${survey.digest}/reports?day=`;
  // Nothing finer than a day says when; at midnight the clock may be one on.
  assert.ok([`${place}${day}`, `${place}${day - 1}`].includes(`${method} ${path}`), path);
  assert.equal(headers["content-type"], "application/octet-stream");
  assert.equal(headers.authorization, "Bearer let me in");
  assert.equal(headers.cookie ?? headers.referer, undefined);
  assert.equal(unpack(survey, records[0].subarray(16)).cohort, one.status().cohort);
  await client().send(5);
  assert.equal(requests[1].headers.authorization, undefined);
});

test("reports wait in the outbox while offline or without a url, and survive a restart", async () => {
  const kept = storage();
  const offline = client({ storage: kept, offline: true });
  for (const value of [1, 2, 3]) assert.equal((await offline.send(value)).pending, value);
  assert.equal((await new Client(text, { storage: kept }).flush()).pending, 3);
  assert.equal(requests.length, 0);
  offline.offline = false;
  assert.deepEqual(await offline.flush(), { accepted: 3, duplicate: 0, refused: [], pending: 0 });
  assert.equal(new Set(requests[0].records.map((record) => hex(record.subarray(0, 16)))).size, 3);
  assert.deepEqual(await offline.flush(), { accepted: 0, duplicate: 0, refused: [], pending: 0 });
  assert.equal(requests.length, 1);
});

test("the report is in the storage before anything is sent", async () => {
  const kept = storage();
  let found;
  const fetch = async (...given) => {
    found = kept.getItem("deniable-client/1");
    return globalThis.fetch(...given);
  };
  await client({ storage: kept, fetch }).send(5);
  assert.ok(found.includes(hex(requests[0].records[0])));
  assert.ok(!kept.getItem("deniable-client/1").includes(hex(requests[0].records[0])));
});

test("a retry sends the same bytes under the same id, also when the answer was lost", async () => {
  answers = [fail(500), fail(503), (records) => (accept(records), { lose: true }), fail(408)];
  assert.deepEqual(await client({ memoize: false }).send(5), { accepted: 0, duplicate: 1, refused: [], pending: 0 });
  assert.equal(requests.length, 5);
  assert.equal(new Set(requests.map(({ records }) => records.map(hex).join())).size, 1);
});

test("after so many attempts the reports stay, and a later flush sends the same bytes", async () => {
  answers = [fail(500), fail(502), fail(425)];
  const one = client({ attempts: 3 });
  await assert.rejects(one.send(5), {
    name: "DeliveryError",
    message: "collector must take reports, got status 425; 1 stay in the outbox",
  });
  assert.equal(one.status().pending, 1);
  assert.equal((await one.flush()).accepted, 1);
  assert.equal(new Set(requests.map(({ records }) => hex(records[0]))).size, 1);
});

test("a refusal of the request is final, and keeps the outbox", async () => {
  for (const status of [400, 401, 403, 404, 410, 413, 422]) {
    requests = [];
    answers = [fail(status)];
    const one = client();
    await assert.rejects(one.send(5), { message: `collector must take reports, got status ${status}; 1 stay in the outbox` });
    assert.equal(requests.length, 1);
    assert.equal(one.status().pending, 1);
  }
});

test("no connection is tried again and keeps the outbox", async () => {
  let tries = 0;
  const fetch = async () => {
    tries++;
    throw new TypeError("fetch failed");
  };
  const one = client({ fetch, attempts: 4 });
  await assert.rejects(one.send(5), { message: "collector must take reports, got no answer; 1 stay in the outbox" });
  assert.equal(tries, 4);
  assert.equal(one.status().pending, 1);
});

test("a redirect is not followed", async () => {
  answers = [fail(307, { Location: "/elsewhere" }), fail(307, { Location: "/elsewhere" })];
  await assert.rejects(client({ attempts: 2 }).send(5), { name: "DeliveryError" });
  assert.ok(requests.every(({ path }) => path.includes("/reports?day=")));
});

test("a day is stated once: reports of two days go in two uploads, and a retry states the same day", async () => {
  const kept = storage();
  const one = client({ storage: kept, offline: true });
  const now = Date.now;
  try {
    for (const days of [0, 0, 1, 1, 1]) {
      Date.now = () => (20_000 + days) * 864e5 + 7;
      await one.send(5);
    }
    Date.now = () => 20_005 * 864e5;
    answers = [fail(503)];
    one.offline = false;
    assert.equal((await one.flush()).accepted, 5);
  } finally {
    Date.now = now;
  }
  const days = requests.map(({ path, records }) => [path.slice(-10), records.length]);
  const [first, second, third] = days;
  assert.deepEqual(first, second);
  assert.deepEqual([first, third].sort(), [["?day=20000", 2], ["?day=20001", 3]]);
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
  answers = [early];
  const one = client({ offline: true });
  for (const value of [1, 2]) await one.send(value);
  one.offline = false;
  assert.deepEqual(await one.flush(), { accepted: 2, duplicate: 0, refused: [], pending: 0 });
  assert.deepEqual(requests[1].records, requests[0].records.slice(0, 1));
  assert.ok(requests[0].path.includes("?day=") && requests[1].path.endsWith("/reports"));
  // Who says so again, of a report without a day, or of one that was not sent, is told on and not obeyed.
  requests = [];
  answers = [early, early];
  assert.equal((await one.send(3)).refused[0].reason, "too_early");
  assert.equal(requests.length, 2);
  answers = [() => ({ status: 200, body: { accepted: 0, duplicate: 0, refused: [{ index: 9, id: "", reason: "too_early" }] } })];
  assert.deepEqual(await one.send(3), { accepted: 0, duplicate: 0, refused: [{ index: 9, id: "", reason: "too_early" }], pending: 0 });
});

test("the outbox is in the order of random ids, and does not show in which order answers were given", async () => {
  const kept = storage();
  const one = client({ storage: kept, offline: true });
  for (let i = 0; i < 30; i++) await one.send(i % 17);
  const { outbox } = JSON.parse(kept.getItem("deniable-client/1").slice(64))[survey.digest];
  const records = Object.keys(outbox);
  assert.equal(records.length, 30);
  assert.deepEqual(records, [...records].sort());
  assert.deepEqual(Object.values(outbox).filter((day) => !(Number.isInteger(day) && day > 20_000)), []);
});

test("a collector that asks for more than a minute is the caller's business", async () => {
  answers = [fail(503, { "Retry-After": "3600" })];
  const one = client();
  await assert.rejects(one.send(5), { message: "collector must take reports, got status 503; 1 stay in the outbox" });
  assert.equal(requests.length, 1);
});

test("Retry-After is waited for", async () => {
  answers = [fail(429, { "Retry-After": "1" })];
  await client().send(5);
  assert.ok(requests[1].at - requests[0].at >= 950);
});

test("pauses double from try to try", async () => {
  const pauses = [];
  const real = globalThis.setTimeout;
  // Others in this process set timers too, but in whole milliseconds.
  globalThis.setTimeout = (done, pause, ...rest) =>
    pause % 1 ? (pauses.push(pause), real(done, 0)) : real(done, pause, ...rest);
  try {
    const fetch = async () => new Response("", { status: 500 });
    await assert.rejects(client({ pause: 1000, fetch }).send(5), { name: "DeliveryError" });
  } finally {
    globalThis.setTimeout = real;
  }
  assert.equal(pauses.length, 4);
  pauses.forEach((pause, i) => assert.ok(pause > 1000 * 2 ** i && pause <= 2000 * 2 ** i, `${pause} at ${i}`));
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
  ];
  for (const body of wrong) {
    answers = [() => ({ status: 200, body })];
    const one = client({ attempts: 1 });
    await assert.rejects(one.send(5), { message: "collector must take reports, got no answer; 1 stay in the outbox" });
    assert.equal(one.status().pending, 1);
  }
});

test("refused reports are told and not sent again", async () => {
  answers = [
    (records) => ({
      status: 200,
      body: { accepted: 0, duplicate: 0, refused: [{ index: 0, id: hex(records[0].subarray(0, 16)), reason: "too late" }] },
    }),
  ];
  const one = client();
  const { refused, pending } = await one.send(5);
  assert.equal(pending, 0);
  assert.equal(refused[0].reason, "too late");
  await one.flush();
  assert.equal(requests.length, 1);
});

test("many reports go in batches, and two flushes at once are one", async () => {
  const one = client({ offline: true, batch: 4 });
  for (let i = 0; i < 10; i++) await one.send(i);
  one.offline = false;
  const [first, second] = await Promise.all([one.flush(), one.flush()]);
  assert.equal(first, second);
  assert.equal(first.accepted, 10);
  assert.deepEqual(requests.map(({ records }) => records.length), [4, 4, 2]);
  assert.equal(new Set(requests.flatMap(({ records }) => records.map(hex))).size, 10);
});

test("a report that is made just as a delivery ends is delivered by its own", async () => {
  const one = client();
  const first = one.send(1);
  // As soon as the promise is settled, before anything else that waits for it.
  const second = first.then(() => one.send(2));
  const [a, b] = await Promise.all([first, second, one.flush()]);
  assert.equal(a.accepted, 1);
  assert.equal(b.accepted, 1);
  assert.equal(one.status().pending, 0);
});

test("a report that is queued while others are sent is not lost", async () => {
  const one = client();
  const late = () => {
    one.offline = true;
    return one.send(2);
  };
  answers = [(records) => (late(), accept(records))];
  const { accepted, pending } = await one.send(1);
  assert.deepEqual({ accepted, pending }, { accepted: 1, pending: 1 });
  assert.equal(one.status().pending, 1);
});
