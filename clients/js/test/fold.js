/**
 * For `tests/contracts/test_folding.py`: each line of standard input is a JSON list of texts; the answer is a list of
 * what a folded survey hashes of them, in hexadecimal, with null for what it refuses. With the argument "platform",
 * what the platform's own functions would make of them: the mutant.
 */

import { createInterface } from "node:readline";

import { symbolBytes } from "../src/alphabet.js";
import { hex } from "../src/bytes.js";

const read =
  process.argv[2] === "platform"
    ? (text) => symbolBytes(text.trim().toLowerCase())
    : (text) => symbolBytes(text, "folded");

for await (const line of createInterface({ input: process.stdin })) {
  const found = JSON.parse(line).map((text) => {
    try {
      return hex(read(text));
    } catch {
      return null;
    }
  });
  process.stdout.write(`${JSON.stringify(found)}\n`);
}
