// @ts-check
import assert from "node:assert/strict";
import test from "node:test";

import { inTwoLines, points, recoloured, stacked } from "#page/figures.js";

/** @import { Axis, Figure } from "#page/types.js" */

const axis = (/** @type {string} */ text, /** @type {object} */ more = {}) => ({ title: { text }, range: [0, 1], ...more });

/** @type {Figure} */
const TWO_PANELS = {
  data: [{ type: "scatter", x: [1], y: [0], xaxis: "x" }, { type: "scatter", x: [2], y: [0], xaxis: "x2" }],
  layout: {
    xaxis: axis("times as fast as the plain lab"), xaxis2: axis("sent again (% of payload)"), yaxis: axis(""),
    height: 300, categories: true, stackable: { around: 80, gap: 70 },
  },
};

test("colours of dark ground replace those of light, but no name is one", () => {
  const data = [{ type: "scatter", name: "#000", line: { color: "#000" }, x: [1, 2] }];
  assert.deepEqual(recoloured(data, { "#000": "#fff" }), [{ type: "scatter", name: "#000", line: { color: "#fff" }, x: [1, 2] }]);
});

test("a long title breaks before its unit, or at its middle", () => {
  assert.equal(inTwoLines("sent again (% of payload)"), "sent again<br>(% of payload)");
  assert.equal(inTwoLines("times as fast as the plain lab"), "times as fast as<br>the plain lab");
  assert.equal(inTwoLines("short"), "short");
});

test("panels that stand below each other keep their height and do not overlap", () => {
  const { layout, data } = stacked(TWO_PANELS);
  assert.deepEqual(data.map((trace) => trace.yaxis), ["y", "y2"]);
  const [above, below] = ["yaxis", "yaxis2"].map((name) => /** @type {Axis} */ (layout[name]).domain);
  assert.ok(Array.isArray(above) && Array.isArray(below));
  assert.ok(above[0] > below[1]);
  const all = Number(layout.height) - 80;
  assert.equal(Math.round((above[1] - above[0]) * all), 220);
});

test("a figure with one panel stays as it is", () => {
  const one = { data: [], layout: { xaxis: axis("x"), yaxis: axis("y"), height: 300, stackable: { around: 80, gap: 70 } } };
  assert.equal(stacked(one), one);
});

test("every point that stands for runs is listed in words", () => {
  const found = points({
    data: [{ type: "scatter", name: "as is", x: [30, 550], y: [19, 3.5], customdata: [["001"], []] }],
    layout: { xaxis: axis("RTT (ms)"), yaxis: axis("goodput (Mbit/s)") },
  });
  assert.deepEqual(found, [{ curve: 0, point: 0, runs: ["001"], words: "as is: RTT (ms) 30, goodput (Mbit/s) 19", subplot: "xy" }]);
});

test("every cell of a heat map is listed by its row and column", () => {
  const cells = {
    type: "heatmap", name: "goodput", xaxis: "x2",
    hovertext: [["loss 0: 19", "loss 1 %: 2"]], customdata: [[["001", "002"], ["003"]]],
  };
  const found = points({ data: [cells], layout: TWO_PANELS.layout });
  assert.deepEqual(found.map(({ point, runs, words }) => [point, runs, words]), [
    [[0, 0], ["001", "002"], "goodput: loss 0: 19"],
    [[0, 1], ["003"], "goodput: loss 1 %: 2"],
  ]);
});
