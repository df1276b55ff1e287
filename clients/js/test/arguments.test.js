/**
 * Every public function with every kind of wrong argument: a sentence that names the argument, is short, and shows no
 * answer.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import { fileStorage } from "../src/file.js";
import * as minified from "../deniable.min.js";
import * as source from "../src/node.js";
import { unpack } from "../src/unpack.js";
import { storage, surveys, texts } from "./vectors.js";

const THINGS = [
  null,
  true,
  0,
  -1,
  NaN,
  1.5,
  Infinity,
  7n,
  "",
  "x",
  "rosebud".repeat(300),
  Symbol("s"),
  [],
  [1],
  {},
  { x: 1 },
  Object.create(null),
  () => 1,
  new Map(),
  new Uint8Array(2),
];
/** All things but those that the argument takes. */
const but = (...good) => [...THINGS.filter((thing) => !good.some((ok) => Object.is(ok, thing)))];

/** What is thrown, or the promise rejects with, is one of ours. */
async function sentence(work) {
  try {
    await work();
  } catch (problem) {
    assert.ok(problem instanceof source.DeniableError || problem instanceof minified.DeniableError, `${problem.stack}`);
    assert.ok(problem.message.length <= 240, problem.message);
    assert.ok(!problem.message.includes("\n"));
    return `${problem.name}: ${problem.message}`;
  }
  return "nothing";
}

const OPTIONS = {
  storage: ["storage must have getItem and setItem", but()],
  memoize: ["memoize must be true or false", but(true)],
  key: ["key must be what deviceKey returns", but()],
  entropy: ["entropy must have width and word", but()],
  cap: ["cap must be a number above 0", but(1.5, Infinity)],
  hardCap: ["hardCap must be a number above 0", but(1.5, Infinity)],
};

const SETTINGS = {
  batch: ["batch must be a whole number from 1 on", but()],
  timeout: ["timeout must be a number of seconds above 0", but(1.5, Infinity)],
  token: ["token must be printable ASCII text without blanks", [...but("x", THINGS[10]), "a b", "é", "a\nb"]],
};

test("what unpack and a file storage take is named", async () => {
  for (const value of [undefined, ...but()]) {
    assert.match(
      await sentence(() => unpack(value, new Uint8Array(2))),
      /^ArgumentError: survey must be what readSurvey, or readForm, returns, got /,
    );
    if (!(value instanceof Uint8Array))
      assert.match(await sentence(() => unpack(surveys.krr, value)), /^WireError: report must be a Uint8Array, got /);
    if (typeof value !== "string" || !value)
      assert.match(await sentence(() => fileStorage(value)), /^ArgumentError: path must be the name of a file, got /);
  }
});

for (const [build, { Client, readSurvey }] of Object.entries({ sources: source, minified })) {
  const client = new Client(texts.krr);

  test(`each option of a client is named: ${build}`, async () => {
    for (const [name, [rule, wrong]] of Object.entries(OPTIONS))
      for (const value of wrong)
        assert.ok(
          (await sentence(() => new Client(texts.krr, { [name]: value }))).startsWith(`ArgumentError: ${rule}, got `),
          name,
        );
    for (const value of [null, true, 0, "x", 7n, Symbol("s"), () => 1])
      assert.match(
        await sentence(() => new Client(texts.krr, value)),
        /^ArgumentError: options must be an object, got /,
      );
    for (const name of ["memoise", "url", "offline", "toString", "x".repeat(900)])
      assert.match(
        await sentence(() => new Client(texts.krr, { [name]: 1 })),
        /^ArgumentError: options must be of storage, memoize, key, entropy, cap, hardCap, got /,
      );
    assert.ok(new Client(texts.krr, { cap: undefined, storage: undefined }), "what is not said is left to its default");
  });

  test(`each argument of send is named, and a token is not shown: ${build}`, async () => {
    for (const value of [undefined, ...but(), "ftp://x", "collector.example", "/v1", "http://"])
      assert.match(
        await sentence(() => client.send(value)),
        /^ArgumentError: url must start with http:\/\/ or https:\/\/, got /,
      );
    for (const [name, [rule, wrong]] of Object.entries(SETTINGS))
      for (const value of wrong) {
        const said = await sentence(() => client.send("http://127.0.0.1:9", { [name]: value }));
        assert.ok(said.startsWith(`ArgumentError: ${rule}`), `${name}: ${said}`);
        assert.equal(said.includes("got"), name !== "token");
      }
    assert.match(
      await sentence(() => client.send("http://127.0.0.1:9", { attempts: 5 })),
      /^ArgumentError: options must be of batch, timeout, token, got attempts$/,
    );
    assert.match(
      await sentence(() => client.send("http://127.0.0.1:9", null)),
      /^ArgumentError: options must be an object, got null$/,
    );
  });

  test(`a survey that is none is a short sentence, in the client too: ${build}`, async () => {
    for (const read of [readSurvey, (source) => new Client(source)])
      for (const value of [undefined, ...but()])
        assert.match(await sentence(() => read(value)), /^SurveyError: survey must be the JSON of one, got /s);
    const long = JSON.parse(texts.krr);
    long.alphabet.symbols = Array.from({ length: 400 }, (_, i) => `answer ${i}`);
    assert.match(await sentence(() => new Client(long)), /^SurveyError: survey /);
    assert.match(
      await sentence(() => new Client({ ...long, name: "x".repeat(9000) })),
      /^SurveyError: name must be text of at most 500 characters$/,
    );
    const forged = JSON.parse(texts.krr);
    forged.mechanism.keep = "2";
    assert.equal(
      await sentence(() => readSurvey(forged)),
      `SurveyError: survey must say "keep":"${surveys.krr.mechanism.thresholds.keep}", got "keep":"2"`,
    );
  });

  test(`an answer that is none is not shown, whatever it is: ${build}`, async () => {
    const client = new Client(texts.warner);
    for (const name of ["report", "queue"])
      for (const value of [undefined, ...but()]) {
        const said = await sentence(() => client[name](value));
        assert.equal(
          said,
          "AlphabetError: symbol must be well-formed text, an exact integer or bytes, and one the survey takes",
        );
      }
    assert.deepEqual(client.status().waiting, 0);
  });

  test(`a limit that is passed is named, with both numbers and no other limit: ${build}`, async () => {
    const kept = storage();
    new Client(texts.warner, { storage: kept }).report("yes");
    const capped = new Client(texts.krr, { storage: kept, cap: 1 });
    assert.equal(
      await sentence(() => capped.report(7)),
      "BudgetError: cap must not be exceeded, got 1.1 of 1; ask no more",
    );
  });
}
