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
  #last = {}; // what was asked last, of how many answers, and what came of it

  /** `post` asks a route of the collector; `progress` is told how far a search is, and "" when it has ended. */
  constructor({ encoding }, post, progress) {
    this.#levels = encoding.levels.length;
    this.#post = post;
    this.#progress = progress;
  }

  /** The texts that were declared, as an estimate; nothing if `current` says that nobody waits for them any more. */
  async run(question, reports, current) {
    const asked = JSON.stringify(question);
    const { found, before } = this.#last;
    if (found && asked === this.#last.asked && Math.abs(reports - before) <= AGAIN * before) return found;
    const now = await this.#through(question, current);
    if (now) this.#last = { asked, before: reports, found: now };
    return now;
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
      } finally {
        if (!current()) this.#progress("");
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
