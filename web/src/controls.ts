// A control for each setting: a slider and a field that takes "400 kB", or a list.

import { element } from "./elements.ts";
import type { Goal } from "./group_links.ts";
import { counts, GROUPS, shown, stepOf, steps, typed, valueAt, type Choice, type Quantity, type Setting, type Settings } from "./settings.ts";

/** What the reader does: `moving` while a slider is held. */
export type OnChange = (key: keyof Settings, value: number | string, moving: boolean) => void;

export interface Controls {
  show(settings: Settings): void;
  /** Its groups, each with the way to its first control. */
  readonly groups: readonly Goal[];
}

export function build(into: HTMLElement, onChange: OnChange, settings: readonly Setting[]): Controls {
  const shows: ((settings: Settings) => void)[] = [];
  const groups: Goal[] = [];
  for (const group of GROUPS.filter((each) => settings.some((setting) => setting.group === each))) {
    const fields = element("fieldset", {}, element("legend", {}, element("h2", {}, group)));
    groups.push({ name: group, focus: () => fields.querySelector<HTMLElement>(".control:not([hidden]) :is(input, select)")?.focus() });
    for (const setting of settings.filter((each) => each.group === group)) {
      const made = setting.kind === "choice" ? list(setting, onChange) : slider(setting, onChange);
      fields.append(made.row);
      shows.push((settings) => {
        made.row.hidden = !counts(setting, settings);
        made.show(settings);
      });
    }
    into.append(fields);
  }
  return { show: (settings) => shows.forEach((show) => show(settings)), groups };
}

export interface Control {
  readonly row: HTMLElement;
  show(settings: Settings): void;
}

/** `prefix` sets the ids apart from those of other controls on the page. */
export function list(setting: Choice, onChange: OnChange, prefix = "set"): Control {
  const id = `${prefix}-${setting.key}`;
  const select = element("select", { id, "aria-describedby": `${id}-help` }, ...setting.options.map((each) => element("option", { value: each }, each)));
  select.addEventListener("change", () => onChange(setting.key, select.value, false));
  const row = element("div", { class: "control" }, element("label", { for: id }, setting.label), select, help(id, setting.help));
  return { row, show: (settings) => { select.value = settings[setting.key]; } };
}

export function slider(setting: Quantity, onChange: OnChange, prefix = "set"): Control {
  const id = `${prefix}-${setting.key}`;
  const range = element("input", { type: "range", id, min: "0", max: String(steps(setting)), step: "1", "aria-describedby": `${id}-help` });
  const field = element("input", { type: "text", id: `${id}-text`, class: "value", "aria-label": `${setting.label}, typed`, "aria-describedby": `${id}-help`, autocomplete: "off", spellcheck: "false" });
  const say = (value: number) => {
    const text = shown(setting, value);
    range.setAttribute("aria-valuetext", text);
    field.value = text;
    field.removeAttribute("aria-invalid");
  };
  range.addEventListener("input", () => {
    const value = valueAt(setting, Number(range.value));
    say(value);
    onChange(setting.key, value, true);
  });
  range.addEventListener("change", () => onChange(setting.key, valueAt(setting, Number(range.value)), false));
  field.addEventListener("change", () => {
    const value = typed(setting, field.value);
    if (value === null) field.setAttribute("aria-invalid", "true");
    else onChange(setting.key, value, false);
  });
  const limits = `From ${shown(setting, setting.zero === undefined ? setting.least : 0)} to ${shown(setting, setting.most)}.`;
  const row = element("div", { class: "control" }, element("label", { for: id }, setting.label), field, range, help(id, `${setting.help} ${limits}`));
  return {
    row,
    show: (settings) => {
      range.value = String(stepOf(setting, settings[setting.key]));
      say(settings[setting.key]);
    },
  };
}

function help(id: string, text: string): HTMLElement {
  return element("p", { id: `${id}-help`, class: "help" }, text);
}
