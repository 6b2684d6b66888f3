import { expect, test } from "vitest";
import { fromHash, toHash } from "../../web/src/address.ts";
import { comparison, differences, withUnit } from "../../web/src/figure_text.ts";
import { labFile } from "../../web/src/lab.ts";
import { RATE, read, SIZE, TIME, written } from "../../web/src/quantity.ts";
import { percentile, type Figures } from "../../web/src/series.ts";
import { allowed, SETTINGS, shown, START, stepOf, steps, typed, valueAt, type Quantity } from "../../web/src/settings.ts";

const quantities = SETTINGS.filter((each): each is Quantity => each.kind === "quantity");
const queue = quantities.find(({ key }) => key === "queue") as Quantity;
const loss = quantities.find(({ key }) => key === "loss") as Quantity;

test("a quantity is written in its largest unit and read again exactly", () => {
  for (const [value, units, text] of [[400_000, SIZE, "400 kB"], [33_554_432, SIZE, "33.554432 MB"], [550e6, TIME, "550 ms"], [1.5e6, RATE, "1.5 Mbit/s"]] as const) {
    expect(written(value, units)).toBe(text);
    expect(read(text, units)).toBe(value);
  }
});

test("a number without a unit, or with another's, is no quantity", () => {
  for (const text of ["400", "400 s", "-1 kB", "1e9 B", "", "9".repeat(40) + " B"]) expect(read(text, SIZE)).toBeNull();
});

test("every step of every slider is a value that the setting allows, and leads back to about itself", () => {
  const wrong = quantities.flatMap((setting) => Array.from({ length: steps(setting) + 1 }, (_, step) => ({ setting, value: valueAt(setting, step) })))
    .filter(({ setting, value }) => !allowed(setting, value) || Math.abs(valueAt(setting, stepOf(setting, value)) - value) > value / 2)
    .map(({ setting, value }) => `${setting.key} ${value}`);
  expect(wrong).toEqual([]);
  for (const setting of quantities) expect(valueAt(setting, steps(setting))).toBe(setting.most);
});

test("what is shown of a setting can be typed", () => {
  for (const setting of quantities) {
    for (const step of [0, 7, Math.floor(steps(setting) / 2), steps(setting)]) {
      const value = valueAt(setting, step);
      expect(typed(setting, shown(setting, value)), `${setting.key} ${value}`).toBe(value);
    }
  }
  expect(typed(queue, "1 B")).toBeNull();
  expect(typed(loss, "50 %")).toBeNull();
});

test("an address holds what differs from the start and gives it back", () => {
  expect(toHash({ settings: { ...START }, pinned: null })).toBe("");
  const settings = { ...START, queue: 400_000, loss: 0.001, congestionControl: "bbr" as const };
  const pinned = { ...START, users: 30 };
  expect(fromHash(`#${toHash({ settings, pinned })}`)).toEqual({ settings, pinned });
});

test("an address takes nothing that is no value of a setting", () => {
  const hostile = "between=%3Cb%3E&law=constructor&redundancy=5&handover=-1&rateDown=1e99&queue=<b>&seed=1.5&congestionControl=<script>&sack=__proto__&__proto__=1&streams=&users=-3&rtt=0x10";
  expect(fromHash(hostile)).toEqual({ settings: START, pinned: null });
});

test("a lab file has nothing in it but values of settings", () => {
  const { settings } = fromHash(`congestionControl=${encodeURIComponent('"\n[evil]')}&discipline=codel`);
  expect(labFile(settings)).not.toContain("evil");
  expect(labFile(settings)).toContain('discipline = "codel"');
});

test("one packet is no packets, and units that end in s keep it", () => {
  expect(["packets", "segments", "s", "ms", "Mbit/s"].map((unit) => withUnit(1, unit))).toEqual(["1 packet", "1 segment", "1 s", "1 ms", "1 Mbit/s"]);
  expect([withUnit(2, "packets"), withUnit(null, "s")]).toEqual(["2 packets", "none"]);
});

test("a comparison names only what counts", () => {
  expect(differences({ ...START, splitControl: "bbr" }, START)).toEqual([]);
  expect(differences({ ...START, between: "gateway", law: "capped" }, START)).toEqual(["proxy or tunnel gateway instead of none", "gateway: rate capped instead of none"]);
});

test("a comparison says what was changed and by how much the figures changed", () => {
  const before: Figures = { goodputMbitS: 20, downloadMbitS: null, neighbourMbitS: null, queueKb: 0, pingMs: 600, lostPackets: 0, droppedPackets: 0, retransmitted: 0, downloadS: null, fileS: null };
  const now = { ...before, goodputMbitS: 15, pingMs: 609 };
  const changed = { ...START, queue: 400_000 };
  expect(differences(changed, START)).toEqual(["queue 400 kB instead of 1 MB"]);
  expect(comparison(changed, now, START, before)).toBe(
    "With queue 400 kB instead of 1 MB: goodput 15 instead of 20 Mbit/s (\u221225 %); 95\u00a0% of pings within 609 instead of 600 ms (+1.5 %) (seed 1 in both).",
  );
});

test("a percentile is between its neighbours", () => {
  expect(percentile([3, 1, 2], 50)).toBe(2);
  expect(percentile([0, 10], 95)).toBe(9.5);
  expect(percentile([], 95)).toBeNull();
});
