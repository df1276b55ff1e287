/** What is published: the minified file and its size, the types, the page that shows how to use it, the version. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import ts from "typescript";

import { bundle, targets } from "../build.js";
import * as minified from "../deniable.min.js";
import * as source from "../src/node.js";
import { device, hex, rows, scripted, surveys, symbolOf, texts } from "./vectors.js";

const root = fileURLToPath(new URL("..", import.meta.url));
const text = (name) => readFileSync(join(root, name), "utf8");

// Bytes. A budget with room for a mended fault: what it guards is the weight of the answer page, which has a test of
// its own.
const BUDGET = 18 * 1024;
// What a form adds to it, fetched for forms alone.
const FORM_BUDGET = 8 * 1024;

test("the minified files are what the sources give, and the client is within its budget", async () => {
  for (const [source, files] of Object.entries(targets)) {
    const made = await bundle(source);
    for (const file of files) assert.equal(readFileSync(file, "utf8"), made, "run npm run build");
  }
  assert.ok(Buffer.byteLength(text("deniable.min.js")) < BUDGET);
  assert.ok(Buffer.byteLength(text("form.min.js")) < FORM_BUDGET);
});

test("the minified client gives the golden reports too", () => {
  // And what a form's file imports from it.
  const shared = [...text("form.min.js").matchAll(/import{([^}]*)}from"\.\/deniable\.min\.js"/g)];
  const names = shared.flatMap(([, list]) => list.split(",").map((one) => one.split(" as ")[0]));
  assert.deepEqual(Object.keys(minified).sort(), [...new Set([...Object.keys(source), ...names])].sort());
  for (const { survey, words, symbol, report } of rows("reports")) {
    const client = new minified.Client(texts[survey], { memoize: false, entropy: scripted(words) });
    assert.equal(hex(client.report(symbolOf(symbol)).pack()), report);
  }
  for (const { survey, secret, cohort, symbol, report, words = [] } of rows("permanent")) {
    const options = { storage: device(surveys[survey], secret, cohort), entropy: scripted(words) };
    const client = new minified.Client(texts[survey], options);
    assert.equal(hex(client.report(symbolOf(symbol)).pack()), report);
  }
  const { of, cohorts } = minified.readSurvey(texts["orappor, folded"]).encoding;
  const everywhere = (text) => Array.from({ length: cohorts }, (_, cohort) => of(cohort, text));
  for (const { given, folded } of rows("folding"))
    assert.deepEqual(everywhere(given), everywhere(folded), JSON.stringify(given));
  assert.notDeepEqual(everywhere("a"), everywhere("b"));
  assert.throws(() => new minified.Client("{}"), { name: "SurveyError" });
});

test("nothing in the sources draws randomness elsewhere, logs, or depends on a package", () => {
  const whole = text("deniable.min.js");
  assert.ok(!/Math\.random/.test(whole));
  assert.ok(!/Math\.random|getRandomValues|console|subtle|eval|import\(/.test(text("form.min.js")));
  assert.equal(whole.match(/getRandomValues/g).length, 1);
  assert.ok(!/console|subtle|import|require|eval/.test(whole));
  assert.deepEqual(JSON.parse(text("package.json")).dependencies, undefined);
});

test("the version is the Python package's", () => {
  const [, version] = /__version__ = "(.*)"/.exec(text("../../src/deniable/__init__.py"));
  assert.equal(JSON.parse(text("package.json")).version, version);
});

const blocks = [...text("README.md").matchAll(/^```(js[^\n]*)\n([\s\S]*?)^```(?:\n\n```text\n([\s\S]*?)^```)?/gm)];

test("the example in the README runs and prints what the page says", () => {
  const [, , code, printed] = blocks.find(([, language]) => language === "js");
  const folder = mkdtempSync(join(tmpdir(), "deniable-"));
  try {
    writeFileSync(
      join(folder, "page.mjs"),
      code.replace('"deniable-client"', JSON.stringify(new URL("../src/node.js", import.meta.url).href)),
    );
    const said = execFileSync(process.execPath, ["page.mjs"], { cwd: folder, encoding: "utf8" });
    assert.equal(said, printed);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

/** What TypeScript, at its strictest, says of a program that uses this package. */
function complaints(program) {
  const options = {
    strict: true,
    noEmit: true,
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    types: [],
    lib: ["lib.es2022.d.ts", "lib.dom.d.ts"],
  };
  const name = join(root, "program.mts");
  const host = ts.createCompilerHost(options);
  const { fileExists, readFile, getSourceFile } = host;
  host.fileExists = (file) => file === name || fileExists(file);
  host.readFile = (file) => (file === name ? program : readFile(file));
  host.getSourceFile = (file, ...rest) =>
    file === name ? ts.createSourceFile(file, program, ts.ScriptTarget.ES2022) : getSourceFile(file, ...rest);
  return ts
    .getPreEmitDiagnostics(ts.createProgram([name], options, host))
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, " "));
}

test("the types accept how it is used, and refuse how it is not", () => {
  const shown = blocks.map(([, , code]) => `{\n${code.replace(/^import.*$/m, "")}\n}`);
  const head = [
    'import { Client, DeniableError, readSurvey } from "deniable-client";',
    'import { browserClient } from "deniable-client/browser";',
    'import { fileStorage } from "deniable-client/file";',
    'import { readForm } from "deniable-client/form";',
    'import { deviceKey } from "deniable-client/key";',
    'import { unpack } from "deniable-client/unpack";\n',
  ].join("\n");
  const use = `const survey = readSurvey("{}");\n${shown.join("\n")}
    const client = new Client(survey, { cap: 2, hardCap: 3, memoize: false, storage: fileStorage("me.json") });
    const { cells } = unpack(survey, client.report(new Uint8Array(2)).pack());
    const { refused, retryAfter } = await client.send("https://collector.example", { token: "x", timeout: 5 });
    const numbers: number = client.status().totalWorst + client.queue(7n).cohort + Number(survey.epsilonReport);
    const told: number = refused.length + (retryAfter ?? 0) + cells.length + numbers;
    const keyed = new Client(survey, { key: await deviceKey() });
    const inPage = await browserClient(survey, { cap: 2 });
    const told2: boolean = inPage.keyed && (await inPage.report(7)).cohort > 0 && inPage.status().waiting > 0;
    const form = readForm("{}");
    const asked = new Client(form, { cap: 2 });
    const drawn: readonly string[] = asked.questions;
    const shown: boolean = form.asks(drawn[0], { land: "NO" }) && form.questions[0].title.length > 0;
    const answered: number = asked.queue({ smokes: "yes", age: 41, city: null }).parts.length + Number(shown);
    const slots = unpack(form, asked.report({}).pack()).parts.map((part) => part?.cells.length ?? answered);
    const mine = (await (await browserClient(form)).report({ a: slots[0] })).payload;
    const sent: number = mine.length + (await keyed.queue("x").then((report) => report.pack())).length + told;
    try {
      client.report("x");
    } catch (problem) {
      if (problem instanceof DeniableError && problem.name === "BudgetError") throw told2 ? sent : told;
    }`;
  assert.deepEqual(complaints(head + use), []);
  for (const wrong of [
    "new Client()",
    "new Client('x', { memoise: true })",
    "new Client('x').report(null)",
    "new Client('x').status().left",
    "new Client('x').send()",
    "fileStorage()",
    "new Client(readForm('x')).report('yes')",
  ])
    assert.equal(
      complaints(`${head}${wrong}; unpack; fileStorage; readForm; deviceKey; DeniableError; readSurvey;`).length,
      1,
      wrong,
    );
});

test("the types name what the sources export", () => {
  const named = [...text("index.d.ts").matchAll(/^export (?:class|function) (\w+)/gm)].map(([, name]) => name);
  assert.deepEqual(named.sort(), Object.keys(source).sort());
});
