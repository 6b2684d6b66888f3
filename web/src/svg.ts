// The charts as an SVG file, drawn from the same series: lines and points, with axes, and the pinned run dashed. The sequence of a stream is below
// them where it is shown.

import { CHARTS, top as topOf, type Chart } from "./charts.ts";
import { drawPackets } from "./packet_drawing.ts";
import { ROOM, span as bytes, type Packets } from "./packets.ts";
import type { Sequence } from "./sequence.ts";
import type { Shown } from "./sequence_view.ts";
import type { Series, Values } from "./series.ts";
import { SvgPen } from "./svg_pen.ts";

const NAMESPACE = "http://www.w3.org/2000/svg";
const WIDTH = 900, PLOT = 150, SEQUENCE_PLOT = 380, HEAD = 44, LEFT = 70, RIGHT = 16, FOOT = 26;
const TICKS = 5;
/** A time of some milliseconds within a run of minutes needs more digits. */
const DIGITS = 4, SEQUENCE_DIGITS = 8;

type Attributes = Readonly<Record<string, string | number>>;
type Colour = (name: string) => string;

interface Frame {
  readonly group: SVGElement;
  /** A reference to what its lines may not leave. */
  readonly clip: string;
  x(timeS: number): number;
  y(value: number): number;
}

function made(name: string, attributes: Attributes, ...children: (Node | string)[]): SVGElement {
  const element = document.createElementNS(NAMESPACE, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  element.append(...children);
  return element;
}

/** Colours are those of the page as it is shown. `below`: what the page shows of a stream; null: nothing. */
export function svgFile(title: string, now: Series, pinned: Series | null, seconds: number, below: Shown | null): string {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const end = HEAD + CHARTS.length * (HEAD + PLOT + FOOT), height = end + (below === null ? 0 : HEAD + SEQUENCE_PLOT + FOOT);
  const root = made(
    "svg", { xmlns: NAMESPACE, viewBox: `0 0 ${WIDTH} ${height}`, width: WIDTH, height, "font-family": "sans-serif", "font-size": 12, fill: colour("--ink") },
    made("title", {}, title), made("rect", { width: WIDTH, height, fill: colour("--ground") }), made("text", { x: 10, y: 24, "font-size": 14 }, title),
  );
  CHARTS.forEach((chart, place) => root.append(drawn(chart, HEAD + place * (HEAD + PLOT + FOOT), now, pinned, seconds, colour)));
  if (below !== null) root.append(sequenceOf(below, end, colour));
  return new XMLSerializer().serializeToString(root);
}

/** A plot's title, grid and numbers. */
function frame(
  key: string, title: string, top: number, plot: number, [fromS, toS]: readonly [number, number], [least, most]: readonly [number, number], digits: readonly [number, number], colour: Colour,
): Frame {
  const bottom = top + HEAD + plot, wide = WIDTH - LEFT - RIGHT, clip = `clip-${key}`;
  const x = (time: number) => LEFT + (wide * (time - fromS)) / (toS - fromS), y = (value: number) => bottom - (plot * (value - least)) / (most - least);
  const group = made("g", {}, made("text", { x: 10, y: top + 16, "font-weight": "bold" }, title));
  for (let tick = 0; tick <= TICKS; tick += 1) {
    const value = least + ((most - least) * tick) / TICKS, time = fromS + ((toS - fromS) * tick) / TICKS;
    group.append(
      made("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y(value), y2: y(value), stroke: colour("--grid") }),
      made("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end", fill: colour("--soft") }, String(Number(value.toPrecision(digits[1])))),
      made("text", { x: x(time), y: bottom + 16, "text-anchor": "middle", fill: colour("--soft") }, `${Number(time.toPrecision(digits[0]))} s`),
    );
  }
  group.append(made("clipPath", { id: clip }, made("rect", { x: LEFT, y: bottom - plot, width: wide, height: plot })));
  return { group, clip: `url(#${clip})`, x, y };
}

/** The names of lines in their colours. */
function key(lines: readonly (readonly [label: string, colour: string])[], top: number, colour: Colour): SVGElement[] {
  let at = LEFT;
  return lines.flatMap(([label, name]) => {
    const left = at;
    at += 40 + 7 * label.length;
    return [made("rect", { x: left, y: top + 24, width: 10, height: 10, fill: colour(name) }), made("text", { x: left + 14, y: top + 33 }, label)];
  });
}

function drawn(chart: Chart, top: number, now: Series, pinned: Series | null, seconds: number, colour: Colour): SVGElement {
  const all = (may: boolean) => chart.lines.filter(({ mayLeave }) => (mayLeave === true) === may)
    .flatMap(({ values }) => [...values(now), ...(pinned === null ? [] : values(pinned))]);
  const most = 1.05 * topOf(all(false), all(true)).most || 1;
  const { group, clip, x, y } = frame(chart.key, `${chart.title}, ${chart.unit}`, top, PLOT, [0, seconds], [0, most], [DIGITS, 3], colour);
  group.append(...key(chart.lines.map(({ label, colour: name }) => [label, name] as const), top, colour));
  for (const line of chart.lines) {
    for (const [series, isPin] of [[pinned, true], [now, false]] as const) {
      if (series === null) continue;
      const stroke = { fill: "none", stroke: colour(line.colour), "stroke-width": line.thin || isPin ? 1 : 2, ...(isPin ? { "stroke-dasharray": "5 4" } : {}) };
      if (line.mark !== undefined) {
        const r = line.mark === "rings" ? 4 : 2;
        points(line.values(series), series.time).forEach(([at, value]) => group.append(made("circle", { ...stroke, cx: x(at), cy: y(value), r })));
      } else group.append(made("path", { ...stroke, "clip-path": clip, d: path(line.values(series), series.time, x, y) }));
    }
  }
  return group;
}

function sequenceOf({ words, sequence, span }: Shown, top: number, colour: Colour): SVGElement {
  const { packets } = sequence;
  return packets === null ? samples(words, sequence, span, top, colour) : packetByPacket(words, packets, span, top, colour);
}

function packetByPacket(words: string, packets: Packets, span: readonly [number, number], top: number, colour: Colour): SVGElement {
  const [least, most] = bytes(packets), room = (most - least) * ROOM;
  const range = [(least - room) / 1e3, (most + room) / 1e3] as const;
  const { group, clip, x, y } = frame("sequence", `${words}, kB`, top, SEQUENCE_PLOT, span, range, [SEQUENCE_DIGITS, 6], colour);
  const names = [["segment sent", "--goodput"], ["sent again", "--drops"], ["acknowledged", "--cwnd"], ["selectively acknowledged", "--ping"], ["receive window ends", "--window"]] as const;
  const into = made("g", { "clip-path": clip }), places = { x, y: (byte: number) => y(byte / 1e3), left: LEFT, right: WIDTH - RIGHT, scale: 1 };
  drawPackets(new SvgPen((attributes) => into.append(made("path", attributes))), packets, places, colour);
  group.append(...key(names, top, colour), into);
  return group;
}

function samples(words: string, it: Sequence, span: readonly [number, number], top: number, colour: Colour): SVGElement {
  const floor = it.acknowledged[0] ?? 0, most = it.sent.reduce((least, value) => Math.max(least, value), floor) - floor;
  const { group, clip, x, y } = frame("sequence", `${words}, kB`, top, SEQUENCE_PLOT, span, [floor, floor + Math.max(1, most * 1.15)], [SEQUENCE_DIGITS, 6], colour);
  const lines = [
    ["receive window ends", "--window", it.window], ["sent", "--goodput", it.sent], ["selectively acknowledged (amount)", "--ping", it.sacked], ["acknowledged", "--cwnd", it.acknowledged],
  ] as const;
  group.append(...key([...lines.map(([label, name]) => [label, name] as const), ["sent again", "--drops"]], top, colour));
  for (const [, name, values] of lines) group.append(made("path", { fill: "none", stroke: colour(name), "stroke-width": 1.5, "clip-path": clip, d: path(values, it.time, x, y) }));
  for (const [at, value] of points(it.again, it.time)) group.append(made("circle", { fill: colour("--drops"), cx: x(at), cy: y(value), r: 3 }));
  return group;
}

function points(values: Values, time: readonly number[]): [number, number][] {
  return values.flatMap((value, place) => (value === null ? [] : [[time[place] ?? 0, value] as [number, number]]));
}

/** A value that is not known breaks the line. */
function path(values: Values, time: readonly number[], x: (time: number) => number, y: (value: number) => number): string {
  let goesOn = false;
  return values.map((value, place) => {
    const step = value === null ? "" : `${goesOn ? "L" : "M"}${x(time[place] ?? 0).toFixed(1)} ${y(value).toFixed(1)}`;
    goesOn = value !== null;
    return step;
  }).join("");
}
