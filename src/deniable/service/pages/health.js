/** Whether a result can be trusted: alarms and planted answers for everyone, tests and settings for experts. */

import { $, el, fill, percent, points, short, symbolText } from "./common.js";
import { epsilons } from "./words.js";

const odds = (p) => (p < 1e-4 ? "less than once in 10,000 times" : `in ${percent(p, p < 0.01 ? 2 : 0)} of surveys`);

const test = (name, found) =>
  `${name}: chi-square ${found.statistic.toFixed(1)} on ${found.degrees} degrees of freedom; chance alone makes ` +
  `it larger ${odds(found.p_value)}.`;

const listed = (groups) =>
  groups
    .slice(0, 5)
    .map((names) => names.map((symbol) => short(symbolText(symbol), 40)).join(" = "))
    .join("; ");

/** `n` is the channel in numbers. */
export function health(shares, n, digest) {
  const { diagnostics: found } = shares;
  const twins = found?.twins ?? [];
  fill(
    $("health"),
    ...(found?.alarms ?? []).map((text) => el("p", { class: "note bad" }, text)),
    found && !found.alarms.length
      ? el(
          "p",
          { class: "note good" },
          "No alarm: what arrived looks like what honest devices send, as far as counts can show it.",
        )
      : null,
    shares.shared_noise && el("p", { class: "note" }, shares.shared_noise),
    found
      ? el(
          "p",
          {},
          "If one answer in a hundred were planted by somebody who wants to mislead, they could raise one share " +
            `by up to ${points(found.influence)} points. Randomised answers cannot be checked one by one, so this ` +
            "is the price of privacy: the stronger it is, the more a planted answer weighs.",
        )
      : el("p", {}, "There are too many answers on the list to check them; name fewer."),
    twins.length
      ? el(
          "p",
          {},
          `${twins.length} groups of answers cannot be told apart by anything that was sent: ${listed(twins)}.`,
        )
      : null,
  );
  const said = [
    found &&
      (found.fit
        ? test("Fit", found.fit)
        : "Fit: there are as many unknowns as counts, so there is nothing to test it by."),
    found?.cohorts && test("Group sizes", found.cohorts),
    `Decoded by ${shares.decoder}, ${shares.constraint.toLowerCase()}; intervals are ` +
      `${shares.intervals ?? "unknown"}; ${shares.mechanism}, ${epsilons(n)}; survey ` +
      `${digest.slice(0, 16)}…`,
  ];
  fill($("statistics"), ...said.filter(Boolean).map((text) => el("p", { class: "quiet small" }, text)));
}
