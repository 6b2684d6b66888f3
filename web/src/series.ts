// What a run's tables amount to over time, on one clock: the bins of the table `link`.

import type { Settings } from "./settings.ts";
import type { Outcome, Table } from "./simulator.ts";

/** Values at each time; null: nothing known there. */
export type Values = readonly (number | null)[];

export interface Series {
  /** Starts of the bins, in seconds. */
  readonly time: readonly number[];
  readonly throughput: Values;
  readonly goodput: Values;
  readonly queue: Values;
  readonly queueMost: Values;
  readonly cwnd: Values;
  readonly inFlight: Values;
  readonly window: Values;
  readonly srtt: Values;
  readonly ping: Values;
  /** By the queue. */
  readonly dropped: Values;
  /** By anything else: loss, an outage, a policer, a delay line that is full. */
  readonly lost: Values;
  readonly retransmitted: Values;
}

const BIN_S = 0.1;
const EMPTY = new Float64Array(0);
/** Their place among the workloads, beside users (request.ts). */
const NEIGHBOURS = 3;

export function series({ tables, texts, results }: Outcome): Series {
  const link = tables.link ?? {};
  const down = texts.indexOf("down");
  const pipe = link.pipe ?? EMPTY;
  const rows = [...pipe.keys()].filter((row) => pipe[row] === down);
  const bin = (at: number) => Math.round(at / BIN_S);
  const starts = link.time_s ?? EMPTY;
  // A bin in which nothing happened has no row.
  const bins = Math.max(Math.ceil(results.ended_ns / 1e9 / BIN_S - 1e-6), ...rows.slice(-1).map((row) => bin(starts[row] ?? 0) + 1));
  const time = Array.from({ length: bins }, (_, place) => Math.round(place * BIN_S * 10) / 10);
  const of = (name: string, scale = 1): number[] => {
    const values = new Array<number>(bins).fill(0);
    for (const row of rows) {
      const place = bin(starts[row] ?? 0);
      if (place >= 0) values[place] = (link[name]?.[row] ?? 0) * scale;
    }
    return values;
  };
  const sockets = senders(tables.sockets ?? {}, texts);
  const sum = (value: (row: number) => number) => binned(sockets.rows, sockets.time, bin, time.length, value, (one, other) => one + other);
  const count = sum(() => 1);
  const mean = (values: Values): Values => values.map((each, place) => (each === null ? null : each / (count[place] ?? 1)));
  const { table } = sockets;
  const cell = (name: string, row: number) => table[name]?.[row] ?? Number.NaN;
  const added = (names: readonly string[]): Values => {
    const each = names.map((name) => of(name));
    return time.map((_, place) => none(each.reduce((all, values) => all + (values[place] ?? 0), 0)));
  };
  const pings = tables.pings ?? {};
  const sent = pings.time_s ?? EMPTY;
  const answered = [...sent.keys()].filter((row) => !Number.isNaN(pings.rtt_s?.[row] ?? Number.NaN));
  return {
    time,
    throughput: of("throughput_bytes", 8e-6 / BIN_S),
    goodput: of("goodput_bytes", 8e-6 / BIN_S),
    queue: of("queue_bytes_mean", 1e-3),
    queueMost: of("queue_bytes_max", 1e-3),
    cwnd: sum((row) => (cell("cwnd_segments", row) * cell("mss_bytes", row)) / 1e3),
    inFlight: sum((row) => cell("in_flight_bytes", row) / 1e3),
    window: sum((row) => cell("snd_wnd_bytes", row) / 1e3),
    srtt: mean(sum((row) => cell("srtt_s", row) * 1e3)),
    ping: binned(answered, sent, bin, time.length, (row) => (pings.rtt_s?.[row] ?? 0) * 1e3, Math.max),
    dropped: added(["drops_tail", "drops_aqm"]),
    lost: added(["drops_policer", "drops_ingress", "drops_line", "drops_channel", "drops_outage"]),
    retransmitted: sentAgain(sockets, bin, time.length),
  };
}

const none = (value: number) => (value > 0 ? value : null);

interface Senders {
  readonly table: Table;
  readonly time: Float64Array;
  /** Of the server's sockets that send the download. */
  readonly rows: readonly number[];
}

function senders(table: Table, texts: readonly string[]): Senders {
  const server = texts.indexOf("server"), download = texts.indexOf("download"), data = texts.indexOf("data");
  const time = table.time_s ?? EMPTY;
  const rows = [...time.keys()].filter((row) => table.host?.[row] === server && table.workload?.[row] === download && table.role?.[row] === data);
  return { table, time, rows };
}

function binned(
  rows: readonly number[], time: Float64Array, bin: (at: number) => number, bins: number, value: (row: number) => number,
  join: (one: number, other: number) => number,
): (number | null)[] {
  const out = new Array<number | null>(bins).fill(null);
  for (const row of rows) {
    const place = bin(time[row] ?? 0), each = value(row);
    if (place < 0 || place >= bins || Number.isNaN(each)) continue;
    const before = out[place] ?? null;
    out[place] = before === null ? each : join(before, each);
  }
  return out;
}

/** Retransmissions in each bin: the counts of the sockets' samples, less those before. */
function sentAgain({ table, time, rows }: Senders, bin: (at: number) => number, bins: number): Values {
  const before = new Map<number, number>();
  const grown = new Map<number, number>();
  for (const row of rows) {
    const port = table.remote_port?.[row] ?? 0, count = table.retransmits?.[row] ?? 0;
    grown.set(row, count - (before.get(port) ?? 0));
    before.set(port, count);
  }
  return binned(rows, time, bin, bins, (row) => grown.get(row) ?? 0, (one, other) => one + other).map((each) => none(each ?? 0));
}

/** What is said of a run in numbers. */
export interface Figures {
  /** Of all that crosses down, over the run's time. */
  readonly goodputMbitS: number;
  /** Of the download's payload, where others are beside it. */
  readonly downloadMbitS: number | null;
  /** Of each of the neighbours, on average. */
  readonly neighbourMbitS: number | null;
  readonly queueKb: number;
  /** 95th percentile of the pings; null: none was answered. */
  readonly pingMs: number | null;
  readonly droppedPackets: number;
  readonly lostPackets: number;
  readonly retransmitted: number;
  /** When the download was complete; null: it was not. */
  readonly downloadS: number | null;
  /** Median of the users' files; null: none was complete. */
  readonly fileS: number | null;
}

export function figures(outcome: Outcome, drawn: Series, { users: many, neighbours }: Settings): Figures {
  const { tables, texts, results } = outcome;
  const total = (values: Values) => values.reduce<number>((sum, each) => sum + (each ?? 0), 0);
  const mean = (values: Values) => (values.length ? total(values) / values.length : 0);
  const seconds = results.ended_ns / 1e9;
  const pings = [...(tables.pings?.rtt_s ?? [])].filter((each) => !Number.isNaN(each)).map((each) => each * 1e3);
  const flows = tables.flows ?? {};
  const users = texts.indexOf("users"), download = texts.indexOf("download");
  const took = (workload: number) => [...(flows.start_s ?? EMPTY).keys()]
    .filter((row) => flows.workload?.[row] === workload && !Number.isNaN(flows.end_s?.[row] ?? Number.NaN))
    .map((row) => ({ end: flows.end_s?.[row] ?? 0, took: (flows.end_s?.[row] ?? 0) - (flows.start_s?.[row] ?? 0) }));
  const sized = [...(flows.workload ?? EMPTY).keys()].some((row) => flows.workload?.[row] === download && !Number.isNaN(flows.size_bytes?.[row] ?? Number.NaN));
  const downloads = sized ? took(download).map(({ end }) => end) : [];
  const payload = (place: number) => {
    const work = results.workloads[place];
    return work === undefined || work.measured_ns <= 0 ? null : (work.bytes * 8e3) / work.measured_ns;
  };
  const besides = neighbours > 0 ? payload(many > 0 ? NEIGHBOURS : NEIGHBOURS - 1) : null;
  return {
    downloadMbitS: many > 0 || neighbours > 0 ? payload(0) : null,
    neighbourMbitS: besides === null ? null : besides / neighbours,
    goodputMbitS: seconds > 0 ? (total(drawn.goodput) * BIN_S) / seconds : 0,
    queueKb: mean(drawn.queue),
    pingMs: percentile(pings, 95),
    droppedPackets: total(drawn.dropped),
    lostPackets: total(drawn.lost),
    retransmitted: results.workloads[0]?.retransmits ?? 0,
    downloadS: downloads.length ? Math.max(...downloads) : null,
    fileS: percentile(took(users).map((each) => each.took), 50),
  };
}

/** By linear interpolation; null of nothing. */
export function percentile(values: readonly number[], percent: number): number | null {
  const sorted = [...values].sort((one, other) => one - other);
  const place = ((sorted.length - 1) * percent) / 100;
  const below = sorted[Math.floor(place)], above = sorted[Math.ceil(place)];
  return below === undefined || above === undefined ? null : below + (above - below) * (place - Math.floor(place));
}
