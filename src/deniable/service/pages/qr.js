/**
 * QR codes (ISO/IEC 18004): bytes, error correction level M, versions 1 to 15. Enough for a link, and nothing is
 * fetched.
 */

import { text } from "./texts.js";

// By version, from 1: codewords of error correction a block, and blocks.
const CORRECTION = [10, 16, 26, 18, 24, 16, 18, 22, 22, 26, 30, 22, 22, 24, 24];
const BLOCKS = [1, 1, 1, 2, 2, 4, 4, 4, 5, 5, 5, 8, 9, 9, 10];

const MASKS = [
  (x, y) => (x + y) % 2,
  (_x, y) => y % 2,
  (x) => x % 3,
  (x, y) => (x + y) % 3,
  (x, y) => (Math.floor(x / 3) + Math.floor(y / 2)) % 2,
  (x, y) => ((x * y) % 2) + ((x * y) % 3),
  (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2,
  (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2,
];

/** How many bits a version has room for, correction included. */
function room(version) {
  let bits = (16 * version + 128) * version + 64;
  if (version > 1) {
    const aligned = Math.floor(version / 7) + 2;
    bits -= (25 * aligned - 10) * aligned - 55;
    if (version > 6) bits -= 36;
  }
  return bits;
}

/** Multiplication in the field of 256 elements. */
function times(x, y) {
  let z = 0;
  for (let i = 7; i >= 0; i--) z = (z << 1) ^ ((z >> 7) * 0x11d) ^ (((y >> i) & 1) * x);
  return z;
}

function correction(data, degree) {
  const divisor = [...Array(degree - 1).fill(0), 1];
  for (let i = 0, root = 1; i < degree; i++, root = times(root, 2))
    for (let j = 0; j < degree; j++) divisor[j] = times(divisor[j], root) ^ (divisor[j + 1] ?? 0);
  const rest = Array(degree).fill(0);
  for (const byte of data) {
    const factor = byte ^ rest.shift();
    rest.push(0);
    for (const [i, coefficient] of divisor.entries()) rest[i] ^= times(coefficient, factor);
  }
  return rest;
}

/** Data and correction of all blocks, interleaved. */
function codewords(bytes, version) {
  const [degree, blocks] = [CORRECTION[version - 1], BLOCKS[version - 1]];
  const total = room(version) >> 3;
  const size = total - degree * blocks;
  const bits = [];
  const push = (value, length) => {
    for (let i = length - 1; i >= 0; i--) bits.push((value >> i) & 1);
  };
  push(4, 4);
  push(bytes.length, version < 10 ? 8 : 16);
  for (const byte of bytes) push(byte, 8);
  push(0, Math.min(4, size * 8 - bits.length));
  push(0, -bits.length & 7);
  for (let pad = 0xec; bits.length < size * 8; pad ^= 0xec ^ 0x11) push(pad, 8);
  const data = Array.from({ length: size }, (_, i) =>
    bits.slice(8 * i, 8 * i + 8).reduce((sum, bit) => 2 * sum + bit, 0),
  );
  const long = total % blocks;
  const parts = [];
  for (let i = 0, at = 0; i < blocks; i++) {
    const length = Math.floor(total / blocks) - degree + (i < blocks - long ? 0 : 1);
    parts.push(data.slice(at, at + length));
    at += length;
  }
  const checks = parts.map((part) => correction(part, degree));
  const woven = (lists) =>
    Array.from({ length: Math.max(...lists.map((list) => list.length)) }, (_, i) =>
      lists.flatMap((list) => list.slice(i, i + 1)),
    ).flat();
  return [...woven(parts), ...woven(checks)];
}

/**
 * The modules of a text's code as rows of 0 and 1, with the version and the mask. `mask` is chosen unless it is given.
 */
export function encode(text, mask) {
  const bytes = new TextEncoder().encode(text);
  const fits = (version) =>
    4 + (version < 10 ? 8 : 16) + 8 * bytes.length <=
    8 * ((room(version) >> 3) - CORRECTION[version - 1] * BLOCKS[version - 1]);
  const version = BLOCKS.findIndex((_, i) => fits(i + 1)) + 1;
  if (!version) throw new RangeError("text must be at most 412 bytes for a QR code");
  const size = 17 + 4 * version;
  const grid = Array.from({ length: size }, () => Array(size).fill(0));
  const fixed = Array.from({ length: size }, () => Array(size).fill(false));
  const set = (x, y, dark) => {
    if (x < 0 || y < 0 || x >= size || y >= size) return;
    grid[y][x] = dark ? 1 : 0;
    fixed[y][x] = true;
  };
  for (let i = 0; i < size; i++) {
    set(6, i, i % 2 === 0);
    set(i, 6, i % 2 === 0);
  }
  for (const [cx, cy] of [
    [3, 3],
    [size - 4, 3],
    [3, size - 4],
  ])
    for (let dy = -4; dy <= 4; dy++)
      for (let dx = -4; dx <= 4; dx++) {
        const far = Math.max(Math.abs(dx), Math.abs(dy));
        set(cx + dx, cy + dy, far !== 2 && far !== 4);
      }
  const aligned = version > 1 ? Math.floor(version / 7) + 2 : 0;
  const step = Math.floor((version * 8 + aligned * 3 + 5) / (aligned * 4 - 4)) * 2;
  const places = aligned
    ? [6, ...Array.from({ length: aligned - 1 }, (_, i) => size - 7 - step * (aligned - 2 - i))]
    : [];
  for (const [i, cx] of places.entries())
    for (const [j, cy] of places.entries()) {
      if ((!i && !j) || (!i && j === aligned - 1) || (i === aligned - 1 && !j)) continue;
      for (let dy = -2; dy <= 2; dy++)
        for (let dx = -2; dx <= 2; dx++) set(cx + dx, cy + dy, Math.max(Math.abs(dx), Math.abs(dy)) !== 1);
    }
  if (version > 6) {
    let rest = version;
    for (let i = 0; i < 12; i++) rest = (rest << 1) ^ ((rest >> 11) * 0x1f25);
    const bits = (version << 12) | rest;
    for (let i = 0; i < 18; i++) {
      set(size - 11 + (i % 3), Math.floor(i / 3), (bits >> i) & 1);
      set(Math.floor(i / 3), size - 11 + (i % 3), (bits >> i) & 1);
    }
  }
  const format = (chosen) => {
    let rest = chosen; // level M is 0
    for (let i = 0; i < 10; i++) rest = (rest << 1) ^ ((rest >> 9) * 0x537);
    const bits = ((chosen << 10) | rest) ^ 0x5412;
    const bit = (i) => (bits >> i) & 1;
    for (let i = 0; i < 6; i++) set(8, i, bit(i));
    set(8, 7, bit(6));
    set(8, 8, bit(7));
    set(7, 8, bit(8));
    for (let i = 9; i < 15; i++) set(14 - i, 8, bit(i));
    for (let i = 0; i < 8; i++) set(size - 1 - i, 8, bit(i));
    for (let i = 8; i < 15; i++) set(8, size - 15 + i, bit(i));
    set(8, size - 8, true);
  };
  format(0);
  const words = codewords(bytes, version);
  let at = 0;
  for (let right = size - 1; right > 0; right -= 2) {
    if (right === 6) right = 5;
    for (let down = 0; down < size; down++)
      for (const x of [right, right - 1]) {
        const y = (right + 1) & 2 ? down : size - 1 - down;
        if (!fixed[y][x] && at < words.length * 8) {
          grid[y][x] = (words[at >> 3] >> (7 - (at & 7))) & 1;
          at++;
        }
      }
  }
  const masked = (chosen) => {
    format(chosen);
    return grid.map((row, y) => row.map((bit, x) => (fixed[y][x] ? bit : bit ^ (MASKS[chosen](x, y) === 0))));
  };
  const best = mask ?? MASKS.map((_, chosen) => [penalty(masked(chosen)), chosen]).sort((a, b) => a[0] - b[0])[0][1];
  return { version, mask: best, modules: masked(best) };
}

/**
 * How hard a code is to read: long runs, blocks, lookalikes of the corners, and more of one colour than of the other.
 */
function penalty(modules) {
  const size = modules.length;
  const columns = modules.map((_, x) => modules.map((row) => row[x]));
  let sum = 0;
  for (const line of [...modules, ...columns].map((row) => row.join(""))) {
    for (const run of line.match(/0{5,}|1{5,}/g) ?? []) sum += run.length - 2;
    sum += 40 * (line.match(/(?=10111010000|00001011101)/g) ?? []).length;
  }
  for (let y = 1; y < size; y++)
    for (let x = 1; x < size; x++) {
      const four = modules[y][x] + modules[y - 1][x] + modules[y][x - 1] + modules[y - 1][x - 1];
      if (four % 4 === 0) sum += 3;
    }
  const dark = modules.flat().reduce((total, bit) => total + bit, 0) / size ** 2;
  return sum + 10 * Math.floor(Math.abs(dark - 0.5) * 20);
}

/** A picture of a text's code, with the quiet zone that readers need. */
export function picture(link) {
  const { modules } = encode(link);
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const size = modules.length + 8;
  for (const [name, value] of Object.entries({
    viewBox: `0 0 ${size} ${size}`,
    class: "qr",
    role: "img",
    "aria-label": text("ask.code"),
    "shape-rendering": "crispEdges",
  }))
    svg.setAttribute(name, value);
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute(
    "d",
    modules.flatMap((row, y) => row.map((bit, x) => (bit ? `M${x + 4} ${y + 4}h1v1h-1z` : ""))).join(""),
  );
  path.setAttribute("fill", "#000");
  svg.append(path);
  return svg;
}
