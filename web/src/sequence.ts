// The sequence of one stream over a short time, as tcptrace draws it, from samples of the sender's socket: what is acknowledged, what of the rest
// is selectively acknowledged, what is sent, where the receiver's window ends, and when segments were sent again.

import uPlot from "uplot";
import { legend } from "./charts.ts";
import { element } from "./elements.ts";
import type { Answer, Ask } from "./messages.ts";
import { request } from "./request.ts";
import type { Settings } from "./settings.ts";
import type { Outcome, Table } from "./simulator.ts";

/** The longest time that is shown so. */
export const LONGEST_S = 10;
const LEAST_INTERVAL_NS = 1e6;
const MOST_SAMPLES = 20_000;
const HEIGHT = 240;
const COLUMNS = {
  sockets: ["time_s", "host", "workload", "role", "remote_port", "mss_bytes", "bytes_acked", "unacked_segments", "sacked_segments", "snd_wnd_bytes", "retransmits"],
};

/** One place for each sample; in kB from the start of the stream. */
export interface Sequence {
  readonly time: readonly number[];
  readonly acknowledged: readonly number[];
  readonly sacked: readonly number[];
  readonly sent: readonly number[];
  readonly window: readonly number[];
  /** Where the acknowledgements stand when segments are sent again; null: none are. */
  readonly again: readonly (number | null)[];
  readonly retransmitted: number;
}

export function detail(settings: Settings, toS: number): Ask["request"] {
  const asked = request(settings), endNs = Math.min(settings.duration, Math.ceil(toS * 1e9));
  const interval = Math.max(LEAST_INTERVAL_NS, Math.ceil(endNs / MOST_SAMPLES));
  return { ...asked, spec: { ...asked.spec, duration_ns: endNs, sample_interval_ns: interval }, columns: COLUMNS };
}

/** Of the download's first stream. */
export function sequence({ tables, texts }: Outcome, fromS: number, toS: number): Sequence {
  const sockets: Table = tables.sockets ?? {};
  const cell = (name: string, row: number) => sockets[name]?.[row] ?? Number.NaN;
  const server = texts.indexOf("server"), download = texts.indexOf("download"), data = texts.indexOf("data");
  const all = [...(sockets.time_s ?? []).keys()].filter((row) => cell("host", row) === server && cell("workload", row) === download && cell("role", row) === data);
  const port = Math.min(...all.map((row) => cell("remote_port", row)));
  const rows = all.filter((row) => cell("remote_port", row) === port && cell("time_s", row) <= toS && !Number.isNaN(cell("bytes_acked", row)));
  const shown = rows.filter((row) => cell("time_s", row) >= fromS);
  const before = rows[rows.length - shown.length - 1];
  let counted = before === undefined ? 0 : cell("retransmits", before);
  const at = (segments: string) => (row: number) => (cell("bytes_acked", row) + cell(segments, row) * cell("mss_bytes", row)) / 1e3;
  let retransmitted = 0;
  const again = shown.map((row) => {
    const more = cell("retransmits", row) - counted;
    counted += more;
    retransmitted += more;
    return more > 0 ? cell("bytes_acked", row) / 1e3 : null;
  });
  return {
    time: shown.map((row) => cell("time_s", row)),
    acknowledged: shown.map((row) => cell("bytes_acked", row) / 1e3),
    sacked: shown.map(at("sacked_segments")),
    sent: shown.map(at("unacked_segments")),
    window: shown.map((row) => (cell("bytes_acked", row) + cell("snd_wnd_bytes", row)) / 1e3),
    again,
    retransmitted,
  };
}

export class SequenceView {
  readonly #figure: HTMLElement;
  readonly #box = element("div", { class: "chart", role: "img" });
  readonly #makeWorker: () => Worker;
  #worker: Worker | null = null;
  #plot: uPlot | null = null;
  #latest = 0;
  #span: readonly [from: number, to: number] = [0, 0];

  constructor(into: HTMLElement, makeWorker: () => Worker) {
    this.#makeWorker = makeWorker;
    this.#figure = element("figure", { id: "sequence", hidden: "" }, element("figcaption", {}, "Sequence of the download's first stream, kB"), this.#box);
    into.append(this.#figure);
  }

  /** A time that is too long hides it. */
  show(settings: Settings, fromS: number, toS: number): void {
    this.#latest += 1;
    if (toS - fromS > LONGEST_S || !(toS > fromS)) {
      this.#figure.hidden = true;
      return;
    }
    this.#span = [fromS, toS];
    if (this.#worker === null) {
      this.#worker = this.#makeWorker();
      this.#worker.onmessage = ({ data }: MessageEvent<Answer>) => {
        if (data.kind === "outcome" && data.id === this.#latest) this.#draw(sequence(data.outcome, ...this.#span));
      };
    }
    const ask: Ask = { id: this.#latest, request: detail(settings, toS), budgetMs: null };
    this.#worker.postMessage(ask);
  }

  #draw(it: Sequence): void {
    const [fromS, toS] = this.#span;
    this.#figure.hidden = false;
    this.#plot?.destroy();
    const colour = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    const line = (label: string, name: string, width: number): uPlot.Series => ({
      label, stroke: colour(name), width, points: { show: false }, value: (_, value) => legend(value, (known) => String(Number(known.toPrecision(6)))),
    });
    const axis = { stroke: colour("--soft"), grid: { stroke: colour("--grid"), width: 1 }, ticks: { stroke: colour("--grid"), width: 1 } };
    // A window far above what is sent would press the rest together.
    const floor = it.acknowledged[0] ?? 0, most = Math.max(...it.sent) - floor;
    this.#plot = new uPlot(
      {
        width: this.#box.clientWidth, height: HEIGHT, legend: { live: true }, cursor: { y: false, drag: { x: false, y: false } },
        scales: { x: { time: false, range: [fromS, toS] }, y: { range: [floor, floor + Math.max(1, most * 1.15)] } },
        axes: [{ ...axis, size: 30, values: (_, splits) => splits.map((each) => `${Number(each.toPrecision(6))} s`) }, { ...axis, size: 62, values: (_, splits) => splits.map((each) => each.toLocaleString("en").replaceAll(",", "\u202f")) }],
        series: [
          { label: "time", value: (_, value) => legend(value, (known) => `${known.toFixed(3)} s`) },
          line("receive window ends", "--window", 1), line("sent", "--goodput", 1.5), line("selectively acknowledged (amount)", "--ping", 1),
          line("acknowledged", "--cwnd", 2),
          { ...line("sent again", "--drops", 0), paths: () => null, points: { show: true, size: 6, fill: colour("--drops") } },
        ],
      },
      [it.time, it.window, it.sent, it.sacked, it.acknowledged, it.again] as unknown as uPlot.AlignedData, this.#box,
    );
    this.#plot.root.setAttribute("aria-hidden", "true");
    const sentKb = Math.round((it.acknowledged.at(-1) ?? 0) - floor);
    this.#box.setAttribute("aria-label", `From ${fromS.toFixed(2)} to ${toS.toFixed(2)} s ${sentKb} kB are acknowledged, and ${it.retransmitted} segments are sent again.`);
  }
}
