/** A report as bytes, and symbols as the client takes them. No element is touched here. */

/** The symbol that a choice stands for, as the client takes it. */
export const symbolValue = (symbol) =>
  symbol?.int
    ? BigInt(symbol.int)
    : symbol?.bytes !== undefined
      ? Uint8Array.from(symbol.bytes.match(/../g) ?? [], (pair) => parseInt(pair, 16))
      : symbol;

/** What is sent, in hexadecimal: the bytes of each of its parts, in their order. */
export function partsOf(record, { shape, cells }) {
  const hex = record.match(/../g);
  const payload = shape === "one" ? Math.max(1, Math.ceil(Math.log2(cells) / 8)) : Math.ceil(cells / 8);
  const at = [0, 16, 17, 25, hex.length - payload, hex.length];
  return Object.fromEntries(
    ["id", "version", "survey", "group", "payload"].map((name, i) => [name, hex.slice(at[i], at[i + 1])]),
  );
}

/** The cells that a payload names: one number, the lowest byte first, or one bit a cell. */
export function cellsOf(payload, { shape, cells }) {
  const bytes = payload.map((byte) => parseInt(byte, 16));
  if (shape === "one") return [bytes.reduceRight((sum, byte) => sum * 256 + byte, 0)];
  return [...Array(cells).keys()].filter((cell) => (bytes[cell >> 3] >> (cell & 7)) & 1);
}
