/** A form on the answer page: what is asked next, what a report holds of each part, and what it promises. */

import "./english.mjs";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { Client } from "../../src/deniable/service/pages/deniable.min.js";
import { readForm } from "../../src/deniable/service/pages/form.min.js";
import { complete, differs, slotsOf, steps, together } from "../../src/deniable/service/pages/form.steps.js";
import { keeping } from "../../src/deniable/service/pages/kept.js";
import { partsOf } from "../../src/deniable/service/pages/record.js";
import { numbers } from "../../src/deniable/service/pages/words.js";

const rows = (name) => JSON.parse(readFileSync(new URL(`../vectors/${name}.json`, import.meta.url), "utf8"));
const forms = Object.fromEntries(rows("forms").map(({ title, text }) => [title, readForm(text)]));
const files = Object.fromEntries(rows("forms").map(({ title, text }) => [title, JSON.parse(text)]));

test("what is asked follows public answers, back and forth", () => {
  const form = forms.conditions;
  const all = ["smokes", "fruit", "bits"];
  assert.deepEqual(steps(form, all, {}), ["land", "smokes"]);
  assert.deepEqual(steps(form, all, { land: "NO" }), ["land", "town", "smokes", "fruit"]);
  assert.deepEqual(steps(form, all, { land: "NO", town: "Oslo" }), ["land", "town", "smokes", "fruit", "bits"]);
  // Whoever goes back and moves is not asked for the town any more, and what was said of it decides nothing.
  assert.deepEqual(steps(form, all, { land: "SE", town: "Oslo" }), ["land", "smokes"]);
  assert.deepEqual(steps(form, ["smokes"], {}), ["smokes"], "what decides nothing here is not asked");
});

test("an answer is given to all that is asked, and to nothing else", () => {
  const form = forms.conditions;
  const all = ["smokes", "fruit", "bits"];
  const given = { land: "NO", town: "Oslo", smokes: "no", fruit: "pear", bits: null };
  assert.deepEqual(complete(form, all, given), given);
  assert.equal(complete(form, all, { ...given, bits: undefined }), undefined);
  assert.deepEqual(complete(form, all, { ...given, land: "SE" }), { land: "SE", smokes: "no" });
  for (const told of [given, { ...given, land: "SE" }]) new Client(form).report(complete(form, all, told)); // the client agrees
});

const channelsOf = (title) =>
  files[title].parts.map(({ encoding, mechanism }, place) =>
    numbers({ alphabet: { kind: forms[title].parts[place].symbols ? "closed" : "open" }, encoding, mechanism }),
  );

test("a report of a form is taken apart as it was put together", () => {
  let seen = 0;
  for (const { form: title, answers, report } of rows("form_reports")) {
    if (["uneven", "designs"].includes(title)) continue; // tables have channels of their own
    const form = forms[title];
    const channels = channelsOf(title);
    const record = "aa".repeat(16) + report;
    const sent = partsOf(record, together(form, channels));
    assert.equal(Object.values(sent).flat().join(""), record);
    const found = slotsOf(form, channels, sent);
    const asked = form.parts.filter(({ questions }) =>
      questions.some(({ name, skip }) => name in answers || (skip && !differs(form))),
    );
    assert.ok(found.length >= asked.length, title);
    for (const { place, cohort, cells } of found) {
      const { encoding, mechanism } = form.parts[place];
      assert.ok(cohort < encoding.cohorts);
      assert.ok(cells.every((cell) => cell < encoding.cells));
      assert.ok(!mechanism.size || cells.length === mechanism.size);
      seen++;
    }
  }
  assert.ok(seen > 150);
});

test("the promise of a form is that of the parts of one device", () => {
  const product = ([first, second]) => first.odds * second.odds;
  const split = channelsOf("split");
  assert.ok(Math.abs(together(forms.split, split).odds / product(split) - 1) < 1e-12);
  const sampled = channelsOf("sample 1 of 3");
  assert.equal(together(forms["sample 1 of 3"], sampled).odds, Math.max(...sampled.map(({ odds }) => odds)));
  const twice = together(forms.twice, channelsOf("twice"));
  assert.ok(twice.twice && twice.lifetime > twice.odds);
  for (const title of ["split", "sample 2 of 3", "pair"]) {
    const { odds } = together(forms[title], channelsOf(title));
    assert.ok(Math.log(odds) <= Number(forms[title].epsilon) + 1e-12 && Math.log(odds) > 0.9 * forms[title].epsilon);
  }
});

test("what was drawn is kept before anything is answered, in every tab, and is no answer", () => {
  const items = new Map();
  globalThis.localStorage = {
    getItem: (key) => items.get(key) ?? null,
    setItem: (key, text) => items.set(key, text),
    removeItem: (key) => items.delete(key),
  };
  const form = forms["sample 3 of 40"];
  const tab = () => {
    const kept = keeping(form.digest);
    kept.keepDraw();
    return [kept, new Client(form, { storage: kept.storage, memoize: false })];
  };
  try {
    const [[one, first], [two, second]] = [tab(), tab()];
    assert.deepEqual(first.questions, second.questions);
    assert.ok(one.isOpen() && two.isOpen());
    assert.equal(one.read(), null);
    return one
      .roll(() => first.queue(Object.fromEntries(first.questions.map((name) => [name, 0]))))
      .then(() => {
        assert.ok(!two.isOpen());
        assert.equal(two.read().record, one.read().record);
        one.finish("sent");
        assert.deepEqual([...items.values()], ['{"done":"sent"}']);
      })
      .finally(() => delete globalThis.localStorage);
  } catch (problem) {
    delete globalThis.localStorage;
    throw problem;
  }
});
