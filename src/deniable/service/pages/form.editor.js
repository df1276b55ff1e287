/**
 * The editor of what is asked: one question, or a form of several. With one it is the question's editor and a button
 * for another; with more, each question is a card that opens, moves (by its buttons, by Alt and an arrow, or dragged)
 * and goes, and the form has a title.
 */

import { el, fill } from "./common.js";
import { QuestionEditor } from "./editor.js";
import { moved } from "./form.asking.js";
import { Relating } from "./form.relating.js";
import { text } from "./texts.js";

const MOST = 64; // questions: more than anybody answers

export class FormEditor {
  #title = el("input", { type: "text", id: "form-title", maxlength: 500, dir: "auto", autocomplete: "off" });
  #titleField;
  #list = el("ol", { class: "questions" });
  #add;
  #said = el("p", { class: "quiet small", role: "status" });
  #cards = [];
  #relating = new Relating(() => this.#changed());
  #made = 0; // cards so far: names of fields begin with a number of their own
  #dragged;

  constructor(place) {
    const label = el("label", { for: "form-title" }, text("forms.title"));
    this.#titleField = el("div", { class: "field" }, label, this.#title);
    this.#add = el("button", { type: "button", class: "plain", id: "add-question" }, text("forms.add"));
    this.#add.addEventListener("click", () => {
      this.#open(this.#append());
      this.#changed();
    });
    fill(
      place,
      this.#titleField,
      this.#list,
      el("div", { class: "actions" }, this.#add, this.#said),
      this.#relating.element,
    );
    this.#append();
    this.#list.addEventListener("input", () => this.#name());
    this.#show();
  }

  get isForm() {
    return this.#cards.length > 1;
  }

  /** The one question, as QuestionEditor has it; of a form the title and the questions. */
  get value() {
    const questions = this.#cards.map(({ editor, skip }) => ({ ...editor.value, skip: skip.checked }));
    if (!this.isForm) return questions[0];
    return { kind: "form", title: this.#title.value.trim().normalize(), questions, relate: this.#relating.value };
  }

  /** Fill in what a draft has. */
  fill(draft) {
    const questions = draft.questions ?? [draft];
    for (const card of this.#cards.splice(0)) card.item.remove();
    this.#made = 0; // none is left whose fields could have the same names
    for (const { skip, ...question } of questions) {
      const card = this.#append();
      card.editor.fill(question);
      card.skip.checked = Boolean(skip);
    }
    if (draft.questions) this.#title.value = draft.question;
    this.#open(this.#cards[0]);
    this.#relating.fill(draft.relate ?? []);
    if (draft.questions) this.#title.focus();
  }

  /** A card at the end. */
  #append() {
    const prefix = this.#made ? `q${this.#made + 1}-` : "";
    this.#made += 1;
    const body = el("div", { class: "body", id: `${prefix}body` });
    const place = el("div", {});
    const skip = el("input", { type: "checkbox" });
    const leave = el("p", { class: "leave" }, el("label", {}, skip, " ", text("forms.skip")));
    const toggle = el("button", { type: "button", class: "toggle", "aria-controls": body.id });
    const button = (sign, work) => el("button", { type: "button", class: "plain step", onclick: work }, sign);
    const handle = el("span", { class: "handle", draggable: "true", "aria-hidden": "true" }, "⠿");
    const card = { id: this.#made, skip, toggle, body, leave };
    card.up = button("↑", () => this.#move(card, -1, card.up));
    card.down = button("↓", () => this.#move(card, 1, card.down));
    card.remove = button("✕", () => this.#remove(card));
    card.head = el("div", { class: "head" }, handle, toggle, card.up, card.down, card.remove);
    card.item = el("li", {}, card.head, body);
    fill(body, place, leave);
    card.editor = new QuestionEditor(place, { prefix });
    toggle.addEventListener("click", () => this.#open(card.body.hidden ? card : undefined));
    card.item.addEventListener("keydown", (event) => this.#key(card, event));
    this.#draggable(card, handle);
    this.#cards.push(card);
    this.#list.append(card.item);
    return card;
  }

  #key(card, event) {
    const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!event.altKey || !by || !this.isForm) return;
    event.preventDefault();
    this.#move(card, by, document.activeElement);
  }

  #draggable(card, handle) {
    handle.addEventListener("dragstart", (event) => {
      this.#dragged = card;
      event.dataTransfer.effectAllowed = "move";
      event.dataTransfer.setData("text/plain", "");
    });
    card.item.addEventListener("dragover", (event) => {
      if (!this.#dragged) return;
      event.preventDefault();
      if (this.#dragged !== card) this.#put(this.#dragged, this.#cards.indexOf(card));
    });
    handle.addEventListener("dragend", () => {
      this.#dragged = undefined;
      this.#changed();
    });
  }

  /** One place up or down; whoever had the focus keeps it. */
  #move(card, by, focused) {
    const to = this.#cards.indexOf(card) + by;
    if (to < 0 || to >= this.#cards.length) return;
    this.#put(card, to);
    (focused.disabled ? card.toggle : focused).focus();
    this.#said.textContent = text("forms.moved", { number: to + 1, of: this.#cards.length });
    this.#changed();
  }

  #put(card, to) {
    this.#cards = moved(this.#cards, this.#cards.indexOf(card), to);
    for (const [i, { item }] of this.#cards.entries())
      if (this.#list.children[i] !== item) this.#list.insertBefore(item, this.#list.children[i]);
    this.#show();
  }

  #remove(card) {
    const place = this.#cards.indexOf(card);
    this.#cards.splice(place, 1);
    card.item.remove();
    this.#said.textContent = text("forms.removed");
    const next = this.#cards[Math.min(place, this.#cards.length - 1)];
    if (!this.isForm) this.#open(next);
    (this.isForm ? next.toggle : this.#add).focus();
    this.#changed();
  }

  /** Show one question, and of the others only what they ask. */
  #open(shown) {
    for (const card of this.#cards) card.body.hidden = card !== shown;
    this.#show();
    shown?.body.querySelector("input")?.focus();
  }

  /** What there is to see of a form and not of one question. */
  #show() {
    const several = this.isForm;
    this.#titleField.hidden = !several;
    this.#add.disabled = this.#cards.length >= MOST;
    this.#list.classList.toggle("one", !several);
    for (const [i, card] of this.#cards.entries()) {
      card.head.hidden = !several;
      card.leave.hidden = !several;
      if (!several) card.body.hidden = false;
      card.toggle.setAttribute("aria-expanded", String(!card.body.hidden));
      const number = { number: i + 1 };
      card.up.disabled = i === 0;
      card.down.disabled = i === this.#cards.length - 1;
      for (const name of ["up", "down", "remove"]) card[name].setAttribute("aria-label", text(`forms.${name}`, number));
    }
    this.#name();
  }

  /** Each card by its number and what it asks, here and among those that can be related. */
  #name() {
    const questions = this.#cards.map(({ id, editor }, i) => {
      const { name, kind, sensitive } = editor.value;
      return { id, kind, sensitive, title: name || text("forms.untitled", { number: i + 1 }) };
    });
    for (const [i, { toggle }] of this.#cards.entries())
      fill(toggle, el("b", {}, String(i + 1)), " ", el("span", { dir: "auto" }, questions[i].title));
    this.#relating.show(questions);
  }

  #changed() {
    this.#show();
    this.#list.dispatchEvent(new Event("input", { bubbles: true }));
  }
}
