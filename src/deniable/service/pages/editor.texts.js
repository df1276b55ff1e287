/** Everything that the question editor says, in one place. */

export const TEXTS = {
  question: "Your question",
  kinds: "How people answer",
  closed: "They choose from a list",
  ordered: "They choose from a list that has an order, such as never to daily",
  number: "They give a number, such as an age or hours",
  open: "They write what they like",
  answers: "The answers",
  answersHint: "One a line, two or more",
  orderedHint: "One a line, from one end of the order to the other",
  sensitive: "Only some of the answers are sensitive",
  sensitiveHint:
    "Mark those that need hiding. Only these are hidden, and results are more exact; any other answer may be seen " +
    "for what it is. Mark none to hide every answer.",
  candidates: "How many different answers will you look for?",
  candidatesHint: "You name them later, when the results are in",
  text: "Capital letters and extra blanks",
  textHint: "Phones write the first letter large",
  folded: "make no difference",
  exact: "make another answer",
  low: "The smallest number",
  high: "The largest number",
  by: "Counted",
  bySteps: "rounded to steps",
  byBins: "in bins of equal width",
  step: "Size of a step",
  bins: "Number of bins",
  outside: "Numbers outside of that",
  clamp: "count as the smallest and the largest",
  refuse: "are refused",
};
