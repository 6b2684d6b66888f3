// @ts-check
import assert from "node:assert/strict";
import test from "node:test";

import { counted, FOLDED, LONG, matches, order, shown } from "#page/rows.js";

test("numbers are sorted as numbers, with what is missing at the end", () => {
  assert.deepEqual(order(["10", "9", "", "1\u202f000"], false), [1, 0, 3, 2]);
  assert.deepEqual(order(["10", "9", "", "1\u202f000"], true), [2, 3, 0, 1]);
});

test("texts keep the order in which the lab has them", () => {
  assert.deepEqual(order(["5 ms", "30 ms", "5 ms", "150 ms"], false), [0, 2, 1, 3]);
  assert.deepEqual(order(["5 ms", "30 ms", "5 ms", "150 ms"], true), [3, 1, 0, 2]);
});

test("a row matches when it has every word", () => {
  assert.ok(matches("550 ms BBR down", "bbr 550"));
  assert.ok(!matches("550 ms BBR down", "bbr up"));
  assert.ok(matches("anything", "  "));
});

test("a table of forty rows is whole, one of forty-one folds until it is opened", () => {
  assert.equal(shown(LONG, false), LONG);
  assert.equal(shown(LONG + 1, false), FOLDED);
  assert.equal(shown(LONG + 1, true), LONG + 1);
});

test("a filter's count says what is found and what is shown of it", () => {
  assert.equal(counted(300, 300, 300), "300 runs.");
  assert.equal(counted(7, 300, 7), "7 of 300 runs match.");
  assert.equal(counted(90, 300, 12), "90 of 300 runs match; 12 shown.");
});
