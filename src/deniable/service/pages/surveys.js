/**
 * What may be done with a survey by whoever asked it: close, reopen, other texts or another closing date, duplicate,
 * delete. Ask has a list of all surveys, Results a part for its own.
 */

import { $, ask, el, fill, sentence, short, tell } from "./common.js";
import { answered, draftQuestions, isForm } from "./form.asking.js";
import { pairPlaces } from "./form.pairs.js";
import { problemText } from "./problems.js";
import { moment, text } from "./texts.js";
import { fromField, toField } from "./written.js";

const DRAFT = "deniable-draft/1"; // in sessionStorage: what Duplicate hands to the form
const FIELDS = { introduction: 2000, thanks: 1000 };

const path = ({ digest }) => `/v1/surveys/${digest}`;
export const nameOf = ({ survey, digest }) => short(survey.name || digest.slice(0, 16), 200);

/** How a survey stands, in a few words. */
export function standing({ state, final, rules: { closes } }) {
  const over = closes && new Date(closes) <= new Date();
  const time = closes && { time: moment(closes) };
  if (state === "open") return closes ? text("desk.standsUntil", time) : text("desk.standsOpen");
  if (final) return text("desk.standsFinal");
  return over ? text("desk.standsOver", time) : text("desk.standsClosed");
}

/** All surveys, each with its links and what may be done with it. `results` gives the address of one's results. */
export function list(surveys, { results, ...options }) {
  return el(
    "ul",
    { class: "plainlist" },
    ...surveys.map((told) => {
      const links = [
        el("a", { class: "button plain", href: `/answer/${told.digest}` }, text("desk.answer")),
        el("a", { class: "button plain", href: results(told.digest) }, text("desk.results")),
      ];
      const count = told.reports !== undefined && text("desk.answers", { count: told.reports });
      return el(
        "li",
        {},
        el("h3", { class: "break", dir: "auto" }, nameOf(told)),
        el("p", { class: "quiet small" }, [standing(told), count].filter(Boolean).join(text("words.comma"))),
        ...controls(told, { ...options, links }),
      );
    }),
  );
}

/** The part of Results that is for whoever asked: filled once, and again after a change. */
export async function manage(target, { reports, looked, ...options }) {
  const told = { ...(await ask(path(options))), reports, looked };
  fill(
    target,
    el("h2", {}, text("desk.own")),
    el("p", { class: "quiet" }, sentence(standing(told))),
    ...controls(told, options),
  );
  target.hidden = false;
}

const noteOf = ({ digest }) => `note-${digest}`;

/**
 * Buttons, and a form for what may change. `again` shows the survey as it is now, `gone` that it is not there any more,
 * with what to say; without `duplicate` there is no such button. What happened is said under the buttons.
 */
function controls(told, { token, again, gone, duplicate, edit, links = [] }) {
  const name = { name: nameOf(told) };
  const button = (said, work, kind = "plain") =>
    el("button", { type: "button", class: kind, title: text("desk.about", name), onclick: work }, said);
  const send = async (method, route, body, done) => {
    try {
      await ask(path(told) + route, { method, token, body });
      await again();
      tell($(noteOf(told)), done, "good");
    } catch (problem) {
      tell($(noteOf(told)), problemText(problem), "bad");
    }
  };
  const close = () => send("POST", "/close", {}, text("desk.isClosed", name));
  const reopen = () => send("POST", "/reopen", {}, text("desk.isOpen", name));
  const closed = () => (told.final ? null : button(text("desk.reopen"), reopen));
  const change = told.state === "open" ? button(text("desk.close"), close) : closed();
  const remove = button(text("desk.delete"), () => confirmDelete(told, { token, gone }), "plain danger");
  const copy = duplicate && button(text("forms.copy"), () => duplicate(draftOf(told)));
  const editable = edit && told.reports === 0 && !told.final;
  const another = editable && button(text("forms.edit"), () => edit({ ...editOf(told), replaces: told.digest }));
  return [
    el("div", { class: "actions" }, ...links, another, change, copy, remove),
    el("div", { id: noteOf(told), role: "status", tabindex: "-1" }),
    texts(told, send),
  ];
}

/** Closing date, introduction and thanks of a survey that is there. */
function texts(told, send) {
  const field = (name, made) => {
    made.id = `${name}-${told.digest}`;
    const hint = el("span", { class: "hint" }, text(`desk.${name}Hint`));
    return el("div", { class: "field" }, el("label", { for: made.id }, text(`desk.${name}`), " ", hint), made);
  };
  const closes = el("input", { type: "datetime-local", value: toField(told.rules.closes) });
  const area = (name) => el("textarea", { rows: "3", dir: "auto", maxlength: FIELDS[name] }, told.rules[name]);
  const written = { introduction: area("introduction"), thanks: area("thanks") };
  const form = el(
    "form",
    {},
    field("closes", closes),
    field("introduction", written.introduction),
    field("thanks", written.thanks),
    el("button", { type: "submit" }, text("desk.saveTexts")),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const rules = { introduction: written.introduction.value, thanks: written.thanks.value };
    const time = fromField(closes.value);
    if (time !== told.rules.closes) rules.closes = time;
    send("PATCH", "", { rules }, text("desk.isChanged", { name: nameOf(told) }));
  });
  return el("details", {}, el("summary", {}, text("desk.change")), form);
}

/** A sentence with how many answers there are, or, where nobody knows, with all of them. */
const counted = (key, count) => (count === undefined ? text(`desk.${key}All`) : text(`desk.${key}`, { count }));

/** Ask once more, and say what goes: a question of its own, that a keyboard and a screen reader stay inside. */
async function confirmDelete(told, { token, gone }) {
  let count;
  try {
    const { reports, windows } = await ask(`${path(told)}/windows`, { token });
    count =
      reports ??
      (windows.some((one) => one.reports === null) ? undefined : windows.reduce((sum, one) => sum + one.reports, 0));
  } catch (problem) {
    return tell($(noteOf(told)), problemText(problem), "bad");
  }
  const keep = el("button", { type: "button", class: "plain", autofocus: true }, text("desk.keep"));
  const remove = el("button", { type: "button", class: "danger" }, counted("deleteWith", count));
  const failed = el("div", { role: "alert" });
  const dialog = el(
    "dialog",
    { "aria-labelledby": "delete-title", "aria-describedby": "delete-what" },
    el("h2", { id: "delete-title" }, text("desk.deleteTitle")),
    el(
      "div",
      { id: "delete-what" },
      el("p", { class: "break", dir: "auto" }, el("b", {}, nameOf(told))),
      el("p", {}, counted("deleteWhat", count)),
      el("p", {}, text("desk.deleteInstead")),
    ),
    failed,
    el("div", { class: "actions" }, keep, remove),
  );
  keep.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  remove.addEventListener("click", async () => {
    remove.disabled = true;
    try {
      const { reports } = await ask(path(told), { method: "DELETE", token });
      dialog.close();
      await gone(text("desk.isDeleted", { name: nameOf(told), count: reports }));
    } catch (problem) {
      remove.disabled = false;
      fill(failed, el("p", { class: "note bad" }, problemText(problem)));
    }
  });
  document.body.append(dialog);
  dialog.showModal();
}

/**
 * What of a survey a new one begins with. The same question in the same words would be the same survey: it gets a
 * number. How many were asked is not known, only how many have answered; nor how many candidates were thought of, only
 * how many are looked for.
 */
export function draftOf({ survey, rules, reports, looked }) {
  const [, name, number] = survey.name.match(/^(.*?)(?: \((\d+)\))?$/s);
  const { closes, ...draft } = editOf({ survey, rules, reports, looked });
  return { ...draft, question: `${name} (${Number(number ?? 1) + 1})` };
}

/** The same for a survey that nobody has answered, and that the new one takes the place of: all as it is. */
export function editOf({ survey, rules, reports, looked }) {
  const [above, below = 1] = (survey.mechanism ?? survey).epsilon.split("/").map(Number);
  const { introduction, thanks, results, minimum, window, closes } = rules;
  const epsilon = String(Number((above / below).toPrecision(6)));
  const people = reports >= 10 ? reports : undefined;
  return {
    question: survey.name,
    ...(isForm(survey) ? { questions: draftQuestions(survey), relate: pairPlaces(survey) } : answered(survey, looked)),
    epsilon,
    closes,
    people,
    introduction,
    thanks,
    results,
    minimum,
    window,
  };
}

/** On another page than Ask: go there, with what the form is to be filled with. */
export function handOver(draft) {
  sessionStorage.setItem(DRAFT, JSON.stringify(draft));
  location.assign("/");
}

/** What another page handed over to the form, once. */
export function takeDraft() {
  const found = JSON.parse(sessionStorage.getItem(DRAFT) ?? "null");
  sessionStorage.removeItem(DRAFT);
  return found;
}

/** Choose one of the form's alternatives. */
export const choose = (name, value) => (document.querySelector(`input[name=${name}][value=${value}]`).checked = true);

/** Ask's form but for its question, filled with a draft. */
export function fillForm(draft) {
  choose("goal", "epsilon");
  for (const id of ["epsilon", "people", "introduction", "thanks", "results", "minimum", "window"])
    if (draft[id] !== undefined) $(id).value = draft[id];
  $("closes").value = toField(draft.closes);
  $("form").hidden = false;
}

/** The rules that Ask's form has beside those that results depend on. */
export const writtenRules = () => ({
  closes: fromField($("closes").value),
  introduction: $("introduction").value,
  thanks: $("thanks").value,
});
