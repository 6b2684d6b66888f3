// The settings in the page's address, after `#`: only what differs from the start, so that a link stays short. Whatever stands there is taken
// only if it is a value of a setting; the rest is ignored.

import { allowed, SETTINGS, START, type Setting, type Settings } from "./settings.ts";

/** What a link holds: the settings, and those of the curve that they are compared with. */
export interface Shown {
  readonly settings: Settings;
  readonly pinned: Settings | null;
}

const MOST = 4000;
const PIN = "pin.";

export function toHash({ settings, pinned }: Shown): string {
  const parts = SETTINGS.filter(({ key }) => settings[key] !== START[key]).map(({ key }) => `${key}=${encodeURIComponent(settings[key])}`);
  if (pinned !== null) {
    const differing = SETTINGS.filter(({ key }) => pinned[key] !== START[key]);
    parts.push("pinned", ...differing.map(({ key }) => `${PIN}${key}=${encodeURIComponent(pinned[key])}`));
  }
  return parts.join("&");
}

export function fromHash(hash: string): Shown {
  const found = new URLSearchParams(hash.replace(/^#/, "").slice(0, MOST));
  const of = (prefix: string): Settings => {
    const settings = { ...START };
    for (const setting of SETTINGS) take(settings, setting, found.get(prefix + setting.key));
    return settings;
  };
  return { settings: of(""), pinned: found.has("pinned") ? of(PIN) : null };
}

function take(settings: Settings, setting: Setting, text: string | null): void {
  if (text === null) return;
  const value = setting.kind === "choice" ? text : /^[0-9.e-]{1,20}$/.test(text) ? Number(text) : Number.NaN;
  if (allowed(setting, value)) Object.assign(settings, { [setting.key]: value });
}
