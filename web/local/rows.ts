// The rows of a long list that are in view, fetched in pages and kept as far as they may be looked at again.

export const PAGE = 100;
const MOST_PAGES = 40;

/** The pages that hold these rows. */
export function pagesOf(first: number, last: number): number[] {
  const from = Math.max(0, Math.floor(first / PAGE)), to = Math.max(from, Math.floor(last / PAGE));
  return Array.from({ length: to - from + 1 }, (_, place) => from + place);
}

/** The first and the last row that a window shows, with some before and behind. */
export function inView(top: number, height: number, row: number, total: number, beside = 10): [number, number] {
  const first = Math.max(0, Math.floor(top / row) - beside);
  return [Math.min(first, Math.max(total - 1, 0)), Math.min(Math.max(total - 1, 0), Math.ceil((top + height) / row) + beside)];
}

/** Browsers have no element that is higher than some 16 million pixels: 50 000 rows are below it. */
export class Pages<T> {
  readonly #pages = new Map<number, readonly T[]>();
  readonly #asked = new Set<number>();
  readonly #fetch: (first: number, count: number) => Promise<readonly T[] | null>;

  /** `fetch` gives null where what it asked for is no longer wanted. */
  constructor(fetch: (first: number, count: number) => Promise<readonly T[] | null>) {
    this.#fetch = fetch;
  }

  row(at: number): T | undefined {
    return this.#pages.get(Math.floor(at / PAGE))?.[at % PAGE];
  }

  clear(): void {
    this.#pages.clear();
    this.#asked.clear();
  }

  /** True where something came that was not there. */
  async need(first: number, last: number): Promise<boolean> {
    const missing = pagesOf(first, last).filter((page) => !this.#pages.has(page) && !this.#asked.has(page));
    const came = await Promise.all(missing.map(async (page) => {
      this.#asked.add(page);
      try {
        const rows = await this.#fetch(page * PAGE, PAGE);
        if (rows !== null) this.#pages.set(page, rows);
        return rows !== null;
      } finally {
        this.#asked.delete(page);
      }
    }));
    for (const page of this.#pages.keys()) {
      if (this.#pages.size <= MOST_PAGES) break;
      if (page * PAGE > last || (page + 1) * PAGE <= first) this.#pages.delete(page);
    }
    return came.some(Boolean);
  }
}
