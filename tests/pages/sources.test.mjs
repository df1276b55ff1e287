/** The pages' scripts and style sheets as files: what the collector leaves out of them is nothing but how they look. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { transformSync } from "../../clients/js/node_modules/esbuild/lib/main.js";
import { python } from "./python.mjs";

const PAGES = new URL("../../src/deniable/service/pages/", import.meta.url);
const names = readdirSync(PAGES).filter((name) => /\.(js|css)$/.test(name));
const SENT = `
import json
from deniable.service.pages import _read
print(json.dumps({name: _read(name).decode() for name in ${JSON.stringify(names)}}))`;
const sent = python(SENT);

/** A program or a sheet without its looks: two that differ in nothing else are the same here. */
const bare = (name, source) =>
  transformSync(source, { loader: name.split(".").at(-1), minifyWhitespace: true, legalComments: "none" }).code;

test("what is sent of a script or a style sheet is all that it does", () => {
  assert.ok(names.length > 60);
  for (const name of names)
    assert.equal(bare(name, sent[name]), bare(name, readFileSync(new URL(name, PAGES), "utf8")), name);
});

test("and it is less, by a fifth of all scripts", () => {
  const scripts = names.filter((name) => name.endsWith(".js") && !name.endsWith(".min.js"));
  const sum = (textOf) => scripts.reduce((total, name) => total + Buffer.byteLength(textOf(name)), 0);
  assert.ok(sum((name) => sent[name]) < 0.8 * sum((name) => readFileSync(new URL(name, PAGES), "utf8")));
});

test("a text with something in it that is left out would be found", () => {
  const script = 'say("a // b");';
  assert.notEqual(bare("x.js", script), bare("x.js", script.replace(/ +\/\/ [^\n]*$/m, '");')));
  const sheet = 'a::before { content: "b { c"; }';
  assert.notEqual(bare("x.css", sheet), bare("x.css", sheet.replace(/\s*([{};,])\s*/g, "$1")));
});
