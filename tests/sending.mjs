// A device with the JavaScript client, its state in a file: node tests/sending.mjs CLIENT SURVEY STATE URL [VALUE ...]
// With values it queues them; without, it sends what waits until nothing does. It says how many wait, and how many were
// refused. With MOST in the environment it hangs after so many uploads, so that a test can be sure to meet it on its
// way, however fast the machine is.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";

const [, , source, surveyPath, path, url, ...values] = process.argv;
const { Client } = await import(join(source, "src/node.js"));
const { fileStorage } = await import(join(source, "src/file.js"));
const client = new Client(JSON.parse(readFileSync(surveyPath, "utf8")), { storage: fileStorage(path) });
for (const value of values) client.queue(value);
let left = Number(process.env.MOST ?? Infinity);
const upload = globalThis.fetch;
globalThis.fetch = (...given) => (left-- > 0 ? upload(...given) : new Promise(() => setInterval(() => {}, 1e6)));
while (!values.length && client.status().waiting) {
  await client.send(url, { batch: 3, timeout: 300 });
  await setTimeout(10);
}
console.log(JSON.stringify(client.status()));
