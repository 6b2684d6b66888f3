import { describe, expect, it } from "vitest";
import { busier, NO_BINS, onOneClock, withPart, type SeriesPart } from "../../../web/local/bins.ts";
import { shade } from "../../../web/local/heat.ts";
import { duration, statusWords } from "../../../web/local/job_words.ts";

const names = ["goodput_mbit_s", "queue_kb"];
const part = (key: string, from: number, time_s: number[], goodput: number[]): SeriesPart => ({
  key, bin_s: 0.1, names, pipes: { down: { from, time_s, columns: [goodput, goodput.map(() => 0)] }, up: { from: 0, time_s: [], columns: [] } },
});

describe("bins", () => {
  it("are put behind what is known, and the last known one may have changed", () => {
    const first = withPart(NO_BINS, part("1.0", 0, [0, 0.1], [1, 2]));
    const second = withPart(first, part("1.0", 1, [0.1, 0.2], [3, 4]));
    expect(second.pipes.down?.columns.goodput_mbit_s).toEqual([1, 3, 4]);
    expect(second.pipes.down?.time_s).toEqual([0, 0.1, 0.2]);
    expect(busier(second)).toBe("down");
  });

  it("begin anew under another key", () => {
    const first = withPart(NO_BINS, part("1.0", 0, [0, 0.1], [1, 2]));
    expect(withPart(first, part("1.1", 0, [0], [9])).pipes.down?.columns.goodput_mbit_s).toEqual([9]);
  });

  it("have null on the clock where nothing is known", () => {
    const one = { time_s: [-0.1, 0.1], columns: { goodput_mbit_s: [1, 2] } };
    const other = { time_s: [0], columns: { goodput_mbit_s: [5] } };
    const [clock, first, second] = onOneClock([one, other, undefined], "goodput_mbit_s", 0.1);
    expect(clock?.map((time) => Math.round((time ?? 0) * 10))).toEqual([-1, 0, 1]);
    expect(first).toEqual([1, null, 2]);
    expect(second).toEqual([null, 5, null]);
  });
});

describe("words of a job", () => {
  it("say how far it is and how long it takes", () => {
    const job = { status: "running", runs: 4, ended: 1, failed: 1, left_s: 200, detail: "" } as const;
    expect(statusWords(job)).toBe("1 of 4 runs, 1 failed · about 3 min left");
    expect(statusWords({ ...job, status: "done", ended: 4, failed: 0 })).toBe("Done · 4 of 4 runs");
    expect([0.2, 60, 100, 7200].map(duration)).toEqual(["1 s", "60 s", "2 min", "2.0 h"]);
  });
});

describe("shades", () => {
  it("get lighter with the figure, so that lightness alone tells the order", () => {
    const light = (share: number) => (shade(share).match(/\d+/g) ?? []).reduce((sum, part_, place) => sum + Number(part_) * ([0.3, 0.59, 0.11][place] ?? 0), 0);
    const steps = Array.from({ length: 11 }, (_, at) => light(at / 10));
    expect(steps.every((each, at) => at === 0 || each > (steps[at - 1] ?? 0))).toBe(true);
  });
});
