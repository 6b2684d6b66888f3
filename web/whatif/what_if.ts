// The part "What if" of a run in a report: its own lab in the simulator, as it was and with what the reader changes.

import { list, slider, type Control } from "../src/controls.ts";
import { element } from "../src/elements.ts";
import { digits } from "../src/figure_text.ts";
import { START, type Settings } from "../src/settings.ts";
import { Asking, type Found } from "./asking.ts";
import { charts, figure, type Figure } from "./drawing.ts";
import { curves, measuredOf, rows, sentence, shown, type Row } from "./figures.ts";
import { changed, differences, knobs, type Key, type Knob, type Value } from "./knobs.ts";
import type { Held } from "./lab.ts";

/** What the report's page does for it. */
export interface Page {
  worker(): Promise<Worker>;
  chart(title: string): { readonly element: HTMLElement; draw(figure: Figure, words: string): void };
  /** Of the run's own charts. */
  readonly figures: readonly Figure[];
}

const SECOND_NS = 1e9;
let parts = 0;

/** Makes the part and begins to simulate. */
export async function begin(into: HTMLElement, held: Held, page: Page): Promise<void> {
  const { request: lab, direction } = held;
  const all = knobs(lab, direction);
  const own = new Map<Key, Value>(all.flatMap(({ setting, read }) => {
    const value = read(lab.spec);
    return value === null ? [] : [[setting.key, typeof value === "number" && setting.key !== "loss" ? Math.round(value) : value]];
  }));
  const changes = new Map<Key, Value>();
  const measured = rows(direction, held.measured);
  let unchanged: Row[] | null = null;
  let now: { found: Found; changes: Map<Key, Value> } | null = null;

  const status = element("p", { class: "state", role: "status", "aria-live": "polite" }, "Loading the simulator.");
  const says = element("p", { class: "says", role: "status", "aria-live": "polite" });
  const again = element("button", { type: "button" }, "As the run was");
  const table = element("table", { class: "figures" });
  const drawn = charts(direction).map((each) => ({ each, chart: page.chart(each.title) }));
  parts += 1;
  const { form, show, kept } = controls(all, own, `what-if-${parts}`, lab.spec, (key, value, moving) => {
    if (value === own.get(key)) changes.delete(key);
    else changes.set(key, value);
    ask(moving);
  });
  again.addEventListener("click", () => {
    changes.clear();
    ask(false);
  });
  into.replaceChildren(
    element("div", { class: "picture" }, status, says, ...drawn.map(({ chart }) => chart.element), table),
    element("div", { class: "knobs" }, form, again, ...(kept.length ? [element("p", { class: "note" }, `Kept as in the lab: ${kept.join("; ")}.`)] : [])),
  );

  function ask(moving: boolean): void {
    if (!moving) show({ ...Object.fromEntries(own), ...Object.fromEntries(changes) });
    asking.ask(changed(lab, all, asked = new Map(changes)), moving);
  }

  function found(it: Found): void {
    now = { found: it, changes: asked };
    const here = rows(direction, measuredOf(it.outcome, direction));
    const end = digits(it.outcome.results.ended_ns / SECOND_NS), took = Math.max(1, Math.round(it.tookMs));
    status.dataset.state = it.whole ? "exact" : "preview";
    status.textContent = it.whole ? `Exact: ${end} s simulated in ${took} ms.` : `Preview: the first ${end} s. The whole run follows when the slider rests.`;
    const differing = differences(lab, all, asked);
    if (it.whole && differing.length === 0) unchanged = here;
    if (it.whole) {
      says.textContent = differing.length > 0 && unchanged !== null ? sentence(differing, unchanged, here) : own_words(here);
      fill(here, differing.length > 0);
    }
    draw();
  }

  function own_words([goodput]: Row[]): string {
    const [before] = measured;
    if (goodput === undefined || before === undefined || before.value === null || goodput.value === null) return "Nothing is changed yet. Move a slider.";
    const same = goodput.value === before.value ? "the same figures as this run" : `${goodput.label} ${shown(goodput)}; this run had ${shown(before)}`;
    return `Nothing is changed yet: the simulator gives ${same}. Move a slider.`;
  }

  function fill(here: readonly Row[], differs: boolean): void {
    const columns = ["this run", "simulated, nothing changed", ...(differs ? ["what if"] : [])];
    const head = element("tr", {}, ...["figure", ...columns].map((text) => element("th", { scope: "col" }, text)));
    const body = here.map((row, at) => {
      const cells = [measured[at], unchanged?.[at], ...(differs ? [row] : [])].map((cell) => element("td", {}, cell ? shown(cell) : "–"));
      return element("tr", {}, element("th", { scope: "row" }, row.label), ...cells);
    });
    table.replaceChildren(element("thead", {}, head), element("tbody", {}, ...body));
  }

  function draw(): void {
    if (now === null) return;
    const { outcome, whole } = now.found, simulated = curves(outcome, direction);
    for (const { each, chart } of drawn) {
      const curve = simulated.get(each.name) ?? { x: [], y: [] };
      chart.draw(figure(each, direction, page.figures, curve, whole), `${each.title}: grey as this run had it, in colour as it is simulated.`);
    }
  }

  let asked = new Map<Key, Value>();
  const asking = new Asking(await page.worker(), {
    found,
    progress: (nowS) => { status.textContent = `Simulating: ${digits(Math.max(0, nowS))} s are done.`; },
    failed: (message) => {
      status.dataset.state = "error";
      status.textContent = `The simulator refused this: ${message}`;
    },
  });
  ask(false);
}

interface Form {
  readonly form: HTMLElement;
  show(values: Readonly<Record<string, Value>>): void;
  /** What cannot be one number here, in words. */
  readonly kept: readonly string[];
}

function controls(
  all: readonly Knob[], own: ReadonlyMap<Key, Value>, prefix: string, spec: Parameters<Knob["read"]>[0],
  onChange: (key: Key, value: Value, moving: boolean) => void,
): Form {
  const made: Control[] = [], kept: string[] = [];
  const form = element("form", { "aria-label": "What if", autocomplete: "off" });
  form.addEventListener("submit", (event) => event.preventDefault());
  for (const { setting, kept: words } of all) {
    if (!own.has(setting.key)) {
      const said = words(spec);
      kept.push(`${setting.label.toLowerCase()}${said ? ` (${said})` : ""}`);
      continue;
    }
    const control = setting.kind === "choice" ? list(setting, onChange, prefix) : slider(setting, onChange, prefix);
    made.push(control);
    form.append(control.row);
  }
  return { form, kept, show: (values) => { for (const control of made) control.show({ ...START, ...values } as Settings); } };
}
