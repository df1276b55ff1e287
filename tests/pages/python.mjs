/** What the library says, asked of Python once in a process. */

import { execFileSync } from "node:child_process";

const said = new Map();

/** The JSON that a program prints. */
export function python(code) {
  if (!said.has(code)) {
    const printed = execFileSync(process.env.PYTHON ?? ".venv/bin/python", ["-c", code], {
      encoding: "utf8",
      maxBuffer: 1 << 26,
    });
    said.set(code, JSON.parse(printed));
  }
  return said.get(code);
}

/** The templates of the charts, which Python makes. */
export const chartTemplates = () =>
  python("from deniable.service.pages.bundle import make; print(make()['charts.json'])");
