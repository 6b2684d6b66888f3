// @ts-check
import assert from "node:assert/strict";
import test from "node:test";

import { indented } from "#page/json_text.js";

test("JSON is written as JSON.stringify would indent it", () => {
  const value = { a: [1, { b: "x, {y}: \"z\" \\" }, [], {}], c: null };
  assert.equal(indented(JSON.stringify(value)), JSON.stringify(value, null, 2));
});

test("an integer beyond 2^53 keeps its digits", () => {
  assert.equal(indented('{"seed":18446744073709551615}'), '{\n  "seed": 18446744073709551615\n}');
});
