/** Ask: a question becomes a plan while it is typed, then a survey with a link for everyone and a private one. */

import { Picture } from "./charts.js";
import { $, ask, el, fill, short, table, tell } from "./common.js";
import { kept } from "./entered.js";
import { formRequest } from "./form.asking.js";
import { FormEditor } from "./form.editor.js";
import { relatingWords } from "./form.pairs.js";
import { formRefusal, screens } from "./form.plan.js";
import { Preview } from "./form.preview.js";
import { numbersOf, showForm } from "./form.shown.js";
import * as free from "./free.js";
import { dropKey, findKey, keepKey } from "./keys.js";
import { kindOf } from "./kinds.js";
import { open } from "./languages.js";
import * as planning from "./planning.js";
import { bothNumbers, firstMeanError, isAboutMean, planChart, request, scaleWords } from "./planning.js";
import { problemText } from "./problems.js";
import { picture as qr } from "./qr.js";
import { limits } from "./reach.js";
import { written as writtenAlphabet } from "./search.alphabet.js";
import { choose, fillForm, nameOf, list as surveyList, takeDraft, writtenRules } from "./surveys.js";
import { digits, parts, sentences, text } from "./texts.js";
import { deniability, guarantee, headline, strength, THEY } from "./words.js";

const PAUSE = 500; // milliseconds after the last key before the planner is asked

const say = (said, kind = "") => fill($("status"), said && el("p", { class: `note ${kind}` }, ...[said].flat()));

/** The same where the button is at the other end of the page: what came of it is brought into view. */
function sayInView(...said) {
  say(...said);
  $("status").scrollIntoView({ block: "nearest" });
}

const chosen = (name) => document.querySelector(`input[name=${name}]:checked`).value;

function locked(key) {
  fill($("status"), key && el("p", { class: "note bad", "data-text": key }, text(key)));
  $("door").hidden = false;
  $("door").onsubmit = (event) => {
    event.preventDefault();
    keepKey($("token").value);
    location.reload();
  };
}

/** What the page's form says, as the planner is asked; or the sentence that says what is missing. */
const question = (asked) =>
  (asked.kind === "form" ? formRequest : request)({
    ...asked,
    goal: chosen("goal"),
    limits: [$("epsilon").min, $("epsilon").max],
    people: $("people").value,
    error: $("error").value,
    mean_error: $("mean-error").value,
    epsilon: $("epsilon").value,
    find_by: $("find-by").value,
    texts: $("find-texts").value,
    above: $("find-above").value,
  });

/** Plans in words, of what they are about. */
const wordsOf = (plan) => (free.isFree(plan) ? free : planning);

/** What cannot be had, and what can: each a button that fills it in. */
function refused(problem, now, offer) {
  const { said, ways } = (now.questions ? formRefusal : wordsOf(now).refusal)(problem, now);
  const buttons = ways.map((one) =>
    el("button", { type: "button", class: "plain", onclick: () => offer(one) }, el("b", {}, one.bold), one.rest),
  );
  return [
    el("p", { class: "note" }, problem.told?.alternatives ? said : problemText(problem)),
    ...(buttons.length
      ? [el("h3", {}, text("ask.possible")), el("div", { class: "actions", id: "ways" }, ...buttons)]
      : []),
  ];
}

/** A plan in words; `kind` and `n` are those of its survey. */
function show(found, kind, n) {
  const { alternatives, mechanismWords, sharpness, visible } = wordsOf(found);
  const { seen, unseen } = visible(found, n);
  const { numbers, rests } = bothNumbers(Math.log(n.odds), found.crowd);
  const listed = (texts) => el("ul", {}, ...texts.map((said) => el("li", {}, said)));
  const facts = (some, name) =>
    el("div", { class: "facts", ...name }, ...some.map(([number, said]) => el("div", {}, el("b", {}, number), said)));
  fill(
    $("plan"),
    el("p", { class: "big" }, strength(n)),
    el(
      "p",
      {},
      sentences(text("ask.epsilon", { epsilon: digits(found.epsilon, 3) }), guarantee(n, THEY), deniability(n, THEY)),
    ),
    el("p", {}, kind.whatHappens(n, THEY)),
    kind.preview?.(n),
    facts(sharpness(found, n), { id: "sharpness" }),
    el("h3", {}, text("ask.two")),
    facts(numbers, { id: "both" }),
    el("p", { class: "quiet small", id: "rests" }, rests),
    el("h3", {}, text("ask.seen")),
    listed(seen),
    el("h3", {}, text("ask.unseen")),
    listed(unseen),
  );
  const { heads, rows } = alternatives(found);
  fill(
    $("mechanism"),
    el("p", {}, mechanismWords(found, n)),
    rows.length ? table(text("ask.alternatives"), heads, rows) : null,
  );
  $("curve").hidden = !found.lines.length;
  $("headline").textContent = headline(n, THEY);
}

/** A link to copy. */
function link(id, address) {
  const field = el("input", { type: "text", dir: "ltr", readonly: true, id, value: address });
  const button = el("button", { type: "button", class: "plain" }, text("ask.copy"));
  button.addEventListener("click", async () => {
    field.select();
    await navigator.clipboard?.writeText(address).catch(() => document.execCommand("copy"));
    button.textContent = text("ask.copied");
  });
  return el(
    "div",
    { class: "field" },
    el("label", { for: id }, text(`ask.${id}`), " ", el("span", { class: "hint" }, text(`ask.${id}Hint`))),
    el("div", { class: "link" }, field, button, el("a", { class: "button plain", href: address }, text("desk.open"))),
  );
}

/** Where a link leads nowhere for others: that, and what to do. */
function caution(address) {
  const reach = limits(address);
  const remedy = () => parts("ask.remedy", { option: el("code", { class: "whole", dir: "ltr" }, "--public-url") });
  return reach ? el("p", { class: "note", id: "caution" }, reach, " ", ...remedy()) : null;
}

/** The survey is there: its two links, of which `secret` is in one, with where to search. */
function celebrate(survey, secret, origin, searched) {
  say("");
  const answer = `${origin}/answer/${survey.digest}`;
  const results = `${origin}/results/${survey.digest}#${new URLSearchParams({ token: secret, ...searched })}`;
  const heading = el("h2", { tabindex: "-1", dir: "auto" }, text("ask.ready", { name: short(survey.name, 120) }));
  fill(
    $("made"),
    el(
      "section",
      { class: "card", "aria-label": text("ask.readyLabel") },
      heading,
      caution(answer),
      link("everyone", answer),
      qr(answer),
      link("alone", results),
    ),
  );
  $("made").hidden = false;
  $("form").hidden = true;
  heading.focus();
}

/** The form and what became of it: the plan for what it says now, and the surveys that there are. */
class Asking {
  #editor = new FormEditor($("editor"));
  #preview = new Preview($("preview"));
  #replaces; // the digest of the survey that is edited
  #chart = new Picture($("chart"));
  #token;
  #origin;
  #plan;
  #asked; // what the form said last, as text
  #waiting; // while the planner is at work: what is to be asked after it, if anything
  #timer;
  #digests = new Set();
  #draft; // what was filled in, as long as the page says so
  #found; // the plan that the planner made, which is told again in another language
  #request; // what was asked of the planner for it
  #made; // what was created last: the survey, its key and where
  #meanChosen = false; // until somebody has, the error of the mean follows the scale

  async start() {
    this.#token = await findKey();
    if (!this.#token) return locked("");
    try {
      this.#origin = (await ask("/v1/collector")).public_url ?? location.origin;
      await this.#list();
    } catch (problem) {
      if (problem.status === 401 || problem.status === 403) {
        dropKey();
        return locked("ask.wrongKey");
      }
      say([problemText(problem), " ", text("desk.again")]);
      return setTimeout(() => this.start(), 3000);
    }
    say("");
    $("form").hidden = false;
    $("mean-error").addEventListener("input", () => (this.#meanChosen = true));
    $("form").addEventListener("input", () => this.#changed());
    $("form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#create();
    });
    $("experts").addEventListener("toggle", () => this.#draw());
    this.#changed();
    const draft = takeDraft();
    if (draft) this.#duplicate(draft);
  }

  #changed() {
    const asked = this.#editor.value;
    const { kind, ...scale } = asked;
    const byError = chosen("goal") === "error";
    const mean = isAboutMean(kind);
    const found = kind === "free";
    const byCount = $("find-by").value === "byCount";
    $("by-error").hidden = !byError || mean || found;
    $("by-mean").hidden = !byError || !mean;
    $("by-found").hidden = !byError || !found;
    $("find-texts-part").hidden = !byCount;
    $("find-above-part").hidden = byCount;
    $("by-epsilon").hidden = byError;
    $("mean-hint").textContent = mean ? text(`ask.meanHint_${kind}`) : "";
    $("error-hint").textContent = text(kind === "form" ? "forms.errorHint" : "forms.errorHintOne");
    this.#preview.show(screens({ title: "", questions: [asked], ...asked, ...writtenRules() }));
    if (!this.#meanChosen) $("mean-error").value = firstMeanError({ kind, ...scale });
    const now = question(asked);
    const said = JSON.stringify(now);
    if (said === this.#asked) return;
    this.#asked = said;
    this.#plan = undefined;
    this.#found = undefined;
    $("create").disabled = true;
    $("experts").hidden = true;
    $("headline").textContent = text("ask.choice");
    clearTimeout(this.#timer);
    const missing = typeof now === "string";
    fill($("plan"), el("p", { class: "quiet" }, missing ? now : text("ask.planning")));
    if (!missing) this.#timer = setTimeout(() => this.#think(now, said), PAUSE);
  }

  /** One question at a time; of those that were typed meanwhile only the last is asked. */
  async #think(now, said) {
    if (this.#waiting) {
      this.#waiting = { now, said };
      return;
    }
    this.#waiting = {};
    let found;
    let problem;
    try {
      const path = now.questions ? "/v1/plan/form" : "/v1/plan";
      found = await ask(path, { method: "POST", token: this.#token, body: now });
    } catch (caught) {
      problem = caught;
    }
    const next = this.#waiting;
    this.#waiting = undefined;
    if (next.now) return this.#think(next.now, next.said);
    if (said !== this.#asked) return;
    if (problem) return fill($("plan"), ...refused(problem, now, (way) => this.#offer(way)));
    this.#request = now;
    await this.#tell(found, said);
  }

  /** A plan, in words and as a chart. */
  async #tell(found, said) {
    const kind = found.form ? undefined : await kindOf(found.survey);
    const n = kind ? kind.numbers(found.survey) : await numbersOf(found);
    if (said !== this.#asked) return;
    this.#found = found;
    this.#plan = kind ? found : { ...found, survey: found.form, lines: [] };
    if (kind) show(found, kind, n);
    else showForm(found, n);
    $("create").disabled = false;
    $("experts").hidden = false;
    this.#draw();
    if (this.#request.relate) this.#without(this.#request, said, found);
  }

  /** What related questions cost: the plan of the same form without pairs, beside the one that is shown. */
  async #without({ relate, ...now }, said, found) {
    fill($("relating"), el("h3", {}, text("relate.cost")), el("p", { class: "quiet" }, text("ask.planning")));
    const told = await ask("/v1/plan/form", { method: "POST", token: this.#token, body: now }).then(
      (apart) => relatingWords(found, apart),
      () => undefined, // without it there is nothing to compare with
    );
    if (said !== this.#asked) return;
    const list = told && el("ul", {}, ...told.map((one) => el("li", {}, one)));
    fill($("relating"), list && el("h3", {}, text("relate.cost")), list);
  }

  /** Plan for so many people and exactly this epsilon, whatever error that gives. */
  #offer({ n, epsilon }) {
    choose("goal", "epsilon");
    $("people").value = n;
    $("epsilon").value = epsilon;
    this.#changed();
    $("plan-title").focus(); // the button that was pressed is gone
  }

  /** The chart of the plan, when somebody looks. */
  #draw() {
    if (!this.#plan?.lines.length || !$("experts").open) return;
    this.#chart.draw(planChart(this.#plan)).catch((problem) => say(problemText(problem), "bad"));
  }

  async #create() {
    if (!this.#plan) return;
    $("create").disabled = true;
    const { survey } = this.#plan;
    const token = this.#token;
    try {
      await this.#list();
      if (this.#digests.has(survey.digest) && survey.digest !== this.#replaces) {
        $("create").disabled = false;
        return sayInView(text("ask.before"));
      }
      const rules = {
        results: $("results").value,
        minimum: Math.max(1, Math.round(Number($("minimum").value) || 1)),
        window: $("window").value,
        ...writtenRules(),
      };
      const path = this.#replaces ? `/v1/surveys/${this.#replaces}/replace` : "/v1/surveys";
      await ask(path, { method: "POST", token, body: { survey, rules } });
      this.#edit(undefined);
      const key = { kind: "owner", name: "private link" };
      const made = await ask(`/v1/surveys/${survey.digest}/tokens`, { method: "POST", token, body: key });
      this.#made = [survey, made.token, this.#origin, this.#searched()];
      celebrate(...this.#made);
      await this.#list();
    } catch (problem) {
      $("create").disabled = false;
      sayInView([text("ask.notCreated"), " ", problemText(problem)], "bad");
    }
  }

  /** What answers are made of, where texts are searched for: part of the private link, since no survey has it. */
  #searched() {
    const { kind, alphabet, characters } = this.#editor.value;
    return kind === "free" ? writtenAlphabet(alphabet, characters) : {};
  }

  async #list() {
    const { surveys } = await ask("/v1/surveys", { token: this.#token });
    this.#digests = new Set(surveys.map(({ digest }) => digest));
    $("known").hidden = !surveys.length;
    fill($("known-status"));
    const options = {
      token: this.#token,
      results: (digest) => `/results/${digest}`, // this tab has the key
      again: () => this.#list(),
      gone: (text) => this.#list().then(() => tell($("known-status"), text, "good")),
      duplicate: (draft) => this.#duplicate(draft),
      edit: (draft) => this.#duplicate(draft),
    };
    fill($("surveys"), surveyList(surveys, options));
  }

  #duplicate(draft) {
    $("made").hidden = true;
    fillForm(draft);
    this.#editor.fill(draft);
    this.#edit(draft.replaces);
    this.#changed();
    this.#tellDraft(draft);
  }

  /** Where what stands in the form comes from, and with what it is replaced. */
  #tellDraft(draft) {
    this.#draft = draft;
    if (!draft.replaces) return say(text("ask.filled"));
    const told = text("forms.editing", { name: nameOf({ survey: { name: draft.question } }) });
    const keep = el("button", { type: "button", class: "plain", onclick: () => location.reload() }, text("forms.keep"));
    fill($("status"), el("p", { class: "note" }, told), el("div", { class: "actions" }, keep));
  }

  /** All of it in another language; what was entered stays. */
  async again() {
    $("scale").textContent = scaleWords();
    $("headline").textContent = text("ask.choice");
    if (!this.#token) return;
    const focused = document.activeElement;
    const { title, ...value } = this.#editor.value;
    this.#editor = new FormEditor($("editor"));
    this.#editor.fill(title === undefined ? value : { ...value, question: title });
    focused?.focus();
    this.#edit(this.#replaces);
    say("");
    if (this.#draft && $("made").hidden) this.#tellDraft(this.#draft);
    if (!$("made").hidden) celebrate(...this.#made);
    const found = this.#found;
    const before = this.#asked;
    if (!found) this.#asked = undefined;
    this.#changed();
    await Promise.all([found && this.#tell(found, before), kept($("surveys"), () => this.#list())]);
  }

  /** From here on the form is in the place of a survey that is there, or of none. */
  #edit(digest) {
    this.#replaces = digest;
    $("create").textContent = text(digest ? "forms.save" : "forms.create");
  }
}

const page = {};
await open(() => page.asking?.again());
page.asking = new Asking();
await page.asking.again();
page.asking.start();
