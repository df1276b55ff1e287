/**
 * The respondent's side: one device, one cohort, randomised answers.
 *
 *     new Client(survey)                               in memory; the same answer again gives the same bytes
 *     new Client(survey, { storage: localStorage })    cohort, secret, ledger and outbox survive a restart
 *     new Client(survey, { memoize: false })           one-shot use: fresh noise every time
 *
 * Nothing that has seen an answer keeps or prints it: not in the state, a field, a log or an error.
 */

import { big, hex, join, little, max, min, num, unhex, utf8 } from "./bytes.js";
import { need } from "./errors.js";
import { derivedEntropy, osEntropy, randomBytes, uniformBelow } from "./noise.js";
import { readEpsilon } from "./odds.js";
import { reportOf } from "./report.js";
import { memory, read, write } from "./state.js";
import { readSurvey } from "./survey.js";

// Epsilons are added in whole billionths, each rounded up, so that ten times 0.1 is 1 and no sum is too small.
const UNITS = 1e9;

export class Client {
  constructor(source, options = {}) {
    const survey = source.encoding?.encode ? source : readSurvey(source);
    const { storage = memory(), memoize = true, entropy = osEntropy, hardCap = Infinity } = options;
    const { url, token, batch = 100, attempts = 5, pause = 1e3, fetch = globalThis.fetch } = options;
    const { digest, encoding, mechanism, epsilon, symbols } = survey;
    const { cells, cohorts, hashes } = encoding;
    const [n, d] = readEpsilon(epsilon);
    const cost = num((n * big(UNITS) + d - 1n) / d);
    // One response for each set of cells: a memoised survey can never say more than all of them.
    const responses = min(hashes < 2 ? cells : Infinity, symbols || Infinity);

    const start = read(storage);
    start.surveys[digest] ??= { cohort: uniformBelow(entropy, cohorts), memoized: 0, worst: 0, outbox: [] };
    if (memoize) start.secret ??= [0, 0, 0, 0].map(() => hex(little(entropy.word(), 8))).join("");
    write(storage, start);

    const load = () => read(storage, digest);

    const make = (value, queue) => {
      const state = load();
      const entry = state.surveys[digest];
      const { cohort } = entry;
      if (!memoize || ++entry.memoized <= responses) {
        entry.worst += cost;
        state.worst += cost;
      }
      // Before the answer is looked at: a refusal must say nothing about it.
      need(
        state.worst / UNITS <= hardCap,
        `reports must spend at most ${hardCap} in all, got ${state.worst / UNITS}`,
        "BudgetError",
      );
      const occupied = encoding.encode(cohort, value);
      const label = [utf8("permanent"), unhex(digest), ...[cohort, ...occupied].map((number) => little(number, 4))];
      const words = memoize ? derivedEntropy(unhex(state.secret), join(...label)) : entropy;
      // Wider words would hardly ever fall below the thresholds: the truth would leave unrandomised.
      need(words.width == mechanism.width, `entropy must give ${mechanism.width}-bit words, got ${words.width}`, "StateError");
      const report = reportOf(survey, cohort, mechanism.randomize(occupied, words));
      if (queue) entry.outbox.push(hex(randomBytes(16)) + hex(report.pack()));
      write(storage, state);
      return report;
    };

    const post = async (records) => {
      const response = await fetch(`${url}/v1/surveys/${digest}/reports`, {
        method: "POST",
        headers: { "Content-Type": "application/octet-stream", ...(token && { Authorization: "Bearer " + token }) },
        body: unhex(records.join("")),
        credentials: "omit",
        redirect: "error",
        referrerPolicy: "no-referrer",
        signal: AbortSignal.timeout(3e4),
      });
      const { status, headers } = response;
      if (status == 200) return response.json();
      // Seconds that the collector asks to wait; -1 where another try would end the same way.
      const wait = status > 499 || [408, 425, 429].includes(status) ? headers.get("Retry-After") | 0 : -1;
      return { problem: `status ${status}`, wait };
    };

    const deliver = async () => {
      const told = { accepted: 0, duplicate: 0, refused: [] };
      for (let failures = 0; ; ) {
        const { outbox } = load().surveys[digest];
        const records = outbox.slice(0, batch);
        told.pending = outbox.length;
        if (!url || this.offline || !records.length) return told;
        const answer = await post(records).catch(() => {});
        const { problem = "no answer", wait = 0, accepted, duplicate, refused } = Object(answer);
        // A page of a hotel's network answers 200 too: only an answer that accounts for all of them empties the outbox.
        if (accepted + duplicate + refused?.length === records.length) {
          const state = load();
          const entry = state.surveys[digest];
          entry.outbox = entry.outbox.filter((record) => !records.includes(record));
          write(storage, state);
          told.accepted += accepted;
          told.duplicate += duplicate;
          told.refused.push(...refused);
          failures = 0;
          continue;
        }
        need(
          ++failures < attempts && wait >= 0,
          `collector must take reports, got ${problem}; ${outbox.length} stay in the outbox`,
          "DeliveryError",
        );
        // Twice as long after each failure, up to half of it at random, and never sooner than the collector asks.
        const backoff = pause * 2 ** failures * (1 - Math.random() / 2);
        await new Promise((done) => setTimeout(done, max(backoff, wait * 1e3)));
      }
    };

    let running;
    this.survey = survey;
    this.offline = options.offline;
    this.status = () => {
      const state = load();
      const { cohort, outbox, worst } = state.surveys[digest];
      return { cohort, pending: outbox.length, worst: worst / UNITS, total: state.worst / UNITS };
    };
    this.report = (value) => make(value);
    this.flush = () => (running ??= deliver().finally(() => (running = undefined)));
    this.send = async (value) => {
      make(value, true);
      return this.flush();
    };
    this.toString = this[Symbol.for("nodejs.util.inspect.custom")] = () =>
      `<Client of survey ${digest.slice(0, 8)}, ${memoize ? "" : "not "}memoised, state in ${options.storage ? "its storage" : "memory only"}>`;
  }
}
