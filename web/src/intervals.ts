// The interval of a ratio over seeds, as `bentpipe compare` has it: pairs of the same seed, on their logarithms, Student's t at 95 %
// (python/bentpipe/analysis/intervals.py, for two to five values).

/** Quantiles of Student's t at 97.5 %, from one degree of freedom on. */
const T = [12.706204736174694, 4.302652729749462, 3.182446305283708, 2.7764451051977934];

export interface Interval {
  readonly mean: number;
  readonly low: number;
  readonly high: number;
  readonly count: number;
}

/** Null: of fewer than two pairs, of more than five, or of figures that are not above 0 there is none. */
export function ratioInterval(pairs: readonly (readonly [before: number, now: number])[]): Interval | null {
  const t = T[pairs.length - 2];
  if (t === undefined || pairs.some(([before, now]) => !(before > 0 && now > 0))) return null;
  const logarithms = pairs.map(([before, now]) => Math.log(now / before));
  const count = logarithms.length;
  const mean = logarithms.reduce((sum, each) => sum + each, 0) / count;
  const deviation = Math.sqrt(logarithms.reduce((sum, each) => sum + (each - mean) ** 2, 0) / (count - 1));
  const half = (t * deviation) / Math.sqrt(count);
  return { mean: Math.exp(mean), low: Math.exp(mean - half), high: Math.exp(mean + half), count };
}
