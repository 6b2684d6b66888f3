// @ts-check
// The charts over all runs. A point or cell stands for the runs that it names, the most typical first.

import { pointsByKey } from "#page/by_key.js";
import * as charts from "#page/charts.js";
import { first, made } from "#page/elements.js";
import { unpacked } from "#page/unpack.js";

/** @import { Choice } from "./types.js" */

/**
 * Draws the charts of a section and lets the reader choose between them.
 * @param {HTMLElement} section
 * @param {(runs: string[]) => void} open
 */
export async function overview(section, open) {
  /** @type {Choice[]} */
  const choices = await unpacked(first(section, "script.choices").textContent ?? "");
  const panels = first(section, ".panels"), note = first(section, "p.note");
  const buttons = [...section.querySelectorAll("button[data-choice]")].filter((each) => each instanceof HTMLElement);
  const keys = made("ul", { class: "keys" });
  panels.before(keys);
  /** @type {HTMLDivElement[]} */
  let divs = [];

  /** @param {number} number */
  function show(number) {
    const choice = choices[number];
    if (!choice) return;
    charts.forget(divs);
    const said = choice.note || first(section, "h2").textContent || "";
    const found = choice.panels.map((panel) => charts.figure(panel, choice.shape === "rows" ? "" : choice.shape, said));
    divs = found.map(({ div }) => div);
    panels.className = `panels ${choice.shape}`;
    const elements = found.map(({ element }) => element);
    panels.replaceChildren(...(choice.shape === "rows" ? charts.folded(elements, choice.figures) : elements));
    keys.replaceChildren(...choice.keys.map(([label, light, dark, sign]) =>
      made("li", {}, made("span", { style: `--light: ${light}; --dark: ${dark}` }, sign), ` ${label}`)));
    note.textContent = choice.note;
    found.forEach(({ div, element }, at) => {
      const figure = choice.figures[at];
      if (figure) charts.show(div, figure).then((plot) => {
        plot.on("plotly_click", (click) => open([click.points[0]?.customdata].flat().filter((name) => typeof name === "string")));
        const control = pointsByKey(plot, figure, open);
        if (control) element.append(control);
      });
    });
    buttons.forEach((button) => button.setAttribute("aria-pressed", String(Number(button.dataset.choice) === number)));
  }

  buttons.forEach((button) => button.addEventListener("click", () => show(Number(button.dataset.choice))));
  const select = section.querySelector("select");
  select?.addEventListener("change", () => show(Number(select.value)));
  show(0);
}
