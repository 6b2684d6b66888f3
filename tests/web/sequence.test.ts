import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { COLUMNS } from "../../web/src/columns.ts";
import { nearest } from "../../web/src/packet_drawing.ts";
import { described, MOST_PACKETS, span, summary, windowIsAbove, type Acknowledgement, type Packet, type Packets, type Ports, type Segment } from "../../web/src/packets.ts";
import { request, type Request } from "../../web/src/request.ts";
import { detail, firstStream, sequence } from "../../web/src/sequence.ts";
import { START, type Settings } from "../../web/src/settings.ts";
import { Simulator, type Outcome } from "../../web/src/simulator.ts";

const simulator = await Simulator.load(await WebAssembly.compile(new Uint8Array(await readFile("web/built/bentpipe.wasm"))));
const lossy = { ...START, duration: 20e9, rateDown: 5e6, rtt: 50e6, queue: 30e3, loss: 0.005 };

function ran(asked: Request): Outcome {
  simulator.start(asked);
  while (simulator.advance());
  return simulator.finish();
}

function ports(settings: Settings): Ports {
  const found = firstStream(ran({ ...request({ ...settings, duration: 2e9 }), columns: COLUMNS }));
  if (found === null) throw new Error("the run has no stream");
  return found;
}

function shown(settings: Settings, fromS: number, toS: number): { outcome: Outcome; all: readonly Packet[]; before: Packets["before"] } {
  const stream = ports(settings), outcome = ran(detail(settings, stream, fromS, toS)), { packets } = sequence(outcome, stream, fromS, toS);
  if (packets === null) throw new Error("there are too many packets");
  return { outcome, ...packets };
}

const segments = (all: readonly Packet[]) => all.filter((it): it is Segment => it.kind === "segment");
const acknowledgements = (all: readonly Packet[]) => all.filter((it): it is Acknowledgement => it.kind === "acknowledgement");

test("a sequence is acknowledged before it is sent, stays below the window, and has every retransmission of its time", () => {
  const stream = ports(lossy), outcome = ran(detail(lossy, stream, 0, 3));
  const [whole, part, first] = [sequence(outcome, stream, 0, 3), sequence(outcome, stream, 1, 3), sequence(outcome, stream, 0, 1)];
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

test.each([["alone", {}], ["beside another", { streams: 2 }], ["behind proxies", { between: "split" as const }], ["in a coded tunnel", { between: "coded tunnel" as const }]])(
  "the packets of the first stream, %s, are those that its socket counts", (_, changed) => {
    const settings = { ...lossy, ...changed }, { outcome, all } = shown(settings, 0, 2);
    const rows = [...(outcome.tables.sockets?.time_s ?? []).keys()], { client_port } = ports(settings);
    const row = rows.filter((each) => outcome.tables.sockets?.remote_port?.[each] === client_port && outcome.tables.sockets.host?.[each] === outcome.texts.indexOf("server")).at(-1) ?? -1;
    const last = (name: string) => outcome.tables.sockets?.[name]?.[row];
    expect(segments(all).filter(({ again }) => again).length).toBe(last("retransmits"));
    expect(Math.max(...acknowledgements(all).map(({ upTo }) => upTo))).toBe(last("bytes_acked"));
    expect(segments(all).length).toBeGreaterThan(100);
  });

test("every byte is sent, in order but for those that are sent again", () => {
  const { all } = shown(lossy, 0, 3);
  let end = 0;
  for (const it of segments(all)) {
    expect(it.again ? it.start < end : it.start === end).toBe(true);
    end = Math.max(end, it.end);
  }
  expect(segments(all).some(({ again }) => again)).toBe(true);
});

test("acknowledgements go on from the sample before, their blocks lie above them, and the window above all", () => {
  const { all, before } = shown(lossy, 1, 3);
  let upTo = before?.upTo ?? Number.NaN;
  for (const it of acknowledgements(all)) {
    expect(it.upTo).toBeGreaterThanOrEqual(upTo);
    upTo = it.upTo;
    expect(it.window).toBeGreaterThan(it.upTo);
    for (const [start, end] of it.blocks) expect(start < end && end <= it.window).toBe(true);
  }
  expect(acknowledgements(all).some(({ blocks }) => blocks.length > 1)).toBe(true);
  expect(acknowledgements(shown({ ...lossy, sack: "off" }, 1, 3).all).every(({ blocks }) => blocks.length === 0)).toBe(true);
});

test("a shorter time has the same packets of that time, and too many are not drawn one by one", () => {
  const long = shown(lossy, 1, 3).all.filter(({ timeS }) => timeS >= 2 && timeS < 2.1);
  expect(shown(lossy, 2, 2.1).all).toEqual(long);
  expect(long.length).toBeGreaterThan(20);
  const fast = { ...START, duration: 4e9, rateDown: 100e6, rtt: 20e6 }, stream = ports(fast), outcome = ran(detail(fast, stream, 0, 3));
  expect(outcome.tables.packets?.time_s).toHaveLength(MOST_PACKETS);
  expect(sequence(outcome, stream, 0, 3).packets).toBeNull();
});

const few: readonly Packet[] = [
  { kind: "segment", timeS: 1, start: 10_000, end: 11_448, again: false },
  { kind: "segment", timeS: 1.5, start: 8552, end: 10_000, again: true },
  { kind: "acknowledgement", timeS: 2, upTo: 8552, window: 70_000, blocks: [[10_000, 11_448]] },
];

test("packets are told in words", () => {
  expect(few.map(described)).toEqual([
    "1.0000 s: 1\u202f448 bytes from 10.0 kB on, sent",
    "1.5000 s: 1\u202f448 bytes from 8.6 kB on, sent again",
    "2.0000 s: acknowledged up to 8.6 kB, window up to 70.0 kB, selectively acknowledged 10.0 kB to 11.4 kB",
  ]);
  expect(summary({ all: few, before: { upTo: 5552, window: 9e4 } }, 1, 2)).toBe(
    "From 1.00 to 2.00 s, packet by packet: 2 segments sent, 1 of them again; 1 acknowledgement received, 1 of them selective; 3.0 kB acknowledged.",
  );
  expect(summary({ all: [], before: null }, 1, 1.01)).toContain("From 1.0000 to 1.0100 s, packet by packet: 0 segments sent");
});

test("what is shown spans all that is sent and acknowledged, and nothing spans something", () => {
  expect(span({ all: few, before: null })).toEqual([8552, 11_448]);
  expect(span({ all: few, before: { upTo: 2000, window: 9e4 } })).toEqual([2000, 11_448]);
  expect(span({ all: [], before: null })).toEqual([0, 1]);
  expect(span({ all: [], before: { upTo: 7, window: 9 } })).toEqual([7, 8]);
});

test("a window that ends far above is told, and one that is reached is drawn", () => {
  const above = shown(lossy, 1, 2), reached = shown({ ...START, duration: 4e9, receiveBuffer: 65_536, rateDown: 5e6, rtt: 100e6 }, 2, 2.5);
  expect([windowIsAbove(above), windowIsAbove(reached)]).toEqual([true, false]);
  expect(windowIsAbove({ all: [], before: null })).toBe(false);
});

test("the packet that is drawn nearest is chosen", () => {
  const places = { x: (timeS: number) => timeS * 100, y: (byte: number) => -byte / 100 };
  expect(nearest(few, 104, -105, places)).toBe(0);
  expect(nearest(few, 144, -20, places)).toBe(1);
  expect(nearest(few, 900, -105, places)).toBe(2);
  expect(nearest([], 0, 0, places)).toBe(-1);
});
