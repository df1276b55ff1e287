/**
 * The client as it is published: every argument is checked, and what is wrong with one is said in a sentence that names
 * it.
 */

import { argument } from "./arguments.js";
import { Obj } from "./bytes.js";
import { Client as Core } from "./client.js";

const isFunction = (value) => typeof value === "function";
const isAbove0 = (value) => typeof value === "number" && value > 0;

const CLIENT = {
  storage: ["have getItem and setItem", (value) => isFunction(value?.getItem) && isFunction(value.setItem)],
  memoize: ["be true or false", (value) => typeof value === "boolean"],
  key: ["be what deviceKey returns", (value) => value?.check && isFunction(value.words)],
  entropy: ["have width and word", (value) => value?.width > 0 && isFunction(value.word)],
  cap: ["be a number above 0", isAbove0],
  hardCap: ["be a number above 0", isAbove0],
};

const SEND = {
  batch: ["be a whole number from 1 on", (value) => isAbove0(value) && Number.isInteger(value)],
  timeout: ["be a number of seconds above 0", isAbove0],
  token: ["be printable ASCII text without blanks", (value) => typeof value === "string" && /^[!-~]+$/.test(value)],
};

/** Refuse wrong options: those of a client, or of `send`. */
export function check(options = {}, rules = CLIENT) {
  argument(Obj(options) === options && !isFunction(options), "options", "be an object", options);
  for (const [name, value] of Obj.entries(options)) {
    argument(Obj.hasOwn(rules, name), "options", `be of ${Obj.keys(rules).join(", ")}`, name);
    if (value !== undefined) argument(rules[name][1](value), name, rules[name][0], value);
  }
}

export class Client extends Core {
  constructor(survey, options) {
    check(options);
    super(survey, options);
    const { send } = this;
    const { memoize = true, storage } = options ?? {};
    this.send = async (url, settings) => {
      argument(typeof url === "string" && /^https?:\/\/./.test(url), "url", "start with http:// or https://", url);
      check(settings, SEND);
      return send(url.replace(/\/+$/, ""), settings);
    };
    this.toString = () =>
      `<Client of ${this.survey.parts ? "form" : "survey"} ${this.survey.digest.slice(0, 8)}, ${memoize ? "" : "not "}memoised, in ` +
      `${storage ? "its storage" : "memory only"}>`;
  }
}
