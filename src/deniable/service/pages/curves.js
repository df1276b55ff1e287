/**
 * The expected error of each mechanism: the sum over all answers of the mean absolute error of the unbiased estimate,
 * at large n. No variance is derived here. `curves.json` (`python -m studies.explore --curves`) has those of
 * `deniable.theory`: n times the variance of the estimate of a share p is
 * base + slope p - curve p^2 - collisions (sum of all p^2).
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

/** Base, slope, curve and collisions of a mechanism for S answers, each by epsilon; `cells` 0 is the best there is. */
function modelOf({ sizes, models }, mechanism, S, cells) {
  const direct = { "O-RR": "k-RR", "O-RAPPOR": "k-RAPPOR" }[mechanism]; // a cell for each answer
  const name = !direct || !cells ? mechanism : cells < S ? `${mechanism} of ${cells}` : direct;
  return models[name].length === 1 ? models[name][0] : models[name][sizes.indexOf(S)];
}

/** Errors are nearly powers of e^epsilon - 1; the epsilons of the table are evenly spaced on its logarithm. */
const logOdds = (epsilon) => Math.log(Math.expm1(epsilon));

/**
 * The expected l1 error by epsilon for shares p and n people, as a function; the number of shares is one of the sizes
 * of the table `curves`. `cells` is for O-RR and O-RAPPOR; 0 is the best there is.
 */
export function errorCurve(curves, mechanism, p, n, cells = 0) {
  const columns = modelOf(curves, mechanism, p.length, cells);
  const alike = p.reduce((sum, share) => sum + share * share, 0);
  const logs = curves.epsilons.map((_, place) => {
    const [base, slope, curve, collisions] = columns.map((column) => (Array.isArray(column) ? column[place] : column));
    let sum = 0;
    for (const share of p) sum += Math.sqrt(Math.max(base + share * (slope - share * curve) - collisions * alike, 0));
    return Math.log(Math.sqrt(2 / (Math.PI * n)) * sum);
  });
  const axis = curves.epsilons.map(logOdds);
  const [first, step] = [axis[0], (axis.at(-1) - axis[0]) / (axis.length - 1)];
  return (epsilon) => {
    // The cubic through the four nearest epsilons of the table.
    const x = Math.min(Math.max((logOdds(epsilon) - first) / step, 0), axis.length - 1);
    const start = Math.min(Math.max(Math.floor(x) - 1, 0), axis.length - 4);
    const places = [0, 1, 2, 3].map((place) => start + place);
    const weight = (i) => places.reduce((product, j) => (i === j ? product : (product * (x - j)) / (i - j)), 1);
    return Math.exp(places.reduce((sum, i) => sum + weight(i) * logs[i], 0));
  };
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
 * The expected l1 error of the default decoder on subset selection's reports, whose own error is `noise`. `table`
 * (studies/explore.py) was measured for some numbers of answers, epsilons and such errors, and is interpolated between
 * them, all logarithmic. Under less noise than was measured it shrinks with the noise, and under more it stays.
 */
export function decoded(table, name, power, S, epsilon, noise) {
  const at = [between(table.symbols, S), between(table.epsilons, epsilon), between(table.noises, noise)];
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

/** One value of an `errorCurve`. */
export const error = (curves, mechanism, epsilon, ...rest) => errorCurve(curves, mechanism, ...rest)(epsilon);
