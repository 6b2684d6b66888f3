// @ts-check
// Draws charts: figures are plotly's own JSON. One that is not in sight yet waits until it is.

import { held, made } from "#page/elements.js";
import { recoloured, stacked } from "#page/figures.js";
import { layout } from "#page/look.js";
import { inflated } from "#page/unpack.js";

/** @import { Figure, Plot, Words } from "./types.js" */

const SETTINGS = { displayModeBar: false, responsive: true, doubleClick: "reset" };
const LONG_PIXELS = 2400;

const wantsDark = matchMedia("(prefers-color-scheme: dark)");
const narrow = matchMedia("(max-width: 620px)");
/** @type {Map<HTMLElement, Figure>} */
const drawn = new Map();
/** @type {Map<Element, () => void>} */
const waiting = new Map();
let printing = false;
/** @type {Promise<void> | undefined} */
let library;

function loaded() {
  library ??= inflated(held("plotly")).then((bytes) => {
    const script = made("script", {});
    script.textContent = new TextDecoder().decode(bytes);
    document.head.append(script);
  });
  return library;
}

const onThisScreen = (/** @type {Figure} */ figure) => (narrow.matches ? stacked(figure) : figure);

/** @param {HTMLElement} div @param {Figure} figure */
function size(div, figure) {
  const { height, stackable } = figure.layout;
  if (height) div.style.height = `${height}px`;
  div.style.minWidth = narrow.matches && stackable?.least_width ? `${stackable.least_width}px` : "";
}

/** @param {HTMLElement} div @param {Figure} given */
async function draw(div, given) {
  await loaded();
  drawn.set(div, given);
  waiting.delete(div);
  const figure = onThisScreen(given);
  size(div, figure);
  const data = wantsDark.matches && !printing ? recoloured(figure.data, JSON.parse(held("dark"))) : figure.data;
  await Plotly.react(div, data, layout(figure, div), SETTINGS);
}

const inSight = new IntersectionObserver((entries) => {
  for (const entry of entries) if (entry.isIntersecting) {
    inSight.unobserve(entry.target);
    waiting.get(entry.target)?.();
  }
}, { rootMargin: "600px" });

/**
 * Draws the figure when the div comes into sight. The promise is kept when it is drawn.
 * @param {HTMLDivElement} div
 * @param {Figure} figure
 * @returns {Promise<Plot>}
 */
export function show(div, figure) {
  div.classList.toggle("wide", Boolean(figure.layout.categories && !figure.layout.stackable));
  size(div, onThisScreen(figure));
  return new Promise((done, failed) => {
    waiting.set(div, () => draw(div, figure).then(() => done(/** @type {Plot} */ (div)), failed));
    inSight.observe(div);
  });
}

/**
 * What is no longer on the page.
 * @param {HTMLElement[]} divs
 */
export function forget(divs) {
  for (const div of divs) {
    inSight.unobserve(div);
    waiting.delete(div);
    if (drawn.delete(div)) Plotly.purge(div);
  }
}

/**
 * Charts on one clock: `add` each when it is drawn. What is zoomed in one, or set by `zoom`, is zoomed in all.
 * @param {(from: number, to: number) => void} told of what is shown
 */
export function clock(told) {
  /** @type {Plot[]} */
  const plots = [];
  let busy = false;
  /** @type {number[] | null} */
  let shownRange = null;
  /** @param {number[] | null} range null: all */
  const zoom = async (range) => {
    busy = true;
    shownRange = range;
    const there = plots.filter((plot) => drawn.has(plot));
    await Promise.all(there.map((plot) => Plotly.relayout(plot, { "xaxis.range": (range ?? whole(plot)).slice() })));
    busy = false;
    const now = range ?? (there[0] ? whole(there[0]) : null);
    if (now) told(Number(now[0]), Number(now[1]));
  };
  const add = (/** @type {Plot} */ plot) => {
    plots.push(plot);
    if (shownRange) Plotly.relayout(plot, { "xaxis.range": shownRange.slice() });
    else if (plots.length === 1) told(Number(whole(plot)[0]), Number(whole(plot)[1]));
    plot.on("plotly_relayout", (change) => {
      const from = change["xaxis.range[0]"], to = change["xaxis.range[1]"];
      if (busy) return;
      if (from !== undefined) zoom([Number(from), Number(to)]);
      else if (change["xaxis.autorange"]) zoom(null);
    });
  };
  return { add, zoom };
}

const whole = (/** @type {HTMLElement} */ plot) => drawn.get(plot)?.layout.xaxis.range ?? [0, 1];

/**
 * A chart with its words, which are its alternative in text too. `said` is what stands in for a sentence that is written
 * elsewhere on the page.
 * @param {Words} of
 * @param {string} shape a class
 * @param {string} said
 */
export function figure(of, shape, said = "") {
  const words = made("figcaption", {}, of.title ? made("b", {}, of.title) : null, of.sentence);
  const label = [of.title && `${of.title}.`, of.sentence || said].filter(Boolean).join(" ");
  const div = made("div", { class: `chart ${shape}`, role: "img", "aria-label": label });
  return { element: made("figure", {}, words, div), div };
}

/**
 * Tall charts of rows would make a narrow page very long: all but the first open with a click on their words.
 * @param {HTMLElement[]} elements
 * @param {Figure[]} figures
 */
export function folded(elements, figures) {
  const heights = figures.map((each) => onThisScreen(each).layout.height ?? 0);
  if (!narrow.matches || heights.reduce((sum, each) => sum + each, 0) <= LONG_PIXELS) return elements;
  return elements.map((element, at) => {
    const words = element.querySelector("figcaption");
    if (at === 0 || !words) return element;
    const summary = made("summary", {}, ...words.childNodes);
    words.remove();
    return made("details", { class: "plain folded" }, summary, element);
  });
}

const redraw = () => drawn.forEach((given, div) => draw(div, given));
wantsDark.addEventListener("change", redraw);
narrow.addEventListener("change", redraw);
addEventListener("beforeprint", () => { printing = true; waiting.forEach((begin) => begin()); redraw(); });
addEventListener("afterprint", () => { printing = false; redraw(); });
