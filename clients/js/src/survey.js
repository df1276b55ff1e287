/**
 * Reading a survey: the public agreement. From what it says, what it must say is made again, thresholds included, and
 * anything else is refused; so is a field that this version does not know, because it may change the mechanism. Messages
 * show where the two differ; `deniable survey show` says more.
 */

import { closed } from "./alphabet.js";
import { hex, min, spell, utf8 } from "./bytes.js";
import { direct, hadamard, projective, seeded } from "./encodings.js";
import { need } from "./errors.js";
import { bitflip, krr, subset } from "./mechanisms.js";
import { readEpsilon } from "./odds.js";
import { sha256 } from "./sha256.js";

const MAKERS = { __proto__: null, direct, hashed: seeded, permuted: seeded, hadamard, projective };

/** Sorted keys, no blanks, thresholds as text: what the digest is taken of. */
const canonical = (fields) =>
  spell(fields, (_, value) =>
    typeof value == "bigint" ? `${value}` : value?.constructor == Object ? Object.fromEntries(Object.entries(value).sort()) : value,
  );

function make(text) {
  const { digest, ...given } = JSON.parse(text);
  const { name } = given;
  const { kind, epsilon, size, clear } = given.mechanism;
  const alphabet = given.alphabet.symbols ? closed(given.alphabet) : { size: 0 };
  const encoding = { cohorts: 1, ...MAKERS[given.encoding.kind](given.encoding, alphabet) };
  const { block, cells, cohorts, hashes } = encoding;
  need(
    cells > 1 &&
      cells <= 2 ** (kind == "krr" && !block ? 24 : 16) &&
      cohorts > 0 &&
      cohorts <= 2 ** 20 &&
      cohorts * cells <= 2 ** 27 &&
      hashes > 0 &&
      (block ? kind == "krr" : hashes <= (kind == "krr" ? 1 : 64)) &&
      (kind != "subset" || (given.encoding.kind == "direct" && size > 0 && size < cells)) &&
      // By code points, as in Python: a character outside the basic plane counts once.
      [...name].length <= 500 &&
      !/\p{Cs}/u.test(name),
    `survey parts must fit their limits and each other, got ${spell(given.encoding)} for ${kind}`,
  );
  const ratio = readEpsilon(epsilon);
  const mechanism = {
    __proto__: null,
    krr: () => krr(ratio, cells, hashes),
    bitflip: () => bitflip(ratio, cells, min(2 * hashes, cells), clear),
    subset: () => subset(ratio, cells, size | 0),
  }[kind]();
  const right = canonical({
    format: "deniable-survey/1",
    name: `${name}`,
    alphabet: { kind: alphabet.size ? "closed" : "open", ...alphabet.json },
    encoding: { kind: `${given.encoding.kind}`, cells, ...encoding.json },
    mechanism: { kind: `${kind}`, epsilon: `${epsilon}`, width: 64, size: mechanism.size, ...mechanism.thresholds },
  });
  const said = canonical(given);
  let at = 0;
  while (at < said.length && said[at] == right[at]) at++;
  need(said == right, `survey must say ${right.slice(at)} there, got ${said.slice(at)}`);
  const found = hex(sha256(utf8(said)));
  need(digest === found, `digest must be ${found}, got ${digest}; the survey was altered`);
  return { name, digest, epsilon, encoding, mechanism, symbols: alphabet.size };
}

/** The survey in JSON text, or in the object that such a text holds. */
export function readSurvey(source) {
  try {
    return make(typeof source == "string" ? source : spell(source));
  } catch (problem) {
    need(problem.name == "SurveyError", `survey must be JSON of a survey: ${problem.message}`);
    throw problem;
  }
}
