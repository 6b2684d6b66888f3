import { describe, expect, it } from "vitest";
import { inView, PAGE, Pages, pagesOf } from "../../../web/local/rows.ts";

describe("the rows in view", () => {
  it("are those of the window and some beside it", () => {
    expect(inView(0, 280, 28, 50_000)).toEqual([0, 20]);
    expect(inView(28 * 1000, 280, 28, 50_000)).toEqual([990, 1020]);
    expect(inView(28 * 49_990, 280, 28, 50_000)).toEqual([49_980, 49_999]);
    expect(inView(0, 280, 28, 3)).toEqual([0, 2]);
    expect(inView(28 * 1000, 280, 28, 0)).toEqual([0, 0]);
  });

  it("are asked for in pages, each once", async () => {
    const asked: number[] = [];
    const pages = new Pages<number>(async (first, count) => {
      asked.push(first);
      return Array.from({ length: count }, (_, place) => first + place);
    });
    expect(pagesOf(95, 205)).toEqual([0, 1, 2]);
    expect(await pages.need(95, 205)).toBe(true);
    expect(await pages.need(95, 205)).toBe(false);
    expect(asked).toEqual([0, PAGE, 2 * PAGE]);
    expect(pages.row(203)).toBe(203);
    expect(pages.row(303)).toBeUndefined();
  });

  it("are few, however far one scrolls", async () => {
    const pages = new Pages<number>(async (first, count) => Array.from({ length: count }, (_, place) => first + place));
    for (let first = 0; first < 50_000; first += PAGE) await pages.need(first, first + 20);
    const kept = Array.from({ length: 500 }, (_, page) => pages.row(page * PAGE)).filter((row) => row !== undefined);
    expect(kept.length).toBeLessThanOrEqual(42);
    expect(pages.row(49_910)).toBe(49_910);
  });

  it("are not shown where another question was asked meanwhile", async () => {
    const pages = new Pages<number>(async () => null);
    expect(await pages.need(0, 20)).toBe(false);
    expect(pages.row(0)).toBeUndefined();
  });
});
