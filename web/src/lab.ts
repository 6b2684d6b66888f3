// The settings as a lab file, which `bentpipe run` takes. It says the same as request.ts: a test has bentpipe read the lab file and compares
// (tests/web/test_playground_labs.py).

import { gatewayRates, PING_INTERVAL_NS, pings, ratio, receiveBuffers, sendBuffers, USERS } from "./assumed.ts";
import { decimal, SIZE, TIME, RATE, written } from "./quantity.ts";
import { hasGateway, hasSplit, hasTunnel, type Settings } from "./settings.ts";

const time = (ns: number) => `"${written(ns, TIME)}"`;
const size = (bytes: number) => `"${written(bytes, SIZE)}"`;
const rate = (bits: number) => `"${written(bits, RATE)}"`;
const quoted = (word: string) => `"${word}"`;

export function labFile(settings: Settings): string {
  const tables = [
    ["[path]", ...path(settings)],
    [
      "[host]",
      `congestion_control = ${quoted(settings.congestionControl)}`,
      `sack               = ${settings.sack === "on"}`,
      ...(settings.windowScaling === "off" ? ["window_scaling     = false"] : []),
      `tcp_rmem           = [${receiveBuffers(settings).join(", ")}]`,
      `tcp_wmem           = [${sendBuffers(settings).join(", ")}]`,
    ],
    ...ends(settings),
    ...work(settings),
  ];
  const head = [
    "# From bentpipe's playground.",
    "#",
    "#   bentpipe run playground.toml --engine sim",
    "",
    'title    = "From the playground"',
    `duration = ${time(settings.duration)}`,
    `seed     = ${settings.seed}`,
  ];
  return `${[head, ...tables].map((lines) => lines.join("\n")).join("\n\n")}\n`;
}

function path(it: Settings): string[] {
  const queue = it.discipline === "fifo" ? size(it.queue) : `{ limit = ${size(it.queue)}, discipline = ${quoted(it.discipline)} }`;
  const lines = [`rtt       = ${time(it.rtt)}`, `down.rate = ${rate(it.rateDown)}`, `up.rate   = ${rate(it.rateUp)}`, `queue     = ${queue}`];
  if (it.policer > 0) lines.push(`policer   = { rate = ${rate(it.policer)}, burst = ${size(it.policerBurst)} }`);
  if (it.loss > 0) lines.push(`loss      = ${plain(it.loss)}`);
  if (it.jitter > 0) lines.push(`jitter    = ${it.reorder === "on" ? `{ spread = ${time(it.jitter)}, reorder = true }` : time(it.jitter)}`);
  if (it.delayLine > 0) lines.push(`delay_limit = "${it.delayLine} packets"`);
  if (it.handover > 0) {
    lines.push(`handover  = { every = ${time(it.handover)}, step = ${time(it.handoverStep)}, outage = ${time(it.handoverOutage)} }`);
  }
  if (it.outage > 0) lines.push(`outages   = [[${time(it.outageStart)}, ${time(it.outage)}]]`);
  return lines;
}

/** Of what stands at both ends of the path. */
function ends(settings: Settings): string[][] {
  const repairs = ratio(settings.redundancy);
  const redundancy = `redundancy = ${repairs === "adaptive" ? quoted(repairs) : decimal(repairs)}`;
  const tables: string[][] = [];
  if (hasTunnel(settings)) tables.push(["[tunnel]", redundancy, ...(settings.titration === "on" ? ["titration  = true"] : [])]);
  if (hasSplit(settings)) tables.push(["[split]", `path = { congestion_control = ${quoted(settings.splitControl)} }`]);
  if (hasGateway(settings)) {
    const rates = gatewayRates(settings);
    const law = (bits: number) => (settings.law === "capped" ? `{ cap = ${rate(bits)} }` : rate(bits));
    const lines = rates === null ? ['rate       = "fair"'] : [`rate       = ${law(rates.down)}`, `up_rate    = ${law(rates.up)}`];
    tables.push(["[gateway]", ...lines, redundancy]);
  }
  return tables;
}

function work(it: Settings): string[][] {
  const one = (name: string, kind: string, ...more: string[]) => ["[[workload]]", `name = ${quoted(name)}`, `kind = ${quoted(kind)}`, ...more];
  const tables = [
    one("download", "bulk", `streams = ${it.streams}`, ...(it.size > 0 ? [`size = ${size(it.size)}`] : [])),
    one("pings", "ping", `count = ${pings(it)}`, `interval = ${time(PING_INTERVAL_NS)}`),
  ];
  if (it.users > 0) {
    const delay = `{ distribution = "lognormal", median = ${time(USERS.medianNs)}, sigma = ${USERS.sigma} }`;
    const sizes = `min = ${size(USERS.leastBytes)}, max = ${size(USERS.mostBytes)}`;
    tables.push(one(
      "users", "channels", `channels = ${it.users}`, `servers = ${USERS.servers}`,
      `terrestrial = { delay = ${delay}, jitter = ${time(USERS.jitterNs)} }`,
      `size = { distribution = "bounded-pareto", shape = ${USERS.shape}, ${sizes} }`,
    ));
  }
  if (it.neighbours > 0) tables.push(one("neighbours", "bulk", `streams = ${it.neighbours}`));
  return tables;
}

function plain(share: number): string {
  return share < 1e-6 ? share.toFixed(12) : decimal(share);
}
