/**
 * Two small calculators, in the reader's browser alone: what epsilon does to a belief, and what error n people give.
 *
 * Elements are made by the DOM and never from text, and no style is inline: the collector's policy allows neither.
 */

/** What a belief of `prior` can become at most: posterior odds are at most e^epsilon times the prior odds. */
export const posterior = (epsilon, prior) => {
  const odds = (prior / (1 - prior)) * Math.exp(epsilon);
  return odds / (1 + odds);
};

/**
 * The standard error of a share under k-RR with k answers: the unbiased estimate is
 * (count / n - miss) / (hit - miss), and the count is binomial with m = miss + (hit - miss) p.
 */
export const standardError = (epsilon, n, answers, share) => {
  const miss = 1 / (Math.exp(epsilon) + answers - 1);
  const slope = miss * (Math.exp(epsilon) - 1);
  const m = miss + slope * share;
  return Math.sqrt((m * (1 - m)) / n) / slope;
};

/** Bounds are rounded up: "at most" must stay true. */
const upTo = (value, digits) => (Math.ceil(value * 10 ** digits - 1e-9) / 10 ** digits).toFixed(digits);
const percent = (share, digits = 0) => `${(100 * share).toFixed(digits)} %`;
const points = (share) => `${(100 * share).toFixed(1)} points`;
const whole = (n) => Math.round(n).toLocaleString("en");

const make = (name, attributes = {}, ...children) => {
  const svg = ["svg", "rect"].includes(name);
  const made = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
};

/** A slider with its name and its value; `show` turns its number into words. */
const slider = (label, { min, max, step, value, show }, changed) => {
  const input = make("input", { type: "range", min, max, step, value });
  const output = make("output");
  const say = () => {
    output.textContent = show(Number(input.value));
  };
  input.addEventListener("input", () => {
    say();
    changed();
  });
  say();
  return { element: make("label", {}, make("span", {}, label), input, output), read: () => Number(input.value) };
};

const widgets = {
  belief(place) {
    const before = make("rect", { class: "before", x: 0, y: 0, width: 0, height: 8 });
    const after = make("rect", { class: "after", x: 0, y: 12, width: 0, height: 8 });
    const said = make("p", { class: "said", "aria-live": "polite" });
    const update = () => {
      const [e, prior] = [epsilon.read(), belief.read()];
      const most = posterior(e, prior);
      const ratio = Math.exp(e);
      const afterwards = upTo(100 * most, most < 0.99 ? 0 : 2);
      said.textContent =
        `A report is at most ${upTo(ratio, 1)} times likelier under one answer than under another. ` +
        `Whoever held something about you for ${percent(prior)} likely ` +
        `can hold it for at most ${afterwards} % likely afterwards.`;
      before.setAttribute("width", 100 * prior);
      after.setAttribute("width", 100 * most);
    };
    const epsilon = slider("epsilon", { min: 0.1, max: 6, step: 0.1, value: 2, show: (x) => x.toFixed(1) }, update);
    const belief = slider("belief before", { min: 0.01, max: 0.9, step: 0.01, value: 0.1, show: percent }, update);
    const bar = make("svg", {
      class: "bar",
      viewBox: "0 0 100 20",
      preserveAspectRatio: "none",
      "aria-hidden": "true",
    });
    bar.append(before, after);
    place.replaceChildren(epsilon.element, belief.element, bar, said);
    update();
  },
  error(place) {
    const said = make("p", { class: "said", "aria-live": "polite" });
    const update = () => {
      const [n, e, k] = [10 ** people.read(), epsilon.read(), answers.read()];
      const one = standardError(e, n, k, 1 / k);
      said.textContent =
        `${whole(n)} people, ${k} answers, epsilon ${e.toFixed(1)}: a share is typically off by ${points(one)}, ` +
        `and its 95 % interval is ${points(2 * 1.96 * one)} wide. Without any noise it would be ` +
        `${points(2 * 1.96 * Math.sqrt(((1 / k) * (1 - 1 / k)) / n))}.`;
    };
    const people = slider("people", { min: 2, max: 7, step: 0.1, value: 3, show: (x) => whole(10 ** x) }, update);
    const epsilon = slider("epsilon", { min: 0.2, max: 6, step: 0.1, value: 1, show: (x) => x.toFixed(1) }, update);
    const answers = slider("answers", { min: 2, max: 50, step: 1, value: 2, show: String }, update);
    place.replaceChildren(people.element, epsilon.element, answers.element, said);
    update();
  },
};

if (typeof document !== "undefined") {
  // A phone shows the cells of such a table one under another, each with the heading of its column.
  for (const table of document.querySelectorAll("table.stacked")) {
    const names = [...table.querySelectorAll("th")].map((heading) => heading.textContent.trim());
    for (const row of table.querySelectorAll("tbody tr")) {
      // The first cell is the row's own heading, unless it is a picture.
      [...row.cells].forEach((cell, place) => {
        if (place > 0 || cell.querySelector("img")) cell.dataset.label = names[place] ?? "";
      });
    }
  }
  for (const place of document.querySelectorAll(".widget")) widgets[place.dataset.widget]?.(place);
}
