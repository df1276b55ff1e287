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

/** A client whose `send` goes to this server. */
function client({ token, batch, timeout, ...options } = {}) {
  const made = new Client(text, options);
  const { send } = made;
  made.send = (where = url) => send(where, { token, batch, timeout });
  return made;
}
const fail = (status, headers) => () => ({ status, headers, body: { detail: "no" } });
const nothing = { accepted: 0, duplicate: 0, refused: [], waiting: 0 };

/** Run with another `fetch`. */
async function fetching(fetch, work) {
  const real = globalThis.fetch;
  globalThis.fetch = fetch;
  try {
    return await work();
  } finally {
    globalThis.fetch = real;
  }
}

/** Run with another day on the clock. */
async function on(day, work) {
  const now = Date.now;
  Date.now = () => day * 864e5 + 7;
  try {
    return await work();
  } finally {
    Date.now = now;
  }
}

test("a report goes to its survey's place as id and packed bytes, with the token and nothing else", async () => {
  const one = client({ token: "let-me-in" });
  one.queue(5);
  assert.deepEqual(await one.send(), { ...nothing, accepted: 1 });
  const [{ path, method, headers, records }] = requests;
  const day = Math.floor(Date.now() / 864e5);
  const place = `POST /v1/surveys/${survey.digest}/reports?day=`;
  // Nothing finer than a day says when; at midnight the clock may be one on.
  assert.ok([`${place}${day}`, `${place}${day - 1}`].includes(`${method} ${path}`), path);
  assert.equal(headers["content-type"], "application/octet-stream");
  assert.equal(headers.authorization, "Bearer let-me-in");
  assert.equal(headers.cookie ?? headers.referer, undefined);
  assert.equal(unpack(survey, records[0].subarray(16)).cohort, one.status().cohort);
  one.queue(5);
  await new Client(text).send(url);
  assert.equal(requests.length, 1, "nothing waits, so nothing is asked");
  const two = client();
  two.queue(5);
  assert.equal((await two.send(url + "/")).accepted, 1);
  assert.equal(requests[1].headers.authorization, undefined);
  assert.ok(requests[1].path.startsWith("/v1/surveys/"), "a slash at the end of a url is one too many");
});

test("reports wait in the outbox until they are sent, and survive a restart", async () => {
  const kept = storage();
  const one = client({ storage: kept });
  for (const value of [1, 2, 3]) assert.ok(one.queue(value).pack().length);
  assert.equal(new Client(text, { storage: kept }).status().waiting, 3);
  assert.equal(requests.length, 0);
  assert.deepEqual(await one.send(), { ...nothing, accepted: 3 });
  assert.equal(new Set(requests[0].records.map((record) => hex(record.subarray(0, 16)))).size, 3);
  assert.deepEqual(await one.send(), nothing);
  assert.equal(requests.length, 1);
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
  assert.ok(found.includes(hex(requests[0].records[0])));
  assert.ok(!kept.getItem("deniable-client/1").includes(hex(requests[0].records[0])));
});

test("sending again sends the same bytes under the same id, also when the answer was lost", async () => {
  answers = [fail(500), fail(503), (records) => (accept(records), { lose: true }), fail(408)];
  const one = client({ memoize: false });
  one.queue(5);
  for (let i = 0; i < 4; i++) assert.equal((await one.send()).waiting, 1);
  assert.deepEqual(await one.send(), { ...nothing, duplicate: 1 });
  assert.equal(requests.length, 5);
  assert.equal(new Set(requests.map(({ records }) => records.map(hex).join())).size, 1);
});

test("an answer that says later returns at once, with how long to wait", async () => {
  for (const status of [408, 425, 429, 500, 502, 503, 504]) {
    answers = [fail(status)];
    const one = client();
    one.queue(5);
    const { waiting, problem, retryAfter, accepted } = await one.send();
    assert.deepEqual({ waiting, problem, accepted }, { waiting: 1, problem: `collector must take reports, got status ${status}`, accepted: 0 });
    assert.ok(retryAfter >= 0.25 && retryAfter <= 0.5);
  }
  answers = [fail(503, { "Retry-After": "3600" }), fail(503, { "Retry-After": "soon" })];
  const one = client();
  one.queue(5);
  assert.equal((await one.send()).retryAfter, 3600);
  assert.ok((await one.send()).retryAfter <= 0.5, "what cannot be read is no instruction");
});

test("a request that was refused keeps the outbox and rejects", async () => {
  for (const status of [201, 307, 400, 401, 403, 404, 405, 410, 413, 422]) {
    requests = [];
    answers = [fail(status, { Location: "/elsewhere" })];
    const one = client();
    one.queue(5);
    await assert.rejects(one.send(), {
      name: "DeliveryError",
      message: `collector must take reports, got status ${status}; 1 wait`,
    });
    assert.equal(requests.length, 1, "and a redirect is not followed");
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
  waits.forEach((seconds, i) => assert.ok(seconds >= Math.min(2 ** i / 2, 60) / 2 && seconds <= Math.min(2 ** i / 2, 60), `${seconds} at ${i}`));
  assert.deepEqual(await one.send(), { ...nothing, accepted: 1 });
  one.queue(5);
  assert.ok((await fetching(async () => { throw new TypeError(); }, () => one.send())).retryAfter <= 0.5, "counted from the last answer on");
});

test("a collector that never answers is offline, too", async () => {
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

const gone = (status, word, changes) => () => ({
  status,
  headers: { "Content-Type": "application/problem+json" },
  body: { type: `urn:deniable:problem:${word}`, title: "x", status, detail: "a sentence", survey: survey.digest, ...changes },
});

test("what a closed survey refused leaves the outbox in one request, counted; the ledger stays", async () => {
  const kept = storage();
  const one = client({ storage: kept, batch: 2 });
  const sent = [1, 2, 3].map((value) => one.queue(value) && value).length;
  const before = one.status();
  answers = [gone(410, "closed")];
  const { refused, ...told } = await one.send();
  assert.deepEqual(told, { accepted: 0, duplicate: 0, waiting: 0, problem: "collector must take reports, got status 410; 3 dropped" });
  assert.equal(requests.length, 1);
  assert.equal(sent, 3);
  assert.deepEqual(refused.map(({ reason }) => reason), ["closed", "closed", "closed"]);
  assert.deepEqual(refused.slice(0, 2).map(({ id }) => id), requests[0].records.map((record) => hex(record.subarray(0, 16))));
  assert.deepEqual(one.status(), { ...before, waiting: 0, refused: { closed: 3 } });
  assert.deepEqual(new Client(text, { storage: kept }).status().refused, { closed: 3 });
  assert.deepEqual(await one.send(), nothing);
  one.queue(1);
  answers = [gone(410, "closed")];
  await one.send();
  assert.deepEqual(one.status().refused, { closed: 4 });
});

test("a survey that closes between two batches drops the rest", async () => {
  const one = client({ batch: 2 });
  for (const value of [1, 2, 3]) one.queue(value);
  answers = [accept, gone(410, "closed")];
  const { accepted, refused, waiting } = await one.send();
  assert.deepEqual([accepted, refused.length, waiting], [2, 1, 0]);
});

test("an unknown survey drops after thirty days of being unknown, and starts anew once it is known", async () => {
  const one = client();
  const tell = (day, ...said) => on(day, () => ((answers = said), one.send()));
  const unknown = gone(404, "unknown-survey");
  const message = "collector must take reports, got status 404; 1 wait";
  one.queue(5);
  for (const day of [20_000, 20_029]) await assert.rejects(tell(day, unknown), { name: "DeliveryError", message });
  assert.equal((await tell(20_029)).accepted, 1);
  one.queue(5);
  for (const day of [20_040, 20_069]) await assert.rejects(tell(day, unknown), { name: "DeliveryError", message });
  const { refused, problem } = await tell(20_070, unknown);
  assert.deepEqual([refused[0].reason, problem], ["unknown-survey", "collector must take reports, got status 404; 1 dropped"]);
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
      answers = [answer];
      await on(day, () => assert.rejects(one.send(), { name: "DeliveryError" }));
    }
    assert.deepEqual([one.status().waiting, one.status().refused], [1, {}]);
  }
});

test("a day is stated once: reports of two days go in two uploads, and a later sending states the same day", async () => {
  const one = client();
  for (const days of [0, 0, 1, 1, 1]) await on(20_000 + days, () => one.queue(5));
  await on(20_005, async () => {
    answers = [fail(503)];
    assert.equal((await one.send()).waiting, 5);
    assert.equal((await one.send()).accepted, 5);
  });
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
  const one = client();
  for (const value of [1, 2]) one.queue(value);
  assert.deepEqual(await one.send(), { ...nothing, accepted: 2 });
  assert.deepEqual(requests[1].records, requests[0].records.slice(0, 1));
  assert.ok(requests[0].path.includes("?day=") && requests[1].path.endsWith("/reports"));
  // Who says so again, of a report without a day, is told on and not obeyed.
  requests = [];
  answers = [early, early];
  one.queue(3);
  const { refused } = await one.send();
  assert.deepEqual(refused, [{ id: hex(requests[1].records[0].subarray(0, 16)), reason: "too_early" }]);
  assert.equal(requests.length, 2);
});

test("the outbox is in the order of random ids, and does not show in which order answers were given", async () => {
  const kept = storage();
  const one = client({ storage: kept });
  for (let i = 0; i < 30; i++) one.queue(i % 17);
  const { outbox } = JSON.parse(kept.getItem("deniable-client/1").slice(64))[survey.digest];
  const records = Object.keys(outbox);
  assert.equal(records.length, 30);
  assert.deepEqual(records, [...records].sort());
  assert.deepEqual(Object.values(outbox).filter((day) => !(Number.isInteger(day) && day > 20_000)), []);
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
    answers = [() => ({ status: 200, body })];
    const one = client();
    one.queue(5);
    const { problem, waiting } = await one.send();
    assert.deepEqual({ problem, waiting }, { problem: "collector must take reports, got status 200", waiting: 1 });
    assert.equal(one.status().waiting, 1);
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
  one.queue(5);
  const { refused, waiting, problem } = await one.send();
  assert.deepEqual([waiting, problem], [0, undefined]);
  assert.equal(refused[0].reason, "too late");
  assert.deepEqual(one.status().refused, { refused: 1 });
  await one.send();
  assert.equal(requests.length, 1);
});

test("many reports go in batches, and two sendings at once are one", async () => {
  const one = client({ batch: 4 });
  for (let i = 0; i < 10; i++) one.queue(i);
  const [first, second] = await Promise.all([one.send(), one.send()]);
  assert.equal(first, second);
  assert.equal(first.accepted, 10);
  assert.deepEqual(requests.map(({ records }) => records.length), [4, 4, 2]);
  assert.equal(new Set(requests.flatMap(({ records }) => records.map(hex))).size, 10);
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
  answers = [(records) => (one.queue(2), accept(records)), fail(503)];
  one.queue(1);
  const { accepted, waiting } = await one.send();
  assert.deepEqual({ accepted, waiting }, { accepted: 1, waiting: 1 });
  assert.equal(one.status().waiting, 1);
  assert.equal((await one.send()).accepted, 1);
});
