// What the page's data look like, and as much of plotly.js as the page calls.

export interface Axis {
  title: { text: string };
  range: number[];
  [key: string]: unknown;
}

export interface Trace {
  type: string;
  name?: string;
  x?: (number | null)[];
  y?: (number | null)[];
  xaxis?: string;
  yaxis?: string;
  text?: unknown[];
  hovertext?: string[][];
  customdata?: unknown[];
  showlegend?: boolean;
  hoverinfo?: string;
  [key: string]: unknown;
}

export interface Stackable {
  around: number;
  gap: number;
  least_width?: number;
}

export interface Layout {
  xaxis: Axis;
  yaxis: Axis;
  height?: number;
  categories?: boolean;
  stackable?: Stackable;
  hovermode?: string;
  shapes?: { line: object; [key: string]: unknown }[];
  [key: string]: unknown;
}

export interface Figure {
  data: Trace[];
  layout: Layout;
}

export interface Words {
  title: string;
  sentence: string;
}

export interface Choice {
  shape: "rows" | "small" | "tall";
  note: string;
  keys: [label: string, light: string, dark: string, sign: string][];
  panels: Words[];
  figures: Figure[];
}

export interface Panel extends Words {
  clock: string;
  engine: string;
}

export interface Part {
  name: string;
  heading: string;
  headline: string;
  badge: string;
  counts: boolean;
  why: string[];
  engine: string[];
  cards: [name: string, asked: string, figures: [words: string, value: string, key: string][]][];
  sysctl: [name: string, client: string, server: string, asked: boolean][];
  spec: string;
  panels: Panel[];
  figures: Figure[];
  /** As a request to the simulator, or why there is none (report/what_if.py). */
  what_if: { why?: string } | null;
}

export interface Click {
  points: { customdata?: unknown }[];
}

export interface Plot extends HTMLDivElement {
  on(event: "plotly_click", then: (click: Click) => void): void;
  on(event: "plotly_relayout", then: (change: Record<string, unknown>) => void): void;
}

export interface Plotly {
  react(div: HTMLElement, data: Trace[], layout: object, settings: object): Promise<unknown>;
  relayout(div: HTMLElement, change: Record<string, unknown>): Promise<unknown>;
  restyle(div: HTMLElement, change: Record<string, unknown>, traces: number[]): Promise<unknown>;
  purge(div: HTMLElement): void;
  Fx: { hover(div: HTMLElement, at: object[], subplot: string): void };
}

declare global {
  var Plotly: Plotly;
}
