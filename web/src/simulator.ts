// The simulator's module (crates/wasm): writes a request into its memory, lets it run in stretches, and takes the columns out.

import type { Request } from "./request.ts";

interface Exports {
  readonly memory: WebAssembly.Memory;
  input(length: number): number;
  start(): number;
  advance(): number;
  finish(): number;
  now_s(): number;
  text_at(): number;
  text_length(): number;
}

/** One table: its columns by their names. Null is NaN, a flag 0 or 1, a text its place in `texts`. */
export type Table = Readonly<Record<string, Float64Array<ArrayBuffer>>>;

export interface Outcome {
  readonly results: Results;
  readonly texts: readonly string[];
  readonly tables: Readonly<Record<string, Table>>;
}

/** What is used of crates/sim/src/record/results.rs. */
export interface Results {
  readonly ended_ns: number;
  readonly events: number;
  readonly workloads: readonly { bytes: number; measured_ns: number; retransmits: number; finished: number; round_trips_ns: number[]; lost: number }[];
  readonly pipes: Readonly<Record<string, { readonly goodput_mbit_s?: number; readonly throughput_mbit_s?: number }>>;
}

interface Place {
  readonly table: string;
  readonly name: string;
  readonly at: number;
  readonly rows: number;
}

const MORE = 1;
const ERROR = -1;

/** The simulator refused the request, or broke off. */
export class SimulationError extends Error {}

export class Simulator {
  readonly #exports: Exports;

  constructor(instance: WebAssembly.Instance) {
    this.#exports = instance.exports as unknown as Exports;
  }

  static async load(module: WebAssembly.Module): Promise<Simulator> {
    return new Simulator(await WebAssembly.instantiate(module, {}));
  }

  /** Begins a run; one that was under way is dropped. */
  start(request: Request): void {
    const bytes = new TextEncoder().encode(JSON.stringify(request));
    const at = this.#exports.input(bytes.length);
    new Uint8Array(this.#exports.memory.buffer, at, bytes.length).set(bytes);
    this.#called(() => this.#exports.start());
  }

  /** Goes on for some ten milliseconds. Returns whether there is more. */
  advance(): boolean {
    return this.#called(() => this.#exports.advance()) === MORE;
  }

  /** The time that the run has reached, in its own seconds. */
  get nowS(): number {
    return this.#exports.now_s();
  }

  /** Ends the run, where it is if it is not over. */
  finish(): Outcome {
    this.#called(() => this.#exports.finish());
    const { results, texts, columns } = JSON.parse(this.#text()) as { results: Results; texts: string[]; columns: Place[] };
    const tables: Record<string, Record<string, Float64Array<ArrayBuffer>>> = {};
    for (const { table, name, at, rows } of columns) {
      const column = new Float64Array(rows);
      if (rows > 0) column.set(new Float64Array(this.#exports.memory.buffer, at, rows));
      (tables[table] ??= {})[name] = column;
    }
    return { results, texts, tables };
  }

  #text(): string {
    const { memory, text_at, text_length } = this.#exports;
    return new TextDecoder().decode(new Uint8Array(memory.buffer, text_at(), text_length()));
  }

  #called(call: () => number): number {
    let code: number;
    try {
      code = call();
    } catch (trap) {
      // A panic ends the module without a word.
      const what = trap instanceof Error ? trap.message : String(trap);
      throw new SimulationError(`an error of its own (${what}). bentpipe run of the same lab file says which`);
    }
    if (code === ERROR) throw new SimulationError(this.#text());
    return code;
  }
}
