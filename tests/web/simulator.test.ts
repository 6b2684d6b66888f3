import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { legend, top } from "../../web/src/charts.ts";
import { COLUMNS } from "../../web/src/columns.ts";
import { request } from "../../web/src/request.ts";
import { figures, series } from "../../web/src/series.ts";
import { START } from "../../web/src/settings.ts";
import { SimulationError, Simulator } from "../../web/src/simulator.ts";

const module = await WebAssembly.compile(new Uint8Array(await readFile("web/built/bentpipe.wasm")));
const short = { ...START, duration: 4e9, rateDown: 5e6 };

test("the columns that are asked for come, all of a table with as many rows", async () => {
  const simulator = await Simulator.load(module);
  simulator.start({ ...request(short), columns: COLUMNS });
  while (simulator.advance());
  const outcome = simulator.finish();
  for (const [table, names] of Object.entries(COLUMNS)) {
    const found = outcome.tables[table] ?? {};
    expect(Object.keys(found).sort()).toEqual([...names].sort());
    expect(new Set(Object.values(found).map((column) => column.length)).size).toBe(1);
  }
  const drawn = series(outcome);
  expect(drawn.time).toHaveLength(40);
  expect(figures(outcome, drawn, short).pingMs).toBeGreaterThanOrEqual(550);
  expect(Math.max(...drawn.goodput.map(Number))).toBeLessThanOrEqual(5);
});

test("what a policer, a full delay line, an outage and the channel take is lost, and what the queue drops is not", async () => {
  const simulator = await Simulator.load(module);
  const lost = (changed: Partial<typeof short>) => {
    const settings = { ...short, rtt: 40e6, ...changed };
    simulator.start({ ...request(settings), columns: COLUMNS });
    while (simulator.advance());
    const outcome = simulator.finish(), { lostPackets, droppedPackets } = figures(outcome, series(outcome), settings);
    return [lostPackets > 0, droppedPackets > 0];
  };
  expect(lost({ queue: 5e3 })).toEqual([false, true]);
  for (const cause of [{ policer: 2e6, policerBurst: 10e3 }, { delayLine: 4, rateDown: 50e6 }, { outage: 5e8, outageStart: 2e9 }, { loss: 0.02 }]) {
    expect(lost(cause), JSON.stringify(cause)).toEqual([true, false]);
  }
});

test("a line that may leave its chart does so where it would flatten the others", () => {
  expect(top([1, null, 10], [30, null])).toEqual({ most: 30, leaves: false });
  expect(top([1, null, 10], [31, null])).toEqual({ most: 10, leaves: true });
  expect(top([null], [31])).toEqual({ most: 31, leaves: false });
});

test("a legend has a value, or says that none is known", () => {
  expect([0, 2.5, null, undefined].map((value) => legend(value, (known) => `${known} s`))).toEqual(["0 s", "2.5 s", "–", "–"]);
});

test("a run that is ended early ends where it is, and what it has is what the whole run has up to there", async () => {
  const simulator = await Simulator.load(module);
  const long = { ...request({ ...short, duration: 60e9 }), columns: COLUMNS };
  simulator.start(long);
  expect(simulator.advance()).toBe(true);
  expect(simulator.nowS).toBeGreaterThan(0);
  const part = simulator.finish();
  expect(part.results.ended_ns).toBeLessThan(60e9);
  simulator.start(long);
  while (simulator.advance());
  const whole = simulator.finish();
  const early = series(part).goodput.slice(0, -1);
  expect(early).toEqual(series(whole).goodput.slice(0, early.length));
  expect(early.length).toBeGreaterThan(10);
});

test("a request that cannot be run is an error that says why, and the next one runs", async () => {
  const simulator = await Simulator.load(module);
  const asked = request(short);
  expect(() => simulator.start({ ...asked, spec: { ...asked.spec, nonsense: 1 } })).toThrow(/nonsense/);
  expect(() => simulator.start({ ...asked, names: [] })).toThrow(SimulationError);
  expect(() => simulator.start({ ...asked, columns: { link: ["no_such"] } })).toThrow("link.no_such");
  expect(() => simulator.advance()).toThrow("no run is under way");
  simulator.start(asked);
  expect(simulator.advance()).toBeTypeOf("boolean");
});

test("a run that takes the place of another gives what it gives alone", async () => {
  const simulator = await Simulator.load(module);
  simulator.start(request({ ...short, seed: 7, loss: 0.01 }));
  simulator.advance();
  const told = (one: Simulator) => {
    one.start(request(short));
    while (one.advance());
    return one.finish();
  };
  expect(told(simulator)).toEqual(told(await Simulator.load(module)));
});
