// The charts as an SVG file, drawn from the same series: lines and points, with axes, and the pinned run dashed.

import { CHARTS, top as topOf, type Chart } from "./charts.ts";
import type { Series, Values } from "./series.ts";

const NAMESPACE = "http://www.w3.org/2000/svg";
const WIDTH = 900, PLOT = 150, HEAD = 44, LEFT = 70, RIGHT = 16, FOOT = 26;
const TICKS = 5;

type Attributes = Readonly<Record<string, string | number>>;

function made(name: string, attributes: Attributes, ...children: (Node | string)[]): SVGElement {
  const element = document.createElementNS(NAMESPACE, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  element.append(...children);
  return element;
}

/** Colours are those of the page as it is shown. */
export function svgFile(title: string, now: Series, pinned: Series | null, seconds: number): string {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const height = HEAD + CHARTS.length * (HEAD + PLOT + FOOT);
  const root = made(
    "svg", { xmlns: NAMESPACE, viewBox: `0 0 ${WIDTH} ${height}`, width: WIDTH, height, "font-family": "sans-serif", "font-size": 12, fill: colour("--ink") },
    made("title", {}, title), made("rect", { width: WIDTH, height, fill: colour("--ground") }), made("text", { x: 10, y: 24, "font-size": 14 }, title),
  );
  CHARTS.forEach((chart, place) => root.append(drawn(chart, HEAD + place * (HEAD + PLOT + FOOT), now, pinned, seconds, colour)));
  return new XMLSerializer().serializeToString(root);
}

function drawn(chart: Chart, top: number, now: Series, pinned: Series | null, seconds: number, colour: (name: string) => string): SVGElement {
  const all = (may: boolean) => chart.lines.filter(({ mayLeave }) => (mayLeave === true) === may)
    .flatMap(({ values }) => [...values(now), ...(pinned === null ? [] : values(pinned))]);
  const most = 1.05 * topOf(all(false), all(true)).most || 1;
  const bottom = top + HEAD + PLOT, plot = WIDTH - LEFT - RIGHT;
  const clip = `clip-${chart.key}`;
  const x = (time: number) => LEFT + (plot * time) / seconds, y = (value: number) => bottom - (PLOT * value) / most;
  const group = made("g", {}, made("text", { x: 10, y: top + 16, "font-weight": "bold" }, `${chart.title}, ${chart.unit}`));
  for (let tick = 0; tick <= TICKS; tick += 1) {
    const value = (most * tick) / TICKS, time = (seconds * tick) / TICKS;
    group.append(
      made("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y(value), y2: y(value), stroke: colour("--grid") }),
      made("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end", fill: colour("--soft") }, String(Number(value.toPrecision(3)))),
      made("text", { x: x(time), y: bottom + 16, "text-anchor": "middle", fill: colour("--soft") }, `${Number(time.toPrecision(4))} s`),
    );
  }
  group.append(made("clipPath", { id: clip }, made("rect", { x: LEFT, y: bottom - PLOT, width: plot, height: PLOT })));
  let keyAt = LEFT;
  for (const line of chart.lines) {
    group.append(
      made("rect", { x: keyAt, y: top + 24, width: 10, height: 10, fill: colour(line.colour) }),
      made("text", { x: keyAt + 14, y: top + 33 }, line.label),
    );
    keyAt += 40 + 7 * line.label.length;
    for (const [series, isPin] of [[pinned, true], [now, false]] as const) {
      if (series === null) continue;
      const stroke = { fill: "none", stroke: colour(line.colour), "stroke-width": line.thin || isPin ? 1 : 2, ...(isPin ? { "stroke-dasharray": "5 4" } : {}) };
      if (line.mark !== undefined) {
        const r = line.mark === "rings" ? 4 : 2;
        points(line.values(series), series.time).forEach(([at, value]) => group.append(made("circle", { ...stroke, cx: x(at), cy: y(value), r })));
      } else group.append(made("path", { ...stroke, "clip-path": `url(#${clip})`, d: path(line.values(series), series.time, x, y) }));
    }
  }
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
