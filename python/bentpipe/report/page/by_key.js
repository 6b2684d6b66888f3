// @ts-check
// What a mouse does in a chart, for the keyboard: controls below the chart that show when they have the focus.

import { made } from "#page/elements.js";
import { points } from "#page/figures.js";

/** @import { Figure, Plot } from "./types.js" */

/**
 * A choice of the chart's points, each with a button that opens its runs. Null: no point stands for a run.
 * @param {Plot} plot
 * @param {Figure} figure
 * @param {(runs: string[]) => void} open
 */
export function pointsByKey(plot, figure, open) {
  const found = points(figure);
  if (!found.length) return null;
  const choice = made("select", {}, ...found.map(({ words }, at) => made("option", { value: String(at) }, words)));
  const chosen = () => found[Number(choice.value)];
  choice.addEventListener("change", () => {
    const at = chosen();
    if (at) Plotly.Fx.hover(plot, [{ curveNumber: at.curve, pointNumber: at.point }], at.subplot);
  });
  const button = made("button", { type: "button" }, "Open its run");
  button.addEventListener("click", () => open(chosen()?.runs ?? []));
  return made("div", { class: "by-key" }, made("label", {}, "Point of this chart ", choice), button);
}

/**
 * Check boxes for the curves of the chart's legend. Null: it has none, or one.
 * @param {Plot} plot
 * @param {Figure} figure
 */
export function curvesByKey(plot, figure) {
  const curves = figure.data.map((trace, at) => ({ at, name: trace.name ?? "", is: trace.showlegend !== false })).filter(({ is }) => is);
  if (curves.length < 2) return null;
  const boxes = curves.map(({ at, name }) => {
    const box = made("input", { type: "checkbox", checked: true });
    box.addEventListener("change", () => Plotly.restyle(plot, { visible: box.checked ? true : "legendonly" }, [at]));
    return made("label", {}, box, ` ${name}`);
  });
  return made("details", { class: "by-key" }, made("summary", {}, "Curves of this chart"), ...boxes);
}

/**
 * Fields for the interval that all charts of a run show.
 * @param {(range: number[] | null) => void} zoom null: all
 */
export function intervalByKey(zoom) {
  const field = (/** @type {string} */ name) => made("input", { type: "number", step: "any", "aria-label": name });
  const from = field("from, in seconds"), to = field("to, in seconds");
  const changed = () => {
    if (from.value && to.value && Number(from.value) < Number(to.value)) zoom([Number(from.value), Number(to.value)]);
  };
  from.addEventListener("change", changed);
  to.addEventListener("change", changed);
  const all = made("button", { type: "button" }, "Show all");
  all.addEventListener("click", () => zoom(null));
  const shows = (/** @type {number} */ start, /** @type {number} */ end) => {
    from.value = String(Number(start.toPrecision(4)));
    to.value = String(Number(end.toPrecision(4)));
  };
  return { element: made("span", { class: "interval" }, "From ", from, " to ", to, " s ", all), shows };
}
