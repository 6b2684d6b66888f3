// Asks the worker: a preview of what can be had in a moment while a slider moves, the whole run when it rests. A newer question takes the place
// of one that waits or is under way.

import { COLUMNS } from "./columns.ts";
import { request } from "./request.ts";
import type { Answer, Ask } from "./messages.ts";
import { same, type Settings } from "./settings.ts";
import type { Outcome } from "./simulator.ts";

export interface Found {
  readonly settings: Settings;
  readonly outcome: Outcome;
  /** Whether the run is whole; else it ends where the time for a preview was over. */
  readonly whole: boolean;
  readonly tookMs: number;
}

export interface Told {
  found(found: Found): void;
  progress(share: number): void;
  failed(message: string): void;
}

const PREVIEW_MS = 30;

export class Runner {
  readonly #worker: Worker;
  readonly #told: Told;
  #latest = 0;
  #asked: Settings | null = null;
  #previewing = false;
  #next: { settings: Settings; preview: boolean } | null = null;

  constructor(worker: Worker, told: Told) {
    this.#worker = worker;
    this.#told = told;
    worker.onmessage = ({ data }: MessageEvent<Answer>) => this.#answered(data);
    worker.onerror = (event) => told.failed(event.message || "the simulator's worker could not be started");
  }

  /** A preview that is under way ends first: it is short, and a slider that moves on would never show one. */
  ask(settings: Settings, preview: boolean): void {
    if (this.#previewing) this.#next = { settings, preview };
    else this.#send(settings, preview);
  }

  #send(settings: Settings, preview: boolean): void {
    this.#latest += 1;
    this.#asked = settings;
    this.#previewing = preview;
    const ask: Ask = { id: this.#latest, request: { ...request(settings), columns: COLUMNS }, budgetMs: preview ? PREVIEW_MS : null };
    this.#worker.postMessage(ask);
  }

  #answered(answer: Answer): void {
    if (answer.kind === "ready") return;
    const settings = this.#asked;
    if (answer.kind === "error" && answer.id === null) return this.#told.failed(answer.message);
    if (answer.id !== this.#latest || settings === null) return;
    if (answer.kind === "progress") return this.#told.progress(answer.nowS / (settings.duration / 1e9));
    this.#previewing = false;
    const next = this.#next;
    this.#next = null;
    // The preview may have been the whole run.
    const answered = answer.kind === "outcome" && answer.whole && next !== null && same(next.settings, settings);
    if (next !== null && !answered) this.#send(next.settings, next.preview);
    if (answer.kind === "error") this.#told.failed(answer.message);
    else this.#told.found({ settings, outcome: answer.outcome, whole: answer.whole, tookMs: answer.tookMs });
  }
}
