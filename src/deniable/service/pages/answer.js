/**
 * The respondent's page. The answer goes from its field to the client's randomiser and nowhere else: it is in no
 * request, no storage and no address, and the page has forgotten it once the die is rolled. What is rolled is kept and
 * sent as it is, however often that takes, and is gone from here once the collector has it; there is no second roll.
 * Where a survey is answered once, nothing is memoised: the noise is fresh, and there is no secret from which it could
 * be made again. Where it is answered once a window, fresh noise would average out, so answers are memoised.
 */

import { Client } from "./deniable.min.js";
import { rest } from "./dice.js";
import { $, ask, digestHere, el, fetched, fill, Problem, short } from "./page.js";
import "./fields.js"; // of kinds.js: named here, so that it is fetched in the same round trip
import { keeping } from "./kept.js";
import { kindOf } from "./kinds.js";
import { open } from "./languages.js";
import { cellsOf, partsOf } from "./record.js";
import { bytesOf, ended, ending, explanation, notRolled } from "./telling.js";
import { moment, parts, sentences, text } from "./texts.js";
import { headline } from "./words.js";
import { paragraphs } from "./written.js";

// Why nobody can take part here, by the name of the client's error.
const REASONS = { SurveyError: "notRead", StateError: "notTrusted" };
const LONGEST_PAUSE = 30_000; // milliseconds
const MOST_TRIES = 7; // pauses of 2, 4, 8, 16 and three times 30 seconds: two minutes

const digest = digestHere();
// In another language: what is here is loaded again, but for a choice that was not rolled, which is on this page alone.
const reload = () => location.reload();
const page = { again: reload };
const kept = keeping(digest);

const say = (said, kind = "") => fill($("status"), said && el("p", { class: `note ${kind}` }, ...[said].flat()));

/**
 * The collector is away: try again, each time later, and not for ever. How often it was tried is kept with the place in
 * the browser's history, which stays where the page is loaded again and is gone with the tab.
 */
function later(work) {
  const tries = 1 + (history.state?.tries ?? 0);
  const last = tries > MOST_TRIES;
  history.replaceState(last ? null : { tries }, "");
  if (last) return say(sentences(text("words.away"), text("answer.later")));
  say(text("words.trying"));
  setTimeout(work, Math.min(1000 * 2 ** tries, LONGEST_PAUSE));
}

/** Ask for the survey. What is `asked` from here on: the survey, its rules, its channel in numbers, and the client. */
async function start() {
  let found;
  try {
    if (!/^[0-9a-f]{64}$/.test(digest)) throw new Problem(404, "");
    found = await ask(`/v1/surveys/${digest}`);
  } catch (problem) {
    if (problem.status === 404) return stop(text("answer.unknown"), text("answer.unknownWhy"));
    return later(start);
  }
  say("");
  const { survey, rules } = found;
  const title = titleOf(survey);
  // The client checks the survey against its own digest; here, that it is the one that was asked for.
  if (survey.digest !== digest) return stop(text("answer.another"), text("answer.anotherWhy"));
  entitle(title);
  let asked;
  try {
    kept.forgetEarlier();
    const [, window] = survey.participation?.split(":") ?? [];
    const every = Number(survey.participation?.split("=1/")[1] ?? 1);
    const key = window && every === 1 && (await deviceKey());
    const kind = await kindOf(survey);
    const agreed = await kind.prepare(survey);
    if (kind.keepsDraw(agreed)) kept.keepDraw();
    kept.byWindow(window, every);
    const client = new Client(agreed, { storage: kept.storage, memoize: Boolean(window), key });
    asked = { survey, agreed, rules, kind, n: kind.numbers(agreed), client, window, every };
  } catch (problem) {
    // A module or its texts did not come. A browser may remember of a module that it did not, until the page is left.
    if (problem.status === 0) return later(reload);
    const keepsNothing = problem instanceof DOMException || !localStorage;
    const reason = REASONS[problem.name] ?? (keepsNothing && "keepsNothing");
    if (!reason) {
      stop(title, parts("answer.broken", { problem: el("bdi", {}, problem.name) }));
      throw problem; // for whoever looks for its cause
    }
    // In a frame of another site a browser may keep nothing, and in a tab of its own it does.
    const tab = { href: location.pathname, target: "_blank", rel: "noopener noreferrer" };
    const away = parent !== window && [" ", el("a", tab, text("answer.ownTab"))];
    return stop(title, parts("answer.unable", { reason: text(`answer.${reason}`) }).concat(away));
  }
  if (history.state?.tries) history.replaceState(null, "");
  explain(asked);
  $("send").addEventListener("click", () => send(asked));
  // Closed for good it is never asked again, so that nothing needs what the noise was made with.
  if (found.final && asked.window && kept.read()?.done) kept.finish("before");
  if (!kept.isOpen()) return resume(asked, kept.read(), found.state);
  if (found.state === "closed") return stop(title, sentences(ended(rules), text("answer.noMore")));
  if (rules.uploads === "token") return stop(title, text("answer.named"));
  offer(asked);
}

/**
 * A secret that no script can read, where the platform has such keys. Otherwise, and where a state began with a secret
 * of its own, that is in the state: new noise on old answers is worse.
 */
async function deviceKey() {
  if (kept.secret()?.[63]) return undefined;
  const [found] = await fetched([import("./key.min.js")]);
  return found.deviceKey().catch(() => undefined);
}

function stop(title, said) {
  fill($("question"), title);
  $("form").hidden = true;
  $("lead").hidden = true;
  say(said);
}

const titleOf = ({ name }) => name || text("answer.question");

function entitle(title) {
  fill($("question"), title);
  document.title = short(title);
}

/** Where the answer is given, and what will happen to it. */
function offer(asked) {
  const { rules, kind } = asked;
  const field = kind.field(asked);
  const changed = () => {
    $("roll").disabled = field.chosen() === undefined;
    field.changed?.();
  };
  fill($("choices"), ...field.shown);
  fill($("introduction"), ...paragraphs(rules.introduction));
  foretell(asked);
  page.again = async () => {
    entitle(titleOf(asked.survey));
    asked.agreed = await kind.prepare(asked.survey);
    asked.n = kind.numbers(asked.agreed);
    if (!$("form")) return reload(); // rolled meanwhile
    explain(asked);
    foretell(asked);
    field.again?.();
  };
  $("form").hidden = false;
  $("form").addEventListener("input", changed);
  $("form").addEventListener("reset", () => field.forget?.());
  $("form").addEventListener("submit", async (event) => {
    event.preventDefault();
    if (field.advance?.()) return;
    if (field.chosen() === undefined || $("roll").disabled) return;
    $("roll").disabled = true;
    const shown = await roll(asked, field.chosen());
    if (!shown) return;
    const { drawn, tell } = shown;
    $("rolled-title").textContent = text("answer.rolling");
    $("rolled-title").focus();
    await rest(drawn);
    $("rolled-title").textContent = text("answer.leaving");
    tell();
  });
}

/** Until when, and what will happen. */
function foretell(asked) {
  const { rules, n, kind } = asked;
  if (rules.closes) fill($("until"), text("answer.until", { time: moment(rules.closes) })).hidden = false;
  $("what").textContent = kind.whatHappens(n, undefined, asked);
}

/** Roll, and show what came; when this has returned nothing on the page holds the answer. */
async function roll(asked, value) {
  const { client, kind } = asked;
  try {
    // Where another tab was faster, what that one rolled is what is sent.
    if (!(await alone(() => rollOnce(client, value)))) return void (await elsewhere());
  } catch (problem) {
    $("roll").disabled = false;
    return void say(notRolled(problem?.name), "bad");
  }
  page.again = reload; // no function of this call, which has the answer
  const truth = kind.truth(asked, value, kept.read().record);
  $("form").reset();
  $("form").remove();
  $("lead").hidden = true;
  return show(asked, kept.read(), truth);
}

/** The only roll of this browser, in whichever tab; false where there was one. */
async function rollOnce(client, value) {
  if (!kept.isOpen()) return false;
  await kept.roll(() => client.queue(value));
  return true;
}

/**
 * What `work` gives, or false where another tab has the lock, where the browser can see to that. A tab that has rolled
 * keeps the lock as long as it is open: what it stored may reach other tabs later than a lock would.
 */
function alone(work) {
  let task = work; // the lock outlives it: it must not keep the answer that it was made with
  const once = () => {
    const run = task;
    task = null;
    return run();
  };
  if (!navigator.locks) return once();
  return new Promise((resolve, reject) => {
    const locked = async (lock) => {
      const rolled = lock !== null && (await once());
      task = null;
      resolve(rolled);
      return rolled ? new Promise(() => {}) : null;
    };
    const name = ["deniable-answer", digest, kept.window()].filter((part) => part !== undefined).join("/");
    navigator.locks.request(name, { ifAvailable: true }, locked).catch(reject);
  });
}

/** Show what another tab has rolled, once this one can see it. */
async function elsewhere() {
  for (let looks = 0; kept.isOpen() && looks < 100; looks += 1) await new Promise((next) => setTimeout(next, 50));
  reload();
}

/** Forget what the die fell on: with what is sent, it is the answer. */
function coverDie() {
  if ($("fell")) fill($("die"));
}

// A page that is left may be shown again as it was: without what was chosen, and without what it fell on.
addEventListener("pagehide", () => {
  $("form")?.reset();
  $("roll")?.setAttribute("disabled", "");
  coverDie();
});

/** After a reload: what was rolled is still what will be sent; what was sent is no longer here. */
function resume(asked, found, state) {
  const { sending, done, next } = found;
  $("lead").hidden = true;
  if (done) return finished(asked, done, next);
  show(asked, found, null).tell();
  if (state === "closed") return finished(asked, "closed");
  if (sending) send(asked);
}

/**
 * What leaves: the picture at once, and on `tell`, when the die rests, the words, the bytes and the button. `truth` is
 * known right after the roll and never again.
 */
function show(asked, { record, day }, truth) {
  const { n, kind } = asked;
  asked.record = record;
  const sent = partsOf(record, n);
  fill($("bytes"), ...bytesOf(sent, `${location.origin}/v1/surveys/${digest.slice(0, 8)}…/reports`, day, n));
  $("rolled").hidden = false;
  if (kind.show) return kind.show(asked, sent, truth);
  const cells = cellsOf(sent.payload, n);
  const fell = truth && kind.rolled(n, truth, cells);
  const drawn = fell ? kind.picture(fell) : kind.afterwards(n, cells);
  fill($("die"), drawn);
  const tell = () => {
    if (fell) $("fell").textContent = sentences(fell.said, text("answer.onlyYou"));
    fill($("sent"), kind.inWords(cells, asked));
    $("deny").textContent = kind.denial(n, cells);
    $("send").hidden = false;
    $("wire").hidden = false;
  };
  return { drawn, tell };
}

function explain(asked) {
  const { n, rules, window, every, kind } = asked;
  $("headline").textContent = headline(n);
  const shown = (part) => (part.map ? el("ul", {}, ...part.map((said) => el("li", {}, said))) : el("p", {}, part));
  const survey = el("p", { class: "quiet small break" }, text("answer.digest", { digest }));
  fill($("explained"), ...[...explanation(n, rules, window, every), ...kind.clear(asked)].map(shown), survey);
  $("meaning").hidden = false;
}

/** Deliver what was rolled, as often as it takes. The same bytes under the same id: it counts once. */
async function send(asked, pause = 1000) {
  const { record } = kept.read() ?? {};
  // Another tab has sent it, and rolled again in the next window: nobody has said here that this is to be sent.
  if (record && record !== asked.record) return reload();
  $("send").disabled = true;
  say(text("answer.sending"));
  try {
    kept.send();
    await asked.client.send(location.origin);
  } catch {
    // The collector does not take it as it is, which may pass, and what was rolled is kept; or another tab was told
    // that it has it.
  }
  const found = kept.read();
  if (!found) return say(text("answer.lost"), "bad");
  if (found.done === "sent") tellFrame(asked.rules.frames);
  if (found.done) return finished(asked, found.done, found.next);
  const state = await stateNow();
  if (state === "closed" || state === "gone") return finished(asked, state);
  say(text("answer.waiting"));
  setTimeout(() => send(asked, Math.min(2 * pause, LONGEST_PAUSE)), pause);
}

/**
 * To the page around this one, where that is one of the sites that may frame it: that somebody is done here, now. Not
 * when a page is loaded again: who has answered before is nobody's business there.
 */
function tellFrame(frames) {
  if (parent === window) return;
  const around = location.ancestorOrigins?.[0];
  for (const origin of frames) if (!around || around === origin) parent.postMessage("done", origin);
}

/** Whether the survey is open or closed, gone, or whether the collector is away. */
const stateNow = () =>
  ask(`/v1/surveys/${digest}`).then(
    (found) => found.state,
    (problem) => (problem.status === 404 ? "gone" : "away"),
  );

function finished(asked, how, next) {
  const { rules, n, window, every, kind } = asked;
  kept.finish(how);
  coverDie(); // a tab may stay open for others to find
  kind.end(asked);
  $("send").hidden = true;
  $("until").hidden = true;
  fill($("thanks"), ...(how === "sent" ? paragraphs(rules.thanks) : []));
  $("rolled-title").textContent = text(how === "sent" ? "answer.left" : "answer.rolled");
  say(...ending(how, n, next && { window, next, every }));
}

open(() => page.again()).then(start);
