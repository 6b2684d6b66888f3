// The table of runs: only the rows in view are elements of the page.

import { element } from "../src/elements.ts";
import { inView, Pages } from "./rows.ts";
import { get } from "./server.ts";

export interface Run {
  readonly id: string;
  readonly folder: string;
  readonly run: string;
  readonly title: string | null;
  readonly lab: string | null;
  readonly engine: string | null;
  readonly variant: string | null;
  readonly seed: number | null;
  readonly status: string | null;
  readonly reliable: boolean | null;
  readonly started: string | null;
  readonly wall_s: number | null;
  readonly point: string | null;
  readonly goodput_mbit_s: number | null;
}

interface Answer {
  readonly version: number;
  readonly reading: boolean;
  readonly total: number;
  readonly all: number;
  readonly rows: readonly Run[];
  readonly faults: readonly string[];
}

const ROW = 28;
const COLUMNS: readonly (readonly [key: string, title: string, isNumber?: true])[] = [
  ["folder", "Folder"], ["run", "Run"], ["point", "Point"], ["engine", "Engine"], ["variant", "Variant"],
  ["goodput_mbit_s", "Mbit/s", true], ["status", "State"], ["started", "Started, UTC"],
];
const AGAIN_MS = 3000;
const READING_MS = 400;

export class RunTable {
  readonly selected = new Set<string>();
  readonly #box: HTMLElement;
  readonly #body = element("div", { class: "body", role: "rowgroup" });
  readonly #heads: HTMLButtonElement[] = [];
  readonly #told: (words: string, faults: readonly string[]) => void;
  readonly #picked: () => void;
  readonly #open: (run: Run) => void;
  #pages: Pages<Run> = this.#fresh();
  /** What takes their place as soon as it has the rows in view. */
  #coming: Pages<Run> | null = null;
  #total = 0;
  #version = -1;
  #at = 0;
  #asking = { text: "", folder: "", sort: "started", down: true };

  constructor(
    box: HTMLElement, told: (words: string, faults: readonly string[]) => void, picked: () => void, open: (run: Run) => void,
  ) {
    [this.#box, this.#told, this.#picked, this.#open] = [box, told, picked, open];
    const head = element("div", { class: "head", role: "row" }, element("span", { role: "gridcell" }));
    for (const [key, title, isNumber] of COLUMNS) {
      const button = element("button", { type: "button", ...(isNumber ? { class: "number" } : {}) }, title);
      button.addEventListener("click", () => this.#sort(key));
      this.#heads.push(button);
      head.append(element("span", { role: "columnheader" }, button));
    }
    box.append(head, this.#body);
    box.addEventListener("scroll", () => void this.#draw());
    box.addEventListener("keydown", (event) => this.#key(event));
    new ResizeObserver(() => void this.#draw()).observe(box);
    this.#showSort();
  }

  ask(text: string, folder: string): void {
    this.#asking = { ...this.#asking, text, folder };
    this.#anew();
  }

  /** Look for new runs, as long as the table is in view. */
  async watch(): Promise<void> {
    for (;;) {
      let wait = AGAIN_MS;
      if (this.#box.offsetParent !== null && !document.hidden) {
        const found = await this.#ask(0, 1).catch(() => null);
        if (found?.reading) wait = READING_MS;
        if (found !== null && found.version !== this.#version) {
          this.#version = found.version;
          await this.#renew();
        } else if (found !== null && this.#coming === null) {
          this.#tell(found);
          await this.#draw(); // a page that did not come is asked for again
        }
      }
      await new Promise((go) => setTimeout(go, wait));
    }
  }

  unselect(): void {
    this.selected.clear();
    this.#picked();
    void this.#draw();
  }

  #fresh(): Pages<Run> {
    const pages: Pages<Run> = new Pages(async (first, count) => {
      const found = await this.#ask(first, count);
      if (pages !== this.#coming && pages !== this.#pages) return null;
      this.#tell(found);
      return found.rows;
    });
    return pages;
  }

  #ask(first: number, count: number): Promise<Answer> {
    const { text, folder, sort, down } = this.#asking;
    return get<Answer>("runs", [
      ["first", String(first)], ["count", String(count)], ["text", text], ["folder", folder], ["sort", sort], ["down", down ? "1" : "0"],
    ]);
  }

  #tell(found: Answer): void {
    this.#total = found.total;
    const grouped = (count: number) => count.toLocaleString("en").replaceAll(",", "\u202f");
    const words = found.reading ? "Reading the runs." : found.total === found.all ? `${grouped(found.all)} runs` : `${grouped(found.total)} of ${grouped(found.all)} runs`;
    this.#told(words, found.faults);
  }

  #anew(): void {
    this.#at = 0;
    this.#box.scrollTop = 0;
    void this.#renew();
  }

  /** The rows as they are now. Until those in view are there, the ones before stay, so that no line is without its run. */
  async #renew(): Promise<void> {
    const pages = this.#coming = this.#fresh();
    const [first, last] = inView(this.#box.scrollTop, this.#box.clientHeight, ROW, Number.MAX_SAFE_INTEGER);
    try {
      await pages.need(first, last);
    } catch (why) {
      if (this.#coming !== pages) return;
      this.#version = -1; // watch() asks again
      this.#told(`The server does not answer: ${why instanceof Error ? why.message : String(why)}`, []);
    }
    if (this.#coming !== pages) return;
    [this.#pages, this.#coming] = [pages, null];
    await this.#draw();
  }

  #sort(key: string): void {
    const down = this.#asking.sort === key ? !this.#asking.down : key === "started" || key === "goodput_mbit_s";
    this.#asking = { ...this.#asking, sort: key, down };
    this.#showSort();
    this.#anew();
  }

  #showSort(): void {
    COLUMNS.forEach(([key, title], place) => {
      const head = this.#heads[place];
      if (head === undefined) return;
      const isSorted = key === this.#asking.sort;
      head.parentElement?.setAttribute("aria-sort", isSorted ? (this.#asking.down ? "descending" : "ascending") : "none");
      head.textContent = isSorted ? `${title} ${this.#asking.down ? "↓" : "↑"}` : title;
    });
  }

  async #draw(): Promise<void> {
    const pages = this.#pages;
    this.#body.style.height = `${Math.max(this.#total, 1) * ROW}px`;
    const [first, last] = inView(this.#box.scrollTop, this.#box.clientHeight, ROW, this.#total);
    this.#show(first, last);
    if (this.#total > 0 && (await pages.need(first, last).catch(() => false)) && pages === this.#pages) await this.#draw();
  }

  #show(first: number, last: number): void {
    if (this.#total === 0) {
      const words = this.#version <= 0 ? "" : this.#asking.text || this.#asking.folder ? "No run is like this." : "There are no runs yet: start a lab.";
      this.#body.replaceChildren(element("p", { class: "help" }, words));
      return;
    }
    const lines: HTMLElement[] = [];
    for (let at = first; at <= last && at < this.#total; at++) lines.push(this.#line(at, this.#pages.row(at)));
    this.#body.replaceChildren(...lines);
    this.#box.setAttribute("aria-rowcount", String(this.#total));
  }

  #line(at: number, run: Run | undefined): HTMLElement {
    const line = element("div", { class: "line", role: "row", "aria-rowindex": String(at + 1), "data-at": String(at === this.#at && document.activeElement === this.#box) });
    line.style.top = `${at * ROW}px`;
    if (run === undefined) {
      line.append(element("span", { role: "gridcell" }), element("span", { role: "gridcell", class: "help" }, "…"));
      return line;
    }
    const mark = element("input", { type: "checkbox", tabindex: "-1", "aria-label": `Select ${run.id}` });
    mark.checked = this.selected.has(run.id);
    line.setAttribute("aria-selected", String(mark.checked));
    const state = run.status === "failed" ? "failed" : run.reliable === false ? "unreliable" : (run.status ?? "");
    const goodput = run.goodput_mbit_s === null ? "" : String(Number(run.goodput_mbit_s.toPrecision(4)));
    const cells = [run.folder, run.run, run.point, run.engine, run.variant, goodput, state, run.started];
    line.append(element("span", { role: "gridcell" }, mark), ...cells.map((text, place) => {
      const cell = element("span", { role: "gridcell", title: text ?? "" }, text ?? "");
      if (COLUMNS[place]?.[2]) cell.className = "number";
      if (COLUMNS[place]?.[0] === "status" && (state === "failed" || state === "unreliable")) cell.className = "failed";
      return cell;
    }));
    line.addEventListener("click", () => this.#pick(run, at));
    line.addEventListener("dblclick", () => this.#open(run));
    return line;
  }

  #pick(run: Run, at: number): void {
    this.#at = at;
    if (!this.selected.delete(run.id)) this.selected.add(run.id);
    this.#picked();
    void this.#draw();
  }

  #key(event: KeyboardEvent): void {
    const steps: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15, Home: -this.#total, End: this.#total };
    const run = this.#pages.row(this.#at);
    const step = steps[event.key];
    if (step !== undefined) {
      this.#at = Math.min(Math.max(this.#at + step, 0), Math.max(this.#total - 1, 0));
      const top = this.#at * ROW, room = this.#box.clientHeight - 3 * ROW;
      if (top < this.#box.scrollTop) this.#box.scrollTop = top;
      if (top > this.#box.scrollTop + room) this.#box.scrollTop = top - room;
      void this.#draw();
    } else if (event.key === " " && run !== undefined) this.#pick(run, this.#at);
    else if (event.key === "Enter" && run !== undefined && event.target === this.#box) this.#open(run);
    else return;
    event.preventDefault();
  }
}
