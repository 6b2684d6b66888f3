// A chart of the part: the report's own figure of the measured run, grey and behind, and the simulated curve before it.

import type { Curve } from "./figures.ts";
import type { Direction } from "./lab.ts";

export interface Trace {
  readonly name?: string;
  readonly x?: readonly (number | null)[];
  readonly y?: readonly (number | null)[];
  readonly [key: string]: unknown;
}

interface Axis {
  readonly title: { readonly text: string };
  readonly range: readonly number[];
  readonly [key: string]: unknown;
}

/** plotly's, as the page has it. */
export interface Figure {
  readonly data: readonly Trace[];
  readonly layout: { readonly xaxis: Axis; readonly yaxis: Axis; readonly [key: string]: unknown };
}

export interface Drawn {
  readonly title: string;
  readonly unit: string;
  /** Of the curve, in the report's figures and in `curves`. */
  readonly name: string;
  readonly shape: "hv" | "linear";
}

/** The colours for light ground of bentpipe's roles (python/bentpipe/charts/palette.py); the page changes them on dark ground. */
const COLOURS = { measured: "#767676", down: "#0068b0", up: "#c96a00" } as const;
const ROOM = 1.06;

export function charts(direction: Direction): Drawn[] {
  return [
    { title: "Goodput", unit: "Mbit/s", name: `goodput ${direction}`, shape: "hv" },
    { title: "Queue", unit: "kB", name: `mean ${direction}`, shape: "hv" },
    { title: "Round-trip time (srtt)", unit: "ms", name: `srtt ${direction}`, shape: "linear" },
  ];
}

export function figure({ title, unit, name, shape }: Drawn, direction: Direction, report: readonly Figure[], curve: Curve, whole: boolean): Figure {
  const own = report.find(({ data }) => data.some((trace) => trace.name === name));
  const behind = (own?.data ?? []).filter((trace) => trace.name === name).map((trace, at): Trace => ({
    ...trace, name: "this run", opacity: 1, showlegend: at === 0, line: { color: COLOURS.measured, width: 3, shape },
  }));
  const before: Trace = {
    type: "scatter", mode: "lines", name: whole ? "what if" : "what if, preview", x: curve.x, y: curve.y, connectgaps: false,
    line: { color: COLOURS[direction], width: 1.6, shape }, hovertemplate: `%{y:.4~g} ${unit}<extra>%{fullData.name}</extra>`,
  };
  const most = largest(curve.y), end = largest(curve.x);
  const x = own?.layout.xaxis ?? { title: { text: "time (s)" }, range: [0, end] };
  const y = own?.layout.yaxis ?? { title: { text: `${title.toLowerCase()} (${unit})` }, range: [0, 1] };
  const [left = 0, right = end] = x.range, [low = 0, high = 0] = y.range, least = smallest(curve.y, low);
  return {
    data: [...behind, before],
    layout: {
      ...own?.layout, hovermode: "x unified",
      xaxis: { ...x, range: [left, Math.max(right, end)] },
      yaxis: { ...y, range: [Math.min(low, least), Math.max(own ? high : 0, most * ROOM) || 1] },
    },
  };
}

const numbers = (values: Curve["y"]) => values.filter((each) => each !== null);
const largest = (values: Curve["y"]) => numbers(values).reduce((most, each) => Math.max(most, each), 0);
const smallest = (values: Curve["y"], from: number) => numbers(values).reduce((least, each) => Math.min(least, each), from);
