/**
 * Make `deniable.min.js` of the sources: `npm run build`. The result is in the repository, here and in the Python
 * package, which serves it with its pages; so is `key.min.js`, of `src/key.js`, there alone. A test makes them again.
 */

import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { minify } from "terser";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

// By the source that each file begins with.
export const targets = {
  "src/index.js": ["deniable.min.js", "../../src/deniable/service/pages/deniable.min.js"].map(here),
  "src/key.js": [here("../../src/deniable/service/pages/key.min.js")],
};

export async function bundle(source) {
  const entry = here(source);
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    minifySyntax: true,
    format: "esm",
    target: "es2022",
    charset: "utf8",
    write: false,
  });
  // An arrow is shorter than a declaration, and one more of a list of variables.
  const arrows = outputFiles[0].text.replace(/^function (\w+)(\(.*\)) {$([\s\S]*?)^}$/gm, "var $1 = $2 => {$3};");
  const { code } = await minify(arrows, {
    module: true,
    ecma: 2020,
    compress: {
      passes: 4,
      unsafe: true,
      unsafe_arrows: true,
      pure_getters: true,
      keep_fargs: false,
      unsafe_methods: true,
    },
    // Names that stand in no file and no answer of a collector, and that no page asks for.
    mangle: {
      properties: { builtins: true, regex: /^(thresholds|randomize|refresh|block|bits|stated|find)$/ },
    },
  });
  return `${code}\n`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [source, files] of Object.entries(targets)) {
    const text = await bundle(source);
    for (const file of files) writeFileSync(file, text);
  }
}
