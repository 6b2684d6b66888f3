// The view in which a lab is started, and watched while it runs.

import { byId, element } from "../src/elements.ts";
import { busier, NO_BINS, withPart, type SeriesPart } from "./bins.ts";
import { RunCharts } from "./charts.ts";
import { statusWords, type JobState } from "./job_words.ts";
import { listen, post } from "./server.ts";

interface Message {
  readonly job: JobState | null;
  readonly series?: SeriesPart;
}

export interface Facts {
  readonly folder: string;
  readonly labs: readonly { readonly name: string; readonly title: string }[];
  readonly engines: readonly string[];
  readonly reports: string;
  readonly playground: boolean;
}

const ENDED = ["done", "failed", "cancelled"];

export class StartView {
  readonly #name = byId("lab-name", HTMLInputElement);
  readonly #text = byId("lab-text", HTMLTextAreaElement);
  readonly #shipped = byId("shipped", HTMLSelectElement);
  readonly #engine = byId("engine", HTMLSelectElement);
  readonly #pipe = byId("pipe", HTMLSelectElement);
  #charts: RunCharts | null = null;
  #bins = NO_BINS;
  #pipeChosen = false;
  /** The text of a shipped lab as it came: unchanged, it is asked for by its name. */
  #asItCame = "";
  #job: JobState | null = null;

  constructor(
    facts: Facts, guarded: (work: () => Promise<void>) => void, report: (folder: string) => void, runs: (folder: string) => void,
    lost: (isLost: boolean) => void,
  ) {
    this.#shipped.append(element("option", { value: "" }, "a text of my own"), ...facts.labs.map(({ name, title }) => element("option", { value: name }, title === name ? name : `${name}: ${title}`)));
    this.#engine.append(...facts.engines.map((name) => element("option", { value: name }, name)));
    this.#engine.value = "sim";
    this.#shipped.addEventListener("change", () => guarded(() => this.#choose(this.#shipped.value)));
    byId("file", HTMLInputElement).addEventListener("change", (event) => guarded(async () => {
      const [file] = (event.target as HTMLInputElement).files ?? [];
      if (file !== undefined) this.#own(file.name.replace(/\.toml$/, ""), await file.text());
    }));
    this.#text.addEventListener("input", () => {
      if (this.#shipped.value !== "" && this.#text.value !== this.#asItCame) this.#own(`my-${this.#shipped.value}`, this.#text.value);
    });
    byId("lab", HTMLFormElement).addEventListener("submit", (event) => {
      event.preventDefault();
      guarded(() => this.#start());
    });
    byId("cancel", HTMLButtonElement).addEventListener("click", () => guarded(async () => void (await post("cancel"))));
    byId("job-report", HTMLButtonElement).addEventListener("click", () => this.#job && report(this.#job.folder));
    byId("job-runs", HTMLButtonElement).addEventListener("click", () => this.#job && runs(this.#job.folder));
    this.#pipe.addEventListener("change", () => {
      this.#pipeChosen = true;
      this.#draw();
    });
    guarded(() => this.#choose(facts.labs[0]?.name ?? ""));
    this.#shipped.value = facts.labs[0]?.name ?? "";
    listen<Message>("job", (message) => this.#hear(message), lost);
  }

  /** A lab from the playground. */
  async run(name: string, text: string, engine: string): Promise<void> {
    this.#own(name, text);
    this.#engine.value = engine;
    await this.#start();
  }

  async #choose(name: string): Promise<void> {
    if (name === "") return;
    const response = await fetch(`api/labs/${encodeURIComponent(name)}`);
    this.#text.value = this.#asItCame = await response.text();
    this.#name.value = name;
  }

  #own(name: string, text: string): void {
    this.#shipped.value = "";
    this.#name.value = name.replace(/[^A-Za-z0-9._-]+/g, "-").replace(/^[^A-Za-z0-9]+/, "") || "lab";
    this.#text.value = text;
  }

  async #start(): Promise<void> {
    const change = byId("set", HTMLInputElement).value.trim(), repeat = Number(byId("repeat", HTMLInputElement).value);
    this.#pipeChosen = false;
    await post("start", {
      lab: this.#name.value,
      text: this.#shipped.value === "" ? this.#text.value : null,
      engine: this.#engine.value,
      set: change === "" ? [] : [change],
      repeat: repeat > 1 ? repeat : null,
    });
  }

  #hear({ job, series }: Message): void {
    this.#job = job;
    byId("job", HTMLElement).hidden = job === null;
    if (job === null) return;
    const isOver = ENDED.includes(job.status);
    byId("go", HTMLButtonElement).disabled = !isOver;
    const cancel = byId("cancel", HTMLButtonElement);
    cancel.hidden = isOver;
    cancel.disabled = job.status === "ending";
    byId("job-title", HTMLElement).textContent = `${job.lab} on ${job.engine}`;
    byId("job-status", HTMLElement).textContent = statusWords(job);
    byId("job", HTMLElement).dataset.status = job.status;
    const progress = byId("job-progress", HTMLProgressElement);
    progress.value = job.status === "done" ? 1 : Math.min(job.length_s > 0 ? job.completed_s / job.length_s : 0, 1);
    const message = byId("job-message", HTMLElement);
    message.textContent = job.message;
    message.dataset.status = job.status;
    byId("job-done", HTMLElement).hidden = !isOver || job.ended === 0;
    byId("job-run", HTMLElement).textContent = job.run;
    byId("job-lines", HTMLElement).replaceChildren(...job.lines.map((line) => element("li", {}, line)));
    if (series === undefined) return;
    this.#bins = withPart(this.#bins, series);
    if (!this.#pipeChosen) this.#pipe.value = busier(this.#bins);
    this.#draw();
  }

  #draw(): void {
    this.#charts ??= new RunCharts(byId("job-charts", HTMLElement));
    this.#charts.draw(this.#bins.pipes[this.#pipe.value], this.#bins.bin_s);
  }
}
