/** A collector for tests of delivery, on a real socket of this machine: it says what it is told to. */

import { once } from "node:events";
import { createServer } from "node:http";
import { after, before, beforeEach } from "node:test";

import { hex, surveys, texts } from "./vectors.js";
import { Client } from "../src/node.js";

export const survey = surveys["orr, closed"];
export const text = texts["orr, closed"];
const SIZE = 16 + 12;

let server;

/** Where it listens, what was asked of it, and what it says next; `accept` where nothing is left of that. */
export const collector = { url: "", requests: [], answers: [] };

/** What a collector says of reports that it has not seen, and of those that it has. */
const seen = new Set();
export function accept(records) {
  const ids = records.map((record) => hex(record.subarray(0, 16)));
  const duplicate = ids.filter((id) => seen.has(id)).length;
  for (const id of ids) seen.add(id);
  return { status: 200, body: { accepted: ids.length - duplicate, duplicate, refused: [] } };
}

before(async () => {
  server = createServer(async (request, response) => {
    const parts = [];
    for await (const part of request) parts.push(part);
    const body = new Uint8Array(Buffer.concat(parts));
    const records = Array.from({ length: body.length / SIZE }, (_, i) => body.subarray(i * SIZE, (i + 1) * SIZE));
    collector.requests.push({
      path: request.url,
      method: request.method,
      headers: request.headers,
      records,
      at: Date.now(),
    });
    const { status, body: said, headers = {}, lose } = (collector.answers.shift() ?? accept)(records);
    if (lose) return request.socket.destroy();
    response.writeHead(status, { "Content-Type": "application/json", ...headers });
    response.end(typeof said === "string" ? said : JSON.stringify(said));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  collector.url = `http://127.0.0.1:${server.address().port}`;
});
after(() => {
  server.close();
  server.closeAllConnections();
});
beforeEach(() => {
  collector.requests = [];
  collector.answers = [];
});

/** A client whose `send` goes to this server. */
export function client({ token, batch, timeout, ...options } = {}) {
  const made = new Client(text, options);
  const { send } = made;
  made.send = (where = collector.url) => send(where, { token, batch, timeout });
  return made;
}
export const fail = (status, headers) => () => ({ status, headers, body: { detail: "no" } });
export const nothing = { accepted: 0, duplicate: 0, refused: [], waiting: 0 };

/** Run with another `fetch`. */
export async function fetching(fetch, work) {
  const real = globalThis.fetch;
  globalThis.fetch = fetch;
  try {
    return await work();
  } finally {
    globalThis.fetch = real;
  }
}

/** Run with another day on the clock. */
export async function on(day, work) {
  const now = Date.now;
  Date.now = () => day * 864e5 + 7;
  try {
    return await work();
  } finally {
    Date.now = now;
  }
}
