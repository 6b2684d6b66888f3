// The packets of one stream in a short time, at the sender's host, and what is said of them. Bytes count from the start of the stream.

import type { Outcome, Table } from "./simulator.ts";

/** So many are drawn one by one. */
export const MOST_PACKETS = 4000;

/** Names a connection. */
export interface Ports {
  readonly client_port: number;
  readonly server_port: number;
}

export interface Segment {
  readonly kind: "segment";
  readonly timeS: number;
  readonly start: number;
  readonly end: number;
  /** Its bytes were sent before. */
  readonly again: boolean;
}

export interface Acknowledgement {
  readonly kind: "acknowledgement";
  readonly timeS: number;
  readonly upTo: number;
  /** Where the receiver's window ends. */
  readonly window: number;
  /** Selectively acknowledged. */
  readonly blocks: readonly (readonly [start: number, end: number])[];
}

export type Packet = Segment | Acknowledgement;

/** What is shown of a time. */
export interface Packets {
  readonly all: readonly Packet[];
  /** The latest sample of the sender's socket before it, if there is one. */
  readonly before: { readonly upTo: number; readonly window: number } | null;
}

/** Above and below what is sent, as a share of it. */
export const ROOM = 0.06;

/** The SYN has a sequence number, too. */
const SYN = 1;
const BLOCKS = [1, 2, 3, 4];

export const PACKET_COLUMNS: readonly string[] = [
  "time_s", "direction", "seq", "length_bytes", "ack", "window_bytes", "retransmission", ...BLOCKS.flatMap((place) => [`sack_${place}_start`, `sack_${place}_end`]),
];

/** In the order of their times; null: there are too many. Segments without payload are left out. */
export function packets({ tables, texts }: Outcome): readonly Packet[] | null {
  const table: Table = tables.packets ?? {}, down = texts.indexOf("down");
  const cell = (name: string, row: number) => table[name]?.[row] ?? Number.NaN;
  const byte = (name: string, row: number) => Math.max(0, cell(name, row) - SYN);
  const rows = [...(table.time_s ?? []).keys()];
  if (rows.length >= MOST_PACKETS) return null;
  const found = rows.flatMap((row): Packet[] => {
    const timeS = cell("time_s", row), length = cell("length_bytes", row);
    if (cell("direction", row) === down) {
      const start = byte("seq", row);
      return length > 0 ? [{ kind: "segment", timeS, start, end: start + length, again: cell("retransmission", row) === 1 }] : [];
    }
    if (Number.isNaN(cell("ack", row))) return [];
    const upTo = byte("ack", row);
    const blocks = BLOCKS.filter((place) => !Number.isNaN(cell(`sack_${place}_start`, row)))
      .map((place) => [byte(`sack_${place}_start`, row), byte(`sack_${place}_end`, row)] as const);
    return [{ kind: "acknowledgement", timeS, upTo, window: upTo + cell("window_bytes", row), blocks }];
  });
  return found.sort((one, other) => one.timeS - other.timeS);
}

/** The lowest and the highest byte that are sent or acknowledged. */
export function span({ all, before }: Packets): readonly [least: number, most: number] {
  let least = before?.upTo ?? Number.POSITIVE_INFINITY, most = before?.upTo ?? 0;
  for (const it of all) {
    least = Math.min(least, it.kind === "segment" ? it.start : it.upTo);
    most = Math.max(most, it.kind === "segment" ? it.end : Math.max(it.upTo, ...it.blocks.map(([, end]) => end)));
  }
  return Number.isFinite(least) ? [least, Math.max(most, least + 1)] : [0, 1];
}

/** Whether the receiver's window ends above all that is sent, for all of the time; then it is told and not drawn, since it would press the rest together. */
export function windowIsAbove(it: Packets): boolean {
  const [least, most] = span(it), top = most + (most - least) * ROOM;
  const ends = [...(it.before === null ? [] : [it.before.window]), ...it.all.flatMap((each) => (each.kind === "segment" ? [] : [each.window]))];
  return ends.length > 0 && Math.min(...ends) > top;
}

const spaced = (value: number, digits = 0) => value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits }).replaceAll(",", "\u202f");
const kB = (bytes: number) => `${spaced(bytes / 1e3, 1)} kB`;
const count = (many: number, one: string) => `${spaced(many)} ${one}${many === 1 ? "" : "s"}`;

/** Of one packet. */
export function described(it: Packet): string {
  const at = `${it.timeS.toFixed(4)} s`;
  if (it.kind === "segment") return `${at}: ${spaced(it.end - it.start)} bytes from ${kB(it.start)} on, ${it.again ? "sent again" : "sent"}`;
  const blocks = it.blocks.map(([start, end]) => `${kB(start)} to ${kB(end)}`).join(", ");
  return `${at}: acknowledged up to ${kB(it.upTo)}, window up to ${kB(it.window)}${blocks === "" ? "" : `, selectively acknowledged ${blocks}`}`;
}

/** Of all, for those who do not see them. */
export function summary({ all, before }: Packets, fromS: number, toS: number): string {
  const segments = all.filter((it) => it.kind === "segment"), acknowledgements = all.filter((it) => it.kind === "acknowledgement");
  const again = segments.filter((it) => it.again).length, selective = acknowledgements.filter((it) => it.blocks.length > 0).length;
  const first = before?.upTo ?? acknowledgements[0]?.upTo ?? 0, last = Math.max(first, ...acknowledgements.map((it) => it.upTo));
  const digits = Math.min(4, Math.max(2, Math.ceil(-Math.log10(toS - fromS)) + 2));
  return `From ${fromS.toFixed(digits)} to ${toS.toFixed(digits)} s, packet by packet: ${count(segments.length, "segment")} sent, ${spaced(again)} of them again; `
    + `${count(acknowledgements.length, "acknowledgement")} received, ${spaced(selective)} of them selective; ${kB(last - first)} acknowledged.`;
}
