// Simulates every try of every lesson, writes the pages docs/lessons, and names what no longer holds: `node write.js [--check]`. With `--check` it
// writes nothing and names the pages that differ. `node write.js --labs FOLDER` writes the lab file of each try instead: LESSON-NUMBER.toml;
// `--live FOLDER` keeps the figures of their live runs (live.ts), in place of those that these lessons had.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { readFileSync } from "node:fs";
import { parse } from "smol-toml";
import { COLUMNS } from "../src/columns.ts";
import { labFile } from "../src/lab.ts";
import { request } from "../src/request.ts";
import { seeded } from "../src/over_seeds.ts";
import { figures, series, type Figures } from "../src/series.ts";
import type { Settings } from "../src/settings.ts";
import { Simulator, type Outcome } from "../src/simulator.ts";
import type { Lesson } from "./lesson.ts";
import { found, liveLines, type Lives } from "./live.ts";
import { LOSSES } from "./losses.ts";
import { broken, kernelLine, page, settingsOf, unfounded, type Tried } from "./page.ts";
import { QUEUES } from "./queues.ts";
import { WINDOWS } from "./windows.ts";

const LESSONS: readonly Lesson[] = [...WINDOWS, ...QUEUES, ...LOSSES];
const check = process.argv.includes("--check");
const folder = process.argv[process.argv.indexOf("--labs") + 1];
if (process.argv.includes("--labs") && folder !== undefined) {
  await mkdir(folder, { recursive: true });
  for (const { page: name, tries } of LESSONS) {
    for (const [number, tried] of Object.values(tries).entries()) await writeFile(`${folder}/${name}-${number + 1}.toml`, labFile(settingsOf(tried)));
  }
  process.exit();
}
const from = process.argv[process.argv.indexOf("--live") + 1];
if (process.argv.includes("--live") && from !== undefined) {
  const before = JSON.parse(await readFile("web/lessons/live.json", "utf8")) as Lives;
  await writeFile("web/lessons/live.json", `${JSON.stringify({ ...before, ...found(from, LESSONS) }, null, 1)}\n`);
  process.exit();
}
const lives = JSON.parse(await readFile("web/lessons/live.json", "utf8")) as Lives;
const simulator = await Simulator.load(await WebAssembly.compile(new Uint8Array(await readFile("web/built/bentpipe.wasm"))));
const published = parse(await readFile("python/bentpipe/published.toml", "utf8"));
const wrong: string[] = [];

function simulate(settings: Settings): { found: Figures; download: Outcome["results"]["workloads"][number] | undefined } {
  simulator.start({ ...request(settings), columns: COLUMNS });
  while (simulator.advance());
  const outcome = simulator.finish();
  return { found: figures(outcome, series(outcome), settings), download: outcome.results.workloads[0] };
}

for (const lesson of LESSONS) {
  const simulated = new Map<string, Tried>();
  for (const [name, tried] of Object.entries(lesson.tries)) {
    const [first, ...others] = seeded(settingsOf(tried));
    const further = lesson.overSeeds?.includes(name) ? others.map((settings) => simulate(settings).found) : [];
    const { found, download } = simulate(first ?? settingsOf(tried));
    const iperf3MbitS = download === undefined ? Number.NaN : (download.bytes * 8e3) / download.measured_ns;
    simulated.set(name, { ...found, iperf3MbitS, further });
  }
  wrong.push(...broken(lesson, simulated));
  const kernel: string[] = [];
  for (const each of lesson.kernel) {
    try {
      kernel.push(kernelLine(lesson, each, simulated, (name) => readFileSync(`docs/${name}`, "utf8")));
    } catch (why) {
      wrong.push(why instanceof Error ? why.message : String(why));
    }
  }
  if (lesson.published) {
    const missing = unfounded(lesson.published.says, JSON.stringify(published[lesson.published.key] ?? ""));
    if (missing.length) wrong.push(`${lesson.page}: published.toml does not give ${missing.join(", ")} for ${lesson.published.key}`);
  }
  const file = `docs/lessons/${lesson.page}.md`, text = page(lesson, simulated, kernel, liveLines(lesson, lives));
  if (check) {
    const there = await readFile(file, "utf8").catch(() => "");
    if (there !== text) wrong.push(`${file} is not what the simulator gives; \`make lessons\` writes it again`);
  } else {
    await mkdir("docs/lessons", { recursive: true });
    await writeFile(file, text);
    process.stderr.write(`${file}\n`);
  }
}
const index = [
  "# Lessons", "", "<!-- Written by `make lessons` from web/lessons; change it there. -->", "",
  "Each lesson asks a question. It has an interactive picture, says what to look for, and gives published and measured figures. The pictures are the "
  + "[playground](../playground.md): the simulator runs in the page.", "",
  ...LESSONS.map(({ page: name, title }) => `- [${title}](${name}.md)`), "",
].join("\n");
if (!check) await writeFile("docs/lessons/README.md", index);
else if ((await readFile("docs/lessons/README.md", "utf8").catch(() => "")) !== index) wrong.push("docs/lessons/README.md is old; `make lessons` writes it again");
for (const each of wrong) process.stderr.write(`${each}\n`);
process.exitCode = wrong.length ? 1 : 0;
