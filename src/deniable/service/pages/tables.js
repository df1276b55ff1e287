/**
 * Surveys whose channel is a table: only some answers are hidden, or which of a group, or each with its own budget.
 * The rows are those that the client draws from. A column stands for the answers that it is likeliest for; answers that
 * cannot lead to it are known not to be the one that was given, and that is said.
 */

import { readSurvey } from "./deniable.min.js";
import { strip } from "./dice.js";
import { list } from "./fields.js";
import { el, symbolText } from "./page.js";
import { sentences, text } from "./texts.js";
import { atMost, chance, deniability, listed, nobody, share as part, watch, YOU } from "./words.js";

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
  const count = hidden.length - 1;
  const told = { kept: chance(kept), raised: chance(raised), seen: chance(seen) };
  const happens = order
    ? text("tables.design", { ...told, count: mine, points, kept: chance(mine * kept) })
    : sentences(
        count ? text("tables.sensitiveAs", { ...told, count }) : text("tables.sensitive", told),
        text("tables.harmless", { ...told, count: hidden.length }),
      );
  return {
    odds,
    hidden,
    happens,
    promise: text("tables.promise", { names: listed(hidden.map((place) => names[place])), odds: atMost(odds) }),
    certain: text("tables.certainSensitive"),
    deniable: text("tables.anySensitive"),
    scope: text("tables.scopeSensitive"),
    what: { you: text("tables.sensitive_you"), they: text("tables.sensitive_they") },
  };
}

/** Hidden within its group; the group is not. */
function blocks({ groups }, row) {
  const firsts = [...new Set(groups)].map((group) => groups.indexOf(group));
  const rows = firsts.map(row);
  const kept = rows.map((one) => Math.max(...one));
  const odds = Math.max(...rows.map((one, i) => kept[i] / (Math.min(...one.filter((chance) => chance > 0)) || 1)));
  const [least, most] = [Math.min(...kept), Math.max(...kept)].map((one) => chance(one));
  const often = least === most ? least : text("tables.chances", { least, most });
  return {
    odds,
    happens: text("tables.blocks", { often }),
    promise: text("tables.promiseBlocks", { odds: atMost(odds) }),
    certain: text("tables.certainBlock"),
    deniable: text("tables.anyOfBlock"),
    scope: text("tables.scopeBlock"),
    what: { you: text("tables.block_you"), they: text("tables.block_they") },
  };
}

/** Any table: the largest ratio in a column. */
function anything(_mechanism, row, names) {
  const [most, least] = [Math.max, Math.min].map((choose) =>
    names.reduce((found, _, place) => (place ? found.map((one, i) => choose(one, row(place)[i])) : row(0)), []),
  );
  const odds = Math.max(...most.map((one, i) => one / least[i]));
  return { odds, happens: text("tables.table", { columns: most.length }) };
}

function budgets(mechanism, row, names) {
  const found = anything(mechanism, row, names);
  const told = mechanism.budgets
    .map((budget, group) => [budget, names.filter((_, place) => mechanism.groups[place] === group)])
    .map(([epsilon, some]) => text("tables.budget", { names: listed(some), epsilon }));
  return {
    ...found,
    promise: text("tables.promiseBudgets", { budgets: told.join("; "), odds: atMost(found.odds) }),
  };
}

const KINDS = { __proto__: null, sensitive, "sensitive-design": sensitive, blocks, budgets };

export const whatHappens = (n, who = YOU) => sentences(watch(n, who), n.happens);

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
  const mark = (place) =>
    hidden.includes(place) ? el("span", { class: "tag", "data-text": "tables.tag" }, text("tables.tag")) : null;
  const { shown, chosen } = list(asked, mark);
  return {
    shown: [el("p", { class: "hint", id: "hidden", "data-text": "tables.note" }, text("tables.note")), ...shown],
    chosen,
  };
}

/** The die: all columns that the answer can lead to, first those that stand for it. */
export function rolled(n, [place], [column]) {
  const row = n.row(place);
  const own = (one) => standsFor(n, one).likeliest.includes(place);
  const columns = row.flatMap((chance, one) => (chance > 0 ? [{ one, share: chance, mine: own(one) }] : []));
  return strip(
    columns,
    columns.findIndex(({ one }) => one === column),
    text("you.answer"),
  );
}

export function inWords([column], { n }) {
  const { likeliest } = standsFor(n, column);
  const names = likeliest.map((place) => n.names[place]);
  if (names.length === 1) return el("p", { class: "sent", dir: "auto" }, names[0]);
  return el(
    "div",
    {},
    el("p", { class: "sent" }, text("words.numberOf", { place: column + 1, count: n.cells })),
    el(
      "p",
      {},
      names.length < n.answers ? text("words.standsFor", { names: listed(names) }) : text("tables.standsForNone"),
    ),
  );
}

/** What a reader of the report knows, and does not. */
export function denial(n, [column]) {
  const { possible } = standsFor(n, column);
  if (possible.length === 1) return text("tables.known");
  const names = possible.map((place) => n.names[place]);
  return sentences(
    names.length < n.answers && text("tables.oneOf", { names: listed(names) }),
    text("words.unknown_answer", { nobody: nobody(n) }),
    deniability(n),
  );
}
