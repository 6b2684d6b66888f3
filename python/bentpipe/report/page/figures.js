// @ts-check
// plotly's figures, changed for the reader's screen: colours for dark ground, panels below each other. Nothing here needs a browser.

/** @import { Axis, Figure, Layout, Trace } from "./types.js" */

/**
 * The traces with each colour for light ground replaced by that for dark.
 * @param {Trace[]} data
 * @param {Record<string, string>} dark
 * @returns {Trace[]}
 */
export function recoloured(data, dark) {
  /** @param {any} value @param {string} key @returns {any} */
  const of = (value, key) => {
    if (typeof value === "string") return key !== "name" && Object.hasOwn(dark, value) ? dark[value] : value;
    if (Array.isArray(value)) return typeof value[0] === "number" ? value : value.map((inner) => of(inner, key));
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, of(inner, name)]));
  };
  return of(data, "");
}

/**
 * A long title in two lines: beside long names of rows little room is left for it.
 * @param {string} text
 */
export function inTwoLines(text) {
  const spaces = [...text.matchAll(/ /g)].map((found) => found.index);
  if (text.length < 20 || !spaces.length) return text;
  const middle = text.length / 2, bracket = text.indexOf(" (");
  const nearest = (/** @type {number} */ best, /** @type {number} */ each) =>
    Math.abs(each - middle) < Math.abs(best - middle) ? each : best;
  const at = bracket > 0 ? bracket : spaces.reduce(nearest);
  return `${text.slice(0, at)}<br>${text.slice(at + 1)}`;
}

/**
 * For a narrow screen: panels that stand side by side and share their rows stand below each other.
 * @param {Figure} figure
 * @returns {Figure}
 */
export function stacked(figure) {
  const names = Object.keys(figure.layout).filter((key) => key.startsWith("xaxis"));
  if (!figure.layout.stackable || !figure.layout.height || names.length < 2) return figure;
  const { around, gap } = figure.layout.stackable;
  const each = figure.layout.height - around, step = each + gap;
  const all = step * names.length - gap;
  /** @type {Layout} */
  const layout = { ...figure.layout, height: all + around };
  names.forEach((name, at) => {
    const number = name.slice("xaxis".length), top = 1 - (at * step) / all;
    const own = /** @type {Axis} */ (figure.layout[name]);
    layout[name] = { ...own, title: { text: inTwoLines(own.title.text) }, domain: [0, 1], anchor: `y${number}` };
    layout[`yaxis${number}`] = { ...figure.layout.yaxis, domain: [Math.max(0, top - each / all), top], anchor: `x${number}` };
  });
  return { layout, data: figure.data.map((trace) => ({ ...trace, yaxis: (trace.xaxis ?? "x").replace("x", "y") })) };
}

/**
 * @typedef {{ curve: number, point: number | [number, number], runs: string[], words: string, subplot: string }} Point
 */

/**
 * The points and cells that stand for runs, in words, for whoever has no mouse.
 * @param {Figure} figure
 * @returns {Point[]}
 */
export function points(figure) {
  /** @type {Point[]} */
  const found = [];
  figure.data.forEach((trace, curve) => {
    const subplot = `${trace.xaxis ?? "x"}${trace.yaxis ?? "y"}`;
    const add = (/** @type {number | [number, number]} */ point, /** @type {unknown} */ runs, /** @type {string} */ words) => {
      const names = [runs].flat().filter((name) => typeof name === "string");
      const said = [trace.name, words].filter(Boolean).join(": ");
      if (names.length) found.push({ curve, point, runs: names, words: plain(said), subplot });
    };
    trace.customdata?.forEach((runs, at) => {
      const cells = trace.hovertext?.[at];
      if (cells) cells.forEach((words, column) => add([at, column], /** @type {unknown[]} */ (runs)[column], words));
      else add(at, runs, wordsOf(figure, trace, at));
    });
  });
  return found;
}

/**
 * @param {Figure} figure
 * @param {Trace} trace
 * @param {number} at
 */
function wordsOf(figure, trace, at) {
  const x = trace.x?.[at] ?? "", y = trace.y?.[at] ?? "";
  if (!trace.text) return `${figure.layout.xaxis.title.text} ${x}, ${figure.layout.yaxis.title.text} ${y}`;
  const axis = /** @type {Axis} */ (figure.layout[(trace.xaxis ?? "x").replace("x", "xaxis")]);
  return figure.layout.categories && trace.x ? `${trace.text[at]}, ${axis.title.text} ${x}` : String(trace.text[at]);
}

/**
 * Without the little markup that plotly reads.
 * @param {string} text
 */
function plain(text) {
  return text.replace(/<br>/g, " ").replace(/<[^>]*>/g, "").replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&amp;/g, "&");
}
