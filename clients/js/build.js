/**
 * Make `deniable.min.js` of the sources: `npm run build`. The result is in the repository, here and in the Python
 * package, which serves it with its pages; so is `form.min.js`, which imports from it what the two share, and there
 * alone `key.min.js`, of `src/key.js`. A test makes them again.
 */

import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { minify } from "terser";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

// By the source that each file begins with.
export const targets = {
  "src/page.js": ["deniable.min.js", "../../src/deniable/service/pages/deniable.min.js"].map(here),
  "src/form.js": ["form.min.js", "../../src/deniable/service/pages/form.min.js"].map(here),
  "src/key.js": [here("../../src/deniable/service/pages/key.min.js")],
};

// Bytes have no state and no class of their own; everything else is the client's, whose errors are recognised.
const shared = {
  name: "shared",
  setup: (build) =>
    build.onResolve({ filter: /^\.\// }, ({ path }) =>
      /bytes|form_/.test(path) ? undefined : { path: "./deniable.min.js", external: true },
    ),
};

// The names that properties have in the client are those that they have in what imports from it.
let props;

export async function bundle(source) {
  const client = source === "src/page.js";
  const importing = source === "src/form.js";
  if (importing && !props) await bundle("src/page.js");
  const nameCache = importing ? { props } : {};
  const entry = here(source);
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    minifySyntax: true,
    format: "esm",
    target: "es2022",
    charset: "utf8",
    write: false,
    plugins: importing ? [shared] : [],
  });
  // An arrow is shorter than a declaration, and one more of a list of variables.
  const arrows = outputFiles[0].text.replace(/^function (\w+)(\(.*\)) {$([\s\S]*?)^}$/gm, "var $1 = $2 => {$3};");
  const { code } = await minify(arrows, {
    module: true,
    ecma: 2020,
    nameCache,
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
      properties: {
        builtins: true,
        regex: /^(thresholds|randomize|refresh|block|bits|stated|find|spends|responses|occupied|label|begin|tasks)$/,
      },
    },
  });
  if (client) props = nameCache.props;
  return `${code}\n`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [source, files] of Object.entries(targets)) {
    const text = await bundle(source);
    for (const file of files) writeFileSync(file, text);
  }
}
