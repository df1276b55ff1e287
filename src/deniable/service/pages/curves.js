/**
 * The expected error of each mechanism, by closed forms: the sum over all answers of the mean absolute error of the
 * unbiased estimate, at large n. A test holds them against `deniable.theory`.
 *
 * For all of these mechanisms one count decides about an answer: the reports that speak for it. Of those who gave it a
 * share `hit` does, of the others a share `miss`. So the estimate is (count / n - miss) / (hit - miss), and its
 * variance is m (1 - m) / (n (hit - miss)^2) with m = miss + (hit - miss) p.
 */

export const MECHANISMS = [
  "k-RR",
  "k-RAPPOR",
  "O-RR",
  "O-RAPPOR",
  "OUE",
  "subset selection",
  "Hadamard",
  "projective",
  "no privacy",
];

/** What the default decoder makes of subset selection's reports: measured, not computed. */
export const DECODED = "default decoder";

/**
 * Shares of S answers: all alike, falling by a constant factor (mean S / 5), by a power of the rank, or half on one.
 */
export const POPULATIONS = {
  uniform: (S) => Array(S).fill(1),
  geometric: (S) => Array.from({ length: S }, (_, i) => (S / 5 / (1 + S / 5)) ** i),
  zipf: (S, power) => Array.from({ length: S }, (_, i) => (i + 1) ** -power),
  spike: (S) => Array.from({ length: S }, (_, i) => (i ? 1 / (S - 1) : 1)),
};

export function population(name, S, power) {
  const weights = POPULATIONS[name](S, power);
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return weights.map((weight) => weight / sum);
}

/** The share of two answers that fall into one of k cells when a permutation spreads S answers evenly. */
const together = (S, k) => {
  const full = S % k; // cells with one answer more
  const size = Math.floor(S / k);
  return (full * (size + 1) * size + (k - full) * size * (size - 1)) / (S * (S - 1));
};

/** Whichever number of cells is the best, among a few: it is near e^epsilon + 1, and never more than S. */
const cellsToTry = (S) => [
  ...new Set(
    [2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512, 1024, 2048, 4096].filter((k) => k < S),
  ),
  S,
];

/** `hit` and `miss` of a mechanism at e = exp(epsilon), for S answers and k cells where it has them. */
export function rates(mechanism, e, S, k) {
  const root = Math.sqrt(e);
  switch (mechanism) {
    case "k-RR":
      return [e / (e + S - 1), 1 / (e + S - 1)];
    case "k-RAPPOR":
      return [root / (root + 1), 1 / (root + 1)];
    case "OUE":
      return [1 / 2, 1 / (e + 1)];
    case "subset selection": {
      const ideal = S / (e + 1);
      const at = (d) => {
        const hit = (d * e) / (d * e + S - d);
        return [hit, (d - hit) / (S - 1)];
      };
      // The least squared error where all answers are alike.
      const cost = ([hit, miss], mean = miss + (hit - miss) / S) => (mean * (1 - mean)) / (hit - miss) ** 2;
      const [one, two] = [Math.floor(ideal), Math.floor(ideal) + 1].map((d) => at(Math.min(Math.max(d, 1), S - 1)));
      return cost(two) < cost(one) ? two : one;
    }
    case "O-RR": {
      const [hit, other] = [e / (e + k - 1), 1 / (e + k - 1)];
      const q = together(S, k);
      return [hit, q * hit + (1 - q) * other];
    }
    default:
      return [1, 0];
  }
}

/** The expected l1 error for shares p and n people. `cells` is for O-RR and O-RAPPOR; 0 is the best there is. */
export function error(mechanism, epsilon, p, n, cells = 0) {
  const S = p.length;
  if (mechanism.startsWith("O-") && !cells)
    return Math.min(...cellsToTry(S).map((k) => error(mechanism, epsilon, p, n, k)));
  if (mechanism === "O-RAPPOR") return bloomless(epsilon, p, n, Math.min(cells, S));
  if (DESIGNS[mechanism]) return blocks(best(mechanism, S, Math.exp(epsilon)), Math.exp(epsilon), p, n);
  const [hit, miss] = rates(mechanism, Math.exp(epsilon), S, Math.min(cells, S));
  const gap = hit - miss;
  let sum = 0;
  for (const share of p) {
    const m = miss + gap * share;
    sum += Math.sqrt(Math.max(m * (1 - m), 0));
  }
  return (Math.sqrt(2 / (Math.PI * n)) * sum) / gap;
}

/**
 * O-RAPPOR with one hash. Least squares weighs the other bits of a report, too: with H' H = (1 - q) I + q J on average,
 * the estimate is (u - a (sum of all u)) / (1 - q) for the answer's own cell u, a = q S / k / (1 - q + q S). Bits have
 * the variance m (1 - m) / r^2, and two of one report the covariance -x x' of what they stand for.
 */
function bloomless(epsilon, p, n, k) {
  const S = p.length;
  const root = Math.exp(epsilon / 2);
  const flip = 1 / (root + 1);
  const r = 1 - 2 * flip;
  const q = together(S, k);
  const a = (q * S) / k / (1 - q + q * S);
  const variance = (x) => ((flip + r * x) * (1 - flip - r * x)) / r ** 2;
  let sum = 0;
  for (const share of p) {
    const own = share + (1 - share) * q;
    const other = (1 - own) / (k - 1);
    const apart = -own * other * (k - 1);
    const among = -other * other * (k - 1) * (k - 2);
    sum += Math.sqrt(
      (1 - a) ** 2 * variance(own) + a * a * (k - 1) * variance(other) - 2 * a * (1 - a) * apart + a * a * among,
    );
  }
  return (Math.sqrt(2 / (Math.PI * n)) * sum) / (1 - q);
}

/** Block designs of S answers: `b` cells, `s` of them an answer's, `l` of those another's of its block; `B` blocks. */
const DESIGNS = { Hadamard: hadamards, projective: projectives };
const MOST_CELLS = 2 ** 16;
const kept = new Map();

function hadamards(S) {
  const found = [];
  for (let B = 1; B === 1 || B <= 2 ** bits(S); B *= 2) {
    const rows = 2 ** bits(Math.ceil(S / B));
    if (B === 1 || B * rows <= MOST_CELLS) found.push({ b: B * rows, s: rows / 2, l: Math.floor(rows / 4), B });
  }
  return found;
}

const bits = (number) => Math.floor(Math.log2(number)) + 1;

function projectives(S) {
  const found = [];
  const points = (r, t) => Math.round((r ** t - 1) / (r - 1));
  for (let t = 2; t <= 16; t++)
    for (let r = 2; points(r, t) <= MOST_CELLS; r++) {
      if (!prime(r) || points(r, t) < S) continue;
      found.push({ b: points(r, t), s: points(r, t - 1), l: points(r, t - 2), B: 1 });
      if (t === 2) break; // one cell an answer: the smallest is the best
    }
  return found;
}

function prime(number) {
  for (let divisor = 2; divisor * divisor <= number; divisor++) if (number % divisor === 0) return false;
  return true;
}

/** The design with the least squared error where all answers are alike, as `deniable` chooses it. */
function best(mechanism, S, e) {
  const name = `${mechanism} ${S}`;
  if (!kept.has(name)) kept.set(name, DESIGNS[mechanism](S));
  const cost = ({ b, s, l, B }) => {
    const miss = 1 / (s * e + b - s);
    const r = (e - 1) * miss;
    const c = l / s;
    const own = s * miss + (r * (s - l + (l * S) / B)) / S;
    const rest = (b / B) * miss + (r * s) / B - own;
    return (S * ((1 - c) ** 2 * own + c * c * rest - ((1 - c) * own - c * rest) ** 2)) / (r * (s - l)) ** 2;
  };
  return kept.get(name).reduce((least, design) => (cost(design) < cost(least) ? design : least));
}

/**
 * A report falls into an answer's cells, beside them in its block, or elsewhere: weights 1 - c, -c and 0, c = l / s.
 */
function blocks({ b, s, l, B }, e, p, n) {
  const miss = 1 / (s * e + b - s);
  const r = (e - 1) * miss;
  const c = l / s;
  const whole = Array(B).fill(0);
  for (const [i, share] of p.entries()) whole[i % B] += share;
  let sum = 0;
  p.forEach((share, i) => {
    const block = whole[i % B];
    const own = s * miss + r * (s * share + l * (block - share));
    const rest = (b / B) * miss + r * s * block - own;
    sum += Math.sqrt(Math.max((1 - c) ** 2 * own + c * c * rest - ((1 - c) * own - c * rest) ** 2, 0));
  });
  return (Math.sqrt(2 / (Math.PI * n)) * sum) / (r * (s - l));
}

/** Where x lies on a rising or falling axis: the place before it and how far on to the next, on a logarithmic scale. */
function between(axis, x) {
  const up = axis[0] < axis.at(-1);
  const inside = Math.min(Math.max(x, Math.min(...axis)), Math.max(...axis));
  let at = 0;
  while (at < axis.length - 2 && (up ? axis[at + 1] <= inside : axis[at + 1] >= inside)) at++;
  return [at, Math.log(inside / axis[at]) / Math.log(axis[at + 1] / axis[at])];
}

/**
 * The expected l1 error of the default decoder on subset selection's reports, from `table` (studies/explore.py):
 * measured for some numbers of answers, epsilons, and unbiased errors, and interpolated between them, all logarithmic.
 * Under less noise than was measured it shrinks with the noise, and under more it is what it was.
 */
export function decoded(table, name, power, epsilon, p, n) {
  const noise = error("subset selection", epsilon, p, n);
  const at = [between(table.symbols, p.length), between(table.epsilons, epsilon), between(table.noises, noise)];
  const of = (losses) => {
    const mix = (part, depth) => {
      if (depth === 3) return Math.log(part);
      const [place, on] = at[depth];
      return (1 - on) * mix(part[place], depth + 1) + on * mix(part[place + 1], depth + 1);
    };
    return mix(losses, 0);
  };
  const less = Math.min(1, noise / Math.min(...table.noises));
  if (name !== "zipf") return less * Math.exp(of(table.losses[name]));
  const powers = Object.keys(table.losses)
    .filter((one) => one.startsWith("zipf"))
    .map((one) => Number(one.slice(5)));
  const up = Math.max(
    1,
    powers.findIndex((one) => one >= power),
  );
  const [low, high] = [powers[up - 1], powers[up]];
  const on = Math.min(Math.max((power - low) / (high - low), 0), 1);
  return less * Math.exp((1 - on) * of(table.losses[`zipf ${low}`]) + on * of(table.losses[`zipf ${high}`]));
}
