/**
 * What the answer page keeps in this browser for a survey, under one name. Until the collector has acknowledged the
 * report: the state of a client without a secret, whose outbox holds the report as it is sent. After that: how it
 * ended. The answer is in neither, and the noise is kept nowhere: whoever reads all of it learns what the collector
 * learns, and later only that somebody answered here.
 */

const ENDS = { closed: "closed", refused: "refused", "unknown-survey": "gone" }; // by the client's words

/** `storage` is for the client, the rest for the page. */
export function keeping(digest) {
  const name = `deniable-answer/2/${digest}`;
  let unrolled = null; // the state before anything was rolled, which stays in this tab
  let rolling = false;
  const entry = () => JSON.parse(localStorage.getItem(name));
  const write = (fields) => localStorage.setItem(name, JSON.stringify(fields));
  return {
    storage: {
      getItem: () => entry()?.state ?? unrolled,
      setItem(_, state) {
        if (rolling || entry()?.state) write({ ...entry(), state });
        unrolled = rolling ? null : state;
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
     * What was rolled and waits, or how it ended (`done`), also where a crash came before `finish`; null if nothing was
     * rolled.
     */
    read() {
      const kept = entry();
      if (!kept?.state) return kept;
      const { outbox, refused = {} } = JSON.parse(kept.state.slice(64))[digest];
      const [[record, day] = []] = Object.entries(outbox);
      return record ? { record, day, sending: kept.sending } : { done: ENDS[Object.keys(refused)[0]] ?? "sent" };
    },
    /** To be sent: a reload goes on with it. */
    send() {
      if (entry()?.state) write({ ...entry(), sending: true });
    },
    /** How it ended, in the place of everything else. */
    finish: (done) => write({ done }),
    /** Version 0.1 kept a secret, and what it had sent: the answer follows from the two. */
    forgetEarlier() {
      const old = `deniable-page/1/${digest}`;
      if (!localStorage.getItem(old)) return;
      write({ done: JSON.parse(localStorage.getItem(old)).done ?? "before" });
      for (const key of [old, "deniable-client/1"]) localStorage.removeItem(key);
    },
  };
}
