/**
 * The respondent's page. The answer goes from its field to the client's randomiser and nowhere else: it is in no
 * request, no storage and no address, and the page has forgotten it once the die is rolled. What is rolled is kept and
 * sent as it is, however often that takes, and is gone from here once the collector has it; there is no second roll. A
 * page asks once, so nothing is memoised: the noise is fresh, and there is no secret from which it could be made again.
 */

import { $, ask, digestHere, el, fill, Problem, sentence, short, symbolText } from "./common.js";
import { Client } from "./deniable.min.js";
import { marksSent, picture, rest, rolled } from "./dice.js";
import { keeping } from "./kept.js";
import { paragraphs, when } from "./texts.js";
import {
  atMost,
  beliefs,
  deniability,
  epsilons,
  guarantee,
  headline,
  isAtLeast,
  numbers,
  unknowable,
  whatHappens,
} from "./words.js";

const LONGEST_PAUSE = 30_000;

const digest = digestHere();
const kept = keeping(digest);

let survey, rules, n, client;

const say = (text, kind = "") => fill($("status"), text && el("p", { class: `note ${kind}` }, text));

/** The symbol that a choice stands for, as the client takes it. */
const symbolValue = (symbol) =>
  symbol?.int
    ? BigInt(symbol.int)
    : symbol?.bytes !== undefined
      ? Uint8Array.from(symbol.bytes.match(/../g) ?? [], (pair) => parseInt(pair, 16))
      : symbol;

async function start() {
  let found;
  try {
    if (!/^[0-9a-f]{64}$/.test(digest)) throw new Problem(404, "");
    found = await ask(`/v1/surveys/${digest}`);
  } catch (problem) {
    if (problem.status === 404)
      return stop(
        "There is no such survey",
        "The link may be incomplete, the survey may have been deleted, or it was asked elsewhere. Ask whoever " +
          "sent you the link. Nothing was sent.",
      );
    say("The collector does not answer. Trying again…");
    return setTimeout(start, 3000);
  }
  say("");
  ({ survey, rules } = found);
  // The client checks the survey against its own digest; here, that it is the one that was asked for.
  if (survey.digest !== digest)
    return stop(
      "This is another survey",
      "The collector gave a survey that is not the one in the link. Nothing was sent.",
    );
  fill($("question"), survey.name || "A question for you");
  document.title = short(survey.name || "A question for you");
  try {
    n = numbers(survey);
    kept.forgetEarlier();
    client = new Client(survey, { storage: kept.storage, memoize: false });
  } catch (problem) {
    return stop(
      survey.name || "A question for you",
      `This browser cannot take part: ${problem.message ?? "it keeps nothing for this page."} Nothing was sent.`,
    );
  }
  $("headline").textContent = headline(n);
  explain();
  if (kept.read()) return resume(kept.read(), found.state);
  if (found.state === "closed")
    return stop(survey.name || "A question for you", `${ended()} It takes no more answers, and nothing was sent.`);
  if (rules.uploads === "token")
    return stop(
      survey.name || "A question for you",
      "This survey takes answers from named devices only, not from this page.",
    );
  offer();
}

/** That the survey is over, and since when if its date has come. */
const ended = () =>
  rules.closes && new Date(rules.closes) <= new Date()
    ? `This survey ended on ${when(rules.closes)}.`
    : "This survey is closed.";

function stop(title, text) {
  fill($("question"), title);
  $("form").hidden = true;
  $("lead").hidden = true;
  say(text);
}

/** The choices of a closed survey, or a field to write into. */
function offer() {
  const { symbols } = survey.alphabet;
  let chosen = () => undefined;
  if (symbols) {
    const list = symbols.map((symbol, i) =>
      el(
        "label",
        {},
        el("input", { type: "radio", name: "answer", value: i, autocomplete: "off" }),
        el("span", { dir: "auto" }, symbolText(symbol)),
      ),
    );
    fill($("choices"), el("div", { class: symbols.length > 12 ? "choices long" : "choices" }, ...list));
    chosen = () => {
      const radio = $("choices").querySelector(":checked");
      return radio ? symbolValue(symbols[radio.value]) : undefined;
    };
  } else {
    const field = el("input", {
      type: "text",
      id: "text",
      autocomplete: "off",
      autocapitalize: "off",
      autocorrect: "off",
      spellcheck: "false",
      maxlength: "1000",
      "aria-labelledby": "legend",
    });
    fill($("choices"), field);
    chosen = () => field.value.trim() || undefined;
  }
  fill($("introduction"), ...paragraphs(rules.introduction));
  $("until").hidden = !rules.closes;
  if (rules.closes) $("until").textContent = `Open until ${when(rules.closes)}, on this device's clock.`;
  $("what").textContent = whatHappens(n);
  $("form").hidden = false;
  $("form").addEventListener("input", () => ($("roll").disabled = chosen() === undefined));
  $("form").addEventListener("submit", async (event) => {
    event.preventDefault();
    if (chosen() === undefined || $("roll").disabled) return;
    $("roll").disabled = true;
    const shown = await roll(chosen());
    if (!shown) return;
    const { drawn, tell } = shown;
    const title = $("rolled-title").textContent;
    $("rolled-title").textContent = "The die is rolling…";
    $("rolled-title").focus();
    await rest(drawn);
    $("rolled-title").textContent = title;
    tell();
  });
}

/** Roll, and show what came; when this has returned nothing on the page holds the answer. */
async function roll(value) {
  try {
    // Where another tab was faster, what that one rolled is what is sent.
    if (!(await alone(() => rollOnce(value)))) return void location.reload();
  } catch (problem) {
    $("roll").disabled = false;
    say(`Nothing was sent: ${sentence(problem.message)}`, "bad");
    return undefined;
  }
  const truth = client.survey.encoding.of(client.status().cohort, value);
  $("form").reset();
  $("form").remove();
  $("lead").hidden = true;
  return show(kept.read(), truth);
}

/** The only roll of this browser, in whichever tab; false where there was one. */
function rollOnce(value) {
  if (kept.read()) return false;
  kept.roll(() => client.queue(value));
  return true;
}

/** Run `work` while no other tab does, where the browser can see to that. */
const alone = async (work) => (navigator.locks ? navigator.locks.request(`deniable-answer/${digest}`, work) : work());

// A page that is left may be shown again as it was: without what was chosen, and without what it fell on.
addEventListener("pagehide", () => {
  $("form")?.reset();
  $("roll")?.setAttribute("disabled", "");
  if ($("fell")) fill($("die"));
});

/** After a reload: what was rolled is still what will be sent; what was sent is no longer here. */
function resume(found, state) {
  const { sending, done } = found;
  $("lead").hidden = true;
  if (done) return finished(done);
  show(found, null).tell();
  if (state === "closed") return finished("closed");
  if (sending) send();
}

/** The cells that a payload names. */
function cellsOf(payload) {
  if (n.shape === "one") return [payload.reduceRight((sum, byte) => sum * 256 + byte, 0)];
  return [...Array(n.cells).keys()].filter((cell) => (payload[cell >> 3] >> (cell & 7)) & 1);
}

/**
 * What leaves: the picture at once, and on `tell`, when the die rests, the words, the bytes and the button. `truth` is
 * known right after the roll and never again.
 */
function show({ record, day }, truth) {
  const hex = record.match(/../g);
  const places = { id: 16, version: 1, survey: 8 };
  const payloadBytes = n.shape === "one" ? Math.max(1, Math.ceil(Math.log2(n.cells) / 8)) : Math.ceil(n.cells / 8);
  places.group = hex.length - 25 - payloadBytes;
  places.payload = payloadBytes;
  const parts = {};
  let at = 0;
  for (const [name, size] of Object.entries(places)) {
    parts[name] = hex.slice(at, at + size);
    at += size;
  }
  const cells = cellsOf(parts.payload.map((byte) => parseInt(byte, 16)));
  const fell = truth && rolled(n, truth, cells);
  const drawn = fell ? picture(fell) : n.shape === "marks" ? marksSent(n, cells) : null;
  fill($("die"), drawn);
  $("rolled").hidden = false;
  const tell = () => {
    if (fell) $("fell").textContent = `${fell.said} Only you can see this line, and only now.`;
    fill($("sent"), inWords(cells));
    $("deny").textContent = `${unknowable(n)} ${deniability(n)}`;
    $("send").hidden = false;
    $("wire").hidden = false;
  };
  const told = {
    id: "a random number, so that a repeated upload counts once",
    version: "the format",
    survey: "which survey",
    group: places.group ? `your group, one of ${n.cohorts}, drawn at random before you answered` : null,
    payload: "what the die gave: the only part that has anything to do with your answer",
  };
  const listed = Object.entries(told).filter(([name, text]) => text && parts[name].length);
  fill(
    $("bytes"),
    el("p", {}, `${hex.length} bytes, as they are sent:`),
    el("p", { class: "bytes" }, ...listed.map(([name]) => el("span", { class: name }, parts[name].join("")))),
    el(
      "dl",
      { class: "parts" },
      ...listed.flatMap(([name, text]) => [
        el("dt", {}, parts[name].length > 6 ? `${parts[name].slice(0, 4).join("")}…` : parts[name].join("")),
        el("dd", {}, text),
      ]),
    ),
    el(
      "p",
      { class: "quiet small break" },
      `They go to ${location.origin}/v1/surveys/${digest.slice(0, 8)}…/reports${day ? `?day=${day}` : ""}` +
        (day
          ? `: the day, ${new Date(864e5 * day).toISOString().slice(0, 10)}, is the one on which the die was rolled`
          : "") +
        ".",
    ),
  );
  return { drawn, tell };
}

/** What a report names, as people read it. */
function inWords(cells) {
  const { symbols } = survey.alphabet;
  const name = (cell) => symbolText(symbols[cell]);
  if (n.named && n.shape === "one") return el("p", { class: "sent", dir: "auto" }, name(cells[0]));
  if (n.named) {
    const shown = cells.slice(0, 60).map((cell) => el("li", { dir: "auto" }, name(cell)));
    const rest = cells.length > 60 ? [el("li", {}, `and ${cells.length - 60} more`)] : [];
    return el(
      "div",
      {},
      el(
        "p",
        {},
        cells.length
          ? `${n.shape === "marks" ? "Yes for" : "A list of"} ${cells.length} of the ${n.cells} answers:`
          : "Yes for none of the answers.",
      ),
      el("ul", { class: "sent" }, ...shown, ...rest),
    );
  }
  const { cohort } = client.status();
  const numbered = cells.map((cell) => cell + 1);
  const boxes =
    n.shape === "one"
      ? `${n.block ? "Number" : "Box"} ${numbered[0]} of ${n.cells}`
      : `Yes for ${cells.length} of ${n.cells} boxes`;
  const group = n.cohorts > 1 ? `, sorted as in group ${cohort + 1} of ${n.cohorts}` : "";
  const few = symbols && symbols.length <= 2000 && n.shape === "one";
  const inside = few
    ? symbols.filter((symbol) => client.survey.encoding.of(cohort, symbolValue(symbol)).includes(cells[0]))
    : [];
  return el(
    "div",
    {},
    el("p", { class: "sent" }, boxes + group),
    inside.length
      ? el(
          "p",
          { dir: "auto" },
          `It stands for ${inside.slice(0, 12).map(symbolText).join(", ")}` +
            `${inside.length > 12 ? ` and ${inside.length - 12} more` : ""}.`,
        )
      : null,
    n.open ? el("p", {}, "A box stands for every text that the public rule sorts there: endlessly many.") : null,
  );
}

function explain() {
  const ever = (after) =>
    n.twice ? ` (and at most ${after} after everything that this browser could ever send of that answer)` : "";
  const rows = beliefs(n).map(([before, after, all]) =>
    el(
      "li",
      {},
      `Someone who is ${before} sure that a certain answer is yours can be at most ${after} sure of it after ` +
        `seeing what you sent${ever(all)}.`,
    ),
  );
  fill(
    $("explained"),
    el("p", {}, guarantee(n)),
    el("ul", {}, ...rows),
    el("p", {}, `That holds however much they know and compute, and for the collector too. ${deniability(n)}`),
    el(
      "p",
      {},
      `Experts call this local differential privacy with ${epsilons(n)}: epsilon is the logarithm of ` +
        `${n.twice ? `those ${atMost(n.odds)} and ${atMost(n.lifetime)}` : `that ${atMost(n.odds)}`}. This page ` +
        "sends one report. Nothing sent at all would be epsilon 0.",
    ),
    el(
      "p",
      {},
      "What can be seen: that somebody took part and when, and the address the message came from, as with any " +
        `message.${n.cohorts > 1 ? ` Your group number (one of ${n.cohorts}) is in the clear, too.` : ""} The ` +
        `collector stores no address, and of the time only the ${rules.window}.`,
    ),
    el(
      "p",
      {},
      "What this browser keeps: until the collector has it, the bytes that are sent; after that, only that it has " +
        "answered. Neither your answer nor what the bytes were made with is kept, so whoever opens this browser " +
        "later learns no more than the collector.",
    ),
    el(
      "p",
      {},
      "From everyone's reports together the survey learns how frequent each answer is. It learns that whether or " +
        "not you take part.",
    ),
    el("p", { class: "quiet small break" }, `Survey ${digest}`),
  );
  $("meaning").hidden = false;
}

$("send").addEventListener("click", () => send());

/** Deliver what was rolled, as often as it takes. The same bytes under the same id: it counts once. */
async function send(pause = 1000) {
  $("send").disabled = true;
  say("Sending…");
  try {
    kept.send();
    await client.send(location.origin);
  } catch {
    // The collector does not take it as it is, which may pass, and what was rolled is kept; or another tab was told
    // that it has it.
  }
  const found = kept.read();
  if (!found)
    return say("This browser has lost what was rolled: its storage was cleared. Nothing more is sent.", "bad");
  if (found.done) return finished(found.done);
  const state = await stateNow();
  if (state === "closed" || state === "gone") return finished(state);
  say(
    "The collector does not answer. What was rolled is kept on this device and sent as soon as it does; you may " +
      "leave this page open, or come back.",
  );
  setTimeout(() => send(Math.min(2 * pause, LONGEST_PAUSE)), pause);
}

/** Whether the survey is open or closed, gone, or whether the collector is away. */
const stateNow = () =>
  ask(`/v1/surveys/${digest}`).then(
    (found) => found.state,
    (problem) => (problem.status === 404 ? "gone" : "away"),
  );

function finished(how) {
  kept.finish(how);
  $("send").hidden = true;
  $("until").hidden = true;
  fill($("thanks"), ...(how === "sent" ? paragraphs(rules.thanks) : []));
  $("rolled-title").textContent = how === "sent" ? "This left your device" : "This was rolled for you";
  if (how === "sent")
    say(
      "Thank you. Your answer is counted" +
        (isAtLeast(n, "strong")
          ? ", and nobody knows it"
          : isAtLeast(n, "weak")
            ? ", and nobody can be sure of it"
            : "") +
        ". This browser has answered; there is nothing more to do.",
      "good",
    );
  else if (how === "closed") say("The survey was closed before your answer arrived. It is not counted.");
  else if (how === "before") say("This browser has answered. There is nothing more to do.");
  else if (how === "gone") say("The survey was deleted before your answer arrived. It is not counted.");
  else say("The collector refused what was sent. It is not counted.", "bad");
}

start();
