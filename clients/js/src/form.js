/**
 * Forms: several questions, one report. A form is a list of parts, each an ordinary survey over one question or over
 * the pairs of two related ones; docs/reference/protocol.md, section 12. `Client` answers a form as it does a survey.
 *
 *     const client = new Client(readForm(text), { storage: localStorage });
 *     client.questions                                      what this device answers: ask nothing else
 *     client.queue({ smokes: "yes", age: 41 })              randomise all of them, each part with words of its own
 *
 * Claim: the law of a packed report is the law of what was drawn, which is the same for all answers, times the product
 *     of the published channels of the parts that were drawn. What was drawn, and which parts are asked given public
 *     answers, is all that its shape says.
 * Proof: test/forms.test.js, which plays every word to this code, with what it must catch.
 */

import { big, canonical, hex, max, num, Obj, parse, upTo, utf8 } from "./bytes.js";
import { responsesOf } from "./client.js";
import { need } from "./errors.js";
import { answering } from "./form_line.js";
import { readEpsilon, readTotal } from "./odds.js";
import { sha256 } from "./sha256.js";
import { ALPHABETS, reader, remake } from "./survey.js";

const FORMAT = "deniable-form/1";
/** The answer of whoever skips a question that may be skipped: a symbol like any other, the last one. */
export const NO_ANSWER = "no answer";
const MOST = 256;
const MOST_PAIRS = 2 ** 12;

const add = ([a, b], [c, d]) => [a * d + c * b, b * d];
const above = ([a, b], [c, d]) => a * d > c * b;

/** What a question is: its fields checked, and how an answer is found in it. Only where it can be skipped may it be. */
function questionOf({ name, title, alphabet, skip }) {
  need(
    /^[\p{XID_Start}_][\p{XID_Continue}]*$/u.test(name) && [...name].length <= 64 && name === name.normalize(),
    `a question's name must be a word of at most 64 letters, digits and underscores, got ${name}`,
  );
  need(/^\P{Cs}{0,500}$/u.test(title), `${name}: its title must be text of at most 500 characters`);
  need(ALPHABETS[alphabet.kind], `${name}: its answers must be of ${Obj.keys(ALPHABETS)}, got ${alphabet.kind}`);
  need(skip === undefined || skip === 1, `${name}: skip must be 1`);
  const { stated, size, names, find } = ALPHABETS[alphabet.kind](alphabet);
  const listed = names ?? stated.symbols;
  // An order has no place for "no answer": its bins are then a list.
  const answers = skip && size ? { kind: "closed", symbols: [...listed, NO_ANSWER], other: stated.other } : alphabet;
  return {
    name,
    title,
    skip,
    answers,
    size: size && size + (skip ?? 0),
    // What people choose from, where they do not write.
    listed,
    fields: { name, title, alphabet: stated, skip },
    /** The place of an answer to a related question. */
    place: (value) => (skip && (value == null || value === NO_ANSWER) ? size : find(value)),
    /** An answer as the part's survey takes it. */
    symbol: (value) => value ?? NO_ANSWER,
    ...(skip &&
      names && { symbol: (value) => answers.symbols[value == null || value === NO_ANSWER ? size : find(value)] }),
  };
}

/** The survey of a part, which is asked of nobody as it stands. */
function partOf({ questions: own, encoding, mechanism }, byName, participation) {
  const questions = own.map((name) => byName.get(name));
  need(
    questions.length > 0 && questions.length < 3 && questions.every((one) => one),
    "a part must have one or two of the form's questions",
  );
  const [first, second] = questions;
  const name = own.join(", ");
  const pairs = second && first.size * second.size;
  need(
    !second || (pairs && pairs <= MOST_PAIRS && !questions.some(({ when }) => when)),
    `${name}: related questions must be lists of at most ${MOST_PAIRS} pairs, asked of everybody`,
  );
  const alphabet = second ? { kind: "closed", symbols: upTo(pairs) } : first.answers;
  let survey;
  try {
    survey = remake({ name: "", alphabet, encoding, mechanism, participation });
  } catch (problem) {
    need(
      false,
      `${name}: ${problem.name === "SurveyError" ? problem.message : "its encoding and mechanism must be there"}`,
    );
  }
  const stated = parse(survey.stated);
  return {
    ...survey,
    name,
    digest: "",
    questions,
    when: first.when,
    fields: { questions: own, encoding: stated.encoding, mechanism: stated.mechanism },
    symbol: (given) =>
      second
        ? first.place(given[first.name]) * second.size + second.place(given[second.name])
        : first.symbol(given[first.name]),
  };
}

/** Conditions, in the order of their questions: each on a public question, and the places of its answers. */
function putConditions(when, questions, open) {
  const stated = [];
  for (const question of [...questions, ...open]) {
    const found = when.filter(([name]) => name === question.name);
    if (!found.length) continue;
    const [[name, depends, wanted]] = found;
    const [on] = open.filter((one) => one.name === depends);
    need(found.length < 2 && on, `${name} must have one condition, on a public question: a private one would show`);
    const symbols = on.listed ?? [];
    // Each is spelled as the question does.
    const places = wanted.map((value) => symbols.findIndex((one) => canonical([one]) === canonical([value])));
    need(places.length && !places.includes(-1), `${name} must depend on answers that ${depends} has`);
    question.when = { on, places };
    stated.push([name, depends, places.map((place) => symbols[place])]);
  }
  need(stated.length === when.length, "conditions must be of questions that the form has");
  for (const question of open) {
    const seen = [];
    for (let at = question; at.when; at = at.when.on) {
      need(!seen.includes(at), `conditions must not go in a circle, got ${question.name} in one`);
      seen.push(at);
    }
  }
  return stated;
}

/** A form from its fields; `stated` is what they must say, as of a survey. */
function remakeForm(given) {
  const { name, digest, spend, epsilon, drawn, participation } = given;
  need(given.format === FORMAT, `form must have format ${FORMAT}, got ${given.format}`);
  need(/^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}]{0,500}$/u.test(name), "name must be a line of at most 500 characters");
  const questions = given.questions.map(questionOf);
  const open = (given.public ?? []).map((fields) => {
    const found = questionOf(fields);
    const { find, size } = ALPHABETS[found.answers.kind]({ ...found.answers, other: undefined });
    // Public answers are never hashed, so that only listed ones are any.
    return { ...found, public: true, place: (value) => (size ? find(value) : need()) };
  });
  need(
    questions.length > 1 && questions.length <= MOST && open.length <= MOST,
    `a form must have 2 to ${MOST} questions, got ${questions.length}`,
  );
  const byName = new Map(questions.map((question) => [question.name, question]));
  need(
    new Set([...questions, ...open].map((question) => question.name)).size === questions.length + open.length,
    "a form must have each question once",
  );
  const when = putConditions(given.when ?? [], questions, open);
  const parts = given.parts.map((fields) => partOf(fields, byName, participation));
  const count = parts.length;
  need(
    parts.flatMap((part) => part.questions).length === questions.length &&
      new Set(parts.flatMap((part) => part.questions)).size === questions.length,
    "parts must have each question of the form once",
  );
  need(/^(split|sample|each)$/.test(spend), `spend must be split, sample or each, got ${spend}`);
  need(
    num.isInteger(drawn) && drawn > 0 && (spend === "sample" ? drawn <= count : drawn === count),
    `drawn must be from 1 to the ${count} parts, and all but with sample, got ${drawn}`,
  );
  need(
    parts.reduce((sum, { encoding, mechanism }) => sum + encoding.cohorts * (mechanism.columns ?? encoding.cells), 0) <=
      2 ** 27,
    "a form must have at most 2**27 counters",
  );
  // The most that one device spends: for good, and in one report.
  const [whole, each] = ["epsilon", "epsilonReport"].map((which) =>
    parts
      .map((part) => readEpsilon(part[which]))
      .sort((one, two) => (above(one, two) ? -1 : 1))
      .slice(0, drawn)
      .reduce(add),
  );
  need(!above(whole, readTotal(epsilon, big(64 * MOST))), `the parts of a device must spend at most ${epsilon}`);

  const stated = {
    format: FORMAT,
    name,
    spend,
    epsilon: `${epsilon}`,
    drawn,
    questions: questions.map(({ fields }) => fields),
    parts: parts.map(({ fields }) => fields),
    public: open.length ? open.map(({ fields }) => fields) : undefined,
    when: when.length ? when : undefined,
    participation: participation && `${participation}`,
  };

  return {
    name,
    digest,
    epsilon,
    spend,
    drawn,
    questions,
    public: open,
    parts,
    window: parts[0].window,
    // By both numbers answers of the whole form are charged; as of surveys, each rounded up.
    spends: [whole, each],
    responses: max(...parts.map(responsesOf)),

    ...answering({ digest, drawn, parts, questions, open }),
    stated: canonical({ ...stated, digest: hex(sha256(utf8(canonical(stated)))) }),
  };
}

/** The form in JSON text, or in the object that such a text holds. */
export const readForm = reader("form", remakeForm);
