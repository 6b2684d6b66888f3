// The same comparison with further seeds: both settings with each of them, one after the other in a worker of their own.

import { ratioInterval } from "./intervals.ts";
import { differences, ROWS } from "./figure_text.ts";
import { Runner, type Found } from "./runner.ts";
import { figures, series, type Figures } from "./series.ts";
import type { Settings } from "./settings.ts";

export const SEEDS = 5;

export interface Pair {
  readonly before: Figures;
  readonly now: Figures;
}

/** The settings with the seeds that follow theirs, as the repeats of a lab have them. */
export function seeded(settings: Settings): Settings[] {
  return Array.from({ length: SEEDS }, (_, place) => ({ ...settings, seed: settings.seed + place }));
}

/** One sentence: how many times as large each figure is, with its interval. */
export function overSeeds(now: Settings, pinned: Settings, pairs: readonly Pair[]): string {
  const changed = differences({ ...now, seed: pinned.seed }, pinned);
  const effects = ROWS.flatMap(({ key, label }) => {
    const values = pairs.flatMap(({ before, now: after }) => {
      const one = before[key], other = after[key];
      return one === null || other === null ? [] : [[one, other] as const];
    });
    const found = values.length === pairs.length ? ratioInterval(values) : null;
    if (found === null) return [];
    const { mean, low, high } = found;
    const verdict = low > 1 || high < 1 ? "" : ", no difference seen";
    return [`${label} ${times(mean)} times (${times(low)}\u2013${times(high)}${verdict})`];
  });
  const words = effects.length ? effects.join("; ") : "no figure that can be compared";
  return `With ${changed.join(" and ")}, over ${pairs.length} pairs of seeds: ${words}. Mean ratios with 95 % intervals (Student's t).`;
}

const times = (ratio: number) => String(Number(ratio.toPrecision(3)));

export interface SeedsTold {
  progress(done: number, all: number): void;
  found(sentence: string): void;
  failed(message: string): void;
}

/** One comparison at a time. */
export class SeedComparison {
  readonly #runner: Runner;
  readonly #told: SeedsTold;
  #compared: { readonly now: Settings; readonly pinned: Settings; readonly wanted: readonly Settings[] } | null = null;
  #figures: Figures[] = [];

  constructor(worker: Worker, told: SeedsTold) {
    this.#told = told;
    this.#runner = new Runner(worker, { found: (it) => this.#took(it), progress: () => undefined, failed: (message) => told.failed(message) });
  }

  start(now: Settings, pinned: Settings): void {
    const wanted = [...seeded({ ...pinned, seed: now.seed }), ...seeded(now)];
    this.#compared = { now, pinned, wanted };
    this.#figures = [];
    this.#next();
  }

  /** Another comparison is shown: this one's answer is not wanted any more. */
  drop(): void {
    this.#compared = null;
  }

  #next(): void {
    if (this.#compared === null) return;
    const { now, pinned, wanted } = this.#compared;
    const next = wanted[this.#figures.length];
    this.#told.progress(this.#figures.length, wanted.length);
    if (next !== undefined) return this.#runner.ask(next, false);
    const pairs = this.#figures.slice(0, SEEDS).flatMap((before, place) => {
      const after = this.#figures[SEEDS + place];
      return after === undefined ? [] : [{ before, now: after }];
    });
    this.#told.found(overSeeds(now, pinned, pairs));
  }

  #took({ settings, outcome }: Found): void {
    if (this.#compared?.wanted[this.#figures.length] !== settings) return;
    this.#figures.push(figures(outcome, series(outcome), settings));
    this.#next();
  }
}
