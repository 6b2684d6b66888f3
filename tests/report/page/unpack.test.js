// @ts-check
import assert from "node:assert/strict";
import test from "node:test";
import { deflateSync } from "node:zlib";

import { unpacked } from "#page/unpack.js";

const packed = (/** @type {unknown} */ value, /** @type {unknown[]} */ pool, /** @type {number[]} */ codes = []) =>
  deflateSync(Buffer.concat([Buffer.from(`${JSON.stringify([value, pool])}\n`), Buffer.from(codes)])).toString("base64");

test("what is held once comes out wherever it is pointed at", async () => {
  assert.deepEqual(await unpacked(packed([{ a: { $: 0 } }, { $: 0 }], ["words"])), [{ a: "words" }, "words"]);
});

test("a column is read by its differences, decimal places and gaps", async () => {
  assert.deepEqual(await unpacked(packed({ $: 0 }, [{ "#": [4, 1, 0] }], [20, 1, 0, 4])), [1, 0.9, 0.9, 1.1]);
  assert.deepEqual(await unpacked(packed({ $: 0 }, [{ "#": [3, 0, 1] }], [5, 0, 6])), [2, null, -1]);
});

test("a code of more than 32 bits is exact", async () => {
  // 2^40 has the zigzag code 2^41: five bytes of zeros, then bit 41 - 35 = 6.
  assert.deepEqual(await unpacked(packed({ $: 0 }, [{ "#": [1, 0, 0] }], [128, 128, 128, 128, 128, 64])), [2 ** 40]);
});

test("columns are read one after the other", async () => {
  const pool = [{ "#": [2, 0, 0] }, "words", { "#": [1, 2, 0] }];
  assert.deepEqual(await unpacked(packed([{ $: 2 }, { $: 0 }], pool, [2, 2, 150, 1])), [[0.75], [1, 2]]);
});

test("a column that ends too early is an error", async () => {
  await assert.rejects(unpacked(packed({ $: 0 }, [{ "#": [2, 0, 0] }], [2])), /too early/);
});
