// How fast two modules of the simulator are, in node, run by run in turns: `make bench-module BESIDE=other.wasm`. The ratio is of the
// medians, above 1 where the first one is slower.

import { readFile } from "node:fs/promises";
import { COLUMNS } from "../../web/src/columns.ts";
import { request } from "../../web/src/request.ts";
import { START, type Settings } from "../../web/src/settings.ts";
import { Simulator } from "../../web/src/simulator.ts";

const RUNS: Record<string, Partial<Settings>> = {
  "50 Mbit/s GEO": {},
  "50 Mbit/s GEO, 30 users": { users: 30, queue: 400e3 },
  "100 Mbit/s, 40 ms": { rateDown: 100e6, rtt: 40e6, queue: 500e3 },
  "the same, BBR, 1 % of loss": { rateDown: 100e6, rtt: 40e6, queue: 500e3, congestionControl: "bbr", loss: 0.01 },
  "20 Mbit/s, FQ-CoDel, 8 neighbours": { rateDown: 20e6, rtt: 40e6, discipline: "fq_codel", neighbours: 8 },
  "gateways, 2 % of loss": { between: "gateway", loss: 0.02 },
  "split and tunnel, 2 % of loss": { between: "split and tunnel", loss: 0.02 },
};
const [times, ...paths] = process.argv.slice(2) as [string, string, string];
const modules = await Promise.all(paths.map(async (path) => WebAssembly.compile(new Uint8Array(await readFile(path)))));
const simulators = await Promise.all(modules.map((module) => Simulator.load(module)));

/** In ms. */
function timed(simulator: Simulator, settings: Settings): number {
  const begun = performance.now();
  simulator.start({ ...request(settings), columns: COLUMNS });
  while (simulator.advance());
  simulator.finish();
  return performance.now() - begun;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
}

const ratios: number[] = [];
console.log(`${"median of a run, in ms".padEnd(40)}${paths.map((_, place) => `module ${place + 1}`.padStart(12)).join("")}${"ratio".padStart(8)}`);
for (const [name, changed] of Object.entries(RUNS)) {
  const settings = { ...START, ...changed };
  const took = simulators.map((simulator) => (timed(simulator, settings), timed(simulator, settings), [] as number[]));
  for (let time = 0; time < Number(times); time += 1) {
    simulators.forEach((simulator, place) => took[place]?.push(timed(simulator, settings)));
  }
  const [first = NaN, second = NaN] = took.map(median);
  ratios.push(first / second);
  console.log(`${name.padEnd(40)}${first.toFixed(1).padStart(12)}${second.toFixed(1).padStart(12)}${(first / second).toFixed(2).padStart(8)}`);
}
const mean = Math.exp(ratios.reduce((sum, ratio) => sum + Math.log(ratio), 0) / ratios.length);
console.log(`${"geometric mean".padEnd(64)}${mean.toFixed(2).padStart(8)}`);
