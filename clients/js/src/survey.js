/**
 * Reading a survey: the public agreement. From what it says, what it must say is made again, thresholds included, and
 * anything else is refused; so is a field that this version does not know, because it may change the mechanism. Messages
 * show where the two differ; `deniable survey show` says more.
 */

import { closed, open } from "./alphabet.js";
import { canonical, hex, parse, spell, utf8 } from "./bytes.js";
import { direct, hadamard, projective, seeded } from "./encodings.js";
import { DeniableError, need } from "./errors.js";
import { bitflip, krr, subset } from "./mechanisms.js";
import { readEpsilon } from "./odds.js";
import { sha256 } from "./sha256.js";

const ENCODINGS = { __proto__: null, direct, hashed: seeded, permuted: seeded, hadamard, projective };
const MECHANISMS = { __proto__: null, krr, bitflip, subset };

/** A survey from its fields; `stated` is what they must say, thresholds and digest included. */
export function remake(given) {
  const { name, digest, alphabet: answers, encoding: cellsBy, mechanism: stage } = given;
  const { kind, epsilon, epsilon_report, size, clear } = stage;
  const alphabet = (answers.symbols ? closed : open)(answers);
  const encoding = { cohorts: 1, ...ENCODINGS[cellsBy.kind](cellsBy, alphabet.size, alphabet.find) };
  const { block, cells, cohorts, hashes } = encoding;
  const one = kind == "krr";
  need(
    cells > 1 &&
      cells <= 2 ** (one && !block ? 24 : 16) &&
      cohorts > 0 &&
      cohorts <= 2 ** 20 &&
      cohorts * cells <= 2 ** 27 &&
      hashes > 0 &&
      // Optimised flips of a bit give it all of epsilon, so an answer may have but one.
      (block ? one : hashes <= (one || clear ? 1 : 64)) &&
      (kind != "subset" || (cellsBy.kind == "direct" && size > 0 && size < cells)) &&
      // By code points, as in Python: a character outside the basic plane counts once.
      /^\P{Cs}{0,500}$/u.test(name),
    `survey parts must fit each other, got ${kind} and ${spell(cellsBy)}`,
  );
  const mechanism = {
    width: 64,
    ...MECHANISMS[kind](
      readEpsilon(epsilon),
      epsilon_report && readEpsilon(epsilon_report),
      1n << 64n,
      cells,
      hashes,
      size | 0,
      clear,
    ),
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
  };
  return {
    name,
    digest,
    epsilon,
    epsilonReport: epsilon_report ?? epsilon,
    encoding,
    mechanism,
    symbols: alphabet.size,
    stated: canonical({ ...stated, digest: hex(sha256(utf8(canonical(stated)))) }),
  };
}

/** The survey in JSON text, or in the object that such a text holds. */
export function readSurvey(source) {
  let text;
  try {
    const given = parse((text = source.trim ? source : spell(source)));
    const survey = remake(given);
    const parts = survey.stated.split(",");
    canonical(given)
      .split(",")
      .map((part, i) => need(part == parts[i], `survey must say ${parts[i]}, got ${part}`));
    return survey;
  } catch (problem) {
    need(problem instanceof DeniableError, `survey must be the JSON of one, got ${text ?? String(source)}`);
    throw problem;
  }
}
