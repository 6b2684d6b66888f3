// Bundles the playground into web/built: `node web/build.js`. The simulator's module is put there by scripts/wasm.
import { build } from "esbuild";
import { copyFile, mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const web = dirname(fileURLToPath(import.meta.url));
const out = join(web, "built");
await mkdir(out, { recursive: true });
await build({
  entryPoints: [join(web, "src/main.ts"), join(web, "src/worker.ts"), join(web, "style.css")],
  outdir: out, outbase: join(web, "src"), entryNames: "[name]",
  bundle: true, format: "esm", target: "es2022", minify: true, legalComments: "eof", logLevel: "warning",
});
await copyFile(join(web, "index.html"), join(out, "index.html"));
