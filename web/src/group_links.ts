// Ways past the settings for the keyboard: one tab stop, on which the arrow keys choose a group, and Enter leads to its first control.

import { element } from "./elements.ts";

export interface Goal {
  readonly name: string;
  readonly focus: () => void;
}

export function groupLinks(goals: readonly Goal[]): HTMLElement {
  const buttons = goals.map(({ name, focus }, place) => {
    const button = element("button", { type: "button", tabindex: place === 0 ? "0" : "-1" }, name);
    button.addEventListener("click", focus);
    return button;
  });
  const bar = element("div", { class: "skip", role: "toolbar", "aria-label": "Go to" }, ...buttons);
  bar.addEventListener("keydown", (event) => {
    const at = buttons.findIndex((each) => each === document.activeElement), to = target(event.key, at, buttons.length);
    if (to === null) return;
    event.preventDefault();
    buttons.forEach((each, place) => { each.tabIndex = place === to ? 0 : -1; });
    buttons[to]?.focus();
  });
  return bar;
}

/** Where a key leads to among so many; null: nowhere. Behind the last is the first. */
export function target(key: string, at: number, many: number): number | null {
  switch (key) {
    case "ArrowRight": case "ArrowDown": return (at + 1) % many;
    case "ArrowLeft": case "ArrowUp": return (at - 1 + many) % many;
    case "Home": return 0;
    case "End": return many - 1;
    default: return null;
  }
}
