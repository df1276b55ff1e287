/** What the answer page tells: a report as bytes, what it means, how it ended. */

import { el } from "./common.js";
import { when } from "./texts.js";
import { atMost, beliefs, deniability, epsilons, guarantee, isAtLeast } from "./words.js";

/** That a survey is over, and since when if its date has come. */
export const ended = ({ closes }) =>
  closes && new Date(closes) <= new Date() ? `This survey ended on ${when(closes)}.` : "This survey is closed.";

const day = (number) => new Date(864e5 * number).toISOString().slice(0, 10);

/** The very bytes: what each part is, and where they go. `parts` as `partsOf` gives them. */
export function bytesOf(parts, address, sentOn, n) {
  const told = {
    id: "a random number, so that a repeated upload counts once",
    version: "the format",
    survey: "which survey",
    group: `your group, one of ${n.cohorts}, drawn at random before you answered`,
    payload: "what the die gave: the only part that has anything to do with your answer",
  };
  const listed = Object.entries(parts).filter(([, hex]) => hex.length);
  const size = listed.reduce((sum, [, hex]) => sum + hex.length, 0);
  const when = sentOn ? `?day=${sentOn}: the day, ${day(sentOn)}, is the one on which the die was rolled` : "";
  return [
    el("p", {}, `${size} bytes, as they are sent:`),
    el("p", { class: "bytes" }, ...listed.map(([name, hex]) => el("span", { class: name }, hex.join("")))),
    el(
      "dl",
      { class: "parts" },
      ...listed.flatMap(([name, hex]) => [
        el("dt", {}, hex.length > 6 ? `${hex.slice(0, 4).join("")}…` : hex.join("")),
        el("dd", {}, told[name]),
      ]),
    ),
    el("p", { class: "quiet small break" }, `They go to ${address}${when}.`),
  ];
}

const often = (window) => `${window === "hour" ? "an" : "a"} ${window}`;
/** How often, in words: once in each window, or in one of `every` so many of them. */
const asOften = (window, every) => (every > 1 ? `in one ${window} of ${every}` : often(window));
const NOW = { hour: "this hour", day: "today", week: "this week" };

/**
 * What a report means for who sends it: paragraphs, and one list among them. `again` is the window where a survey is
 * answered once in each, `every` how many of them there are to one turn of this browser.
 */
export function explanation(n, { window }, again, every = 1) {
  const boxes =
    n.named || n.block || n.hashes > 1
      ? ""
      : ` Answers in one box share it, so however often yours changes, no more than ${n.cells} different answers show.`;
  const waits = "What this browser keeps: until the collector has it, the bytes that are sent; after that, ";
  const turns =
    `which of ${every} ${again}s is its turn, drawn by chance before any answer, and the ${again} in which it last ` +
    "answered. Neither your answer nor what the bytes were made with is kept. Each report has noise of its own, so " +
    "what two of them say of one answer adds up: after k turns, k times epsilon. " +
    `The ${again} in which you take part shows which of ${every} groups this browser is in, and nothing else.`;
  const repeats =
    `a secret of its own and the ${again} in which it last answered. The secret gives the same answer the same noise ` +
    `each time, so that many reports of one answer reveal no more than one.${boxes} Your answer is not kept; but ` +
    "whoever uses this browser and has what it sent could work it out. Whoever sees all that it sent may see when " +
    "your answer changed.";
  const once =
    "only that it has answered. Neither your answer nor what the bytes were made with is kept, so whoever opens this " +
    "browser later learns no more than the collector.";
  const keeps = waits + (every > 1 ? turns : again ? repeats : once);
  const ever = (after) =>
    n.twice ? ` (and at most ${after} after everything that this browser could ever send of that answer)` : "";
  return [
    guarantee(n),
    beliefs(n).map(
      ([before, after, all]) =>
        `Someone who is ${before} sure that ${n.certain ?? "a certain answer"} is yours can be at most ${after} sure ` +
        `of it after seeing what you sent${ever(all)}.`,
    ),
    `That holds however much they know and compute, and for the collector too. ${deniability(n)}`,
    `Experts call this local differential privacy with ${epsilons(n)}: epsilon is the logarithm of ` +
      `${n.twice ? `those ${atMost(n.odds)} and ${atMost(n.lifetime)}` : `that ${atMost(n.odds)}`}. This page sends ` +
      `one report${again ? ` ${asOften(again, every)}` : ""}. Nothing sent at all would be epsilon 0.`,
    "What can be seen: that somebody took part and when, and the address the message came from, as with any " +
      `message.${n.cohorts > 1 ? ` Your group number (one of ${n.cohorts}) is in the clear, too.` : ""} The ` +
      `collector stores no address, and of the time only the ${window}.`,
    keeps,
    "From everyone's reports together the survey learns how frequent each answer is. It learns that whether or " +
      "not you take part.",
  ];
}

/** When the next answer is taken: at once where what was rolled in an earlier window was sent in this one. */
const nextTime = ({ window, next, every = 1 }) =>
  next <= Date.now()
    ? `That was rolled in an earlier ${window}; load this page again to answer for ${NOW[window]}.`
    : every > 1
      ? `This browser answers in one ${window} of ${every}, drawn by chance; its next turn begins on ` +
        `${when(next)}, on this device's clock.`
      : `You have answered ${NOW[window]}; the next answer is taken from ${when(next)}, on this device's clock.`;

/**
 * How an answer ended: a sentence, and the kind of note that says it. Where there will be a next one, `again` has the
 * `window` and when the `next` begins, and how many windows (`every`) there are to a turn.
 */
export function ending(how, n, again) {
  const sure = isAtLeast(n, "strong") ? ", and nobody knows it" : ", and nobody can be sure of it";
  const counted = isAtLeast(n, "weak") && !n.certain ? sure : ""; // where some answers may be seen, that is not said
  const rest = again ? nextTime(again) : "This browser has answered; there is nothing more to do.";
  const said = {
    sent: [`Thank you. Your answer is counted${counted}. ${rest}`, "good"],
    turn: [`It is not this browser's turn. ${rest}`],
    closed: ["The survey was closed before your answer arrived. It is not counted."],
    before: ["This browser has answered. There is nothing more to do."],
    gone: ["The survey was deleted before your answer arrived. It is not counted."],
  };
  return said[how] ?? ["The collector refused what was sent. It is not counted.", "bad"];
}

/**
 * Why there was no roll, by the name of the error and from nothing else in it: whatever was thrown while the answer was
 * looked at, its text may hold the answer.
 */
export const notRolled = (name) =>
  ({
    AlphabetError: "Nothing was sent: this survey cannot take what is written there. Write it in another way.",
    ParticipationError:
      "Nothing was sent: this browser has answered already, or its clock is wrong. Set the clock, or come back later.",
  })[name] ??
  "Nothing was sent: this browser does not keep what it rolls. Allow this page to store data, then try again.";
