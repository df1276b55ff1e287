/** The pages' scripts and style sheets as files: what the collector may leave out of them when it sends them. */

import "./english.mjs";
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

const PAGES = new URL("../../src/deniable/service/pages/", import.meta.url);
const scripts = readdirSync(PAGES).filter((name) => name.endsWith(".js") && !name.endsWith(".min.js"));

test("no text goes over several lines, so that indentation is nothing that anybody reads", () => {
  assert.ok(scripts.length > 20);
  for (const name of scripts)
    for (const line of readFileSync(new URL(name, PAGES), "utf8").split("\n"))
      assert.equal([...line].filter((one) => one === "`").length % 2, 0, `${name}: ${line}`);
});

test("no quoted text of a style sheet has a mark around which white space is left out", () => {
  const sheets = readdirSync(PAGES).filter((name) => name.endsWith(".css"));
  assert.ok(sheets.length > 2);
  for (const name of sheets) {
    const quoted = readFileSync(new URL(name, PAGES), "utf8")
      .replaceAll(/\/\*.*?\*\//gs, "")
      .match(/(["']).*?\1/gs);
    for (const text of quoted ?? []) assert.doesNotMatch(text, /[{};,]|\/\*/, `${name}: ${text}`);
  }
});
