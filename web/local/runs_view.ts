// The view of runs: find them, open a report, draw several beside each other, a heat map of a sweep.

import { byId, element } from "../src/elements.ts";
import { busier, withPart, NO_BINS, type SeriesPart } from "./bins.ts";
import { drawBeside } from "./charts.ts";
import { heatMap, type Heat } from "./heat.ts";
import { RunTable, type Run } from "./run_table.ts";
import { get } from "./server.ts";

export interface Folder {
  readonly id: string;
  readonly folder: string;
  readonly runs: number;
}

interface Curves {
  readonly names: readonly string[];
  readonly runs: readonly { readonly id: string; readonly bin_s: number; readonly pipes: SeriesPart["pipes"] }[];
}

interface Compared {
  readonly why_none: string;
  readonly kinds: readonly { readonly title: string; readonly verdicts: readonly [string, string][]; readonly unchanged: readonly [string, string][] }[];
  readonly figures: { readonly names: readonly string[]; readonly rows: readonly (readonly [string, ...(number | null)[]])[]; readonly same: number } | null;
}

const MOST = 6;
const AFTER_TYPING_MS = 150;

export class RunsView {
  readonly #table: RunTable;
  readonly #beside = byId("beside", HTMLElement);
  readonly #folder = byId("folder", HTMLSelectElement);
  readonly #text = byId("text", HTMLInputElement);
  readonly #guarded: (work: () => Promise<void>) => void;
  readonly #reports: string;

  constructor(reports: string, guarded: (work: () => Promise<void>) => void) {
    this.#reports = reports;
    this.#guarded = guarded;
    const count = byId("count", HTMLElement);
    this.#table = new RunTable(
      byId("table", HTMLElement),
      (words, faults) => {
        count.textContent = faults.length > 0 ? `${words}; ${faults.length} folders cannot be read` : words;
        count.title = faults.join("\n");
      },
      () => this.#picked(),
      (run) => this.report(run.id),
    );
    let typing = 0;
    this.#text.addEventListener("input", () => {
      clearTimeout(typing);
      typing = window.setTimeout(() => this.#ask(), AFTER_TYPING_MS);
    });
    byId("find", HTMLFormElement).addEventListener("submit", (event) => event.preventDefault());
    this.#folder.addEventListener("change", () => this.#ask());
    this.#folder.addEventListener("pointerdown", () => guarded(async () => void (await this.folders())));
    byId("open-report", HTMLButtonElement).addEventListener("click", () => this.#first((id) => this.report(id)));
    byId("draw", HTMLButtonElement).addEventListener("click", () => guarded(() => this.#draw([...this.#table.selected].slice(0, MOST))));
    byId("folder-report", HTMLButtonElement).addEventListener("click", () => this.report(this.#folder.value));
    byId("folder-heat", HTMLButtonElement).addEventListener("click", () => guarded(() => this.#heat(this.#folder.value, "")));
    byId("pick-none", HTMLButtonElement).addEventListener("click", () => {
      this.#table.unselect();
      this.#beside.replaceChildren();
    });
    this.#picked();
    void this.#table.watch();
  }

  /** Show the runs of a folder. */
  async show(folder: string): Promise<void> {
    await this.folders();
    this.#folder.value = folder;
    this.#ask();
  }

  async folders(): Promise<readonly Folder[]> {
    const found = await get<readonly Folder[]>("folders"), chosen = this.#folder.value;
    this.#folder.replaceChildren(
      element("option", { value: "" }, "all folders"),
      ...found.map(({ id, runs }) => element("option", { value: id }, `${id || "."} (${runs})`)),
    );
    this.#folder.value = found.some(({ id }) => id === chosen) ? chosen : "";
    return found;
  }

  /** In a tab of its own. */
  report(id: string): void {
    const path = id.split("/").map(encodeURIComponent).join("/");
    window.open(`/${this.#reports}/${path}`, "_blank", "noopener");
  }

  #ask(): void {
    this.#table.ask(this.#text.value, this.#folder.value);
    this.#picked();
  }

  #first(with_: (id: string) => void): void {
    const [id] = this.#table.selected;
    if (id !== undefined) with_(id);
  }

  #picked(): void {
    const count = this.#table?.selected.size ?? 0, folder = this.#folder.value !== "";
    byId("open-report", HTMLButtonElement).disabled = count !== 1;
    byId("draw", HTMLButtonElement).disabled = count < 1;
    byId("pick-none", HTMLButtonElement).disabled = count < 1;
    byId("folder-report", HTMLButtonElement).disabled = !folder;
    byId("folder-heat", HTMLButtonElement).disabled = !folder;
    byId("picked-count", HTMLElement).textContent = count === 0 ? "Select runs by a click; a double click opens a report." : `${count} selected${count > MOST ? `; the first ${MOST} are compared` : ""}`;
  }

  async #draw(ids: readonly string[]): Promise<void> {
    const query = ids.map((id) => ["run", id] as const);
    const curves = await get<Curves>("curves", query);
    const bins = curves.runs.map((run) => withPart(NO_BINS, { key: run.id, bin_s: run.bin_s, names: curves.names, pipes: run.pipes }));
    const way = bins.some((each) => busier(each) === "down") ? "down" : "up";
    this.#beside.replaceChildren(element("h2", {}, ids.length > 1 ? `${ids.length} runs beside each other, ${way}` : `One run, ${way}`));
    const bin_s = Math.max(...bins.map((each) => each.bin_s));
    drawBeside(this.#beside, bins.map((each, place) => ({ label: ids[place] ?? "", pipe: each.pipes[way] })), bin_s);
    if (ids.length > 1) this.#beside.append(...compared(await get<Compared>("compare", query)));
    this.#beside.scrollIntoView({ block: "nearest" });
  }

  async #heat(folder: string, figure: string): Promise<void> {
    const found = await get<Heat>("heat", [["folder", folder], ["figure", figure]]);
    const inFolder = (run: string) => (folder === "" ? run : `${folder}/${run}`);
    this.#beside.replaceChildren(...heatMap(found, (run) => this.report(inFolder(run)), (other) => this.#guarded(() => this.#heat(folder, other))));
    this.#beside.scrollIntoView({ block: "nearest" });
  }
}

function compared(found: Compared): HTMLElement[] {
  const parts: HTMLElement[] = [];
  if (found.why_none !== "") parts.push(element("p", { class: "help" }, `Not compared pair by pair: ${found.why_none}`));
  for (const { title, verdicts, unchanged } of found.kinds) {
    parts.push(element("h2", {}, title));
    const list = element("ul");
    for (const [name, words] of [...verdicts, ...unchanged]) list.append(element("li", {}, element("b", {}, name), `: ${words}`));
    parts.push(list);
  }
  if (found.figures === null) return parts;
  const { names, rows, same } = found.figures;
  const head = element("tr", {}, element("th", {}, "figure"), ...names.map((name) => element("th", {}, name)));
  const table = element("table", { class: "figures" }, element("caption", {}, `Figures that differ (${same} are the same)`), element("thead", {}, head));
  const body = element("tbody");
  for (const [name, ...values] of rows) {
    body.append(element("tr", {}, element("th", { scope: "row" }, name), ...values.map((value) => element("td", {}, value === null ? "–" : String(Number(value.toPrecision(5)))))));
  }
  table.append(body);
  parts.push(element("div", { class: "wide" }, table));
  return parts;
}

export type { Run };
