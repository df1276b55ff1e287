/** The pages' modules speak one language at a time; tests read English, or what they ask for. */

import { readFileSync } from "node:fs";

import { learn, speak } from "../../src/deniable/service/pages/texts.js";

const PAGES = new URL("../../src/deniable/service/pages/", import.meta.url);

export const textsOf = (language) => JSON.parse(readFileSync(new URL(`languages/${language}.json`, PAGES), "utf8"));

export function read(language, locale = language) {
  speak(locale, language === "ar");
  for (const [section, texts] of Object.entries(textsOf(language))) learn(section, texts);
}

read("en", "en-GB");
