/** What whoever asks has written, as people read it, and times as fields have them. */

import { el } from "./page.js";

/** Plain text as paragraphs; whatever it holds stays text, and single line breaks stay where they are. */
export const paragraphs = (text) =>
  text
    .split(/\n\s*\n/)
    .filter(Boolean)
    .map((part) => el("p", { class: "said", dir: "auto" }, part));

/** What a field for a date and a time holds, which is on this device's clock, and back. */
export function toField(time) {
  if (!time) return "";
  const there = new Date(time);
  return new Date(there - 60_000 * there.getTimezoneOffset()).toISOString().slice(0, 16);
}
export const fromField = (value) => (value ? `${new Date(value).toISOString().slice(0, 16)}Z` : null);
