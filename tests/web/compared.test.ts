import { expect, test } from "vitest";
import { ratioInterval } from "../../web/src/intervals.ts";
import { labFile } from "../../web/src/lab.ts";
import { openLab } from "../../web/src/open_lab.ts";
import { overSeeds, seeded } from "../../web/src/over_seeds.ts";
import type { Figures } from "../../web/src/series.ts";
import { counts, SETTINGS, START, steps, valueAt, type Settings } from "../../web/src/settings.ts";

/** As a lab file keeps them: what does not count is as at the start. */
function kept(settings: Settings): Settings {
  const lost = SETTINGS.filter((each) => !counts(each, settings)).map(({ key }) => [key, START[key]]);
  return { ...settings, ...(Object.fromEntries(lost) as Partial<Settings>) };
}

test("a lab file of the page opens as the settings that it was written from", () => {
  const besides: Settings[] = [
    { ...START, users: 3, neighbours: 2, outage: 2e9, handover: 15e9, policer: 20e6, jitter: 5e6, delayLine: 500 },
    { ...START, between: "gateway", law: "capped", gatewayRate: 7e6 },
    { ...START, between: "split and tunnel", splitControl: "bbr", titration: "on", redundancy: "10 %" },
  ];
  for (const beside of besides) {
    for (const setting of SETTINGS) {
      const values = setting.kind === "choice" ? setting.options : [0, 0.4, 1].map((share) => valueAt(setting, Math.round(share * steps(setting))));
      for (const value of values) {
        const settings = { ...beside, [setting.key]: value };
        expect(openLab(labFile(settings)), `${setting.key} ${value}`).toEqual({ settings: kept(settings), left: [] });
      }
    }
  }
});

test("what the page has no control for is named and not taken", () => {
  const { settings, left } = openLab('[path]\npreset = "geo"\nqueue = "0.1 bdp"\nmtu = 900\n[sweep]\n"path.rtt" = ["1 ms"]\n[[workload]]\nkind = "http"\nsize = "1 MB"\n');
  expect(settings).toEqual({ ...START, rtt: 550e6, rateDown: 16e6, rateUp: 16e6, queue: 110e3 });
  expect(left).toEqual(["path.mtu", "sweep.path.rtt", "workload.http.kind", "workload.http.size"]);
});

test("a file that is no lab is refused in a sentence, and none of its values is a setting", () => {
  expect(() => openLab("<script>alert(1)</script>")).toThrow(/^invalid TOML: /);
  expect(() => openLab("x".repeat(300_000))).toThrow("too large");
  const hostile = openLab('[host]\ncongestion_control = "<img src=x>"\nsack = "no"\n[path]\nrtt = "9999999999999999 s"\nloss = 7\n__proto__ = { polluted = true }\n');
  expect(hostile.settings).toEqual({ ...START, queue: hostile.settings.queue });
  expect(hostile.left).toEqual(["path.rtt", "path.loss", "host.congestion_control", "host.sack", "path.__proto__.polluted"]);
  expect(({} as Record<string, unknown>).polluted).toBeUndefined();
});

test("an interval over five seeds is that of bentpipe compare", () => {
  // python -c "from bentpipe.analysis.intervals import interval; from math import log; print(interval([log(x) for x in (1.1, 1.3, 0.9, 1.2, 1.25)]).exp())"
  const found = ratioInterval([1.1, 1.3, 0.9, 1.2, 1.25].map((ratio) => [10, 10 * ratio] as const));
  expect(found?.mean).toBeCloseTo(1.1406, 4);
  expect(found?.low).toBeCloseTo(0.9512, 4);
  expect(found?.high).toBeCloseTo(1.3677, 4);
  expect(ratioInterval([[1, 2]])).toBeNull();
  expect(ratioInterval([[0, 2], [1, 2]])).toBeNull();
});

test("a sentence over seeds says how many, and what may be chance", () => {
  expect(seeded({ ...START, seed: 7 }).map(({ seed }) => seed)).toEqual([7, 8, 9, 10, 11]);
  const figures = (goodputMbitS: number, queueKb: number): Figures => ({
    goodputMbitS, queueKb, downloadMbitS: null, neighbourMbitS: null, pingMs: null, droppedPackets: 0, lostPackets: 0, retransmitted: 0, downloadS: null, fileS: null,
  });
  const pairs = [1, 1.1, 0.9].map((chance) => ({ before: figures(10, 10), now: figures(20, 10 * chance) }));
  expect(overSeeds({ ...START, queue: 400_000 }, START, pairs)).toBe(
    "With queue 400 kB instead of 1 MB, over 3 pairs of seeds: goodput 2 times (2\u20132); "
    + "mean queue 0.997 times (0.777\u20131.28, no difference seen). Mean ratios with 95 % intervals (Student's t).",
  );
});
