/** Forms: the golden files, the exact law of the bytes, and clients with a fault, which it must refuse. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { hex, rows, scripted, storage, unhex } from "./vectors.js";
import { smallBits, smallHashed, smallKrr, smallSensitive } from "./small.js";
import {
  answersOf,
  deviceOf,
  formTexts,
  forms,
  formViolations,
  lawOfForm,
  publishedForm,
  realForm,
  smallForm,
} from "./forms.js";
import * as minifiedForm from "../form.min.js";
import * as minified from "../deniable.min.js";
import { readForm } from "../src/form.js";
import { Client, DeniableError, readSurvey } from "../src/node.js";
import { reportOf } from "../src/report.js";
import { unpack } from "../src/unpack.js";

const MADE = { sources: [Client, readForm], minified: [minified.Client, minifiedForm.readForm] };

for (const [name, [Made, read]] of Object.entries(MADE)) {
  test(`forms are read: ${name}`, () => {
    for (const { text, digest } of rows("forms")) {
      assert.equal(read(text).digest, digest);
      assert.equal(read(JSON.parse(text)).digest, digest);
    }
  });

  test(`the golden reports: ${name}`, () => {
    for (const { form, words, questions, answers, report } of rows("form_reports")) {
      const entropy = scripted(words);
      const client = new Made(read(formTexts[form]), { memoize: false, entropy });
      assert.deepEqual(client.questions, questions);
      const made = client.report(answersOf(answers));
      assert.equal(hex(made.pack()), report, form);
      assert.equal(entropy.left(), 0);
      const { payload, parts } = unpack(forms[form], made.pack());
      assert.deepEqual(payload, made.payload);
      assert.deepEqual(
        parts.flatMap((part, place) => (part ? [place] : [])),
        made.parts,
      );
    }
  });

  test(`the golden reports of devices that memoise: ${name}`, () => {
    for (const { form, secret, cohort, questions, answers, report, words = [] } of rows("form_permanent")) {
      const read_ = read(formTexts[form]);
      const client = new Made(read_, { storage: deviceOf(read_, cohort, secret), entropy: scripted(words) });
      assert.deepEqual(client.questions, questions);
      assert.equal(hex(client.queue(answersOf(answers)).pack()), report, form);
      assert.equal(client.status().cohort, cohort);
      assert.equal(client.status().waiting, 1);
    }
  });

  test(`bad forms are refused in a sentence: ${name}`, () => {
    for (const { text, reason } of rows("bad_forms"))
      assert.throws(
        () => read(text),
        (problem) => problem.name === "SurveyError" && problem.message.length > 20,
        `${reason} ${text.slice(0, 200)}`,
      );
  });
}

test("bad reports of forms are refused", () => {
  for (const { form, report, reason } of rows("bad_form_reports"))
    assert.throws(() => unpack(forms[form], unhex(report)), { name: "WireError" }, `${reason} ${report}`);
});

const FRUIT = ["apple", "pear", "café"];
const told = (work) => {
  try {
    work();
  } catch (problem) {
    return `${problem.name}: ${problem.message}`;
  }
  return "nothing";
};

test("what is wrong with a form is said", () => {
  const change = (title, edit) => {
    const fields = JSON.parse(formTexts[title]);
    edit(fields);
    return told(() => readForm(fields)).slice(0, 190);
  };
  const said = {
    "a form must have 2 to 256 questions, got 1": ["split", (f) => f.questions.pop()],
    "a form must have each question once": ["split", (f) => (f.questions[0].name = "fruit")],
    "a question's name must be a word of at most 64 letters, digits and underscores, got a b": [
      "split",
      (f) => (f.questions[0].name = "a b"),
    ],
    "smokes: its title must be text of at most 500 characters": ["split", (f) => (f.questions[0].title = "\ud800")],
    "smokes: its answers must be of open,closed,number, got list": [
      "split",
      (f) => (f.questions[0].alphabet = { kind: "list" }),
    ],
    "smokes: skip must be 1": ["split", (f) => (f.questions[0].skip = 0)],
    "a part must have one or two of the form's questions": ["split", (f) => (f.parts[0].questions = [])],
    "a, c: related questions must be lists of at most 4096 pairs, asked of everybody": [
      "pair",
      (f) => Object.assign(f.questions[0], { alphabet: { kind: "open" } }),
    ],
    "parts must have each question of the form once": ["split", (f) => f.parts.pop()],
    "fruit must have one condition, on a public question: a private one would show": [
      "conditions",
      (f) => (f.when = [["fruit", "smokes", ["no"]]]),
    ],
    "fruit must depend on answers that land has": ["conditions", (f) => (f.when = [["fruit", "land", ["DK"]]])],
    "conditions must be of questions that the form has": ["conditions", (f) => (f.when = [["pear", "land", ["NO"]]])],
    "conditions must not go in a circle, got land in one": [
      "conditions",
      (f) =>
        (f.when = [
          ["town", "land", ["NO"]],
          ["land", "town", ["Oslo"]],
        ]),
    ],
    "spend must be split, sample or each, got all": ["split", (f) => (f.spend = "all")],
    "drawn must be from 1 to the 2 parts, and all but with sample, got 1": ["split", (f) => (f.drawn = 1)],
    "the parts of a device must spend at most 1.9": ["split", (f) => (f.epsilon = "1.9")],
    "epsilon must be 1e-9 to 16384 in canonical text, got 2.0": ["split", (f) => (f.epsilon = "2.0")],
    "form must have format deniable-form/1, got deniable-form/2": ["split", (f) => (f.format = "deniable-form/2")],
    "name must be a line of at most 500 characters": ["split", (f) => (f.name = "a\nb")],
    'form must say {"digest":"': ["split", (f) => (f.name = "b")],
    'form must say "name":"", got "maker":"me"': ["split", (f) => (f.maker = "me")],
    "smokes: kind must be of krr,bitflip,subset,sensitive,sensitive-design,blocks,budgets,table, got design": [
      "split",
      (f) => (f.parts[0].mechanism.kind = "design"),
    ],
    "smokes: its encoding and mechanism must be there": ["split", (f) => delete f.parts[0].mechanism],
    "a form must have at most 2**27 counters": [
      "split",
      (f) => {
        const encoding = { cells: 2 ** 10, cohorts: 2 ** 17, hashes: 1, kind: "hashed", seed: "00".repeat(8) };
        const stage = {
          epsilon: "0.001",
          kind: "krr",
          width: 64,
        };
        f.questions = f.questions.map((question) => ({ ...question, alphabet: { kind: "open" } }));
        f.parts = f.parts.map((part) => ({ ...part, encoding, mechanism: stage }));
      },
    ],
  };
  for (const [sentence, [title, edit]] of Object.entries(said)) {
    const found = change(title, edit);
    assert.equal(found.slice(0, 13 + sentence.length), `SurveyError: ${sentence}`);
  }
  const text = formTexts.split;
  assert.equal(
    told(() => readForm(text.replace(/}$/, ',"drawn":2}'))),
    "SurveyError: form must say drawn once",
  );
  assert.equal(
    told(() => readForm(text.replace('"drawn":2', '"drawn":2.0'))),
    "SurveyError: form numbers must be integers",
  );
  assert.equal(
    told(() => readForm('{"format":"x"}')),
    "SurveyError: form must have format deniable-form/1, got x",
  );
  assert.equal(
    told(() => readForm("[]")),
    "SurveyError: form must be the JSON of one, got []",
  );
  assert.match(
    told(() => readForm("{")),
    /^SurveyError: form must be the JSON of one, got {$/,
  );
  for (const read of [readSurvey, (source) => new Client(source)])
    assert.equal(
      told(() => read(text)),
      "SurveyError: survey must be one question; readForm of deniable-client/form reads a form",
    );
});

const NOT_ASKED =
  "it must not be answered by this device, which did not draw it, or to which it is not asked; client.questions has " +
  "those that are";

test("what is wrong with answers is said, and never what they were", () => {
  const client = new Client(forms.conditions);
  const whole = { smokes: "yes", fruit: "pear", bits: 2, land: "NO", town: "Oslo" };
  assert.equal(client.report(whole).pack().length, 13);
  const wrong = {
    'answers must be given by the names of the questions; write { smokes: "yes" }': "Schmiedeberg",
    "answers must be to questions of this form, got one to another; nothing was sent": { ...whole, Schmiedeberg: 1 },
    "land: it must be one of the public answers of this form": { ...whole, land: "Schmiedeberg" },
    "land: it must be answered, because fruit depends on it": { ...whole, land: undefined },
    "town: it must be answered, because bits depends on it": { ...whole, town: undefined },
    "smokes: it must be answered; a form says with skip= what may be left out": { ...whole, smokes: null },
    [`fruit: ${NOT_ASKED}`]: { ...whole, land: "SE" },
    "smokes: symbol must be well-formed text, an exact integer or bytes, and one the question takes": {
      ...whole,
      smokes: "Schmiedeberg",
    },
    "answers must be text, numbers or bytes by the names of the questions, got some that cannot be read": {
      get smokes() {
        throw new DeniableError("Schmiedeberg");
      },
    },
  };
  const before = JSON.stringify(client.status());
  for (const [sentence, answers] of Object.entries(wrong))
    assert.equal(
      told(() => client.report(answers)),
      `AlphabetError: ${sentence}`,
    );
  for (const nothing of [null, undefined, 7, "x"])
    assert.match(
      told(() => client.report(nothing)),
      /^AlphabetError: answers must be given by the names/,
    );
  assert.equal(JSON.stringify(client.status()), before, "what was refused is not charged");
  // What depends on an answer that is not asked is not asked.
  assert.deepEqual(client.report({ smokes: "no", land: "SE" }).parts, [0]);
  assert.ok(!/Schmiedeberg/.test(String(client) + JSON.stringify(client.status())));
});

test("an answer is read once: what was checked is what is randomised", () => {
  const whole = { smokes: "yes", fruit: "pear", bits: 2, land: "NO", town: "Oslo" };
  const reads = [];
  const answers = {};
  for (const [name, value] of Object.entries(whole))
    Object.defineProperty(answers, name, {
      enumerable: true,
      get() {
        reads.push(name);
        return value;
      },
    });
  assert.equal(new Client(forms.conditions).report(answers).pack().length, 13);
  assert.deepEqual(reads.sort(), Object.keys(whole).sort());
});

test("a page asks what a form asks", () => {
  const form = forms.conditions;
  const asked = (given) => [...form.questions, ...form.public].filter(({ name }) => form.asks(name, given));
  const names = (given) => asked(given).map(({ name }) => name);
  assert.deepEqual(names({}), ["smokes", "land"]);
  assert.deepEqual(names({ land: "SE" }), ["smokes", "land"]);
  assert.deepEqual(names({ land: "NO" }), ["smokes", "fruit", "land", "town"]);
  assert.deepEqual(names({ land: "NO", town: "Oslo" }), ["smokes", "fruit", "bits", "land", "town"]);
  assert.deepEqual(form.questions[1].listed, FRUIT);
  assert.equal(forms.skipped.questions[2].listed[0], "18 to 27");
  assert.equal(forms.skipped.questions[3].listed, undefined);
});

test("a device draws once and keeps it, two clients of a storage are one device", () => {
  const form = forms["sample 3 of 40"];
  const kept = deviceOf(forms.split, "3", "ab".repeat(32));
  const [one, two] = [1, 2].map(() => new Client(form, { storage: kept }));
  assert.deepEqual(one.questions, two.questions);
  assert.equal(one.questions.length, 3);
  const answers = Object.fromEntries(one.questions.map((name) => [name, "0123".length - 4]));
  assert.deepEqual(one.report(answers).pack(), two.queue(answers).pack());
  assert.deepEqual(two.status(), one.status());
  assert.equal(one.status().spent, 3);
  assert.equal(one.status().waiting, 1);
  const drawn = new Set(Array.from({ length: 60 }, () => new Client(form).questions).flat());
  assert.ok(drawn.size > 30, "each device draws its own");
});

test("what a form has spent is what its parts have: more, in more reports, and never more than all of it", () => {
  const client = new Client(forms.twice);
  const answers = { twice: 0, again: "no", fruit: "pear" };
  client.report(answers);
  const once = client.status();
  assert.ok(once.spent > 1 && once.spent < 4);
  for (let i = 0; i < 5; i++) client.report(answers);
  assert.ok(Math.abs(client.status().spent - 4) < 1e-6);
  assert.ok(client.status().worst > client.status().spent);
  assert.throws(() => new Client(forms.split, { cap: 1 }).report({ smokes: "no", fruit: "pear" }), {
    name: "BudgetError",
  });
});

test("a form with windows is answered once in each", () => {
  const client = new Client(forms["once a day"]);
  client.report({ smokes: "no", fruit: "pear" });
  assert.match(
    told(() => client.report({ smokes: "no", fruit: "pear" })),
    /^ParticipationError: this survey must be answered once a day on this device; the next answer is taken from 20/,
  );
});

test("a key gives the words of each part, and answers that change meanwhile change nothing", async () => {
  const labels = [];
  const key = {
    check: "0123456789abcdef",
    async words(label) {
      labels.push(hex(label));
      await null;
      return { width: 64, word: () => 0n };
    },
  };
  const client = new Client(forms.split, { key });
  const answers = { smokes: "yes", fruit: "pear" };
  const made = client.report(answers);
  answers.smokes = "no";
  const zeros = scripted([0, 0]);
  const there = { ...zeros, word: () => 0n };
  const same = new Client(forms.split, { memoize: false, entropy: there });
  assert.equal(hex((await made).pack()), hex(same.report({ smokes: "yes", fruit: "pear" }).pack()));
  const start = hex(new TextEncoder().encode("permanent part")) + forms.split.digest;
  assert.deepEqual(labels, [`${start}00000000${"00000000"}01000000`, `${start}01000000${"00000000"}01000000`]);
});

/** Run with a generator whose bytes a seed fixes. */
function seeded(seed, work) {
  const real = crypto.getRandomValues;
  let state = seed * 7919;
  crypto.getRandomValues = (array) => {
    for (let i = 0; i < array.length; i++) {
      state = (Math.imul(state, 1664525) + 1013904223) | 0;
      array[i] = state >>> 24;
    }
    return array;
  };
  try {
    return work();
  } finally {
    crypto.getRandomValues = real;
  }
}

for (const [name, [Made, read]] of Object.entries(MADE))
  test(`the same report of a form leaves the same bytes everywhere: ${name}`, () => {
    let met = 0;
    const form = read(formTexts["catch-all, skipped"]);
    // One that was said, and one that was left out.
    const sets = [
      { other: "Schmiedeberg", smokes: "no" },
      { other: null, smokes: "no" },
    ];
    for (let seed = 1; seed < 60; seed++) {
      const runs = sets.map((answers) => {
        const kept = storage();
        const client = seeded(seed, () => new Made(form, { storage: kept, memoize: true }));
        const wire = hex(seeded(seed + 1000, () => client.queue(answers)).pack());
        const stores = JSON.stringify([...kept.items]);
        assert.ok(!/Schmiedeberg/.test(stores));
        return [wire, stores];
      });
      if (runs[0][0] !== runs[1][0]) continue;
      met++;
      assert.equal(runs[0][1], runs[1][1]);
    }
    assert.ok(met > 4, "some reports of different answers are the same");
  });

const KRR2 = smallKrr(2, "1", 3);
const KRR3 = smallKrr(3, "0.7", 3);
const HASHED = smallHashed(2, 2, 1, "1", 3);
const SMALL = {
  "two, split": smallForm({ a: KRR2, b: KRR3 }),
  "two, sampled": smallForm({ a: KRR2, b: KRR3 }, { drawn: 1 }),
  "three, split": smallForm({ a: KRR2, b: KRR3, c: KRR2 }),
  "two of three, sampled": smallForm({ a: KRR2, b: KRR3, c: KRR2 }, { drawn: 2 }),
  "one of three, sampled": smallForm({ a: KRR2, b: KRR3, c: KRR2 }, { drawn: 1 }),
  skipped: smallForm({ a: KRR3, b: KRR2 }, { skip: ["a"] }),
  "skipped, sampled": smallForm({ a: KRR3, b: KRR2 }, { skip: ["a"], drawn: 1 }),
  "bits and cohorts": smallForm({ a: smallBits(2, "1", 3), b: { ...HASHED, symbols: 2 } }),
  twice: smallForm({ a: smallKrr(2, ["2", "1"], 3), b: KRR3 }),
};
const everyAnswer = (form) =>
  form.parts.reduce(
    (found, { name, symbols, questions: [{ skip }] }) =>
      found.flatMap((answers) =>
        Array.from({ length: symbols }, (_, i) => ({ ...answers, [name]: skip && i === symbols - 1 ? undefined : i })),
      ),
    [{}],
  );

for (const [title, form] of Object.entries(SMALL))
  test(`the law of the bytes is that of what was drawn times the published channels: ${title}`, () => {
    assert.deepEqual(formViolations(form, everyAnswer(form)), new Set());
  });

test("a pair is one report over the pairs", () => {
  const form = forms.pair;
  const client = new Client(form);
  assert.equal(form.parts[0].symbol({ a: "yes", c: "café" }), 5);
  assert.equal(form.parts[0].symbol({ a: "no", c: "pear" }), 1);
  assert.deepEqual(client.questions, ["a", "b", "c"]);
  const [, skipped] = forms["pairs, skipped, sampled"].parts;
  assert.equal(skipped.name, "b, c");
  assert.equal(skipped.symbol({ c: "pear" }), 8 * 3 + 1);
});

/** A device that sees the whole form, whatever it drew. */
const seeing = (form, tasks) => ({ ...form, drawnBy: () => form.questions.map(({ name }) => name), tasks });
const only = (form, cohort, answers) =>
  Object.fromEntries(Object.entries(answers).filter(([name]) => form.drawnBy(cohort).includes(name)));

const MUTANTS = {
  "a question drawn by its answer": [
    "two, sampled",
    (form, options) =>
      realForm(
        seeing(form, (_, answers) => {
          const own = answers.a ? "1" : "2";
          return form.tasks(own, only(form, own, answers));
        }),
        options,
      ),
    ["drawn", "law"],
  ],
  "words shared between questions": [
    "two, split",
    (form, options) => {
      let first;
      const { entropy } = options;
      const client = realForm(form, {
        ...options,
        entropy: { ...entropy, word: () => (first ??= entropy.word()) },
      });
      const { report } = client;
      client.report = (answers) => {
        first = undefined;
        return report(answers);
      };
      return client;
    },
    ["law"],
  ],
  "a skipped question sent shorter": [
    "skipped",
    (form, options) => {
      let short;
      const tasks = (cohort, answers) => {
        short = answers.a === undefined;
        return form.tasks(cohort, answers);
      };
      const report = (...made) => {
        const whole = form.report(...made);
        return short ? { ...whole, pack: () => whole.pack().slice(0, -1) } : whole;
      };
      return realForm({ ...form, tasks, report }, options);
    },
    ["length", "law", "support"],
  ],
  "a skipped question not randomised": [
    "skipped, sampled",
    (form, options) =>
      realForm(
        {
          ...form,
          tasks: (cohort, answers) =>
            form.tasks(cohort, answers).filter(({ part }) => part.name !== "a" || answers.a !== undefined),
        },
        options,
      ),
    ["drawn", "law", "support"],
  ],
  "a question that was not drawn, in clear": [
    "two, sampled",
    (form, options) => {
      let said;
      const tasks = (cohort, answers) => {
        said = answers;
        return form.tasks(cohort, only(form, cohort, answers));
      };
      const report = (cohort, tasks_, named) => {
        const whole = form.report(cohort, tasks_, named);
        const pack = () => {
          const wire = whole.pack();
          const place = tasks_[0].place ? 0 : 1;
          wire[10 + place] = reportOf(form.parts[place], 0, [said[form.parts[place].name]]).pack().at(-1);
          return wire;
        };
        return { ...whole, pack };
      };
      return realForm({ ...seeing(form, tasks), report }, options);
    },
    ["law", "support"],
  ],
};

for (const [title, [name, make, expected]] of Object.entries(MUTANTS))
  test(`the law refuses ${title}`, () => {
    const found = formViolations(SMALL[name], everyAnswer(SMALL[name]), make);
    for (const promise of expected) assert.ok(found.has(promise), `${[...found]}`);
  });

test("the budget counted a question instead of in all is refused", () => {
  const form = SMALL["three, split"];
  const most = { ...form, spends: [form.spends[0], [1n, 1n]] };
  assert.deepEqual(formViolations(most, everyAnswer(form)), new Set(["ratio"]));
});

test("answers that may be seen are seen of their part alone", () => {
  const form = smallForm({ a: smallSensitive(3, [1], "1", 3), b: KRR2 });
  const laws = everyAnswer(form).map((answers) => [lawOfForm(form, answers).law, publishedForm(form, answers)]);
  for (const [law, stated] of laws) assert.deepEqual(new Map([...law].sort()), new Map([...stated].sort()));
});
