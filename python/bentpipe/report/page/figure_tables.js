// @ts-check
// The tables of figures: a long one folds, and on a narrow screen one leaves out columns that it can spare.

import { made } from "#page/elements.js";
import { shown } from "#page/rows.js";

const narrow = matchMedia("(max-width: 620px)");

/** @param {HTMLTableElement} table */
function fold(table) {
  const bodies = [...table.tBodies].map((body) => ({ body, rows: [...body.rows].filter((row) => !row.classList.contains("group")) }));
  const rows = bodies.flatMap((each) => each.rows);
  const few = shown(rows.length, false);
  if (few === rows.length) return;
  const more = made("button", { type: "button", class: "more" });
  table.parentElement?.after(more);
  const show = (/** @type {boolean} */ open) => {
    rows.forEach((row, at) => { row.hidden = !open && at >= few; });
    bodies.forEach((each) => { each.body.hidden = each.rows.every((row) => row.hidden); });
    more.textContent = open ? `Show only ${few} rows` : `Show all ${rows.length} rows`;
    more.setAttribute("aria-expanded", String(open));
  };
  more.addEventListener("click", () => show(more.getAttribute("aria-expanded") === "false"));
  show(false);
}

/** @param {HTMLTableElement} table @param {HTMLElement} scroll */
function fit(table, scroll) {
  const head = table.tHead?.rows[0];
  if (!head) return;
  const leave = (/** @type {number} */ number, /** @type {boolean} */ out) => {
    for (const row of table.rows) if (row.cells.length === head.cells.length) row.cells[number]?.classList.toggle("left-out", out);
  };
  const spare = (table.dataset.spare ?? "").split(" ").filter(Boolean).map(Number);
  spare.forEach((number) => leave(number, false));
  if (scroll.nextElementSibling?.matches(".columns")) scroll.nextElementSibling.remove();
  if (!narrow.matches || scroll.dataset.all) return;
  const out = [];
  for (const number of spare) {
    if (scroll.scrollWidth <= scroll.clientWidth) break;
    leave(number, true);
    out.push(head.cells[number]?.textContent);
  }
  if (!out.length) return;
  const more = made("button", { type: "button", class: "more columns" }, `Show ${out.join(", ")}`);
  more.addEventListener("click", () => { scroll.dataset.all = "yes"; fit(table, scroll); });
  scroll.after(more);
}

/** Folds and fits every table of figures on the page. */
export function figureTables() {
  const tables = [...document.querySelectorAll("table[data-spare]")].filter((each) => each instanceof HTMLTableElement);
  const all = () => tables.forEach((table) => { if (table.parentElement) fit(table, table.parentElement); });
  tables.forEach(fold);
  all();
  narrow.addEventListener("change", all);
  // In closed details nothing has a width.
  document.querySelectorAll("details").forEach((details) => details.addEventListener("toggle", all));
}
