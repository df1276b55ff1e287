/**
 * What may be done with a survey by whoever asked it: close, reopen, other texts or another closing date, duplicate,
 * delete. Ask has a list of all surveys, Results a part for its own.
 */

import { $, ask, el, fill, sentence, short, tell, whole } from "./common.js";
import { answered, draftQuestions, isForm } from "./form.asking.js";
import { moment, text } from "./texts.js";
import { fromField, toField } from "./written.js";

const DRAFT = "deniable-draft/1"; // in sessionStorage: what Duplicate hands to the form
const FIELDS = { introduction: 2000, thanks: 1000 };

const path = ({ digest }) => `/v1/surveys/${digest}`;
export const nameOf = ({ survey, digest }) => short(survey.name || digest.slice(0, 16), 200);
const answers = (count) =>
  count === undefined ? "its answers" : count === 1 ? "its 1 answer" : `its ${whole(count)} answers`;

/** How a survey stands, in a few words. */
export function standing({ state, final, rules: { closes } }) {
  const over = closes && new Date(closes) <= new Date();
  if (state === "open") return closes ? `open until ${moment(closes)}` : "open";
  if (final) return "closed for good";
  return over ? `ended on ${moment(closes)}` : "closed";
}

/** All surveys, each with its links and what may be done with it. `results` gives the address of one's results. */
export function list(surveys, { results, ...options }) {
  return el(
    "ul",
    { class: "plainlist" },
    ...surveys.map((told) => {
      const links = [
        el("a", { class: "button plain", href: `/answer/${told.digest}` }, "Answer"),
        el("a", { class: "button plain", href: results(told.digest) }, "Results"),
      ];
      const count =
        told.reports === undefined ? "" : `, ${told.reports === 1 ? "1 answer" : `${whole(told.reports)} answers`}`;
      return el(
        "li",
        {},
        el("h3", { class: "break", dir: "auto" }, nameOf(told)),
        el("p", { class: "quiet small" }, standing(told) + count),
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
    el("h2", {}, "Your survey"),
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
  const about = `Of the survey “${nameOf(told)}”`;
  const button = (text, work, kind = "plain") =>
    el("button", { type: "button", class: kind, title: about, onclick: work }, text);
  const send = async (method, route, body, done) => {
    try {
      await ask(path(told) + route, { method, token, body });
      await again();
      tell($(noteOf(told)), done, "good");
    } catch (problem) {
      tell($(noteOf(told)), sentence(problem.message), "bad");
    }
  };
  const close = () =>
    send("POST", "/close", {}, `“${nameOf(told)}” is closed. It takes no answers until you reopen it.`);
  const reopen = () => send("POST", "/reopen", {}, `“${nameOf(told)}” is open again.`);
  const change = told.state === "open" ? button("Close", close) : told.final ? null : button("Reopen", reopen);
  const remove = button("Delete", () => confirmDelete(told, { token, gone }), "plain danger");
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
  const field = (name, text, hint, made) => {
    made.id = `${name}-${told.digest}`;
    return el(
      "div",
      { class: "field" },
      el("label", { for: made.id }, text, el("span", { class: "hint" }, hint)),
      made,
    );
  };
  const closes = el("input", { type: "datetime-local", value: toField(told.rules.closes) });
  const area = (name) => el("textarea", { rows: "3", dir: "auto", maxlength: FIELDS[name] }, told.rules[name]);
  const written = { introduction: area("introduction"), thanks: area("thanks") };
  const form = el(
    "form",
    {},
    field("closes", "Closes on", "On this device's clock; empty: when you close it", closes),
    field("introduction", "Introduction", "Above the question; plain text", written.introduction),
    field("thanks", "Thank-you", "After an answer; plain text", written.thanks),
    el("button", { type: "submit" }, "Save"),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const rules = { introduction: written.introduction.value, thanks: written.thanks.value };
    const time = fromField(closes.value);
    if (time !== told.rules.closes) rules.closes = time;
    send("PATCH", "", { rules }, `“${nameOf(told)}” is changed.`);
  });
  return el("details", {}, el("summary", {}, "Closing date and texts"), form);
}

/** Ask once more, and say what goes: a question of its own, that a keyboard and a screen reader stay inside. */
async function confirmDelete(told, { token, gone }) {
  let count;
  try {
    const { reports, windows } = await ask(`${path(told)}/windows`, { token });
    count =
      reports ??
      (windows.some((one) => one.reports === null) ? undefined : windows.reduce((sum, one) => sum + one.reports, 0));
  } catch (problem) {
    return tell($(noteOf(told)), sentence(problem.message), "bad");
  }
  const keep = el("button", { type: "button", class: "plain", autofocus: true }, "Keep it");
  const remove = el("button", { type: "button", class: "danger" }, `Delete it with ${answers(count)}`);
  const failed = el("div", { role: "alert" });
  const dialog = el(
    "dialog",
    { "aria-labelledby": "delete-title", "aria-describedby": "delete-what" },
    el("h2", { id: "delete-title" }, "Delete this survey?"),
    el(
      "div",
      { id: "delete-what" },
      el("p", { class: "break", dir: "auto" }, el("b", {}, nameOf(told))),
      el(
        "p",
        {},
        `The survey, ${answers(count)}, its results, its links and its keys will be gone for good. Nobody can ` +
          "bring them back, you included.",
      ),
      el(
        "p",
        {},
        "Whoever opens the link afterwards reads that there is no such survey. To stop it and keep its results, " +
          "close it instead.",
      ),
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
      await gone(`“${nameOf(told)}” is deleted with ${answers(reports)}.`);
    } catch (problem) {
      remove.disabled = false;
      fill(failed, el("p", { class: "note bad" }, sentence(problem.message)));
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
    ...(isForm(survey) ? { questions: draftQuestions(survey) } : answered(survey, looked)),
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
