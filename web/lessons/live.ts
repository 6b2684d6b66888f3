// What a real kernel gave for the tries of the lessons: kept in live.json, taken from the folders of runs of their lab files.
//
//     scripts/lessons --labs labs
//     for lab in labs/policer-*.toml; do bentpipe run "$lab" --engine live --out "live/$(basename "$lab" .toml)"; done
//     scripts/lessons --live live

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { ROWS, withUnit } from "../src/figure_text.ts";
import type { Figures } from "../src/series.ts";
import type { Lesson } from "./lesson.ts";

/** Figures as the page has them; null: the run has none. */
export interface Live extends Partial<Figures> {
  readonly kernel: string;
  readonly day: string;
  readonly cores: number;
  readonly reliable: boolean;
}

/** By lesson, then by the name of the try. */
export type Lives = Record<string, Record<string, Live>>;

interface Workload {
  readonly goodput_mbit_s?: number;
  readonly p95_ms?: number;
  readonly retransmits?: number;
  readonly completion_s?: number | null;
  readonly streams?: number;
}

/** What is read of run.json (docs/results.md). */
interface Kept {
  readonly engine: string;
  readonly status: string;
  readonly reliable: boolean;
  readonly started: string;
  readonly machine: { readonly kernel: string; readonly cores: number };
  readonly workloads: Readonly<Record<string, Workload>>;
  readonly pipes: { readonly down: { goodput_mbit_s: number; queue_bytes_mean: number; drops: Readonly<Record<string, number>> } };
}

export function liveOf({ engine, status, reliable, started, machine, workloads, pipes: { down } }: Kept): Live {
  if (engine !== "live" || status !== "done") throw new Error(`a run of ${engine} that is ${status} is no figure of a kernel`);
  const { download, neighbours, pings } = workloads, { tail = 0, aqm = 0, ...others } = down.drops;
  return {
    kernel: /^\d+\.\d+/.exec(machine.kernel)?.[0] ?? machine.kernel, day: started.slice(0, 10), cores: machine.cores, reliable,
    goodputMbitS: down.goodput_mbit_s, queueKb: down.queue_bytes_mean / 1e3, pingMs: pings?.p95_ms ?? null,
    droppedPackets: tail + aqm, lostPackets: Object.values(others).reduce((sum, each) => sum + each, 0),
    retransmitted: download?.retransmits ?? 0, downloadS: download?.completion_s ?? null,
    downloadMbitS: download?.goodput_mbit_s ?? null,
    neighbourMbitS: neighbours?.goodput_mbit_s === undefined ? null : neighbours.goodput_mbit_s / (neighbours.streams ?? 1),
  };
}

/** Of FOLDER/LESSON-NUMBER/RUN/run.json. */
export function found(folder: string, lessons: readonly Lesson[]): Lives {
  const lives: Lives = {};
  for (const { page, tries } of lessons) {
    for (const [number, name] of Object.keys(tries).entries()) {
      const runs = `${folder}/${page}-${number + 1}`;
      const run = existsSync(runs) ? readdirSync(runs).find((each) => existsSync(`${runs}/${each}/run.json`)) : undefined;
      if (run !== undefined) (lives[page] ??= {})[name] = liveOf(JSON.parse(readFileSync(`${runs}/${run}/run.json`, "utf8")) as Kept);
    }
  }
  return lives;
}

const written = (day: string) => new Date(day).toLocaleDateString("en-GB", { day: "numeric", month: "long", year: "numeric", timeZone: "UTC" });

/** The lines of a lesson's page. */
export function liveLines(lesson: Lesson, lives: Lives): string[] {
  const runs = Object.entries(lives[lesson.page] ?? {});
  const [first] = runs;
  if (first === undefined) return [];
  const keys = lesson.figures.filter((key) => key !== "fileS");
  const cell = (live: Live, key: keyof Figures) => withUnit(live[key] ?? null, ROWS.find((row) => row.key === key)?.unit ?? "");
  const unsure = runs.some(([, { reliable }]) => !reliable);
  return [
    `One run each on Linux ${first[1].kernel} with ${first[1].cores} processors, ${written(first[1].day)}:`, "",
    `| try | ${keys.map((key) => ROWS.find((row) => row.key === key)?.label ?? key).join(" | ")} |`, `|---|${keys.map(() => "---|").join("")}`,
    ...runs.map(([name, live]) => `| ${name} | ${keys.map((key) => (live.reliable ? cell(live, key) : `[${cell(live, key)}]`)).join(" | ")} |`), "",
    ...(unsure ? ["Runs in [brackets] are not reliable: the machine was busy.", ""] : []),
    "To repeat it, in a checkout: `scripts/lessons --labs labs`, then `bentpipe run labs/" + `${lesson.page}-${Object.keys(lesson.tries).indexOf(first[0]) + 1}.toml` + " --engine live`, and so on.",
  ];
}
