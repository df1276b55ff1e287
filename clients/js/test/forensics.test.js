/**
 * What a device keeps, draws, sends and shows; and clients that leave something behind, which `forensics.js` must find.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { getHeapSnapshot } from "node:v8";
import { runInThisContext } from "node:vm";

import { storage, surveys, texts } from "./vectors.js";
import { lookAtState, taken } from "./forensics.js";
import * as minified from "../deniable.min.js";
import { wordsOf } from "../src/key.js";
import { osEntropy } from "../src/noise.js";
import { Client, readSurvey } from "../src/node.js";

const KEY = "deniable-client/1";
const OPEN = texts["orappor, folded"];
const url = "http://collector.example";

/** Run with another generator, whose bytes a seed fixes. */
function seeded(seed, work) {
  const real = crypto.getRandomValues;
  let state = seed * 7919;
  crypto.getRandomValues = (array) => {
    for (let i = 0; i < array.length; i++) {
      state = (Math.imul(state, 1664525) + 1013904223) | 0;
      array[i] = state >>> 24;
    }
    return array;
  };
  try {
    return work();
  } finally {
    crypto.getRandomValues = real;
  }
}

/** Run with another `fetch`, which acknowledges everything after `look`. */
async function acknowledging(look, work) {
  const real = globalThis.fetch;
  globalThis.fetch = async (place, { body }) => {
    await look(place, body);
    return new Response(JSON.stringify({ accepted: 1, duplicate: 0, refused: [] }));
  };
  try {
    return await work();
  } finally {
    globalThis.fetch = real;
  }
}

for (const [name, Made] of [
  ["sources", Client],
  ["minified", minified.Client],
])
  for (const memoize of [true, false])
    test(`the same report leaves the same bytes everywhere: ${name}, ${memoize ? "memoised" : "fresh"}`, async () => {
      let met = 0;
      for (let seed = 1; seed < 40; seed++) {
        const runs = [];
        for (const answer of ["yes", "no"]) {
          const kept = storage();
          const stores = [];
          const look = () => stores.push(JSON.stringify([...kept.items]));
          const client = seeded(seed, () => new Made(texts.warner, { storage: kept, memoize }));
          look();
          const { payload } = seeded(seed + 1000, () => client.queue(answer));
          look();
          // A report that is handed over leaves no more than one that waits.
          const handed = seeded(seed + 1000, () => client.report(answer));
          assert.deepEqual(handed.payload, payload);
          look();
          await acknowledging(
            (place, body) => stores.push(`${place} ${body}`),
            () => client.send(url),
          );
          look();
          runs.push({ payload: String(payload), stores });
          assert.ok(
            stores[1].includes("outbox") && !stores[4].includes(`01${client.survey.digest.slice(0, 16)}`),
            "once acknowledged it is gone",
          );
        }
        if (runs[0].payload !== runs[1].payload) continue;
        met++;
        assert.deepEqual(runs[0].stores, runs[1].stores);
      }
      assert.ok(met >= (memoize ? 5 : 0));
    });

/** A word that stands in no source and no table: it is put together from numbers each time. */
const canary = () =>
  Array.from({ length: 30 }, (_, i) => String.fromCharCode(97 + ((i * i * 7 + i * 3 + 5) % 26))).join("");

async function heap() {
  const parts = [];
  for await (const part of getHeapSnapshot()) parts.push(part);
  return Buffer.concat(parts.map((part) => Buffer.from(part)));
}

/** Whether the answer is anywhere in the memory of this process while its report is on its way. */
async function remembered(Made, options, way = "queue") {
  const client = new Made(OPEN, options);
  // In a function of its own, so that no frame of this one holds it.
  (() => client[way](canary()))();
  if (way === "report") return (await heap()).includes(canary());
  let found;
  await acknowledging(
    async () => (found = await heap()),
    () => client.send(url),
  );
  return found.includes(canary());
}

test("no answer is in memory once its report is made, nor while that is sent", { timeout: 300_000 }, async () => {
  assert.equal(await remembered(Client, {}), false);
  assert.equal(await remembered(minified.Client, { memoize: false }), false);
  assert.equal(await remembered(Client, { memoize: false }, "report"), false);
  class Keeps extends Client {
    constructor(...given) {
      super(...given);
      const { queue } = this;
      let last;
      this.queue = (value) => {
        last = value;
        return queue(value);
      };
      this.last = () => last;
    }
  }
  assert.equal(await remembered(Keeps, {}), true, "one that keeps it is found out");
});

test("a report that was acknowledged is no longer in memory", { timeout: 300_000 }, async () => {
  for (const Made of [Client, minified.Client]) {
    const client = new Made(OPEN);
    const record = new RegExp(`[0-9a-f]{32}01${client.survey.digest.slice(0, 16)}`);
    const waits = async () => record.test((await heap()).toString("latin1"));
    (() => client.queue("a"))();
    assert.equal(await waits(), true, "until then it waits there");
    await acknowledging(
      () => {},
      () => client.send(url),
    );
    assert.equal(await waits(), false);
    assert.equal(client.status().waiting, 0);
  }
});

/** The answer as bytes, its cells and its permanent response: those that are still held after its report was made. */
async function held(Made, read, title, options, way, also = () => {}) {
  const survey = read(texts[title]);
  const refs = {};
  const note = (name, object) => {
    refs[name] = new WeakRef(object);
    return object;
  };
  const { encoding, mechanism } = survey;
  const client = new Made(
    {
      ...survey,
      encoding: { ...encoding, of: (cohort, value) => note("cells", encoding.of(cohort, value)) },
      // Under another name in the minified file, and then it is not asked for.
      mechanism: { ...mechanism, randomize: (...given) => note("permanent", mechanism.randomize(...given)) },
    },
    options,
  );
  await (() => client[way](also(note("answer", Uint8Array.of(1, 2, 3))) ?? refs.answer.deref()))();
  // What was looked at in this turn is kept until the next one.
  await new Promise((resolve) => setImmediate(resolve));
  await heap();
  assert.ok(client.status().spent > 0);
  return Object.keys(refs).filter((name) => refs[name].deref());
}

test("the answer, its cells and its permanent response are let go of when the report is made", {
  timeout: 300_000,
}, async () => {
  const key = await wordsOf(await crypto.subtle.generateKey({ name: "HMAC", hash: "SHA-256" }, false, ["sign"]));
  for (const way of ["queue", "report"]) {
    for (const options of [{}, { memoize: false }, { key }])
      assert.deepEqual(await held(Client, readSurvey, "orappor, folded", options, way), []);
    assert.deepEqual(await held(minified.Client, minified.readSurvey, "orappor, folded", {}, way), []);
  }
  const kept = [];
  assert.deepEqual(
    await held(Client, readSurvey, "orappor, folded", {}, "queue", (value) => void kept.push(value)),
    ["answer"],
    "one that keeps it is found out",
  );
});

test("a client, its reports and its status have these fields, and nothing is added to the platform", async () => {
  const listed = (object) => Reflect.ownKeys(object).map(String).sort();
  const before = listed(globalThis);
  for (const Made of [Client, minified.Client])
    for (const memoize of [true, false]) {
      const client = new Made(texts.warner, { memoize });
      for (const way of ["queue", "report"])
        assert.deepEqual(listed(client[way]("yes")), ["cohort", "pack", "payload"]);
      assert.deepEqual(listed(client), ["queue", "report", "send", "status", "survey", "toString"]);
      assert.deepEqual(listed(client.status()), [
        "cohort",
        "refused",
        "spent",
        "totalSpent",
        "totalWorst",
        "waiting",
        "worst",
      ]);
      await acknowledging(
        () => {},
        async () => {
          const told = await client.send(url);
          assert.deepEqual(listed(told), ["accepted", "duplicate", "refused", "waiting"]);
        },
      );
    }
  assert.deepEqual(listed(globalThis), before);
});

test("every way of answering is charged, once, before its report is handed over", () => {
  for (const title of ["warner", "krr, again", "orr, open", "oue, again"])
    for (const Made of [Client, minified.Client])
      for (const memoize of [true, false])
        for (const way of ["report", "queue"]) {
          const kept = storage();
          const client = new Made(texts[title], { storage: kept, memoize });
          const value = { warner: "yes", "krr, again": 7, "oue, again": 7 }[title] ?? "a";
          for (let count = 1; count <= 3; count++) {
            client[way](value);
            const { made, spent } = JSON.parse(kept.getItem(KEY).slice(64))[client.survey.digest];
            assert.deepEqual(made, memoize ? [count, 0] : [0, count]);
            const each = Math.ceil(1e9 * Number(surveys[title].epsilonReport));
            assert.equal(
              spent[0],
              memoize ? Math.min(count * each, Math.ceil(1e9 * Number(surveys[title].epsilon))) : count * each,
            );
            assert.ok(spent[1] >= spent[0]);
          }
        }
});

// Clients with a fault: each does what it must not as the sources would, in a function that stands in `src/`.
const inSources = (code) => runInThisContext(code, { filename: "file:///clients/js/src/fault.js" });

const FAULTS = {
  "Math.random": async () => {
    const random = inSources("(() => Math.random())");
    new Client(texts.warner, {
      memoize: false,
      entropy: { width: 64, word: () => BigInt(Math.floor(random() * 2 ** 53)) << 11n },
    }).report("yes");
  },
  console: async () => inSources("((value) => console.debug(value))")("yes"),
  emitWarning: async () => inSources("((value) => process.emitWarning(value, { type: 'DeprecationWarning' }))")("yes"),
  mark: async () => inSources("((value) => performance.mark(value))")("yes"),
  measure: async () => inSources("((value) => performance.measure(value))")("yes"),
  WebSocket: async () => inSources("(() => globalThis.WebSocket?.name)")(),
  sessionStorage: async () => inSources("((value) => globalThis.sessionStorage?.setItem('x', value))")("yes"),
  navigator: async () => inSources("((value) => globalThis.navigator?.sendBeacon?.('/', value))")("yes"),
  output: async () => inSources("((value) => process.stderr.write(value))")(""),
};

test("what the client must not do is found out", async () => {
  for (const [name, fault] of Object.entries(FAULTS)) {
    await fault();
    assert.ok(taken().includes(name), name);
  }
  const entry = { cohort: 0, made: [0, 1], spent: [1, 1], outbox: {} };
  const record = `${"00".repeat(16)}01${"00".repeat(10)}`;
  const digest = "ab".repeat(32);
  for (const [state, found] of [
    [{ [digest]: { ...entry, cells: [3] } }, "a field cells in the state"],
    [{ [digest]: { ...entry, made: [0, 1, 3] } }, "a field made in the state"],
    [{ [digest]: { ...entry, outbox: { [record]: "2026-11-16T12:00" } } }, "a field outbox in the state"],
    [{ [digest]: { ...entry, outbox: { [record]: 1.5 } } }, "a field outbox in the state"],
    [{ [digest]: entry, last: { outbox: {}, made: [], spent: [] } }, "a field last in the state"],
    [{ [digest]: { ...entry, made: [0, 0], outbox: { [record]: 20_000 } } }, "a report without a charge"],
    [{ [digest]: entry, secret: "rosebud" }, "a secret of another shape"],
  ]) {
    lookAtState("0".repeat(64) + JSON.stringify(state));
    assert.ok(taken().includes(found), found);
  }
});

test("a request that says more is found out", async () => {
  const options = {
    method: "POST",
    headers: { "Content-Type": "application/octet-stream" },
    body: new Uint8Array(1),
    cache: "no-store",
    credentials: "omit",
    redirect: "manual",
    referrerPolicy: "no-referrer",
    signal: AbortSignal.timeout(1e5),
  };
  const place = `${url}/v1/surveys/${surveys.warner.digest}/reports?day=20000`;
  const send = inSources("((place, options) => fetch(place, options))");
  await acknowledging(
    () => {},
    async () => {
      await send(place, options);
      assert.deepEqual(taken(), []);
      for (const change of [
        { credentials: "include" },
        { credentials: undefined },
        { redirect: "follow" },
        { referrerPolicy: "origin" },
        { cache: "default" },
        { keepalive: true },
        { priority: "low" },
        { signal: undefined },
        { body: "answer" },
        { headers: { ...options.headers, Date: "now" } },
        { headers: { ...options.headers, "X-Time": "now" } },
        { headers: {} },
      ]) {
        await send(place, { ...options, ...change });
        assert.equal(taken().length, 1, JSON.stringify(change));
      }
      for (const more of ["&answer=yes", "#x", "/x"]) {
        await send(place + more, options);
        assert.equal(taken().length, 1, more);
      }
    },
  );
});

test("every test file is watched", async () => {
  const { readdirSync, readFileSync } = await import("node:fs");
  const here = new URL(".", import.meta.url);
  for (const name of readdirSync(here).filter((one) => /\.test\.js$/.test(one)))
    assert.match(readFileSync(new URL(name, here), "utf8"), /(from|import) "\.\/(vectors|law|small)\.js"/, name);
  assert.ok(osEntropy.word() >= 0n);
});
