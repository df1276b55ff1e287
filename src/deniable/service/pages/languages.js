/**
 * Which language a page speaks: the one chosen here before, else the first that the browser asks for, else English. A
 * page names the sections of texts that it needs in `data-texts`, says where each stands by `data-text` (inside, with
 * the value of a choice as `count` or `share`) or `data-label` (the name of something without words), and has a place
 * for the switch: `#languages`.
 */

import { $, el, fill } from "./page.js";
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
async function textsOf(section, language) {
  const options = { credentials: "omit", referrerPolicy: "no-referrer" };
  const found = await fetch(`/pages/${language}.${section}.json`, options);
  if (found.ok) return found.json();
  throw new TypeError(section); // as where nothing is reached
}

/** Fetch a section of the texts, unless it is here. */
export async function load(section) {
  state.sections.add(section);
  while (!knows(section)) {
    const { language } = state;
    const texts = await textsOf(section, language);
    if (language === state.language) learn(section, texts); // it was not switched meanwhile
  }
}

/** Put the texts into the elements inside of a place that name theirs. */
export function inscribe(place) {
  for (const one of place.querySelectorAll("[data-text]"))
    one.textContent = text(one.dataset.text, { count: Number(one.value), share: percentage(one.value) });
  for (const one of place.querySelectorAll("[data-label]")) one.setAttribute("aria-label", text(one.dataset.label));
}

/**
 * The page has its language and its own texts; to be awaited before anything is said. `again` says in another language
 * what the page has said: it keeps what was entered, on this page alone.
 */
export function open(again) {
  if (again) state.again.push(again);
  state.opened ??= begin();
  return state.opened;
}

async function begin() {
  const sections = document.documentElement.dataset.texts.split(" ");
  become(remembered());
  const away = () => Promise.allSettled(sections.map(load)).then(() => !sections.every(knows));
  while (await away()) await new Promise((next) => setTimeout(next, PAUSE));
  fill($("languages"), offer());
  show();
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
  return el("select", { "data-label": "words.language", onchange }, ...LANGUAGES.map(option));
}

/** All that is said in the language of the switch; where its texts cannot be had, the switch goes back. */
async function change(select) {
  const { value } = select;
  try {
    const found = await Promise.all([...state.sections].map(async (one) => [one, await textsOf(one, value)]));
    if (select.value !== value) return; // it was switched again meanwhile
    become(value);
    for (const [section, texts] of found) learn(section, texts);
  } catch {
    if (select.value === value) select.value = state.language;
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
