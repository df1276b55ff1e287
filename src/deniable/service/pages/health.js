/** Whether a result can be trusted: alarms and planted answers for everyone, tests and settings for experts. */

import { $, el, fill, percent, points, short, symbolText } from "./common.js";
import { alarmTexts } from "./problems.js";
import { decodedWords, noiseWords } from "./sofar.js";
import { fixed, sentences, text } from "./texts.js";
import { epsilons } from "./words.js";

const odds = (p) =>
  p < 1e-4
    ? text("results.seldom", { count: 10_000 })
    : text("results.inSurveys", { share: percent(p, p < 0.01 ? 2 : 0) });

const test = (name, found) =>
  sentences(
    text(`results.${name}`, { statistic: fixed(found.statistic, 1), count: found.degrees }),
    odds(found.p_value),
  );

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
    ...(found ? alarmTexts(found) : []).map((said) => el("p", { class: "note bad" }, said)),
    found && !found.alarms.length ? el("p", { class: "note good" }, text("results.noAlarm")) : null,
    shares.sharing && el("p", { class: "note" }, noiseWords(shares.sharing)),
    !found && el("p", {}, text("results.unchecked")),
    // Where a search found nothing, there is no share that could be raised.
    found && shares.estimates.length > 0 && el("p", {}, text("results.planted", { points: points(found.influence) })),
    twins.length ? el("p", {}, text("results.twins", { count: twins.length, names: listed(twins) })) : null,
  );
  const said = [
    found && (found.fit ? test("fit", found.fit) : text("results.noFit")),
    found?.cohorts && test("groupSizes", found.cohorts),
    decodedWords(shares, { digest: `${digest.slice(0, 16)}…`, epsilons: epsilons(n) }),
  ];
  fill($("statistics"), ...said.filter(Boolean).map((said) => el("p", { class: "quiet small" }, said)));
}
