/**
 * The respondent's side: one device, one cohort, randomised answers.
 *
 *     new Client(survey)                               in memory; the same answer again gives the same bytes
 *     new Client(survey, { storage: localStorage })    cohort, secret, ledger and outbox survive a restart
 *     new Client(survey, { memoize: false })           one-shot use: fresh noise every time
 *     new Client(survey, { storage, key })             a secret that no script can read (`key.js`), with promises
 *
 *     client.report("firefox")                         randomise, and hand the report over: sending is up to you
 *     client.queue("firefox")                          randomise, and write the report to the outbox: no network
 *     await client.send("https://collector.example")   deliver the outbox; what cannot be now waits for the next time
 *     client.status()                                  what waits, what was refused, what was spent
 *
 * Nothing that has seen an answer keeps or prints it: not in the state, a field, a log or an error.
 */

import { RULE } from "./alphabet.js";
import { big, hex, little, min, num, Obj, unhex, upTo } from "./bytes.js";
import { sender, today } from "./delivery.js";
import { need } from "./errors.js";
import { derivedEntropy, labelOf, osEntropy, randomBytes, uniformBelow } from "./noise.js";
import { ceiling, readEpsilon } from "./odds.js";
import { thisWindow } from "./participation.js";
import { reportOf } from "./report.js";
import { memory, read, write } from "./state.js";
import { readSurvey } from "./survey.js";

// Epsilons are added in whole billionths, each rounded up, so that ten times 0.1 is 1 and no sum is too small.
const UNITS = 1e9;
const units = ([n, d]) => num(ceiling(n * big(UNITS), d));

/** What all surveys of a state have spent: if answers stayed the same, and however often they changed. */
const totals = (state) =>
  upTo(2).map((i) => Obj.values(state).reduce((sum, { spent }) => sum + (spent ? spent[i] : 0), 0) / UNITS);

/** One permanent response for each set of cells: a memoised survey can never say more than all of them. */
export const responsesOf = ({ encoding: { cells, hashes }, symbols }) =>
  min(hashes < 2 ? cells : Infinity, symbols || Infinity);

/**
 * How a survey is answered, which a form (`form.js`) says of itself: what is drawn before any answer; what one report
 * randomises, each with words of its own; the report of what came of that; and what all of it may spend.
 */
const line = (survey) => ({
  begin: (entropy) => uniformBelow(entropy, survey.encoding.cohorts),
  tasks(cohort, value) {
    const occupied = survey.encoding.of(cohort, value);
    return [{ part: survey, occupied, label: labelOf("permanent", survey.digest, cohort, ...occupied) }];
  },
  report: (cohort, _tasks, [named]) => reportOf(survey, cohort, named),
  spends: [survey.epsilon, survey.epsilonReport].map(readEpsilon),
  responses: responsesOf(survey),
});

export class Client {
  constructor(
    source,
    { storage = memory(), memoize = true, key, entropy = osEntropy, cap = Infinity, hardCap = Infinity } = {},
  ) {
    const survey = source?.tasks || source?.encoding?.of ? source : readSurvey(source);
    const { digest, window } = survey;
    const { begin, tasks: tasksOf, drawnBy, report: packed, spends, responses } = survey.tasks ? survey : line(survey);
    const [whole, each] = spends.map(units);

    // What the state was when this client began, and after that what it must still be.
    let start;
    const load = () => read(storage, start && digest, start?.secret);

    /** Change the state, alone if the storage has a lock; what `work` returns is returned after it is kept. */
    const change = (work) => {
      const run = () => {
        const state = load();
        const result = work(state[digest], state);
        write(storage, state);
        return result;
      };
      return storage.locked ? storage.locked(run) : run();
    };

    start = change((_, state) => {
      state[digest] ??= { cohort: begin(entropy), made: [0, 0], spent: [0, 0], outbox: {} };
      // Of a key that cannot be read only a check is kept here, which tells it from another one.
      if (memoize)
        state.secret ??= key
          ? key.check
          : upTo(4)
              .map(() => hex(little(entropy.word(), 8)))
              .join("");
      need(
        !memoize || (key ? state.secret === key.check : state.secret[63]),
        "key must be the one of this client state",
        "State",
      );
      return state;
    });

    /** One report more; refused before the answer is looked at, so that a refusal says nothing about it. */
    const charge = (entry, state) => {
      const { made } = entry;
      // How many were memoised, and how many had noise of their own.
      made[memoize ? 0 : 1]++;
      entry.spent = [1, responses].map((most) => min(made[0] * each, whole * most) + made[1] * each);
      const [spent, worst] = totals(state);
      for (const [name, limit, total] of [
        ["cap", cap, spent],
        ["hardCap", hardCap, worst],
      ])
        need(total <= limit, `${name} must not be exceeded, got ${total} of ${limit}; ask no more`, "Budget");
      if (window) entry.window = thisWindow(window, entry.window);
      return entry;
    };

    /** What of an answer is randomised; a form says which question is wrong, and never what was said. */
    const encode = (cohort, value, found) => {
      try {
        found = tasksOf(cohort, value);
      } catch {
        // Whatever it was, and a value's own methods may throw anything, nothing of it is shown.
      }
      // The platform keeps the text that a pattern matched last.
      /./.test(".");
      need(found?.map, found ?? `${RULE}, and one the survey takes`, "Alphabet");
      return found;
    };

    const make = (value, queue, tasks, derived) =>
      change((entry, state) => {
        const { cohort } = charge(entry, state);
        tasks ??= encode(cohort, value);
        const named = tasks.map(({ part: { mechanism }, occupied, label }, i) => {
          const words = memoize ? (derived?.[i] ?? derivedEntropy(unhex(state.secret), label)) : entropy;
          // Wider words would hardly ever fall below the thresholds: the truth would leave unrandomised.
          for (const { width } of [words, entropy])
            need(width === mechanism.width, `entropy must give ${mechanism.width}-bit words, got ${width}`, "State");
          const found = mechanism.randomize(occupied, words);
          return mechanism.refresh ? mechanism.refresh(found, entropy) : found;
        });
        const report = packed(cohort, tasks, named);
        if (queue) entry.outbox[hex(randomBytes(16)) + hex(report.pack())] = today();
        return report;
      });

    /** The same with words from a key, which have to be waited for; meanwhile nobody can change what was said. */
    const wait = async (value, queue) => {
      const state = load();
      const { cohort } = charge(state[digest], state);
      const tasks = encode(cohort, value);
      const words = tasks.map(({ part, label }) => key.words(label, part.mechanism.bits ? part.encoding.cells + 1 : 1));
      return make(value, queue, tasks, await Promise.all(words));
    };
    const answer = memoize && key ? wait : make;

    // Of a form the names of those that this device answers.
    Obj.assign(this, drawnBy && { questions: drawnBy(start[digest].cohort) }, {
      survey,
      status() {
        const state = load();
        const { cohort, outbox, refused = {}, spent } = state[digest];
        const [totalSpent, totalWorst] = totals(state);
        const waiting = Obj.keys(outbox).length;
        return { cohort, waiting, refused, spent: spent[0] / UNITS, worst: spent[1] / UNITS, totalSpent, totalWorst };
      },
      report: (value) => answer(value),
      queue: (value) => answer(value, true),
      send: sender(digest, () => load()[digest].outbox, change),
    });
  }
}
