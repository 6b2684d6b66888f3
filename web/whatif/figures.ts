// What a simulated run amounts to: its figures beside those that were measured, and its curves over those of the report.

import { digits } from "../src/figure_text.ts";
import type { Outcome } from "../src/simulator.ts";
import type { Direction, Measured, PipeFigures, QueueFigures } from "./lab.ts";

export interface Row {
  readonly label: string;
  readonly unit: string;
  readonly value: number | null;
}

interface Results {
  readonly ended_ns: number;
  readonly pipes: Readonly<Record<Direction, PipeFigures>>;
  readonly queue: Readonly<Record<Direction, QueueFigures | undefined>>;
  readonly workloads: readonly { readonly retransmits: number }[];
}

const QUEUE_DROPS = ["tail", "aqm"] as const;

/** The same rows for every run of a page's part. */
export function rows(direction: Direction, { pipe, queue, retransmits }: Measured): Row[] {
  const dropped = pipe.drops && QUEUE_DROPS.reduce((sum, cause) => sum + (pipe.drops?.[cause] ?? 0), 0);
  const scaled = (value: number | null | undefined, factor: number) => (value === null || value === undefined ? null : value * factor);
  return [
    { label: `goodput (${direction})`, unit: "Mbit/s", value: pipe.goodput_mbit_s ?? null },
    { label: "mean queue", unit: "kB", value: scaled(pipe.queue_bytes_mean, 1e-3) },
    { label: "queueing delay, 95th percentile", unit: "ms", value: scaled(queue.delay_s_p95, 1e3) },
    { label: "dropped by the queue", unit: "packets", value: dropped ?? null },
    { label: "segments sent again", unit: "segments", value: retransmits },
  ];
}

/** Of a simulated run in the form in which the report has the measured one. */
export function measuredOf({ results }: Outcome, direction: Direction): Measured {
  const found = results as unknown as Results;
  return {
    pipe: found.pipes[direction], queue: found.queue[direction] ?? {},
    retransmits: found.workloads.reduce((sum, { retransmits }) => sum + retransmits, 0),
  };
}

export function shown({ value, unit }: Row): string {
  return value === null ? "–" : `${digits(value)} ${unit}`;
}

/** "With queue 400 kB instead of 1 MB: goodput (down) 12 instead of 11 Mbit/s (+9.1 %); ..." */
export function sentence(changed: readonly string[], before: readonly Row[], now: readonly Row[]): string {
  const effects = now.flatMap(({ label, unit, value }, at) => {
    const other = before[at]?.value ?? null;
    if (value === null || other === null || (value === 0 && other === 0)) return [];
    return [`${label} ${digits(value)} instead of ${digits(other)} ${unit}${share(other, value)}`];
  });
  return `With ${changed.join(" and ")}: ${effects.join("; ")}.`;
}

function share(before: number, now: number): string {
  if (before === 0) return "";
  const percent = (100 * (now - before)) / before, size = Math.abs(percent);
  if (size < 0.05) return " (the same)";
  return ` (${percent < 0 ? "\u2212" : "+"}${size < 10 ? size.toFixed(1) : digits(Math.round(size))} %)`;
}

export interface Curve {
  readonly x: readonly number[];
  readonly y: readonly (number | null)[];
}

/** By the name that the report gives to the same curve of the measured run. */
export function curves({ tables, texts }: Outcome, direction: Direction): Map<string, Curve> {
  const link = tables.link ?? {}, pipe = texts.indexOf(direction);
  const rows = [...(link.pipe ?? []).keys()].filter((row) => link.pipe?.[row] === pipe);
  const x = rows.map((row) => link.time_s?.[row] ?? 0), bin = binOf(x);
  const of = (name: string, factor: number): Curve => ({ x, y: rows.map((row) => (link[name]?.[row] ?? 0) * factor) });
  return new Map([
    [`goodput ${direction}`, of("goodput_bytes", 8e-6 / bin)],
    [`mean ${direction}`, of("queue_bytes_mean", 1e-3)],
    [`srtt ${direction}`, roundTrips(tables.sockets ?? {}, texts, direction)],
  ]);
}

function binOf(x: readonly number[]): number {
  const steps = x.slice(1).map((each, at) => each - (x[at] ?? 0)).filter((step) => step > 0);
  return steps.length ? Math.min(...steps) : 0.1;
}

/** The mean over all senders; the report draws each sender for itself. */
function roundTrips(table: Readonly<Record<string, Float64Array>>, texts: readonly string[], direction: Direction): Curve {
  const host = texts.indexOf(direction === "down" ? "server" : "client"), data = texts.indexOf("data");
  const sums = new Map<number, { sum: number; count: number }>();
  for (const [row, at] of (table.time_s ?? new Float64Array()).entries()) {
    const srtt = table.srtt_s?.[row] ?? Number.NaN;
    if (table.host?.[row] !== host || table.role?.[row] !== data || Number.isNaN(srtt) || !((table.bytes_sent?.[row] ?? 0) > 0)) continue;
    const found = sums.get(at) ?? { sum: 0, count: 0 };
    sums.set(at, { sum: found.sum + srtt * 1e3, count: found.count + 1 });
  }
  return { x: [...sums.keys()], y: [...sums.values()].map(({ sum, count }) => sum / count) };
}

export const COLUMNS: Readonly<Record<string, readonly string[]>> = {
  link: ["time_s", "pipe", "goodput_bytes", "queue_bytes_mean"],
  sockets: ["time_s", "host", "role", "srtt_s", "bytes_sent"],
};
