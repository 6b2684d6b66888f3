// The settings as what the simulator takes. It says the same as the lab file (lab.ts).

import { gatewayRates, PING_INTERVAL_NS, pings, ratio, receiveBuffers, sendBuffers, USERS } from "./assumed.ts";
import { hasGateway, hasSplit, hasTunnel, type Settings } from "./settings.ts";

const HEADERS_BYTES = 52;
const INITIAL_SEGMENTS = 10;
const MTU = 1500;
/** Of a tunnel, over IPv4. */
const TUNNEL_BYTES = 38;
const TUNNEL_PACKETS = 256;
/** A tunnel's packet waits for an earlier one for a quarter of the round trip. */
const HOLD_SHARE = 4;

/** What the simulator is asked: crates/sim/src/record/columns.rs. */
export interface Request {
  readonly spec: object;
  readonly names: readonly string[];
  readonly question: object;
  readonly columns?: Readonly<Record<string, readonly string[]>>;
  /** crates/sim/src/record/packets.rs. */
  readonly packets?: object;
}

export function request(settings: Settings): Request {
  const small = MTU - HEADERS_BYTES - (hasTunnel(settings) ? TUNNEL_BYTES : 0);
  const queue = (rate: number) => ({ rtt_s: settings.rtt / 1e9, limit_bytes: settings.queue, rate_bit_s: rate, mtu_bytes: MTU });
  const workloads = work(settings);
  return {
    spec: {
      client: host(settings), server: host(settings),
      down: pipe(settings, settings.rateDown), up: pipe(settings, settings.rateUp),
      near: null, tunnel: tunnel(settings), beside_tunnel: [], split: split(settings), gateway: gateway(settings),
      mtu: MTU,
      seed: settings.seed,
      workloads: workloads.map(({ spec }) => spec),
      duration_ns: settings.duration,
      until_done: false,
      bin_ns: 100_000_000,
      sample_interval_ns: 100_000_000,
      capture: [],
    },
    names: workloads.map(({ name }) => name),
    question: { down: queue(settings.rateDown), up: queue(settings.rateUp), small_bytes: INITIAL_SEGMENTS * small },
  };
}

function host(settings: Settings, control = settings.congestionControl): object {
  const tcp = {
    congestion_control: control,
    sack: settings.sack === "on",
    dsack: true,
    window_scaling: settings.windowScaling === "on",
    timestamps: true,
    ecn: false,
    tcp_rmem: receiveBuffers(settings),
    tcp_wmem: sendBuffers(settings),
    initcwnd: INITIAL_SEGMENTS,
    initrwnd: null,
    open_receive_window: null,
    slow_start_after_idle: true,
    ip: 4,
  };
  return { tcp };
}

function pipe(it: Settings, rate: number): object {
  const titrated = hasTunnel(it) && it.titration === "on";
  const room = { room_bytes: Math.floor(it.queue / 2), max_age_ns: Math.floor(it.rtt / HOLD_SHARE) };
  return {
    ingress: { policer: it.policer > 0 ? { rate_bit_s: it.policer, burst_bytes: it.policerBurst } : null, loss: { model: "none" } },
    queue: {
      limit: { unit: "bytes", bytes: it.queue }, discipline: discipline(it.discipline), ecn: false, ...(titrated ? { titration: room } : {}),
    },
    shaper: { kind: "fixed", rate_bit_s: rate },
    propagation: {
      delay_ns: it.rtt / 2,
      jitter: it.jitter > 0 ? { spread_ns: it.jitter, distribution: "normal", correlation: 0, reorder: it.reorder === "on" } : null,
      limit: it.delayLine > 0 ? { unit: "packets", packets: it.delayLine } : { unit: "unlimited" },
      handover: it.handover > 0 ? { every_ns: it.handover, step_ns: it.handoverStep, outage_ns: it.handoverOutage } : null,
    },
    channel: {
      loss: it.loss > 0 ? { model: "bernoulli", p: it.loss } : { model: "none" },
      duplicate: 0, corrupt: 0,
      outages: it.outage > 0 ? [{ start_ns: it.outageStart, length_ns: it.outage }] : [],
    },
  };
}

function tunnel(settings: Settings): object | null {
  if (!hasTunnel(settings)) return null;
  const repairs = ratio(settings.redundancy);
  return {
    redundancy: repairs === "adaptive" ? { policy: "adaptive" } : { policy: "fixed", ratio: repairs },
    window_packets: TUNNEL_PACKETS,
    hold_ns: Math.floor(settings.rtt / HOLD_SHARE),
    exact: null,
  };
}

function split(settings: Settings): object | null {
  if (!hasSplit(settings)) return null;
  return { near: host(settings), far: host(settings), path: host(settings, settings.splitControl) };
}

function gateway(settings: Settings): object | null {
  if (!hasGateway(settings)) return null;
  const rates = gatewayRates(settings), repairs = ratio(settings.redundancy);
  const law = (bits: number | undefined) => (bits === undefined ? "fair" : { [settings.law]: bits });
  return {
    near: host(settings), far: host(settings),
    down_rate: law(rates?.down), up_rate: law(rates?.up),
    redundancy: repairs === "adaptive" ? repairs : { fixed: repairs },
  };
}

interface Work {
  readonly name: string;
  readonly spec: object;
}

function work(it: Settings): Work[] {
  const bulk = (streams: number, size: number) => ({
    start_ns: 0, kind: "iperf3", direction: "down", streams,
    size_bytes: size > 0 ? size : null, time_ns: size > 0 ? null : it.duration,
    omit_ns: 0, congestion_control: null, max_pacing_rate_bit_s: null,
  });
  const made: Work[] = [
    { name: "download", spec: bulk(it.streams, it.size) },
    { name: "pings", spec: { start_ns: 0, kind: "ping", count: pings(it), interval_ns: PING_INTERVAL_NS, payload_bytes: 56 } },
  ];
  if (it.users > 0) made.push({ name: "users", spec: userWorkload(it.users) });
  if (it.neighbours > 0) made.push({ name: "neighbours", spec: bulk(it.neighbours, 0) });
  return made;
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
