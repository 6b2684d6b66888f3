// Files for the reader's own disk.

import { CHARTS } from "./charts.ts";
import { element } from "./elements.ts";
import type { Series } from "./series.ts";

export function save(name: string, what: Blob): void {
  const address = URL.createObjectURL(what);
  element("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** A row for each bin. A cell is empty if its value is unknown. */
export function csv(series: Series): string {
  const columns = CHARTS.flatMap(({ unit, lines }) => lines.map(({ label, values }) => ({ name: `${label} (${unit})`, values: values(series) })));
  const head = ["time (s)", ...columns.map(({ name }) => name)].map((name) => `"${name}"`).join(",");
  const rows = series.time.map((at, row) => [at, ...columns.map(({ values }) => values[row] ?? "")].join(","));
  return `${[head, ...rows].join("\n")}\n`;
}
