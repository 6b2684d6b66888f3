// The playground: what the reader sets is simulated at once and drawn.

import { fromHash, toHash } from "./address.ts";
import { CHARTS, Charts } from "./charts.ts";
import { build } from "./controls.ts";
import { byId, element } from "./elements.ts";
import { comparison, digits, ROWS, withUnit } from "./figure_text.ts";
import { csv, save } from "./files.ts";
import { labFile } from "./lab.ts";
import { Runner, type Found } from "./runner.ts";
import { figures, series, type Figures, type Series } from "./series.ts";
import { START, type Settings } from "./settings.ts";

interface Run extends Found {
  readonly series: Series;
  readonly figures: Figures;
}

const status = byId("status", HTMLElement);
const progress = byId("progress", HTMLProgressElement);
const sentence = byId("comparison", HTMLElement);
const table = byId("figures", HTMLTableElement);
const pin = byId("pin", HTMLButtonElement);
const charts = new Charts(byId("charts", HTMLElement));
const controls = build(byId("controls", HTMLElement), changed);

let settings: Settings = { ...START };
let pinnedSettings: Settings | null = null;
let now: Run | null = null;
let pinned: Run | null = null;

const worker = () => new Worker(new URL("worker.js", document.baseURI), { type: "module" });
const runner = new Runner(worker(), { found, progress: tellProgress, failed });
/** What is pinned is simulated by a worker of its own, started when it is needed. */
let pinRunner: Runner | null = null;

function changed(key: keyof Settings, value: number | string, moving: boolean): void {
  settings = { ...settings, [key]: value };
  if (!moving) {
    controls.show(settings);
    remember();
    // The preview of these very settings may have been the whole run.
    if (now?.whole && same(now.settings, settings)) return;
  }
  runner.ask(settings, moving);
}

function same(one: Settings, other: Settings): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function made(found: Found): Run {
  const drawn = series(found.outcome);
  return { ...found, series: drawn, figures: figures(found.outcome, drawn, found.settings) };
}

function found(it: Found): void {
  now = made(it);
  const length = digits(it.settings.duration / 1e9), took = Math.max(1, Math.round(it.tookMs));
  status.textContent = it.whole
    ? `Exact: ${length} s simulated in ${took} ms, seed ${it.settings.seed}.`
    : `Preview: the first ${digits(it.outcome.results.ended_ns / 1e9)} s of ${length} s. The whole run follows when the slider rests.`;
  status.dataset.state = it.whole ? "exact" : "preview";
  status.dataset.runs = String(Number(status.dataset.runs ?? 0) + 1);
  progress.hidden = true;
  draw();
}

function tellProgress(share: number): void {
  progress.hidden = false;
  progress.value = share;
}

function failed(message: string): void {
  status.textContent = `The simulator stopped: ${message}`;
  status.dataset.state = "error";
  progress.hidden = true;
}

function draw(): void {
  if (now === null) return;
  const run = now;
  charts.draw(run.series, pinned?.series ?? null, Math.max(run.settings.duration, pinned?.settings.duration ?? 0) / 1e9, words(run));
  sentence.textContent = pinned === null ? "" : run.whole ? comparison(run.settings, run.figures, pinned.settings, pinned.figures) : sentence.textContent;
  const head = element("tr", {}, element("th", { scope: "col" }, "figure"), element("th", { scope: "col" }, "now"));
  if (pinned !== null) head.append(element("th", { scope: "col" }, "pinned"));
  const rows = ROWS.filter(({ key }) => run.figures[key] !== null || (pinned?.figures[key] ?? null) !== null).map(({ key, label, unit }) => {
    const row = element("tr", {}, element("th", { scope: "row" }, label), element("td", {}, withUnit(run.figures[key], unit)));
    if (pinned !== null) row.append(element("td", {}, withUnit(pinned.figures[key], unit)));
    return row;
  });
  table.tHead?.replaceChildren(head);
  table.tBodies[0]?.replaceChildren(...rows);
}

/** A sentence for each chart, for those who do not see it. */
function words({ figures: it }: Run): string[] {
  const facts = [
    `goodput ${withUnit(it.goodputMbitS, "Mbit/s")} on average`,
    `${withUnit(it.queueKb, "kB")} on average`,
    "cwnd, bytes in flight and receive window over time",
    it.pingMs === null ? "no ping was answered" : `95 % of pings within ${withUnit(it.pingMs, "ms")}`,
    `${withUnit(it.droppedPackets, "packets")} dropped by the queue, ${withUnit(it.retransmitted, "segments")} retransmitted`,
  ];
  return CHARTS.map(({ title }, place) => `${title}: ${facts[place] ?? ""}.`);
}

function remember(): void {
  const hash = toHash({ settings, pinned: pinnedSettings });
  history.replaceState(null, "", hash === "" ? location.pathname + location.search : `#${hash}`);
}

function showPin(): void {
  pin.textContent = pinnedSettings === null ? "Pin this run" : "Take the pin off";
  pin.setAttribute("aria-pressed", String(pinnedSettings !== null));
}

pin.addEventListener("click", () => {
  if (pinnedSettings === null && now?.whole) [pinned, pinnedSettings] = [now, now.settings];
  else [pinned, pinnedSettings] = [null, null];
  showPin();
  remember();
  draw();
});

byId("reset", HTMLButtonElement).addEventListener("click", () => {
  settings = { ...START };
  controls.show(settings);
  remember();
  runner.ask(settings, false);
});
byId("save-lab", HTMLButtonElement).addEventListener("click", () => save("playground.toml", new Blob([labFile(settings)], { type: "application/toml" })));
byId("save-csv", HTMLButtonElement).addEventListener("click", () => now && save("playground.csv", new Blob([csv(now.series)], { type: "text/csv" })));
byId("save-png", HTMLButtonElement).addEventListener("click", () => {
  charts.picture(`bentpipe playground: ${status.textContent ?? ""}`).toBlob((png) => png && save("playground.png", png), "image/png");
});

/** What the address says. */
function open(): void {
  const shown = fromHash(location.hash);
  settings = shown.settings;
  pinnedSettings = shown.pinned;
  pinned = null;
  controls.show(settings);
  showPin();
  runner.ask(settings, false);
  if (pinnedSettings === null) return;
  pinRunner ??= new Runner(worker(), {
    found: (it) => {
      if (pinnedSettings === null || !same(it.settings, pinnedSettings)) return;
      pinned = made(it);
      draw();
    },
    progress: () => undefined,
    failed,
  });
  pinRunner.ask(pinnedSettings, false);
}

addEventListener("hashchange", open);
open();
