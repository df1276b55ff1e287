/** Results over time: one point a window, rings where a share changed, and the last window against a normal one. */

import { $, el, fill, percent, points, short, symbolText, table } from "./common.js";
import { meansChart } from "./quantities.js";
import { bySize, firstDrawn, key, labelled, trendRows } from "./rows.js";
import { latestWords, meansWords, trendWords } from "./sofar.js";
import { text } from "./texts.js";
import { listed } from "./words.js";

const MOST = 6; // lines that can be told apart
const MARKS = 20; // windows with a change that are listed: the last ones
const LISTED = 2000; // answers in a table

/** The part of a page that shows the trend, with the reader's choice of lines. `day` says when a window began. */
export class Trend {
  #picture;
  #day;
  #drawn = null; // keys of the answers that are drawn, once there is a trend

  constructor(picture, day) {
    this.#picture = picture;
    this.#day = day;
  }

  /** Choose anew which answers are drawn. */
  forgetChoice() {
    this.#drawn = null;
  }

  /** Show the windows that were told; `shares` are those of all of them together. */
  async show(told, shares) {
    $("trend-part").hidden = told.windows.length < 2;
    if (told.windows.length < 2) return;
    for (const id of ["trend-switch", "trend-choice"]) $(id).hidden = Boolean(shares.figures);
    $("trend-marks").hidden = Boolean(shares.density);
    if (shares.figures) return this.#showMeans(told, shares);
    const order = bySize(shares.estimates).map((row) => row.symbol);
    this.#drawn ??= new Set(firstDrawn(order, told.windows, MOST));
    this.#offerNames(told, order);
    $("trend-switch").hidden = !told.windows.some((one) => one.smooth);
    $("trend-alone").onchange = () => this.#draw(told, order);
    this.#showLatest(told);
    await this.#draw(told, order);
  }

  /** Of answers in an order the mean is drawn; shares that changed are named where there are few. */
  async #showMeans(told, { density }) {
    if (density) $("latest").hidden = true;
    else {
      this.#showLatest(told);
      this.#listChanges(told);
    }
    $("trend-words").textContent = meansWords(told);
    await this.#picture.draw(meansChart(told));
  }

  /** How the last window differs from a normal one: a sentence, and the numbers. */
  #showLatest(told) {
    $("latest").hidden = !told.latest;
    if (!told.latest) return;
    const title = text(`results.latest_${told.window}`);
    const cells = ({ raw, normal }) => [percent(raw, 2), percent(normal, 2)];
    const limits = ({ raw_low, raw_high }) => [points(raw_low, 2), points(raw_high, 2)];
    $("latest-title").textContent = title;
    $("latest-words").textContent = latestWords(labelled(told.latest), told);
    fill(
      $("latest-table").lastElementChild,
      table(
        title,
        [
          text("forms.answer"),
          text(`results.last_${told.window}`),
          text("results.normally"),
          text("results.differenceFrom"),
          text("forms.to"),
        ],
        told.latest.slice(0, LISTED).map((row) => [short(symbolText(row.symbol), 300), ...cells(row), ...limits(row)]),
      ),
    );
  }

  async #draw(told, order) {
    const chosen = labelled(order.filter((symbol) => this.#drawn.has(key(symbol))).map((symbol) => ({ symbol })));
    const alone = $("trend-alone").checked;
    $("trend-words").textContent = trendWords(told, alone);
    this.#listChanges(told);
    await this.#picture.draw({
      chart: "trend",
      description: text("results.trendOf", { count: chosen.length, windows: told.windows.length }),
      level: told.level,
      names: chosen.map(({ name }) => name),
      data: { rows: trendRows(told.windows, chosen, alone) },
    });
  }

  /** The windows in which a share changed. */
  #listChanges(told) {
    const named = (symbols) => symbols.slice(0, 8).map((symbol) => short(symbolText(symbol), 60));
    const changed = told.windows.filter((one) => one.changed.length);
    const marks = changed
      .slice(-MARKS)
      .map((one) =>
        el("li", {}, text("results.changed", { day: this.#day(one.start), names: listed(named(one.changed)) })),
      );
    if (changed.length > MARKS) marks.unshift(el("li", {}, "…"));
    fill($("trend-marks"), ...(marks.length ? marks : [el("li", {}, text("results.noChange"))]));
  }

  #offerNames(told, order) {
    const boxes = order.slice(0, 40).map((symbol) => {
      const box = el("input", { type: "checkbox" });
      box.checked = this.#drawn.has(key(symbol));
      box.addEventListener("change", () => {
        if (box.checked && this.#drawn.size >= MOST) box.checked = false;
        else if (!box.checked && this.#drawn.size === 1) box.checked = true;
        else if (box.checked) this.#drawn.add(key(symbol));
        else this.#drawn.delete(key(symbol));
        this.#draw(told, order);
      });
      return el("p", {}, el("label", {}, box, " ", el("span", { dir: "auto" }, short(symbolText(symbol), 80))));
    });
    fill($("trend-names"), ...boxes);
  }
}
