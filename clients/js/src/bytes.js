/** Bytes and their spellings; what a minifier cannot rename by itself. */

/** Text as UTF-8. */
export const utf8 = (text) => new TextEncoder().encode(text);

/** Bytes as lower-case hexadecimal text. */
export const hex = (bytes) => bytes.reduce((text, byte) => text + (byte + 256).toString(16).slice(1), "");

/** The bytes that hexadecimal text spells. */
export const unhex = (text) => Bytes.from(text.match(/../g) ?? [], (pair) => `0x${pair}`);

/** Arrays of bytes, one after the other. */
export const join = (...parts) => Bytes.from(parts.flatMap((part) => [...part]));

/** A Number or BigInt as `size` bytes, little-endian. */
export const little = (number, size) => new Bytes(size).map((_, i) => num((big(number) >> big(8 * i)) & 255n));

/** Eight bytes from `at` on, little-endian, as a BigInt. */
export const word64 = (bytes, at) => new DataView(bytes.buffer).getBigUint64(at, true);

/** The integers below `count`. */
export const upTo = (count) => [...Array(count).keys()];

/** How many bytes the integers below `count` need; none if there is only one. */
export const bytesFor = (count) => (39 - Math.clz32(count - 1)) >> 3;

/** Whether a small number is a prime. */
export const isPrime = (n) => n > 1 && upTo(n).every((divisor) => divisor < 2 || n % divisor);

/** JSON in its one spelling: sorted keys, no blanks, BigInts as text. */
export const canonical = (fields) =>
  spell(fields, (_, value) =>
    typeof value === "bigint"
      ? `${value}`
      : value?.constructor === Obj
        ? Obj.fromEntries(Obj.entries(value).sort())
        : value,
  );

// Under names that a minifier may shorten.
export const Bytes = Uint8Array;
export const big = BigInt;
export const num = Number;
export const Obj = Object;
export const { parse, stringify: spell } = JSON;
export const { ceil, max, min } = Math;
