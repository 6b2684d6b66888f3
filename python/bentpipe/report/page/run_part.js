// @ts-check
// A run's part of the page, made of what report/run_part.py says of it.

import { curvesByKey, intervalByKey } from "#page/by_key.js";
import * as charts from "#page/charts.js";
import { made } from "#page/elements.js";
import { indented } from "#page/json_text.js";
import { whatIf } from "#page/what_if.js";

/** @import { Part } from "./types.js" */

/** @param {string} name @param {string} asked @param {[string, string, string][]} figures */
function card(name, asked, figures) {
  return made("table", {}, made("caption", {}, name, asked ? made("span", {}, asked) : null),
    made("tbody", {}, ...figures.map(([words, value, key]) =>
      made("tr", {}, made("th", { scope: "row", title: key }, words), made("td", {}, value)))));
}

/** @param {Part["sysctl"]} sysctl */
function settingsInForce(sysctl) {
  const head = made("tr", {}, ...["sysctl", "client", "server"].map((word) => made("th", { scope: "col" }, word)));
  const body = sysctl.map(([name, client, server, asked]) => made("tr", { class: asked ? "asked" : "" },
    made("th", { scope: "row" }, name), made("td", {}, client), made("td", {}, server)));
  return made("details", { class: "plain" }, made("summary", {}, `Kernel settings in force (${sysctl.length})`),
    made("div", { class: "scroll" }, made("table", { class: "settings" }, made("thead", {}, head), made("tbody", {}, ...body))),
    made("p", { class: "note" }, "Marked: set by the lab."));
}

/** @param {string} label */
export const closer = (label) => made("button", { type: "button", class: "close", "aria-label": label }, "×");

/**
 * The run's article, and what begins its charts once it is on the page.
 * @param {Part} part
 * @param {number} number counted from 0
 * @param {HTMLElement | null} steps to the other runs of the same point
 * @param {HTMLElement | null} close
 */
export function runPart(part, number, steps, close) {
  const engine = [made("h3", {}, "What the engine says of itself"), made("ul", {}, ...part.engine.map((words) => made("li", {}, words)))];
  /** @type {HTMLElement[]} */
  const elements = [];
  /** @type {{ div: HTMLDivElement, element: HTMLElement, at: number, clock: boolean }[]} */
  const drawings = [];
  let engineSaid = false;
  part.panels.forEach((panel, at) => {
    if (panel.engine && !engineSaid) { elements.push(...engine); engineSaid = true; }
    const words = { title: panel.title, sentence: panel.engine ? "" : panel.sentence };
    const { element, div } = charts.figure(words, "", panel.sentence);
    elements.push(element);
    drawings.push({ div, element, at, clock: Boolean(panel.clock) });
  });
  const interval = intervalByKey((range) => clock.zoom(range));
  const clock = charts.clock(interval.shows);
  const zooms = drawings.some((each) => each.clock);
  const asking = whatIf(part);
  const article = made("article", { class: "run", tabindex: "-1", "aria-label": `Run ${number + 1}: ${part.heading}` },
    made("header", {}, made("h2", {}, part.heading), made("span", { class: "headline" }, part.headline),
      made("span", { class: part.counts ? "badge good" : "badge bad" }, part.badge), close),
    steps,
    part.why.length ? made("ul", { class: "why" }, ...part.why.map((why) => made("li", {}, why))) : null,
    zooms ? made("p", { class: "note" }, "Drag over a chart to zoom all of the run's. Double-click to show all. ", interval.element) : null,
    ...elements, asking.element, ...(engineSaid ? [] : engine), made("h3", {}, "Figures"),
    made("div", { class: "cards" }, ...part.cards.map(([name, asked, found]) => card(name, asked, found))),
    part.sysctl.length ? settingsInForce(part.sysctl) : null,
    made("details", { class: "plain" }, made("summary", {}, "This run's settings in plain numbers"), made("pre", {}, indented(part.spec))),
    made("p", { class: "note" }, `Its folder: ${part.name}`));
  const begin = () => {
    for (const { div, element, at, clock: ofTime } of drawings) {
      const figure = part.figures[at];
      if (figure) charts.show(div, figure).then((plot) => {
        if (ofTime) clock.add(plot);
        const control = curvesByKey(plot, figure);
        if (control) element.append(control);
      });
    }
  };
  return { article, begin, shown: () => [...drawings.map(({ div }) => div), ...asking.divs], end: asking.end };
}
