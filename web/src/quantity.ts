// Numbers with units, as lab files have them, and a slider's steps on a logarithmic scale.

export interface Unit {
  readonly name: string;
  /** How much of the base unit it is. */
  readonly factor: number;
}

/** From the smallest to the largest. */
export const RATE: readonly Unit[] = [
  { name: "bit/s", factor: 1 }, { name: "kbit/s", factor: 1e3 }, { name: "Mbit/s", factor: 1e6 }, { name: "Gbit/s", factor: 1e9 },
];
export const SIZE: readonly Unit[] = [
  { name: "B", factor: 1 }, { name: "kB", factor: 1e3 }, { name: "MB", factor: 1e6 }, { name: "GB", factor: 1e9 },
];
/** The base unit is the nanosecond. */
export const TIME: readonly Unit[] = [
  { name: "ns", factor: 1 }, { name: "us", factor: 1e3 }, { name: "ms", factor: 1e6 }, { name: "s", factor: 1e9 },
];

/** In the largest unit in which it is at least 1, exactly: a whole number of the base unit never loses a digit. */
export function written(value: number, units: readonly Unit[]): string {
  const fits = units.filter((unit) => value >= unit.factor);
  const unit = fits.at(-1) ?? units[0];
  if (unit === undefined) throw new Error("a quantity without units");
  return `${decimal(value / unit.factor)} ${unit.name}`;
}

/** Without an exponent and without the last digit's noise of a division. */
export function decimal(value: number): string {
  return String(Number(value.toPrecision(12)));
}

/** The value of "400 kB" in the base unit, or null. Spaces may be left out; a unit may not. */
export function read(text: string, units: readonly Unit[]): number | null {
  const found = /^\s*([0-9]{1,15}(?:\.[0-9]{1,9})?)\s*([A-Za-z/]{1,8})\s*$/.exec(text);
  if (found === null) return null;
  const [, number, name] = found;
  const unit = units.find((each) => each.name.toLowerCase() === name?.toLowerCase() || each.name.replace("bit/s", "bps") === name);
  if (unit === undefined) return null;
  const value = Number(number) * unit.factor;
  return Number.isSafeInteger(Math.round(value)) ? Math.round(value) : null;
}

/** To so many significant digits. */
export function rounded(value: number, digits: number): number {
  return value === 0 ? 0 : Number(value.toPrecision(digits));
}
