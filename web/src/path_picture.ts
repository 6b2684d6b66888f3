// The path as a picture at one moment: server, far, the queue with its fill, the satellite or the line, near, client.

import { digits } from "./figure_text.ts";
import { SIZE, TIME, written } from "./quantity.ts";
import type { Series, Values } from "./series.ts";
import { hasGateway, hasSplit, hasTunnel, type Settings } from "./settings.ts";

const SVG = "http://www.w3.org/2000/svg";
const BIN_S = 0.1;
const MOST_DOTS = 24;
/** From this round trip on the path is drawn over a satellite. */
const SATELLITE_NS = 400e6;
const SKY = 26;
const GROUND = 90;

/** Where things stand, in the picture's own units. */
interface Layout {
  readonly width: number;
  readonly box: number;
  /** Left edges. */
  readonly server: number;
  readonly far: number;
  readonly near: number;
  readonly client: number;
  readonly queue: { readonly left: number; readonly top: number; readonly width: number; readonly height: number };
  readonly line: { readonly from: number; readonly to: number };
  /** Baselines of the words on the queue, on the line and on drops; whether the first and the last end at the queue's right edge. */
  readonly words: { readonly queue: number; readonly line: number; readonly drops: number; readonly ends: boolean };
}

const WIDE: Layout = {
  width: 760, box: 76, server: 4, far: 118, near: 560, client: 680, queue: { left: 232, top: 66, width: 60, height: 48 },
  line: { from: 296, to: 556 }, words: { queue: 129, line: 122, drops: 58, ends: false },
};
const NARROW: Layout = {
  width: 430, box: 56, server: 2, far: 64, near: 308, client: 372, queue: { left: 128, top: 66, width: 42, height: 48 },
  line: { from: 174, to: 304 }, words: { queue: 60, line: 128, drops: 44, ends: true },
};

type Attributes = Readonly<Record<string, string | number>>;

function svg(name: string, attributes: Attributes, ...children: (Node | string)[]): SVGElement {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  made.append(...children);
  return made;
}

export class PathPicture {
  readonly #root = svg("svg", { role: "img", class: "path" });
  readonly #phone = matchMedia("(max-width: 760px)");
  readonly #still = matchMedia("(prefers-reduced-motion: reduce)");
  /** Of what stands in the picture. */
  #drawn = "";
  #settings: Settings | null = null;
  #series: Series | null = null;
  #fill: SVGElement = svg("rect", {});
  #dots: readonly SVGElement[] = [];
  #queueWords: SVGElement = svg("text", {});
  #lineWords: SVGElement = svg("text", {});
  #dropWords: SVGElement = svg("text", {});
  #over = false;
  #timeS = 0;

  constructor(into: HTMLElement) {
    into.append(this.#root);
    this.#phone.addEventListener("change", () => {
      if (this.#settings === null || this.#series === null) return;
      this.of(this.#settings, this.#series);
      this.at(this.#timeS);
    });
  }

  get #layout(): Layout {
    return this.#phone.matches ? NARROW : WIDE;
  }

  of(settings: Settings, series: Series): void {
    const { width, box, server, far, near, client, queue, line, words } = this.#layout;
    this.#settings = settings;
    this.#series = series;
    this.#over = settings.rtt >= SATELLITE_NS || settings.handover > 0;
    const ends = hasGateway(settings) ? "gateway" : hasSplit(settings) ? "proxy" : hasTunnel(settings) ? "tunnel" : null;
    // While a slider moves, only the words and the fill change.
    const drawn = [this.#phone.matches, this.#over, ends].join();
    if (drawn === this.#drawn) return;
    this.#drawn = drawn;
    const middle = (line.from + line.to) / 2, queueMiddle = queue.left + queue.width / 2;
    this.#fill = svg("rect", { class: "fill", x: queue.left + 1, width: queue.width - 2 });
    this.#dots = Array.from({ length: MOST_DOTS }, () => svg("circle", { class: "dot", r: 3 }));
    const atQueue = words.ends ? { x: queue.left + queue.width, "text-anchor": "end" } : { x: queueMiddle, "text-anchor": "middle" };
    this.#queueWords = svg("text", { ...atQueue, y: words.queue });
    this.#lineWords = svg("text", { x: middle, y: words.line, "text-anchor": "middle" });
    this.#dropWords = svg("text", { ...atQueue, y: words.drops, class: "bad" });
    const place = (left: number, name: string) => [
      svg("rect", { class: "box", x: left, y: 72, width: box, height: 36, rx: 5 }),
      svg("text", { x: left + box / 2, y: 95, "text-anchor": "middle" }, name),
    ];
    const wire = (from: number, to: number) => svg("line", { class: "wire", x1: from, x2: to, y1: GROUND, y2: GROUND });
    const above = this.#over ? 0 : words.drops - 14;
    this.#root.setAttribute("viewBox", `0 ${above} ${width} ${132 - above}`);
    this.#root.replaceChildren(
      wire(server + box, queue.left), wire(line.to, client), ...place(server, "server"), ...(ends ? [...place(far, ends), ...place(near, ends)] : []),
      svg("rect", { class: "queue", x: queue.left, y: queue.top, width: queue.width, height: queue.height }), this.#fill,
      ...(this.#over
        ? [svg("path", { class: "wire", d: `M ${line.from} 84 L ${middle} ${SKY} L ${line.to} 84` }), satellite(middle, SKY)]
        : [wire(line.from, line.to)]),
      ...place(client, "client"), ...this.#dots, this.#queueWords, this.#lineWords, this.#dropWords,
    );
  }

  at(timeS: number): void {
    const settings = this.#settings, series = this.#series, { queue } = this.#layout;
    this.#timeS = timeS;
    if (settings === null || series === null) return;
    const bin = Math.min(series.time.length - 1, Math.floor(timeS / BIN_S + 1e-6));
    const of = (values: Values) => values[bin] ?? 0;
    const queueKb = of(series.queueMost), share = Math.min(1, (queueKb * 1e3) / settings.queue);
    const height = share * (queue.height - 2);
    this.#fill.setAttribute("y", String(queue.top + queue.height - 1 - height));
    this.#fill.setAttribute("height", String(height));
    const busy = Math.min(1, (of(series.throughput) * 1e6) / settings.rateDown);
    this.#draw(timeS, busy, settings.rtt);
    const dropped = of(series.dropped) + of(series.lost);
    const queueWords = `${digits(queueKb)} kB of ${written(settings.queue, SIZE)}`;
    const lineWords = `${digits(of(series.goodput))} Mbit/s, ${written(settings.rtt / 2, TIME)} each way`;
    this.#queueWords.textContent = queueWords;
    this.#lineWords.textContent = lineWords;
    this.#dropWords.textContent = dropped > 0 ? `${digits(dropped)} dropped or lost` : "";
    this.#root.setAttribute("aria-label", `The path at ${timeS.toFixed(1)} s: queue ${queueWords}, ${lineWords}, ${digits(dropped)} packets dropped or lost.`);
  }

  /** Dots on the line: as many of them as the line is busy. */
  #draw(timeS: number, busy: number, rtt: number): void {
    const count = Math.round(busy * MOST_DOTS), { line } = this.#layout;
    // A dot crosses in the path's delay, but never faster than an eye can follow.
    const moved = this.#still.matches ? 0 : timeS / Math.max(rtt / 2e9, 1);
    this.#dots.forEach((dot, place) => {
      dot.setAttribute("visibility", place < count ? "visible" : "hidden");
      const along = (place / MOST_DOTS + moved) % 1;
      dot.setAttribute("cx", String(line.from + along * (line.to - line.from)));
      dot.setAttribute("cy", String(this.#over ? 84 - (84 - SKY) * (1 - Math.abs(2 * along - 1)) : GROUND));
    });
  }
}

function satellite(x: number, y: number): SVGElement {
  return svg(
    "g", { class: "satellite" },
    svg("rect", { x: x - 7, y: y - 9, width: 14, height: 18, rx: 2 }), svg("rect", { x: x - 34, y: y - 6, width: 22, height: 12 }),
    svg("rect", { x: x + 12, y: y - 6, width: 22, height: 12 }),
  );
}
