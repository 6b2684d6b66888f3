// A lab file as settings. What the page has no control for is not taken, and named. Nothing of the file is ever shown but the names of its keys.

import { parse } from "smol-toml";
import { RATE, read, SIZE, TIME, type Unit } from "./quantity.ts";
import { allowed, SETTINGS, START, type Settings } from "./settings.ts";

export interface Opened {
  readonly settings: Settings;
  /** Keys that were not taken. */
  readonly left: readonly string[];
}

const MOST_BYTES = 200_000;
const MOST_NAMED = 12;
const MTU = 1500;
const PRESETS: Readonly<Record<string, Partial<Settings>>> = {
  lan: { rtt: 600e3, rateDown: 1e9, rateUp: 1e9 },
  continental: { rtt: 30e6, rateDown: 1e9, rateUp: 1e9 },
  transatlantic: { rtt: 70e6, rateDown: 1e9, rateUp: 1e9 },
  transpacific: { rtt: 110e6, rateDown: 1e9, rateUp: 1e9 },
  intercontinental: { rtt: 411e6, rateDown: 20e6, rateUp: 20e6 },
  leo: { rtt: 40e6, rateDown: 100e6, rateUp: 10e6 },
  meo: { rtt: 125e6, rateDown: 64e6, rateUp: 64e6 },
  geo: { rtt: 550e6, rateDown: 16e6, rateUp: 16e6 },
};
/** Of no meaning for one run. */
const WITHOUT_EFFECT = /^(title|published|repeat|limits\b.*)$/;

type Value = unknown;

/** The keys of a file, as dotted paths; those of workloads by their kinds. What is taken is taken out. */
class Keys {
  readonly #values = new Map<string, Value>();

  constructor(document: Readonly<Record<string, Value>>) {
    this.#add("", document);
  }

  #add(path: string, value: Value): void {
    if (Array.isArray(value) && value.length > 0 && value.every(isTable)) {
      value.forEach((each, place) => this.#add(`${path}.${path === "workload" ? this.#work(each, place) : place}`, each));
    } else if (isTable(value)) {
      const entries = Object.entries(value);
      if (entries.length === 0) this.#values.set(path, {});
      for (const [key, each] of entries) this.#add(path === "" ? key : `${path}.${key}`, each);
    } else {
      this.#values.set(path, value);
    }
  }

  /** A workload is known by its kind, if it is the first of that kind; the neighbours of the page by their name. */
  #work({ name, kind }: Record<string, Value>, place: number): string {
    const known = name === "neighbours" ? "neighbours" : String(kind);
    return /^[a-z]{1,20}$/.test(known) && !this.has(`workload.${known}`) ? known : String(place);
  }

  has(prefix: string): boolean {
    return [...this.#values.keys()].some((path) => path === prefix || path.startsWith(`${prefix}.`));
  }

  /** The first of these that is there. */
  take(...paths: readonly string[]): Value {
    const found = paths.find((path) => this.#values.has(path));
    const value = found === undefined ? undefined : this.#values.get(found);
    for (const path of paths) this.#values.delete(path);
    return value;
  }

  get left(): string[] {
    return [...this.#values.keys()].filter((path) => !WITHOUT_EFFECT.test(path));
  }
}

function isTable(value: Value): value is Record<string, Value> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

/** Throws an Error whose message can be shown for a text that is no lab. */
export function openLab(text: string): Opened {
  if (text.length > MOST_BYTES) throw new Error("the file is too large for a lab");
  let document: Record<string, Value>;
  try {
    document = parse(text);
  } catch (why) {
    throw new Error(`invalid TOML: ${why instanceof Error ? (why.message.split("\n")[0] ?? "") : "unreadable"}`);
  }
  const keys = new Keys(document), refused: string[] = [];
  const settings: Settings = { ...START, ...PRESETS[String(keys.take("path.preset"))] };
  const set = (key: keyof Settings, path: string, value: Value) => {
    const setting = SETTINGS.find((each) => each.key === key);
    if (value === undefined || value === null) return;
    if (setting !== undefined && allowed(setting, value)) Object.assign(settings, { [key]: value });
    else refused.push(path);
  };
  const quantity = (key: keyof Settings, units: readonly Unit[], ...paths: string[]) => {
    const value = keys.take(...paths);
    if (value !== undefined) set(key, paths[0] ?? "", read(String(value), units) ?? Number.NaN);
  };
  const flag = (key: keyof Settings, path: string) => {
    const value = keys.take(path);
    if (value !== undefined) set(key, path, value === true ? "on" : value === false ? "off" : Number.NaN);
  };
  quantity("duration", TIME, "duration");
  set("seed", "seed", keys.take("seed"));
  quantity("rtt", TIME, "path.rtt");
  const both = keys.take("path.rate", "path.rate.rate");
  for (const [key, way] of [["rateDown", "down"], ["rateUp", "up"]] as const) {
    const value = keys.take(`path.${way}.rate`) ?? both;
    if (value !== undefined) set(key, `path.${way}.rate`, read(String(value), RATE) ?? Number.NaN);
  }
  const limit = keys.take("path.queue", "path.queue.limit");
  set("queue", "path.queue", limit === undefined ? Math.min(Math.max(bdp(settings, 1), 3e3), 50e6) : queueBytes(String(limit), settings));
  set("discipline", "path.queue.discipline", keys.take("path.queue.discipline"));
  quantity("policer", RATE, "path.policer.rate");
  quantity("policerBurst", SIZE, "path.policer.burst");
  set("loss", "path.loss", keys.take("path.loss"));
  quantity("jitter", TIME, "path.jitter", "path.jitter.spread");
  flag("reorder", "path.jitter.reorder");
  const line = keys.take("path.delay_limit");
  if (line !== undefined) set("delayLine", "path.delay_limit", Number(/^(\d+) packets$/.exec(String(line))?.[1] ?? Number.NaN));
  quantity("handover", TIME, "path.handover.every");
  quantity("handoverStep", TIME, "path.handover.step");
  quantity("handoverOutage", TIME, "path.handover.outage");
  const outages = keys.take("path.outages");
  if (Array.isArray(outages) && outages.length === 1 && Array.isArray(outages[0])) {
    const [start, length] = outages[0] as Value[];
    set("outageStart", "path.outages", read(String(start), TIME) ?? Number.NaN);
    set("outage", "path.outages", read(String(length), TIME) ?? Number.NaN);
  } else if (outages !== undefined) refused.push("path.outages");
  set("congestionControl", "host.congestion_control", keys.take("host.congestion_control"));
  flag("sack", "host.sack");
  flag("windowScaling", "host.window_scaling");
  for (const [key, path] of [["receiveBuffer", "host.tcp_rmem"], ["sendBuffer", "host.tcp_wmem"]] as const) {
    const value = keys.take(path);
    if (value !== undefined) set(key, path, Array.isArray(value) ? value[2] : Number.NaN);
  }
  ends(keys, settings, set);
  keys.take("workload.bulk.name");
  keys.take("workload.bulk.kind");
  set("streams", "workload.bulk.streams", keys.take("workload.bulk.streams"));
  quantity("size", SIZE, "workload.bulk.size");
  if (keys.take("workload.neighbours.kind") === "bulk") set("neighbours", "workload.neighbours.streams", keys.take("workload.neighbours.streams"));
  keys.take("workload.neighbours.name");
  set("users", "workload.channels.channels", keys.take("workload.channels.channels"));
  for (const each of ["name", "kind", "count", "interval"]) keys.take(`workload.ping.${each}`);
  for (const each of ["name", "kind", "servers"]) keys.take(`workload.channels.${each}`);
  for (const each of keys.left.filter((path) => /^workload\.channels\.(terrestrial|size)\b/.test(path))) keys.take(each);
  const left = [...new Set([...refused, ...keys.left])];
  return { settings, left: left.length > MOST_NAMED ? [...left.slice(0, MOST_NAMED), `${left.length - MOST_NAMED} more`] : left };
}

type Set = (key: keyof Settings, path: string, value: Value) => void;

function ends(keys: Keys, settings: Settings, set: Set): void {
  const tunnel = keys.has("tunnel"), split = keys.has("split"), gateway = keys.has("gateway");
  settings.between = gateway ? "gateway" : split ? (tunnel ? "split and tunnel" : "split") : tunnel ? "coded tunnel" : "none";
  if (split) set("splitControl", "split.path.congestion_control", keys.take("split.path.congestion_control") ?? settings.congestionControl);
  for (const each of ["tunnel", "split", "gateway", "tunnel.kind", "gateway.kind"]) keys.take(each);
  const path = gateway ? "gateway.redundancy" : "tunnel.redundancy", repairs = keys.take(path);
  if (typeof repairs === "number") set("redundancy", path, repairs === 0 ? "none" : `${repairs * 100} %`);
  else if (repairs === "titrated") settings.titration = "on";
  else set("redundancy", path, repairs);
  const titration = keys.take("tunnel.titration");
  if (titration !== undefined) set("titration", "tunnel.titration", titration === true ? "on" : "off");
  if (!gateway) return;
  const cap = keys.take("gateway.rate.cap"), fixed = keys.take("gateway.rate");
  keys.take("gateway.up_rate", "gateway.up_rate.cap");
  settings.law = cap !== undefined ? "capped" : fixed === "fair" ? "fair" : "fixed";
  const rate = cap ?? (fixed === "fair" ? undefined : fixed);
  if (rate === undefined) return;
  const bits = read(String(rate), RATE) ?? Number.NaN;
  set("gatewayRate", "gateway.rate", bits === settings.rateDown ? 0 : bits);
}

const bdp = ({ rateDown, rtt }: Settings, times: number) => Math.round((times * rateDown * rtt) / 8e9);

function queueBytes(text: string, settings: Settings): number {
  const packets = /^(\d{1,7}) packets$/.exec(text)?.[1], bdps = /^(\d{1,4}(?:\.\d{1,6})?) bdp$/.exec(text)?.[1];
  if (packets !== undefined) return Number(packets) * MTU;
  if (bdps !== undefined) return bdp(settings, Number(bdps));
  const time = read(text, TIME);
  if (time !== null) return Math.round((time * settings.rateDown) / 8e9);
  return read(text, SIZE) ?? Number.NaN;
}
