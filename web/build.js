// Bundles the playground into web/built, the page of `bentpipe web` into its package, and what reports take of the playground into
// python/bentpipe/report/what_if: `node web/build.js`. The simulator's module is put there by scripts/wasm.
import { build } from "esbuild";
import { copyFile, mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const web = dirname(fileURLToPath(import.meta.url));

/** @param {string} from @param {string} to @param {string[]} entries @param {"esm" | "iife"} format */
async function bundle(from, to, entries, format = "esm") {
  const out = join(web, to);
  await mkdir(out, { recursive: true });
  await build({
    entryPoints: entries.map((entry) => join(web, entry)),
    outdir: out, outbase: join(web, from), entryNames: "[name]",
    bundle: true, format, target: "es2022", minify: true, legalComments: "eof", logLevel: "warning",
  });
}

const local = "../python/bentpipe/web/page", report = "../python/bentpipe/report/what_if";
await bundle("src", "built", ["src/main.ts", "src/worker.ts", "style.css"]);
await copyFile(join(web, "index.html"), join(web, "built/index.html"));
await bundle("local", local, ["local/local.ts", "local/local.css"]);
await copyFile(join(web, "local/index.html"), join(web, local, "index.html"));
await bundle("whatif", report, ["whatif/what_if.ts"]);
await bundle("whatif", report, ["whatif/worker.ts"], "iife");
