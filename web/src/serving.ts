// Runs the simulator beside the page. It looks up between stretches, so that a newer request takes the place of one that is under way.

import type { Answer, Ask } from "./messages.ts";
import { Simulator, type Outcome } from "./simulator.ts";

const say = (answer: Answer, transfer: Transferable[] = []) => self.postMessage(answer, { transfer });

/** What is wanted last; what came before it is given up. */
let wanted: Ask | null = null;
let running = false;
let loaded: Promise<WebAssembly.Module>;

/** Answers what the page asks, with a module that is on its way. */
export function serveWith(module: Promise<WebAssembly.Module>): void {
  loaded = module;
  module.then(() => say({ kind: "ready" }), (why: unknown) => say({ kind: "error", id: null, message: String(why) }));
  self.onmessage = ({ data }: MessageEvent<Ask | null>) => {
    wanted = data;
    void serve();
  };
}

/** Lets messages in. A timer would wait for 4 ms. */
const breath = new MessageChannel();
const lookUp = () => new Promise<void>((resolve) => {
  breath.port1.onmessage = () => resolve();
  breath.port2.postMessage(null);
});

async function serve(): Promise<void> {
  if (running) return;
  running = true;
  let simulator: Simulator | null = null;
  while (wanted !== null) {
    const ask: Ask = wanted;
    try {
      simulator ??= await Simulator.load(await loaded);
      await run(simulator, ask);
    } catch (why) {
      simulator = null; // after a trap nothing in its memory can be trusted
      say({ kind: "error", id: ask.id, message: why instanceof Error ? why.message : String(why) });
    }
    if (wanted === ask) wanted = null;
  }
  running = false;
}

async function run(simulator: Simulator, ask: Ask): Promise<void> {
  const begun = performance.now();
  let told = begun, more = true;
  simulator.start(ask.request);
  while (more) {
    more = simulator.advance();
    const now = performance.now();
    if (ask.budgetMs !== null && now - begun >= ask.budgetMs) break;
    await lookUp();
    if (wanted !== ask) return;
    if (now - told >= 100) {
      told = now;
      say({ kind: "progress", id: ask.id, nowS: simulator.nowS });
    }
  }
  const outcome = simulator.finish();
  say({ kind: "outcome", id: ask.id, outcome, whole: !more, tookMs: performance.now() - begun }, buffers(outcome));
}

function buffers({ tables }: Outcome): Transferable[] {
  return Object.values(tables).flatMap((table) => Object.values(table).map((column) => column.buffer));
}
