/**
 * Privacy in words, from a survey's own integers, never from a nominal epsilon. What the command line prints as a
 * notice, for a page: tests hold the numbers of the two against each other.
 */

import { fixed, isolated, number, percentage, sentences, text } from "./texts.js";

const SPAN = 2 ** 64;
export const share = (threshold) => Number(BigInt(threshold)) / SPAN;

/** A number with two digits, rounded up, so that "at most" stays true. */
export function atMost(ratio) {
  const scale = 10 ** (1 - Math.floor(Math.log10(ratio)));
  // Rounded a hair down first: 7.4 in binary may be a little more than 7.4.
  const rounded = Math.ceil(ratio * scale * (1 - 1e-12)) / scale;
  return number(rounded, rounded >= 10 ? { maximumFractionDigits: 0 } : { maximumSignificantDigits: 2 });
}

/** A probability as a percentage with two digits of what it differs from 0 or 1 by; rounded up on request. */
export function chance(probability, up = false) {
  const hundred = 100 * probability;
  if (hundred <= 1e-10 || hundred >= 100 - 1e-10) return percentage(Math.round(hundred) / 100);
  const places = Math.max(0, 1 - Math.floor(Math.log10(Math.min(hundred, 100 - hundred))));
  const digits = 10 ** places * hundred;
  const rounded = (up ? Math.ceil(digits * (1 - 1e-12)) : Math.round(digits)) / 10 ** places;
  return percentage(rounded / 100, places);
}

/** The most that one report can raise a belief to: Bayes' rule at the worst likelihood ratio. */
export const beliefAfter = (before, odds) => (before * odds) / (before * odds + 1 - before);

/**
 * The channel in numbers: `shape` is "one" (a report names one cell), "some" (a set of a fixed size) or "marks" (one
 * bit a cell); `hit` and `miss` are how likely a true and another cell are in it; `odds` is the worst likelihood ratio
 * of a report, and `lifetime` that of all reports of one answer, which differ where a survey has a second stage
 * (`twice`).
 */
export function numbers({ alphabet, encoding, mechanism }) {
  const { cells } = encoding;
  const { kind, size } = mechanism;
  const twice = mechanism.epsilon_report !== undefined;
  const common = {
    cells,
    twice,
    named: encoding.kind === "direct",
    block: ["hadamard", "projective"].includes(encoding.kind),
    cohorts: encoding.cohorts ?? 1,
    hashes: encoding.hashes ?? 1,
    open: alphabet.kind === "open",
    mine: 1,
  };
  /** Both stages in one: the second moves each probability towards that of a report which says nothing. */
  const channel = (shape, hit, miss, { blind, slope, oddsOf, ...more }) => {
    const [h, m] = twice ? [hit, miss].map((p) => blind + slope() * (p - blind)) : [hit, miss];
    return { ...common, ...more, shape, hit: h, miss: m, odds: oddsOf(h, m), lifetime: oddsOf(hit, miss) };
  };
  if (kind === "krr") {
    const [hit, miss] = [share(mechanism.keep), share(mechanism.other)];
    const mine = Math.round((1 - cells * miss) / (hit - miss)); // cells of one answer: more than one in a block design
    const slope = () => 1 - cells * share(mechanism.report_other);
    return channel("one", hit, miss, { mine, blind: 1 / cells, slope, oddsOf: (h, m) => h / m });
  }
  if (kind === "subset") {
    const hit = share(mechanism.inside);
    const oddsOf = (h) => ((h / (1 - h)) * (cells - size)) / size;
    return channel("some", hit, (size - hit) / (cells - 1), {
      size,
      blind: size / cells,
      slope: () => share(mechanism.report_keep),
      oddsOf,
    });
  }
  const miss = share(mechanism.flip);
  const optimized = mechanism.clear !== undefined;
  const bits = Math.min(2 * common.hashes, cells);
  const slope = () => 1 - 2 * share(mechanism.report_flip);
  const oddsOf = (h, m) => (optimized ? ((h / m) * (1 - m)) / (1 - h) : (h / m) ** bits);
  return channel("marks", 1 - (optimized ? share(mechanism.clear) : miss), miss, {
    optimized,
    blind: 1 / 2,
    slope,
    oddsOf,
  });
}

/** Whom a sentence is about, the reader or the people who will be asked: each has a section of texts. */
export const YOU = "you";
export const THEY = "they";

/** That there will be a die. Two stages are one die here: what is said of it are the odds of what leaves. */
export const watch = (n, who) => text(`${who}.watch${n.twice ? "Twice" : ""}`);

/** How an answer becomes a box, where several answers share one. */
const sorted = (n) =>
  !n.named &&
  sentences(
    text(n.cohorts > 1 ? "words.sortedInGroups" : "words.sorted", { count: n.cells, groups: n.cohorts }),
    text(n.open ? "words.boxOfMany" : "words.boxOfSeveral"),
  );

/** What will happen to an answer, in some sentences, before anything is chosen. */
export function whatHappens(n, who = YOU) {
  const together = n.twice && text("words.together");
  const likely = chance(n.mine * n.hit);
  if (n.block)
    return sentences(
      text("words.numbered", { count: n.mine, cells: n.cells }),
      watch(n, who),
      together,
      text(`${who}.sendsNumber`, { count: n.mine, chance: likely }),
    );
  if (n.shape === "one") {
    const sends = text(`${who}.${n.named ? "sendsAnswer" : "sendsBox"}`, { count: n.cells - 1, chance: chance(n.hit) });
    return sentences(sorted(n), watch(n, who), together, sends);
  }
  if (n.shape === "some")
    return sentences(
      watch(n, who),
      text("words.lists", { count: n.size, cells: n.cells }),
      together,
      text(`${who}.listed`, { hit: chance(n.hit), miss: chance(n.miss) }),
    );
  const several = n.hashes > 1 && !n.named;
  const marks = n.named ? "marksAnswers" : several ? "marksBoxes" : "marksBox";
  const turned = { hit: chance(n.hit), miss: chance(n.miss) };
  return sentences(
    sorted(n),
    n.hashes > 1 && text(`${who}.severalBoxes`, { count: n.hashes }),
    text(`${who}.${marks}`, { count: n.cells }),
    text(`${who}.dice${n.twice ? "Twice" : ""}`),
    together,
    n.optimized || n.twice ? text(`${who}.${several ? "yesMarks" : "yes"}`, turned) : text("words.turns", turned),
  );
}

/** The guarantee; a survey that does not promise every answer the same says which of them what (`promise`). */
export const guarantee = (n, who = YOU) =>
  n.promise ??
  text(`${who}.guarantee${n.twice ? "Twice" : ""}`, { odds: atMost(n.odds), lifetime: atMost(n.lifetime) });

/** Epsilon, exactly as it is spent. */
export const epsilons = (n) =>
  text(n.twice ? "words.epsilonTwice" : "words.epsilon", {
    epsilon: fixed(Math.log(n.odds), 2),
    lifetime: fixed(Math.log(n.lifetime), 2),
  });

/** The one scale of words for epsilon, up to `most` each: that of survey/strength.py, which a test compares it with. */
export const SCALE = [
  { most: 1, word: "very strong" },
  { most: 2, word: "strong" },
  { most: 3, word: "moderate" },
  { most: 4, word: "weak" },
  { most: Infinity, word: "hardly any" },
];
const ROUNDING = 0.005; // what is shown as 2.00 has the word of 2
const lasting = ({ odds, lifetime = odds }) => Math.log(lifetime);

/** The word for an epsilon. */
export const wordOf = (epsilon) => SCALE.find(({ most }) => epsilon < most + ROUNDING).word;

/** A word of the scale with what it is about: "strong privacy". */
export const privacy = (word) => text(`words.privacy_${word.replaceAll(" ", "_")}`);

/** How strong the protection of all reports of one answer is, in a word or two, and of which answers. */
export const strength = (n) => sentences(privacy(wordOf(lasting(n))), n.scope);

/** Whether it has this word or a better one. */
export const isAtLeast = (n, word) => lasting(n) < SCALE.find((step) => step.word === word).most + ROUNDING;

/** Beliefs before, and the most they can be after one report, and after all of one answer. */
export const beliefs = (n) =>
  [0.01, 0.1, 0.5].map((before) => [
    percentage(before),
    ...[n.odds, n.lifetime].map((odds) => chance(beliefAfter(before, odds), true)),
  ]);

/** The headline: what anyone can learn about one answer. It follows epsilon, as everything here does. */
export function headline(n, who = YOU) {
  const what = n.what?.[who] ?? text(`${who}.choice`);
  if (isAtLeast(n, "strong")) return text(`${who}.hidden`, { what });
  if (isAtLeast(n, "moderate")) return text(`${who}.hinted`, { what });
  return text(`${who}.${isAtLeast(n, "weak") ? "shown" : "open"}`, { what });
}

export function deniability(n, who = YOU) {
  const what = n.deniable ?? text("words.anyAnswer");
  if (isAtLeast(n, "strong")) return text(`${who}.deny`, { what });
  return isAtLeast(n, "weak") ? text(`${who}.denyLess`, { what }) : text("words.denyNothing");
}

/** Who cannot know it: the beginning of a sentence that says what. */
export const nobody = (n) => text(isAtLeast(n, "strong") ? "words.nobodyTells" : "words.nobodyIsSure");

/** What a reader of the report cannot know: whether it tells the truth. */
export function unknowable(n) {
  const kind = n.block ? "number" : n.shape === "one" ? (n.named ? "answer" : "box") : n.shape;
  return text(`words.unknown_${kind}`, { nobody: nobody(n) });
}

const LISTED = 12; // answers that are named in a sentence

/** Names of answers in a sentence, of many the first ones. */
export function listed(names) {
  const some = names.slice(0, LISTED).map(isolated).join(text("words.comma"));
  const count = names.length - LISTED;
  return count > 0 ? text("words.andMore", { names: some, count }) : some;
}
