// Charts of the pipes' bins on one clock, in the colours of the playground and of the reports.

import uPlot from "uplot";
import { element } from "../src/elements.ts";
import { onOneClock, type Pipe } from "./bins.ts";

interface Line {
  readonly label: string;
  readonly column: string;
  readonly colour: string;
  readonly thin?: true;
  readonly points?: true;
}

interface Chart {
  readonly title: string;
  readonly unit: string;
  readonly lines: readonly Line[];
}

const CHARTS: readonly Chart[] = [
  {
    title: "Throughput and goodput", unit: "Mbit/s",
    lines: [
      { label: "throughput", column: "throughput_mbit_s", colour: "--throughput", thin: true },
      { label: "goodput", column: "goodput_mbit_s", colour: "--goodput" },
    ],
  },
  {
    title: "Queue", unit: "kB",
    lines: [
      { label: "most in the bin", column: "queue_most_kb", colour: "--throughput", thin: true },
      { label: "mean", column: "queue_kb", colour: "--goodput" },
    ],
  },
  {
    title: "Drops", unit: "packets",
    lines: [
      { label: "dropped by the queue", column: "dropped", colour: "--drops", points: true },
      { label: "lost on the path", column: "lost", colour: "--lost", points: true },
    ],
  },
];
const HEIGHT = 170;
/** Of runs beside each other: those of Okabe and Ito, told apart by colour-blind readers too, as in the reports. */
const RUNS = ["--goodput", "--lost", "--window", "--drops", "--cwnd", "--ping"];

interface Drawn {
  readonly title: string;
  readonly box: HTMLElement;
  readonly options: (width: number) => uPlot.Options;
  data: uPlot.AlignedData;
  plot: uPlot | null;
}

class Drawing {
  readonly #drawn: Drawn[] = [];
  readonly #key: string;

  constructor(into: HTMLElement, key: string) {
    this.#key = key;
    new ResizeObserver(() => this.#fit()).observe(into);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#again());
  }

  add(into: HTMLElement, title: string, unit: string, lines: readonly Line[], data: uPlot.AlignedData): void {
    const box = element("div", { class: "chart", role: "img", "aria-label": title });
    into.append(element("figure", {}, element("figcaption", {}, `${title}, ${unit}`), box));
    const each: Drawn = { title, box, options: (width) => options(lines, width, this.#key), data, plot: null };
    this.#drawn.push(each);
    this.#make(each);
  }

  set(data: readonly uPlot.AlignedData[]): void {
    this.#drawn.forEach((each, place) => {
      each.data = data[place] ?? [[]];
      if (each.plot === null) this.#make(each);
      else each.plot.setData(each.data);
    });
  }

  #make(each: Drawn): void {
    each.plot?.destroy();
    each.plot = null;
    if (each.box.clientWidth === 0) return; // not shown yet
    each.plot = new uPlot(each.options(each.box.clientWidth), each.data, each.box);
    each.plot.root.setAttribute("aria-hidden", "true");
  }

  #again(): void {
    for (const each of this.#drawn) this.#make(each);
  }

  #fit(): void {
    for (const each of this.#drawn) {
      if (each.plot === null) this.#make(each);
      else if (each.box.clientWidth > 0 && each.plot.width !== each.box.clientWidth) each.plot.setSize({ width: each.box.clientWidth, height: HEIGHT });
    }
  }
}

/** Charts of one run that grow. */
export class RunCharts {
  readonly #drawing: Drawing;

  constructor(into: HTMLElement) {
    this.#drawing = new Drawing(into, "job");
    for (const { title, unit, lines } of CHARTS) this.#drawing.add(into, title, unit, lines, [[]]);
  }

  draw(pipe: Pipe | undefined, bin_s: number): void {
    this.#drawing.set(CHARTS.map(({ lines }) => {
      const values = lines.map(({ column, points }) => {
        const [, of = []] = onOneClock([pipe], column, bin_s);
        return points ? of.map((each) => each || null) : of;
      });
      return [onOneClock([pipe], "", bin_s)[0] ?? [], ...values] as uPlot.AlignedData;
    }));
  }
}

/** Goodput and queue of several runs, a line each. */
export function drawBeside(into: HTMLElement, runs: readonly { readonly label: string; readonly pipe: Pipe | undefined }[], bin_s: number): void {
  const drawing = new Drawing(into, "beside");
  for (const [title, unit, column] of [["Goodput", "Mbit/s", "goodput_mbit_s"], ["Queue, mean", "kB", "queue_kb"]] as const) {
    const lines = runs.map(({ label }, place) => ({ label, column, colour: RUNS[place % RUNS.length] ?? "--goodput" }));
    drawing.add(into, title, unit, lines, onOneClock(runs.map(({ pipe }) => pipe), column, bin_s) as uPlot.AlignedData);
  }
}

function options(lines: readonly Line[], width: number, key: string): uPlot.Options {
  const ink = colour("--soft"), grid = { stroke: colour("--grid"), width: 1 };
  return {
    width,
    height: HEIGHT,
    cursor: { sync: { key }, drag: { x: true, y: false } },
    scales: { x: { time: false }, y: { range: (_, __, most) => [0, most > 0 ? most * 1.05 : 1] } },
    axes: [
      { stroke: ink, grid, ticks: grid, size: 30, values: (_, splits) => splits.map((each) => `${Number(each.toPrecision(6))} s`) },
      { stroke: ink, grid, ticks: grid, size: 62, values: (_, splits) => splits.map((each) => each.toLocaleString("en").replaceAll(",", "\u202f")) },
    ],
    series: [
      { label: "time", value: (_, value) => (value === null ? "–" : `${value.toFixed(1)} s`) },
      ...lines.map((line): uPlot.Series => ({
        label: line.label,
        stroke: colour(line.colour),
        width: line.thin ? 1 : 2,
        value: (_, value) => (value === null ? "–" : String(Number(value.toPrecision(4)))),
        ...(line.points ? { paths: () => null, points: { show: true, size: 5, fill: colour(line.colour), width: 1 } } : { points: { show: false } }),
      })),
    ],
  };
}

function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
