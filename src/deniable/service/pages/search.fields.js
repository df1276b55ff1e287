/**
 * What a search on Results is told: what texts are made of, and how it is arranged. The choice is kept after the # of
 * the address, so that a bookmark has it.
 */

import { $, el } from "./common.js";
import { ALPHABETS, readAlphabet, searched, written } from "./search.alphabet.js";
import { text } from "./texts.js";

export class AlphabetField {
  #select;
  #characters;

  /** `changed` is called when something else is to be searched. */
  constructor(changed) {
    const { alphabet, characters } = readAlphabet(location.hash);
    const option = (one) =>
      el("option", { value: one, selected: one === alphabet, "data-text": `search.${one}` }, text(`search.${one}`));
    this.#select = el("select", { id: "alphabet" }, ...ALPHABETS.map(option));
    this.#characters = el("input", {
      type: "text",
      id: "characters",
      value: characters,
      maxlength: 500,
      autocomplete: "off",
      spellcheck: "false",
    });
    const labelled = (name, field) =>
      el(
        "div",
        { class: "field" },
        el("label", { for: name, "data-text": `search.${name}` }, text(`search.${name}`)),
        field,
      );
    const own = labelled("characters", this.#characters);
    const show = () => {
      own.hidden = this.#select.value !== "own";
    };
    show();
    this.element = el("div", {}, labelled("alphabet", this.#select), own);
    this.element.addEventListener("change", () => {
      show();
      if (this.#select.value !== "own" || this.#characters.value) changed();
    });
  }

  /** As the collector is asked. */
  get asked() {
    return searched(this.#value);
  }

  /** As a link has it. */
  get written() {
    return written(this.#select.value, this.#characters.value);
  }

  get #value() {
    return { alphabet: this.#select.value, characters: this.#characters.value };
  }
}

/** What was found comes first; what narrows a search is folded away, unless somebody has named something. */
export function arrange(alphabet, named) {
  const [lead, field, look, told] = [$("open-lead"), $("candidates").parentElement, $("look"), $("merged")];
  const open = named || alphabet.asked !== undefined;
  const summary = el("summary", { "data-text": "search.title" }, text("search.title"));
  const more = el("details", { id: "search-more", open }, summary, lead, field, alphabet.element);
  more.append(look.parentElement);
  told.classList.remove("quiet", "small"); // it is what is said first
  $("open").append(told, more);
}
