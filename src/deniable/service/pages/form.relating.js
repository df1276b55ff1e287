/** Pairs of questions on Ask: two choices each, of which no question is in two pairs. */

import { el, fill } from "./common.js";
import { alone, aloneWords, pairWords } from "./form.pairs.js";
import { isolated, text } from "./texts.js";

export class Relating {
  #list = el("ul", { class: "plainlist" });
  #add = el("button", { type: "button", class: "plain", id: "relate-add" }, text("relate.add"));
  #why = el("p", { class: "quiet small", id: "relate-why" });
  #pairs = [];
  #questions = [];
  #changed;

  /** `changed` is called where a pair came or went. */
  constructor(changed) {
    this.#changed = changed;
    this.#add.addEventListener("click", () => {
      const pair = this.#append(this.#free().slice(0, 2));
      this.#after(pair.selects[0]);
    });
    this.element = el(
      "details",
      { id: "relate" },
      el("summary", {}, text("relate.title")),
      el("p", { class: "hint" }, text("relate.lead")),
      this.#list,
      this.#why,
      el("div", { class: "actions" }, this.#add),
    );
    this.#list.addEventListener("input", () => this.#draw());
  }

  /** Pairs of places among the questions. */
  get value() {
    const places = new Map(this.#questions.map(({ id }, place) => [id, place]));
    return this.#pairs.map(({ ids }) => ids.map((id) => places.get(id)).sort((a, b) => a - b));
  }

  /** Questions as they are now: each has an `id` of its own, a title, a kind and the answers that are marked. */
  show(questions) {
    this.#questions = questions;
    const here = new Set(questions.map(({ id }) => id));
    for (const pair of this.#pairs.filter(({ ids }) => !ids.every((id) => here.has(id)))) this.#drop(pair);
    this.element.hidden = questions.length < 2;
    this.#draw();
  }

  /** Pairs of places, in place of those that are here. */
  fill(pairs) {
    for (const pair of [...this.#pairs]) this.#drop(pair);
    for (const places of pairs) this.#append(places.map((place) => this.#questions[place]));
    if (pairs.length) this.element.open = true;
    this.#draw();
  }

  /** Questions that are in no pair and can be. */
  #free() {
    const taken = new Set(this.#pairs.flatMap(({ ids }) => ids));
    return this.#questions.filter((one) => !taken.has(one.id) && !alone(one));
  }

  #append(two) {
    const said = el("p", { class: "quiet small" });
    const select = (name) => el("select", { "aria-label": text(`relate.${name}`) });
    const selects = [select("first"), select("second")];
    const remove = el("button", { type: "button", class: "plain step", "aria-label": text("relate.remove") }, "✕");
    const item = el("li", {}, el("div", { class: "pair" }, ...selects, remove), said);
    const pair = { ids: two.map(({ id }) => id), selects, said, item };
    for (const [i, one] of selects.entries())
      one.addEventListener("input", () => {
        pair.ids[i] = Number(one.value);
      });
    remove.addEventListener("click", () => {
      this.#drop(pair);
      this.#after(this.#add);
    });
    this.#pairs.push(pair);
    this.#list.append(item);
    return pair;
  }

  #drop(pair) {
    this.#pairs.splice(this.#pairs.indexOf(pair), 1);
    pair.item.remove();
  }

  #after(focused) {
    this.#draw();
    (focused.disabled ? this.element.firstElementChild : focused).focus();
    this.#changed();
  }

  /** The choices that each pair has: its own questions, and those that are free. */
  #draw() {
    const free = new Set(this.#free().map(({ id }) => id));
    const numbered = new Map(this.#questions.map((one, i) => [one.id, `${i + 1}. ${isolated(one.title)}`]));
    for (const { ids, selects, said } of this.#pairs) {
      for (const [i, select] of selects.entries()) {
        const offered = this.#questions.filter(({ id }) => id === ids[i] || free.has(id));
        fill(select, ...offered.map(({ id }) => el("option", { value: id }, numbered.get(id))));
        select.value = ids[i];
      }
      said.textContent = pairWords(this.#questions.filter(({ id }) => ids.includes(id)));
    }
    this.#add.disabled = free.size < 2;
    const why = aloneWords(this.#questions);
    this.#why.textContent = [why, free.size < 2 && this.#pairs.length && text("relate.once")].filter(Boolean).join(" ");
  }
}
