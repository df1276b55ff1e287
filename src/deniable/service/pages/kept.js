/**
 * What the answer page keeps in this browser for a survey, under one name. Until the collector has acknowledged the
 * report: the state of a client without a secret, whose outbox holds the report as it is sent. After that: how it
 * ended. The answer is in neither, and the noise is kept nowhere: whoever reads all of it learns what the collector
 * learns, and later only that somebody answered here.
 *
 * A survey that is answered once a window keeps the client's state from one window to the next, because the same answer
 * must give the same noise again: with its secret, and the number of the last window, but without a report that was
 * acknowledged.
 */

const ENDS = { closed: "closed", refused: "refused", "unknown-survey": "gone" }; // by the client's words

// How many hours a window has, and how many of them had passed when 1970 began: weeks start on Monday, in UTC.
const WINDOWS = { hour: [1, 0], day: [24, 0], week: [168, 72] };

/** The number of the window that a time, in milliseconds, falls in; and when a window begins. */
export function windowAt(kind, time) {
  const [hours, shift] = WINDOWS[kind];
  return Math.floor((time / 36e5 + shift) / hours);
}
export function beginning(kind, number) {
  const [hours, shift] = WINDOWS[kind];
  return new Date(36e5 * (number * hours - shift));
}

/** The reason that was counted more often now than before, if there is one. */
const refusedSince = (before = {}, now = {}) => Object.keys(now).find((word) => now[word] > (before[word] ?? 0));

/** `storage` is for the client, the rest for the page. */
export function keeping(digest) {
  const name = `deniable-answer/2/${digest}`;
  let unrolled = null; // the state before anything was rolled, which stays in this tab
  let rolling = false;
  let drawing = false; // whether what was drawn is kept before anything is rolled
  let kind; // "hour", "day" or "week", where the survey is answered once a window
  const entry = () => JSON.parse(localStorage.getItem(name));
  const write = (fields) => localStorage.setItem(name, JSON.stringify(fields));
  const inside = (state) => JSON.parse(state.slice(64))[digest];
  return {
    storage: {
      getItem: () => entry()?.state ?? entry()?.begun ?? unrolled,
      setItem(_, state) {
        if (rolling) write({ state, before: inside(state).refused });
        else if (entry()?.state) write({ ...entry(), state });
        else if (drawing) write({ begun: state });
        unrolled = rolling || drawing ? null : state;
      },
    },
    /**
     * What a device draws is kept from here on: whoever does not like the questions that were drawn must not get others,
     * by loading the page again or in another tab. It is drawn before anything is answered and says nothing of it.
     */
    keepDraw: () => (drawing = true),
    /** That the survey is answered once in each "hour", "day" or "week"; or, where nothing is given, once. */
    byWindow: (window) => (kind = window),
    /** The window that it is now, where there are any: its number. */
    window: () => (kind ? windowAt(kind, Date.now()) : undefined),
    /** The client's secret, or the check of its key, where it has one. */
    secret: () => (entry()?.state ? JSON.parse(entry().state.slice(64)).secret : undefined),
    /** Run `work`, which puts the one report into the outbox. */
    async roll(work) {
      rolling = true;
      try {
        await work();
      } finally {
        rolling = false;
      }
    },
    /**
     * What was rolled and waits, or how it ended (`done`), also where a crash came before `finish`; null if nothing was
     * rolled. Where there are windows, also when the `next` one begins: what was rolled in one may be sent in another.
     */
    read() {
      const kept = entry();
      if (!kept?.state) return kept?.begun ? null : kept;
      const { outbox, refused, window } = inside(kept.state);
      const [[record, day] = []] = Object.entries(outbox);
      if (record) return { record, day, sending: kept.sending };
      const done = ENDS[refusedSince(kept.before, refused)] ?? "sent";
      if (!kind) return { done };
      return { done, next: beginning(kind, window + 1) };
    },
    /** Whether the die may be rolled: nothing waits, and this survey, or its window, has no answer of this browser. */
    isOpen() {
      const found = this.read();
      return !found || found.next <= Date.now();
    },
    /** To be sent: a reload goes on with it. */
    send() {
      if (entry()?.state) write({ ...entry(), sending: true });
    },
    /** How it ended, in the place of everything else; where there may be a next time, beside what that needs. */
    finish(done) {
      if (!kind || (done !== "sent" && done !== "refused")) write({ done });
    },
    /** Version 0.1 kept a secret, and what it had sent: the answer follows from the two. */
    forgetEarlier() {
      const old = `deniable-page/1/${digest}`;
      if (!localStorage.getItem(old)) return;
      write({ done: JSON.parse(localStorage.getItem(old)).done ?? "before" });
      for (const key of [old, "deniable-client/1"]) localStorage.removeItem(key);
    },
  };
}
