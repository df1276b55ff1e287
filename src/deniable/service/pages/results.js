/**
 * The results of one survey, live: what is asked of the collector, and when. The shares come first; the trend and the
 * comparison follow, and no answer waits for a picture to be drawn. It reads what any client may read.
 */

import { noChanges, showChanges } from "./changes.js";
import { library, Picture } from "./charts.js";
import { $, ask, digestHere, download, el, fill, sentence, short, whole } from "./common.js";
import { health } from "./health.js";
import { candidatesHere, dropKey, dropOwnKey, findKey, isAdministrator, keepKey } from "./keys.js";
import { fileName, heading } from "./naming.js";
import { drawShares, head } from "./shares.js";
import { handOver, manage } from "./surveys.js";
import { forgetChoice, showTrend } from "./trend.js";

const EVERY = 4000; // milliseconds between looks at the counts
const SLOWEST = 8; // looks after which results are asked for although no count has changed
// In sessionStorage: the survey that was deleted here, so that a reload still says so.
const DELETED = "deniable-deleted/1";

const digest = digestHere();
const base = `/v1/surveys/${digest}`;
const pictures = {
  shares: new Picture($("shares")),
  trend: new Picture($("trend")),
  changes: new Picture($("changes")),
};

let token,
  survey,
  rules,
  closed,
  gone,
  candidates,
  windows,
  live,
  reports,
  shares,
  seen,
  compared,
  looks = 0,
  turn = 0;

const say = (text, kind = "") => fill($("status"), text && el("p", { class: `note ${kind}` }, text));
const post = (path, body, more = {}) => ask(`${base}/${path}`, { method: "POST", token, body, ...more });
/**
 * The one thing besides the results that stands under the question: placeholders, or how many answers there are so far.
 */
const only = (id) => {
  $("main").removeAttribute("aria-busy");
  for (const other of ["waiting", "so-far", "all"]) $(other).hidden = other !== id;
};
const day = (start) => (rules.window === "hour" ? `${start.slice(0, 10)} ${start.slice(11)}:00` : start.slice(0, 10));

async function start() {
  token = await findKey();
  candidates = candidatesHere();
  let found;
  try {
    found = await ask(base);
  } catch (problem) {
    if (problem.status === 404) {
      only();
      if (sessionStorage.getItem(DELETED) === digest) return deleted("It is gone with its answers.");
      fill($("question"), "There is no such survey");
      return say("The link may be incomplete, the survey may have been deleted, or it was asked elsewhere.");
    }
    say("The collector does not answer. Trying again…");
    return setTimeout(start, EVERY);
  }
  standing(found);
  fill($("question"), survey.name || "A survey without a name");
  document.title = `Results: ${short(survey.name || digest.slice(0, 8))}`;
  if (rules.results === "private" && !token) return locked("These results are private.");
  guarded(offerDecoders)();
  library().catch(() => {}); // while the shares are decoded; whoever draws is told if there is none
  if (survey.alphabet.kind === "open") {
    $("open").hidden = false;
    $("candidates").value = candidates.join("\n");
    $("order").lastElementChild.textContent = "as in your list";
  } else if (survey.alphabet.symbols.every((symbol) => typeof symbol === "number")) {
    $("order").value = "own"; // 1 to 5 stars
  }
  offerDownloads();
  for (const id of ["from", "to", "level", "decoder"]) $(id).addEventListener("change", guarded(refresh));
  for (const id of ["top", "raw", "order"]) $(id).addEventListener("change", guarded(draw));
  for (const id of ["a-from", "a-to", "b-from", "b-to"])
    $(id).addEventListener(
      "change",
      guarded(() => compare(turn)),
    );
  addEventListener("hashchange", () => location.reload());
  tick();
}

/** How the survey stands now: it may have been closed, reopened or changed, here or by its closing date. */
function standing(found) {
  ({ survey, rules } = found);
  closed = found.state === "closed";
  $("closed").hidden = !closed;
}

/** The part for whoever asked, with the survey as it is now. */
async function own() {
  const again = async () => {
    standing(await ask(base));
    await Promise.all([own(), refresh()]);
  };
  // A new survey takes the administrator's key: a private link alone cannot make one.
  const duplicate = isAdministrator() && handOver;
  await manage($("manage"), { digest, token, reports, looked: candidates.length, again, gone: deleted, duplicate });
}

/** Instead of everything else: that the survey is gone, and the way back. */
function deleted(text) {
  gone = true;
  turn++; // what is still being asked for is not shown
  dropOwnKey();
  sessionStorage.setItem(DELETED, digest);
  only();
  say("");
  $("manage").hidden = true;
  fill($("question"), "This survey and its data were deleted");
  $("lead").textContent = `${text} Whoever opens its link reads that there is no such survey.`;
  $("lead").after(
    el(
      "p",
      {},
      el("a", { class: "button", href: "/" }, isAdministrator() ? "Back to your surveys" : "To the start page"),
    ),
  );
  document.title = "Deleted";
  $("question").tabIndex = -1;
  $("question").focus();
}

/** Work whose failure is told. */
const guarded = (work) => () => Promise.resolve(work()).catch((problem) => say(sentence(problem.message), "bad"));

async function offerDecoders() {
  const { components } = await ask("/openapi.json");
  for (const name of components.schemas.Question.properties.decoder.enum)
    $("decoder").append(el("option", { value: name }, name.replaceAll("-", " ")));
}

function locked(text) {
  only();
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
  if (gone) return;
  if (!document.hidden) {
    try {
      if (!closed && rules.closes && new Date(rules.closes) <= new Date()) standing(await ask(base));
      const told = await ask(`${base}/windows`, { token });
      const now = JSON.stringify(told) + closed;
      if (now !== seen || ++looks >= SLOWEST) {
        looks = 0;
        ({ windows, live, reports } = told);
        seen = now;
        if ($("to").length !== windows.length + 1) offerWindows();
        await Promise.all([refresh(), live && $("manage").hidden && own()]);
      }
    } catch (problem) {
      if (problem.status === 401 || problem.status === 403) {
        dropKey();
        return locked("This key does not open these results.");
      }
      if (gone) return;
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
    $(id).value = [...$(id).options].some((option) => option.value === before) && before ? before : fallback;
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
const after = (start) => windows.find((one) => one.start === start)?.end;

/** How to decode, as the form says. */
function question(more = {}) {
  const asked = { level: Number($("level").value), ...more };
  if ($("decoder").value) asked.decoder = $("decoder").value;
  if (survey.alphabet.kind === "open") asked.candidates = candidates;
  return Object.fromEntries(Object.entries(asked).filter(([, value]) => value));
}

const range = () => ({ from: $("from").value || undefined, to: after($("to").value) });

const rangeNote = (text) => fill($("range-note"), text && el("p", { class: "note bad" }, text));

/** Who sees what, and when. */
const readers = () =>
  `a ${rules.window}'s answers are shown once it is over (in UTC) and ` +
  `${rules.minimum > 1 ? `${whole(rules.minimum)} of them are in` : "some are in"}, so that no single report can ` +
  "be read off";

/** Everything again. What was asked for meanwhile makes an older answer worthless. */
async function refresh() {
  const mine = ++turn;
  $("live").hidden = closed;
  $("live").textContent = live
    ? "You see answers as they arrive; this page follows them by itself."
    : `To readers ${readers()}. Whoever asked sees them as they arrive.`;
  if (survey.alphabet.kind === "open" && !candidates.length) {
    only("all");
    for (const part of [...PARTS, "trend-part", "compare-part"]) $(part).hidden = true;
    say("Name the answers to look for, and their shares appear.");
    return;
  }
  if ($("to").value && $("from").value > $("to").value)
    return rangeNote(
      "The range ends before it begins: choose a later end, or an earlier beginning. What is shown is of the " +
        "range before.",
    );
  let found;
  try {
    found = await post("estimate", question({ ...range(), order: "own" }));
  } catch (problem) {
    if (mine !== turn) return;
    if (problem.status !== 409) throw problem;
    // What is on the page stays where only the range was too narrow.
    if (shares && ($("from").value || $("to").value))
      return rangeNote(`${sentence(problem.message)} What is shown is of the range before.`);
    return soFar();
  }
  if (mine !== turn) return;
  shares = found;
  say("");
  rangeNote("");
  sameAnswers(found);
  only("all");
  for (const part of PARTS) $(part).hidden = false;
  head(shares, survey, rules);
  health(shares, survey, digest);
  // Nothing waits for the pictures: their library may still be on its way.
  await Promise.all([draw(), over(mine), compare(mine)]);
}

const PARTS = ["facts", "about-shares", "health-part", "experts"];
const draw = () => shares && drawShares(shares, pictures.shares, heading(shares, rules.window));

/** Candidates that the survey reads as one answer were counted as one: say so. */
function sameAnswers({ estimates }) {
  const merged = survey.alphabet.kind === "open" ? candidates.length - estimates.length : 0;
  $("merged").textContent = merged
    ? `${merged} of your ${whole(candidates.length)} candidates ${merged === 1 ? "is" : "are"} the same answer as ` +
      "another one, written differently."
    : "";
}

/** Too few answers for results: how many there are, and whether more can come. */
function soFar() {
  const least = Math.max(rules.minimum, 1);
  say("");
  only("so-far");
  $("so-far-bar").max = least;
  $("so-far-bar").value = reports;
  const enough = reports >= least;
  const few = "fewer would say too much about single people.";
  $("so-far-count").textContent =
    `${whole(reports)}${enough ? "" : ` of ${whole(least)}`} answers${closed ? "" : " so far"}`;
  if (enough)
    $("so-far-words").textContent =
      `Enough have answered. Results appear by themselves once the ${rules.window} is over (in UTC), so that ` +
      "nobody can watch single answers come in.";
  else if (closed)
    $("so-far-words").textContent =
      `This survey has ended, and results are shown from ${whole(least)} answers on: ${few}` +
      `${live ? " To wait for more answers, reopen it below." : ""}`;
  else
    $("so-far-words").textContent =
      `Results appear by themselves once ${least === 1 ? "one is" : `${whole(least)} are`} ` +
      `in${live ? "" : ` and the ${rules.window} is over (in UTC)`}: ${few}`;
}

/** Every window, and where one differs from those before it. */
async function over(mine) {
  $("trend-part").hidden = windows.length < 2;
  if (windows.length < 2) return;
  let told;
  try {
    told = await post("trend", question());
  } catch (problem) {
    if (problem.status !== 409) throw problem;
    told = { windows: [] };
  }
  if (mine === turn) await showTrend(told, shares, day, pictures.trend);
}

async function compare(mine) {
  $("compare-part").hidden = windows.length < 2;
  if (windows.length < 2) return;
  if ($("a-from").value > $("a-to").value || $("b-from").value > $("b-to").value)
    return noChanges("Each of the two times must end after it begins.");
  if ($("a-to").value >= $("b-from").value) return noChanges("The time before must end before the time after begins.");
  const body = question({
    against_from: $("a-from").value,
    against_to: after($("a-to").value),
    from: $("b-from").value,
    to: after($("b-to").value),
  });
  compared = body;
  let told;
  try {
    told = await post("difference", body);
  } catch (problem) {
    if (!problem.status) throw problem;
    return noChanges(sentence(problem.message));
  }
  if (mine === turn && body === compared) await showChanges(told, pictures.changes);
}

function offerDownloads() {
  const name = (ending) => fileName(survey.name, digest, ending);
  const decoded = (format) =>
    post("estimate", question({ ...range(), format, order: $("order").value }), { raw: true });
  const picture = (kind) => async () => download(name(kind), await pictures.shares.file(kind));
  const span = () => new URLSearchParams(Object.entries(range()).filter(([, value]) => value));
  const button = ([title, work]) => el("button", { type: "button", class: "plain", onclick: guarded(work) }, title);
  const offer = (id, files) =>
    fill($(id), el("span", { class: "quiet" }, "Download"), ...Object.entries(files).map(button));
  offer("downloads", {
    // Excel takes a file for UTF-8 only if it begins with this mark; pandas and others read past it.
    CSV: async () => download(name("csv"), new Blob(["\ufeff", await decoded("csv")], { type: "text/csv" })),
    PNG: picture("png"),
    SVG: picture("svg"),
  });
  offer("more-downloads", {
    JSON: async () => download(name("json"), await decoded("json")),
    "the survey": () =>
      download(name("survey.json"), new Blob([JSON.stringify(survey, null, 2)], { type: "application/json" })),
    "the tally": async () => download(name("tally"), await ask(`${base}/tally?${span()}`, { token, raw: true })),
  });
}

/** Candidates as typed or uploaded; kept after the # of the address, so that a bookmark keeps them. */
$("look").addEventListener("click", () => {
  candidates = [
    ...new Set(
      $("candidates")
        .value.split("\n")
        .map((line) => line.trim())
        .filter(Boolean),
    ),
  ];
  forgetChoice();
  if (candidates.length <= 200)
    history.replaceState(null, "", `#${new URLSearchParams(candidates.map((one) => ["candidate", one]))}`);
  refresh().catch((problem) => say(sentence(problem.message), "bad"));
});
$("file").addEventListener("change", async () => {
  const [file] = $("file").files;
  if (!file) return;
  $("candidates").value = (await file.text()).replaceAll("\r", "");
  $("look").click();
});

start();
