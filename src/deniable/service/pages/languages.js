/**
 * Which language a page speaks: the one chosen here before, else the first that the browser asks for, else English. A
 * page names the sections of texts that it needs in `data-texts`, says where each stands by `data-text` (inside) or
 * `data-label` (the name of something without words); a choice by `data-count` or `data-share`, with its value, and has
 * a place for the switch: `#languages`.
 */

import { $, el, fill } from "./common.js";
import { knows, learn, percentage, speak, text } from "./texts.js";

const LANGUAGES = ["en", "de", "ar"];
const RIGHT_TO_LEFT = ["ar"];
const PLACE = "deniable-language/1";
const PAUSE = 3000; // milliseconds, where the collector is away

const state = { language: "en", sections: new Set(), again: [] };

const remembered = () => {
  try {
    return localStorage.getItem(PLACE);
  } catch {
    return null; // this browser keeps nothing
  }
};

/** The tag of the language to speak, with its region where the browser names one: "de-AT". */
export function chosen(asked, before) {
  const base = (tag) => tag.toLowerCase().split("-")[0];
  const known = asked.filter((tag) => LANGUAGES.includes(base(tag)));
  if (!LANGUAGES.includes(before)) return known[0] ?? "en";
  return known.find((tag) => base(tag) === before) ?? before;
}

/** A section of the texts in a language. */
async function fetched(section, language) {
  const options = { credentials: "omit", referrerPolicy: "no-referrer" };
  return (await fetch(`/pages/${language}.${section}.json`, options)).json();
}

/** Fetch a section of the texts, unless it is here. */
export async function load(section) {
  state.sections.add(section);
  if (!knows(section)) learn(section, await fetched(section, state.language));
}

/** Put the texts into the elements of a place that name theirs. */
export function inscribe(place) {
  const all = (name, write) => {
    const of = (one) => one.dataset[name];
    for (const one of [place, ...place.querySelectorAll(`[data-${name}]`)])
      if (one.dataset && of(one)) write(one, of(one));
  };
  all("text", (one, key) => (one.textContent = text(key)));
  all("count", (one, key) => (one.textContent = text(key, { count: Number(one.value) })));
  all("share", (one, key) => (one.textContent = text(key, { share: percentage(one.value) })));
  all("label", (one, key) => one.setAttribute("aria-label", text(key)));
}

/**
 * The page has its language and its own texts; to be awaited before anything is said. `again` says in another language
 * what the page has said: it keeps what was entered, on this page alone.
 */
export function open(again) {
  if (again) state.again.push(again);
  return (state.opened ??= begin());
}

async function begin() {
  const sections = document.documentElement.dataset.texts.split(" ");
  become(remembered());
  const away = () => Promise.allSettled(sections.map(load)).then(() => !sections.every(knows));
  while (await away()) await new Promise((next) => setTimeout(next, PAUSE));
  show();
  fill($("languages"), offer());
}

/** From here on it is this language, of which no text is known yet. */
function become(before) {
  const tag = chosen(navigator.languages, before);
  state.language = tag.toLowerCase().split("-")[0];
  speak(tag, RIGHT_TO_LEFT.includes(state.language));
}

function show() {
  const root = document.documentElement;
  root.lang = state.language;
  root.dir = RIGHT_TO_LEFT.includes(state.language) ? "rtl" : "ltr";
  inscribe(document);
}

/** The switch: each language by its own name. */
function offer() {
  const option = (language) =>
    el(
      "option",
      { value: language, lang: language, selected: language === state.language },
      new Intl.DisplayNames([language], { type: "language" }).of(language),
    );
  const onchange = ({ target }) => change(target);
  const label = { "data-label": "words.language", "aria-label": text("words.language") };
  return el("select", { ...label, onchange }, ...LANGUAGES.map(option));
}

/** All that is said in the language of the switch; where its texts cannot be had, the switch goes back. */
async function change(select) {
  const { value } = select;
  try {
    const found = await Promise.all([...state.sections].map(async (one) => [one, await fetched(one, value)]));
    if (select.value !== value) return; // it was switched again meanwhile
    become(value);
    for (const [section, texts] of found) learn(section, texts);
  } catch {
    select.value = state.language;
    return;
  }
  try {
    localStorage.setItem(PLACE, value);
  } catch {
    // Without storage the next page has the browser's own language.
  }
  show();
  await Promise.all(state.again.map((again) => again()));
}
