// What a lesson is: a question, settings to play with, and what they show. Every figure in its words is taken from the simulation, from a page
// of measurements, or from the published figures: `make lessons` writes the pages, and a check finds a sentence that no longer holds.

import type { Figures } from "../src/series.ts";
import type { Settings } from "../src/settings.ts";

export type ChartKey = "throughput" | "queue" | "windows" | "rtt" | "drops";

/** The figures of the tries. */
export interface Seen {
  /** A figure of a try, with its unit: "0.95 Mbit/s". */
  text(name: string, key: keyof Figures): string;
  /** The figure itself; NaN if the run has none. */
  value(name: string, key: keyof Figures): number;
  /** The least and the most over the seeds, with the unit: "41.6 to 85.3 s". Of a try that is simulated over seeds. */
  range(name: string, key: keyof Figures): string;
}

/** A figure measured on a real kernel. */
export type Kernel =
  /** A cell of the table in docs/accuracy.md, and the try with the same path. */
  | { readonly cell: string; readonly is: string }
  /** `says` has no number that `quote` does not have, and `quote` stands in a page of docs/. */
  | { readonly page: string; readonly quote: string; readonly says: string };

export interface Lesson {
  /** Of docs/lessons, without its ending. */
  readonly page: string;
  readonly title: string;
  readonly question: string;
  readonly controls: readonly (keyof Settings)[];
  readonly charts: readonly ChartKey[];
  /** The first is where the lesson starts. */
  readonly tries: Readonly<Record<string, Partial<Settings>>>;
  readonly figures: readonly (keyof Figures)[];
  /** Tries that chance changes much: simulated with five seeds. */
  readonly overSeeds?: readonly string[];
  look(seen: Seen): string[];
  why(seen: Seen): string;
  /** What the words say without a number, and whether it is so. */
  claims(seen: Seen): Readonly<Record<string, boolean>>;
  /** A key of python/bentpipe/published.toml, and words that have no number that does not stand there. */
  readonly published?: { readonly key: string; readonly says: string };
  /** Empty: no live run of this path is recorded. */
  readonly kernel: readonly Kernel[];
  /** Why a live run differs from the simulator's. */
  readonly apart?: string;
}

/** A path as in the cells of docs/accuracy.md: both directions alike, a queue of so many BDP, 20 s or 50 round trips. */
export function cell(mbit: number, rttMs: number, queueBdp: number, more: Partial<Settings> = {}): Partial<Settings> {
  const rate = mbit * 1e6, rtt = rttMs * 1e6;
  return {
    rateDown: rate, rateUp: rate, rtt, queue: Math.round((queueBdp * rate * rttMs) / 8000), duration: Math.max(20e9, 50 * rtt), ...more,
  };
}
