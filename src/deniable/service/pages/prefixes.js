/** Text that nobody lists: a device looks at the beginning of an answer, as long as its group says. */

import { sentences, text } from "./texts.js";
import { numbers as channel, whatHappens as usual } from "./words.js";

export function numbers(survey) {
  const { levels, overlong } = survey.encoding;
  return { ...channel(survey), lengths: levels.map(([bytes]) => bytes), overlong };
}

/** What will happen to an answer, with how much of it counts. */
export const whatHappens = (n, who) =>
  sentences(
    text("prefixes.begins", { least: n.lengths[0], count: n.lengths.at(-1) }),
    text(`prefixes.${n.overlong}`),
    usual(n, who),
  );
