/** What the answer page keeps of the true cells of a form: each until its die is drawn, and none once it is left. */

import "./english.mjs";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const PAGES = new URL("../../src/deniable/service/pages/", import.meta.url);
const SOURCE = readFileSync(new URL("form.answer.js", PAGES), "utf8");
const DRAWN = "if (truths) truths[at] = null;";
const LEFT = "truths?.fill(null)";

/** The page's module, with something else in the place of a text of it. */
async function module(from, to) {
  assert.ok(SOURCE.split(from).length === 2, from);
  const changed = SOURCE.replace(from, to).replaceAll(/(?<=from |import\()"\.\//g, `"${PAGES}`);
  return import(`data:text/javascript,${encodeURIComponent(changed)}`);
}

/** As much of a page as the dice need: places that are filled, and the one button, which goes on. */
function page() {
  const elements = {};
  const work = {};
  const addEventListener = (event, does) => (work[event] = does);
  const place = () => ({ replaceChildren() {}, after() {}, focus() {} });
  globalThis.document = {
    hidden: true, // nobody watches the dice
    getElementById: (id) => (elements[id] ??= place()),
    createElement: () => ({ addEventListener, setAttribute() {}, append() {} }),
  };
  Object.assign(globalThis, { addEventListener, matchMedia: () => ({ matches: true }) });
  return work;
}

/** A test with a page of its own, after which there is what was there before. */
const onPage = (name, work) =>
  test(name, async () => {
    const { document, addEventListener, matchMedia } = globalThis;
    try {
      await work();
    } finally {
      Object.assign(globalThis, { document, addEventListener, matchMedia });
    }
  });

/** Three questions of four answers each, with the first die drawn. */
function shown({ show }) {
  const work = page();
  const rolled = [];
  const kind = {
    rolled: (_n, truth, cells) => ({ said: "It fell on it.", count: rolled.push([...truth, ...cells]) }),
    picture: () => "a die",
    afterwards: () => "no die",
    inWords: () => "words",
    denial: () => "a denial",
  };
  const n = { shape: "one", cells: 4, cohorts: 1 };
  const parts = ["a", "b", "c"].map((title) => ({ kind, n, title }));
  const truths = [[3], [2], [1]];
  const sent = { group: [], payload: ["00", "01", "02"] };
  show({ agreed: { drawn: 3, parts, shown: parts }, n: {} }, sent, truths).tell();
  return { truths, rolled, on: () => work.click(), leave: () => work.pagehide() };
}

async function forgetsWhatWasDrawn(made) {
  const { truths, rolled, on } = shown(made);
  assert.deepEqual(truths, [null, [2], [1]]);
  await on();
  assert.deepEqual(truths, [null, null, [1]]);
  await on();
  assert.deepEqual(truths, [null, null, null]);
  assert.deepEqual(rolled.flat(), [3, 0, 2, 1, 1, 2]);
}

async function forgetsWhatIsLeft(made) {
  const { truths, rolled, on, leave } = shown(made);
  leave();
  assert.deepEqual(truths, [null, null, null]);
  await on(); // the browser may show the page again as it was
  assert.deepEqual(rolled.flat(), [3, 0]);
}

onPage("what a die fell from is forgotten once it is drawn", async () => {
  await forgetsWhatWasDrawn(await module(DRAWN, DRAWN));
  await assert.rejects(forgetsWhatWasDrawn(await module(DRAWN, "")), assert.AssertionError);
});

onPage("what was not drawn yet is forgotten when the page is left", async () => {
  await forgetsWhatIsLeft(await module(LEFT, LEFT));
  await assert.rejects(forgetsWhatIsLeft(await module(LEFT, "null")), assert.AssertionError);
});
