// Bundles the playground into web/built, and what reports take of it into python/bentpipe/report/what_if: `node web/build.js`. The
// simulator's module is put into both by scripts/wasm.
import { build } from "esbuild";
import { copyFile, mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const web = dirname(fileURLToPath(import.meta.url));
const out = join(web, "built"), report = join(web, "../python/bentpipe/report/what_if");
/** @type {import("esbuild").BuildOptions} */
const how = { bundle: true, target: "es2022", minify: true, legalComments: "eof", logLevel: "warning" };
await mkdir(out, { recursive: true });
await mkdir(report, { recursive: true });
await build({
  entryPoints: [join(web, "src/main.ts"), join(web, "src/worker.ts"), join(web, "style.css")],
  outdir: out, outbase: join(web, "src"), entryNames: "[name]",
  format: "esm", ...how,
});
await build({ entryPoints: [join(web, "whatif/what_if.ts")], outdir: report, format: "esm", ...how });
await build({ entryPoints: [join(web, "whatif/worker.ts")], outdir: report, format: "iife", ...how });
await copyFile(join(web, "index.html"), join(out, "index.html"));
