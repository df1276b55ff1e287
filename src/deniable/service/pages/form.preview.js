/** A form as a respondent's phone would show it, one screen at a time. Nothing can be answered here. */

import { el, fill } from "./common.js";
import { moment, text } from "./texts.js";
import { paragraphs } from "./written.js";

export class Preview {
  #place;
  #screens = [];
  #at = 0;

  constructor(place) {
    this.#place = place;
  }

  /** Show these screens, the one that was shown as far as it is still there. */
  show(screens) {
    this.#screens = screens;
    this.#at = Math.min(this.#at, screens.length - 1);
    this.#draw();
  }

  #draw(focused) {
    const last = this.#screens.length - 1;
    const turn = (name, by, off) => {
      const go = () => {
        this.#at += by;
        this.#draw(name);
      };
      return el(
        "button",
        { type: "button", class: "plain", disabled: off, "data-turn": name, onclick: go },
        text(`forms.${name}`),
      );
    };
    const screen = this.#screens[this.#at];
    fill(
      this.#place,
      el("div", { class: "phone" }, el("div", { class: "screen" }, ...shown(screen))),
      el(
        "div",
        { class: "actions turns" },
        turn("back", -1, this.#at === 0),
        el(
          "span",
          { class: "quiet small", role: "status" },
          text("forms.screen", { number: this.#at + 1, of: last + 1 }),
        ),
        turn("next", 1, this.#at === last),
      ),
    );
    const pressed = focused && this.#place.querySelector(`[data-turn=${focused}]`);
    (pressed?.disabled ? this.#place.querySelector("[data-turn]:not(:disabled)") : pressed)?.focus();
  }
}

const heading = (title) => el("p", { class: "title", dir: "auto" }, title);

function shown(screen) {
  if (screen.what === "question") return question(screen);
  if (screen.what === "end") return [heading(screen.title), ...paragraphs(screen.thanks)];
  const until =
    screen.closes && el("p", { class: "quiet small" }, text("forms.until", { time: moment(screen.closes) }));
  return [heading(screen.title), ...paragraphs(screen.introduction), until];
}

function question({ title, number, of, choices, line, scale, skip }) {
  const radio = (choice) =>
    el("label", {}, el("input", { type: "radio", disabled: true }), el("span", { dir: "auto" }, choice));
  return [
    of > 1 && el("progress", { max: of, value: number, "aria-label": text("forms.progress", { number, of }) }),
    heading(title),
    choices && el("div", { class: "choices" }, ...choices.map(radio)),
    line && el("input", { type: "text", disabled: true, "aria-label": title }),
    scale && el("input", { type: "number", disabled: true, "aria-label": title, placeholder: scale.join(" – ") }),
    skip && el("p", {}, el("span", { class: "button plain" }, text("forms.leave"))),
  ];
}
