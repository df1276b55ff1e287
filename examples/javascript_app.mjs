/**
 * An app with 300 users: node javascript_app.mjs survey.json http://127.0.0.1:8765 300
 *
 * Each user is a client with a storage of its own. In a browser the storage would be `localStorage`, and
 * `browserClient` of "deniable-client/browser" keeps the secret in a key that scripts cannot read.
 */

import { readFile } from "node:fs/promises";
import { Client } from "../clients/js/src/node.js"; // from npm: "deniable-client"

const [file, url, devices] = process.argv.slice(2);
const survey = await readFile(file, "utf8");

/** A storage in memory; anything with getItem and setItem will do. */
const memory = () => {
  const kept = new Map();
  return { getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => kept.set(key, value) };
};

/** What this user's setting is; the collector never sees it. */
const setting = (user) => (user % 10 < 6 ? "dark" : user % 10 < 9 ? "light" : "system");

const told = { accepted: 0, waiting: 0 };
for (let user = 0; user < Number(devices); user += 1) {
  const client = new Client(survey, { storage: memory(), cap: 4 });
  client.queue(setting(user)); // randomised now, kept until a collector has acknowledged it
  const { accepted, waiting } = await client.send(url);
  told.accepted += accepted;
  told.waiting += waiting;
}
console.log(JSON.stringify(told));
