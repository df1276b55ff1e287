/** The answer page: symbols and reports as bytes, and what it says of them. */

import "./english.mjs";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { thisWindow } from "../../clients/js/src/participation.js";
import { Client, readSurvey } from "../../src/deniable/service/pages/deniable.min.js";
import { beginning, keeping, windowAt } from "../../src/deniable/service/pages/kept.js";
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

test("where there will be a next answer, it says when", () => {
  const again = { window: "week", next: new Date("2096-11-23T00:00Z") };
  const [said, kind] = ending("sent", n(1), again);
  assert.equal(kind, "good");
  assert.match(
    said,
    /^Thank you\. Your answer is counted, and nobody knows it\. You have answered this week; the next /,
  );
  assert.match(said, /answer is taken from 2[23] November 2096 at \d\d:\d\d, on this device's clock\.$/);
  assert.match(ending("sent", n(1), { ...again, window: "day" })[0], /You have answered today; /);
  assert.match(ending("sent", n(1), { ...again, window: "hour" })[0], /You have answered this hour; /);
  assert.deepEqual(ending("refused", n(1), again), ending("refused", n(1)));
  const now = { ...again, next: new Date("2026-11-16T00:00Z") };
  assert.match(
    ending("sent", n(1), now)[0],
    /nobody knows it\. That was rolled in an earlier week; load this page again to answer for this week\.$/,
  );
});

test("why there was no roll is told by the kind of the error alone", () => {
  assert.equal(
    notRolled("AlphabetError"),
    "Nothing was sent: this survey cannot take what is written there. Write it in another way.",
  );
  assert.equal(
    notRolled("ParticipationError"),
    "Nothing was sent: this browser has answered already, or its clock is wrong. Set the clock, or come back later.",
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

test("what is kept from one window to the next is said", () => {
  const said = (again) => explanation(n(1), { window: "day" }, again).flat().join("\n");
  assert.ok(said("day").includes("This page sends one report a day."));
  assert.ok(said("hour").includes("This page sends one report an hour."));
  assert.ok(said("day").includes("a secret of its own and the day in which it last answered."));
  assert.ok(said("day").includes("may see when your answer changed."));
  assert.ok(!said("day").includes("learns no more than the collector"));
  assert.ok(said().includes("This page sends one report. "));
  assert.ok(!/secret|changed/.test(said()));
});

test("answers that share a box share their noise, and it is said how many can show", () => {
  const boxes = n(1, { cells: 4, hashes: 1, cohorts: 64 });
  const said = (numbers) => explanation(numbers, { window: "day" }, "day").flat().join("\n");
  assert.ok(
    said(boxes).includes("Answers in one box share it, so however often yours changes, no more than 4 different"),
  );
  for (const none of [{ named: true }, { block: 1 }, { hashes: 2 }])
    assert.ok(!said({ ...boxes, ...none }).includes("in one box"));
});

test("windows are those of the client", () => {
  const real = Date.now;
  try {
    for (const time of ["2026-11-15T23:59:59Z", "2026-11-16T00:00Z", "2026-12-31T23:00Z", "2027-01-01T00:00Z"])
      for (const kind of ["hour", "day", "week"]) {
        Date.now = () => Date.parse(time);
        const number = windowAt(kind, Date.now());
        assert.equal(number, thisWindow(kind));
        assert.ok(beginning(kind, number) <= Date.now() && beginning(kind, number + 1) > Date.now());
        assert.equal(windowAt(kind, beginning(kind, number)), number);
      }
  } finally {
    Date.now = real;
  }
});

/** A page that keeps in this storage, on a day; and a client of it. */
function opened(items, window, time, survey, every) {
  globalThis.localStorage = {
    getItem: (name) => items.get(name) ?? null,
    setItem: (name, text) => items.set(name, text),
  };
  Date.now = () => Date.parse(time);
  const kept = keeping(survey.digest);
  kept.byWindow(window, every);
  return { kept, client: new Client(survey, { storage: kept.storage, memoize: Boolean(window) }) };
}

const vectors = JSON.parse(readFileSync(new URL("../vectors/surveys.json", import.meta.url), "utf8"));
const surveyOf = (title) => readSurvey(vectors.find((row) => row.title === title).text);
const answerIn = async ({ kept, client }, how, value = "yes") => {
  await kept.roll(() => client.queue(value));
  const { record } = kept.read();
  kept.send();
  globalThis.fetch = async () => Response.json(how);
  await client.send("http://collector.example");
  return record;
};
const TAKEN = { accepted: 1, duplicate: 0, refused: [] };

test("a page keeps a window's number and no report, and asks again in the next", async () => {
  const [real, fetched] = [Date.now, globalThis.fetch];
  const [survey, items] = [surveyOf("warner, once a day"), new Map()];
  try {
    const first = opened(items, "day", "2026-11-18T14:30Z", survey);
    assert.equal(first.kept.read(), null);
    assert.equal(items.size, 0, "nothing before the first roll");
    const record = await answerIn(first, TAKEN);
    first.kept.finish(first.kept.read().done);
    assert.deepEqual(first.kept.read(), { done: "sent", next: new Date("2026-11-19T00:00Z") });
    const [text] = [...items.values()];
    assert.ok(!text.includes(record.slice(32)), "the report is gone");
    const { [survey.digest]: left, secret } = JSON.parse(JSON.parse(text).state.slice(64));
    assert.deepEqual(Object.keys(left).sort(), ["cohort", "made", "outbox", "refused", "spent", "unknown", "window"]);
    assert.deepEqual([left.window, left.outbox], [20775, {}]);
    assert.equal(secret.length, 64);
    assert.throws(() => first.client.queue("yes"), { name: "ParticipationError" });
    const reloaded = opened(items, "day", "2026-11-18T23:59Z", survey).kept;
    assert.deepEqual([reloaded.read().done, reloaded.isOpen()], ["sent", false], "a reload");
    const back = opened(items, "day", "2026-11-17T12:00Z", survey).kept;
    assert.deepEqual([back.read().done, back.isOpen()], ["sent", false], "a clock that went back");
    const second = opened(items, "day", "2026-11-19T00:00Z", survey);
    assert.ok(second.kept.isOpen());
    await answerIn(second, { accepted: 0, duplicate: 0, refused: [{ index: 0, id: "x", reason: "late" }] });
    second.kept.finish(second.kept.read().done);
    assert.equal(second.kept.read().done, "refused");
    const third = opened(items, "day", "2026-11-20T00:00Z", survey);
    assert.ok(third.kept.isOpen(), "a refusal of one day is not that of the next");
    await answerIn(third, TAKEN);
    assert.equal(third.kept.read().done, "sent");
    third.kept.finish("closed");
    assert.deepEqual(JSON.parse([...items.values()][0]), { done: "closed" }, "where it is over, nothing is left");
  } finally {
    [Date.now, globalThis.fetch] = [real, fetched];
    delete globalThis.localStorage;
  }
});

test("a page keeps its turn from the first visit on, and asks in one window of seven", async () => {
  const [real, fetched] = [Date.now, globalThis.fetch];
  const [survey, items] = [surveyOf("krr, one day in seven"), new Map()];
  const day = (number) => new Date(864e5 * number).toISOString();
  try {
    const first = opened(items, "day", day(20775), survey, 7);
    const { turn } = JSON.parse(JSON.parse([...items.values()][0]).state.slice(64))[survey.digest];
    const own = 20775 + ((turn + 7 - (20775 % 7)) % 7);
    assert.equal(first.kept.isOpen(), own === 20775);
    for (let number = 20775; number < own; number++) {
      const { kept, client } = opened(items, "day", day(number), survey, 7);
      assert.deepEqual([kept.read(), kept.isOpen()], [{ done: "turn", next: new Date(864e5 * own) }, false]);
      assert.throws(() => client.queue("apple"), { name: "ParticipationError" });
      const before = [...items.values()][0];
      kept.finish("turn");
      assert.equal([...items.values()][0], before, "it waits for its turn, whatever is said of it");
    }
    for (const at of [own, own + 14]) {
      const page = opened(items, "day", day(at), survey, 7);
      assert.ok(page.kept.isOpen());
      await answerIn(page, TAKEN, "apple");
      page.kept.finish(page.kept.read().done);
      assert.deepEqual(page.kept.read(), { done: "sent", next: new Date(864e5 * (at + 7)) });
      const [text] = [...items.values()];
      assert.equal(JSON.parse(JSON.parse(text).state.slice(64)).secret, undefined, "nothing repeats its noise");
      const later = opened(items, "day", day(at + 9), survey, 7).kept;
      assert.deepEqual(
        [later.read(), later.isOpen()],
        [{ done: "sent", next: new Date(864e5 * (at + 14)) }, false],
        "a turn that was missed does not make another window its turn",
      );
    }
    const next = new Date("2096-11-23T00:00Z");
    const n3 = { odds: 3, lifetime: 3, cohorts: 1, cells: 5 };
    assert.deepEqual(ending("turn", n3, { window: "day", next, every: 7 }), [
      "It is not this browser's turn. This browser answers in one day of 7, drawn by chance; its next turn begins on " +
        `${ending("sent", n3, { window: "day", next })[0].match(/taken from (.*), on/)[1]}` +
        ", on this device's clock.",
    ]);
    const said = explanation(n3, { window: "day" }, "day", 7).flat().join("\n");
    assert.match(said, /This page sends one report in one day of 7\./);
    assert.match(said, /after k turns, k times epsilon\./);
    assert.doesNotMatch(said, /the same noise each time/);
  } finally {
    [Date.now, globalThis.fetch] = [real, fetched];
    delete globalThis.localStorage;
  }
});

test("what was rolled in one window and is sent in the next has not been lost", async () => {
  const [real, fetched] = [Date.now, globalThis.fetch];
  const [survey, items] = [surveyOf("warner, once a day"), new Map()];
  try {
    const first = opened(items, "day", "2026-11-18T23:59Z", survey);
    globalThis.fetch = async () => Promise.reject(new TypeError("offline"));
    await first.kept.roll(() => first.client.queue("yes"));
    const { record } = first.kept.read();
    first.kept.send();
    await first.client.send("http://collector.example");
    assert.equal(first.kept.read().record, record);
    const second = opened(items, "day", "2026-11-19T00:01Z", survey);
    assert.ok(!second.kept.isOpen(), "there is no second roll while one waits");
    assert.equal(second.kept.read().record, record);
    globalThis.fetch = async () => Response.json(TAKEN);
    await second.client.send("http://collector.example");
    const ended = second.kept.read();
    assert.deepEqual(ended, { done: "sent", next: new Date("2026-11-19T00:00Z") });
    second.kept.finish(ended.done);
    assert.ok(![...items.values()].join().includes(record.slice(32)));
    assert.ok(second.kept.isOpen(), "and this window has no answer yet");
  } finally {
    [Date.now, globalThis.fetch] = [real, fetched];
    delete globalThis.localStorage;
  }
});

test("a survey that is answered once keeps no secret, and after it nothing but how it ended", async () => {
  const [real, fetched] = [Date.now, globalThis.fetch];
  const [survey, items] = [surveyOf("warner"), new Map()];
  try {
    const page = opened(items, undefined, "2026-11-18T14:30Z", survey);
    await answerIn(page, TAKEN);
    assert.deepEqual(page.kept.read(), { done: "sent" });
    assert.ok(!page.kept.isOpen());
    assert.equal(page.kept.secret(), undefined);
    page.kept.finish("sent");
    assert.deepEqual([...items.values()], ['{"done":"sent"}']);
    assert.deepEqual(opened(items, undefined, "2026-12-18T14:30Z", survey).kept.read(), { done: "sent" });
  } finally {
    [Date.now, globalThis.fetch] = [real, fetched];
    delete globalThis.localStorage;
  }
});
