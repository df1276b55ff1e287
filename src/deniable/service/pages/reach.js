/** Who can open an address: it decides whether a link is worth sending. */

import { text } from "./texts.js";

const LOOPBACK = /^(localhost|.*\.localhost|127\.\d+\.\d+\.\d+|0\.0\.0\.0|\[::1?\])$/;
// RFC 1918, link-local and unique local addresses, and names that no public name server knows.
const NETWORK = [
  /^(10|192\.168|172\.(1[6-9]|2\d|3[01])|169\.254)(\.\d+)+$/,
  /^\[f([cd][0-9a-f:]*|e[89ab][0-9a-f:]*)\]$/,
  /^([^.:[\]]+|.*\.(local|lan|home|internal))$/,
];

/** "computer": this one alone; "network": those in the same one; "anyone". */
export function reach(address) {
  const { hostname } = new URL(address);
  if (LOOPBACK.test(hostname)) return "computer";
  return NETWORK.some((pattern) => pattern.test(hostname)) ? "network" : "anyone";
}

/** Who cannot open an address, in a sentence; "" if everyone can. */
export function limits(address) {
  const where = reach(address);
  if (where === "anyone") return "";
  return text(`desk.${where}`, { host: new URL(address).hostname });
}
