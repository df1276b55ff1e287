/** What all pages share: elements made from text (never from markup), requests, sentences, numbers. */

import { fixed, number, percentage, text } from "./texts.js";

/** An element with attributes and children; a string child becomes text, whatever it holds. */
export function el(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value != null) made.setAttribute(key, value);
  }
  made.append(...there(children));
  return made;
}

/** Children that are there: `condition && el(...)` is `false` where there is none, which would be shown as a word. */
const there = (children) => children.filter((child) => child != null && child !== false);

export const $ = (id) => document.getElementById(id);

/** Put other children into an element, or nothing. */
export function fill(target, ...children) {
  target.replaceChildren(...there(children));
  return target;
}

/** Say something where a person looks: beside what was pressed. It gets the focus, so that it is seen, and read out. */
export function tell(place, text, kind = "") {
  fill(place, text && el("p", { class: `note ${kind}` }, text));
  if (!text) return;
  place.focus({ preventScroll: true });
  place.scrollIntoView({ block: "nearest" });
}

/** A problem that a collector stated, or that none was reached. */
export class Problem extends Error {
  constructor(status, sentence, told = {}) {
    super(sentence);
    this.status = status;
    this.told = told; // the whole problem document
  }
}

/** Ask the collector; the token, if there is one, travels in a header and nowhere else. */
export async function ask(path, { method = "GET", body, token, raw = false } = {}) {
  let response;
  try {
    response = await fetch(path, {
      method,
      headers: {
        ...(body && { "Content-Type": "application/json" }),
        ...(token && { Authorization: `Bearer ${token}` }),
      },
      body: body && JSON.stringify(body),
      credentials: "omit",
      referrerPolicy: "no-referrer",
      cache: "no-store",
    });
  } catch {
    throw new Problem(0, text("words.away"));
  }
  if (!response.ok) {
    const told = await response.json().catch(() => ({}));
    throw new Problem(response.status, told.detail || text("words.status", { status: response.status }), told);
  }
  return raw ? response.blob() : response.json();
}

/** A sentence of a program, which speaks English whatever the page does. */
export const foreign = (said) => el("bdi", { lang: "en" }, said);

/** The survey in the address: its digest, or nothing that could be one. */
export const digestHere = () => location.pathname.split("/")[2] ?? "";

/** A sentence begins with a capital and ends with a full stop. */
export const sentence = (text) => {
  const whole = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(whole) ? whole : `${whole}.`;
};

export const whole = (value) => number(Math.round(value));
export const percent = (share, digits = 1) => percentage(share, digits);
export const points = (share, digits = 1) => fixed(100 * share, digits);

/** A symbol as people read it: text as it is, numbers as digits, bytes as hexadecimal. */
export function symbolText(symbol) {
  if (symbol === null || typeof symbol !== "object") return String(symbol);
  return typeof symbol.bytes === "string" ? `0x${symbol.bytes}` : (symbol.int ?? JSON.stringify(symbol));
}

/** Long texts are cut in labels; the whole is elsewhere. */
export const short = (text, most = 60) =>
  [...text].length > most ? `${[...text].slice(0, most - 1).join("")}…` : text;

/** Save bytes as a file. */
export function download(name, blob) {
  const link = el("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1e4);
}

/** A table: heads, and rows whose first cell names the row. Numbers stand right. */
export function table(caption, heads, rows) {
  const numeric = (i) => (i ? { class: "n" } : {});
  return el(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    el(
      "table",
      {},
      el("thead", {}, el("tr", {}, ...heads.map((head, i) => el("th", { scope: "col", ...numeric(i) }, head)))),
      el(
        "tbody",
        {},
        ...rows.map((row) =>
          el(
            "tr",
            {},
            ...row.map((cell, i) => (i ? el("td", numeric(i), cell) : el("th", { scope: "row", dir: "auto" }, cell))),
          ),
        ),
      ),
    ),
  );
}
