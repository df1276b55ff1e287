/** Every text in every language: the same keys, the same places for values, none unused; and no text anywhere else. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { chosen } from "../../src/deniable/service/pages/languages.js";
import { ALPHABETS } from "../../src/deniable/service/pages/search.alphabet.js";
import { learn, number, parts, percentage, series, speak, text } from "../../src/deniable/service/pages/texts.js";
import { read, textsOf } from "./english.mjs";
import { chartTemplates, python } from "./python.mjs";

const PAGES = new URL("../../src/deniable/service/pages/", import.meta.url);
const LANGUAGES = ["en", "de", "ar"];
const all = Object.fromEntries(LANGUAGES.map((language) => [language, textsOf(language)]));
const flat = (language) =>
  Object.entries(all[language]).flatMap(([section, texts]) =>
    Object.entries(texts).map(([name, one]) => [`${section}.${name}`, one]),
  );
const forms = (one) => (typeof one === "string" ? { other: one } : one);
const places = (form) => [...new Set([...form.matchAll(/\{(\w+)\}/g)].map(([, name]) => name))].sort();
const sources = Object.fromEntries(
  readdirSync(PAGES)
    .filter((name) => /\.(js|html)$/.test(name) && !name.endsWith(".min.js"))
    .map((name) => [name, readFileSync(new URL(name, PAGES), "utf8")]),
);

test("all languages have the same keys", () => {
  const keys = flat("en").map(([key]) => key);
  assert.ok(keys.length > 400);
  for (const language of LANGUAGES)
    assert.deepEqual(
      flat(language)
        .map(([key]) => key)
        .sort(),
      keys.toSorted(),
      language,
    );
});

test("a text has the same places for values in all languages, and the plural forms of its own", () => {
  const english = new Map(flat("en"));
  for (const language of LANGUAGES) {
    const known = new Intl.PluralRules(language).resolvedOptions().pluralCategories;
    for (const [key, one] of flat(language)) {
      const own = forms(one);
      const most = places(forms(english.get(key)).other);
      assert.deepEqual(places(own.other), most, `${language} ${key}`);
      for (const [form, said] of Object.entries(own)) {
        assert.ok(known.includes(form), `${language} ${key} ${form}`);
        assert.ok(said.trim().length > 0, `${language} ${key}`);
        assert.ok(
          places(said).every((name) => most.includes(name)),
          `${language} ${key} ${form}`,
        );
      }
    }
  }
});

test("no language is another one: what is the same is a name, a number or a sign", () => {
  const english = new Map(flat("en"));
  for (const language of ["de", "ar"])
    for (const [key, one] of flat(language)) {
      const said = forms(one).other.replace(/\{\w+\}/g, "");
      if (said.split(/\s+/).filter((word) => /\p{L}{3}/u.test(word)).length > 2)
        assert.notEqual(said, forms(english.get(key)).other.replace(/\{\w+\}/g, ""), `${language} ${key}`);
    }
  for (const [key, one] of flat("ar"))
    for (const said of Object.values(forms(one)))
      if (/\p{L}{3}/u.test(said.replace(/\{\w+\}/g, ""))) assert.match(said, /\p{Script=Arabic}/u, key);
});

/**
 * A key with holes, as a pattern. A hole in the place of the section is who is spoken to. A name that is nothing but a
 * hole is one of the words that stand in the same source.
 */
const pattern = (key, source) => {
  const [section, name] = key.replace(/\$\{(?:[^{}]|`[^`]*`)*\}/g, "\\w*").split(".");
  const words = () =>
    [...source.matchAll(/["`](\w+(?:\$\{\w+\})?)["`]/g)].map(([, word]) => word.replace(/\$.*/, "\\w+")).join("|");
  return new RegExp(`^${section === "\\w*" ? "(you|they)" : section}\\.(${name === "\\w*" ? words() : name})$`);
};

/** Keys that a source asks for; what is put together of parts is a pattern. */
function asked(source) {
  const found = [];
  for (const [, key] of source.matchAll(/data-(?:text|label)="([\w.]+)"/g)) found.push(key);
  for (const [, key] of source.matchAll(/"((?:\w+)\.(?:\w+))"/g)) found.push(key);
  for (const [, key] of source.matchAll(/`((?:\w|\$\{[^`]*?\})+\.(?:\w|\$\{(?:[^`{}]|`[^`]*`|"[^"]*")*\})+)`/g))
    found.push(pattern(key, source));
  return found;
}
// What is looked up by a word of Python's: the types of problems, and the words in the templates of charts.
const SAID = `
import json
from tests.service.test_problem_texts import reasons, stated
print(json.dumps([sorted(word.replace("-", "_") for word in stated()), sorted(reasons())]))`;
const [problems, reasons] = python(SAID);
const { words, ...templates } = chartTemplates();
const drawn = JSON.stringify(templates);
const wanted = [
  ...Object.values(sources).flatMap(asked),
  ...problems.map((word) => `problems.${word}`),
  ...reasons.map((word) => `reasons.${word}`),
  ...ALPHABETS.map((word) => `search.${word}`),
  ...Object.keys(words)
    .filter((word) => drawn.includes(word))
    .map((word) => words[word]),
];
// A key that is chosen first and looked up later stands in the source as what it is put together of, or the collector
// says it.
const LATER = [
  /^near\.happens_/,
  /^ask\.(everyone|alone)(Hint)?$/,
  /^desk\.(computer|network|deleteW)/,
  /^results\.(fit|groupSizes)$/,
  /^forms\.(mean|place)$/,
  /^prefixes\.(cut|refuse)$/,
];

const unused = (keys) =>
  keys.filter((key) => ![...wanted, ...LATER].some((one) => (typeof one === "string" ? one === key : one.test(key))));

test("no key is unused", () => {
  assert.deepEqual(unused(flat("en").map(([key]) => key)), []);
});

test("a key that no page asks for is found, in every section", () => {
  const planted = Object.keys(all.en).map((section) => `${section}.nobodyAsks`);
  assert.deepEqual(unused(planted), planted);
});

test("no page asks for a text that is not there", () => {
  const keys = new Set(flat("en").map(([key]) => key));
  const sections = new Set(Object.keys(all.en));
  for (const [name, source] of Object.entries(sources))
    for (const key of asked(source))
      if (typeof key === "string" && !key.endsWith(".json") && sections.has(key.split(".")[0]))
        assert.ok(keys.has(key), `${name}: ${key}`);
});

test("a page names the sections that its elements need", () => {
  for (const [name, source] of Object.entries(sources)) {
    if (!name.endsWith(".html")) continue;
    const named = source.match(/data-texts="([^"]+)"/)[1].split(" ");
    for (const section of named) assert.ok(section in all.en, `${name}: ${section}`);
    for (const key of asked(source).filter((one) => all.en[one.split(".")[0]]))
      assert.ok(named.includes(key.split(".")[0]), `${name}: ${key}`);
  }
});

const BRAND = "deniable";

test("no element of a page has a text of its own", () => {
  for (const [name, source] of Object.entries(sources)) {
    if (!name.endsWith(".html")) continue;
    const bodies = source.replace(/<head>.*?(<title[^>]*>.*?<\/title>).*?<\/head>/s, "$1").matchAll(/>([^<>]+)</g);
    for (const [, said] of bodies) assert.ok(!/\p{L}{2}/u.test(said.replace(BRAND, "")), `${name}: ${said.trim()}`);
    for (const [, said] of source.matchAll(/(?:aria-label|placeholder|alt|title)="([^"]*)"/g))
      assert.fail(`${name}: ${said}`);
  }
});

/** Literals of a script that are words for people: two words or more, or a capital first. */
function literals(source) {
  const bare = source
    .replace(/\/\*[\s\S]*?\*\//g, "")
    .replace(/^\s*\/\/.*$/gm, "")
    .replace(/ \/\/ .*$/gm, "");
  return [...bare.matchAll(/"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\\n]|\\.)*)`/g)]
    .map(([, plain, made]) => plain ?? made.replace(/\$\{[^{}]*\}/g, ""))
    .filter((said) => /\p{L}{2,} \p{L}{2,}|^\p{Lu}\p{Ll}+[.!?…]?$/u.test(said));
}

/** Texts that a script writes into an attribute or an element without asking for one. */
const written = (source) =>
  [
    ...source.matchAll(
      /(?:\b(?:title|alt|placeholder|aria-label)"?: |textContent = |title = |\bsay\()(?:"([^"]+)"|`([^`]+)`)/g,
    ),
  ]
    .map(([, plain, made]) => plain ?? made.replace(/\$\{(?:[^{}]|\{[^{}]*\})*\}/g, ""))
    .filter((said) => /\p{L}{2}/u.test(said));

const CLASSES = new Set(
  readdirSync(PAGES)
    .filter((name) => name.endsWith(".css"))
    .flatMap((name) => [...readFileSync(new URL(name, PAGES), "utf8").matchAll(/[.#]([\w-]+)/g)].map(([, one]) => one)),
);
// Values of attributes and selectors, words that choose a key, and what only programs and their authors read.
const MACHINE = new Set([
  "noopener noreferrer",
  "private link",
  "no answer",
  "files to join must have the same columns",
  "header.top nav",
  "scale counts",
  "there is no text ",
  "mean place",
  "lower quartile",
  "upper quartile",
  "text must be at most 412 bytes for a QR code",
  "very strong",
  "hardly any",
  // Names of mechanisms and words of a chart's template, which are looked up.
  "subset selection",
  "no privacy",
  "default decoder",
  "95 % interval of a range",
  "Hadamard",
  // Ends of keys.
  "Answer",
  "Unsure",
  "Near",
  "Sensitive",
  "Twice",
]);
const isMachine = (said) =>
  MACHINE.has(said) || /^(\/results\/#|system-ui,)/.test(said) || said.split(" ").every((one) => CLASSES.has(one));

test("no script of an answer page, of Results or of the editor has a text of its own", () => {
  for (const [name, source] of Object.entries(sources)) {
    if (!name.endsWith(".js")) continue;
    for (const said of literals(source)) assert.ok(isMachine(said), `${name}: ${said}`);
    for (const said of written(source)) assert.ok(isMachine(said), `${name}: ${said}`);
  }
});

test("a text of its own would be found, wherever a script has it", () => {
  const planted = [
    'el("p", {}, "Nobody knows")',
    'el("button", { title: "more" })',
    'el("button", {}, "More")',
    'el("input", { "aria-label": "your name" })',
    "el(`input`, { placeholder: `up to many` })",
    'status.textContent = "ready";',
    'document.title = "results";',
    'say("gone")',
    "fill(place, `some reports came`)",
  ];
  for (const line of planted)
    assert.ok([...literals(line), ...written(line)].filter((said) => !isMachine(said)).length > 0, line);
  const fine = ['el("p", { class: "quiet small" }, text("words.away"))', 'el("input", { title: text("desk.about") })'];
  for (const line of fine)
    assert.deepEqual(
      [...literals(line), ...written(line)].filter((said) => !isMachine(said)),
      [],
    );
});

test("the browser's first known language is spoken, or the one that was chosen here", () => {
  assert.equal(chosen(["fr-FR", "de-AT", "en"], null), "de-AT");
  assert.equal(chosen(["fr", "nl"], null), "en");
  assert.equal(chosen([], null), "en");
  assert.equal(chosen(["en-US", "ar-EG"], "ar"), "ar-EG", "with the region that the browser names");
  assert.equal(chosen(["en-US"], "ar"), "ar");
  assert.equal(chosen(["de"], "xx"), "de", "what is remembered may be anything");
});

test("numbers, percentages and plurals are those of the language", () => {
  speak("de-DE");
  assert.equal(percentage(0.123, 1), "12,3\u00a0%");
  assert.equal(number(1234567.5), "1.234.567,5");
  speak("ar-EG", true);
  assert.match(percentage(0.5), /^٥٠/);
  learn("x", { n: { one: "one", two: "two", few: "{count} few", other: "{count} other" }, name: "a {name}" });
  assert.equal(text("x.n", { count: 1 }), "one");
  assert.equal(text("x.n", { count: 2 }), "two");
  assert.equal(text("x.n", { count: 3 }), "٣ few");
  assert.equal(text("x.n", { count: 11 }), "١١ other", "a form that is not there is the other one");
  assert.equal(text("x.name", { name: "b" }), "a \u2068b\u2069", "kept apart, where lines run the other way");
  assert.equal(series(["b", "c"]).replace(/[\u2068\u2069]/g, ""), "b وc");
  speak("en-GB");
  learn("x", { name: "a {name}" });
  assert.equal(text("x.name", { name: "<b>{x}" }), "a <b>{x}", "a value is never read as a text");
  assert.deepEqual(parts("x.name", { name: 7 }), ["a ", "7", ""]);
  assert.throws(() => text("x.nothing"), { message: "there is no text x.nothing" });
});

test("digits that stand in a text are those of the language, as its other numbers are", () => {
  const every = (language, locale) => {
    read(language, locale);
    return flat(language).map(([key, one]) => {
      const values = Object.fromEntries(places(forms(one).other).map((name) => [name, 7]));
      return [key, text(key, { count: 7, ...values })];
    });
  };
  try {
    for (const [key, said] of every("ar", "ar-EG")) assert.doesNotMatch(said, /[0-9]/, key);
    const own = (language, locale) => Object.fromEntries(every(language, locale));
    assert.match(own("ar", "ar-EG")["ask.sayPeople"], /: ١٠ أو أكثر/);
    assert.match(own("ar", "ar-EG")["explore.try_warner"], /١٩٦٥/, "a year has no separator");
    assert.match(own("ar", "ar-u-nu-latn")["ask.sayPeople"], /: 10 أو أكثر/);
    assert.equal(own("de", "de")["explore.try_warner"], all.de.explore.try_warner);
  } finally {
    read("en", "en-GB");
  }
});
