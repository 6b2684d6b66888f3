// @ts-check
// The table of runs: filtered by words, sorted by a column, folded where it is long.

import { counted, matches, order, shown } from "#page/rows.js";
import { first, made } from "#page/elements.js";

/** @param {HTMLTableElement} table */
export function runTable(table) {
  const rows = [...(table.tBodies[0]?.rows ?? [])];
  const heads = [...(table.tHead?.rows[0]?.cells ?? [])];
  const texts = heads.filter((head) => head.classList.contains("text")).length;
  const filter = document.querySelector("#filter");
  const status = first(document, "#found");
  const words = rows.map((row) => [...row.cells].filter((_, at) => (at >= 1 && at <= texts) || at === row.cells.length - 1)
    .map((cell) => cell.textContent).join(" "));
  const more = made("button", { type: "button", class: "more", "aria-expanded": "false", "aria-controls": table.id });
  table.parentElement?.after(more);
  let isOpen = false, sequence = rows.map((_, at) => at);

  function show() {
    const asked = filter instanceof HTMLInputElement ? filter.value : "";
    const found = sequence.filter((at) => matches(words[at] ?? "", asked));
    const visible = new Set(found.slice(0, shown(found.length, isOpen)));
    rows.forEach((row, at) => { row.hidden = !visible.has(at); });
    status.textContent = counted(found.length, rows.length, visible.size);
    more.hidden = shown(found.length, false) === found.length;
    more.textContent = isOpen ? `Show only ${shown(found.length, false)} rows` : `Show all ${found.length} rows`;
    more.setAttribute("aria-expanded", String(isOpen));
  }

  filter?.addEventListener("input", show);
  more.addEventListener("click", () => { isOpen = !isOpen; show(); });
  heads.forEach((head, column) => head.addEventListener("click", () => {
    const down = head.getAttribute("aria-sort") === "ascending";
    sequence = order(rows.map((row) => row.cells[column]?.textContent ?? ""), down);
    heads.forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    table.tBodies[0]?.append(...sequence.flatMap((at) => rows[at] ?? []));
    show();
  }));
  show();
}
