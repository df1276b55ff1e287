/**
 * Reading a survey: the public agreement. From what it says, what it must say is made again, thresholds included, and
 * anything else is refused; so is a field that this version does not know, because it may change the mechanism.
 * Messages show where the two differ; `deniable survey show` says more.
 */

import { closed, open } from "./alphabet.js";
import { shown } from "./arguments.js";
import { canonical, hex, num, Obj, parse, spell, utf8 } from "./bytes.js";
import { direct, hadamard, neighbours, prefixes, projective, seeded } from "./encodings.js";
import { DeniableError, need } from "./errors.js";
import { bitflip, krr, subset } from "./mechanisms.js";
import { number } from "./numbers.js";
import { readEpsilon } from "./odds.js";
import { sha256 } from "./sha256.js";
import { blocks, budgets, full, sensitive } from "./tables.js";

export const ALPHABETS = { __proto__: null, open, closed, number };
const ENCODINGS = {
  __proto__: null,
  direct,
  hashed: seeded,
  permuted: seeded,
  hadamard,
  projective,
  neighbours,
  prefixes,
};
// Tables of weights have parameters of their own.
const TABLES = { __proto__: null, sensitive, "sensitive-design": sensitive, blocks, budgets, table: full };
const MECHANISMS = { __proto__: null, krr, bitflip, subset, ...TABLES };
// How people take part in windows; what is stated of them comes in this order.
const WINDOWS =
  /^window:(hour|day|week)((:(turnover(?!.*:t)|change(?!.*:))=(0|1|0\.\d{0,3}[1-9]))*|:share=1\/(?!1$|0)\d{1,5})$/;

/** A survey from its fields; `stated` is what they must say, thresholds and digest included. */
export function remake(given) {
  need(!given.parts, "survey must be one question; readForm of deniable-client/form reads a form");
  const { name, digest, participation, alphabet: answers, encoding: cellsBy, mechanism: stage } = given;
  const { kind, epsilon, epsilon_report, size, clear } = stage;
  for (const [known, stated] of [
    [ALPHABETS, answers],
    [ENCODINGS, cellsBy],
    [MECHANISMS, stage],
  ])
    need(known[stated.kind], `kind must be of ${Obj.keys(known)}, got ${stated.kind}`);
  const alphabet = ALPHABETS[answers.kind](answers);
  const encoding = { cohorts: 1, ...ENCODINGS[cellsBy.kind](cellsBy, alphabet.size, alphabet.find) };
  const { block, cells, cohorts, hashes } = encoding;
  const one = kind === "krr";
  const most = 2 ** (one && !block ? 24 : 16);
  // Optimised flips of a bit give it all of epsilon, so an answer may have but one.
  const bits = one || clear ? 1 : 64;
  need(
    [undefined, "event"].includes(participation) || WINDOWS.test(participation),
    `participation must be event or window:day, :hour, :week, got ${participation}`,
  );
  // By code points, as in Python: a character outside the basic plane counts once.
  need(/^\P{Cs}{0,500}$/u.test(name), "name must be text of at most 500 characters");
  need(
    cells > 1 && cells <= most && (one || !block),
    `cells must be 2 to ${most} and fit the survey, got ${cells} for ${kind}`,
  );
  need(cohorts > 0 && cohorts <= 2 ** 20 && cohorts * cells <= 2 ** 27, `cohorts must be 1 to 2**20, got ${cohorts}`);
  need(hashes > 0 && (block || hashes <= bits), `hashes must be 1 to ${bits}, got ${hashes}`);
  need(
    kind !== "subset" || (cellsBy.kind === "direct" && size > 0 && size < cells),
    `size must be below the direct cells, got ${size}`,
  );
  need(
    !TABLES[kind] || (cellsBy.kind === "direct" && !epsilon_report && !stage.order === (kind !== "sensitive-design")),
    "a table must have direct cells and one stage",
  );
  const mechanism = {
    width: 64,
    ...(TABLES[kind]
      ? TABLES[kind](readEpsilon(epsilon), 1n << 64n, cells, stage)
      : MECHANISMS[kind](
          readEpsilon(epsilon),
          epsilon_report && readEpsilon(epsilon_report),
          1n << 64n,
          cells,
          hashes,
          size | 0,
          clear,
        )),
  };
  const stated = {
    format: "deniable-survey/1",
    name: `${name}`,
    alphabet: alphabet.stated,
    encoding: { kind: `${cellsBy.kind}`, cells, ...encoding.stated },
    mechanism: {
      kind: `${kind}`,
      epsilon: `${epsilon}`,
      epsilon_report: epsilon_report ? `${epsilon_report}` : undefined,
      width: 64,
      size: mechanism.size,
      ...mechanism.thresholds,
    },
    participation: participation && `${participation}`,
  };
  need(!mechanism.columns || cells * mechanism.columns <= 2 ** 22, "a table must have at most 2**22 weights");
  return {
    name,
    digest,
    epsilon,
    epsilonReport: epsilon_report ?? epsilon,
    encoding,
    mechanism,
    symbols: alphabet.size,
    names: alphabet.names,
    window: participation?.split(":")[1],
    every: num(participation?.split("=1/")[1] ?? 1),
    stated: canonical({ ...stated, digest: hex(sha256(utf8(canonical(stated)))) }),
  };
}

const STRING = /"[^"\\]*(\\.[^"\\]*)*"\s*:?/g;

/** All names of fields in JSON text, sorted: the strings before a colon. */
const fieldsOf = (text) =>
  text
    .match(STRING)
    .filter((part) => part.endsWith(":"))
    .map((part) => parse(part.slice(0, -1)))
    .sort();

/** A reader of JSON text, or of the object that such a text holds, for `what` `make` makes again. */
export const reader = (what, make) => (source) => {
  let text;
  try {
    text = source.trim ? source : spell(source);
    const given = parse(text);
    // The parser keeps the last one of a repeated field, where another may keep the first.
    const once = fieldsOf(spell(given));
    fieldsOf(text).map((field, i) => need(field === once[i], `${what} must say ${field} once`));
    need(!/\d[.e]/i.test(text.replace(STRING, "")), `${what} numbers must be integers`);
    const made = make(given);
    const parts = made.stated.split(",");
    canonical(given)
      .split(",")
      .map((part, i) => need(part === parts[i], `${what} must say ${parts[i]}, got ${part}`));
    return made;
  } catch (problem) {
    need(problem instanceof DeniableError, `${what} must be the JSON of one, got ${text ?? shown(source)}`);
    throw problem;
  }
};

/** The survey in JSON text, or in the object that such a text holds. */
export const readSurvey = reader("survey", remake);
