// A part of the playground inside another page: the controls and charts that the address names after `?`.

import { CHARTS } from "./charts.ts";
import { SETTINGS } from "./settings.ts";

export interface Part {
  readonly controls: ReadonlySet<string>;
  readonly charts: ReadonlySet<string>;
}

/** Null: all of the playground, as a page of its own. */
export function partOf(search: string): Part | null {
  const asked = new URLSearchParams(search);
  if (!asked.has("part")) return null;
  const named = (key: string, known: readonly string[]) => new Set((asked.get(key) ?? "").split(",").filter((each) => known.includes(each)));
  return { controls: named("controls", SETTINGS.map(({ key }) => key)), charts: named("charts", CHARTS.map(({ key }) => key)) };
}

/** Gives the frame that the page is in the height of its content. */
export function fitFrame(): void {
  document.body.classList.add("part");
  const frame = window.frameElement as HTMLElement | null;
  if (frame === null) return;
  new ResizeObserver(() => { frame.style.height = `${document.body.offsetHeight + 4}px`; }).observe(document.body);
}
