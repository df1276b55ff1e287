/** The same golden files as the Python client's, good and bad. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";

import * as minified from "../deniable.min.js";
import { closed, fold, open, symbolBytes } from "../src/alphabet.js";
import { prefixes, seeded } from "../src/encodings.js";
import { fingerprint, permute } from "../src/hashing.js";
import { Client, readSurvey } from "../src/node.js";
import { bitflip, krr } from "../src/mechanisms.js";
import { number } from "../src/numbers.js";
import { remake } from "../src/survey.js";
import { unpack } from "../src/unpack.js";
import { stages } from "./small.js";
import { device, hex, rows, scripted, surveys, symbolOf, texts, unhex } from "./vectors.js";

test("symbols", () => {
  for (const { given, canonical, bytes } of rows("symbols")) {
    assert.equal(hex(symbolBytes(symbolOf(given))), bytes);
    assert.equal(hex(symbolBytes(symbolOf(canonical))), bytes);
  }
});

test("folding: the golden texts, and every other code point stays as it is", () => {
  const listed = new Set();
  for (const { given, folded } of rows("folding")) {
    assert.equal(fold(given).normalize(), folded, JSON.stringify(given));
    assert.equal(hex(symbolBytes(given, "folded")), hex(symbolBytes(folded)));
    assert.equal(hex(symbolBytes(folded, "folded")), hex(symbolBytes(folded)));
    for (const letter of given.split("|")) listed.add(letter);
  }
  for (let code = 0; code < 0x110000; code++) {
    const letter = String.fromCodePoint(code);
    if ((code < 0xd800 || code > 0xdfff) && !listed.has(letter) && fold(letter).normalize() !== letter.normalize())
      assert.fail(code.toString(16));
  }
});

test("the platform's own lower case would not do", () => {
  const other = rows("folding").filter(({ given, folded }) => given.trim().toLowerCase().normalize() !== folded);
  assert.ok(other.length > 20);
});

test("fingerprints", () => {
  for (const { seed, bytes, fingerprint: expected } of rows("fingerprints"))
    assert.equal(String(fingerprint(unhex(seed), unhex(bytes))), expected);
});

test("hashed cells", () => {
  for (const { occupied, symbol, ...fields } of rows("hashed_cells")) {
    const { of } = seeded({ kind: "hashed", ...fields }, 0, open({}).find);
    for (const [cohort, cells] of occupied.entries()) assert.deepEqual(of(cohort, symbolOf(symbol)), cells);
  }
});

test("prefix cells", () => {
  for (const { occupied, symbol, ...fields } of rows("prefix_cells")) {
    const { of } = prefixes(fields, 0, open({ text: "folded" }).find);
    for (const [cohort, cell] of occupied.entries()) assert.deepEqual(of(cohort, symbol), [cell]);
  }
});

test("text alone can be discovered, and what is too long is refused where the survey says so", () => {
  const client = (title) => new Client(texts[title], { memoize: false });
  const taken = (title, value) => client(title).report(value).pack().length > 0;
  assert.ok(taken("discovery", "x".repeat(300)));
  assert.ok(taken("discovery, refused", "\u00e9".repeat(32)));
  for (const [title, value] of [
    ["discovery", 7],
    ["discovery", new Uint8Array([97])],
    ["discovery", "\ud800"],
    ["discovery, refused", "\u00e9".repeat(33)],
  ])
    assert.throws(() => taken(title, value), {
      name: "AlphabetError",
      message: "symbol must be well-formed text, an exact integer or bytes, and one the survey takes",
    });
});

test("permuted cells", () => {
  for (const { occupied, symbols, ...fields } of rows("permuted_cells")) {
    const { find } = closed({ symbols: [...Array(symbols).keys()] });
    const { of } = seeded({ kind: "permuted", ...fields }, symbols, find);
    for (const [cohort, answers] of occupied.entries())
      for (const [x, cells] of answers.entries()) assert.deepEqual(of(cohort, x), cells);
  }
});

test("permutations", () => {
  for (const { key, size, first, sha256 } of rows("permutations")) {
    const image = Array.from({ length: size }, (_, x) => permute(BigInt(key), size, x));
    assert.deepEqual(image.slice(0, 32), first);
    assert.equal(
      createHash("sha256")
        .update(Buffer.from(Uint32Array.from(image).buffer))
        .digest("hex"),
      sha256,
    );
  }
});

test("thresholds", () => {
  for (const { kind, epsilon, cells, distance, ...expected } of rows("thresholds")) {
    // Half of the bits that two answers may differ in: three hashes differ in all five.
    const hashes = { 2: 1, 4: 2, 5: 3 }[distance ?? 2];
    const { thresholds } = stages(kind === "krr" ? krr : bitflip, epsilon, 64, cells, hashes);
    assert.deepEqual(
      Object.fromEntries(
        Object.entries(thresholds).flatMap(([name, n]) => (n === undefined ? [] : [[name, String(n)]])),
      ),
      expected,
    );
  }
});

test("numbers: every double in its bin, and the same ones refused", () => {
  for (const { alphabet, names, numbers, bins } of rows("numbers")) {
    const { find, size, stated } = number(alphabet);
    assert.deepEqual(JSON.parse(JSON.stringify(stated)), alphabet);
    assert.deepEqual(names.map(find), [0, size - 1]);
    numbers.forEach((text, i) => {
      const double = Buffer.from(text, "hex").readDoubleBE();
      if (bins[i] === null) assert.throws(() => find(double), { name: "SurveyError" });
      else assert.equal(find(double), bins[i], `${double} of ${names}`);
      if (Number.isInteger(double) && bins[i] !== null) assert.equal(find(BigInt(double)), bins[i]);
    });
    for (const other of ["41.0", "", null, undefined, true, {}, [1], NaN, 10n ** 400n])
      assert.throws(() => find(other));
  }
});

test("surveys, as text and as the object in it", () => {
  for (const { text, digest } of rows("surveys")) {
    assert.equal(readSurvey(text).digest, digest);
    assert.equal(readSurvey(JSON.parse(text)).digest, digest);
    assert.equal(readSurvey(JSON.stringify(JSON.parse(text), null, 2)).digest, digest);
  }
});

test("both epsilons of a survey, and its second stage or none", () => {
  assert.deepEqual(
    [surveys.krr.epsilon, surveys.krr.epsilonReport, surveys.krr.mechanism.refresh],
    ["0.1", "0.1", undefined],
  );
  const twice = surveys["krappor, again"];
  assert.deepEqual([twice.epsilon, twice.epsilonReport, typeof twice.mechanism.refresh], ["2.5", "1/3", "function"]);
});

test("reports from given words", () => {
  const seen = new Set();
  for (const { survey, words, symbol, report } of rows("reports")) {
    const entropy = scripted(words);
    const client = new Client(texts[survey], { memoize: false, entropy });
    assert.equal(hex(client.report(symbolOf(symbol)).pack()), report);
    assert.equal(entropy.left(), 0);
    seen.add(survey);
  }
  const always = Object.keys(texts).filter((title) => surveys[title].every < 2);
  assert.deepEqual(seen, new Set(always));
});

test("devices that take turns", () => {
  const now = Date.now;
  try {
    for (const { survey, words, hours, symbols, outcomes } of rows("turns")) {
      const entropy = scripted(words);
      const client = new Client(texts[survey], { memoize: false, entropy });
      for (const [step, hour] of hours.entries()) {
        Date.now = () => 36e5 * hour;
        const value = symbolOf(symbols[step]);
        if (outcomes[step].endsWith("Z"))
          assert.throws(
            () => client.report(value),
            ({ name, message }) => name === "ParticipationError" && message.endsWith(`is taken from ${outcomes[step]}`),
          );
        else assert.equal(hex(client.report(value).pack()), outcomes[step]);
      }
      assert.equal(entropy.left(), 0);
    }
  } finally {
    Date.now = now;
  }
});

test("permanent reports", () => {
  for (const { survey, secret, cohort, symbol, report, words = [] } of rows("permanent")) {
    // Each report of a chain draws fresh words for its second stage, and those alone.
    const entropy = scripted([...words, ...words]);
    const started = () => new Client(texts[survey], { storage: device(surveys[survey], secret, cohort), entropy });
    const client = started();
    assert.equal(hex(client.report(symbolOf(symbol)).pack()), report);
    const again = surveys[survey].window ? started() : client;
    assert.equal(hex(again.report(symbolOf(symbol)).pack()), report);
    assert.equal(entropy.left(), 0);
  }
});

test("good reports unpack to what they were packed from", () => {
  for (const { survey, report } of rows("reports")) {
    const { cohort, payload } = unpack(surveys[survey], unhex(report));
    assert.ok(report.endsWith(hex(payload)));
    assert.ok(cohort < surveys[survey].encoding.cohorts);
  }
});

test("bad reports", () => {
  for (const { survey, report, reason } of rows("bad_reports"))
    assert.throws(
      () => unpack(surveys[survey], unhex(report)),
      (problem) => problem.name === "WireError" && problem.message.includes(reason),
      reason,
    );
  assert.throws(() => unpack(surveys.krr, "01"), /^WireError: report must be a Uint8Array, got string$/);
});

// This reader is small: it makes the survey again from what it says, and shows where the two differ. So it has fewer
// sentences than Python's; those that matter most are its own.
// What is wrong with a table of weights.
const TABLE = /^(survey|epsilon|sensitive|groups|budgets( and weights)?|weights|rows|cells|a table) must /;
const TABLES = ["sensitive", "groups", "raised", "weights", "rows", "budgets", "columns", "'own'", "no such answer"];
const SENTENCES = [
  [/^epsilon must be spelled '(1.9|2)'/, /^epsilon must be the largest between two answers$/],
  [new RegExp(`^(?!mechanism kind).*(${TABLES.join("|")})`), TABLE],
  [
    /stage of its own|the points of|integers from 0 on|share their cells|field 'dimension'|got more$|a prime, got 4/,
    TABLE,
  ],
  [/^survey must be JSON text: |got 'NaN'/, /^survey must be the JSON of one, got /],
  [/^symbols must number|^symbols must be distinct/, /^symbols must be 2 to 2\*\*24 distinct, got \d+$/],
  [
    /^symbols must be text, integers or tagged bytes/,
    /^symbol must be well-formed text, an exact integer or bytes$|^survey must /,
  ],
  [/^epsilon_report must be below/, /^epsilon must fit its words, and epsilon_report be less$/],
  [/^epsilon_report must be spelled/, /^epsilon must be 1e-9 to 64 in canonical text, got 0.50$/],
  [/^epsilon must be (?!realisable)|carries no information/, /^epsilon must be 1e-9 to 64 in canonical text, got /],
  [/^survey fields must not repeat/, /^survey must say (name|cells|bytes|participation) once$/],
  [/^survey numbers must be integers, got '(5.0|1e999)'/, /^survey numbers must be integers$/],
  [
    /^threshold '(flip|clear)'/,
    /^survey must say |^hashes must be 1 to 1, got 2$|^cells must be 2 to 65536 and fit the survey, got 8 for bitflip$/,
  ],
  [/^threshold|realisable|must not have the field '(colour|delta|seed)'|^format|^width/, /^survey must say .*, got /],
  [/altered after it was made|must have the field 'digest'|^other must be/, /^survey must say .*, got /],
  [
    /^(participation must be|(turnover and change|share) must follow)/,
    /^participation must be event or window:day, :hour, :week, got /,
  ],
  [/^survey field 'participation'/, /^(participation|survey) must /],
  [/^name must be text of at most/, /^name must be text of at most 500 characters$/],
  [/kind must be|got 'plain'/, /^kind must be of (open|direct|krr),|^survey must be the JSON of one/],
  [/seed must be/, /^seed must be 8 to 64 bytes in hexadecimal$|^survey must say /],
  [
    /^(low|high|step|bins|outside) must|^alphabet field 'low'|field 'bins'|^reach/,
    /^(low|bins|cells|hashes|survey|seed) must |^low, high and step must be decimal, got /,
  ],
  [
    /at least|at most \d|prime|encoding of|encoding must|block design|subset sel/,
    /^(cells|cohorts|hashes|levels|size) must (be|rise) .*, got |^survey must say /,
  ],
];

// Of tables that whoever wrote the survey chose: they are refused with any digest.
const UNKEPT = /ratios? of at most|must add up to 2\*\*64|integers from 0 on|where there is no such answer/;

test("bad surveys", () => {
  assert.ok(rows("bad_surveys").filter(({ reason }) => UNKEPT.test(reason)).length >= 10);
  for (const { text, reason } of rows("bad_surveys")) {
    if (UNKEPT.test(reason)) assert.throws(() => remake(JSON.parse(text)), { name: "SurveyError" }, reason);
    assert.throws(() => minified.readSurvey(text), { name: "SurveyError" }, reason);
    assert.throws(
      () => readSurvey(text),
      ({ name, message }) => {
        const [, sentence] = SENTENCES.find(([pattern]) => pattern.test(reason)) ?? [
          "",
          /^(survey|symbols?|epsilon|cells|cohorts|hashes|levels|size|name|kind|seed) must /,
        ];
        assert.equal(name, "SurveyError");
        assert.match(message, sentence, reason);
        return true;
      },
      reason,
    );
  }
});

test("every field of every survey is looked at", () => {
  const other = { string: (x) => `${x}x`, number: (x) => x + 1, boolean: (x) => !x };
  let changes = 0;
  const walk = (value, change) => {
    if (value && typeof value === "object")
      for (const key of Object.keys(value)) walk(value[key], (edited) => change({ ...value, [key]: edited }));
    // Arrays come as objects with numbers for names; turned back they are lists again.
    else {
      for (const edited of [other[typeof value](value), null, [value], { x: value }, undefined]) {
        const text = JSON.stringify(change(edited), (_, v) =>
          v && v[0] !== undefined && v[1] !== undefined && typeof v === "object" ? Object.values(v) : v,
        );
        assert.throws(() => readSurvey(text), { name: "SurveyError" }, text);
        changes++;
      }
    }
  };
  for (const text of Object.values(texts)) {
    const fields = JSON.parse(text);
    if (!(fields.alphabet.symbols?.length > 20)) walk(fields, (edited) => edited);
    for (const part of ["alphabet", "encoding", "mechanism"]) {
      const more = { ...fields, [part]: { ...fields[part], second: "1" } };
      assert.throws(() => readSurvey(more), /^SurveyError: survey must say /);
    }
    assert.throws(() => readSurvey({ ...fields, extra: 1 }), /^SurveyError: survey must say /);
  }
  assert.ok(changes > 1000, String(changes));
});

test("a survey whose digest was made anew still needs the right thresholds, and known kinds", () => {
  const forge = (fields) => {
    const sort = (_, v) => (v?.constructor === Object ? Object.fromEntries(Object.entries(v).sort()) : v);
    const { digest, ...rest } = fields;
    return { ...rest, digest: createHash("sha256").update(JSON.stringify(rest, sort)).digest("hex") };
  };
  const { krr: text, oue } = texts;
  const fields = JSON.parse(text);
  assert.equal(readSurvey(forge(fields)).digest, fields.digest);
  const edited = (part, change) => forge({ ...fields, [part]: { ...fields[part], ...change } });
  const { keep, other } = fields.mechanism;
  for (const change of [
    { keep: String(BigInt(keep) + 4n), other: String(BigInt(other) - 1n) },
    { keep: `${BigInt(keep)}0` },
    { epsilon: "0.10" },
    { width: 32 },
    { kind: "laplace" },
    { kind: ["krr"] },
    { kind: "constructor" },
  ])
    assert.throws(() => readSurvey(edited("mechanism", change)), { name: "SurveyError" });
  for (const change of [
    { cells: "5" },
    { cells: 5.5 },
    { kind: ["direct"] },
    { kind: "constructor" },
    { kind: "__proto__" },
  ])
    assert.throws(() => readSurvey(edited("encoding", change)), { name: "SurveyError" });
  const bits = JSON.parse(oue);
  const even = { ...bits, mechanism: { ...bits.mechanism, clear: bits.mechanism.flip } };
  assert.throws(() => readSurvey(forge(even)), /^SurveyError: survey must say /);
  const open = JSON.parse(texts["orappor, open"]);
  for (const change of [{ cohorts: 1.5 }, { hashes: 1.5 }, { hashes: 65 }, { cohorts: "8" }, { seed: "00" }])
    assert.throws(() => readSurvey(forge({ ...open, encoding: { ...open.encoding, ...change } })), {
      name: "SurveyError",
    });
  // Optimised flips of one hash spend epsilon; of two, twice as much, whatever the thresholds say.
  const { flip } = stages(bitflip, "2", 64, 12, 1, 0, true).thresholds;
  const optimised = { ...open.mechanism, flip: String(flip), clear: String(2n ** 63n) };
  assert.throws(
    () => readSurvey(forge({ ...open, mechanism: optimised })),
    /^SurveyError: hashes must be 1 to 1, got 2$/,
  );
  const once = { ...open, encoding: { ...open.encoding, hashes: 1 }, mechanism: optimised };
  assert.equal(readSurvey(forge(once)).mechanism.thresholds.flip, flip);
  // A second stage that is none, or that is stated without being one.
  for (const epsilon_report of ["", 0, null, false, "0.1", "0.2", ["0.05"]])
    assert.throws(() => readSurvey(edited("mechanism", { epsilon_report })), { name: "SurveyError" });
  const again = JSON.parse(texts["krr, again"]);
  const { report_keep, report_other } = again.mechanism;
  for (const change of [
    { report_keep: String(BigInt(report_keep) + 4n), report_other: String(BigInt(report_other) - 1n) },
    { report_keep: "18446744073709551616", report_other: "0" },
    { epsilon_report: "2" },
    { epsilon_report: undefined },
  ])
    assert.throws(() => readSurvey(forge({ ...again, mechanism: { ...again.mechanism, ...change } })), {
      name: "SurveyError",
    });
  const plane = JSON.parse(texts.projective);
  for (const change of [
    { order: 4, cells: 21 },
    { order: 9, cells: 91 },
  ])
    assert.throws(
      () => readSurvey(forge({ ...plane, encoding: { ...plane.encoding, ...change } })),
      /^SurveyError: cells must be 2 to 65536 and fit the survey, got 0 for krr$/,
    );
});

test("a field that is said twice is refused wherever it stands, and a colon in a text is none", () => {
  const read = [readSurvey, minified.readSurvey];
  const twice = (part, more) => texts.krr.replace(`"${part}":{`, `"${part}":{${more},`);
  const wrong = {
    kind: twice("mechanism", '"kind":"krr"'),
    epsilon: twice("mechanism", '"epsilon" : "9"'),
    cells: twice("encoding", '"ce\\u006cls":5'),
    digest: texts.krr.replace(/\}$/, `,"digest":"${surveys.krr.digest}"}`),
    bytes: texts.krr.replace('{"bytes":"ff"}', '{"bytes":"00","bytes":"ff"}'),
  };
  for (const [field, text] of Object.entries(wrong))
    for (const reader of read)
      assert.throws(() => reader(text), { name: "SurveyError", message: `survey must say ${field} once` });
  // Names that look like fields are none.
  const { stated } = remake({ ...JSON.parse(texts.warner), name: 'a "name": "x", \\"name\\": 1.5e3 {' });
  for (const reader of read) assert.equal(reader(stated).name, JSON.parse(stated).name);
  const spaced = JSON.stringify(JSON.parse(texts.krr), null, 3);
  for (const reader of read) assert.equal(reader(spaced).digest, surveys.krr.digest);
});

test("a name has characters of Unicode, and control characters have JSON's short escapes", () => {
  const named = (name) => remake({ ...JSON.parse(texts.warner), name }).stated;
  assert.equal(readSurvey(named("🦊".repeat(500))).name.length, 1000);
  for (const name of ["🦊".repeat(501), "x".repeat(501), "\ud800"])
    assert.throws(() => named(name), /name must be text of at most 500 characters/);
  assert.ok(named('\b\f\n\r\t"\\/\x1f\x7f\u2028é').includes('"name":"\\b\\f\\n\\r\\t\\"\\\\/\\u001f\x7f\u2028é"'));
});
