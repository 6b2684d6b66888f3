// Asks the worker: what can be had in a moment while a slider moves, the whole run when it rests. A newer question takes the place of one that
// waits or is under way, but a preview ends first: it is short, and a slider that moves on would never show one.

import type { Answer, Ask } from "../src/messages.ts";
import type { Outcome } from "../src/simulator.ts";
import { COLUMNS } from "./figures.ts";
import type { Lab } from "./lab.ts";

export interface Found {
  readonly outcome: Outcome;
  /** Else it ends where the time for a preview was over. */
  readonly whole: boolean;
  readonly tookMs: number;
}

export interface Told {
  found(found: Found): void;
  progress(nowS: number): void;
  failed(message: string): void;
}

const PREVIEW_MS = 40;

export class Asking {
  readonly #worker: Worker;
  readonly #told: Told;
  #latest = 0;
  #previewing = false;
  #next: { lab: Lab; preview: boolean } | null = null;

  constructor(worker: Worker, told: Told) {
    this.#worker = worker;
    this.#told = told;
    worker.onmessage = ({ data }: MessageEvent<Answer>) => this.#answered(data);
    worker.onerror = (event) => told.failed(event.message || "its worker could not be started");
  }

  ask(lab: Lab, preview: boolean): void {
    if (this.#previewing) this.#next = { lab, preview };
    else this.#send(lab, preview);
  }

  end(): void {
    this.#worker.terminate();
  }

  #send(lab: Lab, preview: boolean): void {
    this.#latest += 1;
    this.#previewing = preview;
    const ask: Ask = { id: this.#latest, request: { ...lab, columns: COLUMNS }, budgetMs: preview ? PREVIEW_MS : null };
    this.#worker.postMessage(ask);
  }

  #answered(answer: Answer): void {
    if (answer.kind === "ready") return;
    if (answer.kind === "error" && answer.id === null) return this.#told.failed(answer.message);
    if (answer.id !== this.#latest) return;
    if (answer.kind === "progress") return this.#told.progress(answer.nowS);
    this.#previewing = false;
    const next = this.#next;
    this.#next = null;
    if (next !== null) this.#send(next.lab, next.preview);
    if (answer.kind === "error") this.#told.failed(answer.message);
    else this.#told.found({ outcome: answer.outcome, whole: answer.whole, tookMs: answer.tookMs });
  }
}
