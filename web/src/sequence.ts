// What is asked of the simulator for the sequence of one stream over a short time, and what samples of the sender's socket tell of it: what is
// acknowledged, what of the rest is selectively acknowledged, what is sent, where the receiver's window ends, and when segments were sent again.

import type { Ask } from "./messages.ts";
import { MOST_PACKETS, PACKET_COLUMNS, packets, type Packets, type Ports } from "./packets.ts";
import { request } from "./request.ts";
import type { Settings } from "./settings.ts";
import type { Outcome, Table } from "./simulator.ts";

const LEAST_INTERVAL_NS = 1e6;
const MOST_SAMPLES = 20_000;
const COLUMNS = {
  sockets: [
    "time_s", "host", "workload", "role", "local_port", "remote_port", "mss_bytes", "bytes_acked", "unacked_segments", "sacked_segments", "snd_wnd_bytes", "retransmits",
  ],
  packets: PACKET_COLUMNS,
};

/** One place for each sample; in kB from the start of the stream. */
export interface Sequence {
  readonly time: readonly number[];
  readonly acknowledged: readonly number[];
  readonly sacked: readonly number[];
  readonly sent: readonly number[];
  readonly window: readonly number[];
  /** Where the acknowledgements stand when segments are sent again; null: none are. */
  readonly again: readonly (number | null)[];
  readonly retransmitted: number;
  /** Null: there are too many to be drawn. */
  readonly packets: Packets | null;
}

/** The download's first stream in a run; null: it has none. */
export function firstStream({ tables, texts }: Outcome): Ports | null {
  const sockets: Table = tables.sockets ?? {}, rows = senders(sockets, texts);
  const client_port = rows.reduce((least, row) => Math.min(least, sockets.remote_port?.[row] ?? least), Number.POSITIVE_INFINITY);
  const row = rows.find((each) => sockets.remote_port?.[each] === client_port);
  return row === undefined ? null : { client_port, server_port: sockets.local_port?.[row] ?? 0 };
}

/** Of the server's sockets that send the download. */
function senders(sockets: Table, texts: readonly string[]): number[] {
  const server = texts.indexOf("server"), download = texts.indexOf("download"), data = texts.indexOf("data");
  return [...(sockets.time_s ?? []).keys()].filter((row) => sockets.host?.[row] === server && sockets.workload?.[row] === download && sockets.role?.[row] === data);
}

export function detail(settings: Settings, ports: Ports, fromS: number, toS: number): Ask["request"] {
  const asked = request(settings), ns = (seconds: number) => Math.ceil(seconds * 1e9), endNs = Math.min(settings.duration, ns(toS));
  const interval = Math.max(LEAST_INTERVAL_NS, Math.ceil(endNs / MOST_SAMPLES));
  return {
    ...asked,
    spec: { ...asked.spec, duration_ns: endNs, sample_interval_ns: interval },
    columns: COLUMNS,
    packets: { at: "server", ...ports, from_ns: ns(fromS), to_ns: endNs, most: MOST_PACKETS },
  };
}

/** Of one stream. */
export function sequence(outcome: Outcome, { client_port }: Ports, fromS: number, toS: number): Sequence {
  const { tables, texts } = outcome, sockets: Table = tables.sockets ?? {};
  const cell = (name: string, row: number) => sockets[name]?.[row] ?? Number.NaN;
  const rows = senders(sockets, texts).filter((row) => cell("remote_port", row) === client_port && cell("time_s", row) <= toS && !Number.isNaN(cell("bytes_acked", row)));
  const shown = rows.filter((row) => cell("time_s", row) >= fromS);
  const before = rows[rows.length - shown.length - 1];
  let counted = before === undefined ? 0 : cell("retransmits", before);
  const at = (segments: string) => (row: number) => (cell("bytes_acked", row) + cell(segments, row) * cell("mss_bytes", row)) / 1e3;
  const window = (row: number) => cell("bytes_acked", row) + cell("snd_wnd_bytes", row);
  let retransmitted = 0;
  const again = shown.map((row) => {
    const more = cell("retransmits", row) - counted;
    counted += more;
    retransmitted += more;
    return more > 0 ? cell("bytes_acked", row) / 1e3 : null;
  });
  const all = packets(outcome);
  return {
    time: shown.map((row) => cell("time_s", row)),
    acknowledged: shown.map((row) => cell("bytes_acked", row) / 1e3),
    sacked: shown.map(at("sacked_segments")),
    sent: shown.map(at("unacked_segments")),
    window: shown.map((row) => window(row) / 1e3),
    again,
    retransmitted,
    packets: all && { all, before: before === undefined ? null : { upTo: cell("bytes_acked", before), window: window(before) } },
  };
}
