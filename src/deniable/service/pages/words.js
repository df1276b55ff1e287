/**
 * Privacy in words, from a survey's own integers, never from a nominal epsilon. What the command line prints as a
 * notice, for a page: tests hold the numbers of the two against each other.
 */

const SPAN = 2 ** 64;
export const share = (threshold) => Number(BigInt(threshold)) / SPAN;

/** A number with two digits, rounded up, so that "at most" stays true. */
export function atMost(ratio) {
  const scale = 10 ** (1 - Math.floor(Math.log10(ratio)));
  // Rounded a hair down first: 7.4 in binary may be a little more than 7.4.
  const rounded = Math.ceil(ratio * scale * (1 - 1e-12)) / scale;
  return rounded >= 10 ? Math.round(rounded).toLocaleString("en") : String(Number(rounded.toPrecision(2)));
}

/** A probability as a percentage with two digits of what it differs from 0 or 1 by; rounded up on request. */
export function chance(probability, up = false) {
  const hundred = 100 * probability;
  if (hundred <= 1e-10 || hundred >= 100 - 1e-10) return `${Math.round(hundred)} %`;
  const places = Math.max(0, 1 - Math.floor(Math.log10(Math.min(hundred, 100 - hundred))));
  const digits = 10 ** places * hundred;
  return `${((up ? Math.ceil(digits * (1 - 1e-12)) : Math.round(digits)) / 10 ** places).toFixed(places)} %`;
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

/** Whom a sentence is about: the reader, or the people who will be asked. */
export const YOU = { you: "you", your: "your", Your: "Your", yours: "yours", You: "You" };
export const THEY = { you: "they", your: "their", Your: "Their", yours: "theirs", You: "They" };

/** That there will be a die. Two stages are one die here: what is said of it are the odds of what leaves. */
export const watch = (n, { you, your, Your }) =>
  n.twice
    ? `${Your} browser will roll a die ${you} can watch, twice: once for ${your} answer, for good, and once more ` +
      "for what leaves"
    : `${Your} browser will${your === "your" ? " now" : ""} roll a die ${you} can watch`;

/** What will happen to an answer, in a sentence or two, before anything is chosen. */
export function whatHappens(n, who = YOU) {
  const { you, your, Your, yours } = who;
  const box = n.named ? "answer" : "box";
  const inAll = n.twice ? "In all, with" : "With";
  const sorted = n.named
    ? ""
    : `A public rule sorts all possible answers into ${n.cells} boxes` +
      `${n.cohorts > 1 ? `, differently in each of ${n.cohorts} groups of devices` : ""}, so a box ` +
      `${n.open ? "stands for many" : "can stand for several"} answers. `;
  if (n.block)
    return (
      `A public rule gives every answer ${n.mine > 1 ? n.mine : "one"} of the numbers from 1 to ${n.cells}, and a ` +
      `number can stand for several answers. ${watch(n, who)}. ${inAll} probability ${chance(n.mine * n.hit)} it ` +
      `sends ${n.mine > 1 ? "one of the numbers" : "the number"} of ${your} real answer, otherwise one of the others.`
    );
  if (n.shape === "one") {
    const others = n.cells === 2 ? "the other one" : "one of the others";
    return (
      `${sorted}${watch(n, who)}. ${inAll} probability ${chance(n.hit)} it sends ` +
      `${n.named ? `${your} real answer` : `the box of ${your} real answer`}, otherwise ${others}.`
    );
  }
  if (n.shape === "some")
    return (
      `${watch(n, who)}, and make a list of ${n.size} of the ${n.cells} answers. ${inAll} probability ` +
      `${chance(n.hit)} ${yours} is on it, and each other answer with ${chance(n.miss)}. Then it sends the list.`
    );
  const several = n.hashes > 1 ? `${Your} answer has up to ${n.hashes} boxes. ` : "";
  const truths = n.named ? yours : several ? `those of ${your} answer` : `the box of ${your} answer`;
  const marks =
    `${sorted}${several}${Your} browser fills in ${n.cells} marks, one for each ${box}: yes for ${truths}, no for ` +
    "the others. ";
  const dice =
    `Then it will roll dice ${you} can watch` +
    `${n.twice ? ", twice: once for good, and once more for what leaves" : ""}`;
  if (n.optimized || n.twice)
    return (
      `${marks}${dice}. ${n.twice ? `In all ${your}` : Your} yes ${several ? "marks stay" : "stays"} with ` +
      `probability ${chance(n.hit)}${several ? " each" : ""}, and each no turns into a yes with ${chance(n.miss)}.`
    );
  return `${marks}${dice} and turn each mark into its opposite with probability ${chance(n.miss)}.`;
}

/** The guarantee; a survey that does not promise every answer the same says which of them what (`promise`). */
export const guarantee = (n, { you, your } = YOU) =>
  n.promise ??
  `Whatever ${you} answer, what is sent is at most ${atMost(n.odds)} times likelier than under another answer` +
    (n.twice
      ? `; all that ${your} browser could ever send of one answer, taken together, at most ${atMost(n.lifetime)} times`
      : "") +
    ".";

/** Epsilon, exactly as it is spent. */
export const epsilons = (n) =>
  n.twice
    ? `epsilon ${Math.log(n.odds).toFixed(2)} for one report, and ${Math.log(n.lifetime).toFixed(2)} for all ` +
      "reports of one answer together"
    : `epsilon ${Math.log(n.odds).toFixed(2)}`;

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

/** How strong the protection of all reports of one answer is, in a word or two. */
export const strength = (n) => `${wordOf(lasting(n))} privacy${n.scope ?? ""}`;

/** Whether it has this word or a better one. */
export const isAtLeast = (n, word) => lasting(n) < SCALE.find((step) => step.word === word).most + ROUNDING;

/** Beliefs before, and the most they can be after one report, and after all of one answer. */
export const beliefs = (n) =>
  [0.01, 0.1, 0.5].map((before) => [
    `${100 * before} %`,
    ...[n.odds, n.lifetime].map((odds) => chance(beliefAfter(before, odds), true)),
  ]);

/** The headline: what anyone can learn about one answer. It follows epsilon, as everything here does. */
export function headline(n, { you, your } = YOU) {
  const mine = you === "you";
  const what = mine ? (n.what?.mine ?? "what you chose") : (n.what?.theirs ?? "what anyone chose");
  const nobody = mine ? "Nobody" : "Nobody, you included,";
  if (isAtLeast(n, "strong")) return `${nobody} can tell ${what}.`;
  if (isAtLeast(n, "weak"))
    return (
      `${nobody} can be sure ${what}, but what is sent gives ` +
      `${isAtLeast(n, "moderate") ? "a hint" : "a clear hint"}.`
    );
  return `What is sent hides ${your} answer${mine ? "" : "s"} hardly at all: whoever sees it can be nearly certain.`;
}

export function deniability(n, { You, yours } = YOU) {
  const what = n.deniable ?? "any answer";
  if (isAtLeast(n, "strong")) return `${You} can honestly deny ${what}.`;
  if (isAtLeast(n, "weak")) return `${You} can deny ${what}, but what is sent makes ${yours} a good deal likelier.`;
  return "That is hardly any protection: what is sent can make an answer nearly certain.";
}

/** What a reader of the report cannot know: whether it tells the truth. */
export function unknowable(n) {
  const nobody = `Nobody, including us, can ${isAtLeast(n, "strong") ? "tell" : "be sure"}`;
  if (n.shape === "marks") return `${nobody} which of these marks were turned.`;
  if (n.shape === "some") return `${nobody} whether your answer is on this list.`;
  if (n.block) return `${nobody} whether that is a number of your answer.`;
  return `${nobody} whether that is ${n.named ? "your answer" : "the box of your answer"}.`;
}
