// @ts-check
// The layout of a figure: what plotly needs beside the figure's own, by the colours and the width of the page.

/** @import { Axis, Figure } from "./types.js" */

const colour = (/** @type {string} */ name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/**
 * @param {Figure} figure
 * @param {HTMLElement} div
 */
export function layout(figure, div) {
  const ink = colour("--ink"), line = colour("--line"), grid = colour("--grid"), soft = colour("--soft"), card = colour("--card");
  const tall = div.classList.contains("tall"), small = div.classList.contains("small");
  const rows = Boolean(figure.layout.categories);
  const axes = Object.fromEntries(Object.entries(figure.layout).filter(([key]) => /^[xy]axis/.test(key)).map(([key, value]) => {
    const own = /** @type {Axis} */ (value);
    return [key, {
      ...own,
      title: { text: own.title.text, standoff: 8 },
      gridcolor: grid, linecolor: line, zerolinecolor: line,
      showline: true, ticks: "outside", tickcolor: line, minor: { ticks: "" },
      exponentformat: "none", separatethousands: true,
      automargin: key.startsWith("y") ? rows : "height",
    }];
  }));
  return {
    ...axes,
    shapes: (figure.layout.shapes ?? []).map((shape) => ({ ...shape, line: { ...shape.line, color: soft } })),
    hovermode: figure.layout.hovermode, hoverdistance: figure.layout.hovermode === "closest" ? 60 : 20,
    bargap: rows ? 0.25 : 0.1, barmode: rows ? "overlay" : "stack",
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: ink },
    hoverlabel: { bgcolor: card, bordercolor: line, font: { color: ink } },
    separators: ".\u202f",
    margin: { l: rows ? 10 : 66, r: tall ? 10 : 8, t: tall || small ? 6 : 24, b: 42 },
    legend: tall
      ? { orientation: "h", x: 0, y: -0.17, yanchor: "top", font: { size: 11.5 } }
      : { orientation: "h", x: 1, xanchor: "right", y: 1.0, yanchor: "bottom", font: { size: 11.5 } },
    showlegend: !small && figure.data.some((trace) => trace.showlegend !== false),
  };
}
