// A figure of a sweep over the two things that vary most. A cell opens the run that is nearest to its median.

import { element } from "../src/elements.ts";

export interface Heat {
  readonly figures: readonly string[];
  readonly figure: string;
  readonly maps: readonly {
    readonly row_key: string;
    readonly rows: readonly string[];
    readonly column_key: string;
    readonly columns: readonly string[];
    readonly rest: string;
    readonly cells: readonly (readonly [row: number, column: number, value: number, run: string])[];
  }[];
}

export function heatMap(found: Heat, open: (run: string) => void, choose: (figure: string) => void): HTMLElement[] {
  if (found.maps.length === 0) return [element("p", { class: "help" }, "Nothing varies in two things here, or no figure differs.")];
  const choice = element("select", { "aria-label": "Figure" }, ...found.figures.map((name) => element("option", { value: name }, name)));
  choice.value = found.figure;
  choice.addEventListener("change", () => choose(choice.value));
  const parts: HTMLElement[] = [element("h2", {}, "Heat map"), element("p", { class: "row" }, "Figure ", choice, element("span", { class: "help" }, "A cell opens its run."))];
  const values = found.maps.flatMap(({ cells }) => cells.map(([, , value]) => value));
  const least = Math.min(...values), most = Math.max(...values);
  for (const map of found.maps) {
    const table = element("table", { class: "heat" });
    table.append(element("caption", {}, `${map.row_key} by ${map.column_key}${map.rest === "" ? "" : `, ${map.rest}`}`));
    table.append(element("thead", {}, element("tr", {}, element("th", {}, ""), ...map.columns.map((name) => element("th", { scope: "col" }, name)))));
    const body = element("tbody");
    map.rows.forEach((name, row) => {
      const line = element("tr", {}, element("th", { scope: "row" }, name));
      map.columns.forEach((_, column) => {
        const [, , value, run] = map.cells.find(([r, c]) => r === row && c === column) ?? [];
        if (value === undefined || run === undefined) return line.append(element("td"));
        const button = element("button", { type: "button", title: run }, String(Number(value.toPrecision(4))));
        const share = most > least ? (value - least) / (most - least) : 0;
        button.style.background = shade(share);
        button.style.color = share > 0.55 ? "#000" : "#fff";
        button.addEventListener("click", () => open(run));
        line.append(element("td", {}, button));
      });
      body.append(line);
    });
    table.append(body);
    parts.push(element("div", { class: "wide" }, table));
  }
  return parts;
}

/** From dark blue to yellow, as "cividis": lightness alone tells the order. */
export function shade(share: number): string {
  const ends = [[0, 34, 78], [65, 77, 107], [124, 123, 120], [188, 175, 111], [254, 232, 56]] as const;
  const at = Math.min(Math.max(share, 0), 1) * (ends.length - 1), below = Math.min(Math.floor(at), ends.length - 2), part = at - below;
  const [one, other] = [ends[below] ?? ends[0], ends[below + 1] ?? ends[4]];
  return `rgb(${one.map((value, place) => Math.round(value + ((other[place] ?? 0) - value) * part)).join(" ")})`;
}
