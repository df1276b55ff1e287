/** A cross-table on the Results page: its picture, the test, its numbers, and files. */

import { Picture } from "./charts.js";
import { download, el, fill, short, table } from "./common.js";
import { namesOf } from "./form.rows.js";
import { fileName } from "./naming.js";
import { heatMap, independenceWords, legendWords, tableRows } from "./pairs.js";
import { problemText } from "./problems.js";
import { text } from "./texts.js";

/**
 * `ask` posts what is given to the route of cross-tables, `titles` says what rows and columns are called, `names` makes
 * texts of the answers of either, and `file` is the title and the digest for names of files.
 */
export class TableSection {
  #options;
  #told;
  #parts = {};

  constructor(options) {
    this.#options = options;
    const parts = this.#parts;
    parts.problem = el("div", { role: "status" });
    parts.count = el("p", { class: "quiet" });
    parts.chart = el("div", { class: "chart" });
    parts.caption = el("figcaption", {});
    parts.test = el("p", {});
    parts.numbers = el("div", {});
    parts.files = el("div", { class: "actions", role: "group", "aria-label": text("pairs.download") });
    parts.shown = el(
      "div",
      { hidden: true },
      parts.count,
      el("figure", {}, parts.chart, parts.caption),
      parts.test,
      el("details", {}, el("summary", {}, text("pairs.numbers")), parts.numbers),
      parts.files,
    );
    this.picture = new Picture(parts.chart);
    this.element = el("div", {}, parts.problem, parts.shown);
    this.#offerFiles();
  }

  #offerFiles() {
    const { file, guarded } = this.#options;
    const name = (ending) => fileName(file.title, file.digest, ending);
    const picture = (kind) => async () => download(name(kind), await this.picture.file(kind));
    const csv = async () => {
      const found = await this.#options.ask({ format: "csv" }, { raw: true });
      download(name("csv"), new Blob(["\ufeff", found], { type: "text/csv" }));
    };
    const button = ([title, work]) => el("button", { type: "button", class: "plain", onclick: guarded(work) }, title);
    fill(
      this.#parts.files,
      el("span", { class: "quiet" }, text("pairs.download")),
      ...Object.entries({ CSV: csv, PNG: picture("png"), SVG: picture("svg") }).map(button),
    );
  }

  /** Ask, and show what is told, unless something newer is wanted by then. */
  async refresh(current) {
    const parts = this.#parts;
    let told;
    try {
      told = await this.#options.ask({});
    } catch (problem) {
      if (!problem.status) throw problem;
      if (!current()) return;
      parts.shown.hidden = true;
      fill(parts.problem, el("p", { class: "note" }, problemText(problem)));
      return;
    }
    if (!current()) return;
    this.#told = told;
    await this.#draw();
  }

  async #draw() {
    const parts = this.#parts;
    const told = this.#told;
    const { titles, names } = this.#options;
    const label = Object.fromEntries(
      Object.entries(names(told)).map(([side, called]) => [side, (symbol) => short(called(symbol), 60)]),
    );
    fill(parts.problem);
    parts.shown.hidden = false;
    parts.count.textContent = text("pairs.answers", { count: told.n });
    parts.caption.textContent = legendWords(told);
    parts.test.textContent = independenceWords(told.independence);
    const { heads, rows } = tableRows(told, label);
    fill(parts.numbers, table(text("pairs.table"), heads, rows));
    await this.picture.draw(heatMap(told, { label, titles: titles(told) }));
  }
}

/** Two questions that were sent together: a section of its own, whose rows and columns may be turned. */
export class PairSection {
  #turned;
  #table;

  /** `pair` are the two questions; `ask(body, more)` posts to the route of cross-tables; it may begin `turned`. */
  constructor(pair, { ask, guarded, digest, changed, turned = false }) {
    this.#turned = turned;
    const named = (question) => question.title || question.name;
    const sides = () => (this.#turned ? [pair[1], pair[0]] : pair);
    const title = text("pairs.title", { first: named(pair[0]), second: named(pair[1]) });
    this.title = title;
    const id = `pair-${pair[0].name}-${pair[1].name}`;
    this.#table = new TableSection({
      ask: (more, how) => ask({ rows: sides()[0].name, columns: sides()[1].name, ...more }, how),
      titles: () => ({ rows: named(sides()[0]), columns: named(sides()[1]) }),
      names: () => ({ rows: namesOf(sides()[0]), columns: namesOf(sides()[1]) }),
      file: { title, digest },
      guarded,
    });
    const turn = guarded(async () => {
      this.#turned = !this.#turned;
      await changed(this);
    });
    this.element = el(
      "section",
      { class: "asked", "aria-labelledby": id },
      el("h2", { id, dir: "auto", tabindex: "-1" }, title),
      el("p", {}, text("pairs.lead")),
      el(
        "div",
        { class: "actions" },
        el("button", { type: "button", class: "plain", onclick: turn }, text("pairs.turn")),
      ),
      this.#table.element,
    );
  }

  get turned() {
    return this.#turned;
  }

  refresh(current) {
    return this.#table.refresh(current);
  }
}
