/** The device's client: its state, its ledger, and what it refuses and never shows. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";

import * as minified from "../deniable.min.js";
import { Client, DeniableError, readSurvey } from "../src/node.js";
import { smallKrr } from "./small.js";
import { hex, scripted, storage, surveys, texts } from "./vectors.js";

const BLOOM = texts["orappor, open"];
const KEY = "deniable-client/1";
const wire = (client, value) => hex(client.report(value).pack());

test("the same answer gives the same bytes, also after a restart", () => {
  const kept = storage();
  const first = new Client(BLOOM, { storage: kept });
  const sent = ["rosebud", 42, new Uint8Array([255])].map((value) => wire(first, value));
  for (let restart = 0; restart < 3; restart++) {
    const again = new Client(BLOOM, { storage: kept });
    assert.equal(again.status().cohort, first.status().cohort);
    assert.deepEqual(
      ["rosebud", 42n, new Uint8Array([255])].map((value) => wire(again, value)),
      sent,
    );
  }
});

test("two devices share nothing", () => {
  const made = new Set(Array.from({ length: 20 }, () => wire(new Client(texts["krappor, counted"]), 5)));
  // Twenty bits at epsilon 1: two devices agree with probability below 1e-3, twenty of them never do.
  assert.ok(made.size > 15);
});

test("secret and cohort are drawn as in Python: the cohort first, then four words", () => {
  const kept = storage();
  const entropy = scripted([7n, 1n, 2n, 3n, 2n ** 64n - 1n]);
  const client = new Client(BLOOM, { storage: kept, entropy });
  assert.equal(entropy.left(), 0);
  assert.equal(client.status().cohort, 7);
  const { secret } = JSON.parse(kept.getItem(KEY).slice(64));
  assert.equal(secret, "0100000000000000" + "0200000000000000" + "0300000000000000" + "ffffffffffffffff");
});

test("an id is 128 fresh bits and nothing else", () => {
  const real = crypto.getRandomValues;
  const drawn = [];
  crypto.getRandomValues = (bytes) => {
    real.call(crypto, bytes);
    drawn.push(hex(bytes));
    return bytes;
  };
  try {
    for (const memoize of [true, false]) {
      const kept = storage();
      const client = new Client(texts["orr, closed"], { storage: kept, memoize });
      for (let number = 1; number < 9; number++) {
        drawn.length = 0;
        client.queue(5);
        const { outbox } = JSON.parse(kept.getItem("deniable-client/1").slice(64))[client.survey.digest];
        const ids = Object.keys(outbox).map((record) => record.slice(0, 32));
        assert.equal(ids.length, number);
        assert.equal(drawn.filter((bytes) => ids.includes(bytes)).length, 1, "one draw of 16 bytes, as it is");
      }
    }
  } finally {
    crypto.getRandomValues = real;
  }
});

test("a device that does not memoise keeps its cohort and its ledger, too", () => {
  const kept = storage();
  const first = new Client(BLOOM, { storage: kept, memoize: false }).status().cohort;
  for (let made = 0; made < 20; made++) {
    // One of many cohorts: drawn anew twenty times it would hardly ever be the same.
    const client = new Client(BLOOM, { storage: kept, memoize: false });
    assert.equal(client.status().cohort, first);
    assert.equal(client.status().worst, made * Number(client.survey.epsilon));
    client.report("a");
  }
});

test("a client in memory says so, and one with a storage too", () => {
  assert.equal(String(new Client(texts.warner)), "<Client of survey 18ca4d86, memoised, in memory only>");
  const kept = new Client(texts.warner, { storage: storage(), memoize: false });
  assert.equal(inspect(kept), "<Client of survey 18ca4d86, not memoised, in its storage>");
});

test("no answer is kept or shown anywhere", () => {
  const answers = ["rosebud", 123456789, new TextEncoder().encode("rosebud")];
  // An answer that throws itself when it is looked at, and one whose bytes throw.
  const proxy = new Proxy(
    {},
    {
      getPrototypeOf() {
        throw new Error("rosebud");
      },
    },
  );
  const bytes = Object.assign(new Uint8Array(2), {
    [Symbol.iterator]() {
      throw new Error("rosebud");
    },
  });
  answers.push(proxy, bytes);
  for (const text of Object.values(texts)) {
    for (const answer of answers) {
      const kept = storage();
      const client = new Client(text, { storage: kept });
      let shown = "";
      try {
        const report = client.report(answer);
        shown += inspect(report, { depth: 9, showHidden: true }) + JSON.stringify(report);
      } catch (problem) {
        const refusals = ["AlphabetError", ...(client.survey.every > 1 ? ["ParticipationError"] : [])];
        assert.ok(refusals.includes(problem.name));
        shown += inspect(problem, { depth: 9, showHidden: true }) + problem.stack;
        assert.equal(problem.cause, undefined);
      }
      shown += String(client) + inspect(client) + [...kept.items].join();
      for (const trace of ["rosebud", "123456789", "cm9zZWJ1ZA", hex(answers[2])]) assert.ok(!shown.includes(trace));
    }
  }
});

test("what is no symbol is refused without being shown, unless there is a catch-all", () => {
  const wrong = [
    null,
    undefined,
    true,
    1.5,
    NaN,
    2 ** 53,
    10n ** 80n,
    "\ud800",
    "a\udc00b",
    {},
    [],
    Symbol("x"),
    () => 1,
  ];
  const open = new Client(BLOOM);
  const caught = new Client(texts["krr, catch-all"]);
  const sentence = {
    name: "AlphabetError",
    message: "symbol must be well-formed text, an exact integer or bytes, and one the survey takes",
  };
  for (const value of wrong) {
    assert.throws(() => open.report(value), sentence);
    assert.equal(caught.report(value).payload.length, 1);
  }
  assert.throws(() => new Client(texts.krr).report("kiwi"), sentence);
  assert.ok(new Client(texts.krr).report(2n ** 60n));
  assert.ok(new Client(texts.krr).report("cafe\u0301"));
});

test("a damaged, foreign or lost state stops the client and shows nothing of it", () => {
  const sentence = {
    name: "StateError",
    message: "client state must be whole and its own; restore it, or clear it and let reports add up",
  };
  const kept = storage();
  const client = new Client(BLOOM, { storage: kept });
  const good = kept.getItem(KEY);
  const { secret } = JSON.parse(good.slice(64));
  const refused = (text) => {
    kept.setItem(KEY, text);
    for (const action of [() => new Client(BLOOM, { storage: kept }), () => client.report("a"), () => client.status()])
      assert.throws(action, (problem) => {
        assert.ok(!inspect(problem, { depth: 9 }).includes(secret));
        assert.equal(problem.cause, undefined);
        return problem.name === sentence.name && problem.message === sentence.message;
      });
    assert.equal(kept.getItem(KEY), text);
  };
  for (const text of ["", "null", "{}", "[]", `${good} `, good.slice(1), "[".repeat(10_000)]) refused(text);
  for (let at = 0; at < good.length; at += 7) refused(good.slice(0, at));
  for (let at = 0; at < good.length; at += 5)
    refused(good.slice(0, at) + String.fromCharCode(good.charCodeAt(at) ^ 1) + good.slice(at + 1));
  kept.items.clear();
  assert.throws(() => client.report("a"), sentence);
  new Client(texts.warner, { storage: kept });
  assert.throws(() => client.report("a"), sentence);
  kept.items.clear();
  new Client(BLOOM, { storage: kept });
  assert.throws(() => client.report("a"), sentence, "another device of the same survey");
  kept.setItem(KEY, good);
  assert.ok(client.report("a"));
});

test("a storage that does not keep the state makes no report", () => {
  const sentence = { name: "StateError", message: "storage must keep the client state" };
  const full = {
    getItem: () => null,
    setItem() {
      throw new Error("quota");
    },
  };
  assert.throws(() => new Client(BLOOM, { storage: full }), sentence);
  const kept = storage();
  const client = new Client(BLOOM, { storage: kept });
  kept.setItem = () => {};
  assert.throws(() => client.report("a"), sentence);
});

test("words of another width are refused", () => {
  const client = new Client(texts.warner, { memoize: false, entropy: scripted([0, 0], 8) });
  assert.throws(() => client.report("yes"), { name: "StateError", message: "entropy must give 64-bit words, got 8" });
  const small = { ...surveys.warner, mechanism: { ...surveys.warner.mechanism, width: 8 } };
  assert.throws(() => new Client(small).report("yes"), { message: "entropy must give 8-bit words, got 64" });
  const entropy = { width: 8, word: () => 0n };
  assert.throws(() => new Client(smallKrr(2, "1", 8), { entropy }).report(1), {
    message: "entropy must give 8-bit words, got 64",
  });
  const again = new Client(texts["warner, again"], { entropy });
  assert.throws(() => again.report("yes"), { message: "entropy must give 64-bit words, got 8" }, "of the second stage");
});

test("the ledger adds up every report, and what a memoised survey can say at most", () => {
  const kept = storage();
  const fresh = new Client(texts.krr, { storage: kept, memoize: false });
  for (let i = 1; i <= 10; i++) {
    fresh.report(7);
    assert.equal(fresh.status().worst, i / 10);
  }
  assert.equal(fresh.status().totalWorst, 1);
  const memoised = new Client(texts.warner, { storage: kept });
  for (const expected of [1, 2, 2, 2]) {
    memoised.report("yes");
    assert.equal(memoised.status().worst, expected);
  }
  assert.deepEqual(memoised.status(), {
    cohort: 0,
    waiting: 0,
    refused: {},
    spent: 1,
    worst: 2,
    totalSpent: 2,
    totalWorst: 3,
  });
  const open = new Client(texts["orr, open"], { storage: kept });
  for (let i = 0; i < 20; i++) open.report("a");
  assert.equal(open.status().worst, 16, "eight cells at epsilon 2");
  const bloom = new Client(BLOOM, { storage: kept });
  for (let i = 0; i < 20; i++) bloom.report("a");
  assert.equal(bloom.status().worst, 40);
  const third = new Client(texts["warner, own words"], { storage: kept });
  third.report("ja");
  assert.equal(third.status().worst, 0.333333334, "rounded up");
  assert.equal(third.status().totalWorst, 59.333333334);
  assert.equal(third.status().totalSpent, 1 + 1 + 2 + 2 + 0.333333334);
});

test("the ledger of two stages is Python's: each report its own epsilon, up to the lifetime's", () => {
  // Python's: Account(epsilon=2, epsilon_report=1/2, answers=5).
  const client = new Client(texts["krr, again"]);
  const seen = Array.from({ length: 25 }, () => {
    client.report(7);
    const { spent, worst } = client.status();
    return [spent, worst];
  });
  assert.deepEqual(seen.slice(0, 5), [
    [0.5, 0.5],
    [1, 1],
    [1.5, 1.5],
    [2, 2],
    [2, 2.5],
  ]);
  assert.deepEqual(seen.slice(18), [[2, 9.5], ...Array(6).fill([2, 10])]);
  const kept = storage();
  new Client(texts["krr, again"], { storage: kept }).report(7);
  const fresh = new Client(texts["krr, again"], { storage: kept, memoize: false });
  for (let i = 0; i < 8; i++) fresh.report(7);
  assert.deepEqual(fresh.status(), {
    cohort: 0,
    waiting: 0,
    refused: {},
    spent: 4.5,
    worst: 4.5,
    totalSpent: 4.5,
    totalWorst: 4.5,
  });
});

test("reports of a chained survey differ, and come from one permanent response", () => {
  const client = new Client(texts["oue, again"]);
  const sent = Array.from({ length: 300 }, () => client.report(7).payload);
  assert.ok(new Set(sent.map(hex)).size > 200);
  // A permanent bit is flipped with one chance q, about 0.2: 300 reports are within 8 standard errors of q, or of 1 -
  // q. Drawn anew for each report, the bit of the answer would be set half of the time.
  const q = Number(surveys["oue, again"].mechanism.thresholds.report_flip) / 2 ** 64;
  for (let cell = 0; cell < 20; cell++) {
    const share = sent.filter((payload) => (payload[cell >> 3] >> (cell & 7)) & 1).length / 300;
    assert.ok(Math.min(Math.abs(share - q), Math.abs(share - 1 + q)) < 0.19, `${share} at ${cell}`);
  }
});

test("a cap refuses before it looks at the answer, and a refused report costs nothing", () => {
  const client = new Client(texts.krr, { memoize: false, hardCap: 0.3 });
  for (let i = 0; i < 3; i++) client.report(7);
  const sentence = { name: "BudgetError", message: "hardCap must not be exceeded, got 0.4 of 0.3; ask no more" };
  for (const value of [7, "kiwi", null]) assert.throws(() => client.report(value), sentence);
  assert.equal(client.status().worst, 0.3);
  const unsent = new Client(texts.krr, { hardCap: 0.1 });
  assert.throws(() => unsent.report("kiwi"), { name: "AlphabetError" });
  assert.equal(unsent.status().worst, 0);
  const same = new Client(texts.krr, { cap: 0.1, hardCap: 0.3 });
  for (let i = 0; i < 3; i++) same.report(7);
  assert.throws(() => same.report(7), { message: "hardCap must not be exceeded, got 0.4 of 0.3; ask no more" });
  const kept = storage();
  new Client(texts.warner, { storage: kept }).report("yes");
  assert.throws(() => new Client(texts.krr, { storage: kept, cap: 1 }).report(7), {
    message: "cap must not be exceeded, got 1.1 of 1; ask no more",
  });
  for (const wrong of [NaN, -1, "x"])
    for (const name of ["cap", "hardCap"])
      assert.throws(() => new minified.Client(texts.krr, { [name]: wrong }), {
        name: "ArgumentError",
        message: `${name} must be a number above 0, got ${wrong}`,
      });
});

test("surveys come as text, as an object, or read before; errors are of one class", () => {
  for (const given of [texts.warner, JSON.parse(texts.warner), readSurvey(texts.warner)])
    assert.equal(new Client(given).survey.digest, surveys.warner.digest);
  for (const wrong of ["", "{", "[]", "null", 5, {}, [], true])
    assert.throws(
      () => new Client(wrong),
      (problem) => problem instanceof DeniableError && problem.name === "SurveyError",
    );
});

test("a report has its cohort and payload, and packs to what a report is", () => {
  const report = new Client(texts["orr, closed"]).report(3);
  assert.deepEqual(Object.keys(report), ["cohort", "payload", "pack"]);
  assert.equal(report.pack().length, 12);
  assert.equal(hex(report.pack()).slice(0, 18), `01${surveys["orr, closed"].digest.slice(0, 16)}`);
});
