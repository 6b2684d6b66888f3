// Runs each request of a file, JSON in lines, and writes its outcome: `N.json` with the columns' names, and `N.bin` with their bytes one after the
// other. `node columns.js bentpipe.wasm REQUESTS FOLDER`
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Request } from "../../web/src/request.ts";
import { Simulator } from "../../web/src/simulator.ts";

const [wasm, requests, folder] = process.argv.slice(2) as [string, string, string];
const simulator = await Simulator.load(await WebAssembly.compile(new Uint8Array(await readFile(wasm))));
const lines = (await readFile(requests, "utf8")).split("\n").filter((line) => line !== "");
for (const [number, line] of lines.entries()) {
  simulator.start(JSON.parse(line) as Request);
  while (simulator.advance());
  const { results, texts, tables } = simulator.finish();
  const columns = Object.entries(tables).flatMap(([table, named]) => Object.entries(named).map(([name, cells]) => ({ table, name, cells })));
  const about = columns.map(({ table, name, cells }) => ({ table, name, rows: cells.length }));
  await writeFile(join(folder, `${number}.json`), JSON.stringify({ results, texts, columns: about }));
  await writeFile(join(folder, `${number}.bin`), Buffer.concat(columns.map(({ cells }) => Buffer.from(cells.buffer))));
}
