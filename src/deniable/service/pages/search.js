/**
 * Results of a survey that discovers text: what people wrote, found without a list. The collector searches for a few
 * seconds at a time and says where it stopped; asked again from there it goes on, so the page can tell how far it is.
 * No element is touched here.
 */

import { percent, whole } from "./common.js";
import { text } from "./texts.js";

const AT_A_TIME = 6; // seconds of a search until the page hears of it
const LONGEST = 90; // seconds of one step, at most: a step that is given up starts anew
const AGAIN = 0.02; // as many more answers are worth a new search, which costs the collector seconds

export const discovers = ({ encoding }) => encoding?.kind === "prefixes";

export class Search {
  #post;
  #progress;
  #levels;
  #now; // what is being asked or was asked last, of how many answers, and the promise of what comes of it

  /** `post` asks a route of the collector; `progress` is told how far a search is. */
  constructor({ encoding }, post, progress) {
    this.#levels = encoding.levels.length;
    this.#post = post;
    this.#progress = progress;
  }

  /**
   * The texts that were declared, as an estimate; nothing if another question came in between. A search that is under
   * way is not begun again, however often it is asked for.
   */
  run(question, reports) {
    const asked = JSON.stringify(question);
    const before = this.#now;
    if (before?.asked === asked && (before.running || Math.abs(reports - before.reports) <= AGAIN * before.reports))
      return before.found;
    const now = { asked, reports, running: true };
    this.#now = now;
    now.found = this.#through(question, () => this.#now === now)
      .catch((problem) => {
        if (this.#now === now) this.#now = undefined;
        throw problem;
      })
      .finally(() => {
        now.running = false;
      });
    return now.found;
  }

  async #through(question, current) {
    let resume;
    let seconds = AT_A_TIME;
    for (;;) {
      try {
        return await this.#post("discover", { ...question, seconds, resume });
      } catch (problem) {
        const next = problem.told?.resume;
        if (!next || seconds >= LONGEST) throw problem;
        // One level took longer than that: more time for the next attempt.
        seconds = next.levels === (resume?.levels ?? 0) ? Math.min(3 * seconds, LONGEST) : AT_A_TIME;
        resume = next;
        if (!current()) return undefined;
        this.#progress(text("search.searching", { done: next.levels, levels: this.#levels }));
      }
    }
  }
}

/** What is shown, what was tested, and what is kept back. */
export function keptBack({ estimates, level, searched }) {
  const values = {
    count: estimates.length,
    sure: percent(level, 0),
    tested: whole(searched.candidates),
    least: percent(searched.smallest),
  };
  return text(estimates.length ? "search.kept" : "search.none", values);
}
