/** What every page needs: elements made from text (never from markup), requests, answers as texts. */

import { text } from "./texts.js";

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

/** A problem that a collector stated, or that none was reached. */
export class Problem extends Error {
  constructor(status, sentence, told = {}) {
    super(sentence);
    this.status = status;
    this.told = told; // the whole problem document
  }
}

/** Modules and texts that are on their way. Where one does not come the collector is away; other errors are errors. */
export const fetched = (some) =>
  Promise.all(some).catch((problem) => {
    throw problem instanceof TypeError ? new Problem(0) : problem;
  });

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

/** The survey in the address: its digest, or nothing that could be one. */
export const digestHere = () => location.pathname.split("/")[2] ?? "";

/** A symbol as people read it: text as it is, numbers as digits, bytes as hexadecimal. */
export function symbolText(symbol) {
  if (symbol === null || typeof symbol !== "object") return String(symbol);
  return typeof symbol.bytes === "string" ? `0x${symbol.bytes}` : (symbol.int ?? JSON.stringify(symbol));
}

/** Long texts are cut in labels; the whole is elsewhere. */
export const short = (text, most = 60) =>
  [...text].length > most ? `${[...text].slice(0, most - 1).join("")}…` : text;
