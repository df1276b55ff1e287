/**
 * The respondent's side: one device, one cohort, randomised answers.
 *
 *     new Client(survey)                               in memory; the same answer again gives the same bytes
 *     new Client(survey, { storage: localStorage })    cohort, secret, ledger and outbox survive a restart
 *     new Client(survey, { memoize: false })           one-shot use: fresh noise every time
 *
 * Nothing that has seen an answer keeps or prints it: not in the state, a field, a log or an error.
 */

import { RULE } from "./alphabet.js";
import { big, hex, join, little, max, min, num, Obj, unhex, upTo, utf8 } from "./bytes.js";
import { need } from "./errors.js";
import { derivedEntropy, osEntropy, randomBytes, uniformBelow } from "./noise.js";
import { ceiling, readEpsilon } from "./odds.js";
import { reportOf } from "./report.js";
import { memory, read, write } from "./state.js";
import { readSurvey } from "./survey.js";

// Epsilons are added in whole billionths, each rounded up, so that ten times 0.1 is 1 and no sum is too small.
const UNITS = 1e9;
const units = (epsilon) => {
  const [n, d] = readEpsilon(epsilon);
  return num(ceiling(n * big(UNITS), d));
};

/** What all surveys of a state have spent: if answers stayed the same, and however often they changed. */
const totals = (state) =>
  upTo(2).map((i) => Obj.values(state).reduce((sum, { spent }) => sum + (spent ? spent[i] : 0), 0) / UNITS);

export class Client {
  constructor(source, options = {}) {
    const survey = source.encoding?.of ? source : readSurvey(source);
    const { storage = memory(), memoize = true, entropy = osEntropy, cap = Infinity, hardCap = Infinity } = options;
    const { url, token, batch = 100, attempts = 5, pause = 1e3, fetch: request = fetch } = options;
    const { digest, encoding, mechanism, symbols } = survey;
    const { cells, cohorts, hashes } = encoding;
    const whole = units(survey.epsilon);
    const each = units(survey.epsilonReport);
    // One permanent response for each set of cells: a memoised survey can never say more than all of them.
    const responses = min(hashes < 2 ? cells : Infinity, symbols || Infinity);

    const start = read(storage);
    start[digest] ??= { cohort: uniformBelow(entropy, cohorts), made: [0, 0], spent: [0, 0], outbox: {} };
    if (memoize) start.secret ??= upTo(4).map(() => hex(little(entropy.word(), 8))).join("");
    write(storage, start);

    const load = () => {
      const state = read(storage, digest, start.secret);
      return [state, state[digest]];
    };

    const make = (value, queue) => {
      const [state, entry] = load();
      const { cohort, made } = entry;
      // How many were memoised, and how many had noise of their own.
      made[memoize ? 0 : 1]++;
      entry.spent = [1, responses].map((most) => min(made[0] * each, whole * most) + made[1] * each);
      const [spent, worst] = totals(state);
      // Before the answer is looked at: a refusal must say nothing about it.
      need(
        spent <= cap && worst <= hardCap,
        `reports must spend at most ${cap} in all, and ${hardCap} at worst, got ${spent} and ${worst}`,
        "Budget",
      );
      let occupied;
      try {
        occupied = encoding.of(cohort, value);
      } catch {
        // Whatever it was, and a value's own methods may throw anything, nothing of it is shown.
      }
      need(occupied, RULE + ", and one of the survey's if it has a list", "Alphabet");
      const words = memoize
        ? derivedEntropy(
            unhex(state.secret),
            join(utf8("permanent"), unhex(digest), ...[cohort, ...occupied].map((number) => little(number, 4))),
          )
        : entropy;
      // Wider words would hardly ever fall below the thresholds: the truth would leave unrandomised.
      for (const { width } of [words, entropy])
        need(width == mechanism.width, `entropy must give ${mechanism.width}-bit words, got ${width}`, "State");
      let named = mechanism.randomize(occupied, words);
      if (mechanism.refresh) named = mechanism.refresh(named, entropy);
      const report = reportOf(survey, cohort, named);
      if (queue) entry.outbox[hex(randomBytes(16)) + hex(report.pack())] = (Date.now() / 864e5) | 0;
      write(storage, state);
      return report;
    };

    const deliver = async () => {
      const told = { accepted: 0, duplicate: 0, refused: [] };
      try {
        // So that `running` is set before it is cleared.
        await 0;
        for (let failures = 0; ; ) {
          const { outbox } = load()[1];
          const waiting = Obj.keys(outbox);
          const day = outbox[waiting[0]];
          const records = waiting.filter((record) => outbox[record] === day).slice(0, batch);
          told.pending = waiting.length;
          if (!url || this.offline || day == null) return told;
          let problem = "no answer";
          let wait = 0;
          let accepted, duplicate, refused;
          try {
            const response = await request(`${url}/v1/surveys/${digest}/reports${day && "?day=" + day}`, {
              method: "POST",
              headers: { "Content-Type": "application/octet-stream", ...(token && { Authorization: "Bearer " + token }) },
              body: unhex(records.join("")),
              credentials: "omit",
              redirect: "error",
              referrerPolicy: "no-referrer",
              signal: AbortSignal.timeout(3e4),
            });
            const { status } = response;
            if (status == 200) ({ accepted, duplicate, refused } = await response.json());
            else {
              problem = `status ${status}`;
              // Seconds that the collector asks to wait; too many where another try would end the same way.
              wait = status > 499 || /408|425|429/.test(status) ? response.headers.get("Retry-After") | 0 : 61;
            }
          } catch {
            // No connection, no answer in time, or one that is no JSON.
          }
          // A page of a hotel's network answers 200 too: only an answer that accounts for all of them empties the outbox.
          if (accepted + duplicate + refused?.length === records.length) {
            const [state, entry] = load();
            for (const record of records) delete entry.outbox[record];
            for (const refusal of refused) {
              const record = records[refusal.index];
              // Our clock is ahead: it goes again without a day, which is safe, and only costs the collector memory.
              if (day && record && refusal.reason == "too_early") entry.outbox[record] = "";
              else told.refused.push(refusal);
            }
            write(storage, state);
            told.accepted += accepted;
            told.duplicate += duplicate;
            failures = 0;
          } else {
            need(
              ++failures < attempts && wait < 61,
              `collector must take reports, got ${problem}; ${waiting.length} stay in the outbox`,
              "Delivery",
            );
            // Twice as long after each failure, up to half of it at random, and never sooner than the collector asks.
            await new Promise((done) =>
              setTimeout(done, max(pause * 2 ** failures * (1 - Math.random() / 2), wait * 1e3)),
            );
          }
        }
      } finally {
        running = 0;
      }
    };

    let running;
    Obj.assign(this, {
      survey,
      offline: options.offline,
      status: () => {
        const [state, { cohort, outbox, spent }] = load();
        const [totalSpent, total] = totals(state);
        return { cohort, pending: Obj.keys(outbox).length, spent: spent[0] / UNITS, worst: spent[1] / UNITS, totalSpent, total };
      },
      report: (value) => make(value),
      flush: () => (running ||= deliver()),
      send: async (value) => {
        make(value, true);
        // Not kept while reports are on their way.
        value = 0;
        return this.flush();
      },
      toString: () =>
        `<Client of survey ${digest.slice(0, 8)}, ${memoize ? "" : "not "}memoised, in ${options.storage ? "its storage" : "memory only"}>`,
    });
  }
}
