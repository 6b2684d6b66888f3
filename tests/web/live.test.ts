import { expect, test } from "vitest";
import type { Lesson } from "../../web/lessons/lesson.ts";
import { liveLines, liveOf } from "../../web/lessons/live.ts";

const kept = {
  engine: "live", status: "done", reliable: true, started: "2026-11-24T02:06:25+00:00", machine: { kernel: "6.18.44-x", cores: 2 },
  workloads: { download: { goodput_mbit_s: 12, retransmits: 3, completion_s: 4.5 }, neighbours: { goodput_mbit_s: 6, streams: 2 }, pings: { p95_ms: 50.25 } },
  pipes: { down: { goodput_mbit_s: 10.04, queue_bytes_mean: 2500, drops: { tail: 1, aqm: 2, policer: 4, outage: 8, channel: 16 } } },
};
const lesson = { page: "policer", tries: { none: {}, one: {} }, figures: ["goodputMbitS", "lostPackets"] } as unknown as Lesson;

test("figures of a live run are those that the page shows", () => {
  expect(liveOf(kept)).toEqual({
    kernel: "6.18", day: "2026-11-24", cores: 2, reliable: true, goodputMbitS: 10.04, queueKb: 2.5, pingMs: 50.25, droppedPackets: 3, lostPackets: 28, retransmitted: 3,
    downloadS: 4.5, downloadMbitS: 12, neighbourMbitS: 3,
  });
});

test("what is simulated, or did not end, is no figure of a kernel", () => {
  for (const wrong of [{ engine: "sim" }, { status: "failed" }]) expect(() => liveOf({ ...kept, ...wrong })).toThrow("no figure of a kernel");
});

test("a run that is not reliable stands in brackets, and a lesson without runs has no table", () => {
  const lines = liveLines(lesson, { policer: { one: liveOf(kept), two: liveOf({ ...kept, reliable: false }) } });
  expect(lines).toContain("One run each on Linux 6.18 with 2 processors, 24 November 2026:");
  expect(lines).toContain("| try | goodput | lost on the path |");
  expect(lines).toContain("| one | 10 Mbit/s | 28 packets |");
  expect(lines).toContain("| two | [10 Mbit/s] | [28 packets] |");
  expect(lines).toContain("Runs in [brackets] are not reliable: the machine was busy.");
  expect(lines.at(-1)).toContain("labs/policer-2.toml");
  expect(liveLines(lesson, {})).toEqual([]);
});
