/** What Ask asks of the planner, and a plan in words and as a chart. No element is touched here. */

import { percent, points, sentence, whole } from "./common.js";
import { isAtLeast, SCALE } from "./words.js";

/** The scale of epsilon in a sentence, for the field of one. */
export const scaleWords = () => {
  const words = SCALE.slice(0, -1).map(({ most, word }, i) => `${i ? "" : "up to "}${most} is ${word}`);
  return `Smaller is more private: ${words.join(", ")}, more is hardly any`;
};

const MOST_BINS = 4096; // of a plan, as the collector takes them

const numberOf = (text) => (text.trim() === "" ? NaN : Number(text));

/** How people answer, as the planner is told, or what is missing of it: a function of the editor's fields a kind. */
const ALPHABETS = {
  closed: ({ symbols, sensitive = [] }) =>
    symbols.length < 2
      ? "Write at least two answers, one a line."
      : { symbols, ...(sensitive.length && sensitive.length < symbols.length ? { sensitive } : {}) },
  ordered: ({ symbols }) => (symbols.length < 2 ? "Write at least two answers, one a line." : { ordered: symbols }),
  open: ({ candidates, text }) =>
    numberOf(candidates) >= 2
      ? { candidates: Math.round(numberOf(candidates)), text }
      : "Say how many different answers you will look for: 2 or more.",
  number({ low, high, by, step, bins, outside }) {
    if (!(numberOf(low) < numberOf(high))) return "Say which numbers there are: the smallest, and a larger one.";
    const stepped = by === "bySteps";
    const width = numberOf(step);
    const strides = Math.round((numberOf(high) - numberOf(low)) / width);
    if (stepped && !(width > 0 && Math.abs(strides * width + numberOf(low) - numberOf(high)) < 1e-9 * width * strides))
      return "Say in which steps numbers are counted: some of them must lead from the smallest to the largest.";
    const count = stepped ? strides + 1 : numberOf(bins);
    if (!(count >= 2 && count <= MOST_BINS && Number.isInteger(count)))
      return `Count numbers in 2 to ${whole(MOST_BINS)} steps or bins.`;
    return { number: [low.trim(), high.trim()], outside, ...(stepped ? { step: step.trim() } : { bins: count }) };
  },
};
/** How people answer a question of this kind, as the planner is told, or the sentence that says what is missing. */
export const answersOf = (kind, fields) => ALPHABETS[kind](fields);

/** Whether results are judged by the mean: of numbers, or of the places of answers in an order. */
export const isAboutMean = (kind) => kind === "number" || kind === "ordered";

/** An error of the mean to begin with: a twentieth of the scale, or what is usual for places. */
export function firstMeanError({ kind, low, high }) {
  const range = numberOf(high ?? "") - numberOf(low ?? "");
  return kind === "ordered" ? 0.3 : range > 0 ? Number((range / 20).toPrecision(2)) : 1;
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
  if (!name) return "Write your question first.";
  if (kind !== "open" && typeof answers === "string") return answers;
  if (!(people >= 10)) return "Say how many people will answer: 10 or more.";
  if (byError && isAboutMean(kind) && !(mean > 0)) return "Say how far off the mean may be: more than 0.";
  if (byError && !isAboutMean(kind) && !(error > 0 && error < 100))
    return "Say how far off a share may be: more than 0 and less than 100 percentage points.";
  if (!byError && !(epsilon >= Number(least) && epsilon <= Number(most)))
    return `Say which epsilon you want to offer: from ${least} to ${most}.`;
  if (typeof answers === "string") return answers;
  const goals = isAboutMean(kind)
    ? [{ max_mean_error: mean }, { epsilon: String(epsilon) }]
    : [{ max_error: error / 100 }, { epsilon: String(epsilon), metric: "max" }];
  return { n: Math.round(people), name, ...answers, ...goals[byError ? 0 : 1] };
}

/** Two digits, rounded up. */
const about = (number) => {
  const unit = 10 ** (Math.floor(Math.log10(number)) - 1);
  return String(Number((Math.ceil((number / unit) * (1 - 1e-9)) * unit).toPrecision(2)));
};

/** What the errors of a plan mean: a number each, and words. */
export function sharpness({ errors }, n) {
  const mean = n.scale ? "the mean" : "the mean place";
  if (errors.mean) return [[`± ${about(errors.mean.bound)}`, `${mean}, in 9 of 10 surveys`]];
  const error = errors.max_error;
  return [
    [`± ${points(error.mean)} points`, "the largest error, on average"],
    [`± ${points(error.bound)} points`, "in 9 of 10 surveys it is smaller"],
  ];
}

/** What a plan will show, and what it will not: two lists of sentences' ends. `n` is the channel in numbers. */
export function visible({ errors, smallest_visible: smallest }, n) {
  const certain = isAtLeast(n, "weak")
    ? "for certain what anyone answered, though you get hints"
    : "with full certainty what anyone answered, though you can come close";
  const anyone = isAtLeast(n, "strong") ? "what anyone answered" : certain;
  const hidden = n.hidden ? `${anyone}, if it is a sensitive answer` : anyone;
  if (errors.mean) {
    const off = about(errors.mean.bound);
    const mean = n.scale ? "the mean" : "the mean place in the order";
    const spread = n.scale
      ? "how answers are spread, roughly: shares of wide ranges"
      : "the share of each answer, with its interval";
    return {
      seen: [`${mean}, up to about ${off} either way`, "the median and the quartiles, with intervals", spread],
      unseen: [
        hidden,
        n.scale ? "shares of single numbers or narrow ranges" : "small shares",
        `differences of means below about ${off}`,
      ],
    };
  }
  const bound = points(errors.max_error.bound);
  const seen = [
    smallest === null
      ? "hardly any single answer for certain"
      : `every answer that ${percent(smallest)} of people or more give`,
    `each share, up to about ${bound} points either way`,
  ];
  const unseen = [
    hidden,
    smallest === null ? "rare answers" : `answers that fewer than ${percent(smallest)} give: they may look like none`,
    `differences below about ${bound} points, and small groups of people`,
  ];
  return { seen, unseen };
}

/** An epsilon with three digits, rounded up, so that "at most" stays true. */
export function epsilonUp(epsilon) {
  const unit = 10 ** (Math.floor(Math.log10(epsilon)) - 2);
  return String(Number((Math.ceil((epsilon / unit) * (1 - 1e-12)) * unit).toPrecision(3)));
}

/**
 * The two numbers: what one report tells whoever sees it, and what the counts of a crowd tell whoever sees only those.
 * The second stands beside the first and never instead of it; `rests` is what it rests on, or why there is none.
 */
export function bothNumbers(local, { n, delta, epsilon, problem }) {
  const first = [`epsilon ${Number(local.toPrecision(3))}`, "for whoever sees a single report, the collector included"];
  if (epsilon === null) return { numbers: [first], rests: `What a crowd adds cannot be said here: ${problem}.` };
  const once = `one time in ${whole(1 / delta)}`;
  if (epsilon >= local * (1 - 1e-6))
    return { numbers: [first], rests: `A crowd of ${whole(n)} is too small to add anything that can be certified.` };
  return {
    numbers: [first, [`epsilon ${epsilonUp(epsilon)}`, `for whoever sees only the counts of ${whole(n)} people`]],
    rests:
      "The second number is what the crowd adds; the first one holds whatever happens. The second rests on a " +
      `collector that drops the order, the time and the sender of reports, on ${whole(n)} honest people who answer ` +
      `(whoever is made up or colludes hides nobody), and on one round; it may fail ${once}.`,
  };
}

/** The mechanism of a plan and how it was found, for experts. */
export const mechanismWords = (found, n) =>
  found.errors.mean
    ? `${found.mechanism}, the square wave mechanism: ${n.cells} places, of which an answer has ${n.mine}. The error ` +
      "is that of the worst population."
    : `${found.mechanism}${found.parameters ? `, ${found.parameters}` : ""}; ${found.report_bytes} bytes a report; ` +
      `decoded by ${found.decoder}; ${found.repeats} surveys simulated; answers taken to be ${found.shape}, the ` +
      `worst of ${found.shapes.length} shapes for this error.`;

/** Heads and rows of the table of other mechanisms, and what they would need. */
export function alternatives({ found, alternatives: others = [] }) {
  const needs = found === "error" ? "an error of" : found === "n" ? "n" : "epsilon";
  const rows = others.map((one) => [
    `${one.mechanism} ${one.parameters}`.trim(),
    one.needs === null ? "cannot" : String(Number(one.needs.toPrecision(3))),
  ]);
  return { heads: ["instead", `needs ${needs}`], rows };
}

const digits = (share) => String(Number((100 * share).toPrecision(2)));

/** Why the mean cannot be known so exactly: bins that are too wide, or too few people. */
function tooFar({ n, number, bins }, mean) {
  const half = bins ? (number[1] - number[0]) / bins / 2 : 0;
  return mean <= half
    ? `The mean of numbers in ${bins} bins cannot be known up to ± ${mean}: half a bin is ${half}. Use more ` +
        "bins, or steps."
    : `${whole(n)} people are too few to know the mean up to ± ${mean}.`;
}

/** What cannot be had, in the fields' own units, and what can: `ways`, each with its words. Epsilon is set in them. */
export function refusal({ message, told }, now) {
  const mean = now.max_mean_error;
  if (!told.alternatives || !(mean || now.max_error)) return { said: sentence(message), ways: [] };
  const ways = told.alternatives.map((one) => {
    const off = mean ? about(one.error) : `${digits(one.error)} points`;
    const exact = `about ± ${off} with ${one.privacy} privacy`;
    return one.n === now.n
      ? { ...one, bold: sentence(exact).slice(0, -1), rest: "" }
      : { ...one, bold: `Ask about ${whole(one.n)} people`, rest: `: ${exact}` };
  });
  if (mean) return { said: tooFar(now, mean), ways };
  const most = digits(now.max_error);
  return { said: `${whole(now.n)} people are too few to know every share up to ± ${most} points.`, ways };
}

/** Epsilon against n through the plan, within a thousandfold of its people. */
export function planChart(found) {
  const rows = found.lines.filter((row) => row.n >= found.n / 1e3 && row.n <= found.n * 1e3);
  const kinds = [...new Set(rows.map((row) => row.mechanism))];
  const across = [found.n, ...rows.map((row) => row.n)];
  const point = { mechanism: found.mechanism, n: found.n, epsilon: found.epsilon };
  const label = `epsilon ${found.epsilon.toPrecision(3)}, ${whole(found.n)} people`;
  const low = Math.min(...across) / 1.2;
  const high = Math.max(...across) * 1.2;
  const tens = Array.from({ length: 16 }, (_, power) => 10 ** power).filter((ten) => ten >= low && ten <= high);
  const patch = (part) => {
    if (part.domain?.[0] === "best plan") {
      part.range = part.range.filter((_, i) => kinds.includes(part.domain[i]));
      part.domain = part.domain.filter((kind) => kinds.includes(kind));
    }
    if (part.field === "n" && part.scale) {
      part.scale.domain = [low, high];
      part.axis.values = tens;
    }
    if (part.field === "epsilon" && part.scale) part.scale.domain = [Math.min(0.1, found.epsilon / 1.5), 12];
  };
  return {
    chart: "plan",
    description: `Epsilon against the number of people; planned: ${label}`,
    patch,
    data: { rows, more: [point], last: [{ label: `●  ${label}` }] },
  };
}
