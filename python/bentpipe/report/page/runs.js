// @ts-check
// Opens a run's part: by its row, by a point or cell that stands for it, or by the page's address (#run=NAME).

import * as charts from "#page/charts.js";
import { first, held, made } from "#page/elements.js";
import { closer, runPart } from "#page/run_part.js";
import { unpacked } from "#page/unpack.js";

/** @import { Part } from "./types.js" */

const PREFIX = "#run=";
const STEPS = 20;
const BEGIN_OPEN = 4;

const rows = [...document.querySelectorAll("table.runs tbody tr")].filter((each) => each instanceof HTMLTableRowElement);
const names = rows.map((row) => decodeURIComponent(row.querySelector("a")?.hash.slice(PREFIX.length) ?? ""));
const numbers = new Map(names.map((name, number) => [name, number]));
/** @type {{ script: Element, parts: Promise<Part[]> | null }[]} */
const groups = [...document.querySelectorAll("script.group")].map((script) => ({ script, parts: null }));
const groupRuns = Number(held("group-runs"));
const opened = first(document, "#opened");
/** @type {Map<number, { article: HTMLElement, shown: () => HTMLElement[], end: () => void, from: number | undefined } | null>} null: on its way */
const parts = new Map();
/** @type {number[]} */
let beside = [];
/** @type {number | undefined} */
let from;

/** @param {number} number */
async function partOf(number) {
  const group = groups[Math.floor(number / groupRuns)];
  if (!group) throw new Error(`the page has no run ${number + 1}`);
  group.parts ??= unpacked(group.script.textContent ?? "");
  const part = (await group.parts)[number % groupRuns];
  if (!part) throw new Error(`the page has no run ${number + 1}`);
  return part;
}

const address = (/** @type {number} */ number) => `${PREFIX}${encodeURIComponent(names[number] ?? "")}`;

/**
 * The runs that stand behind the same point of a chart, as steps from one to the next.
 * @param {number} number
 */
function steps(number) {
  if (beside.length < 2 || !beside.includes(number)) return null;
  const begin = Math.max(0, Math.min(beside.indexOf(number) - STEPS / 2, beside.length - STEPS));
  return made("p", { class: "steps" }, `One of ${beside.length} runs of this point: `,
    ...beside.slice(begin, begin + STEPS).map((other) => made("a", {
      href: address(other), class: "step", "aria-label": `run ${other + 1}`, "aria-current": other === number ? "true" : "",
    }, String(other + 1))));
}

/**
 * @param {number} number
 * @param {boolean} among one of several that the page begins with, in their order, where the reader is left alone
 */
async function open(number, among = false) {
  if (!parts.has(number)) {
    parts.set(number, null);
    const part = await partOf(number);
    const close = names.length > 1 ? closer("Close this run") : null;
    const { article, begin, shown, end } = runPart(part, number, steps(number), close);
    close?.addEventListener("click", () => shut(number));
    article.addEventListener("keydown", (event) => { if (event.key === "Escape") shut(number); });
    parts.set(number, { article, shown, end, from });
    from = undefined;
    if (among) opened.append(article); else opened.prepend(article);
    rows[number]?.classList.add("open");
    begin();
  }
  const here = parts.get(number);
  if (here && !among && names.length > 1) {
    here.article.scrollIntoView();
    here.article.focus({ preventScroll: true });
  }
}

/** @param {number} number */
function shut(number) {
  const here = parts.get(number), row = rows[number];
  if (!here || !row || names.length === 1) return;
  charts.forget(here.shown());
  here.end();
  here.article.remove();
  parts.delete(number);
  row.classList.remove("open");
  if (numberInAddress() === number) history.replaceState(null, "", location.pathname + location.search);
  if (here.from !== undefined) scrollTo(0, here.from);  // where the reader came from
  else row.scrollIntoView({ block: "center" });
  row.querySelector("a")?.focus({ preventScroll: true });
}

function numberInAddress() {
  if (!location.hash.startsWith(PREFIX)) return undefined;
  try {
    return numbers.get(decodeURIComponent(location.hash.slice(PREFIX.length)));
  } catch {  // a "%" that encodes nothing
    return undefined;
  }
}

function follow() {
  const number = numberInAddress();
  if (number !== undefined) open(number);
}

/** @param {number} number */
function go(number) {
  if (location.hash === address(number)) open(number);
  else location.hash = address(number);
}

/**
 * Opens the first of the runs that a point stands for, with steps to the others.
 * @param {string[]} runs
 */
export function openPoint(runs) {
  const found = runs.map((name) => numbers.get(name)).filter((number) => number !== undefined);
  if (found[0] === undefined) return;
  beside = found.slice().sort((a, b) => a - b);
  from = scrollY;
  go(found[0]);
}

/** Opens what the address names, and the runs of a page that has few. */
export async function begin() {
  rows.forEach((row, number) => row.addEventListener("click", (event) => {
    if (getSelection()?.toString()) return;
    from = scrollY;
    if (!(event.target instanceof Element && event.target.closest("a"))) go(number);
  }));
  addEventListener("hashchange", follow);
  if (names.length <= BEGIN_OPEN) for (const number of names.keys()) await open(number, true);
  follow();
}
