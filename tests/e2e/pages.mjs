// Questions on standard input, one JSON array [module, function, arguments] a line; answers on standard output.
import { createInterface } from "node:readline";
import "../pages/english.mjs";

const root = new URL("../../src/deniable/service/pages/", import.meta.url);
for await (const line of createInterface({ input: process.stdin })) {
  const [module, name, args] = JSON.parse(line);
  const found = await import(new URL(module, root));
  console.log(JSON.stringify(found[name](...args)));
}
