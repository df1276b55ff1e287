/** The results of one survey, live: shares, trend, comparison, diagnostics, downloads. It reads what any client may read. */

import { estimateRows, labelled, Picture } from "./charts.js";
import { $, ask, digestHere, download, el, fill, percent, points, sentence, short, symbolText, table, whole } from "./common.js";
import { candidatesHere, dropKey, findKey, keepKey } from "./keys.js";
import { manage } from "./surveys.js";
import { atMost, numbers, strength } from "./words.js";

const EVERY = 4000; // milliseconds between looks at the counts
const SLOWEST = 8; // looks after which results are asked for although no count has changed
const SHOWN = 24; // characters of a symbol in a chart

const digest = digestHere();
const base = `/v1/surveys/${digest}`;
const pictures = { shares: new Picture($("shares")), trend: new Picture($("trend")), changes: new Picture($("changes")) };

let token, survey, rules, candidates, windows, live, shares, drawn, seen, compared, looks = 0, turn = 0;

const say = (text, kind = "") => fill($("status"), text && el("p", { class: `note ${kind}` }, text));
const label = (symbol) => short(symbolText(symbol), SHOWN);
const key = (symbol) => JSON.stringify(symbol);
const day = (start) => (rules.window == "hour" ? `${start.slice(0, 10)} ${start.slice(11)}:00` : start.slice(0, 10));

async function start() {
  token = await findKey();
  candidates = candidatesHere();
  let found;
  try {
    found = await ask(base);
  } catch (problem) {
    if (problem.status == 404) {
      fill($("question"), "There is no such survey");
      return say("The link may be incomplete, the survey may have been deleted, or it was asked elsewhere.");
    }
    say("The collector does not answer. Trying again…");
    return setTimeout(start, EVERY);
  }
  ({ survey, rules } = found);
  fill($("question"), survey.name || "A survey without a name");
  $("closed").hidden = found.state != "closed";
  document.title = `Results: ${short(survey.name || digest.slice(0, 8))}`;
  if (rules.results == "private" && !token) return locked("These results are private.");
  const { components } = await ask("/openapi.json");
  for (const name of components.schemas.Question.properties.decoder.enum) $("decoder").append(el("option", { value: name }, name.replaceAll("-", " ")));
  if (survey.alphabet.kind == "open") {
    $("open").hidden = false;
    $("candidates").value = candidates.join("\n");
  }
  offerDownloads();
  for (const id of ["from", "to", "level", "decoder"]) $(id).addEventListener("change", guarded(refresh));
  for (const id of ["top", "raw"]) $(id).addEventListener("change", guarded(drawShares));
  for (const id of ["a-from", "a-to", "b-from", "b-to"]) $(id).addEventListener("change", guarded(() => compare(turn)));
  addEventListener("hashchange", () => location.reload());
  tick();
}

/** Work whose failure is told. */
const guarded = (work) => () => Promise.resolve(work()).catch((problem) => say(sentence(problem.message), "bad"));

function locked(text) {
  say(text);
  $("door").hidden = false;
  $("door").onsubmit = (event) => {
    event.preventDefault();
    keepKey($("token").value);
    location.reload();
  };
}

/** Look whether counts have changed; if so, ask for everything again. */
async function tick() {
  if (!document.hidden) {
    try {
      const told = await ask(`${base}/windows`, { token });
      const now = JSON.stringify(told);
      if (now !== seen || ++looks >= SLOWEST) {
        looks = 0;
        ({ windows, live } = told);
        const grown = seen === undefined || JSON.parse(seen).windows.length != windows.length;
        seen = now;
        if (live && $("manage").hidden) await manage($("manage"), { digest, token, say, again: () => location.reload() });
        if (grown) offerWindows();
        await refresh();
      }
    } catch (problem) {
      if (problem.status == 401 || problem.status == 403) {
        dropKey();
        return locked("This key does not open these results.");
      }
      say(problem.status ? sentence(problem.message) : "The collector does not answer. Trying again…");
      seen = undefined;
    }
  }
  setTimeout(tick, EVERY);
}

/** Windows as choices; what was chosen stays. */
function offerWindows() {
  const put = (id, options, fallback) => {
    const before = $(id).value;
    fill($(id), ...options);
    $(id).value = [...$(id).options].some((option) => option.value == before) && before ? before : fallback;
  };
  const listed = () => windows.map(({ start }) => el("option", { value: start }, day(start)));
  put("from", [el("option", { value: "" }, "the beginning"), ...listed()], "");
  put("to", [el("option", { value: "" }, "now"), ...listed()], "");
  const half = Math.floor(windows.length / 2);
  const starts = windows.map(({ start }) => start);
  if (windows.length > 1) {
    put("a-from", listed(), starts[0]);
    put("a-to", listed(), starts[half - 1]);
    put("b-from", listed(), starts[half]);
    put("b-to", listed(), starts.at(-1));
  }
}

/** The end of a window, which ranges end before. */
const after = (start) => windows.find((one) => one.start == start)?.end;

/** How to decode, as the form says. */
function question(more = {}) {
  const asked = { level: Number($("level").value), ...more };
  if ($("decoder").value) asked.decoder = $("decoder").value;
  if (survey.alphabet.kind == "open") asked.candidates = candidates;
  return Object.fromEntries(Object.entries(asked).filter(([, value]) => value));
}

const range = () => ({ from: $("from").value || undefined, to: after($("to").value) });

/** Who sees what, and when. */
const readers = () => `a ${rules.window}'s answers are shown once it is over (in UTC) and ${rules.minimum > 1 ? `${whole(rules.minimum)} of them are in` : "some are in"}, so that no single report can be read off`;

/** Everything again. What was asked for meanwhile makes an older answer worthless. */
async function refresh() {
  const mine = ++turn;
  $("live").hidden = !$("closed").hidden;
  $("live").textContent = live ? "You see answers as they arrive; this page follows them by itself." : `To readers ${readers()}. Whoever asked sees them as they arrive.`;
  if (survey.alphabet.kind == "open" && !candidates.length) {
    $("all").hidden = false;
    for (const part of ["facts", "about-shares", "health-part", "trend-part", "compare-part"]) $(part).hidden = true;
    say("Name the answers to look for, and their shares appear.");
    return;
  }
  let found;
  try {
    found = await ask(`${base}/estimate`, { method: "POST", token, body: question(range()) });
  } catch (problem) {
    if (mine != turn) return;
    if (problem.status != 409) throw problem;
    // What is on the page stays where only the range was too narrow.
    if ($("from").value || $("to").value) return say(`${sentence(problem.message)} What is shown is of the range before.`);
    $("all").hidden = true;
    return say(live ? `${sentence(problem.message)} They appear here by themselves.` : `There is nothing to show yet: to readers ${readers()}. Results appear here by themselves.`);
  }
  if (mine != turn) return;
  shares = found;
  say("");
  for (const part of ["facts", "about-shares", "health-part"]) $(part).hidden = false;
  $("all").hidden = false;
  head();
  await drawShares();
  health();
  await over(mine);
  await compare(mine);
}

function head() {
  const n = numbers(survey);
  const spans = shares.estimates.filter((row) => row.low !== null).map((row) => (row.high - row.low) / 2);
  const reach = spans.length ? spans.sort((a, b) => a - b)[spans.length >> 1] : NaN;
  fill(
    $("facts"),
    el("div", {}, el("b", { id: "n" }, whole(shares.n)), "people answered"),
    el("div", {}, el("b", {}, strength(n)), `at most ${atMost(n.odds)} times likelier`),
    el("div", {}, el("b", {}, Number.isNaN(reach) ? "no intervals" : `± ${points(reach)} points`), `a typical ${percent(shares.level, 0)} interval`),
  );
  const together = n.twice ? `, and all reports of one answer together at most ${atMost(n.lifetime)} times` : "";
  $("lead").textContent = `Nobody's answer is known here. Each report that arrived is at most ${atMost(n.odds)} times likelier than under another answer${together}.`;
}

/** Rows by size. */
const bySize = (rows) => [...rows].sort((a, b) => b.probability - a.probability);

async function drawShares() {
  if (!shares) return;
  const { level, estimates, unallocated } = shares;
  const most = Number($("top").value);
  const ordered = bySize(estimates);
  const rows = ordered.slice(0, most);
  const known = ordered.filter((row) => row.low !== null);
  const wide = percent(level, 0);
  $("shares-words").textContent =
    (ordered.length > most ? `The ${most} largest of ${ordered.length}. ` : "") +
    (known.length
      ? `Reports are random, so each share is known up to an interval. Of all ${wide} intervals that this survey draws, about ${wide.replace(" %", "")} in 100 hold the share that everyone's real answers would have given.`
      : "There are too many candidates for intervals; name fewer.");
  $("rest").hidden = !unallocated;
  if (unallocated)
    $("rest").textContent = `Answers that are not on the list: ${percent(Math.max(unallocated.probability, 0))}${unallocated.low === null ? "" : `, between ${percent(Math.max(unallocated.low, 0))} and ${percent(Math.min(unallocated.high, 1))} (${wide} interval)`}.`;
  const cell = (value) => (value === null ? "not determined" : percent(value, 2));
  fill(
    $("shares-table").lastElementChild,
    table("Estimated shares", ["answer", "share", `${wide} from`, "to", "unbiased", "standard error"], ordered.slice(0, 2000).map((row) => [short(symbolText(row.symbol), 300), cell(row.probability), cell(row.low), cell(row.high), cell(row.raw), cell(row.standard_error)])),
  );
  await pictures.shares.draw({ chart: $("raw").checked ? "raw" : "estimate", level, description: `Estimated shares of ${rows.length} answers with ${wide} intervals`, data: { rows: estimateRows(rows, label, $("raw").checked) } });
}

/** Every window, and where one differs from those before it. */
async function over(mine) {
  if (windows.length < 2) return ($("trend-part").hidden = true);
  let told;
  try {
    told = await ask(`${base}/trend`, { method: "POST", token, body: question() });
  } catch (problem) {
    if (problem.status != 409) throw problem;
    told = { windows: [] };
  }
  if (mine != turn) return;
  if (told.windows.length < 2) return ($("trend-part").hidden = true);
  const order = bySize(shares.estimates).map((row) => row.symbol);
  const changed = told.windows.flatMap((one) => one.changed.map(key));
  // Those that changed first, then the largest.
  drawn ??= new Set([...new Set([...order.map(key).filter((one) => changed.includes(one)), ...order.map(key)])].slice(0, Math.max(4, Math.min(6, new Set(changed).size))));
  offerNames(order, told);
  $("trend-part").hidden = false;
  await drawTrend(told, order);
}

async function drawTrend(told, order) {
  const chosen = labelled(order.filter((symbol) => drawn.has(key(symbol))).map((symbol) => ({ symbol })), label);
  const rows = told.windows.flatMap((one) =>
    chosen.flatMap(({ symbol, name }) => {
      const row = one.estimates.find((other) => key(other.symbol) == key(symbol));
      const marked = one.changed.some((other) => key(other) == key(symbol));
      return row ? [{ window: `${one.start}:00`, name, estimate: row.probability, low: row.low === null ? null : Math.max(row.low, 0), high: row.high === null ? null : Math.min(row.high, 1), changed: marked }] : [];
    }),
  );
  const marks = told.windows.filter((one) => one.changed.length);
  $("trend-words").textContent = `One point a ${told.window}, ${told.windows.length} of them. Rings mark a ${told.window} that differs from all before it, back to the last mark; in a survey where nothing changes, a ring appears at most once in ${Math.round(1 / (1 - told.level))} such charts.`;
  const listed = marks.slice(-6).map((one) => el("li", { dir: "auto" }, `${day(one.start)}: ${one.changed.slice(0, 8).map((symbol) => short(symbolText(symbol), 60)).join(", ")} changed`));
  fill($("trend-marks"), ...(listed.length ? listed : [el("li", {}, "No change beyond chance.")]));
  await pictures.trend.draw({ chart: "trend", description: `Shares of ${chosen.length} answers over ${told.windows.length} windows`, level: told.level, names: chosen.map(({ name }) => name), data: { rows } });
}

function offerNames(order, told) {
  const boxes = order.slice(0, 40).map((symbol) => {
    const box = el("input", { type: "checkbox" });
    box.checked = drawn.has(key(symbol));
    box.addEventListener("change", () => {
      if (box.checked && drawn.size >= 6) box.checked = false;
      else if (!box.checked && drawn.size == 1) box.checked = true;
      else if (box.checked) drawn.add(key(symbol));
      else drawn.delete(key(symbol));
      drawTrend(told, order);
    });
    return el("p", {}, el("label", {}, box, " ", el("span", { dir: "auto" }, short(symbolText(symbol), 80))));
  });
  fill($("trend-names"), ...boxes);
}

async function compare(mine) {
  $("compare-part").hidden = windows.length < 2;
  if (windows.length < 2) return;
  const instead = (text) => {
    $("changes-words").textContent = text;
    fill($("changes"));
    fill($("changes-table").lastElementChild);
  };
  if ($("a-to").value >= $("b-from").value) return instead("The time before must end before the time after begins.");
  const body = question({ against_from: $("a-from").value, against_to: after($("a-to").value), from: $("b-from").value, to: after($("b-to").value) });
  compared = body;
  let told;
  try {
    told = await ask(`${base}/difference`, { method: "POST", token, body });
  } catch (problem) {
    if (!problem.status) throw problem;
    return instead(sentence(problem.message));
  }
  if (mine != turn || body !== compared) return;
  const rows = told.changes.map((row) => ({ ...row, change: row.raw }));
  const sizes = [told.before.n, told.after.n];
  const ordered = rows.sort((a, b) => Math.abs(b.change) - Math.abs(a.change));
  const most = Number($("top").value);
  const known = ordered.filter((row) => row.low !== null);
  $("changes-words").textContent = `From ${whole(sizes[0])} answers before to ${whole(sizes[1])} after. Lines are ${percent(told.level, 0)} intervals, each for itself. “Beyond doubt” holds for all marks of this chart together: in ${points(told.level, 0)} of 100 such charts none of them is wrong.`;
  fill(
    $("changes-table").lastElementChild,
    table("Changes", ["answer", "change in points", "from", "to"], ordered.slice(0, 2000).map((row) => [short(symbolText(row.symbol), 300), ...[row.change, row.low, row.high].map((value) => (value === null ? "not determined" : points(value, 2)))])),
  );
  const data = labelled(known.slice(0, most), label).map(({ name, change, low, high, changed }) => ({ name, change, low, high, clear: changed }));
  await pictures.changes.draw({ chart: "difference", description: `Changes of ${data.length} shares with ${percent(told.level, 0)} intervals`, level: told.level, data: { rows: data } });
}

function health() {
  const { diagnostics: found } = shares;
  if (!found) return fill($("health"), el("p", {}, "There are too many candidates to test the fit; name fewer."));
  const { alarms } = found;
  const odds = (p) => (p < 1e-4 ? "less than once in 10,000 times" : `in ${percent(p, p < 0.01 ? 2 : 0)} of surveys`);
  fill(
    $("health"),
    ...alarms.map((text) => el("p", { class: "note bad" }, text)),
    alarms.length ? null : el("p", { class: "note good" }, "No alarm: what arrived looks like what honest devices send, as far as counts can show it."),
    el("p", {}, `If one answer in a hundred were planted by somebody who wants to mislead, they could raise one share by up to ${points(found.influence)} points. Randomised answers cannot be checked one by one, so this is the price of privacy: the stronger it is, the more a planted answer weighs.`),
    el("p", { class: "quiet small" }, found.fit ? `Fit: chi-square ${found.fit.statistic.toFixed(1)} on ${found.fit.degrees} degrees of freedom; chance alone makes it larger ${odds(found.fit.p_value)}.` : "Fit: there are as many unknowns as counts, so there is nothing to test it by."),
    found.cohorts ? el("p", { class: "quiet small" }, `Group sizes: chi-square ${found.cohorts.statistic.toFixed(1)} on ${found.cohorts.degrees}; chance alone makes it larger ${odds(found.cohorts.p_value)}.`) : null,
    found.twins.length ? el("p", {}, `${found.twins.length} groups of candidates cannot be told apart by any report: ${found.twins.slice(0, 5).map((twins) => twins.map((symbol) => short(symbolText(symbol), 40)).join(" = ")).join("; ")}.`) : null,
    el("p", { class: "quiet small" }, `Decoded by ${shares.decoder}, ${shares.constraint.toLowerCase()}; ${shares.mechanism}, epsilon ${shares.epsilon_spent.toFixed(3)}; survey ${digest.slice(0, 16)}…`),
  );
}

function offerDownloads() {
  const name = `results-${digest.slice(0, 8)}`;
  const decoded = (format) => async () => download(`${name}.${format}`, await ask(`${base}/estimate`, { method: "POST", token, raw: true, body: question({ ...range(), format }) }));
  const picture = (kind) => async () => download(`${name}.${kind}`, await pictures.shares.file(kind));
  const span = () => new URLSearchParams(Object.entries(range()).filter(([, value]) => value));
  const files = {
    CSV: decoded("csv"),
    JSON: decoded("json"),
    PNG: picture("png"),
    SVG: picture("svg"),
    "the survey": () => download(`${digest.slice(0, 8)}.survey.json`, new Blob([JSON.stringify(survey, null, 2)], { type: "application/json" })),
    "the tally": async () => download(`${digest.slice(0, 8)}.tally`, await ask(`${base}/tally?${span()}`, { token, raw: true })),
  };
  fill($("downloads"), el("span", { class: "quiet" }, "Download"), ...Object.entries(files).map(([title, work]) => el("button", { type: "button", class: "plain", onclick: guarded(work) }, title)));
}

/** Candidates as typed or uploaded; kept after the # of the address, so that a bookmark keeps them. */
$("look").addEventListener("click", () => {
  candidates = [...new Set($("candidates").value.split("\n").map((line) => line.trim()).filter(Boolean))];
  drawn = undefined;
  if (candidates.length <= 200) history.replaceState(null, "", `#${new URLSearchParams(candidates.map((one) => ["candidate", one]))}`);
  refresh().catch((problem) => say(sentence(problem.message), "bad"));
});
$("file").addEventListener("change", async () => {
  const [file] = $("file").files;
  if (!file) return;
  $("candidates").value = (await file.text()).replaceAll("\r", "");
  $("look").click();
});

start();
