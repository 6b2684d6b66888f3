// @ts-check
// Unpacks what the page holds compressed: report/packing.py and report/packed_columns.py pack it.

const POWERS = [1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12];

/**
 * @param {string} text base64 of a zlib stream
 * @returns {Promise<Uint8Array<ArrayBuffer>>}
 */
export async function inflated(text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/**
 * @param {string} text base64 of a zlib stream
 * @returns {Promise<any>} what was packed
 */
export async function unpacked(text) {
  const bytes = await inflated(text);
  const end = bytes.indexOf(10);
  const [value, pool] = JSON.parse(new TextDecoder().decode(bytes.subarray(0, end)));
  const held = withColumns(pool, bytes.subarray(end + 1));
  /** @param {any} of @returns {any} */
  const put = (of) => {
    if (Array.isArray(of)) return of.map(put);
    if (of === null || typeof of !== "object") return of;
    if (Object.hasOwn(of, "$")) return held[of.$];
    return Object.fromEntries(Object.entries(of).map(([key, inner]) => [key, put(inner)]));
  };
  return put(value);
}

/**
 * The pool with its columns read, in order.
 * @param {any[]} pool
 * @param {Uint8Array} bytes
 */
function withColumns(pool, bytes) {
  let at = 0;
  // Sums, not shifts: a code may have more than 32 bits.
  const next = () => {
    let code = 0, weight = 1;
    for (;;) {
      const byte = bytes[at++];
      if (byte === undefined) throw new Error("a packed column ends too early");
      code += (byte & 127) * weight;
      if (byte < 128) return code;
      weight *= 128;
    }
  };
  return pool.map((each) => {
    const head = each !== null && typeof each === "object" && !Array.isArray(each) ? each["#"] : undefined;
    return head === undefined ? each : column(head, next);
  });
}

/**
 * @param {[number, number, number]} head length, decimal places, whether it has gaps
 * @param {() => number} next
 */
function column([length, places, gaps], next) {
  const power = POWERS[places] ?? 1;
  /** @type {(number | null)[]} */
  const values = new Array(length);
  let whole = 0;
  for (let number = 0; number < length; number++) {
    const code = next();
    if (gaps && code === 0) {
      values[number] = null;
      continue;
    }
    const zigzag = code - gaps;
    whole += zigzag % 2 ? -(zigzag + 1) / 2 : zigzag / 2;
    values[number] = whole / power;
  }
  return values;
}
