// The bins of a run as the server tells them: a part at a time, which is put behind what is known.

export interface PipePart {
  readonly from: number;
  readonly time_s: readonly number[];
  /** One for each name. */
  readonly columns: readonly (readonly number[])[];
}

export interface SeriesPart {
  /** Another one: what is known of the bins is no longer so. */
  readonly key: string;
  readonly bin_s: number;
  readonly names: readonly string[];
  readonly pipes: Readonly<Record<string, PipePart>>;
}

export interface Pipe {
  readonly time_s: readonly number[];
  readonly columns: Readonly<Record<string, readonly number[]>>;
}

export interface Bins {
  readonly key: string;
  readonly bin_s: number;
  readonly pipes: Readonly<Record<string, Pipe>>;
}

export const NO_BINS: Bins = { key: "", bin_s: 0.1, pipes: {} };

export function withPart(known: Bins, part: SeriesPart): Bins {
  const before = known.key === part.key ? known : NO_BINS;
  const pipes: Record<string, Pipe> = {};
  for (const [name, of] of Object.entries(part.pipes)) {
    const old = before.pipes[name];
    const columns: Record<string, readonly number[]> = {};
    part.names.forEach((column, place) => {
      columns[column] = [...(old?.columns[column] ?? []).slice(0, of.from), ...(of.columns[place] ?? [])];
    });
    pipes[name] = { time_s: [...(old?.time_s ?? []).slice(0, of.from), ...of.time_s], columns };
  }
  return { key: part.key, bin_s: part.bin_s, pipes };
}

/** The pipe through which more goodput has gone. */
export function busier({ pipes }: Bins): "down" | "up" {
  const sum = (name: string) => (pipes[name]?.columns.goodput_mbit_s ?? []).reduce((all, each) => all + each, 0);
  return sum("up") > sum("down") ? "up" : "down";
}

/** On one clock, with a value for each bin: null where nothing is known. */
export function onOneClock(pipes: readonly (Pipe | undefined)[], column: string, bin_s: number): (number | null)[][] {
  const place = (time: number) => Math.round(time / bin_s);
  const times = pipes.flatMap((pipe) => (pipe?.time_s.length ? [place(pipe.time_s[0] ?? 0), place(pipe.time_s.at(-1) ?? 0)] : []));
  if (times.length === 0) return [[], ...pipes.map(() => [])];
  const first = Math.min(...times), count = Math.max(...times) - first + 1;
  const clock = Array.from({ length: count }, (_, at) => (first + at) * bin_s);
  const values = pipes.map((pipe) => {
    const out = new Array<number | null>(count).fill(null);
    pipe?.time_s.forEach((time, at) => {
      const where = place(time) - first;
      out[where] = pipe.columns[column]?.[at] ?? null;
    });
    return out;
  });
  return [clock, ...values];
}
