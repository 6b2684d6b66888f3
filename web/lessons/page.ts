// A lesson as a page of docs/, from what was simulated.

import { toHash } from "../src/address.ts";
import { differences, digits, ROWS, withUnit } from "../src/figure_text.ts";
import type { Figures } from "../src/series.ts";
import { START, type Settings } from "../src/settings.ts";
import type { Kernel, Lesson, Seen } from "./lesson.ts";

/** What a try gave. */
export interface Tried extends Figures {
  /** Payload over the transfer's own time, as iperf3 counts it. */
  readonly iperf3MbitS: number;
  /** Of the seeds after the first. */
  readonly further: readonly Figures[];
}

export type Simulated = ReadonlyMap<string, Tried>;

export const settingsOf = (tried: Partial<Settings>): Settings => ({ ...START, ...tried });

export function seen(lesson: Lesson, simulated: Simulated): Seen {
  const figure = (name: string, key: keyof Figures) => {
    const found = simulated.get(name);
    if (found === undefined) throw new Error(`${lesson.page}: no try is called ${name}`);
    if (!lesson.figures.includes(key)) throw new Error(`${lesson.page}: ${key} is not in its table`);
    return found[key];
  };
  return {
    text: (name, key) => withUnit(figure(name, key), ROWS.find((row) => row.key === key)?.unit ?? ""),
    value: (name, key) => figure(name, key) ?? Number.NaN,
    range: (name, key) => {
      const found = [figure(name, key), ...(simulated.get(name)?.further ?? []).map((each) => each[key])].map((each) => each ?? Number.NaN);
      if (found.length === 1 || found.some(Number.isNaN)) throw new Error(`${lesson.page}: ${name} has no ${key} over seeds`);
      return `${digits(Math.min(...found))} to ${withUnit(Math.max(...found), ROWS.find((row) => row.key === key)?.unit ?? "")}`;
    },
  };
}

/** What does not hold, a sentence each. */
export function broken(lesson: Lesson, simulated: Simulated): string[] {
  return Object.entries(lesson.claims(seen(lesson, simulated))).filter(([, holds]) => !holds).map(([claim]) => `${lesson.page}: it is not so that ${claim}`);
}

/** Where the widget is, as docs/lessons sees it. */
function address(lesson: Lesson, tried: Partial<Settings>): string {
  const hash = toHash({ settings: settingsOf(tried), pinned: null });
  return `../play/index.html?part&amp;controls=${lesson.controls.join(",")}&amp;charts=${lesson.charts.join(",")}#${hash.replaceAll("&", "&amp;")}`;
}

export function page(lesson: Lesson, simulated: Simulated, kernel: readonly string[], live: readonly string[]): string {
  const tries = Object.entries(lesson.tries), at = seen(lesson, simulated);
  const [first] = tries;
  if (first === undefined) throw new Error(`${lesson.page}: nothing to try`);
  const buttons = tries.map(([name, tried]) => `<a href="${address(lesson, tried)}" target="play">${name}</a>`);
  const columns = lesson.figures.map((key) => ROWS.find((row) => row.key === key)?.label ?? key);
  const rows = tries.map(([name]) => `| ${name} | ${lesson.figures.map((key) => at.text(name, key)).join(" | ")} |`);
  const common = differences(settingsOf(first[1]), START).map((each) => each.replace(/ instead of .*/, ""));
  return [
    `# ${lesson.title}`,
    "",
    "<!-- Written by `make lessons` from web/lessons; change it there. -->",
    "",
    lesson.question,
    "",
    `<div class="lesson">`,
    `<p class="tries">Try: ${buttons.join(" ")}</p>`,
    `<iframe class="play" name="play" title="The playground: ${lesson.title}" src="${address(lesson, first[1])}"></iframe>`,
    "</div>",
    "",
    `It starts with: ${common.join("; ")}. Other settings are those of [the playground](../playground.md).`,
    "",
    "## What to look for",
    "",
    ...lesson.look(at).map((each) => `- ${each}`),
    "",
    `| try | ${columns.join(" | ")} |`,
    `|---|${columns.map(() => "---|").join("")}`,
    ...rows,
    "",
    `These are figures of the simulator in this page, with seed 1.${lesson.overSeeds ? " Figures over five seeds use the seeds 1 to 5." : ""}`,
    "",
    "## Why",
    "",
    lesson.why(at),
    "",
    ...(lesson.published ? ["## Published", "", `${sentence(lesson.published.says)} ([${lesson.published.key}](../labs/${lesson.published.key}.md))`, ""]
      : ["## Published", "", "The four published experiments give no figure for this.", ""]),
    "## On a real kernel",
    "",
    ...[...kernel, ...(kernel.length && live.length ? [""] : []), ...live],
    ...(lesson.apart ? ["", lesson.apart] : []),
    ...(kernel.length + live.length ? [] : ["No run of this path on a real kernel is recorded. The lab file of the playground runs on one: `bentpipe run playground.toml --engine live`."]),
    "",
  ].join("\n");
}

const sentence = (words: string) => words.charAt(0).toUpperCase() + words.slice(1);

/** Of a line of docs/accuracy.md: the means of live and of sim, in Mbit/s. */
export function cellFigures(accuracy: string, cell: string): readonly [live: number, sim: number] {
  const [, figures] = accuracy.split("\n").find((line) => line.startsWith(`| ${cell} |`))?.split("|").slice(1) ?? [];
  const [live, sim] = (figures ?? "").trim().split(" ").map(Number);
  if (live === undefined || sim === undefined || Number.isNaN(live + sim)) throw new Error(`docs/accuracy.md has no cell ${cell}`);
  return [live, sim];
}

const numbers = (text: string): string[] => text.replace(/\b(Linux \d+\.\d+|IPv\d)/g, "").match(/\d+(?:\.\d+)?/g) ?? [];

/** Numbers that words have and their source has not. */
export function unfounded(says: string, source: string): string[] {
  const known = new Set(numbers(source).map(Number));
  return numbers(says).filter((each) => !known.has(Number(each)));
}

export function kernelLine(lesson: Lesson, kernel: Kernel, simulated: Simulated, read: (page: string) => string): string {
  if ("page" in kernel) {
    if (!read(kernel.page).includes(kernel.quote)) throw new Error(`${lesson.page}: docs/${kernel.page} no longer has ${kernel.quote}`);
    // The round trip of a row may be said, and it stands in the lesson's own settings.
    const wrong = unfounded(kernel.says, `${kernel.quote} ${lesson.question} ${Object.keys(lesson.tries).join(" ")}`);
    if (wrong.length) throw new Error(`${lesson.page}: ${kernel.page} does not give ${wrong.join(", ")}`);
    return `- ${kernel.says} ([how, and with which command](../${kernel.page}))`;
  }
  const [live, sim] = cellFigures(read("accuracy.md"), kernel.cell);
  const here = simulated.get(kernel.is)?.iperf3MbitS ?? Number.NaN;
  // A cell is the mean of some seeds; losses and late packets differ from seed to seed.
  const most = /loss|reorder/.test(kernel.cell) ? 0.35 : 0.1;
  if (!(Math.abs(here / sim - 1) <= most)) throw new Error(`${lesson.page}: ${kernel.is} gives ${here} Mbit/s, and the cell ${kernel.cell} ${sim}`);
  return `- *${kernel.is}*: ${live} Mbit/s on Linux 6.18; \`sim\` gave ${sim} there (\`make validate\`, cell \`${kernel.cell}\` of [How accurate](../accuracy.md)).`;
}
