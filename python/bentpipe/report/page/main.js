// @ts-check
// Begins the page.

import { first, made } from "#page/elements.js";
import { figureTables } from "#page/figure_tables.js";
import { overview } from "#page/overviews.js";
import { runTable } from "#page/run_table.js";
import { begin, openPoint } from "#page/runs.js";

figureTables();
const table = first(document, "table.runs");
if (table instanceof HTMLTableElement) runTable(table);
if ("DecompressionStream" in window) {
  for (const section of document.querySelectorAll("section.overview")) if (section instanceof HTMLElement) overview(section, openPoint);
  begin();
} else {
  const words = "This browser is too old for the charts: it cannot unpack them (DecompressionStream).";
  first(document, "#opened").append(made("p", { class: "note" }, words));
}
