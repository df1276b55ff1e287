/** What Explore shows for one position of its sliders: errors, their order, and words. No element is touched here. */

import { points, whole } from "./common.js";
import { DECODED, decoded, errorCurve, MECHANISMS, population } from "./curves.js";
import { digits, has, text } from "./texts.js";
import { atMost, chance } from "./words.js";

const STEPS = 48; // points of a curve
const EPSILONS = Array.from({ length: STEPS }, (_, i) => 0.1 * 80 ** (i / (STEPS - 1)));
const ALL = [...MECHANISMS.slice(0, -1), DECODED, MECHANISMS.at(-1)];

/** What the sliders say, of which three are logarithms; two digits are enough for people and epsilon. */
export const settingsOf = ({ size, people, epsilon, population: name, power, cells }) => ({
  S: Math.round(2 ** Number(size)),
  n: Number((10 ** Number(people)).toPrecision(2)),
  epsilon: Number((10 ** Number(epsilon)).toPrecision(2)),
  name,
  power: Number(power),
  cells: Number(cells),
});

/**
 * All mechanisms with their errors at this epsilon, least first, and the points of their curves. `best` is the best one
 * that randomises, and `after` the error that the default decoder leaves; `measured` is its table, `curves` that of the
 * others.
 */
export function compared({ S, n, epsilon, name, power, cells }, curves, measured) {
  const p = population(name, S, power);
  const plain = Object.fromEntries(MECHANISMS.map((one) => [one, errorCurve(curves, one, p, n, cells)]));
  const at = (mechanism, x) =>
    mechanism === DECODED ? decoded(measured, name, power, S, x, plain["subset selection"](x)) : plain[mechanism](x);
  const ranked = ALL.map((mechanism) => ({ mechanism, error: at(mechanism, epsilon) })).sort(
    (a, b) => a.error - b.error,
  );
  const best = ranked.find(({ mechanism }) => mechanism !== "no privacy" && mechanism !== DECODED);
  const rows = ALL.flatMap((mechanism) => EPSILONS.map((x) => ({ mechanism, epsilon: x, error: at(mechanism, x) })));
  return { ranked, best, after: at(DECODED, epsilon), rows };
}

/** What a crowd of n adds, for any mechanism of this epsilon: the entry of the table for just these sliders. */
export function crowdAt({ delta, people, epsilons, central }, { n, epsilon }) {
  const found = central[epsilons.indexOf(epsilon)]?.[people.indexOf(n)] ?? epsilon;
  return { n, delta, epsilon: found, problem: null };
}

/** What a mechanism is called: a name that all languages share, or words. */
function called(mechanism) {
  const key = `explore.name_${mechanism.replaceAll(" ", "_")}`;
  return has(key) ? text(key) : mechanism;
}

/** What that means, in three paragraphs. */
export function inWords({ S, n, epsilon }, { best, after }) {
  const odds = Math.exp(epsilon);
  const inAll = (loss) => points(loss, loss < 0.1 ? 1 : 0);
  const random = { epsilon, odds: atMost(odds), chance: chance(odds / (odds + S - 1)) };
  const errors = {
    count: n,
    answers: S,
    mechanism: called(best.mechanism),
    each: points(best.error / S, 2),
    all: inAll(best.error),
  };
  return [
    text("explore.odds", random),
    text(best.error > 1 ? "explore.guess" : "explore.best", errors),
    after < 0.98 * best.error ? text("explore.decoded", { all: inAll(after) }) : text("explore.undecoded"),
  ];
}

/** Rows of the table: mechanism, error, and how many people it would take to be as exact as the best one. */
export const tableRows = ({ ranked, best }, n) =>
  ranked.map(({ mechanism, error: loss }) => [
    called(mechanism),
    digits(loss, 3),
    mechanism === DECODED ? "" : whole(Math.max(1, (n * loss ** 2) / best.error ** 2)),
  ]);
