import { expect, test } from "vitest";
import { target } from "../../web/src/group_links.ts";

test("arrow keys go round, Home and End to the ends, and other keys nowhere", () => {
  expect(["ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp", "Home", "End", "Tab", "Enter"].map((key) => target(key, 1, 3))).toEqual([2, 2, 0, 0, 0, 2, null, null]);
  expect([target("ArrowRight", 2, 3), target("ArrowLeft", 0, 3)]).toEqual([0, 2]);
});
