/**
 * Which answers exist. A symbol is a string, an integer (Number or BigInt) or bytes; a type byte keeps 1, "1" and the
 * byte "1" apart. What is wrong with an answer is not said here: `client.js` has one sentence for all of it.
 */

import { Bytes, big, hex, join, num, unhex, utf8 } from "./bytes.js";
import { need } from "./errors.js";

/** What a symbol is. */
export const RULE = "symbol must be well-formed text, an exact integer or bytes";

/**
 * How a folded survey reads text: the one that stands for all that differ from it in case, or in white space around and
 * between words. It is the protocol's fold, not the platform's `toLowerCase`, which learns letters with every version.
 */
export const fold = (text) =>
  text
    .normalize("NFD")
    // The cased letters of Unicode 11, in ranges in which that version has no gap. Up and down again, so that the forms
    // of one letter meet, such as the two small sigmas, or long s and s.
    .replace(/[A-ͶͿΑ-ΡΣ-ԮԱ-ՖևႠ-ჅჇჍᎠ-Ᏽᲀ-ᲈᲐ-ᲺᲽ-Ჿẚ-ỾℲ-ↃⒶ-ⓏⰀ-ⰮⱠ-ⳲꙀ-ꚚꜢ-Ꞹﬀ-ﬆﬓ-ﬗＡ-Ｚ𐐀-𐐧𐒰-𐓓𐲀-𐲲𑢠-𑢿𖹀-𖹟𞤀-𞤡]/gu, (letter) =>
      letter.toLowerCase().toUpperCase().toLowerCase(),
    )
    // I with a dot is a letter of its own in Turkish, and becomes i and a dot that nobody typed.
    .replace(/i\u0307+/g, "i")
    // What `trim` and \s mean is the same in every version since Unicode 6.3; a test looks at every code point.
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these four, and U+0085, are blanks to Python's split.
    .replace(/[\s\x1c-\x1f\x85\u200b]+/g, " ")
    .trim();

/** What is hashed: a type byte (s, i or b), then UTF-8 text in NFC, decimal digits or the bytes themselves. */
export const symbolBytes = (value, folded, text = typeof value === "string") => {
  if (value instanceof Bytes) return join([98], value);
  need(
    text
      ? !/\p{Cs}/u.test(value)
      : num.isSafeInteger(value) || (typeof value === "bigint" && /^-?\d{1,80}$/.test(value)),
    RULE,
  );
  return utf8(text ? `s${(folded ? fold(value) : value).normalize()}` : `i${value}`);
};

/**
 * An open alphabet: `find` gives what is hashed. That text is exact is stated by saying nothing, as surveys did at
 * first.
 */
export const open = ({ text }) => ({
  size: 0,
  stated: { kind: "open", text: text === undefined ? text : "folded" },
  find: (value) => symbolBytes(value, text),
});

const keyOf = (value) => hex(symbolBytes(value));

/** The symbol that JSON spells, and the one spelling of a symbol. */
const fromJson = (json) => (json.int ? big(json.int) : json.bytes == null ? json : unhex(json.bytes));
const toJson = (symbol) =>
  symbol.normalize?.() ??
  (symbol.buffer ? { bytes: hex(symbol) } : num.isSafeInteger(num(symbol)) ? num(symbol) : { int: `${symbol}` });

/**
 * A closed alphabet: `find` gives the position of a value, or throws. A catch-all takes all that is not in the list,
 * also what is no symbol at all, so that no answer stays unsent. `stated` is what a survey must say of it.
 */
export function closed({ symbols, other }) {
  need(symbols?.map, "symbols must be a list");
  const values = symbols.map(fromJson);
  const places = new Map(values.map((value, place) => [keyOf(value), place]));
  const { size } = places;
  const rest = other === undefined ? other : places.get(keyOf(fromJson(other)));
  need(size === symbols.length && size > 1 && size <= 2 ** 24, `symbols must be 2 to 2**24 distinct, got ${size}`);
  return {
    size,
    stated: { kind: "closed", symbols: values.map(toJson), other: symbols[rest] },
    find(value) {
      let place;
      try {
        place = places.get(keyOf(value));
      } catch {
        // It is no symbol, and so not in the list.
      }
      return place ?? rest ?? need();
    },
  };
}
