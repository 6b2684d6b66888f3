// The settings as a lab file, which `bentpipe run` takes, and as what the simulator takes. Both say the same: a test has bentpipe read the
// lab file and compares (tests/web/test_labs.py).

import { decimal, SIZE, TIME, RATE, written } from "./quantity.ts";
import type { Settings } from "./settings.ts";

/** The users of the lab satellite-baselines: its assumptions about sizes and servers. */
const USERS = { servers: 23, shape: 0.7, leastBytes: 500, mostBytes: 50_000_000, medianNs: 60_000_000, sigma: 0.8, jitterNs: 5_000_000 };
const PING_INTERVAL_NS = 200_000_000;
const FIRST_RECEIVE_BYTES = 131_072;
const FIRST_SEND_BYTES = 16_384;
const LEAST_BUFFER_BYTES = 4096;
const HEADERS_BYTES = 52;
const INITIAL_SEGMENTS = 10;
const MTU = 1500;

const buffers = (first: number, most: number) => [LEAST_BUFFER_BYTES, Math.min(first, most), most];
const pings = (settings: Settings) => Math.max(1, Math.floor(settings.duration / PING_INTERVAL_NS));

export function labFile(settings: Settings): string {
  const time = (ns: number) => `"${written(ns, TIME)}"`;
  const size = (bytes: number) => `"${written(bytes, SIZE)}"`;
  const queue = settings.discipline === "fifo" ? size(settings.queue) : `{ limit = ${size(settings.queue)}, discipline = "${settings.discipline}" }`;
  const lines = [
    "# From bentpipe's playground.",
    "#",
    "#   bentpipe run playground.toml --engine sim",
    "",
    'title    = "From the playground"',
    `duration = ${time(settings.duration)}`,
    `seed     = ${settings.seed}`,
    "",
    "[path]",
    `rtt       = ${time(settings.rtt)}`,
    `down.rate = "${written(settings.rateDown, RATE)}"`,
    `up.rate   = "${written(settings.rateUp, RATE)}"`,
    `queue     = ${queue}`,
  ];
  if (settings.loss > 0) lines.push(`loss      = ${plain(settings.loss)}`);
  if (settings.jitter > 0) lines.push(`jitter    = ${time(settings.jitter)}`);
  lines.push(
    "",
    "[host]",
    `congestion_control = "${settings.congestionControl}"`,
    `sack               = ${settings.sack === "on"}`,
    `tcp_rmem           = [${buffers(FIRST_RECEIVE_BYTES, settings.receiveBuffer).join(", ")}]`,
    `tcp_wmem           = [${buffers(FIRST_SEND_BYTES, settings.sendBuffer).join(", ")}]`,
    "",
    "[[workload]]",
    'name    = "download"',
    'kind    = "bulk"',
    `streams = ${settings.streams}`,
  );
  if (settings.size > 0) lines.push(`size    = ${size(settings.size)}`);
  lines.push("", "[[workload]]", 'name     = "pings"', 'kind     = "ping"', `count    = ${pings(settings)}`, `interval = ${time(PING_INTERVAL_NS)}`);
  if (settings.users > 0) {
    const delay = `{ distribution = "lognormal", median = ${time(USERS.medianNs)}, sigma = ${USERS.sigma} }`;
    const sizes = `min = ${size(USERS.leastBytes)}, max = ${size(USERS.mostBytes)}`;
    lines.push(
      "",
      "[[workload]]",
      'name        = "users"',
      'kind        = "channels"',
      `channels    = ${settings.users}`,
      `servers     = ${USERS.servers}`,
      `terrestrial = { delay = ${delay}, jitter = ${time(USERS.jitterNs)} }`,
      `size        = { distribution = "bounded-pareto", shape = ${USERS.shape}, ${sizes} }`,
    );
  }
  return `${lines.join("\n")}\n`;
}

function plain(share: number): string {
  return share < 1e-6 ? share.toFixed(12) : decimal(share);
}

/** What the simulator is asked: crates/sim/src/record/columns.rs. */
export interface Request {
  readonly spec: object;
  readonly names: readonly string[];
  readonly question: object;
  readonly columns?: Readonly<Record<string, readonly string[]>>;
}

export function request(settings: Settings): Request {
  const tcp = {
    congestion_control: settings.congestionControl,
    sack: settings.sack === "on",
    dsack: true,
    window_scaling: true,
    timestamps: true,
    ecn: false,
    tcp_rmem: buffers(FIRST_RECEIVE_BYTES, settings.receiveBuffer),
    tcp_wmem: buffers(FIRST_SEND_BYTES, settings.sendBuffer),
    initcwnd: INITIAL_SEGMENTS,
    initrwnd: null,
    open_receive_window: null,
    slow_start_after_idle: true,
    ip: 4,
  };
  const pipe = (rate: number) => ({
    ingress: { policer: null, loss: { model: "none" } },
    queue: { limit: { unit: "bytes", bytes: settings.queue }, discipline: discipline(settings.discipline), ecn: false },
    shaper: { kind: "fixed", rate_bit_s: rate },
    propagation: {
      delay_ns: settings.rtt / 2,
      jitter: settings.jitter > 0 ? { spread_ns: settings.jitter, distribution: "normal", correlation: 0, reorder: false } : null,
      limit: { unit: "unlimited" },
      handover: null,
    },
    channel: {
      loss: settings.loss > 0 ? { model: "bernoulli", p: settings.loss } : { model: "none" },
      duplicate: 0, corrupt: 0, outages: [],
    },
  });
  const queue = (rate: number) => ({ rtt_s: settings.rtt / 1e9, limit_bytes: settings.queue, rate_bit_s: rate, mtu_bytes: MTU });
  const users = settings.users > 0;
  return {
    spec: {
      client: { tcp }, server: { tcp },
      down: pipe(settings.rateDown), up: pipe(settings.rateUp),
      near: null, tunnel: null, beside_tunnel: [], split: null, gateway: null,
      mtu: MTU,
      seed: settings.seed,
      workloads: [
        {
          start_ns: 0, kind: "iperf3", direction: "down", streams: settings.streams,
          size_bytes: settings.size > 0 ? settings.size : null, time_ns: settings.size > 0 ? null : settings.duration,
          omit_ns: 0, congestion_control: null,
        },
        { start_ns: 0, kind: "ping", count: pings(settings), interval_ns: PING_INTERVAL_NS, payload_bytes: 56 },
        ...(users ? [userWorkload(settings.users)] : []),
      ],
      duration_ns: settings.duration,
      until_done: false,
      bin_ns: 100_000_000,
      sample_interval_ns: 100_000_000,
      capture: [],
    },
    names: ["download", "pings", ...(users ? ["users"] : [])],
    question: { down: queue(settings.rateDown), up: queue(settings.rateUp), small_bytes: INITIAL_SEGMENTS * (MTU - HEADERS_BYTES) },
  };
}

/** With the defaults of its source, which are null. */
function discipline(name: Settings["discipline"]): object {
  const none = (...keys: string[]) => Object.fromEntries(keys.map((key) => [key, null]));
  switch (name) {
    case "fifo": return { name: "fifo" };
    case "head-drop": return { name: "head_drop" };
    case "red": return { name, ...none("min_bytes", "max_bytes", "max_probability", "weight") };
    case "codel": return { name, ...none("target_ns", "interval_ns") };
    case "fq_codel": return { name, ...none("target_ns", "interval_ns", "flows", "quantum_bytes") };
    case "pie": return { name, ...none("target_ns", "update_ns", "alpha", "beta", "max_burst_ns") };
  }
}

function userWorkload(users: number): object {
  return {
    name: "users", start_ns: 0, kind: "channels", channels: users, servers: USERS.servers,
    size: { distribution: "bounded-pareto", shape: USERS.shape, min: USERS.leastBytes, max: USERS.mostBytes },
    terrestrial_delay: { distribution: "lognormal", median: USERS.medianNs, sigma: USERS.sigma },
    terrestrial_jitter_ns: USERS.jitterNs,
    think_ns: 0,
  };
}
