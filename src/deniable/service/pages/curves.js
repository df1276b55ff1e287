/**
 * The expected error of each mechanism, by closed forms: the sum over all answers of the mean absolute error of the unbiased
 * estimate, at large n. A test holds them against `deniable.theory`.
 *
 * For all of these mechanisms one count decides about an answer: the reports that speak for it. Of those who gave it a share
 * `hit` does, of the others a share `miss`. So the estimate is (count / n - miss) / (hit - miss), and its variance is
 * m (1 - m) / (n (hit - miss)^2) with m = miss + (hit - miss) p.
 */

export const MECHANISMS = ["k-RR", "k-RAPPOR", "O-RR", "O-RAPPOR", "OUE", "subset selection", "Hadamard", "no privacy"];

/** Shares of S answers: all alike, falling by a constant factor (mean S / 5), by a power of the rank, or half on one. */
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
const cellsToTry = (S) => [...new Set([2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512, 1024, 2048, 4096].filter((k) => k < S)), S];

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
      const worth = ([hit, miss]) => (miss * (1 - miss)) / (hit - miss) ** 2;
      const sizes = [Math.floor(ideal), Math.ceil(ideal)].map((d) => Math.min(Math.max(d, 1), S - 1));
      return sizes.map(at).sort((a, b) => worth(a) - worth(b))[0];
    }
    case "Hadamard":
      return [e / (e + 1), 1 / 2];
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
  if (mechanism.startsWith("O-") && !cells) return Math.min(...cellsToTry(S).map((k) => error(mechanism, epsilon, p, n, k)));
  if (mechanism == "O-RAPPOR") return bloomless(epsilon, p, n, Math.min(cells, S));
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
 * O-RAPPOR with one hash. Least squares weighs the other bits of a report, too: with H' H = (1 - q) I + q J on average, the
 * estimate is (u - a (sum of all u)) / (1 - q) for the answer's own cell u, a = q S / k / (1 - q + q S). Bits have the variance
 * m (1 - m) / r^2, and two of one report the covariance -x x' of what they stand for.
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
    sum += Math.sqrt((1 - a) ** 2 * variance(own) + a * a * (k - 1) * variance(other) - 2 * a * (1 - a) * apart + a * a * among);
  }
  return (Math.sqrt(2 / (Math.PI * n)) * sum) / (1 - q);
}
