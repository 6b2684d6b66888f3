// Figures as words: for the table, for the sentence of a comparison, and for those who do not see the charts.

import { counts, SETTINGS, shown, START, type Setting, type Settings } from "./settings.ts";
import type { Figures } from "./series.ts";

export interface Row {
  readonly key: keyof Figures;
  readonly label: string;
  readonly unit: string;
}

export const ROWS: readonly Row[] = [
  { key: "goodputMbitS", label: "goodput", unit: "Mbit/s" },
  { key: "downloadMbitS", label: "goodput of the download", unit: "Mbit/s" },
  { key: "neighbourMbitS", label: "goodput of each neighbour", unit: "Mbit/s" },
  { key: "queueKb", label: "mean queue", unit: "kB" },
  { key: "pingMs", label: "95\u00a0% of pings within", unit: "ms" },
  { key: "droppedPackets", label: "dropped by the queue", unit: "packets" },
  { key: "lostPackets", label: "lost on the path", unit: "packets" },
  { key: "retransmitted", label: "retransmitted", unit: "segments" },
  { key: "downloadS", label: "download complete after", unit: "s" },
  { key: "fileS", label: "median of the users' files", unit: "s" },
];

/** To three digits. */
export function digits(value: number): string {
  if (value === 0) return "0";
  const size = Math.abs(value);
  return size >= 100 ? Math.round(value).toLocaleString("en").replaceAll(",", "\u202f") : String(Number(value.toPrecision(3)));
}

export function withUnit(value: number | null, unit: string): string {
  if (value === null) return "none";
  const number = digits(value);
  return `${number} ${number === "1" ? unit.replace(/^(packet|segment)s$/, "$1") : unit}`;
}

/** Which settings differ, of those that count: "queue 400 kB instead of 1 MB". */
export function differences(now: Settings, pinned: Settings): string[] {
  const value = (setting: Setting, settings: Settings) => (counts(setting, settings) ? settings : START)[setting.key];
  return SETTINGS.filter((it) => value(it, now) !== value(it, pinned)).map((setting) => {
    const { key, label } = setting;
    const name = label === "SACK" ? label : label.charAt(0).toLowerCase() + label.slice(1);
    const words = (settings: Settings) => (counts(setting, settings) ? shown(setting, settings[key]) : "none");
    return `${name} ${words(now)} instead of ${words(pinned)}`;
  });
}

/** One sentence: what was changed, and what changed with it. */
export function comparison(now: Settings, found: Figures, pinned: Settings, before: Figures): string {
  const changed = differences(now, pinned);
  if (changed.length === 0) return "The pinned run has the same settings. Change one, and both are drawn.";
  const effects = ROWS.flatMap(({ key, label, unit }) => {
    const one = before[key], other = found[key];
    if (one === null || other === null || (one === 0 && other === 0)) return [];
    return [`${label} ${digits(other)} instead of ${digits(one)} ${unit}${share(one, other)}`];
  });
  const seeds = now.seed === pinned.seed ? `seed ${now.seed} in both` : "one seed each";
  return `With ${changed.join(" and ")}: ${effects.join("; ")} (${seeds}).`;
}

function share(before: number, now: number): string {
  if (before === 0) return "";
  const percent = (100 * (now - before)) / before;
  if (Math.abs(percent) < 0.05) return " (the same)";
  const size = Math.abs(percent) < 10 ? Math.abs(percent).toFixed(1) : digits(Math.round(Math.abs(percent)));
  return ` (${percent < 0 ? "\u2212" : "+"}${size} %)`;
}
