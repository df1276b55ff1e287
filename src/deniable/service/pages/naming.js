/**
 * What a result is called once it leaves the page: file names, headings of pictures, dates. No element is touched here.
 */

const KEPT = 48; // characters of a question in a file name: 192 bytes at most, of 255 that file systems allow

/**
 * A file name that says the question and is safe everywhere: letters and digits of any script, joined by hyphens. The
 * end of the digest keeps two surveys apart, stands alone where a question has no letters, and keeps a name from being
 * one that Windows reserves (CON, NUL).
 */
export function fileName(question, digest, ending) {
  const words =
    question
      .normalize("NFC")
      .toLowerCase()
      .match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
  const slug = [...words.join("-")].slice(0, KEPT).join("").replace(/-$/, "");
  return `${slug || "results"}-${digest.slice(0, 8)}.${ending}`;
}

/** A text in lines of at most so many characters; a word that is longer is cut. */
export function lines(text, most) {
  const found = [];
  for (const word of text.split(/\s+/).filter(Boolean)) {
    const last = found.at(-1);
    if (last !== undefined && [...last, ...word].length < most) found[found.length - 1] = `${last} ${word}`;
    else for (let rest = [...word]; rest.length; rest = rest.slice(most)) found.push(rest.slice(0, most).join(""));
  }
  return found;
}

/** When it was counted: days, or hours where windows are hours. `to` is the first hour that is left out. */
export function dates(from, to, window) {
  const hour = (text) => `${text.slice(0, 10)} ${text.slice(11, 13)}:00`;
  if (window === "hour") return `${hour(from)} to ${hour(to)}`;
  const last = new Date(Date.parse(`${to}:00:00Z`) - 3.6e6).toISOString().slice(0, 10);
  return from.slice(0, 10) === last ? last : `${from.slice(0, 10)} to ${last}`;
}

/** The heading of a saved picture: the question, and under it what the numbers rest on. */
export function heading({ name, n, from, to, level, epsilon_spent: epsilon }, window) {
  const facts =
    `${n.toLocaleString("en")} randomised answers, ${dates(from, to, window)} (UTC), epsilon ${epsilon.toFixed(2)}, ` +
    `${Number((100 * level).toPrecision(6))} % intervals`;
  return { text: lines(name || "A survey without a name", 60), subtitle: lines(facts, 100) };
}

/** The lines of a text, each once, without blanks around them and without empty ones. */
export const distinctLines = (text) => [...new Set(text.split("\n").map((line) => line.trim()))].filter(Boolean);
