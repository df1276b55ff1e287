/** Ask: a question becomes a plan while it is typed, then a survey with a link for everyone and a private one. */

import { Picture } from "./charts.js";
import { $, ask, el, fill, percent, points, sentence, short, table, tell, whole } from "./common.js";
import { dropKey, findKey, keepKey } from "./keys.js";
import { picture as qr } from "./qr.js";
import { limits } from "./reach.js";
import { choose, fillForm, list as surveyList, takeDraft, writtenRules } from "./surveys.js";
import { deniability, guarantee, headline, isAtLeast, numbers, SCALE, strength, THEY, whatHappens } from "./words.js";

const PAUSE = 500; // milliseconds after the last key before the planner is asked

const CHOICE = "How well a single answer stays hidden is for you to choose.";

const chart = new Picture($("chart"));
let token, origin, plan, asked, waiting, timer, digests;

const say = (text, kind = "") => fill($("status"), text && el("p", { class: `note ${kind}` }, text));
const chosen = (name) => document.querySelector(`input[name=${name}]:checked`).value;
const answers = () => [
  ...new Set(
    $("answers")
      .value.split("\n")
      .map((line) => line.trim().normalize())
      .filter(Boolean),
  ),
];
const name = () => $("question").value.trim().normalize();

async function start() {
  token = await findKey();
  if (!token) return locked("");
  try {
    origin = (await ask("/v1/collector")).public_url ?? location.origin;
    await list();
  } catch (problem) {
    if (problem.status === 401 || problem.status === 403) {
      dropKey();
      return locked("This key does not open this collector.");
    }
    say(`${sentence(problem.message)} Trying again…`);
    return setTimeout(start, 3000);
  }
  say("");
  $("form").hidden = false;
  $("form").addEventListener("input", changed);
  $("form").addEventListener("submit", create);
  $("experts").addEventListener("toggle", () => plan && draw(plan));
  changed();
  const draft = takeDraft();
  if (draft) duplicate(draft);
}

$("scale").textContent = `Smaller is more private: ${SCALE.slice(0, -1)
  .map(({ most, word }, i) => `${i ? "" : "up to "}${most} is ${word}`)
  .join(", ")}, more is hardly any`;
$("headline").textContent = CHOICE;

function locked(text) {
  say(text, "bad");
  $("door").hidden = false;
  $("door").onsubmit = (event) => {
    event.preventDefault();
    keepKey($("token").value);
    location.reload();
  };
}

/** What the planner is to be asked, or the sentence that says what is missing. */
function question() {
  const open = chosen("kind") === "open";
  const byError = chosen("goal") === "error";
  const number = (id) => ($(id).value.trim() === "" ? NaN : Number($(id).value));
  if (!name()) return "Write your question first.";
  if (!open && answers().length < 2) return "Write at least two answers, one a line.";
  if (!(number("people") >= 10)) return "Say how many people will answer: 10 or more.";
  if (byError && !(number("error") > 0 && number("error") < 100))
    return "Say how far off a share may be: more than 0 and less than 100 percentage points.";
  if (!byError && !(number("epsilon") >= Number($("epsilon").min) && number("epsilon") <= Number($("epsilon").max)))
    return `Say which epsilon you want to offer: from ${$("epsilon").min} to ${$("epsilon").max}.`;
  if (open && !(number("candidates") >= 2)) return "Say how many different answers you will look for: 2 or more.";
  return {
    n: Math.round(number("people")),
    name: name(),
    ...(open ? { candidates: Math.round(number("candidates")), text: $("text").value } : { symbols: answers() }),
    ...(byError ? { max_error: number("error") / 100 } : { epsilon: String(number("epsilon")), metric: "max" }),
  };
}

function changed() {
  const open = chosen("kind") === "open";
  $("open").hidden = !open;
  $("closed").hidden = open;
  $("by-error").hidden = chosen("goal") !== "error";
  $("by-epsilon").hidden = chosen("goal") === "error";
  const now = question();
  const text = JSON.stringify(now);
  if (text === asked) return;
  asked = text;
  plan = undefined;
  $("create").disabled = $("experts").hidden = true;
  $("headline").textContent = CHOICE;
  clearTimeout(timer);
  if (typeof now === "string") {
    return fill($("plan"), el("p", { class: "quiet" }, now));
  }
  fill($("plan"), el("p", { class: "quiet" }, "Planning…"));
  timer = setTimeout(() => think(now, text), PAUSE);
}

/** One question at a time; of those that were typed meanwhile only the last is asked. */
async function think(now, text) {
  if (waiting) {
    waiting = { now, text };
    return;
  }
  waiting = {};
  let found, problem;
  try {
    found = await ask("/v1/plan", { method: "POST", token, body: now });
  } catch (caught) {
    problem = caught;
  }
  const next = waiting;
  waiting = undefined;
  if (next.now) return think(next.now, next.text);
  if (text !== asked) return;
  if (problem) return fill($("plan"), ...refusal(problem, now));
  plan = found;
  show(plan);
}

/** Plan for so many people and exactly this epsilon, whatever error that gives. */
function offer({ n, epsilon }) {
  choose("goal", "epsilon");
  $("people").value = n;
  $("epsilon").value = epsilon;
  changed();
  $("plan-title").focus(); // the button that was pressed is gone
}

/**
 * What cannot be had, in the fields' own units, and what can: each a button that fills it in. Epsilon is set, so the
 * word is true.
 */
function refusal({ message, told }, now) {
  if (!told.alternatives || !now.max_error) return [el("p", { class: "note" }, sentence(message))];
  const digits = (share) => String(Number((100 * share).toPrecision(2)));
  const buttons = told.alternatives.map((one) => {
    const exact = `about ± ${digits(one.error)} points with ${one.privacy} privacy`;
    const text =
      one.n === now.n
        ? [el("b", {}, sentence(exact).slice(0, -1))]
        : [el("b", {}, `Ask about ${whole(one.n)} people`), `: ${exact}`];
    return el("button", { type: "button", class: "plain", onclick: () => offer(one) }, ...text);
  });
  return [
    el(
      "p",
      { class: "note" },
      `${whole(now.n)} people are too few to know every share up to ± ${digits(now.max_error)} points.`,
    ),
    ...(buttons.length
      ? [el("h3", {}, "What is possible"), el("div", { class: "actions", id: "ways" }, ...buttons)]
      : []),
  ];
}

function show(found) {
  const n = numbers(found.survey);
  const error = found.errors.max_error;
  const visible = found.smallest_visible;
  fill(
    $("plan"),
    el("p", { class: "big" }, strength(n)),
    el("p", {}, `Epsilon ${found.epsilon.toPrecision(3)}. ${guarantee(n, THEY)} ${deniability(n, THEY)}`),
    el("p", {}, whatHappens(n, THEY)),
    el(
      "div",
      { class: "facts" },
      el("div", {}, el("b", {}, `± ${points(error.mean)} points`), "the largest error, on average"),
      el("div", {}, el("b", {}, `± ${points(error.bound)} points`), "in 9 of 10 surveys it is smaller"),
    ),
    el("h3", {}, "You will be able to see"),
    el(
      "ul",
      {},
      el(
        "li",
        {},
        visible === null
          ? "hardly any single answer for certain"
          : `every answer that ${percent(visible)} of people or more give`,
      ),
      el("li", {}, `each share, up to about ${points(error.bound)} points either way`),
    ),
    el("h3", {}, "You will not be able to see"),
    el(
      "ul",
      {},
      el(
        "li",
        {},
        isAtLeast(n, "strong")
          ? "what anyone answered"
          : isAtLeast(n, "weak")
            ? "for certain what anyone answered, though you get hints"
            : "with full certainty what anyone answered, though you can come close",
      ),
      el(
        "li",
        {},
        visible === null ? "rare answers" : `answers that fewer than ${percent(visible)} give: they may look like none`,
      ),
      el("li", {}, `differences below about ${points(error.bound)} points, and small groups of people`),
    ),
  );
  fill(
    $("mechanism"),
    el(
      "p",
      {},
      `${found.mechanism}${found.parameters ? `, ${found.parameters}` : ""}; ${found.report_bytes} bytes a ` +
        `report; decoded by ${found.decoder}; ${found.repeats} surveys simulated; answers taken to be ` +
        `${found.shape}, the worst of ${found.shapes.length} shapes for this error.`,
    ),
    found.alternatives.length
      ? table(
          "Alternatives",
          ["instead", `needs ${found.found === "error" ? "an error of" : found.found === "n" ? "n" : "epsilon"}`],
          found.alternatives.map((one) => [
            `${one.mechanism} ${one.parameters}`.trim(),
            one.needs === null ? "cannot" : String(Number(one.needs.toPrecision(3))),
          ]),
        )
      : null,
  );
  $("headline").textContent = headline(n, THEY);
  $("create").disabled = $("experts").hidden = false;
  draw(found);
}

/** Epsilon against n through the plan. */
function draw(found) {
  if (!$("experts").open) return; // it is drawn when somebody looks
  const rows = found.lines.filter((row) => row.n >= found.n / 1e3 && row.n <= found.n * 1e3);
  const kinds = [...new Set(rows.map((row) => row.mechanism))];
  const across = [found.n, ...rows.map((row) => row.n)];
  const point = { mechanism: found.mechanism, n: found.n, epsilon: found.epsilon };
  const label = `epsilon ${found.epsilon.toPrecision(3)}, ${whole(found.n)} people`;
  const low = Math.min(...across) / 1.2;
  const high = Math.max(...across) * 1.2;
  const patch = (part) => {
    if (part.domain?.[0] === "best plan") {
      part.range = part.range.filter((_, i) => kinds.includes(part.domain[i]));
      part.domain = part.domain.filter((kind) => kinds.includes(kind));
    }
    if (part.field === "n" && part.scale) {
      part.scale.domain = [low, high];
      part.axis.values = Array.from({ length: 16 }, (_, power) => 10 ** power).filter(
        (ten) => ten >= low && ten <= high,
      );
    }
    if (part.field === "epsilon" && part.scale) part.scale.domain = [Math.min(0.1, found.epsilon / 1.5), 12];
  };
  chart
    .draw({
      chart: "plan",
      description: `Epsilon against the number of people; planned: ${label}`,
      patch,
      data: { rows, more: [point], last: [{ label: `●  ${label}` }] },
    })
    .catch((problem) => say(sentence(problem.message), "bad"));
}

async function create(event) {
  event.preventDefault();
  if (!plan) return;
  $("create").disabled = true;
  const { survey } = plan;
  try {
    await list();
    if (digests.has(survey.digest)) {
      $("create").disabled = false;
      return say("You have asked exactly this before: it is in the list below. Change the wording to ask it anew.");
    }
    const rules = {
      results: $("results").value,
      minimum: Math.max(1, Math.round(Number($("minimum").value) || 1)),
      window: $("window").value,
      ...writtenRules(),
    };
    await ask("/v1/surveys", { method: "POST", token, body: { survey, rules } });
    const made = await ask(`/v1/surveys/${survey.digest}/tokens`, {
      method: "POST",
      token,
      body: { kind: "owner", name: "private link" },
    });
    celebrate(survey, made.token);
    await list();
  } catch (problem) {
    $("create").disabled = false;
    say(`The survey was not created: ${problem.message}`, "bad");
  }
}

/** A link to copy. */
function link(title, hint, address) {
  const id = title.replace(/\W/g, "-").toLowerCase();
  const field = el("input", { type: "text", readonly: true, id, value: address });
  const button = el("button", { type: "button", class: "plain" }, "Copy");
  button.addEventListener("click", async () => {
    field.select();
    await navigator.clipboard?.writeText(address).catch(() => document.execCommand("copy"));
    button.textContent = "Copied";
  });
  return el(
    "div",
    { class: "field" },
    el("label", { for: id }, title, el("span", { class: "hint" }, hint)),
    el("div", { class: "link" }, field, button, el("a", { class: "button plain", href: address }, "Open")),
  );
}

/** Where a link leads nowhere for others: that, and what to do. */
function caution(address) {
  const told = limits(address);
  const remedy = [
    " To ask others, run the collector where they can reach it and start it with ",
    el("code", { class: "whole" }, "--public-url"),
    " and that address; see “In front of it” in docs/operations.md.",
  ];
  return told ? el("p", { class: "note", id: "caution" }, told, ...remedy) : null;
}

function celebrate(survey, secret) {
  say("");
  const answer = `${origin}/answer/${survey.digest}`;
  const results = `${origin}/results/${survey.digest}#${new URLSearchParams({ token: secret })}`;
  const heading = el("h2", { tabindex: "-1", dir: "auto" }, `“${short(survey.name, 120)}” is ready`);
  fill(
    $("made"),
    el(
      "section",
      { class: "card", "aria-label": "The survey is ready" },
      heading,
      caution(answer),
      link("For the people you ask", "Send it to everyone, or let them scan the code", answer),
      qr(answer),
      link(
        "For you alone",
        "The results. Whoever has this link can read them, and close or delete the survey; keep it now, it is not " +
          "shown again. A browser that opens it may keep it in its history, with the key",
        results,
      ),
    ),
  );
  $("made").hidden = false;
  $("form").hidden = true;
  heading.focus();
}

async function list() {
  const { surveys } = await ask("/v1/surveys", { token });
  digests = new Set(surveys.map(({ digest }) => digest));
  $("known").hidden = !surveys.length;
  fill($("known-status"));
  const results = (digest) => `/results/${digest}`; // this tab has the key
  const gone = (text) => list().then(() => tell($("known-status"), text, "good"));
  fill($("surveys"), surveyList(surveys, { token, results, again: list, gone, duplicate }));
}

function duplicate(draft) {
  $("made").hidden = true;
  fillForm(draft);
  changed();
  say("The form is filled in. Change what you like, and create the survey.");
}

start();
