import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { detail, sequence } from "../../web/src/sequence.ts";
import { START } from "../../web/src/settings.ts";
import { Simulator } from "../../web/src/simulator.ts";

const module = await WebAssembly.compile(new Uint8Array(await readFile("web/built/bentpipe.wasm")));
const lossy = { ...START, duration: 20e9, rateDown: 5e6, rtt: 50e6, queue: 30e3, loss: 0.005 };

test("a sequence is acknowledged before it is sent, stays below the window, and has every retransmission of its time", async () => {
  const simulator = await Simulator.load(module);
  simulator.start(detail(lossy, 3));
  while (simulator.advance());
  const outcome = simulator.finish();
  const whole = sequence(outcome, 0, 3), part = sequence(outcome, 1, 3), first = sequence(outcome, 0, 1);
  expect(outcome.results.ended_ns).toBe(3e9);
  expect(whole.time.length).toBeGreaterThan(2000);
  whole.time.forEach((_, place) => {
    const [acknowledged, sacked, sent] = [whole.acknowledged, whole.sacked, whole.sent].map((each) => each[place] ?? Number.NaN) as [number, number, number];
    expect(acknowledged <= sacked && sacked <= sent).toBe(true);
  });
  expect(whole.retransmitted).toBe(outcome.results.workloads[0]?.retransmits);
  expect(part.retransmitted + first.retransmitted).toBe(whole.retransmitted);
  expect(whole.retransmitted).toBeGreaterThan(0);
});
