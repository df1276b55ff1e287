/**
 * The respondent's page for a form: a question a screen, back and forth, one roll for all of them at the end, shown a
 * question at a time, and one send. What was said is in the fields of this page alone, which are kept while other
 * screens are shown, and are gone with the roll.
 */

import { rest } from "./dice.js";
import { line, list } from "./fields.js";
import { readForm } from "./form.min.js";
import { complete, slotsOf, steps, together } from "./form.steps.js";
import { kindOf } from "./kinds.js";
import { inscribe, load } from "./languages.js";
import { $, el, fetched, fill, symbolText } from "./page.js";
import { partsOf } from "./record.js";
import { number, sentences, series, text } from "./texts.js";
import { atMost } from "./words.js";

/** The form that the client answers, checked, and of each part its kind and its channel. */
export async function prepare(fields) {
  const asked = [...fields.questions, ...(fields.public ?? [])];
  // Before anything is asked: a request in between would fail offline, and tell how far somebody came.
  const scaled = asked.some(({ alphabet }) => alphabet.kind === "number") && [import("./near.js"), load("near")];
  const [form] = await Promise.all([readForm(fields), fetched([load("form"), styled(), ...(scaled || [])])]);
  const byName = new Map(asked.map((question) => [question.name, question]));
  const shown = await Promise.all(fields.parts.map((part, place) => partOf(form.parts[place], part, byName)));
  return Object.assign(form, { byName, shown });
}

const sheet = {};
/** The style of forms, which no other survey needs. */
const styled = () =>
  (sheet.loaded ??= new Promise((done) => {
    document.head.append(el("link", { rel: "stylesheet", href: "/pages/form.css", onload: done, onerror: done }));
  }));

/** A part as its kind takes it: a survey over the answers that it has, or over the pairs of two lists. */
async function partOf(made, { questions, encoding, mechanism }, byName) {
  const [first, second] = made.questions;
  const answers = ({ listed, skip }) => [...listed.map(symbolText), ...(skip ? [text("form.none")] : [])];
  const pairs = () => answers(first).flatMap((one) => answers(second).map((two) => text("form.pair", { one, two })));
  const changed = second || (first.skip && first.listed);
  const symbols = changed && (second ? pairs() : answers(first));
  const alphabet = changed ? { kind: "closed", symbols } : byName.get(first.name).alphabet;
  const survey = { alphabet, encoding, mechanism };
  const kind = await kindOf(survey);
  const titles = questions.map((name) => byName.get(name).title || name);
  return { survey, kind, n: kind.numbers(numbered(survey, made)), title: series(titles), made };
}

/** The same where a channel is computed from the survey's file, of which the texts are no part. */
const numbered = (survey, made) => ({ ...survey, made });

/** Whether what is drawn is kept before anything is answered: whoever did not like it could load the page again. */
export const keepsDraw = (form) => form.drawn < form.parts.length;

export function numbers(form) {
  const channels = form.shown.map(({ n }) => n);
  const found = together(form, channels);
  const uneven = form.shown.filter(({ n }) => n.promise);
  const promise = text(found.twice ? "form.promiseTwice" : "form.promise", {
    odds: atMost(found.odds),
    all: atMost(found.lifetime),
  });
  const own = uneven.map(({ title, n }) => text("form.ofQuestion", { title, said: n.promise }));
  return {
    ...found,
    promise: sentences(promise, ...own),
    ...(uneven.length && { certain: text("form.certain"), what: uneven[0].n.what, deniable: uneven[0].n.deniable }),
    told: { group: text("form.bytesGroup"), payload: text("form.bytesPayload") },
  };
}

/** What can be seen beside the answers. */
export const clear = ({ agreed }) =>
  [
    agreed.drawn < agreed.parts.length && text("form.drawnSeen"),
    agreed.parts.some(({ when }) => when) && text("form.askedSeen"),
  ].filter(Boolean);

export const whatHappens = (_n, _who, { client }) => text("form.happens", { count: client.questions.length });

/** What whoever asks, or whoever answers, has written: in its own direction, and in its place in the page's. */
const written = (said) => el("span", { dir: "auto" }, said);

/** Where one question is answered. */
function fieldOf(asked, name) {
  const { agreed, client } = asked;
  const { alphabet } = agreed.byName.get(name);
  const question = [...agreed.questions, ...agreed.public].find((one) => one.name === name);
  const part = agreed.shown.find(({ made }) => made.questions.some((one) => one.name === name));
  const survey = { ...part?.survey, alphabet };
  const listed = alphabet.kind === "number" && (!part || question.skip || part.made.questions.length > 1);
  if (listed) return numberOf(survey, question);
  if (part?.made.questions.length === 1)
    return part.kind.field({ ...asked, survey, n: part.n, client: { ...client, survey: part.made } });
  return alphabet.symbols ? list({ survey }) : line();
}

/** A number of which no odds are drawn, because it has no order with "no answer" in it. */
async function numberOf(survey, question) {
  const [near] = await Promise.all([import("./near.js"), load("near")]);
  const { shown, chosen, tell, again } = near.number({ survey, client: { survey: { names: question.listed } } });
  const changed = () => tell(chosen() === undefined ? undefined : question.place(chosen()));
  return { shown, chosen, changed, forget: () => tell(), again };
}

/** All questions, each on a screen of its own, and then what was said. */
export function field(asked) {
  let { agreed } = asked;
  const { client } = asked;
  const fields = new Map();
  const skipped = new Set();
  let at = 0;
  const shown = el("div", { id: "screen" });
  const titleOf = (name) => agreed.byName.get(name).title || name;
  const given = () => {
    const found = {};
    for (const [name, { chosen }] of fields) found[name] = chosen();
    for (const name of skipped) found[name] = null;
    return found;
  };
  const names = () => steps(agreed, client.questions, given());
  const changed = () => $("form").dispatchEvent(new Event("input"));

  // The page around a frame can count the entries: how far somebody came, and so which question came next.
  const turn = parent === window ? "pushState" : "replaceState";
  const go = (to) => {
    history[turn]({ screen: to }, "");
    at = to;
    return draw(true);
  };
  const button = (name, attributes) => el("button", { type: "button", ...attributes }, text(`form.${name}`));

  async function draw(focus) {
    const all = names();
    const told = given();
    const missing = all.findIndex((name) => told[name] === undefined);
    // Nothing is left out that was not skipped, however somebody came here.
    at = Math.min(at, missing < 0 ? all.length : missing);
    const review = at === all.length;
    $("main").classList.toggle("further", at > 0);
    for (const part of [$("roll"), $("before").parentElement]) part.hidden = !review;
    const name = all[at];
    if (!review && !fields.has(name)) {
      const made = await fieldOf(asked, name);
      if (!$("form") || names()[at] !== name) return; // the page has gone on meanwhile
      if (!fields.has(name)) fields.set(name, made);
    }
    const question = [...agreed.questions, ...agreed.public].find((one) => one.name === name);
    fill(
      $("legend"),
      written(review ? text("form.review") : titleOf(name)),
      el("span", { class: "hint" }, text(question?.public ? "form.public" : review ? "form.stays" : "answer.hint")),
    );
    const count = { number: Math.min(at + 1, all.length), of: all.length };
    fill(
      shown,
      ...(review ? [said(all)] : fields.get(name).shown),
      el(
        "div",
        { class: "actions turns" },
        at > 0 && button("back", { class: "plain", id: "back", onclick: () => go(at - 1) }),
        !review && question.skip && button("skip", { class: "plain", id: "skip", onclick: skip }),
        !review && el("button", { type: "submit", id: "next" }, text("form.next")),
      ),
    );
    fill(
      $("progress"),
      el("progress", { max: all.length, value: Math.min(at, all.length), "aria-hidden": "true" }),
      el("span", {}, review ? text("form.all", { count: all.length }) : text("form.progress", count)),
    );
    changed();
    if (focus) $("legend").focus();
  }

  /** What was said, to be looked at once more. It is on this page as it was in the fields. */
  const said = (all) => {
    const told = given();
    const row = (name, place) => [
      el("dt", {}, written(titleOf(name))),
      el("dd", {}, written(spoken(told[name])), " ", again(name, place)),
    ];
    return el("dl", { class: "said-before" }, ...all.flatMap(row));
  };
  const again = (name, place) =>
    el(
      "button",
      {
        type: "button",
        class: "plain small",
        "aria-label": text("form.changeOf", { title: titleOf(name) }),
        onclick: () => go(place),
      },
      text("form.change"),
    );
  const skip = () => {
    const name = names()[at];
    fields.delete(name);
    skipped.add(name);
    go(at + 1);
  };
  /** On to the next screen, where that may be; true if there was one to leave. */
  const advance = () => {
    if (at === names().length) return false;
    if (given()[names()[at]] !== undefined) go(at + 1);
    return true;
  };

  addEventListener("popstate", ({ state }) => {
    if (!$("form")) return;
    at = state?.screen ?? 0;
    draw(true);
  });
  $("legend").setAttribute("tabindex", "-1");
  $("roll").textContent = text("form.roll");
  $("choice").before(el("div", { id: "progress", role: "status" }));
  draw();
  return {
    shown: [shown],
    advance,
    again() {
      agreed = asked.agreed;
      for (const one of fields.values()) {
        one.again?.();
        inscribe(fill(el("div"), ...one.shown));
      }
      $("roll").textContent = text("form.roll");
      draw();
    },
    chosen: () => (at === names().length ? complete(agreed, client.questions, given()) : undefined),
    changed: () => {
      const name = names()[at];
      const { chosen, changed: told } = fields.get(name) ?? {};
      if (chosen?.() !== undefined) skipped.delete(name);
      told?.();
      if ($("next")) $("next").disabled = given()[name] === undefined;
    },
    forget: () => {
      for (const one of fields.values()) one.forget?.();
      fields.clear();
      skipped.clear();
      at = 0;
      if ($("form")?.contains(shown)) draw();
    },
  };
}

const spoken = (value) =>
  value === null
    ? text("form.none")
    : typeof value === "number"
      ? number(value, { maximumFractionDigits: 20 })
      : symbolText(typeof value === "bigint" || value?.buffer ? String(value) : value);

/** The cells of what was said in each part that was answered: known right after the roll and never again. */
export function truth({ agreed, n }, answers, record) {
  const found = slotsOf(agreed, channelsOf(agreed), partsOf(record, n));
  return found.map(({ place, cohort }) => {
    const part = agreed.parts[place];
    return part.encoding.of(cohort, part.symbol(answers));
  });
}

const channelsOf = ({ shown }) => shown.map(({ n }) => n);

/**
 * What leaves, a question at a time: the picture at once, and on `tell` the words and the way on. `truths` is emptied:
 * of each question when it is drawn, and of those that are left when the page is.
 */
export function show(asked, sent, truths) {
  const { agreed, n } = asked;
  const found = slotsOf(agreed, channelsOf(agreed), sent);
  let at = 0;
  addEventListener("pagehide", () => truths?.fill(null));

  const draw = () => {
    const { place, cells } = found[at];
    const { kind, n: own, title } = agreed.shown[place];
    const fell = truths?.[at] && kind.rolled(own, truths[at], cells);
    if (truths) truths[at] = null;
    const drawn = fell ? kind.picture(fell) : kind.afterwards(own, cells);
    fill($("sent"));
    $("deny").textContent = "";
    fill(
      $("die"),
      el("p", { class: "quiet small" }, text("form.shown", { number: at + 1, of: found.length })),
      el("h3", { tabindex: "-1", id: "rolled-question" }, written(title)),
      drawn,
    );
    return { drawn, fell };
  };
  const tellOf = (fell) => {
    const { place, cohort, cells } = found[at];
    const { kind, n: own, survey, made } = agreed.shown[place];
    // What was drawn for this part stands for the client's own.
    const client = { status: () => ({ cohort }), survey: made };
    if (fell) $("fell").textContent = sentences(fell.said, text("answer.onlyYou"));
    fill($("sent"), kind.inWords(cells, { ...asked, survey, n: own, client }));
    $("deny").textContent = kind.denial(own, cells);
    const more = at + 1 < found.length;
    fill($("turns"), ...(more ? [onward()] : []));
    if (more && truths) return;
    $("send").hidden = false;
    $("wire").hidden = false;
  };
  const onward = () =>
    el(
      "button",
      { type: "button", class: truths ? "wide" : "wide plain", id: "onward", onclick: go },
      text("form.onward"),
    );
  const go = async () => {
    at += 1;
    const { drawn, fell } = draw();
    fill($("turns"));
    $("rolled-question").focus();
    await rest(drawn);
    tellOf(fell);
  };

  $("deny").after(el("div", { id: "turns" }));
  if (!found.length) return { drawn: null, tell: () => nothing(n) };
  const { drawn, fell } = draw();
  return { drawn, tell: () => tellOf(fell) };
}

/** What was sent, in words, when it is no longer shown a question at a time. */
export function end({ agreed, n, record, ...asked }) {
  if (!record) return;
  const found = slotsOf(agreed, channelsOf(agreed), partsOf(record, n));
  fill($("die"));
  fill($("turns"));
  $("deny").textContent = "";
  const told = ({ place, cohort, cells }) => {
    const { kind, n: own, survey, made, title } = agreed.shown[place];
    const client = { status: () => ({ cohort }), survey: made };
    return [el("h3", {}, written(title)), kind.inWords(cells, { ...asked, survey, n: own, client })];
  };
  fill($("sent"), ...found.flatMap(told));
}

/** Conditions may leave no question to a device: that it took part is all that is sent. */
function nothing() {
  fill($("sent"), el("p", {}, text("form.nothing")));
  $("send").hidden = false;
  $("wire").hidden = false;
}
