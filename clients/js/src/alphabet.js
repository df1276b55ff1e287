/**
 * Which answers exist. A symbol is a string, an integer (Number or BigInt) or bytes; a type byte keeps 1, "1" and the
 * byte "1" apart. Whatever is wrong with a value that a person gave, the message never shows it.
 */

import { big, Bytes, hex, join, num, unhex, utf8 } from "./bytes.js";
import { need } from "./errors.js";

/** What is hashed: a type byte (s, i or b), then UTF-8 text in NFC, decimal digits or the bytes themselves. */
export function symbolBytes(value) {
  if (value instanceof Bytes) return join(utf8("b"), value);
  const text = typeof value == "string";
  need(
    text
      ? !/\p{Cs}/u.test(value)
      : num.isSafeInteger(value) || (typeof value == "bigint" && /^-?\d{1,80}$/.test(value)),
    "symbol must be well-formed text, an exact integer or a Uint8Array",
    "AlphabetError",
  );
  return utf8(text ? "s" + value.normalize() : "i" + value);
}

/** The symbol that JSON spells, and the one spelling of a symbol. */
const fromJson = (json) => (json.int ? big(json.int) : json.bytes == null ? json : unhex(json.bytes));
const toJson = (symbol) =>
  typeof symbol == "string"
    ? symbol.normalize()
    : symbol.length >= 0
      ? { bytes: hex(symbol) }
      : num.isSafeInteger(num(symbol))
        ? num(symbol)
        : { int: `${symbol}` };

/**
 * A closed alphabet: `find` gives the position of a value. A catch-all takes all that is not in the list, also what is no
 * symbol at all, so that no answer stays unsent. `json` is what a survey must say of it.
 */
export function closed({ symbols, other }) {
  const keyOf = (value) => hex(symbolBytes(value));
  const places = new Map(symbols.map((json, place) => [keyOf(fromJson(json)), place]));
  const { size } = places;
  const rest = other === undefined ? -1 : places.get(keyOf(fromJson(other)));
  need(
    size == symbols.length && size > 1 && size <= 2 ** 24 && rest != null,
    `symbols must be 2 to 2**24 distinct ones and hold other, got ${size}`,
  );
  return {
    size,
    json: { symbols: symbols.map((json) => toJson(fromJson(json))), other: symbols[rest] },
    find(value) {
      let place;
      try {
        place = places.get(keyOf(value));
      } catch (problem) {
        if (rest < 0) throw problem;
      }
      place ??= rest;
      need(place >= 0, `symbol must be one of this survey's ${size}`, "AlphabetError");
      return place;
    },
  };
}
