/** What texts are made of, as a choice on Results. It is kept after the # of the address, so that a bookmark keeps it. */

import { el } from "./common.js";
import { ALPHABETS, readAlphabet, searched, written } from "./search.alphabet.js";
import { text } from "./texts.js";

export class AlphabetField {
  #select;
  #characters;
  #reading;

  /** `reading` is how the survey reads text; `changed` is called when something else is to be searched. */
  constructor(reading, changed) {
    this.#reading = reading;
    const { alphabet, characters } = readAlphabet(location.hash);
    const option = (one) => el("option", { value: one, selected: one === alphabet }, text(`search.${one}`));
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
      el("div", { class: "field" }, el("label", { for: name }, text(`search.${name}`)), field);
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
    return searched(this.#value, this.#reading);
  }

  /** As a link has it. */
  get written() {
    return written(this.#select.value, this.#characters.value);
  }

  get #value() {
    return { alphabet: this.#select.value, characters: this.#characters.value };
  }
}
