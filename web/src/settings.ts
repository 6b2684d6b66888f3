// What a reader can set: each setting once, with its range, its unit and its words. Everything else goes through this list: the controls, the
// address, the lab file and the simulator's specification.

import { decimal, RATE, read, SIZE, TIME, written, type Unit } from "./quantity.ts";

export const CONTROLS = ["cubic", "reno", "bbr", "bbr3", "hybla", "slow-start"] as const;
export const DISCIPLINES = ["fifo", "head-drop", "red", "codel", "fq_codel", "pie"] as const;

export const BETWEEN = ["none", "coded tunnel", "split", "split and tunnel", "gateway"] as const;
export const LAWS = ["fixed", "capped", "fair"] as const;
export const REDUNDANCIES = ["adaptive", "none", "5 %", "10 %", "20 %", "50 %"] as const;
export const GROUPS = ["Path", "Disturbances", "Hosts", "At both ends of the path", "Work", "Run"] as const;

export interface Settings {
  rateDown: number;
  rateUp: number;
  rtt: number;
  queue: number;
  policer: number;
  policerBurst: number;
  loss: number;
  jitter: number;
  delayLine: number;
  handover: number;
  handoverStep: number;
  handoverOutage: number;
  outage: number;
  outageStart: number;
  streams: number;
  size: number;
  users: number;
  neighbours: number;
  receiveBuffer: number;
  sendBuffer: number;
  gatewayRate: number;
  duration: number;
  seed: number;
  congestionControl: (typeof CONTROLS)[number];
  splitControl: (typeof CONTROLS)[number];
  discipline: (typeof DISCIPLINES)[number];
  between: (typeof BETWEEN)[number];
  law: (typeof LAWS)[number];
  redundancy: (typeof REDUNDANCIES)[number];
  titration: "on" | "off";
  reorder: "on" | "off";
  sack: "on" | "off";
  windowScaling: "on" | "off";
}

interface Common {
  readonly label: string;
  readonly help: string;
  readonly group: (typeof GROUPS)[number];
  /** Whether it changes anything beside these settings; without it, always. */
  readonly when?: (settings: Settings) => boolean;
}

export interface Quantity extends Common {
  readonly kind: "quantity";
  readonly key: QuantityKey;
  readonly start: number;
  readonly least: number;
  readonly most: number;
  /** Slider steps are even on a logarithmic scale, or of 1. */
  readonly scale: "log" | "linear";
  /** Whether 0 lies below the least, and what it is called. */
  readonly zero?: string;
  readonly units?: readonly Unit[];
}

export interface Choice extends Common {
  readonly kind: "choice";
  readonly key: ChoiceKey;
  readonly start: string;
  readonly options: readonly string[];
}

type KeysOf<T> = { [K in keyof Settings]: Settings[K] extends T ? K : never }[keyof Settings];
export type QuantityKey = KeysOf<number>;
export type ChoiceKey = KeysOf<string>;
export type Setting = Quantity | Choice;

const quantity = (
  key: QuantityKey, group: Common["group"], label: string, range: [start: number, least: number, most: number],
  more: Partial<Quantity> & { help: string },
): Quantity => ({ kind: "quantity", key, group, label, start: range[0], least: range[1], most: range[2], scale: "log", ...more });

/** Starts with the first option. */
const choice = (
  key: ChoiceKey, group: Common["group"], label: string, options: readonly string[], more: Partial<Choice> & { help: string },
): Choice => ({ kind: "choice", key, group, label, options, start: options[0] ?? "", ...more });

const ENDS = "At both ends of the path";
export const hasTunnel = ({ between }: Settings) => between === "coded tunnel" || between === "split and tunnel";
export const hasSplit = ({ between }: Settings) => between === "split" || between === "split and tunnel";
export const hasGateway = ({ between }: Settings) => between === "gateway";

export const SETTINGS: readonly Setting[] = [
  quantity("rateDown", "Path", "Rate, down", [50e6, 100e3, 1e9], { units: RATE, help: "How fast the path sends to the client." }),
  quantity("rateUp", "Path", "Rate, up", [10e6, 100e3, 1e9], { units: RATE, help: "How fast the path sends to the server. ACKs go this way." }),
  quantity("rtt", "Path", "Round trip", [550e6, 1e6, 2e9], { units: TIME, help: "Round-trip time with empty queues. 550 ms is a geostationary satellite." }),
  quantity("queue", "Path", "Queue", [1e6, 3e3, 50e6], { units: SIZE, help: "How much can wait at each end of the path before packets are dropped." }),
  choice("discipline", "Path", "Queue discipline", DISCIPLINES, { help: "Which packets the queue drops. fifo drops those that arrive when it is full." }),
  quantity("policer", "Path", "Policer", [0, 100e3, 1e9], { units: RATE, zero: "none", help: "Packets above this rate are dropped before the queue, each way." }),
  quantity("policerBurst", "Path", "Policer's burst", [100e3, 3e3, 50e6], {
    units: SIZE, when: ({ policer }) => policer > 0, help: "How much may pass the policer at once after a pause.",
  }),
  quantity("loss", "Disturbances", "Loss", [0, 0.00001, 0.2], { zero: "none", help: "Share of packets that the path loses at random, each way." }),
  quantity("jitter", "Disturbances", "Jitter", [0, 10e3, 200e6], { units: TIME, zero: "none", help: "Standard deviation of the delay, each way." }),
  choice("reorder", "Disturbances", "Jitter reorders packets", ["off", "on"], {
    when: ({ jitter }) => jitter > 0, help: "Whether a packet may overtake an earlier one.",
  }),
  quantity("delayLine", "Disturbances", "Delay line, packets", [0, 10, 1e5], {
    zero: "no limit", help: "How many packets may be on their way in one direction, as netem's limit. Those beyond it are dropped.",
  }),
  quantity("handover", "Disturbances", "Handover every", [0, 1e9, 300e9], { units: TIME, zero: "none", help: "Time from one handover between satellites to the next." }),
  quantity("handoverOutage", "Disturbances", "Outage at a handover", [100e6, 1e6, 2e9], {
    units: TIME, zero: "none", when: ({ handover }) => handover > 0, help: "How long nothing passes at each handover.",
  }),
  quantity("handoverStep", "Disturbances", "Delay step at a handover", [0, 100e3, 200e6], {
    units: TIME, zero: "none", when: ({ handover }) => handover > 0, help: "How far each handover may change the delay of each direction.",
  }),
  quantity("outage", "Disturbances", "Outage", [0, 10e6, 30e9], { units: TIME, zero: "none", help: "For so long nothing passes, once, as in a rain fade." }),
  quantity("outageStart", "Disturbances", "Outage begins at", [10e9, 100e6, 300e9], {
    units: TIME, when: ({ outage }) => outage > 0, help: "Counted from the start of the run.",
  }),
  choice("congestionControl", "Hosts", "Congestion control", CONTROLS, { help: "How each sender decides how much may be in flight." }),
  choice("sack", "Hosts", "SACK", ["on", "off"], { help: "Selective acknowledgements: the receiver says which packets are missing." }),
  choice("windowScaling", "Hosts", "Window scaling", ["on", "off"], { help: "Without it a receive window is at most 64 KiB (RFC 7323)." }),
  quantity("receiveBuffer", "Hosts", "Receive buffer", [33554432, 65536, 268435456], { units: SIZE, help: "Most that a receiver's buffer grows to (tcp_rmem). About half of it is window." }),
  quantity("sendBuffer", "Hosts", "Send buffer", [4194304, 65536, 268435456], { units: SIZE, help: "Most that a sender's buffer grows to (tcp_wmem)." }),
  choice("between", ENDS, "Proxy or tunnel", BETWEEN, {
    help: "A tunnel that codes packets, proxies that split TCP, both, or bentpipe's gateways.",
  }),
  choice("splitControl", ENDS, "Split: congestion control", CONTROLS, { when: hasSplit, help: "That of the proxies' connections across the path." }),
  choice("law", ENDS, "Gateway: rate", LAWS, {
    when: hasGateway, help: "fixed: this rate from the first packet on. capped: what the path delivers, never more than this. fair: the same without a cap.",
  }),
  quantity("gatewayRate", ENDS, "Gateway: rate, down", [0, 100e3, 1e9], {
    units: RATE, zero: "as the path", when: (it) => hasGateway(it) && it.law !== "fair", help: "Up it is that of the path.",
  }),
  choice("redundancy", ENDS, "Redundancy", REDUNDANCIES, {
    when: (it) => hasGateway(it) || hasTunnel(it), help: "Repair packets per packet. adaptive: as many as the reported losses need.",
  }),
  choice("titration", ENDS, "Repairs wait for room", ["off", "on"], {
    when: hasTunnel, help: "Each repair packet waits until the queue is at most half full.",
  }),
  quantity("streams", "Work", "Streams", [1, 1, 64], { scale: "linear", help: "Parallel TCP connections of the download." }),
  quantity("size", "Work", "Download size", [0, 10e3, 1e9], { units: SIZE, zero: "until the end", help: "Size of the download, all its streams together." }),
  quantity("users", "Work", "Users", [0, 1, 200], { scale: "linear", zero: "none", help: "Other users, who fetch files of random sizes one after the other." }),
  quantity("neighbours", "Work", "Neighbours", [0, 1, 32], { scale: "linear", zero: "none", help: "Other downloads without an end, one TCP connection each." }),
  quantity("duration", "Run", "Duration", [30e9, 1e9, 300e9], { units: TIME, help: "How much time is simulated." }),
  quantity("seed", "Run", "Seed", [1, 1, 1000], { scale: "linear", help: "Seed of the random numbers. The same seed gives the same run." }),
];

/** Whether a setting changes anything beside the others. */
export const counts = ({ when }: Setting, settings: Settings) => when?.(settings) ?? true;

export const START: Readonly<Settings> = Object.freeze(
  Object.fromEntries(SETTINGS.map((each) => [each.key, each.start])) as unknown as Settings,
);

export function same(one: Settings, other: Settings): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** As a reader sees it. */
export function shown(setting: Setting, value: number | string): string {
  if (setting.kind === "choice" || typeof value === "string") return String(value);
  if (value === 0 && setting.zero !== undefined) return setting.zero;
  if (setting.key === "loss") return `${decimal(value * 100)} %`;
  return setting.units ? written(value, setting.units) : String(value);
}

/** What a reader typed, or null if it is no value of this setting. */
export function typed(setting: Quantity, text: string): number | null {
  const plain = text.trim();
  if (setting.zero !== undefined && (plain === "0" || plain.toLowerCase() === setting.zero)) return 0;
  let value: number | null = null;
  if (setting.key === "loss") {
    const percent = /^([0-9]{1,3}(?:\.[0-9]{1,6})?)\s*%$/.exec(plain)?.[1];
    value = percent === undefined ? null : Number((Number(percent) / 100).toPrecision(6));
  } else if (setting.units) value = read(plain, setting.units);
  else if (/^[0-9]{1,6}$/.test(plain)) value = Number(plain);
  return value !== null && allowed(setting, value) ? value : null;
}

export function allowed(setting: Setting, value: unknown): boolean {
  if (setting.kind === "choice") return typeof value === "string" && setting.options.includes(value);
  if (typeof value !== "number" || !Number.isFinite(value)) return false;
  if (value === 0) return setting.zero !== undefined;
  return value >= setting.least && value <= setting.most && (setting.key === "loss" || Number.isInteger(value));
}

const STEPS = 400;

/** A slider's number of steps. */
export function steps(setting: Quantity): number {
  if (setting.scale === "linear") return setting.most - (setting.zero === undefined ? setting.least : 0);
  return setting.zero === undefined ? STEPS : STEPS + 1;
}

/** The value at a slider's step: to two digits on a logarithmic scale. */
export function valueAt(setting: Quantity, step: number): number {
  const first = setting.zero === undefined ? 0 : 1;
  if (setting.scale === "linear") return step + (first ? 0 : setting.least);
  if (step < first) return 0;
  const share = (step - first) / STEPS;
  const value = setting.least * (setting.most / setting.least) ** share;
  return Math.min(setting.most, Math.max(setting.least, Number(value.toPrecision(2))));
}

/** The step that is nearest to a value. */
export function stepOf(setting: Quantity, value: number): number {
  const first = setting.zero === undefined ? 0 : 1;
  if (setting.scale === "linear") return value - (first ? 0 : setting.least);
  if (value < setting.least) return 0;
  return first + Math.round((STEPS * Math.log(value / setting.least)) / Math.log(setting.most / setting.least));
}
