// The playground: what the reader sets is simulated at once and drawn.

import { fromHash, toHash } from "./address.ts";
import { CHARTS, Charts } from "./charts.ts";
import { Clock } from "./clock.ts";
import { build } from "./controls.ts";
import { byId, element, say } from "./elements.ts";
import { comparison, digits, ROWS, withUnit } from "./figure_text.ts";
import { csv, save } from "./files.ts";
import { labFile } from "./lab.ts";
import { groupLinks } from "./group_links.ts";
import { PathPicture } from "./path_picture.ts";
import { openLab } from "./open_lab.ts";
import { SeedComparison } from "./over_seeds.ts";
import { firstStream } from "./sequence.ts";
import { SequenceView } from "./sequence_view.ts";
import { Runner, type Found } from "./runner.ts";
import { figures, series, type Figures, type Series, type Values } from "./series.ts";
import { svgFile } from "./svg.ts";
import { fitFrame, partOf } from "./part.ts";
import { same, SETTINGS, START, type Settings } from "./settings.ts";

/** How much a press of the button shows. */
const ZOOM_S = 4;

interface Run extends Found {
  readonly series: Series;
  readonly figures: Figures;
}

const status = byId("status", HTMLElement);
const progress = byId("progress", HTMLProgressElement);
const sentence = byId("comparison", HTMLElement);
const table = byId("figures", HTMLTableElement);
const pin = byId("pin", HTMLButtonElement);
const part = partOf(location.search);
const worker = () => new Worker(new URL("worker.js", document.baseURI), { type: "module" });
const picture = new PathPicture(byId("path", HTMLElement));
const clock = new Clock(byId("clock", HTMLElement), (timeS) => {
  picture.at(timeS);
  if (!hovered) charts.at(timeS);
});
/** Whether the reader points into a chart, whose cursor is then under the pointer. */
let hovered = false;
const charts = new Charts(byId("charts", HTMLElement), CHARTS.filter(({ key }) => part === null || part.charts.has(key)), (timeS) => {
  hovered = timeS !== null;
  if (timeS === null) return charts.at(clock.timeS);
  clock.stop();
  clock.set(timeS);
}, (fromS, toS) => {
  zoomed = [fromS, toS];
  showSequence();
});
const sequenceView = new SequenceView(byId("sequence-of", HTMLElement), worker, (fromS, toS) => charts.zoom(fromS, toS));
let zoomed: readonly [fromS: number, toS: number] = [0, Number.POSITIVE_INFINITY];

const zoomButton = byId("zoom", HTMLButtonElement);

/** Where the charts show a part of the run. */
function showSequence(): void {
  const [fromS, toS] = zoomed;
  const part = now !== null && toS - fromS < 0.9 * (now.settings.duration / 1e9);
  zoomButton.setAttribute("aria-pressed", String(part));
  sequenceView.show(now?.settings ?? settings, part && now?.whole ? firstStream(now.outcome) : null, Math.max(0, fromS), toS);
}

zoomButton.addEventListener("click", () => {
  if (now === null) return;
  const lengthS = now.settings.duration / 1e9, span = Math.min(lengthS / 5, ZOOM_S);
  const fromS = Math.min(Math.max(0, clock.timeS - span / 2), lengthS - span);
  if (zoomButton.getAttribute("aria-pressed") === "true") charts.zoom(0, lengthS);
  else charts.zoom(fromS, fromS + span);
});
const controls = build(byId("controls", HTMLElement), changed, SETTINGS.filter(({ key }) => part === null || part.controls.has(key)));
// A lesson has few controls, and is itself between other text.
if (part === null) document.querySelector("header")?.prepend(groupLinks([...controls.groups, { name: "Results", focus: () => byId("run", HTMLElement).focus() }]));

/** Of the lesson around the page, or of the page. */
const start = part === null ? START : fromHash(location.hash).settings;
let settings: Settings = { ...START };
let pinnedSettings: Settings | null = null;
let now: Run | null = null;
let pinned: Run | null = null;

const runner = new Runner(worker(), { found, progress: tellProgress, failed });
/** What is pinned is simulated by a worker of its own, started when it is needed. */
let pinRunner: Runner | null = null;

const seedsButton = byId("seeds", HTMLButtonElement);
const overSeeds = byId("over-seeds", HTMLElement);
let seedComparison: SeedComparison | null = null;
const SEEDS_WORDS = seedsButton.textContent ?? "";

function dropSeeds(): void {
  seedComparison?.drop();
  overSeeds.textContent = "";
  seedsButton.textContent = SEEDS_WORDS;
}

function changed(key: keyof Settings, value: number | string, moving: boolean): void {
  settings = { ...settings, [key]: value };
  dropSeeds();
  if (!moving) {
    controls.show(settings);
    remember();
    // The preview of these very settings may have been the whole run.
    if (status.dataset.state === "exact" && now !== null && same(now.settings, settings)) return;
  }
  ask(moving);
}

/** What is shown is no longer what is set. */
function ask(moving: boolean): void {
  status.dataset.state = "asked";
  runner.ask(settings, moving);
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
    : `Preview: the first ${digits(it.outcome.results.ended_ns / 1e9)} s of ${length} s. The whole run follows.`;
  status.dataset.state = it.whole ? "exact" : "preview";
  status.dataset.runs = String(Number(status.dataset.runs ?? 0) + 1);
  progress.hidden = true;
  showStale(false);
  draw();
  picture.of(it.settings, now.series);
  clock.length(it.settings.duration / 1e9);
  showSequence();
}

function tellProgress(share: number): void {
  progress.hidden = false;
  progress.value = share;
}

function failed(message: string): void {
  status.textContent = stopped(message);
  status.dataset.state = "error";
  progress.hidden = true;
  showStale(now !== null);
}

const stopped = (message: string) => `The simulator stopped: ${message}.`;

/** What is shown is of other settings than those that are set, and there is nothing of these. */
function showStale(is: boolean): void {
  document.body.classList.toggle("stale", is);
  for (const name of ["save-csv", "save-png", "save-svg"]) byId(name, HTMLButtonElement).disabled = is;
  if (is) status.textContent += " The pictures and figures are of the settings before.";
}

function draw(): void {
  if (now === null) return;
  const run = now;
  charts.draw(run.series, pinned?.series ?? null, Math.max(run.settings.duration, pinned?.settings.duration ?? 0) / 1e9, words(run));
  say(sentence, pinned === null ? "" : run.whole ? comparison(run.settings, run.figures, pinned.settings, pinned.figures) : (sentence.textContent ?? ""));
  const known = ROWS.filter(({ key }) => run.figures[key] !== null || (pinned?.figures[key] ?? null) !== null);
  const head = pinned === null ? ["figure", "now"] : ["figure", "now", "pinned"];
  showTable(head, known.map(({ key, label, unit }) => [label, withUnit(run.figures[key], unit), ...(pinned === null ? [] : [withUnit(pinned.figures[key], unit)])]));
}

/** While a slider moves, only the figures in it change. */
function showTable(head: readonly string[], rows: readonly (readonly string[])[]): void {
  const shown = [...table.rows], all = [head, ...rows];
  if (shown.length === all.length && all.every((cells, place) => shown[place]?.cells.length === cells.length)) {
    all.forEach((cells, place) => cells.forEach((words, column) => {
      const cell = shown[place]?.cells[column];
      if (cell) say(cell, words);
    }));
    return;
  }
  table.tHead?.replaceChildren(element("tr", {}, ...head.map((name) => element("th", { scope: "col" }, name))));
  table.tBodies[0]?.replaceChildren(...rows.map(([label, ...cells]) => element("tr", {}, element("th", { scope: "row" }, label ?? ""), ...cells.map((each) => element("td", {}, each)))));
}

/** A sentence for each chart, for those who do not see it. */
function words({ figures: it, series: drawn }: Run): ReadonlyMap<string, string> {
  const most = (values: Values) => `${digits(values.reduce<number>((found, each) => Math.max(found, each ?? 0), 0))} kB`;
  const facts: Readonly<Record<string, string>> = {
    throughput: `goodput ${withUnit(it.goodputMbitS, "Mbit/s")} on average`,
    queue: `${withUnit(it.queueKb, "kB")} on average`,
    windows: `cwnd up to ${most(drawn.cwnd)}, in flight up to ${most(drawn.inFlight)}, receive window up to ${most(drawn.window)}`,
    rtt: it.pingMs === null ? "no ping was answered" : `95\u00a0% of pings within ${withUnit(it.pingMs, "ms")}`,
    drops: `${withUnit(it.droppedPackets, "packets")} dropped by the queue, ${withUnit(it.lostPackets, "packets")} lost on the path, ${withUnit(it.retransmitted, "segments")} retransmitted`,
  };
  return new Map(CHARTS.map(({ key, title }) => [key, `${title}: ${facts[key] ?? ""}.`]));
}

function remember(): void {
  const hash = toHash({ settings, pinned: pinnedSettings });
  history.replaceState(null, "", hash === "" ? location.pathname + location.search : `#${hash}`);
}

function showPin(): void {
  pin.textContent = pinnedSettings === null ? "Pin this run" : "Take the pin off";
  pin.setAttribute("aria-pressed", String(pinnedSettings !== null));
  seedsButton.hidden = pinnedSettings === null;
  dropSeeds();
}

seedsButton.addEventListener("click", () => {
  if (pinnedSettings === null) return;
  seedComparison ??= new SeedComparison(worker(), {
    progress: (done, all) => { seedsButton.textContent = `Simulated ${done} of ${all} runs`; },
    found: (words) => {
      dropSeeds();
      overSeeds.textContent = words;
    },
    failed: (message) => {
      dropSeeds();
      overSeeds.textContent = stopped(message);
    },
  });
  overSeeds.textContent = "";
  seedComparison.start(settings, pinnedSettings);
});

pin.addEventListener("click", () => {
  pinnedSettings = pinnedSettings === null ? settings : null;
  pinned = null;
  showPin();
  remember();
  draw();
  findPinned();
});

/** Takes the place of all settings. */
function replace(by: Settings): void {
  settings = { ...by };
  dropSeeds();
  controls.show(settings);
  remember();
  ask(false);
}

byId("reset", HTMLButtonElement).addEventListener("click", () => replace(start));

async function openFile(file: File): Promise<void> {
  const told = byId("opened", HTMLElement);
  try {
    const opened = openLab(await file.text());
    replace(opened.settings);
    told.textContent = opened.left.length === 0 ? "The lab file is open." : `The lab file is open. The page has no control for: ${opened.left.join(", ")}.`;
  } catch (why) {
    told.textContent = `This file cannot be opened: ${why instanceof Error ? why.message : String(why)}.`;
  }
}

const labInput = byId("lab-file", HTMLInputElement);
byId("open-lab", HTMLButtonElement).addEventListener("click", () => labInput.click());
labInput.addEventListener("change", () => {
  const [file] = labInput.files ?? [];
  if (file) void openFile(file);
  labInput.value = "";
});
addEventListener("dragover", (event) => event.preventDefault());
addEventListener("drop", (event) => {
  event.preventDefault();
  const [file] = event.dataTransfer?.files ?? [];
  if (file) void openFile(file);
});
byId("save-svg", HTMLButtonElement).addEventListener("click", () => {
  if (now === null) return;
  const words = `bentpipe playground: ${status.textContent ?? ""}`;
  const seconds = Math.max(now.settings.duration, pinned?.settings.duration ?? 0) / 1e9;
  save("playground.svg", new Blob([svgFile(words, now.series, pinned?.series ?? null, seconds, sequenceView.shown)], { type: "image/svg+xml" }));
});
byId("save-lab", HTMLButtonElement).addEventListener("click", () => save("playground.toml", new Blob([labFile(settings)], { type: "application/toml" })));
byId("save-csv", HTMLButtonElement).addEventListener("click", () => now && save("playground.csv", new Blob([csv(now.series)], { type: "text/csv" })));
byId("save-png", HTMLButtonElement).addEventListener("click", () => {
  charts.picture(`bentpipe playground: ${status.textContent ?? ""}`, sequenceView.pictures).toBlob((png) => png && save("playground.png", png), "image/png");
});

/** What the address says. */
function open(): void {
  const shown = fromHash(location.hash);
  settings = shown.settings;
  pinnedSettings = shown.pinned;
  pinned = null;
  controls.show(settings);
  showPin();
  // Its beginning is drawn first.
  ask(true);
  ask(false);
  findPinned();
}

/** Draws what is pinned, simulated again unless it is the run that is shown. */
function findPinned(): void {
  if (pinnedSettings === null) return;
  if (now?.whole && same(now.settings, pinnedSettings)) {
    pinned = now;
    return draw();
  }
  pinRunner ??= new Runner(worker(), {
    found: (it) => {
      if (pinnedSettings === null || !same(it.settings, pinnedSettings)) return;
      pinned = made(it);
      draw();
    },
    progress: () => undefined,
    failed: (message) => say(sentence, `The run that is pinned cannot be shown. ${stopped(message)}`),
  });
  pinRunner.ask(pinnedSettings, false);
}

if (part !== null) fitFrame();
addEventListener("hashchange", open);
open();
