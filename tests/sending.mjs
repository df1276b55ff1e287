// A device with the JavaScript client, its storage a file: node tests/sending.mjs CLIENT SURVEY STATE URL [VALUE ...]
// With values it queues them offline; without, it sends what waits until nothing does.
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from "node:fs";

const [, , source, surveyPath, path, url, ...values] = process.argv;
const { Client } = await import(source);
const storage = {
  getItem: () => (existsSync(path) ? readFileSync(path, "utf8") : null),
  setItem(_, text) {
    const file = openSync(path + ".new", "w");
    writeSync(file, text);
    fsyncSync(file);
    closeSync(file);
    renameSync(path + ".new", path);
  },
};
const client = new Client(JSON.parse(readFileSync(surveyPath, "utf8")), { storage, url, batch: 3, pause: 10 });
client.offline = values.length > 0;
for (const value of values) await client.send(value);
while (!client.offline && client.status().pending) {
  try {
    await client.flush();
  } catch (error) {
    if (!/no answer|status 5/.test(error.message)) throw error;
  }
}
console.log(client.status().pending);
