// The views of SQL, of the doctor's watch, and of the playground.

import { fromHash } from "../src/address.ts";
import { byId, element } from "../src/elements.ts";
import { labFile } from "../src/lab.ts";
import { get, listen, post } from "./server.ts";
import type { Folder } from "./runs_view.ts";

interface Answer {
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  readonly rows: readonly (readonly string[])[];
  readonly more: boolean;
}

interface Watch {
  readonly status: "none" | "running" | "over" | "failed";
  readonly words?: string;
  readonly for_s?: number;
  readonly passed_s?: number;
  readonly so_far?: string;
  readonly lines?: readonly string[];
  readonly remarks?: readonly string[];
  readonly message?: string;
}

type Guarded = (work: () => Promise<void>) => void;
const NUMBERS = /INT|DOUBLE|FLOAT|DECIMAL/;

export class SqlView {
  readonly #folder = byId("sql-folder", HTMLSelectElement);

  constructor(guarded: Guarded) {
    const sql = byId("sql", HTMLTextAreaElement), form = byId("question", HTMLFormElement);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      guarded(() => this.#ask(sql.value));
    });
    sql.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
    });
  }

  async show(): Promise<void> {
    const chosen = this.#folder.value, found = await get<readonly Folder[]>("folders");
    this.#folder.replaceChildren(...found.map(({ id, runs }) => element("option", { value: id }, `${id || "."} (${runs} runs)`)));
    if (found.some(({ id }) => id === chosen)) this.#folder.value = chosen;
  }

  async #ask(sql: string): Promise<void> {
    const status = byId("sql-status", HTMLElement), table = byId("answer", HTMLTableElement);
    status.textContent = "Asking.";
    try {
      const { columns, rows, more } = await post<Answer>("query", { folders: [this.#folder.value], sql });
      const kinds = columns.map(({ type }) => (NUMBERS.test(type) ? { class: "number" } : {}));
      table.tHead?.replaceChildren(element("tr", {}, ...columns.map(({ name }, place) => element("th", { scope: "col", ...kinds[place] }, name))));
      table.tBodies[0]?.replaceChildren(...rows.map((row) => element("tr", {}, ...row.map((value, place) => element("td", kinds[place] ?? {}, value)))));
      status.textContent = more ? `The first ${rows.length} rows.` : `${rows.length} row${rows.length === 1 ? "" : "s"}.`;
    } catch (error) {
      status.textContent = "";
      throw error;
    }
  }
}

export class WatchView {
  constructor(guarded: Guarded) {
    byId("doctor", HTMLFormElement).addEventListener("submit", (event) => {
      event.preventDefault();
      const what = byId("what", HTMLInputElement).value.trim(), for_s = Number(byId("for", HTMLInputElement).value);
      guarded(async () => void (await post("watch/start", { what, for_s })));
    });
    byId("stop-watch", HTMLButtonElement).addEventListener("click", () => guarded(async () => void (await post("watch/stop"))));
    byId("stop-watch", HTMLButtonElement).disabled = true;
  }

  /** From when the view is shown first: most readers never watch. */
  begin(): void {
    if (this.#begun) return;
    this.#begun = true;
    listen<Watch>("watch", hear, () => undefined);
  }

  #begun = false;
}

function hear(watch: Watch): void {
  const passed = `${Math.round(watch.passed_s ?? 0)} of ${Math.round(watch.for_s ?? 0)} s`;
  byId("watch-status", HTMLElement).textContent = {
    none: "",
    running: `Watching ${watch.words ?? ""}: ${passed}. ${watch.so_far ?? ""}`,
    over: `Watched ${watch.words ?? ""} for ${Math.round(watch.passed_s ?? 0)} s. ${watch.so_far ?? ""}`,
    failed: watch.message ?? "",
  }[watch.status];
  byId("watch-lines", HTMLElement).textContent = [...(watch.lines ?? []), ...(watch.remarks ?? [])].join("\n");
  byId("stop-watch", HTMLButtonElement).disabled = watch.status !== "running";
}

/** The playground in a frame, whose address holds its settings. */
export class PlayView {
  #frame: HTMLIFrameElement | null = null;

  constructor(there: boolean, run: (name: string, text: string, engine: string) => void) {
    if (!there) byId("play-frame", HTMLElement).append(element("p", {}, "The playground is not built here; in a checkout, to build it: make playground"));
    for (const engine of ["sim", "live"]) {
      const button = byId(`play-${engine}`, HTMLButtonElement);
      button.disabled = !there;
      button.addEventListener("click", () => {
        const hash = this.#frame?.contentWindow?.location.hash ?? "";
        run("playground", labFile(fromHash(hash).settings), engine);
      });
    }
    this.#there = there;
  }

  readonly #there: boolean;

  show(): void {
    if (this.#frame !== null || !this.#there) return;
    this.#frame = element("iframe", { src: "play/", title: "Playground" });
    byId("play-frame", HTMLElement).append(this.#frame);
  }
}
