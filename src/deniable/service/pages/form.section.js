/** One question of a form on the Results page: its picture, its numbers, what was left out, and files of it. */

import { Picture } from "./charts.js";
import { download, el, fill, percent, short, table } from "./common.js";
import { barsWords, drawnRows, marked, pictureHeading, skippedWords } from "./form.rows.js";
import { distinctLines, fileName } from "./naming.js";
import { alarmTexts, problemText } from "./problems.js";
import { densityChart, figureTable, figureWords, meansChart, rangeTable } from "./quantities.js";
import { bySize, cut, estimateRows, firstDrawn, labelled, trendRows } from "./rows.js";
import { meansWords, trendWords } from "./sofar.js";
import { number, text } from "./texts.js";

const LISTED = 2000; // answers in a table
const LINES = 6; // of a chart over time that can be told apart

/**
 * `about` is what sectionsOf says of the question. `ask` posts to a route with what the page has chosen, `candidates`
 * are those of this question, and `changed` is called when somebody names others.
 */
export class QuestionSection {
  #about;
  #options;
  #shares;
  #trended; // what the chart over time was made of
  #parts = {};

  constructor(about, options) {
    this.#about = about;
    this.#options = options;
    this.candidates = options.candidates ?? [];
    const id = `of-${about.name}`;
    const parts = this.#parts;
    parts.count = el("p", { class: "quiet" });
    parts.problem = el("div", { role: "status" });
    parts.skipped = el("p", {});
    parts.figures = el("p", { dir: "auto" });
    parts.chart = el("div", { class: "chart" });
    parts.caption = el("figcaption", {});
    parts.rest = el("p", { class: "quiet" });
    parts.table = el("div", {});
    parts.alarms = el("div", {});
    parts.files = el("div", { class: "actions", role: "group", "aria-label": text("forms.downloads") });
    parts.shown = el(
      "div",
      {},
      parts.figures,
      el("figure", {}, parts.chart, parts.caption),
      parts.skipped,
      parts.rest,
      parts.alarms,
      el("details", {}, el("summary", {}, text("forms.numbers")), parts.table),
      this.#overTime(),
      parts.files,
    );
    parts.shown.hidden = true;
    this.element = el(
      "section",
      { class: "asked", "aria-labelledby": id },
      el("h2", { id, dir: "auto", tabindex: "-1" }, `${number(options.number)}. ${about.title}`),
      parts.count,
      about.open && this.#lookFor(id),
      parts.problem,
      parts.shown,
    );
    this.picture = new Picture(parts.chart);
    this.#offerFiles();
  }

  /** What of this question is asked for. */
  get question() {
    return { question: this.#about.name, ...(this.#about.open && { candidates: this.candidates }) };
  }

  /** Whether there is something to ask for: of an open question, candidates. */
  get ready() {
    return !this.#about.open || this.candidates.length > 0;
  }

  get title() {
    return this.#about.title;
  }

  get shares() {
    return this.#shares;
  }

  /** The files of all questions have this one, too. */
  table() {
    return this.#options.ask("estimate", { ...this.question, format: "csv", order: "own" }, { raw: true });
  }

  #lookFor(id) {
    const names = el("textarea", { id: `${id}-candidates`, rows: 4, dir: "auto", spellcheck: "false" });
    names.value = this.candidates.join("\n");
    const look = () => {
      this.candidates = distinctLines(names.value);
      this.#options.changed();
    };
    return el(
      "div",
      { class: "field" },
      el(
        "label",
        { for: names.id },
        text("forms.candidates"),
        el("span", { class: "hint" }, text("forms.candidatesHint")),
      ),
      names,
      el(
        "div",
        { class: "actions" },
        el("button", { type: "button", class: "plain", onclick: look }, text("forms.look")),
      ),
    );
  }

  #overTime() {
    const parts = this.#parts;
    parts.trend = el("div", { class: "chart" });
    parts.trendWords = el("figcaption", {});
    parts.trendProblem = el("p", { class: "quiet" });
    const figure = el("figure", {}, parts.trend, parts.trendWords);
    parts.time = el("details", { hidden: true }, el("summary", {}, text("forms.overTime")), parts.trendProblem, figure);
    this.trend = new Picture(parts.trend);
    parts.time.addEventListener("toggle", () => this.#draw());
    return parts.time;
  }

  #offerFiles() {
    const { file, guarded } = this.#options;
    const name = (ending) => fileName(`${file.title} ${this.#about.title}`, file.digest, ending);
    const picture = (kind) => async () => download(name(kind), await this.picture.file(kind));
    const csv = async () => download(name("csv"), new Blob(["\ufeff", await this.table()], { type: "text/csv" }));
    const button = ([title, work]) => el("button", { type: "button", class: "plain", onclick: guarded(work) }, title);
    const files = { CSV: csv, PNG: picture("png"), SVG: picture("svg") };
    fill(
      this.#parts.files,
      el("span", { class: "quiet" }, text("forms.download")),
      ...Object.entries(files).map(button),
    );
  }

  /** There are no results of this question, and why. */
  fail(said) {
    this.#shares = undefined;
    this.#parts.shown.hidden = true;
    this.#parts.count.textContent = "";
    fill(this.#parts.problem, el("p", { class: "note" }, said));
  }

  /** Show what was told; `windows` is how many there are, and `window` how long one is. */
  async show(shares, { windows, window, epsilon }) {
    const about = this.#about;
    const parts = this.#parts;
    this.#shares = shares;
    const { level, figures, density, estimates, unallocated } = shares;
    fill(parts.problem);
    parts.shown.hidden = false;
    parts.count.textContent = text("forms.answers", { count: shares.n });
    parts.skipped.textContent = skippedWords(about, shares);
    parts.figures.textContent = figures ? figureWords(figures, level) : "";
    parts.rest.textContent = unallocated
      ? text("forms.rest", { share: percent(Math.max(unallocated.probability, 0)) })
      : "";
    const alarms = shares.diagnostics ? alarmTexts(shares.diagnostics) : [];
    fill(parts.alarms, ...alarms.map((said) => el("p", { class: "note bad" }, said)));
    parts.time.hidden = windows < 2 || about.related;
    this.#list(shares);
    const heading = pictureHeading(about, shares, window, epsilon);
    const work = [this.#draw()];
    if (density) {
      parts.caption.textContent = text("forms.density", { sure: number(Math.round(100 * level)) });
      work.push(this.picture.draw(densityChart(shares, heading)));
    } else {
      const drawn = drawnRows(about, shares);
      parts.caption.textContent = barsWords(drawn, shares);
      const rows = marked(estimateRows(drawn.rows, false, about.called), drawn.rows, figures);
      const description = text("forms.described", { count: rows.length });
      work.push(this.picture.draw({ chart: "estimate", level, heading, description, data: { rows } }));
    }
    await Promise.all(work);
    return estimates;
  }

  #list({ estimates, figures, density, level }) {
    const wide = percent(level, 0);
    const heads = [text("forms.answer"), text("forms.shareOf"), text("forms.from", { level: wide }), text("forms.to")];
    const cell = (value) => (value === null ? text("forms.unknown") : percent(value, 2));
    const ordered = this.#about.own ? estimates : bySize(estimates);
    const rows = ordered
      .slice(0, LISTED)
      .map((row) => [
        short(this.#about.called(row.symbol), 300),
        cell(row.probability),
        ...cut(row.raw_low, row.raw_high).map(cell),
      ]);
    const made = (title, found) => table(title, found.heads, found.rows);
    fill(
      this.#parts.table,
      figures && made(text("forms.figures"), figureTable(figures, level)),
      density ? made(text("forms.ranges"), rangeTable(this.#shares)) : table(text("forms.shares"), heads, rows),
    );
  }

  /** The chart over time, when somebody looks and there is a newer one. */
  async #draw() {
    const { time, trendWords: words, trendProblem: problem } = this.#parts;
    const shares = this.#shares;
    if (!time.open || time.hidden || !shares || this.#trended === shares) return;
    this.#trended = shares;
    let told;
    try {
      told = await this.#options.ask("trend", this.question);
    } catch (caught) {
      if (!caught.status) throw caught;
      fill(problem, problemText(caught));
      return;
    }
    if (shares !== this.#shares) return;
    problem.textContent = told.windows.length < 2 ? text("forms.oneWindow") : "";
    if (told.windows.length < 2) return;
    if (shares.figures) {
      words.textContent = meansWords(told);
      await this.trend.draw(meansChart(told));
      return;
    }
    words.textContent = trendWords(told);
    const order = bySize(shares.estimates).map((row) => row.symbol);
    const drawn = new Set(firstDrawn(order, told.windows, LINES));
    const chosen = labelled(
      order.filter((symbol) => drawn.has(JSON.stringify(symbol))).map((symbol) => ({ symbol })),
      this.#about.called,
    );
    const rows = trendRows(told.windows, chosen);
    const description = text("forms.trend", { count: told.windows.length });
    const names = chosen.map(({ name }) => name);
    await this.trend.draw({ chart: "trend", level: told.level, description, names, data: { rows } });
  }
}
