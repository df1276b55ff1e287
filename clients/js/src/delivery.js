/**
 * Reports on their way: the same bytes under the same ids until a collector acknowledges them, or says of this survey
 * that it will never take them. docs/reference/protocol.md, section 9, has what a device does on each answer.
 */

import { min, Obj, unhex } from "./bytes.js";
import { need } from "./errors.js";
import { randomBytes } from "./noise.js";

/** The day, in UTC, counted from 1970. */
export const today = () => (Date.now() / 864e5) | 0;

// The words of a collector that will never take a report of a survey, by status; for how many days it may be wrong
// about the first.
const GONE = { 404: "unknown-survey", 410: "closed" };
const GRACE = 30;

/** `send` of a client: `outboxOf` reads its outbox, `change` changes what it keeps of the survey. */
export function sender(digest, outboxOf, change) {
  let running;
  let failed = 0;

  const run = async (url, { token, batch = 500, timeout = 10 } = {}) => {
    const told = { accepted: 0, duplicate: 0, refused: [] };
    for (;;) {
      const outbox = outboxOf();
      const waiting = Obj.keys(outbox);
      const day = outbox[waiting[0]];
      const records = waiting.filter((record) => outbox[record] === day).slice(0, batch);
      let status = 0;
      let seconds, accepted, duplicate, refused, survey, type;
      told.waiting = waiting.length;
      if (day == null) return told;
      try {
        const response = await fetch(`${url}/v1/surveys/${digest}/reports${day && `?day=${day}`}`, {
          method: "POST",
          headers: { "Content-Type": "application/octet-stream", ...(token && { Authorization: `Bearer ${token}` }) },
          body: unhex(records.join("")),
          // Nothing but this goes along: no cookie, no address of the page, no time; and nothing of it is stored on the
          // way.
          cache: "no-store",
          credentials: "omit",
          redirect: "manual",
          referrerPolicy: "no-referrer",
          signal: AbortSignal.timeout(timeout * 1e3),
        });
        status = response.status;
        seconds = response.headers.get("Retry-After") | 0;
        ({ accepted, duplicate, refused, survey, type } = await response.json());
      } catch {
        // No connection, no answer in time, or one that is no JSON.
      }
      const word = survey === digest && type === `urn:deniable:problem:${GONE[status]}` && GONE[status];
      const problem = `collector must take reports, got ${status ? `status ${status}` : "no answer"}`;
      if (
        // A page of a hotel's network answers 200 too: only an answer that accounts for all of them empties the outbox.
        (word || (status === 200 && accepted + duplicate + refused?.length === records.length)) &&
        change((entry) => {
          const now = today();
          // A survey that a collector does not know may be back when that has been restored from a better copy.
          entry.unknown = status === 404 ? entry.unknown || now : 0;
          if (now - entry.unknown < GRACE) return;
          const kept = entry.outbox;
          entry.refused ??= {};
          const counts = entry.refused;
          const key = word || "refused";
          (word ? waiting : records).forEach((record, i) => {
            const reason = word || Obj.values(refused).filter((row) => row?.index === i)[0]?.reason;
            // Our clock is ahead: it goes again without a day, which is safe, and only costs the collector memory.
            if (day && reason === "too_early") kept[record] = "";
            else {
              if (reason) {
                told.refused.push({ id: record.slice(0, 32), reason });
                // One that is gone already was sent by another process, too, which has counted it.
                if (record in kept) counts[key] = -~counts[key];
              }
              delete kept[record];
            }
          });
          return 1;
        })
      ) {
        failed = 0;
        if (word) told.problem = `${problem}; ${waiting.length} dropped`;
        told.accepted += accepted | 0;
        told.duplicate += duplicate | 0;
      } else {
        need(
          status < 201 || status > 499 || /408|425|429/.test(status),
          `${problem}; ${waiting.length} wait`,
          "Delivery",
        );
        // Twice as long after each failure, up to half of it at random, and never sooner than the collector asks.
        return { ...told, problem, retryAfter: seconds || min(2 ** failed++ / 2, 60) * (1 - randomBytes(1)[0] / 512) };
      }
    }
  };

  return (url, options) => (running ||= run(url, options).finally(() => (running = 0)));
}
