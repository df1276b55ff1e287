/**
 * Tables of weights: a row of BigInts for each answer, one a column, that add up to `span`. A word names the column
 * that it falls into. A table is made again from the few parameters that the survey states; only a matrix of
 * somebody's own stands there in full. Makers take epsilon, `span`, the number of answers, and the fields of the
 * survey's mechanism.
 *
 * Claim and proof are those of `mechanisms.js`: every two answers keep what the survey promises to the two of them.
 */

import { big, upTo } from "./bytes.js";
import { projective } from "./encodings.js";
import { need } from "./errors.js";
import { krr } from "./mechanisms.js";
import { expOf, readEpsilon } from "./odds.js";

/** A table whose answers have these rows; `thresholds` is what a survey says of it. */
const table = (columns, row, thresholds) => ({
  columns,
  row,
  thresholds,
  randomize: ([cell], entropy, word = entropy.word(), sum = 0n) => [
    row(cell).findIndex((weight) => {
      sum += weight;
      return word < sum;
    }),
  ],
});

/** Columns in kinds [group, own, ...others]: each raises one answer of its group to `own`, or none if that is -1. */
const grouped = (groups, kinds, thresholds) => {
  const row = (cell) =>
    kinds.flatMap(([group, own, ...others]) =>
      (group < 0 ? [-1] : upTo(groups.length).filter((other) => groups[other] === group)).map((other) =>
        other === cell ? own : others[groups[cell]],
      ),
    );
  return table(row(0).length, row, thresholds);
};

/** The group of every answer, numbered as they first occur, and how many answers each has. */
const grouping = (cells, given) => {
  const found = [...new Set(given)];
  const groups = upTo(cells).map((cell) => found.indexOf(given[cell]));
  return [groups, found.map((_, group) => groups.filter((one) => one === group).length)];
};

/** Refuse weights that do not add up, or rows of which the first exceeds the second by more than e**epsilon. */
const check = (rows, pairs, span) => {
  need(
    rows.every((row) => row.every((weight) => weight >= 0n) && row.reduce((sum, weight) => sum + weight) === span),
    "weights must be from 0 on and add up to 2**64",
  );
  for (const [above, below, epsilon] of pairs) {
    const exp = expOf(epsilon);
    need(
      above.every((weight, column) => weight << 1024n <= below[column] * exp),
      "weights must keep epsilon",
    );
  }
};

/** Only some answers are hidden: those are k-RR, any other names one of them or itself. */
export function sensitive(epsilon, span, cells, stage) {
  const hidden = upTo(cells).filter((cell) => stage.sensitive.includes(cell));
  const size = hidden.length;
  const { order } = stage;
  // A block design for them has several cells for each; without one each has its own.
  const design = order
    ? projective(stage, size, (place) => place)
    : { cells: size, hashes: 1, of: (_, place) => [place] };
  const b = design.cells;
  need(size && size < cells && b <= 2 ** 16 && (!order || size > 1), "sensitive must be some answers, and not all");
  const { keep, other } = krr(epsilon, 0, span, b, design.hashes).thresholds;
  const own = span - big(b) * other;
  const row = (cell) => {
    const place = hidden.indexOf(cell);
    const mine = place < 0 ? [] : design.of(0, place);
    return [
      ...upTo(b).map((column) => (mine.includes(column) ? keep : other)),
      ...upTo(cells)
        .filter((seen) => !hidden.includes(seen))
        .map((seen) => (seen === cell ? own : 0n)),
    ];
  };
  return table(b + cells - size, row, { sensitive: hidden, ...design.stated, keep, other, own });
}

/** k-RR within each group; which group it is is sent as it is. */
export function blocks(epsilon, span, cells, stage) {
  const [groups, sizes] = grouping(cells, stage.groups);
  need(sizes[1] && sizes.some((size) => size > 1), "groups must be two or more, and one of two answers");
  const krrs = sizes.map((size) => (size > 1 ? krr(epsilon, 0, span, size, 1).thresholds : { keep: span, other: 0n }));
  const kinds = krrs.map(({ keep, other }, group) => [
    group,
    keep,
    ...sizes.map((_, at) => (at === group ? other : 0n)),
  ]);
  return grouped(groups, kinds, { groups, others: krrs.map(({ other }) => other) });
}

/** A budget for each group, the smaller of which holds between two answers. */
export function budgets(epsilon, span, cells, stage) {
  const [groups, sizes] = grouping(cells, stage.groups);
  const raised = stage.raised.map((group) => group | 0);
  const weights = stage.weights.map((row) => row.map(big));
  const each = stage.budgets.map(readEpsilon);
  const least = (a, b) => (each[a][0] * each[b][1] < each[b][0] * each[a][1] ? each[a] : each[b]);
  need(
    each.length === sizes.length &&
      raised.length === weights.length &&
      raised.every(
        (group, kind) =>
          group >= -1 &&
          group < sizes.length &&
          weights[kind].length === sizes.length + 1 &&
          // Weights that stand for no answer have one spelling.
          !(group < 0 ? weights[kind][0] : sizes[group] < 2 && weights[kind][group + 1]),
      ),
    "budgets and weights must be those of the groups",
  );
  const made = grouped(
    groups,
    raised.map((group, kind) => [group, ...weights[kind]]),
    { groups, budgets: stage.budgets.map((text) => `${text}`), raised, weights },
  );
  // Two answers of each group show every ratio.
  const some = sizes.flatMap((_, group) => {
    const first = groups.indexOf(group);
    return [...new Set([first, groups.indexOf(group, first + 1)])].filter((cell) => cell >= 0);
  });
  const pairs = some.flatMap((a) =>
    some.filter((b) => a !== b).map((b) => [made.row(a), made.row(b), least(groups[a], groups[b])]),
  );
  check(some.map(made.row), pairs, span);
  // The largest that holds between any two is the survey's epsilon.
  need(
    pairs.every(([, , [n, d]]) => n * epsilon[1] <= epsilon[0] * d) &&
      pairs.some(([, , [n, d]]) => n === epsilon[0] && d === epsilon[1]),
    "epsilon must be the largest between two answers",
  );
  return made;
}

/** Somebody's own matrix. */
export function full(epsilon, span, cells, stage) {
  const rows = stage.rows.map((row) => row.map(big));
  const columns = rows[0].length;
  need(
    rows.length === cells && columns > 1 && rows.every((row) => row.length === columns),
    "rows must fit the answers",
  );
  const [most, fewest] = [(a, b) => a > b, (a, b) => a < b].map((is) =>
    rows.reduce((best, row) => best.map((weight, column) => (is(row[column], weight) ? row[column] : weight))),
  );
  check(rows, [[most, fewest, epsilon]], span);
  return table(columns, (cell) => rows[cell], { rows });
}
