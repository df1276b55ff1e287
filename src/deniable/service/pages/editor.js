/**
 * The editor of one question: what is asked, and how people answer. It makes its own fields inside of an element, and
 * several can stand on a page: names of fields begin with `prefix`.
 */

import { el, fill } from "./common.js";
import { distinctLines } from "./naming.js";
import { ALPHABETS } from "./search.alphabet.js";
import { text } from "./texts.js";

const MOST_MARKED = 200; // answers up to which each has a box for "sensitive"
const KINDS = ["closed", "ordered", "number", "open"]; // as people choose; "free" is "open" without a list

export class QuestionEditor {
  #prefix;
  #fields = {}; // by name
  #kinds = {};
  #parts = {}; // what belongs to a kind
  #answersHint = el("span", { class: "hint" });
  #marks = el("div", {});
  #marked = new Set();

  constructor(place, { prefix = "" } = {}) {
    this.#prefix = prefix;
    const kinds = KINDS.map((kind) => {
      this.#kinds[kind] = el("input", {
        type: "radio",
        name: `${prefix}kind`,
        value: kind,
        checked: kind === "closed",
      });
      return el("label", {}, this.#kinds[kind], el("span", {}, text(`editor.${kind}`)));
    });
    const part = (name, ...children) =>
      (this.#parts[name] = el("div", { class: "field", id: this.#id(name) }, ...children));
    fill(
      place,
      el(
        "div",
        { class: "field" },
        ...this.#labelled("question", null, this.#input("text", { maxlength: 500, dir: "auto" })),
      ),
      el("fieldset", {}, el("legend", {}, text("editor.kinds")), el("div", { class: "choices" }, ...kinds)),
      part(
        "closed",
        ...this.#labelled("answers", this.#answersHint, el("textarea", { rows: 5, dir: "auto", spellcheck: "true" })),
      ),
      part(
        "sensitive",
        el(
          "details",
          {},
          el("summary", {}, text("editor.sensitive")),
          el("fieldset", {}, el("legend", { class: "hint" }, text("editor.sensitiveHint")), this.#marks),
        ),
      ),
      part("number", ...this.#scale()),
      part(
        "open",
        ...this.#labelled("find", null, this.#select("listed", "free")),
        part("listed", ...this.#listed()),
        part("free", ...this.#free()),
        ...this.#labelled("text", text("editor.textHint"), this.#select("folded", "exact")),
      ),
    );
    this.#update();
    place.addEventListener("input", () => this.#update());
  }

  #id(name) {
    return this.#prefix + name;
  }

  #input(type, more) {
    return el("input", { type, autocomplete: "off", ...more });
  }

  #number(more = {}) {
    return this.#input("number", { step: "any", ...more });
  }

  #select(...names) {
    return el("select", {}, ...names.map((name) => el("option", { value: name }, text(`editor.${name}`))));
  }

  /** A field with its label. */
  #labelled(name, hint, field) {
    this.#fields[name] = field;
    field.id = this.#id(name);
    const more = typeof hint === "string" ? el("span", { class: "hint" }, hint) : hint;
    return [el("label", { for: field.id }, text(`editor.${name}`), " ", more), field];
  }

  /** Texts that somebody will name. */
  #listed() {
    return this.#labelled("candidates", text("editor.candidatesHint"), this.#number({ min: 2, max: 4096, value: 50 }));
  }

  /** Texts that are found without a list. */
  #free() {
    const field = (...children) => el("div", { class: "field" }, ...children);
    const option = (one) => el("option", { value: one }, text(`search.${one}`));
    const length = this.#number({ min: 1, max: 255, value: 12, step: 1 });
    const own = this.#input("text", { maxlength: 500, spellcheck: "false" });
    const alphabets = el("select", {}, ...ALPHABETS.map(option));
    this.#parts.characters = field(...this.#labelled("characters", null, own));
    return [
      el("p", { class: "hint" }, text("editor.freeHint")),
      field(...this.#labelled("length", text("editor.lengthHint"), length)),
      field(...this.#labelled("alphabet", text("editor.alphabetHint"), alphabets)),
      this.#parts.characters,
    ];
  }

  #scale() {
    const one = (name, hint, field) => el("div", { class: "field" }, ...this.#labelled(name, hint, field));
    return [
      el(
        "div",
        { class: "inline" },
        one("low", null, this.#number({ value: 0 })),
        one("high", null, this.#number({ value: 100 })),
        one("by", null, this.#select("bySteps", "byBins")),
        one("step", null, this.#number({ value: 1, min: 0 })),
        one("bins", null, this.#number({ value: 64, min: 2, max: 4096, step: 1 })),
      ),
      ...this.#labelled("outside", null, this.#select("clamp", "refuse")),
    ];
  }

  /** Show what belongs to the kind, and a box for each answer that there is now. */
  #update() {
    const { kind, symbols } = this.value;
    const few = symbols.length > 1 && symbols.length <= MOST_MARKED;
    const shown = {
      closed: kind === "closed" || kind === "ordered",
      sensitive: kind === "closed" && few,
      open: kind === "open" || kind === "free",
      listed: kind === "open",
      characters: kind === "free" && this.#fields.alphabet.value === "own",
    };
    for (const [name, part] of Object.entries(this.#parts)) part.hidden = !(shown[name] ?? kind === name);
    this.#answersHint.textContent = kind === "ordered" ? text("editor.orderedHint") : text("editor.answersHint");
    const steps = this.#fields.by.value === "bySteps";
    this.#fields.step.parentElement.hidden = !steps;
    this.#fields.bins.parentElement.hidden = steps;
    if (shown.sensitive) this.#offerMarks(symbols);
  }

  #offerMarks(symbols) {
    const there = [...this.#marks.querySelectorAll("span")].map((one) => one.textContent);
    if (JSON.stringify(there) === JSON.stringify(symbols)) return;
    const box = (symbol) => {
      const made = el("input", { type: "checkbox", checked: this.#marked.has(symbol) });
      // Before the form hears of it.
      made.addEventListener("input", () => this.#marked[made.checked ? "add" : "delete"](symbol));
      return el("p", {}, el("label", {}, made, " ", el("span", { dir: "auto", class: "break" }, symbol)));
    };
    fill(this.#marks, ...symbols.map(box));
  }

  /** What the fields say, as texts; `sensitive` are those of the answers that are marked. */
  get value() {
    const values = Object.fromEntries(Object.entries(this.#fields).map(([name, field]) => [name, field.value]));
    const chosen = KINDS.find((one) => this.#kinds[one].checked);
    const kind = chosen === "open" && values.find === "free" ? "free" : chosen;
    const symbols = distinctLines(values.answers);
    const sensitive = kind === "closed" ? symbols.filter((symbol) => this.#marked.has(symbol)) : [];
    return { ...values, kind, name: values.question.trim().normalize(), symbols, sensitive };
  }

  /** Fill in what a draft has. */
  fill({ kind, symbols, sensitive = [], ...values }) {
    this.#kinds[kind === "free" ? "open" : kind].checked = true;
    this.#fields.find.value = kind === "free" ? "free" : "listed";
    this.#marked = new Set(sensitive);
    fill(this.#marks);
    if (symbols) this.#fields.answers.value = symbols.join("\n");
    for (const [name, field] of Object.entries(this.#fields))
      if (values[name] !== undefined) field.value = values[name];
    if (!values.by && (values.bins || values.step)) this.#fields.by.value = values.bins ? "byBins" : "bySteps";
    this.#update();
    if (sensitive.length) this.#parts.sensitive.firstElementChild.open = true;
    this.#fields.question.focus();
  }
}
