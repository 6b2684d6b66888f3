// @ts-check
// The part "What if" of a run: the simulator in this page. What makes it comes with the simulator (web/whatif), and is
// unpacked when the part is opened.

import * as charts from "#page/charts.js";
import { held, made } from "#page/elements.js";
import { inflated } from "#page/unpack.js";

/** @import { Figure, Part } from "./types.js" */

/** @type {Promise<[WebAssembly.Module, string, { begin: (into: HTMLElement, held: object, page: object) => Promise<void> }]> | undefined} */
let simulator;

async function loaded() {
  const [module, worker, script] = await Promise.all(["what-if-module", "what-if-worker", "what-if-script"].map((id) => inflated(held(id))));
  const address = URL.createObjectURL(new Blob([worker ?? ""], { type: "text/javascript" }));
  const part = await import(`data:text/javascript,${encodeURIComponent(new TextDecoder().decode(script))}`);
  return /** @type {Awaited<typeof simulator> & {}} */ ([await WebAssembly.compile(module ?? new Uint8Array()), address, part]);
}

/** @param {string} title */
function chart(title) {
  const { element, div } = charts.figure({ title, sentence: "" }, "", title);
  const draw = (/** @type {Figure} */ figure, /** @type {string} */ words) => {
    div.setAttribute("aria-label", words);
    void charts.show(div, figure);
  };
  return { element, div, draw };
}

/**
 * The part, the charts that it has by now, and what ends its simulations.
 * @param {Part} part
 */
export function whatIf(part) {
  /** @type {HTMLDivElement[]} */
  const divs = [];
  const asked = part.what_if;
  /** @type {Worker[]} */
  const workers = [];
  const end = () => workers.forEach((each) => each.terminate());
  if (!asked) return { element: null, divs, end };
  const summary = made("summary", {}, made("h3", {}, "What if?"), made("span", {}, "Change this run's lab and simulate it again, here in the page."));
  const body = made("div", { class: "body" });
  const details = made("details", { class: "plain what-if" }, summary, body);
  if (asked.why) body.append(made("p", { class: "note" }, asked.why));
  else details.addEventListener("toggle", async () => {
    body.textContent = "Unpacking the simulator.";
    try {
      const [module, worker, { begin }] = await (simulator ??= loaded());
      body.textContent = "";
      await begin(body, asked, {
        figures: part.figures,
        worker: async () => {
          const made = new Worker(worker);
          workers.push(made);
          made.postMessage(module);
          return made;
        },
        chart: (/** @type {string} */ title) => {
          const found = chart(title);
          divs.push(found.div);
          return found;
        },
      });
    } catch (why) {
      body.textContent = `The simulator cannot be started in this browser: ${why}`;
    }
  }, { once: true });
  return { element: details, divs, end };
}
