/**
 * Keys: the administrator's, and those of private results, each under its survey's digest. A link brings one after its
 * #. It is taken in at once and removed from the address, so that no address that is shared, bookmarked or gone back to
 * has it. It is kept for the tab (sessionStorage): it survives reloads and other pages, and is gone when the tab is
 * closed. A new tab gets it from one that is open. The answer page has nothing to do with any of this.
 */

import { $, el } from "./common.js";
import { open } from "./languages.js";
import { text } from "./texts.js";

const PLACE = "deniable-key/1/";
const ADMIN = "admin";
const PATIENCE = 250; // milliseconds that a new tab waits for another one before it asks a person

/** Whose key this page is about. */
const here = location.pathname.startsWith("/results/") ? location.pathname.split("/")[2] : ADMIN;
const memory = {}; // where the browser keeps nothing: for this page alone

const read = (whose) => {
  try {
    return sessionStorage.getItem(PLACE + whose) ?? memory[whose] ?? "";
  } catch {
    return memory[whose] ?? "";
  }
};

function write(whose, key) {
  memory[whose] = key;
  try {
    if (key) sessionStorage.setItem(PLACE + whose, key);
    else sessionStorage.removeItem(PLACE + whose);
  } catch {
    // Without storage a reload asks again.
  }
}

/** The parts of the address after the #, without the key, which is kept. Whether there was one. */
function takeIn() {
  const parts = new URLSearchParams(location.hash.slice(1));
  if (!parts.has("token")) return false;
  write(here, parts.get("token").trim());
  parts.delete("token");
  history.replaceState(null, "", location.pathname + location.search + (String(parts) && `#${parts}`));
  return true;
}

takeIn();
addEventListener("hashchange", () => {
  // Another link was opened in this tab; a skip link or a list of candidates is none.
  if (takeIn()) location.reload();
});

// A skip link moves the focus and leaves the address alone, which may hold candidates.
document.querySelector(".skip")?.addEventListener("click", (event) => {
  event.preventDefault();
  const main = $("main");
  main.tabIndex = -1;
  main.focus();
});

const known = () => read(here) || read(ADMIN);

/** Forget all keys of this tab; whether there were any. */
function clear() {
  const names = new Set([...Object.keys(memory), here, ADMIN]);
  try {
    for (const name of Object.keys(sessionStorage)) if (name.startsWith(PLACE)) names.add(name.slice(PLACE.length));
  } catch {
    // There is no storage.
  }
  const had = [...names].filter(read);
  for (const whose of had) write(whose, "");
  return had.length > 0;
}

const tabs = new BroadcastChannel("deniable-keys");
tabs.addEventListener("message", ({ data: { wanted = [], ticket, forgotten } }) => {
  const found = Object.fromEntries(wanted.map((whose) => [whose, read(whose)]).filter(([, key]) => key));
  if (Object.keys(found).length) tabs.postMessage({ given: found, ticket });
  if (forgotten && clear()) location.reload();
});

/**
 * Ask the other tabs, as soon as this file is loaded. A busy one may answer when this one has asked a person already;
 * but no answer counts that is another tab's, or that comes after all of them were told to forget.
 */
async function lookAround() {
  const wanted = [...new Set([here, ADMIN])];
  const ticket = Math.random();
  let waiting = true;
  let over = false;
  await new Promise((done) => {
    tabs.addEventListener("message", ({ data: { given, ticket: whose, forgotten } }) => {
      over ||= Boolean(forgotten || known());
      if (over || !given || whose !== ticket) return;
      for (const name of wanted) if (given[name]) write(name, given[name]);
      if (waiting) done();
      else location.reload();
    });
    tabs.postMessage({ wanted, ticket });
    setTimeout(done, PATIENCE);
  });
  waiting = false;
}
const looking = known() ? undefined : lookAround();

/**
 * The key of this page, from this tab or another: that of its survey, else the administrator's; "" if there is none.
 */
export async function findKey() {
  await looking;
  await open();
  offerToForget();
  return known();
}

/** Keep what a person typed: a key, or a whole link with one, of which the address takes the other parts. */
export function keepKey(typed) {
  const [, parts] = typed.trim().split(/#(.*)/s);
  const others = new URLSearchParams(parts);
  write(here, (others.get("token") ?? typed).trim());
  if (!others.has("token")) return;
  others.delete("token");
  if (String(others)) history.replaceState(null, "", `${location.pathname}${location.search}#${others}`);
}

/** A key that opens nothing is not kept. */
export function dropKey() {
  write(read(here) ? here : ADMIN, "");
  $("forget")?.remove();
}

/** Whether this tab has the administrator's key, which creating a survey takes. */
export const isAdministrator = () => Boolean(read(ADMIN));

/** The survey of this page is deleted, and its key opens nothing. */
export const dropOwnKey = () => write(here, "");

/** A button among the links of the page; other tabs forget, too. */
function offerToForget() {
  if (!known() || $("forget")) return;
  const forget = () => {
    clear();
    tabs.postMessage({ forgotten: true });
    location.reload();
  };
  document
    .querySelector("header.top nav")
    .append(
      el(
        "button",
        { type: "button", id: "forget", "data-text": "desk.keyForget", onclick: forget },
        text("desk.keyForget"),
      ),
    );
}
open().then(offerToForget);

/** What else a page keeps after its #: the candidates of open questions. */
export const candidatesHere = () => new URLSearchParams(location.hash.slice(1)).getAll("candidate");
