/**
 * A form on the answer page, without its elements: which questions are asked next, when all are answered, what a report
 * of a form holds for each of its parts, and its promise in numbers. No element is touched here.
 */

import { cellsOf } from "./record.js";

/** The names of the questions that are asked of a device, public ones first, given what was answered so far. */
export function steps(form, drawn, given) {
  const mine = form.questions.filter(({ name }) => drawn.includes(name));
  const decides = new Set();
  for (const question of mine)
    for (let at = question.when; at && !decides.has(at.on.name); at = at.on.when) decides.add(at.on.name);
  const open = form.public.filter(({ name }) => decides.has(name));
  // A question may have lost its place since it was answered: what was said there decides nothing.
  const told = {};
  for (let more = true; more; ) {
    const next = open.filter(({ name }) => !(name in told) && given[name] != null && form.asks(name, told));
    for (const { name } of next) told[name] = given[name];
    more = next.length > 0;
  }
  return [...open, ...mine].filter(({ name }) => form.asks(name, told)).map(({ name }) => name);
}

/** What the client is given; nothing where something is missing. `given` has null for what is skipped. */
export function complete(form, drawn, given) {
  const names = steps(form, drawn, given);
  return names.every((name) => given[name] !== undefined)
    ? Object.fromEntries(names.map((name) => [name, given[name]]))
    : undefined;
}

const bytesFor = (count) => Math.ceil(Math.log2(count) / 8);

/** How many bytes a part has in a report: its cohort, and its response. */
export const sizesOf = ({ shape, cells, cohorts }) => [
  bytesFor(cohorts),
  shape === "one" ? Math.max(1, bytesFor(cells)) : Math.ceil(cells / 8),
];

/** Whether reports of a form say which parts were answered. */
export const differs = ({ drawn, parts }) => drawn < parts.length || parts.some(({ when }) => when);

/** Of each part that was answered its place, cohort and cells: from the payload and the group, in hexadecimal pairs. */
export function slotsOf(form, channels, { group, payload }) {
  let at = 0;
  return channels.flatMap((n, place) => {
    const [first, second] = sizesOf(n);
    const cohort = payload.slice(at, at + first);
    const response = payload.slice(at + first, at + first + second);
    at += first + second;
    if (differs(form) && !((parseInt(group[place >> 3], 16) >> (place & 7)) & 1)) return [];
    const number = cohort.reduceRight((sum, byte) => sum * 256 + parseInt(byte, 16), 0);
    return [{ place, cohort: number, cells: cellsOf(response, n) }];
  });
}

/** A form's channel in numbers: what the parts of a device may do together. `channels` are those of all parts. */
export function together(form, channels) {
  const most = (which) =>
    channels
      .map((n) => n[which])
      .sort((a, b) => b - a)
      .slice(0, form.drawn)
      .reduce((product, odds) => product * odds, 1);
  const bytes = channels.flatMap(sizesOf).reduce((sum, size) => sum + size, 0);
  return {
    shape: "marks",
    cells: 8 * bytes,
    cohorts: 1,
    hashes: 1,
    named: true,
    twice: channels.some(({ twice }) => twice),
    odds: most("odds"),
    lifetime: most("lifetime"),
  };
}
