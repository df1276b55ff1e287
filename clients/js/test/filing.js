/**
 * A device with its state in a file, for `file.test.js`: node filing.js PATH COUNT [POINT]. It queues COUNT answers and
 * says each id on its standard output after it was queued. With POINT it kills itself before that call of the file
 * system, or half-way through where it writes; after a call is before the next. At the end it says how many there were.
 */

import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

const [, , path, count, point] = process.argv;
const say = fs.writeSync;
let passed = 0;
const tick = () => {
  if (++passed === Number(point)) process.kill(process.pid, "SIGKILL");
};
for (const name of [
  "openSync",
  "writeFileSync",
  "writeSync",
  "fsyncSync",
  "closeSync",
  "renameSync",
  "rmSync",
  "mkdirSync",
]) {
  const real = fs[name];
  fs[name] = (...given) => {
    tick();
    if (name !== "writeFileSync") return real(...given);
    const [file, text] = given;
    const half = text.length >> 1;
    real(file, text.slice(0, half));
    tick();
    real(file, text.slice(half));
  };
}
syncBuiltinESMExports();
performance.now = () => 0; // however slow the machine is, nobody waits too long for the others

const { fileStorage } = await import("../src/file.js");
const { Client } = await import("../src/node.js");
const surveys = JSON.parse(fs.readFileSync(new URL("../../../tests/vectors/surveys.json", import.meta.url), "utf8"));

const client = new Client(surveys.find(({ title }) => title === "oue, again").text, { storage: fileStorage(path) });
say(1, "made\n");
for (let i = 0; i < count; i++) say(1, `${Buffer.from(client.queue(7).pack()).toString("hex")}\n`);
say(1, `points ${passed}\n`);
