/**
 * How a form is answered: what a device draws before any answer, which questions are asked of it, what one report
 * randomises, and the bytes. `Client` has the rest, which is that of a survey.
 */

import { RULE } from "./alphabet.js";
import { Bytes, big, ceil, join, little, num, Obj, unhex, upTo } from "./bytes.js";
import { labelOf, uniformBelow } from "./noise.js";
import { reportOf } from "./report.js";

/**
 * Of a form with these `parts`, of which a device answers as many as are `drawn`, each of some of the `questions`; of
 * the `open` ones the answers are public.
 */
export function answering({ digest, drawn, parts, questions, open }) {
  const count = parts.length;
  const known = new Map([...questions, ...open].map((question) => [question.name, question]));
  const differs = drawn < count || parts.some((part) => part.when);
  const slot = (part, cohort, named) => reportOf(part, cohort, named).pack().slice(1);

  /** What a number of `begin` stands for: which parts are drawn, and the cohort in each. */
  const drawnOf = (cohort) => {
    const chosen = big(cohort);
    let rest = chosen >> big(count);
    return parts.map(({ encoding }, place) => {
      const own = num(rest % big(encoding.cohorts));
      rest /= big(encoding.cohorts);
      return [(chosen >> big(place)) & 1n, own];
    });
  };

  /** Whether a condition holds, given the places of public answers; or the name of the question that must be answered. */
  const holds = ({ when: condition }, told) => {
    if (!condition) return true;
    const { on, places } = condition;
    const place = told.get(on.name);
    if (place !== undefined) return places.includes(place);
    // What is not asked has no answer.
    const asked = holds(on, told);
    return asked === true ? on.name : asked;
  };

  return {
    /** What a device draws once, before any answer, as one number: which parts, as bits, and its cohort in each. */
    begin(entropy) {
      const left = upTo(count);
      let chosen = 0n;
      for (let i = 0; i < drawn; i++)
        chosen |= 1n << big(drawn < count ? left.splice(uniformBelow(entropy, left.length), 1)[0] : i);
      let scale = 1n << big(count);
      for (const { encoding } of parts) {
        chosen += scale * big(uniformBelow(entropy, encoding.cohorts));
        scale *= big(encoding.cohorts);
      }
      return `${chosen}`;
    },

    /** The names of the questions that a device answers, in the order of the form. */
    drawnBy(cohort) {
      const found = drawnOf(cohort);
      const mine = parts.flatMap((part, place) => (found[place][0] ? part.questions : []));
      return questions.filter((question) => mine.includes(question)).map((question) => question.name);
    },

    /** Whether a question is asked, given public answers by name: not yet, where one that it depends on is missing. */
    asks(question, given) {
      const told = open.filter((one) => given[one.name] != null).map((one) => [one.name, one.place(given[one.name])]);
      return holds(known.get(question), new Map(told)) === true;
    },

    /** What one report randomises; or, as text, what is wrong with the answers, of which it shows none. */
    tasks(cohort, value) {
      if (typeof value !== "object" || !value)
        return 'answers must be given by the names of the questions; write { smokes: "yes" }';
      let said = "answers must be text, numbers or bytes by the names of the questions, got some that cannot be read";
      try {
        // Read once: what is checked is what is randomised.
        const answers = Obj.fromEntries(Obj.entries(value).filter(([, one]) => one !== undefined));
        const has = (question) => Obj.hasOwn(answers, question.name);
        if (Obj.keys(answers).some((own) => !known.has(own)))
          return "answers must be to questions of this form, got one to another; nothing was sent";
        const told = new Map();
        for (const question of open.filter(has)) {
          said = `${question.name}: it must be one of the public answers of this form`;
          told.set(question.name, question.place(answers[question.name]));
        }
        const asked = [];
        for (const [place, [chosen, own]] of drawnOf(cohort).entries()) {
          const part = parts[place];
          const holding = chosen ? holds(part, told) : false;
          if (holding.at) return `${holding}: it must be answered, because ${part.name} depends on it`;
          if (holding) asked.push([place, part, own]);
          for (const question of part.questions) {
            const missing = !has(question) || answers[question.name] === null;
            if (holding && missing && !question.skip)
              return `${question.name}: it must be answered; a form says with skip= what may be left out`;
            if (!holding && has(question))
              return (
                `${question.name}: it must not be answered by this device, which did not draw it, or to which it is ` +
                "not asked; client.questions has those that are"
              );
          }
        }
        return asked.map(([place, part, own]) => {
          said = `${part.name}: ${RULE}, and one the question takes`;
          const occupied = part.encoding.of(own, part.symbol(answers));
          return { part, place, own, occupied, label: labelOf("permanent part", digest, place, own, ...occupied) };
        });
      } catch {
        return said;
      }
    },

    /** The report of a device that randomised these tasks to those cells. */
    report(_cohort, tasks, named) {
      const slots = parts.map((part) => new Bytes(slot(part, 0, [0]).length));
      let answered = 0n;
      tasks.forEach(({ part, place, own }, i) => {
        slots[place] = slot(part, own, named[i]);
        answered |= 1n << big(place);
      });
      const payload = join(...slots);
      const mask = differs ? little(answered, ceil(count / 8)) : [];
      return {
        parts: tasks.map(({ place }) => place),
        payload,
        pack: () => join([1], unhex(digest.slice(0, 16)), mask, payload),
      };
    },
  };
}
