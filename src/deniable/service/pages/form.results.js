/**
 * The results of a form: the facts of the whole, a section for each question, and files of all of them. When there is
 * something to ask for is known to results.js; the sections are asked for one after the other, from the top.
 */

import { $, download, el, fill } from "./common.js";
import { factsOf, formsIn, joinedTables, sectionsOf } from "./form.rows.js";
import { QuestionSection } from "./form.section.js";
import { numbersOf } from "./form.shown.js";
import { fileName } from "./naming.js";
import { PairSection } from "./pair.section.js";
import { pairsOf } from "./pairs.js";
import { problemText } from "./problems.js";
import { text } from "./texts.js";
import { atMost, deniability, strength, THEY } from "./words.js";

export class FormResults {
  #options;
  #form;
  #sections;
  #pairs;
  #n; // the channel of the whole in numbers

  /** `options` has the `digest`, `post`, `table`, `range` and `guarded` of the page, its `rules` and its `token`. */
  constructor(form, options) {
    this.#form = form;
    this.#options = options;
    const file = { title: form.name, digest: options.digest };
    const range = [$("from").closest(".inline"), $("range-note")];
    const post = (route, body, more) => options.post(route, { ...body, ...options.range() }, more);
    this.#sections = sectionsOf(form).map(
      (about, i) =>
        new QuestionSection(about, {
          number: i + 1,
          file,
          ask: post,
          guarded: options.guarded,
          changed: options.again,
          candidates: options.candidates?.[about.name],
        }),
    );
    const table = (body, more) => options.table({ ...body, ...options.range() }, more);
    this.#pairs = pairsOf(form).map(
      (pair, i) =>
        new PairSection(pair, {
          turned: options.turned?.[i],
          ask: table,
          guarded: options.guarded,
          digest: options.digest,
          changed: (section) => section.refresh(() => true),
        }),
    );
    fill(
      $("form-results"),
      el(
        "nav",
        { "aria-label": text("forms.contents"), class: "contents" },
        el("ol", {}, ...[...this.#sections, ...this.#pairs].map(entry)),
      ),
      ...this.#sections.map(({ element }) => element),
      ...this.#pairs.map(({ element }) => element),
      this.#files(file),
    );
    // The range and its note are for all sections.
    $("form-results").prepend(...range);
    for (const id of ["order", "top"]) $(id).parentElement.hidden = true;
    for (const id of ["about-shares", "health-part", "raw-table"]) $(id).hidden = true;
    $("raw").closest("p").hidden = true;
  }

  /** What is looked for in each question where people wrote what they liked. */
  get candidates() {
    return Object.fromEntries(this.#sections.map((section) => [section.question.question, section.candidates]));
  }

  /** Which cross-tables somebody has turned. */
  get turned() {
    return this.#pairs.map((pair) => pair.turned);
  }

  /** Whether there is something to see. */
  get isShown() {
    return !$("form-results").hidden;
  }

  /**
   * Ask for every question, and show each as it comes; `shown` is called before. What it gives, if anything, is the
   * problem that there are too few answers, which the page says.
   */
  async refresh(current, { windows, rules, shown }) {
    this.#n ??= await numbersOf({ form: this.#form });
    for (const section of this.#sections) {
      if (!section.ready) {
        section.fail(text("forms.nameThem"));
        continue;
      }
      let found;
      try {
        found = await this.#options.post("estimate", {
          ...section.question,
          ...this.#options.range(),
          order: "own",
        });
      } catch (problem) {
        if (!current()) return undefined;
        if (problem.status === 409) return problem;
        if (problem.status !== 422) throw problem;
        section.fail(problemText(problem));
        continue;
      }
      if (!current()) return undefined;
      this.#head(found, windows, rules);
      this.#reveal(shown);
      await section.show(found, { windows: windows.length, window: rules.window, epsilon: Math.log(this.#n.odds) });
      if (!current()) return undefined;
    }
    this.#reveal(shown); // where nobody has named answers to any question
    for (const pair of this.#pairs) {
      await pair.refresh(current);
      if (!current()) return undefined;
    }
    return undefined;
  }

  #reveal(shown) {
    $("form-results").hidden = false;
    $("facts").hidden = !$("facts").childElementCount;
    shown();
  }

  #head(found, windows, rules) {
    const facts = factsOf(
      formsIn(windows, { from: found.from, to: found.to }),
      found,
      rules.window,
      this.#n,
      strength(this.#n),
      atMost,
    );
    fill($("facts"), ...facts.map(([number, said]) => el("div", {}, el("b", {}, number), said)));
    $("lead").textContent = `${text("forms.lead")} ${deniability(this.#n, THEY)}`;
  }

  #files(file) {
    const { guarded, tally } = this.#options;
    const name = (ending) => fileName(file.title, file.digest, ending);
    const there = () => this.#sections.filter((section) => section.shares);
    const csv = async () => {
      const tables = await Promise.all(there().map(async (section) => (await section.table()).text()));
      download(name("csv"), new Blob(["\ufeff", joinedTables(tables)], { type: "text/csv" }));
    };
    const json = () => {
      const questions = Object.fromEntries(there().map((section) => [section.question.question, section.shares]));
      save("json", { form: file.digest, questions });
    };
    const save = (ending, value) =>
      download(name(ending), new Blob([JSON.stringify(value, null, 2)], { type: "application/json" }));
    const files = {
      CSV: csv,
      JSON: json,
      [text("forms.theForm")]: () => save("form.json", this.#form),
      [text("forms.theTally")]: async () => download(name("tally"), await tally()),
    };
    const button = ([title, work]) => el("button", { type: "button", class: "plain", onclick: guarded(work) }, title);
    return el(
      "section",
      { "aria-labelledby": "all-title" },
      el("h2", { id: "all-title" }, text("forms.all")),
      el("div", { class: "actions", id: "all-downloads" }, ...Object.entries(files).map(button)),
    );
  }
}

/** A link to a section: it moves the focus and leaves the address alone, which may hold candidates. */
function entry({ element, title }) {
  const heading = element.querySelector("h2");
  const go = (event) => {
    event.preventDefault();
    heading.focus();
    heading.scrollIntoView();
  };
  return el("li", {}, el("a", { href: `#${heading.id}`, dir: "auto", onclick: go }, title));
}
