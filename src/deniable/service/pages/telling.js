/** What the answer page tells: a report as bytes, what it means, how it ended. */

import { el } from "./page.js";
import { moment, parts as pieces, sentences, text } from "./texts.js";
import { atMost, beliefs, deniability, epsilons, guarantee, isAtLeast } from "./words.js";

/** That a survey is over, and since when if its date has come. */
export const ended = ({ closes }) =>
  closes && new Date(closes) <= new Date() ? text("answer.ended", { time: moment(closes) }) : text("answer.closed");

/** The very bytes: what each part is, and where they go. `parts` as `partsOf` gives them. */
export function bytesOf(parts, address, sentOn, n) {
  const told = (name) => n.told?.[name] ?? text(`answer.part_${name}`, { groups: n.cohorts });
  const listed = Object.entries(parts).filter(([, hex]) => hex.length);
  const size = listed.reduce((sum, [, hex]) => sum + hex.length, 0);
  const goes = { address: el("bdi", {}, address + (sentOn ? `?day=${sentOn}` : "")) };
  const sent = sentOn && { sentOn: el("bdi", {}, `day=${sentOn}`), day: day(sentOn) };
  const rolled = sent ? [" ", ...pieces("answer.day", sent)] : [];
  return [
    el("p", {}, text("answer.size", { count: size })),
    el("p", { class: "bytes", dir: "ltr" }, ...listed.map(([name, hex]) => el("span", { class: name }, hex.join("")))),
    el(
      "dl",
      { class: "parts" },
      ...listed.flatMap(([name, hex]) => [
        el("dt", { dir: "ltr" }, hex.length > 6 ? `${hex.slice(0, 4).join("")}…` : hex.join("")),
        el("dd", {}, told(name)),
      ]),
    ),
    el("p", { class: "quiet small break" }, ...pieces("answer.goes", goes), ...rolled),
  ];
}

const day = (number) => moment(864e5 * number, { dateStyle: "long", timeZone: "UTC" });

/**
 * What a report means for who sends it: paragraphs, and one list among them. `again` is the window where a survey is
 * answered once in each, `every` how many of them there are to one turn of this browser.
 */
export function explanation(n, { window }, again, every = 1) {
  const boxes = !(n.named || n.block || n.hashes > 1);
  const kept = (name) => text("answer.keepsUntil", { more: text(`answer.${name}`, { every }) });
  const once = [kept("keeps"), text("answer.keepsNoMore")];
  const keeps =
    every > 1
      ? [kept(`keepsTurn_${again}`), text("answer.keepsTurn", { every })]
      : again
        ? [
            kept(`keeps_${again}`),
            text("answer.secret"),
            boxes && text("answer.boxes", { count: n.cells }),
            text("answer.workedOut"),
          ]
        : once;
  const sure = (before, after, all) =>
    text(n.twice ? "answer.beliefTwice" : "answer.belief", {
      before,
      after,
      all,
      what: n.certain ?? text("answer.certain"),
    });
  const odds = { odds: atMost(n.odds), lifetime: atMost(n.lifetime) };
  return [
    guarantee(n),
    beliefs(n).map((one) => sure(...one)),
    sentences(text("answer.however"), deniability(n)),
    sentences(
      text("answer.experts", { epsilons: epsilons(n) }),
      text(n.twice ? "answer.logarithms" : "answer.logarithm", odds),
      every > 1 ? text(`answer.turn_${again}`, { every }) : text(again ? `answer.reports_${again}` : "answer.reports"),
      text("answer.nothing"),
    ),
    sentences(
      text("answer.seen"),
      n.cohorts > 1 && text("answer.seenGroup", { count: n.cohorts }),
      text(`answer.stored_${window}`),
    ),
    sentences(...keeps),
    text("answer.learns"),
  ];
}

/** When the next answer is taken: at once where what was rolled in an earlier window was sent in this one. */
const nextTime = ({ window, next, every = 1 }) =>
  next <= Date.now()
    ? text(`answer.earlier_${window}`)
    : text(every > 1 ? `answer.nextTurn_${window}` : `answer.next_${window}`, { time: moment(next), every });

/**
 * How an answer ended: a sentence, and the kind of note that says it. Where there will be a next one, `again` has the
 * `window` and when the `next` begins, and how many windows (`every`) there are to a turn.
 */
export function ending(how, n, again) {
  const sure = text(isAtLeast(n, "strong") ? "answer.countedUnknown" : "answer.countedUnsure");
  // Where some answers may be seen, that is not said.
  const counted = isAtLeast(n, "weak") && !n.certain ? sure : text("answer.counted");
  const ends = {
    sent: () => [sentences(counted, again ? nextTime(again) : text("answer.done")), "good"],
    turn: () => [sentences(text("answer.notTurn"), nextTime(again))],
    closed: () => [text("answer.endClosed")],
    before: () => [text("answer.endBefore")],
    gone: () => [text("answer.endGone")],
  };
  return ends[how]?.() ?? [text("answer.endRefused"), "bad"];
}

/**
 * Why there was no roll, by the name of the error and from nothing else in it: whatever was thrown while the answer was
 * looked at, its text may hold the answer.
 */
export const notRolled = (name) =>
  name === "AlphabetError"
    ? text("answer.notAlphabet")
    : text(name === "ParticipationError" ? "answer.notAgain" : "answer.notKept");
