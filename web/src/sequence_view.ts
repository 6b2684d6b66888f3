// The sequence of one stream as a figure: packet by packet where they are few enough, else from samples. Its time is moved and narrowed by buttons,
// and a packet is chosen by a slider or by pointing.

import uPlot from "uplot";
import { legend, type Titled } from "./charts.ts";
import { element } from "./elements.ts";
import type { Answer, Ask } from "./messages.ts";
import { drawPackets, nearest } from "./packet_drawing.ts";
import { described, MOST_PACKETS, ROOM, span, summary, windowIsAbove, type Packets, type Ports } from "./packets.ts";
import { detail, sequence, type Sequence } from "./sequence.ts";
import { packetKey } from "./sequence_key.ts";
import type { Settings } from "./settings.ts";

/** The longest time that is shown so. */
export const LONGEST_S = 10;
/** The shortest time that a button leads to. */
const SHORTEST_S = 0.002;
const HEIGHT = 240, PACKETS_HEIGHT = 340;
/** In a narrower page the packets' picture is as low as the other, so that its slider stays beside it. */
const WIDE = 500;

/** The last time stands half beyond the picture. */
const PADDING: uPlot.Padding = [null, 32, null, null];

type Span = readonly [fromS: number, toS: number];

/** Each button, and the time that it leads to. */
const MOVES: readonly (readonly [name: string, to: (fromS: number, toS: number) => Span])[] = [
  ["Earlier", (from, to) => [from - (to - from) / 2, from + (to - from) / 2]],
  ["Later", (from, to) => [from + (to - from) / 2, to + (to - from) / 2]],
  ["Closer", (from, to) => [from + (to - from) / 4, to - (to - from) / 4]],
  ["Wider", (from, to) => [from - (to - from) / 2, to + (to - from) / 2]],
];

export interface Shown {
  readonly words: string;
  readonly sequence: Sequence;
  readonly span: Span;
}

export class SequenceView {
  readonly #figure: HTMLElement;
  readonly #caption = element("figcaption");
  readonly #box = element("div", { class: "chart", role: "img" });
  readonly #key = packetKey();
  readonly #slider = element("input", { type: "range", id: "packet", min: "0", step: "1", "aria-label": "Packet" });
  readonly #chosen = element("output", { for: "packet", "aria-live": "off" });
  readonly #one: HTMLElement;
  readonly #mark = element("div", { class: "chosen", hidden: "" });
  readonly #makeWorker: () => Worker;
  readonly #onZoom: (fromS: number, toS: number) => void;
  #worker: Worker | null = null;
  #plot: uPlot | null = null;
  #latest = 0;
  #drawn: Sequence | null = null;
  #span: Span = [0, 0];
  #lengthS = 0;
  #ports: Ports | null = null;

  constructor(into: HTMLElement, makeWorker: () => Worker, onZoom: (fromS: number, toS: number) => void) {
    this.#makeWorker = makeWorker;
    this.#onZoom = onZoom;
    const buttons = MOVES.map(([name, to]) => {
      const button = element("button", { type: "button" }, name);
      button.addEventListener("click", () => this.#move(...to(...this.#span)));
      return button;
    });
    this.#slider.addEventListener("input", () => this.#choose(Number(this.#slider.value)));
    this.#one = element("div", { class: "packet" }, element("label", { for: "packet" }, "Packet"), this.#slider, this.#chosen);
    this.#figure = element("figure", { id: "sequence", hidden: "" }, this.#caption, this.#box, this.#key, this.#one, element("p", { class: "buttons" }, ...buttons));
    into.append(this.#figure);
    new ResizeObserver(() => this.#plot?.setSize({ width: this.#box.clientWidth, height: this.#plot.height })).observe(into);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#draw());
  }

  /** Of this stream of a run. A time that is too long, or no stream, hides it. */
  show(settings: Settings, ports: Ports | null, fromS: number, toS: number): void {
    this.#latest += 1;
    if (ports === null || toS - fromS > LONGEST_S || !(toS > fromS)) {
      this.#figure.hidden = true;
      return;
    }
    [this.#span, this.#ports, this.#lengthS] = [[fromS, toS], ports, settings.duration / 1e9];
    if (this.#worker === null) {
      this.#worker = this.#makeWorker();
      this.#worker.onmessage = ({ data }: MessageEvent<Answer>) => {
        if (data.kind !== "outcome" || data.id !== this.#latest || this.#ports === null) return;
        this.#drawn = sequence(data.outcome, this.#ports, ...this.#span);
        this.#draw();
      };
    }
    const ask: Ask = { id: this.#latest, request: detail(settings, ports, fromS, toS), budgetMs: null };
    this.#worker.postMessage(ask);
  }

  /** What is drawn now; null: nothing. */
  get shown(): Shown | null {
    return this.#figure.hidden || this.#drawn === null ? null : { words: this.#caption.textContent, sequence: this.#drawn, span: this.#span };
  }

  /** As they are drawn now. */
  get pictures(): readonly Titled[] {
    return this.#figure.hidden || this.#plot === null ? [] : [{ words: this.#caption.textContent, canvas: this.#plot.ctx.canvas }];
  }

  #move(fromS: number, toS: number): void {
    const long = Math.min(Math.max(toS - fromS, SHORTEST_S), this.#lengthS);
    const from = Math.min(Math.max(0, (fromS + toS - long) / 2), this.#lengthS - long);
    this.#onZoom(from, from + long);
  }

  #draw(): void {
    const it = this.#drawn;
    if (it === null) return;
    const single = it.packets;
    this.#figure.hidden = false;
    this.#plot?.destroy();
    this.#key.hidden = this.#one.hidden = single === null;
    this.#caption.textContent = single === null
      ? `Sequence of the download's first stream, from samples; up to ${MOST_PACKETS} packets are drawn one by one`
      : `Sequence of the download's first stream, packet by packet, at the server${windowIsAbove(single) ? "; the receive window ends above" : ""}`;
    this.#plot = single === null ? this.#samples(it) : this.#packets(single);
    this.#plot.root.setAttribute("aria-hidden", "true");
    const [fromS, toS] = this.#span, kB = Math.round((it.acknowledged.at(-1) ?? 0) - (it.acknowledged[0] ?? 0));
    this.#box.setAttribute("aria-label", single === null
      ? `From ${fromS.toFixed(2)} to ${toS.toFixed(2)} s ${kB} kB are acknowledged, and ${it.retransmitted} segments are sent again.`
      : summary(single, fromS, toS));
    if (single === null) return;
    this.#slider.max = String(Math.max(0, single.all.length - 1));
    this.#slider.disabled = single.all.length === 0;
    this.#choose(Math.floor(single.all.length / 2));
  }

  /** Marks a packet, and says what it is. */
  #choose(place: number): void {
    const it = this.#drawn?.packets?.all[place], plot = this.#plot;
    this.#mark.hidden = it === undefined;
    const words = it === undefined ? "No packet in this time" : described(it);
    this.#chosen.textContent = words;
    this.#slider.setAttribute("aria-valuetext", words);
    if (it === undefined || plot === null) return;
    this.#slider.value = String(place);
    const byte = it.kind === "segment" ? (it.start + it.end) / 2 : it.upTo;
    this.#mark.style.transform = `translate(${plot.valToPos(it.timeS, "x")}px, ${plot.valToPos(byte / 1e3, "y")}px)`;
  }

  #colour = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  #axes(): uPlot.Axis[] {
    const colour = this.#colour, axis = { stroke: colour("--soft"), grid: { stroke: colour("--grid"), width: 1 }, ticks: { stroke: colour("--grid"), width: 1 } };
    const kB = (value: number) => `${value.toLocaleString("en", { maximumFractionDigits: 3 }).replaceAll(",", "\u202f")} kB`;
    return [
      { ...axis, size: 30, space: 70, values: (_, splits) => splits.map((each) => `${Number(each.toPrecision(8))} s`) },
      { ...axis, size: 82, values: (_, splits) => splits.map(kB) },
    ];
  }

  #packets(it: Packets): uPlot {
    const [fromS, toS] = this.#span, [least, most] = span(it), room = (most - least) * ROOM, colour = this.#colour;
    const range: [number, number] = [(least - room) / 1e3, (most + room) / 1e3];
    const plot = new uPlot(
      {
        width: this.#box.clientWidth, height: this.#box.clientWidth < WIDE ? HEIGHT : PACKETS_HEIGHT, padding: PADDING, legend: { show: false }, cursor: { show: false },
        scales: { x: { time: false, range: [fromS, toS] }, y: { range } },
        axes: this.#axes(), series: [{}, { paths: () => null, points: { show: false } }],
        hooks: { draw: [(drawn) => {
          const { ctx, bbox } = drawn;
          ctx.save();
          ctx.beginPath();
          ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
          ctx.clip();
          const places = {
            x: (timeS: number) => drawn.valToPos(timeS, "x", true), y: (byte: number) => drawn.valToPos(byte / 1e3, "y", true),
            left: bbox.left, right: bbox.left + bbox.width, scale: devicePixelRatio,
          };
          drawPackets(ctx, it, places, colour);
          ctx.restore();
        }], setSize: [() => this.#choose(Number(this.#slider.value))] },
      },
      [[fromS, toS], range], this.#box,
    );
    plot.over.append(this.#mark);
    const point = (event: PointerEvent) => {
      const { left, top } = plot.over.getBoundingClientRect();
      const place = nearest(it.all, event.clientX - left, event.clientY - top, {
        x: (timeS) => plot.valToPos(timeS, "x"), y: (byte) => plot.valToPos(byte / 1e3, "y"),
      });
      if (place >= 0) this.#choose(place);
    };
    plot.over.addEventListener("pointermove", point);
    plot.over.addEventListener("pointerdown", point);
    return plot;
  }

  #samples(it: Sequence): uPlot {
    const [fromS, toS] = this.#span, colour = this.#colour;
    const line = (label: string, name: string, width: number): uPlot.Series => ({
      label, stroke: colour(name), width, points: { show: false }, value: (_, value) => legend(value, (known) => `${Number(known.toPrecision(6))} kB`),
    });
    // A window far above what is sent would press the rest together.
    const floor = it.acknowledged[0] ?? 0, most = Math.max(...it.sent) - floor;
    return new uPlot(
      {
        width: this.#box.clientWidth, height: HEIGHT, padding: PADDING, legend: { live: true }, cursor: { y: false, drag: { x: false, y: false } },
        scales: { x: { time: false, range: [fromS, toS] }, y: { range: [floor, floor + Math.max(1, most * 1.15)] } },
        axes: this.#axes(),
        series: [
          { label: "time", value: (_, value) => legend(value, (known) => `${known.toFixed(3)} s`) },
          line("receive window ends", "--window", 1), line("sent", "--goodput", 1.5), line("selectively acknowledged (amount)", "--ping", 1),
          line("acknowledged", "--cwnd", 2),
          { ...line("sent again", "--drops", 0), paths: () => null, points: { show: true, size: 6, fill: colour("--drops") } },
        ],
      },
      [it.time, it.window, it.sent, it.sacked, it.acknowledged, it.again] as unknown as uPlot.AlignedData, this.#box,
    );
  }
}
