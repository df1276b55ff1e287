/**
 * What the answer page keeps in this browser, one entry a survey. Until the collector has acknowledged the report: the state of a client
 * without a secret, whose outbox holds the report as it will be sent (random id, randomised bytes, the day). After that: how it
 * ended, and nothing else. The answer is in neither, and the noise was drawn for this one report and is kept nowhere, so whoever
 * reads all of it learns what the collector learns, and later only that somebody answered here.
 */

const PREFIX = "deniable-answer/2/";
const OLD_PAGE = "deniable-page/1/";
const OLD_STATE = "deniable-client/1";

const entry = (digest) => JSON.parse(localStorage.getItem(PREFIX + digest) ?? "null");
const write = (digest, fields) => localStorage.setItem(PREFIX + digest, JSON.stringify(fields));

// How it ended, by the client's word for reports that nobody counted.
const ENDS = { closed: "closed", refused: "refused", "unknown-survey": "gone" };

/** The entry of a survey: `storage` is for its client, the rest is for the page. */
export function keeping(digest) {
  let unrolled = null; // the state before anything was rolled, which stays in this tab
  let rolling = false;
  return {
    storage: {
      getItem: () => entry(digest)?.state ?? unrolled,
      setItem(_, text) {
        const kept = entry(digest);
        if (rolling || kept?.state) write(digest, { ...kept, state: text });
        unrolled = rolling ? null : text;
      },
    },
    /** Run `work`, which puts the one report into the outbox. */
    roll(work) {
      rolling = true;
      try {
        work();
      } finally {
        rolling = false;
      }
    },
    /**
     * What was rolled and is not acknowledged yet (`record` in hexadecimal, its `day`, and whether it is to be sent), or how it ended
     * (`done`), also where a crash came before `finish`; null where nothing was rolled.
     */
    read() {
      const kept = entry(digest);
      if (!kept?.state) return kept;
      const { outbox, refused = {} } = JSON.parse(kept.state.slice(64))[digest];
      const [[record, day] = []] = Object.entries(outbox);
      if (record) return { record, day, sending: kept.sending };
      return { done: ENDS[Object.keys(refused)[0]] ?? "sent" };
    },
    /** To be sent: a reload goes on with it. */
    send() {
      const kept = entry(digest);
      if (kept?.state) write(digest, { ...kept, sending: true });
    },
    /** How it ended, in the place of everything else. */
    finish: (done) => write(digest, { done }),
  };
}

/** Earlier versions kept a secret, and what they had sent: the answer could be worked out from the two. Nothing of that may stay. */
export function forgetEarlier() {
  const pages = Object.keys(localStorage).filter((key) => key.startsWith(OLD_PAGE));
  const surveys = pages.map((key) => key.slice(OLD_PAGE.length));
  surveys.forEach((digest, i) => {
    const { done = "before" } = JSON.parse(localStorage.getItem(pages[i])) ?? {};
    if (!entry(digest)) write(digest, { done });
    localStorage.removeItem(pages[i]);
  });
  const { secret, ...states } = JSON.parse(localStorage.getItem(OLD_STATE)?.slice(64) ?? "{}");
  // Another program of this origin may keep a device there: then it is that one's.
  const ours = ([digest, { made }]) => entry(digest) || !(made[0] + made[1]);
  if (Object.entries(states).every(ours)) localStorage.removeItem(OLD_STATE);
}
