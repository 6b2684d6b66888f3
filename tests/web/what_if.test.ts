import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { request } from "../../web/src/request.ts";
import { START } from "../../web/src/settings.ts";
import { Simulator } from "../../web/src/simulator.ts";
import { COLUMNS, curves, measuredOf, rows, sentence } from "../../web/whatif/figures.ts";
import { changed, differences, knobs, type Key, type Value } from "../../web/whatif/knobs.ts";
import type { Lab } from "../../web/whatif/lab.ts";

const module = await WebAssembly.compile(new Uint8Array(await readFile("web/built/bentpipe.wasm")));
const lab = () => structuredClone(request({ ...START, users: 2, duration: 4e9, rateDown: 5e6, rtt: 60e6, queue: 60e3, loss: 0.003 })) as Lab;
const OTHER: Readonly<Partial<Record<Key, Value>>> = {
  rateDown: 2e6, rateUp: 1e6, rtt: 80e6, queue: 20e3, discipline: "head-drop", loss: 0.01, jitter: 1e6, congestionControl: "bbr", sack: "off",
  receiveBuffer: 65536, sendBuffer: 70000, streams: 3, size: 5e5, users: 1, seed: 9,
};

async function ran(asked: Lab) {
  const simulator = await Simulator.load(module);
  simulator.start({ ...asked, columns: COLUMNS });
  while (simulator.advance());
  return simulator.finish();
}

test("what is changed is read again, is said, and can be run", { timeout: 60_000 }, async () => {
  const all = knobs(lab(), "down");
  expect(all.map(({ setting }) => setting.key).sort()).toEqual(Object.keys(OTHER).sort());
  const before = JSON.stringify(await ran(lab()).then(({ results }) => results));
  for (const { setting: { key, label }, read } of all) {
    const value = OTHER[key] as Value, changes = new Map([[key, value]]), made = changed(lab(), all, changes);
    expect(read(made.spec)).toBe(value);
    expect(differences(lab(), all, changes)).toHaveLength(1);
    const found = await ran(made);
    expect(JSON.stringify(found.results), label).not.toBe(before);
  }
});

test("an unchanged lab is asked for as it was", () => {
  const all = knobs(lab(), "down");
  expect(changed(lab(), all, new Map())).toEqual(lab());
  expect(differences(lab(), all, new Map([["queue", 60e3]]))).toEqual([]);
});

test("a rate that follows a trace and a loss in bursts have no slider", () => {
  const odd = lab();
  odd.spec.down.shaper = { kind: "trace" };
  odd.spec.down.channel.loss = { model: "gilbert-elliott" };
  const kept = knobs(odd, "down").filter(({ read }) => read(odd.spec) === null);
  expect(kept.map(({ setting, kept: words }) => [setting.label, words(odd.spec)])).toEqual([
    ["Rate, down", "of the kind trace"], ["Loss, down", "gilbert-elliott"],
  ]);
});

test("a queue of a bandwidth-delay product follows the round trip until it is set", () => {
  const bdp = lab();
  for (const pipe of ["down", "up"] as const) bdp.spec[pipe].queue.limit = { unit: "bdp", multiple: 1, base_rtt_ns: 60e6 };
  const all = knobs(bdp, "down"), queue = all.find(({ setting }) => setting.key === "queue");
  expect(queue?.read(bdp.spec)).toBe((5e6 * 0.06) / 8);
  const nearer = changed(bdp, all, new Map([["rtt", 110e6]]));
  expect(queue?.read(nearer.spec)).toBe((5e6 * 0.11) / 8);
  expect(nearer.question.down).toMatchObject({ limit_bytes: (5e6 * 0.11) / 8 });
  expect(nearer.question.down?.rtt_s).toBeCloseTo(0.11);
});

test("the curves are the tables', and a sentence compares figures with their units", async () => {
  const outcome = await ran(lab()), found = curves(outcome, "down"), measured = rows("down", measuredOf(outcome, "down"));
  const goodput = found.get("goodput down")?.y ?? [];
  const mean = goodput.reduce<number>((sum, each) => sum + (each ?? 0), 0) / 40;
  expect(mean).toBeCloseTo(measured[0]?.value ?? 0, 6);
  expect(Math.min(...(found.get("srtt down")?.y ?? []).map(Number))).toBeGreaterThanOrEqual(60);
  const half = measured.map((row, at) => (at === 0 ? { ...row, value: 1 } : { ...row, value: null }));
  const now = half.map((row, at) => (at === 0 ? { ...row, value: 1.5 } : row));
  expect(sentence(["queue 1 kB instead of 2 kB"], half, now)).toBe("With queue 1 kB instead of 2 kB: goodput (down) 1.5 instead of 1 Mbit/s (+50 %).");
});
