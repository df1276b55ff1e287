/**
 * Surveys whose channel is a table: only some answers are hidden, or which of a group, or each with its own budget.
 * The rows are those that the client draws from. A column stands for the answers that it is likeliest for; answers that
 * cannot lead to it are known not to be the one that was given, and that is said.
 */

import { el, symbolText } from "./common.js";
import { readSurvey } from "./deniable.min.js";
import { strip } from "./dice.js";
import { list } from "./fields.js";
import { atMost, chance, deniability, isAtLeast, share as part, watch, YOU } from "./words.js";

const LISTED = 12; // answers that are named in a sentence

const listed = (names) =>
  names.slice(0, LISTED).join(", ") + (names.length > LISTED ? ` and ${names.length - LISTED} more` : "");

/** The channel in numbers, as words.js has it, and `row`: how likely each column is for the answer in a place. */
export function numbers(survey) {
  const { mechanism } = survey.made ?? readSurvey(survey); // a part of a form was read with it
  const names = survey.alphabet.symbols.map(symbolText);
  const rows = [];
  const row = (place) => (rows[place] ??= mechanism.row(place).map(part));
  const about = (KINDS[survey.mechanism.kind] ?? anything)(survey.mechanism, row, names);
  return {
    shape: "one",
    cells: mechanism.columns,
    answers: names.length,
    cohorts: 1,
    hashes: 1,
    named: true, // as in a list of answers; which of them a column is, `standsFor` knows
    ...about,
    lifetime: about.odds,
    row,
    names,
  };
}

/** Some answers are hidden among all, the others are not: as they are, or by the points of a design. */
function sensitive({ sensitive: hidden, keep, other, own, order }, row, names) {
  const [kept, raised, seen] = [keep, other, own].map(part);
  const odds = kept / raised;
  const points = row(hidden[0]).filter((chance) => chance > 0).length;
  const mine = Math.round((1 - points * raised) / (kept - raised));
  const others = hidden.length - 1;
  const first = `A sensitive answer is sent as it is with probability ${chance(kept)}`;
  const rest = others === 1 ? "the other sensitive one" : `each of the ${others} other sensitive ones`;
  const among = `, and as ${rest} with `;
  const happens = order
    ? `Each sensitive answer has ${mine} of the numbers from 1 to ${points}; one of its own is sent with probability ` +
      `${chance(mine * kept)}, otherwise one of the others. Any other answer is sent as it is with probability ` +
      `${chance(seen)}, otherwise as one of these numbers.`
    : `${first}${others ? among + chance(raised) : ""}. Any other answer is sent as it is with probability ` +
      `${chance(seen)}, and as ${others ? "each of the sensitive ones" : "the sensitive one"} with ${chance(raised)}.`;
  return {
    odds,
    hidden,
    happens,
    promise:
      `Only some answers need hiding here: ${listed(hidden.map((place) => names[place]))}. A sensitive answer is ` +
      `deniable against every other answer: what is sent for it is at most ${atMost(odds)} times likelier than under ` +
      "any other answer. An answer that is not sensitive may be seen for what it is: whoever reports one is known " +
      "not to have reported a sensitive one.",
    certain: "a certain sensitive answer",
    deniable: "any sensitive answer",
    scope: " for the sensitive answers",
    what: { mine: "that you chose a sensitive answer", theirs: "that anyone chose a sensitive answer" },
  };
}

/** Hidden within its group; the group is not. */
function blocks({ groups }, row) {
  const firsts = [...new Set(groups)].map((group) => groups.indexOf(group));
  const rows = firsts.map(row);
  const kept = rows.map((one) => Math.max(...one));
  const odds = Math.max(...rows.map((one, i) => kept[i] / (Math.min(...one.filter((chance) => chance > 0)) || 1)));
  const [least, most] = [Math.min(...kept), Math.max(...kept)].map((one) => chance(one));
  const often = least === most ? least : `${least} to ${most}, by the size of its group`;
  return {
    odds,
    happens:
      `The real answer is sent with probability ${often}; ` +
      "otherwise another answer of its group, each equally likely.",
    promise:
      "An answer is hidden within its group, and the group is not: what is sent is at most " +
      `${atMost(odds)} times likelier than under another answer of the same group, and it shows which group that is.`,
    certain: "a certain answer of its group",
    deniable: "which answer of its group it was",
    scope: " within a group",
    what: { mine: "which answer of its group you chose", theirs: "which answer of its group anyone chose" },
  };
}

/** Any table: the largest ratio in a column. */
function anything(_mechanism, row, names) {
  const [most, least] = [Math.max, Math.min].map((choose) =>
    names.reduce((found, _, place) => (place ? found.map((one, i) => choose(one, row(place)[i])) : row(0)), []),
  );
  const odds = Math.max(...most.map((one, i) => one / least[i]));
  return {
    odds,
    happens:
      `It sends one of the numbers from 1 to ${most.length}. How likely each of them is depends on the answer, by a ` +
      "public table.",
  };
}

function budgets(mechanism, row, names) {
  const found = anything(mechanism, row, names);
  const told = mechanism.budgets
    .map((budget, group) => [budget, names.filter((_, place) => mechanism.groups[place] === group)])
    .map(([budget, some]) => `${listed(some)} (epsilon ${budget})`);
  return {
    ...found,
    promise:
      `Answers have budgets of their own: ${told.join("; ")}. Between two answers the smaller one holds: what is ` +
      "sent is at most e to that power times likelier under one than under the other, and over all answers at most " +
      `${atMost(found.odds)} times.`,
  };
}

const KINDS = { __proto__: null, sensitive, "sensitive-design": sensitive, blocks, budgets };

export const whatHappens = (n, who = YOU) => `${watch(n, who)}. ${n.happens}`;

/** Which answers a column is likeliest for, and which can lead to it at all, by their places. */
export function standsFor(n, column) {
  const weights = n.names.map((_, place) => n.row(place)[column]);
  const most = Math.max(...weights);
  const where = (is) => weights.flatMap((weight, place) => (is(weight) ? [place] : []));
  return { likeliest: where((weight) => weight === most), possible: where((weight) => weight > 0) };
}

/** Where the answer is given. Those that are hidden are marked, and what that means is said. */
export function field(asked) {
  const { hidden } = asked.n;
  if (!hidden) return list(asked);
  const mark = (place) => (hidden.includes(place) ? el("span", { class: "tag" }, "sensitive") : null);
  const { shown, chosen } = list(asked, mark);
  const note =
    "Only the answers that are marked as sensitive are hidden. A harmless answer may be seen for what it is; whoever " +
    "reports one is known not to have reported a sensitive one.";
  return { shown: [el("p", { class: "hint", id: "hidden" }, note), ...shown], chosen };
}

/** The die: all columns that the answer can lead to, first those that stand for it. */
export function rolled(n, [place], [column]) {
  const row = n.row(place);
  const own = (one) => standsFor(n, one).likeliest.includes(place);
  const columns = row.flatMap((chance, one) => (chance > 0 ? [{ one, share: chance, mine: own(one) }] : []));
  return strip(
    columns,
    columns.findIndex(({ one }) => one === column),
    "your answer",
  );
}

export function inWords([column], { n }) {
  const { likeliest } = standsFor(n, column);
  const names = likeliest.map((place) => n.names[place]);
  if (names.length === 1) return el("p", { class: "sent", dir: "auto" }, names[0]);
  return el(
    "div",
    {},
    el("p", { class: "sent" }, `Number ${column + 1} of ${n.cells}`),
    el("p", { dir: "auto" }, names.length < n.answers ? `It stands for ${listed(names)}.` : "It stands for no answer."),
  );
}

/** What a reader of the report knows, and does not. */
export function denial(n, [column]) {
  const { possible } = standsFor(n, column);
  if (possible.length === 1) return "Whoever reads this knows that it is your answer: it needs no hiding here.";
  const names = possible.map((place) => n.names[place]);
  const among =
    names.length < n.answers ? `Whoever reads this knows that your answer is one of ${listed(names)}. ` : "";
  const sure = isAtLeast(n, "strong") ? "tell" : "be sure";
  return `${among}Nobody, including us, can ${sure} whether that is your answer. ${deniability(n)}`;
}
