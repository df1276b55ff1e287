/** What Ask asks of the planner, and a plan in words and as a chart. No element is touched here. */

import { called, constraintKey, decoderKey, percent, points, sentence } from "./common.js";
import * as free from "./free.js";
import { digits, number, text } from "./texts.js";
import { isAtLeast, privacy, SCALE } from "./words.js";

/** The scale of epsilon in a sentence, for the field of one. */
export const scaleWords = () => {
  const steps = SCALE.slice(0, -1).map(({ most, word }) => text("ask.scaleStep", { most, privacy: privacy(word) }));
  return text("ask.scale", { steps: steps.join(text("words.comma")), rest: privacy(SCALE.at(-1).word) });
};

const MOST_BINS = 4096; // of a plan, as the collector takes them

const numberOf = (given) => (given.trim() === "" ? NaN : Number(given));

/** How people answer, as the planner is told, or what is missing of it: a function of the editor's fields a kind. */
const ALPHABETS = {
  closed: ({ symbols, sensitive = [] }) =>
    symbols.length < 2
      ? text("ask.writeAnswers")
      : { symbols, ...(sensitive.length && sensitive.length < symbols.length ? { sensitive } : {}) },
  ordered: ({ symbols }) => (symbols.length < 2 ? text("ask.writeAnswers") : { ordered: symbols }),
  open: ({ candidates, text: reading }) =>
    numberOf(candidates) >= 2
      ? { candidates: Math.round(numberOf(candidates)), text: reading }
      : text("ask.sayCandidates"),
  free: free.answers,
  number({ low, high, by, step, bins, outside }) {
    if (!(numberOf(low) < numberOf(high))) return text("ask.sayNumbers");
    const stepped = by === "bySteps";
    const width = numberOf(step);
    const strides = Math.round((numberOf(high) - numberOf(low)) / width);
    if (stepped && !(width > 0 && Math.abs(strides * width + numberOf(low) - numberOf(high)) < 1e-9 * width * strides))
      return text("ask.saySteps");
    const count = stepped ? strides + 1 : numberOf(bins);
    if (!(count >= 2 && count <= MOST_BINS && Number.isInteger(count)))
      return text("ask.sayBins", { count: MOST_BINS });
    return { number: [low.trim(), high.trim()], outside, ...(stepped ? { step: step.trim() } : { bins: count }) };
  },
};
/** How people answer a question of this kind, as the planner is told, or the sentence that says what is missing. */
export const answersOf = (kind, fields) => ALPHABETS[kind](fields);

/** Whether results are judged by the mean: of numbers, or of the places of answers in an order. */
export const isAboutMean = (kind) => kind === "number" || kind === "ordered";

/** An error of the mean to begin with: a twentieth of the scale, of few places a little more. */
export function firstMeanError({ kind, low, high, symbols = [] }) {
  const range = kind === "ordered" ? symbols.length - 1 : numberOf(high ?? "") - numberOf(low ?? "");
  const part = Number((range / 20).toPrecision(2));
  return kind === "ordered" ? Math.max(0.3, part) : range > 0 ? part : 1;
}

/**
 * What the planner is to be asked, or the sentence that says what is missing. The form's numbers are texts; `limits`
 * are the least and the greatest epsilon that it takes.
 */
export function request({ kind, goal, name, limits, ...fields }) {
  const byError = goal === "error";
  const [people, error, mean, epsilon] = ["people", "error", "mean_error", "epsilon"].map((id) =>
    numberOf(fields[id] ?? ""),
  );
  const [least, most] = limits;
  const answers = ALPHABETS[kind](fields);
  const wanted = kind === "free" && free.goal(fields, byError);
  if (!name) return text("ask.writeQuestion");
  if (!["open", "free"].includes(kind) && typeof answers === "string") return answers;
  if (!(people >= 10)) return text("ask.sayPeople");
  if (typeof wanted === "string") return wanted;
  if (byError && isAboutMean(kind) && !(mean > 0)) return text("ask.sayMean");
  if (byError && !wanted && !isAboutMean(kind) && !(error > 0 && error < 100)) return text("ask.sayShare");
  if (!byError && !(epsilon >= Number(least) && epsilon <= Number(most)))
    return text("ask.sayEpsilon", { least: Number(least), most: Number(most) });
  if (typeof answers === "string") return answers;
  if (wanted)
    return { n: Math.round(people), name, ...answers, ...wanted, ...(!byError && { epsilon: String(epsilon) }) };
  const goals = isAboutMean(kind)
    ? [{ max_mean_error: mean }, { epsilon: String(epsilon) }]
    : [{ max_error: error / 100 }, { epsilon: String(epsilon), metric: "max" }];
  return { n: Math.round(people), name, ...answers, ...goals[byError ? 0 : 1] };
}

/** Two digits, rounded up. */
const about = (value) => {
  const unit = 10 ** (Math.floor(Math.log10(value)) - 1);
  return digits(Number((Math.ceil((value / unit) * (1 - 1e-9)) * unit).toPrecision(2)), 2);
};

/** What the errors of a plan mean: a number each, and words. */
export function sharpness({ errors }, n) {
  if (errors.mean) return [[`± ${about(errors.mean.bound)}`, text(n.scale ? "ask.sharpMean" : "ask.sharpPlace")]];
  const error = errors.max_error;
  return [
    [text("forms.share", { error: points(error.mean) }), text("ask.sharpAverage")],
    [text("forms.share", { error: points(error.bound) }), text("ask.sharpBound")],
  ];
}

/** What a plan will show, and what it will not: two lists of sentences' ends. `n` is the channel in numbers. */
export function visible({ errors, smallest_visible: smallest }, n) {
  const known = isAtLeast(n, "strong") ? "Answer" : isAtLeast(n, "weak") ? "Unsure" : "Near";
  const hidden = text(`ask.hide${known}${n.hidden ? "Sensitive" : ""}`);
  if (errors.mean) {
    const off = { error: about(errors.mean.bound) };
    return {
      seen: [
        text(n.scale ? "ask.seeMean" : "ask.seePlace", off),
        text("ask.seeQuartiles"),
        text(n.scale ? "ask.seeSpread" : "ask.seeShares"),
      ],
      unseen: [hidden, text(n.scale ? "ask.hideNarrow" : "ask.hideSmall"), text("ask.hideMeans", off)],
    };
  }
  const bound = { error: points(errors.max_error.bound) };
  const least = smallest !== null && { share: percent(smallest) };
  return {
    seen: [least ? text("ask.seeAnswers", least) : text("ask.seeHardly"), text("ask.seeShare", bound)],
    unseen: [hidden, least ? text("ask.hideRare", least) : text("ask.hideAllRare"), text("ask.hideDifferences", bound)],
  };
}

/** An epsilon with three digits, rounded up, so that "at most" stays true. */
export function epsilonUp(epsilon) {
  const unit = 10 ** (Math.floor(Math.log10(epsilon)) - 2);
  return digits(Number((Math.ceil((epsilon / unit) * (1 - 1e-12)) * unit).toPrecision(3)), 3);
}

/** Why nobody can say what a crowd adds, of which the collector has two reasons. */
const unknown = (reason) => text(reason === "slow" ? "ask.crowdSlow" : "ask.crowdNone");

/**
 * The two numbers: what one report tells whoever sees it, and what the counts of a crowd tell whoever sees only those.
 * The second stands beside the first and never instead of it; `rests` is what it rests on, or why there is none.
 */
export function bothNumbers(local, { n, delta, epsilon, reason }) {
  const first = [text("words.epsilon", { epsilon: digits(local, 3) }), text("ask.firstNumber")];
  if (epsilon === null) return { numbers: [first], rests: text("ask.crowdUnknown", { problem: unknown(reason) }) };
  if (epsilon >= local * (1 - 1e-6)) return { numbers: [first], rests: text("ask.crowdSmall", { count: n }) };
  const second = [text("words.epsilon", { epsilon: epsilonUp(epsilon) }), text("ask.secondNumber", { count: n })];
  return { numbers: [first, second], rests: text("ask.rests", { count: n, times: 1 / delta }) };
}

const PARAMETERS = ["size", "cells", "cohorts", "hashes", "order", "dimension", "blocks"];
const SHAPES = ["uniform", "geometric", "zipf", "binomial", "even", "spike"];

/** What the planner calls by words of `known`, by those of the page, with the numbers beside them. */
const reworded = (said, kind, known) =>
  said
    .replace(/sets of (\d+)/, (_, size) => text("ask.setsOf", { size: Number(size) }))
    .replace(/even over (\d+)/, (_, count) => text("ask.evenOver", { count: Number(count) }))
    .replaceAll(", ", text("words.comma"))
    .replace(/[a-z]+/g, (word) => (known.includes(word) ? text(`ask.${kind}_${word}`) : word))
    .replace(/\d+(\.\d+)?/g, (count) => number(Number(count)));

/** How a plan's reports are decoded: "LeastSquares, Projected". */
const decoding = (decoder) => {
  const [name, constraint] = decoder.split(", ");
  return [text(decoderKey(name)), constraint && text(constraintKey(constraint))]
    .filter(Boolean)
    .join(text("words.comma"));
};

/** A mechanism with its parameters. */
export const named = ({ mechanism, parameters }, between = " ") =>
  [called(mechanism), parameters && reworded(parameters, "parameter", PARAMETERS)].filter(Boolean).join(between);

/** The mechanism of a plan and how it was found, for experts. */
export const mechanismWords = (found, n) =>
  found.errors.mean
    ? text("ask.mechanismMean", { mechanism: called(found.mechanism), cells: n.cells, mine: n.mine })
    : text("ask.mechanismLine", {
        mechanism: named(found, text("words.comma")),
        bytes: found.report_bytes,
        decoder: decoding(found.decoder),
        repeats: found.repeats,
        shape: reworded(found.shape, "shape", SHAPES),
        shapes: found.shapes.length,
      });

/** Heads and rows of the table of other mechanisms, and what they would need. */
export function alternatives({ found, alternatives: others = [] }) {
  const rows = others.map((one) => [named(one), one.needs === null ? text("forms.cannot") : digits(one.needs, 3)]);
  return { heads: [text("ask.instead"), text(`forms.needs_${found}`)], rows };
}

const twoDigits = (share) => digits(Number((100 * share).toPrecision(2)), 2);

/** Why the mean cannot be known so exactly: bins that are too wide, or too few people. */
function tooFar({ n, number, bins }, mean) {
  const half = bins ? (number[1] - number[0]) / bins / 2 : 0;
  return mean <= half ? text("ask.wideBins", { count: bins, mean, half }) : text("ask.fewMean", { count: n, mean });
}

/** What cannot be had, in the fields' own units, and what can: `ways`, each with its words. Epsilon is set in them. */
export function refusal({ message, told }, now) {
  const mean = now.max_mean_error;
  if (!told.alternatives || !(mean || now.max_error)) return { said: sentence(message), ways: [] };
  const ways = told.alternatives.map((one) => {
    const exact = text(mean ? "ask.insteadMean" : "forms.instead", {
      error: mean ? about(one.error) : twoDigits(one.error),
      privacy: privacy(one.privacy),
    });
    return one.n === now.n
      ? { ...one, bold: exact, rest: "" }
      : { ...one, bold: text("ask.askPeople", { count: one.n }), rest: `: ${exact}` };
  });
  if (mean) return { said: tooFar(now, mean), ways };
  const most = twoDigits(now.max_error);
  return { said: text("forms.tooFew", { count: now.n, error: most }), ways };
}

const briefly = (count) => number(count, { notation: "compact" });

/** Epsilon against n through the plan, within a thousandfold of its people. */
export function planChart(found) {
  const rows = found.lines.filter((row) => row.n >= found.n / 1e3 && row.n <= found.n * 1e3);
  const kinds = [...new Set(rows.map((row) => row.mechanism))];
  const across = [found.n, ...rows.map((row) => row.n)];
  const point = { mechanism: found.mechanism, n: found.n, epsilon: found.epsilon };
  const label = text("ask.planned", { epsilon: digits(found.epsilon, 3), count: found.n });
  const low = Math.min(...across) / 1.2;
  const high = Math.max(...across) * 1.2;
  const tens = Array.from({ length: 16 }, (_, power) => 10 ** power).filter((ten) => ten >= low && ten <= high);
  const patch = (part) => {
    if (part.field === "n" && part.scale) {
      part.scale.domain = [low, high];
      part.axis.values = tens;
      const labels = Object.fromEntries(tens.map((ten) => [ten, briefly(ten)]));
      part.axis.labelExpr = `(${JSON.stringify(labels)})[datum.value]`;
    }
    if (part.field === "epsilon" && part.scale) part.scale.domain = [Math.min(0.1, found.epsilon / 1.5), 12];
  };
  return {
    chart: "plan",
    description: text("ask.described", { planned: label }),
    kinds,
    patch,
    data: { rows, more: [point], last: [{ label: `●  ${label}` }] },
  };
}
