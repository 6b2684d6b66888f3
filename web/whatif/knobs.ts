// What a reader may change in a run's own request, and what cannot be a slider there. Whatever is not changed stays as the lab has it.

import { CONTROLS, DISCIPLINES, SETTINGS, shown, type Setting, type Settings } from "../src/settings.ts";
import type { Direction, Lab, Pipe, Spec, Tcp, Workload } from "./lab.ts";

export type Value = number | string;
export type Key = keyof Settings;

export interface Knob {
  readonly setting: Setting;
  /** Null: it cannot be one number here. */
  read(spec: Spec): Value | null;
  write(spec: Spec, value: Value): void;
  /** What is there, in a word, where it is not one number. */
  kept(spec: Spec): string | null;
}

/** As the playground has it, with another label where only one direction or host is meant. */
function setting(key: Key, label?: string): Setting {
  const found = SETTINGS.find((each) => each.key === key);
  if (found === undefined) throw new Error(`there is no setting ${key}`);
  return label === undefined ? found : { ...found, label };
}

function knob(of: Setting, read: Knob["read"], write: (spec: Spec, value: never) => void, kept: Knob["kept"] = () => null): Knob {
  return { setting: of, read, write: write as Knob["write"], kept };
}

const PIPES = ["down", "up"] as const;
const HOSTS = ["client", "server"] as const;

/** The rate of a pipe that has one. */
export function rateOf({ shaper }: Pipe): number | null {
  return (shaper.kind === "fixed" || shaper.kind === "token_bucket") && shaper.rate_bit_s !== undefined ? shaper.rate_bit_s : null;
}

/** The limit of a pipe's queue that is one of bytes. */
export function limitOf(pipe: Pipe): number | null {
  const { unit, bytes, multiple, base_rtt_ns } = pipe.queue.limit, rate = rateOf(pipe);
  if (unit === "bytes") return bytes ?? null;
  if (unit !== "bdp" || multiple === undefined || base_rtt_ns === undefined || rate === null) return null;
  return (multiple * rate * base_rtt_ns) / 8e9;
}

const lossOf = ({ channel: { loss } }: Pipe) => (loss.model === "none" ? 0 : loss.model === "bernoulli" ? (loss.p ?? null) : null);
const jitterOf = ({ propagation: { jitter } }: Pipe) => (!jitter ? 0 : jitter.distribution === "normal" ? jitter.spread_ns : null);
const nameOf = (control: Tcp["congestion_control"]) => (typeof control === "string" ? control : control.name);
const disciplineOf = ({ queue }: Pipe) => queue.discipline.name.replace("head_drop", "head-drop");
const delayNs = (spec: Spec) => spec.down.propagation.delay_ns + spec.up.propagation.delay_ns;

/** One for both directions where both are alike, else for that of the transfer. */
function pipes(spec: Spec, direction: Direction, of: (pipe: Pipe) => unknown): { which: readonly Direction[]; note: string } {
  return of(spec.down) === of(spec.up) ? { which: PIPES, note: "" } : { which: [direction], note: `, ${direction}` };
}

const sent = (spec: Spec) => spec.workloads.filter((work) => work.kind === "iperf3");
const channels = (spec: Spec) => spec.workloads.filter((work) => work.kind === "channels");

/** Those of a lab. `direction`: in which its payload goes. */
export function knobs(lab: Lab, direction: Direction): Knob[] {
  const spec = lab.spec, sender = direction === "down" ? "server" : "client", receiver = direction === "down" ? "client" : "server";
  const labelled = (key: Key, of: (pipe: Pipe) => unknown) => setting(key, `${setting(key).label}${pipes(spec, direction, of).note}`);
  const each = (of: (pipe: Pipe) => unknown, change: (pipe: Pipe) => void) => (on: Spec) => {
    for (const one of pipes(spec, direction, of).which) change(on[one]);
  };
  const rate = (key: Key, at: Direction) => knob(
    setting(key), (on) => rateOf(on[at]), (on, value: number) => { on[at].shaper.rate_bit_s = value; },
    (on) => (on[at].shaper.kind === "unlimited" ? "no limit" : `of the kind ${on[at].shaper.kind}`),
  );
  const found: Knob[] = [
    rate("rateDown", "down"),
    rate("rateUp", "up"),
    knob(setting("rtt", lab.spec.near ? "Round trip of the path" : undefined), (on) => delayNs(on), retimed),
    knob(labelled("queue", limitOf), (on) => limitOf(on[direction]),
      (on, value: number) => each(limitOf, (pipe) => { pipe.queue.limit = { unit: "bytes", bytes: value }; })(on),
      (on) => (on[direction].queue.limit.unit === "unlimited" ? "no limit" : `counted in ${on[direction].queue.limit.unit}`)),
    knob(labelled("discipline", disciplineOf), (on) => (DISCIPLINES.some((name) => name === disciplineOf(on[direction])) ? disciplineOf(on[direction]) : null),
      (on, value: Settings["discipline"]) => each(disciplineOf, (pipe) => { pipe.queue.discipline = { name: value.replace("head-drop", "head_drop") }; })(on)),
    knob(labelled("loss", lossOf), (on) => lossOf(on[direction]),
      (on, value: number) => each(lossOf, (pipe) => { pipe.channel.loss = value > 0 ? { model: "bernoulli", p: value } : { model: "none" }; })(on),
      (on) => on[direction].channel.loss.model),
    knob(labelled("jitter", jitterOf), (on) => jitterOf(on[direction]),
      (on, value: number) => each(jitterOf, (pipe) => {
        pipe.propagation.jitter = value > 0 ? { spread_ns: value, distribution: "normal", correlation: 0, reorder: false } : null;
      })(on),
      (on) => on[direction].propagation.jitter?.distribution ?? null),
    knob(setting("congestionControl", `${setting("congestionControl").label}, ${sender}`),
      ({ [sender]: { tcp } }) => (CONTROLS.some((name) => name === nameOf(tcp.congestion_control)) ? nameOf(tcp.congestion_control) : null),
      (on, value: string) => {
        on[sender].tcp.congestion_control = value;
        for (const work of sent(on)) work.congestion_control = null;
      }),
    knob(setting("sack"), (on) => (on.client.tcp.sack && on.server.tcp.sack ? "on" : "off"),
      (on, value: string) => { for (const host of HOSTS) on[host].tcp.sack = value === "on"; }),
    knob(setting("receiveBuffer", `${setting("receiveBuffer").label}, ${receiver}`), (on) => on[receiver].tcp.tcp_rmem[2],
      (on, value: number) => grow(on[receiver].tcp.tcp_rmem, value)),
    knob(setting("sendBuffer", `${setting("sendBuffer").label}, ${sender}`), (on) => on[sender].tcp.tcp_wmem[2],
      (on, value: number) => grow(on[sender].tcp.tcp_wmem, value)),
  ];
  const [work] = sent(spec), [users] = channels(spec);
  if (work !== undefined) {
    const of = (on: Spec) => sent(on)[0] as Workload;
    found.push(knob(setting("streams"), (on) => of(on).streams ?? null, (on, value: number) => { of(on).streams = value; }));
    // A transfer without a size goes on until the run ends.
    if (spec.duration_ns !== null) {
      found.push(knob(setting("size"), (on) => of(on).size_bytes ?? 0, (on, value: number) => {
        Object.assign(of(on), value > 0 ? { size_bytes: value, time_ns: null } : { size_bytes: null, time_ns: on.duration_ns });
      }));
    }
  }
  if (users !== undefined) {
    const of = (on: Spec) => channels(on)[0] as Workload;
    found.push(knob(setting("users"), (on) => of(on).channels ?? null, (on, value: number) => { of(on).channels = Math.max(1, value); }));
  }
  found.push(knob(setting("seed"), (on) => on.seed, (on, value: number) => { on.seed = value; }));
  return found;
}

/** The share of each direction in the round trip stays. */
function retimed(spec: Spec, rttNs: number): void {
  const before = delayNs(spec);
  if (before === 0) return;
  for (const pipe of PIPES) {
    spec[pipe].propagation.delay_ns = Math.round((spec[pipe].propagation.delay_ns * rttNs) / before);
    const { limit } = spec[pipe].queue;
    if (limit.base_rtt_ns !== undefined) limit.base_rtt_ns = Math.max(1, Math.round(limit.base_rtt_ns + rttNs - before));
  }
}

function grow(buffer: [number, number, number], most: number): void {
  buffer[2] = most;
  buffer[1] = Math.min(buffer[1], most);
  buffer[0] = Math.min(buffer[0], most);
}

export type Changes = ReadonlyMap<Key, Value>;

/** The lab with what was changed, and its questions as they are then. */
export function changed(lab: Lab, all: readonly Knob[], changes: Changes): Lab {
  const made = structuredClone(lab);
  for (const { setting: { key }, write } of all) {
    const value = changes.get(key);
    if (value !== undefined) write(made.spec, value);
  }
  const longer = (delayNs(made.spec) - delayNs(lab.spec)) / 1e9;
  for (const pipe of PIPES) {
    const asked = made.question[pipe];
    if (!asked) continue;
    asked.rtt_s = Math.max(0, asked.rtt_s + longer);
    asked.rate_bit_s = rateOf(made.spec[pipe]) ?? asked.rate_bit_s;
    asked.limit_bytes = limitOf(made.spec[pipe]) ?? asked.limit_bytes;
  }
  return made;
}

/** "queue 400 kB instead of 1 MB", for each that differs from the lab. */
export function differences(lab: Lab, all: readonly Knob[], changes: Changes): string[] {
  return all.flatMap(({ setting: of, read }) => {
    const value = changes.get(of.key), before = read(lab.spec);
    if (value === undefined || before === null || value === before) return [];
    const name = of.label.startsWith("SACK") ? of.label : of.label.charAt(0).toLowerCase() + of.label.slice(1);
    return [`${name} ${shown(of, value)} instead of ${shown(of, typeof before === "number" ? Math.round(before * 1e9) / 1e9 : before)}`];
  });
}
