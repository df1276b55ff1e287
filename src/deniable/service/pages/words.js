/**
 * Privacy in words, from a survey's own integers, never from a nominal epsilon. What the command line prints as a notice, for
 * a page: tests hold the numbers of the two against each other.
 */

const SPAN = 2 ** 64;
const share = (threshold) => Number(BigInt(threshold)) / SPAN;

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
  const places = Math.max(0, 1 - Math.floor(Math.log10(Math.min(hundred, 100 - hundred))));
  const digits = 10 ** places * hundred;
  return `${((up ? Math.ceil(digits * (1 - 1e-12)) : Math.round(digits)) / 10 ** places).toFixed(places)} %`;
}

/** The most that one report can raise a belief to: Bayes' rule at the worst likelihood ratio. */
export const beliefAfter = (before, odds) => (before * odds) / (before * odds + 1 - before);

/**
 * The channel in numbers: `shape` is "one" (a report names one cell), "some" (a set of a fixed size) or "marks" (one bit a
 * cell); `hit` and `miss` are how likely a true and another cell are in it; `odds` is the worst likelihood ratio.
 */
export function numbers({ alphabet, encoding, mechanism }) {
  const { cells } = encoding;
  const named = encoding.kind == "direct";
  const block = ["hadamard", "projective"].includes(encoding.kind);
  const common = { cells, named, block, cohorts: encoding.cohorts ?? 1, open: alphabet.kind == "open", mine: 1 };
  if (mechanism.kind == "krr") {
    const [hit, miss] = [share(mechanism.keep), share(mechanism.other)];
    const mine = Math.round((1 - cells * miss) / (hit - miss)); // cells of one answer: more than one in a block design
    return { ...common, shape: "one", hit, miss, odds: hit / miss, mine };
  }
  if (mechanism.kind == "subset") {
    const { size } = mechanism;
    const hit = share(mechanism.inside);
    const miss = (size - hit) / (cells - 1);
    return { ...common, shape: "some", hit, miss, size, odds: ((hit / (1 - hit)) * (cells - size)) / size };
  }
  const miss = share(mechanism.flip);
  const optimized = mechanism.clear !== undefined;
  const hit = 1 - (optimized ? share(mechanism.clear) : miss);
  const bits = Math.min(2 * (encoding.hashes ?? 1), cells);
  const odds = ((1 - miss) / miss) ** (optimized ? 1 : bits);
  return { ...common, shape: "marks", hit, miss, odds, optimized };
}

/** Whom a sentence is about: the reader, or the people who will be asked. */
export const YOU = { you: "you", your: "your", Your: "Your", yours: "yours", You: "You" };
export const THEY = { you: "they", your: "their", Your: "Their", yours: "theirs", You: "They" };

/** What will happen to an answer, in a sentence or two, before anything is chosen. */
export function whatHappens(n, { you, your, Your, yours } = YOU) {
  const box = n.named ? "answer" : "box";
  const watch = `${Your} browser will roll a die ${you} can watch`;
  const sorted = n.named
    ? ""
    : `A public rule sorts all possible answers into ${n.cells} boxes${n.cohorts > 1 ? `, differently in each of ${n.cohorts} groups of devices` : ""}, so a box stands for many answers. `;
  if (n.block)
    return `A public rule gives every answer ${n.mine > 1 ? n.mine : "one"} of the numbers from 1 to ${n.cells}. ${watch}. With probability ${chance(n.mine * n.hit)} it sends ${n.mine > 1 ? "one of the numbers" : "the number"} of ${your} real answer, otherwise one of the others.`;
  if (n.shape == "one") {
    const others = n.cells == 2 ? "the other one" : "one of the others";
    return `${sorted}${watch}. With probability ${chance(n.hit)} it sends ${your} real ${box}, otherwise ${others}.`;
  }
  if (n.shape == "some")
    return `${watch} and make a list of ${n.size} of the ${n.cells} answers. With probability ${chance(n.hit)} ${yours} is on it, and each other answer with ${chance(n.miss)}. Then it sends the list.`;
  const marks = `${sorted}${Your} browser fills in ${n.cells} marks, one for each ${box}: yes for ${yours}, no for the others. `;
  return n.optimized
    ? `${marks}Then it rolls dice ${you} can watch: ${your} yes stays with probability ${chance(n.hit)}, and each no turns into a yes with ${chance(n.miss)}.`
    : `${marks}Then it rolls dice ${you} can watch and turns each mark into its opposite with probability ${chance(n.miss)}.`;
}

/** The guarantee. */
export const guarantee = (n, { you } = YOU) =>
  `Whatever ${you} answer, what is sent is at most ${atMost(n.odds)} times likelier than under another answer.`;

/** How strong that is, in a word or two, by what it does to a belief of one in ten. */
export function strength(n) {
  if (n.odds < 3.5) return "very strong privacy";
  if (n.odds < 8) return "strong privacy";
  if (n.odds < 20) return "moderate privacy";
  return n.odds < 81 ? "weak privacy" : "hardly any privacy";
}

/** Beliefs before, and the most they can be afterwards. */
export const beliefs = (n) => [0.01, 0.1, 0.5].map((before) => [`${100 * before} %`, chance(beliefAfter(before, n.odds), true)]);

export function deniability(n, { You, yours } = YOU) {
  if (n.odds < 20) return `${You} can honestly deny any answer.`;
  if (n.odds < 81) return `${You} can deny any answer, but what is sent makes ${yours} a good deal likelier.`;
  return "That is weak protection: what is sent can make an answer nearly certain.";
}
