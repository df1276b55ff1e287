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

const state = { language: "en" };

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

/** Fetch a section of the texts, unless it is here. */
export async function load(section) {
  if (knows(section)) return;
  const options = { credentials: "omit", referrerPolicy: "no-referrer" };
  learn(section, await (await fetch(`/pages/${state.language}.${section}.json`, options)).json());
}

/** Put the texts into the page's own elements. */
function inscribe() {
  for (const one of document.querySelectorAll("[data-text]")) one.textContent = text(one.dataset.text);
  for (const one of document.querySelectorAll("[data-count]"))
    one.textContent = text(one.dataset.count, { count: Number(one.value) });
  for (const one of document.querySelectorAll("[data-share]"))
    one.textContent = text(one.dataset.share, { share: percentage(one.value) });
  for (const one of document.querySelectorAll("[data-label]")) one.setAttribute("aria-label", text(one.dataset.label));
}

/** The page has its language and its own texts; to be awaited before anything is said. */
export const open = () => (state.opened ??= begin());

async function begin() {
  const root = document.documentElement;
  const tag = chosen(navigator.languages, remembered());
  state.language = tag.toLowerCase().split("-")[0];
  const rightToLeft = RIGHT_TO_LEFT.includes(state.language);
  speak(tag, rightToLeft);
  const sections = root.dataset.texts.split(" ");
  const away = () => Promise.allSettled(sections.map(load)).then(() => !sections.every(knows));
  while (await away()) await new Promise((next) => setTimeout(next, PAUSE));
  root.lang = state.language;
  root.dir = rightToLeft ? "rtl" : "ltr";
  inscribe();
  offer();
}

/** The switch: each language by its own name. The page is loaded again: what was rolled is kept by it, not here. */
function offer() {
  const option = (language) =>
    el(
      "option",
      { value: language, lang: language, selected: language === state.language },
      new Intl.DisplayNames([language], { type: "language" }).of(language),
    );
  const select = el("select", { "aria-label": text("words.language") }, ...LANGUAGES.map(option));
  select.addEventListener("change", () => {
    try {
      localStorage.setItem(PLACE, select.value);
    } catch {
      // Without storage the browser's own language stays.
    }
    location.reload();
  });
  fill($("languages"), select);
}
