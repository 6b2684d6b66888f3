// A run's request as its page holds it: what is read and changed of it here. The whole: crates/sim/src/spec.rs, crates/path/src/config.rs.

export type Direction = "down" | "up";

export interface Pipe {
  queue: { limit: { unit: string; bytes?: number; multiple?: number; base_rtt_ns?: number }; discipline: { name: string } };
  shaper: { kind: string; rate_bit_s?: number };
  propagation: { delay_ns: number; jitter?: { spread_ns: number; distribution: string; correlation: number; reorder: boolean } | null };
  channel: { loss: { model: string; p?: number } };
}

export interface Tcp {
  congestion_control: string | { name: string };
  sack: boolean;
  /** Least, first and most bytes. */
  tcp_rmem: [number, number, number];
  tcp_wmem: [number, number, number];
}

export interface Workload {
  kind: string;
  streams?: number;
  size_bytes?: number | null;
  time_ns?: number | null;
  congestion_control?: string | object | null;
  channels?: number;
}

export interface Spec {
  client: { tcp: Tcp };
  server: { tcp: Tcp };
  down: Pipe;
  up: Pipe;
  near: object | null;
  workloads: Workload[];
  seed: number;
  duration_ns: number | null;
}

interface Question {
  rtt_s: number;
  rate_bit_s: number | null;
  limit_bytes: number | null;
}

export interface Lab {
  spec: Spec;
  names: string[];
  question: { down: Question | null; up: Question | null; small_bytes: number };
}

/** What the report says of the run's own pipe (report/what_if.py); the simulator's results have the same keys. */
export interface PipeFigures {
  readonly goodput_mbit_s?: number | null;
  readonly queue_bytes_mean?: number | null;
  readonly drops?: Readonly<Record<string, number>>;
}

export interface QueueFigures {
  readonly delay_s_p95?: number | null;
}

export interface Measured {
  readonly pipe: PipeFigures;
  readonly queue: QueueFigures;
  readonly retransmits: number | null;
}

/** What the page holds of a run that can be simulated. */
export interface Held {
  readonly request: Lab;
  readonly direction: Direction;
  readonly engine: string;
  readonly measured: Measured;
}
