// @ts-check
// Which rows of a table are shown, and in which order. Nothing here needs a browser.

export const LONG = 40;
/** More rows than `LONG` fold to as many as these. */
export const FOLDED = 12;

/**
 * Whether a row's text has every word of the filter.
 * @param {string} text
 * @param {string} asked
 */
export function matches(text, asked) {
  const lower = text.toLowerCase();
  return asked.toLowerCase().split(/\s+/).filter(Boolean).every((word) => lower.includes(word));
}

/**
 * How many rows of so many are shown.
 * @param {number} count
 * @param {boolean} open
 */
export function shown(count, open) {
  return open || count <= LONG ? count : FOLDED;
}

/**
 * What a filter came to, for the eye and for a screen reader.
 * @param {number} found
 * @param {number} all
 * @param {number} visible
 */
export function counted(found, all, visible) {
  const of = found === all ? `${all} runs` : `${found} of ${all} runs match`;
  return visible < found ? `${of}; ${visible} shown.` : `${of}.`;
}

/**
 * The order of the rows by one column's texts: by number where all are numbers, else in the order in which the lab has their
 * values. What is empty comes last when ascending.
 * @param {string[]} texts
 * @param {boolean} down
 * @returns {number[]}
 */
export function order(texts, down) {
  const bare = texts.map((text) => text.replace(/[\u202f\u00a0]/g, ""));
  const places = new Map();
  bare.forEach((text) => places.has(text) || places.set(text, places.size));
  const numeric = bare.every((text) => text === "" || !Number.isNaN(Number(text)));
  const keys = bare.map((text) => (text === "" ? Infinity : numeric ? Number(text) : places.get(text)));
  const by = (/** @type {number} */ a, /** @type {number} */ b) => (keys[a] === keys[b] ? 0 : keys[a] < keys[b] ? -1 : 1);
  return bare.map((_, number) => number).sort((a, b) => (down ? by(b, a) : by(a, b)) || a - b);
}
