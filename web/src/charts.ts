// The charts, one below the other on one clock. What is pinned is drawn dashed in the same colour.

import uPlot from "uplot";
import { element, say } from "./elements.ts";
import type { Series, Values } from "./series.ts";

interface Line {
  readonly label: string;
  readonly values: (series: Series) => Values;
  /** A custom property of the style sheet: colours as in bentpipe's reports. */
  readonly colour: string;
  readonly mark?: "points" | "rings";
  /** It may leave the chart at the top, where it would flatten the others. */
  readonly mayLeave?: true;
  readonly thin?: true;
}

export interface Chart {
  readonly key: string;
  readonly title: string;
  readonly unit: string;
  readonly lines: readonly Line[];
}

/** A picture and the words above it. */
export interface Titled {
  readonly words: string;
  readonly canvas: HTMLCanvasElement;
}

export const CHARTS: readonly Chart[] = [
  {
    key: "throughput", title: "Throughput and goodput, down", unit: "Mbit/s",
    lines: [
      { label: "throughput", values: (it) => it.throughput, colour: "--throughput", thin: true },
      { label: "goodput", values: (it) => it.goodput, colour: "--goodput" },
    ],
  },
  {
    key: "queue", title: "Queue, down", unit: "kB",
    lines: [
      { label: "most in the bin", values: (it) => it.queueMost, colour: "--throughput", thin: true },
      { label: "mean", values: (it) => it.queue, colour: "--goodput" },
    ],
  },
  {
    key: "windows", title: "The download's windows, all streams together", unit: "kB",
    lines: [
      { label: "in flight", values: (it) => it.inFlight, colour: "--goodput" },
      { label: "cwnd", values: (it) => it.cwnd, colour: "--cwnd" },
      { label: "receive window", values: (it) => it.window, colour: "--window", thin: true, mayLeave: true },
    ],
  },
  {
    key: "rtt", title: "Round-trip time", unit: "ms",
    lines: [
      { label: "srtt of the download", values: (it) => it.srtt, colour: "--goodput" },
      { label: "pings", values: (it) => it.ping, colour: "--ping", mark: "points" },
    ],
  },
  {
    key: "drops", title: "Drops and retransmissions", unit: "packets in 100 ms",
    lines: [
      { label: "dropped by the queue", values: (it) => it.dropped, colour: "--drops", mark: "points" },
      { label: "lost on the path", values: (it) => it.lost, colour: "--lost", mark: "points" },
      { label: "retransmitted", values: (it) => it.retransmitted, colour: "--cwnd", mark: "rings" },
    ],
  },
];

/** A line that may leave the chart stays in it up to so many times the others. */
const ROOM = 3;

/** The chart's highest value, and whether a line leaves it there. */
export function top(stay: Iterable<number | null>, mayLeave: Iterable<number | null>): { most: number; leaves: boolean } {
  const highest = (values: Iterable<number | null>) => {
    let found = 0;
    for (const each of values) found = Math.max(found, each ?? 0);
    return found;
  };
  const most = highest(stay), other = highest(mayLeave), leaves = most > 0 && other > ROOM * most;
  return { most: leaves ? most : Math.max(most, other), leaves };
}

const HEIGHT = 170;
const BIN_S = 0.1;

interface Drawn {
  readonly chart: Chart;
  readonly caption: HTMLElement;
  readonly box: HTMLElement;
  plot: uPlot | null;
}

export class Charts {
  readonly #drawn: readonly Drawn[];
  readonly #sync = uPlot.sync("clock");
  #hasPin = false;
  #latest: { now: Series; pinned: Series | null; seconds: number; words: ReadonlyMap<string, string> } | null = null;

  readonly #onTime: (timeS: number | null) => void;
  #showing = false;

  readonly #onZoom: (fromS: number, toS: number) => void;

  /** `onTime`: the reader points at a time; null: at none. `onZoom`: the charts show another time. */
  constructor(into: HTMLElement, charts: readonly Chart[], onTime: (timeS: number | null) => void, onZoom: (fromS: number, toS: number) => void) {
    this.#onTime = onTime;
    this.#onZoom = onZoom;
    this.#drawn = charts.map((chart) => {
      const box = element("div", { class: "chart", role: "img", "aria-label": chart.title });
      const caption = element("figcaption", {}, `${chart.title}, ${chart.unit}`);
      into.append(element("figure", {}, caption, box));
      return { chart, caption, box, plot: null };
    });
    new ResizeObserver(() => this.#fit()).observe(into);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#again());
  }

  /** `words` has a sentence for each chart, by its key. */
  draw(now: Series, pinned: Series | null, seconds: number, words: ReadonlyMap<string, string>): void {
    const anew = (pinned !== null) !== this.#hasPin || this.#latest === null;
    this.#latest = { now, pinned, seconds, words };
    this.#hasPin = pinned !== null;
    if (anew) return this.#again();
    this.#drawn.forEach((each) => {
      const { plot } = each;
      if (plot === null) return;
      const { min, max } = plot.scales.x ?? {};
      const time = plot.data[0];
      const zoomed = min !== undefined && max !== undefined && (min > (time[0] ?? 0) || max < (time.at(-1) ?? 0));
      plot.batch(() => {
        plot.setData(this.#data(each.chart));
        if (zoomed) plot.setScale("x", { min, max });
      });
      this.#name(each, words);
    });
  }

  #name({ chart, caption, box, plot }: Drawn, words: ReadonlyMap<string, string>): void {
    const leaves = plot !== null && this.#top(plot).leaves ? chart.lines.filter(({ mayLeave }) => mayLeave).map(({ label }) => `; the ${label} is above`) : [];
    say(caption, `${chart.title}, ${chart.unit}${leaves.join("")}`);
    box.setAttribute("aria-label", words.get(chart.key) ?? chart.title);
  }

  /** Of the time that is shown. */
  #top(plot: uPlot): { most: number; leaves: boolean } {
    const [from, to] = plot.series[0]?.idxs ?? [0, plot.data[0].length - 1];
    const values = (may: boolean) => plot.series.flatMap(({ auto }, place) => (place > 0 && (auto === false) === may ? [...(plot.data[place] ?? [])].slice(from, to + 1) : []));
    return top(values(false) as (number | null)[], values(true) as (number | null)[]);
  }

  /** Puts the cursor of all charts at a time. */
  at(timeS: number): void {
    // After what uPlot itself puts off: a chart that was just made has no scale yet.
    queueMicrotask(() => {
      this.#showing = true;
      for (const { plot } of this.#drawn) plot?.setCursor({ left: plot.valToPos(timeS, "x"), top: 0 }, false);
      this.#showing = false;
    });
  }

  /** Shows a part of the time in all charts. */
  zoom(fromS: number, toS: number): void {
    for (const { plot } of this.#drawn) plot?.setScale("x", { min: fromS, max: toS });
  }

  #zoomed(plot: uPlot): void {
    if (plot !== this.#drawn[0]?.plot) return;
    const { min, max } = plot.scales.x ?? {};
    if (min !== undefined && max !== undefined && Number.isFinite(max - min)) this.#onZoom(min, max);
  }

  #pointed(plot: uPlot): void {
    if (this.#showing) return;
    const left = plot.cursor.left ?? -1, timeS = plot.posToVal(left, "x");
    // A chart that is being made has no scale yet.
    if (Number.isFinite(timeS)) this.#onTime(left < 0 ? null : timeS);
  }

  /** The charts below each other, and what else is shown below them, for a file. */
  picture(title: string, below: readonly Titled[]): HTMLCanvasElement {
    const own = this.#drawn.flatMap(({ chart, plot }): Titled[] => {
      const keys = chart.lines.map(({ label }) => label).join(", ");
      return plot ? [{ words: `${chart.title}, ${chart.unit}: ${keys}`, canvas: plot.ctx.canvas }] : [];
    });
    const canvases = [...own, ...below];
    const scale = devicePixelRatio, head = 26 * scale;
    const all = element("canvas");
    all.width = Math.max(...canvases.map(({ canvas }) => canvas.width)) + 20 * scale;
    all.height = canvases.reduce((sum, { canvas }) => sum + canvas.height + head, 2 * head);
    const to = all.getContext("2d");
    if (to === null) return all;
    to.fillStyle = colour("--ground");
    to.fillRect(0, 0, all.width, all.height);
    to.fillStyle = colour("--ink");
    to.font = `${14 * scale}px ${getComputedStyle(document.body).fontFamily}`;
    to.fillText(title, 10 * scale, 20 * scale, all.width - 20 * scale);
    let top = head;
    for (const { words, canvas } of canvases) {
      to.fillText(words, 10 * scale, top + 20 * scale, all.width - 20 * scale);
      to.drawImage(canvas, 10 * scale, top + head);
      top += canvas.height + head;
    }
    return all;
  }

  #again(): void {
    if (this.#latest === null) return;
    this.#drawn.forEach((each) => {
      each.plot?.destroy();
      each.plot = new uPlot(this.#options(each), this.#data(each.chart), each.box);
      this.#name(each, this.#latest?.words ?? new Map());
      each.plot.root.setAttribute("aria-hidden", "true");
    });
  }

  #fit(): void {
    for (const { box, plot } of this.#drawn) if (plot !== null && plot.width !== box.clientWidth) plot.setSize({ width: box.clientWidth, height: HEIGHT });
  }

  #data({ lines }: Chart): uPlot.AlignedData {
    const latest = this.#latest;
    if (latest === null) return [[]];
    const { now, pinned, seconds } = latest;
    const bins = Math.max(now.time.length, pinned?.time.length ?? 0, Math.round(seconds / BIN_S));
    const time = Array.from({ length: bins }, (_, bin) => bin * BIN_S);
    const padded = (values: Values) => Array.from(time, (_, bin) => values[bin] ?? null);
    const pins = pinned === null ? [] : lines.map(({ values }) => padded(values(pinned)));
    return [time, ...pins, ...lines.map(({ values }) => padded(values(now)))];
  }

  #options(drawn: Drawn): uPlot.Options {
    const { chart, box } = drawn;
    const ink = colour("--soft"), grid = { stroke: colour("--grid"), width: 1 };
    const line = (each: Line, isPin: boolean): uPlot.Series => ({
      label: isPin ? `${each.label}, pinned` : each.label,
      stroke: colour(each.colour),
      width: each.thin ? 1 : 2,
      spanGaps: false,
      auto: each.mayLeave !== true,
      value: (_, value) => legend(value, (known) => String(Number(known.toPrecision(4)))),
      ...(isPin ? { dash: [5, 4], alpha: 0.75, width: 1 } : {}),
      ...(each.mark === undefined ? { points: { show: false } } : { paths: () => null, points: mark(each, isPin) }),
    });
    return {
      width: box.clientWidth,
      height: HEIGHT,
      legend: { live: true },
      cursor: { y: false, sync: { key: this.#sync.key }, drag: { x: true, y: false } },
      hooks: { setCursor: [(plot) => this.#pointed(plot)], setScale: [(plot, key) => (key === "x" ? this.#zoomed(plot) : this.#name(drawn, this.#latest?.words ?? new Map()))] },
      scales: { x: { time: false }, y: { range: (plot) => [0, 1.05 * this.#top(plot).most || 1] } },
      axes: [
        { stroke: ink, grid, ticks: grid, size: 30, values: (_, splits) => splits.map((each) => `${Number(each.toPrecision(6))} s`) },
        { stroke: ink, grid, ticks: grid, size: 62, values: (_, splits) => splits.map((each) => each.toLocaleString("en").replaceAll(",", "\u202f")) },
      ],
      series: [
        { label: "time", value: (_, value) => legend(value, (known) => `${known.toFixed(1)} s`) },
        ...(this.#hasPin ? chart.lines.map((each) => line(each, true)) : []),
        ...chart.lines.map((each) => line(each, false)),
      ],
    };
  }
}

/** A value in a legend. Undefined, which uPlot's types do not name: a run took the place of a longer one, and the cursor was behind its end. */
export function legend(value: number | null | undefined, words: (known: number) => string): string {
  return value === null || value === undefined ? "–" : words(value);
}

/** Rings leave dots of the same time visible. What is pinned is smaller, and hollow. */
function mark({ mark, colour: name }: Line, isPin: boolean): uPlot.Series.Points {
  const ring = mark === "rings";
  return { show: true, size: (isPin ? 4 : 5) + (ring ? 4 : 0), fill: ring ? "transparent" : colour(isPin ? "--ground" : name), width: 1 };
}

function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
