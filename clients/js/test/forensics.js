/**
 * What the client must not do, watched in every test: `vectors.js` imports this before anything else. No randomness but
 * the platform's generator, no output, no request but an upload with exactly these options, and a state of exactly this
 * shape, in which no report stands that is not charged. A test in which something else happened fails.
 * `forensics.test.js` has what this must find.
 */

import assert from "node:assert/strict";
import { afterEach } from "node:test";

const findings = [];
const SOURCES = /\/js\/(src\/|(deniable|form)\.min\.js)/;

/** Whether the client is among those that called. */
export const ours = () => {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 50;
  const { stack } = new Error();
  Error.stackTraceLimit = stackTraceLimit;
  return SOURCES.test(stack);
};

/** What was found since this was last called. */
export const taken = () => findings.splice(0);

// Other programs import the vectors, too, and have no tests.
if (/\.test\.js$/.test(process.argv[1]))
  afterEach(() => assert.deepEqual(taken(), [], "the client left something behind"));

const { random } = Math;
Math.random = () => {
  if (ours()) findings.push("Math.random");
  return random();
};

for (const name of ["log", "debug", "info", "warn", "error", "trace", "dir", "table"]) {
  const real = console[name];
  console[name] = (...given) => {
    if (ours()) findings.push("console");
    return real.apply(console, given);
  };
}
for (const stream of [process.stdout, process.stderr]) {
  const { write } = stream;
  stream.write = (...given) => {
    if (ours()) findings.push("output");
    return write.apply(stream, given);
  };
}

// What is written or listed later, when the client is no longer among those that called.
for (const [owner, name] of [
  [process, "emitWarning"],
  [performance, "mark"],
  [performance, "measure"],
]) {
  const real = owner[name];
  owner[name] = (...given) => {
    if (ours()) findings.push(name);
    return real.apply(owner, given);
  };
}

const FIXED = {
  method: "POST",
  cache: "no-store",
  credentials: "omit",
  redirect: "manual",
  referrerPolicy: "no-referrer",
};
const PLACE = /^https?:\/\/[^/?#]+\/v1\/surveys\/[0-9a-f]{64}\/reports(\?day=\d{1,6})?$/;

function lookAtRequest(url, options) {
  const { headers, body, signal, ...rest } = options;
  const sorted = (fields) => JSON.stringify(Object.entries(fields).sort());
  if (!PLACE.test(url)) findings.push(`a request to ${url}`);
  if (sorted(rest) !== sorted(FIXED) || !(signal instanceof AbortSignal))
    findings.push(`options of a request: ${sorted(rest)}`);
  const { "Content-Type": type, Authorization: token = "Bearer x", ...more } = headers;
  if (type !== "application/octet-stream" || !/^Bearer [!-~]+$/.test(token) || Object.keys(more).length)
    findings.push(`headers of a request: ${Object.keys(headers)}`);
  if (!(body instanceof Uint8Array)) findings.push("the body of a request");
}

// Tests put others in its place, and this one back: what they are given watches the one of that moment.
let current = globalThis.fetch;
const watched = new WeakMap();
Object.defineProperty(globalThis, "fetch", {
  configurable: true,
  get() {
    const now = current;
    const watching = (url, options) => {
      if (ours()) lookAtRequest(url, options);
      return now(url, options);
    };
    watched.set(watching, now);
    return watching;
  },
  set: (other) => (current = watched.get(other) ?? other),
});

// Every other way out of a page, or into its stores: the client has `fetch`, and the storage that it was given.
const WAYS = [
  "XMLHttpRequest",
  "WebSocket",
  "EventSource",
  "Image",
  "Worker",
  "SharedWorker",
  "BroadcastChannel",
  "RTCPeerConnection",
  "sessionStorage",
  "localStorage",
  "caches",
  "cookieStore",
  "document",
  "history",
  "location",
  "navigator",
];
for (const name of WAYS) {
  let value = globalThis[name];
  Object.defineProperty(globalThis, name, {
    configurable: true,
    enumerable: false,
    get() {
      if (ours()) findings.push(name);
      return value;
    },
    set: (other) => (value = other),
  });
}

const isCount = (value) => Number.isInteger(value) && value >= 0;
const FIELDS = {
  // Of a form what was drawn is one number, too long for a double: its digits.
  cohort: (value) => isCount(value) || /^[1-9]\d*$/.test(value),
  made: (value) => value.length === 2 && value.every(isCount),
  spent: (value) => value.length === 2 && value.every((one) => one >= 0),
  // 16 random bytes, then a packed report, whose first byte is 1; and the day, if there is one.
  outbox: (value) =>
    Object.entries(value).every(
      ([record, day]) => /^[0-9a-f]{32}01[0-9a-f]{18,}$/.test(record) && (day === "" || isCount(day)),
    ),
  refused: (value) =>
    Object.entries(value).every(([word, number]) => /^(closed|refused|unknown-survey)$/.test(word) && isCount(number)),
  unknown: isCount,
  window: isCount,
};

const sum = (numbers) => numbers.reduce((all, one) => all + one, 0);

/**
 * A state that a client wrote, and the one before it: its shape, and that each report in it was charged when it was put
 * there.
 */
export function lookAtState(text, before) {
  const { secret, ...entries } = JSON.parse(text.slice(64));
  if (secret !== undefined && !/^([0-9a-f]{16}|[0-9a-f]{64})$/.test(secret)) findings.push("a secret of another shape");
  const earlier = before ? JSON.parse(before.slice(64)) : {};
  for (const [digest, entry] of Object.entries(entries)) {
    if (!/^[0-9a-f]{64}$/.test(digest)) findings.push(`a field ${digest} in the state`);
    for (const [name, value] of Object.entries(entry))
      if (!FIELDS[name]?.(value)) findings.push(`a field ${name} in the state`);
    const { made = [0, 0], outbox = {} } = earlier[digest] ?? {};
    const fresh = Object.keys(entry.outbox).filter((record) => !(record in outbox)).length;
    if (sum(entry.made) - sum(made) < fresh || (fresh && entry.spent.some((one) => one <= 0)))
      findings.push("a report without a charge");
  }
}
