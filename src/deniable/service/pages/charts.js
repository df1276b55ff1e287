/**
 * Charts on pages: the project's own specifications with rows filled in, drawn by Vega. Its expressions are
 * interpreted, not compiled, so no page has to allow `eval`.
 */

import { el, Problem } from "./common.js";
import { load } from "./languages.js";
import { untilItFails } from "./once.js";
import { filled, fitted } from "./specification.js";
import { text } from "./texts.js";

/**
 * Vega, and the specifications; loaded when the first chart is, and once more after it failed: a busy collector needs a
 * while.
 */
export const library = untilItFails(async (tries) => {
  // A browser keeps a module that failed: each try has an address of its own.
  const [, answer] = await Promise.all([import(`./vega.js?${tries}`), fetch("/pages/charts.json")]);
  if (!answer.ok) throw new Problem(0, text("desk.chartsAway"));
  return answer.json();
});

const dark = matchMedia("(prefers-color-scheme: dark)");

// Vega warns of data that are left out on purpose; only its errors are of interest.
const OPTIONS = {
  ast: true,
  logLevel: 1,
  renderer: "svg",
  actions: false,
  defaultStyle: false,
  tooltip: { disableDefaultStyle: true },
};

/** A place on a page that shows a chart, redraws it when the page turns or darkens, and can save it. */
export class Picture {
  constructor(place) {
    this.place = place;
    this.turn = Promise.resolve();
    const again = () => this.what && this.draw(this.what);
    dark.addEventListener("change", again);
    let width = place.clientWidth;
    new ResizeObserver(() => {
      if (Math.abs(place.clientWidth - width) < 8) return;
      width = place.clientWidth;
      again();
    }).observe(place);
  }

  /** Draw, one at a time, and only the last of what was asked for meanwhile. */
  draw(what) {
    this.what = what;
    this.turn = this.turn.then(async () => {
      if (this.what !== what) return;
      const [templates] = await Promise.all([library(), load("charts")]);
      const target = el("div");
      const { view } = await window.vegaEmbed(
        target,
        fitted(templates, what, { width: Math.max(this.place.clientWidth, 240), dark: dark.matches }),
        OPTIONS,
      );
      this.view?.finalize();
      this.view = view;
      // One picture with one name; its numbers are in a table beside it.
      for (const [name, value] of Object.entries({ role: "img", "aria-label": what.description }))
        target.setAttribute(name, value);
      target.removeAttribute("aria-roledescription");
      target.querySelector("svg").setAttribute("aria-hidden", "true");
      this.place.replaceChildren(target);
    });
    return this.turn;
  }

  /** The chart as a file, as Python draws it: on white, in its own size, under the heading that a page does without. */
  async file(kind) {
    const [templates] = await Promise.all([library(), load("charts")]);
    const spec = { ...filled(templates, this.what), title: this.what.heading };
    const { view } = await window.vegaEmbed(el("div"), spec, {
      ...OPTIONS,
      renderer: kind === "png" ? "canvas" : "svg",
    });
    try {
      if (kind === "svg") return new Blob([await view.toSVG()], { type: "image/svg+xml" });
      const canvas = await view.toCanvas(2);
      return await new Promise((done) => canvas.toBlob(done, "image/png"));
    } finally {
      view.finalize();
    }
  }
}
