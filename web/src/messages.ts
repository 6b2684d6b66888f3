// What the page and its worker tell each other.

import type { Request } from "./request.ts";
import type { Outcome } from "./simulator.ts";

export interface Ask {
  readonly id: number;
  readonly request: Request;
  /** How long it may take; without it, as long as it takes. */
  readonly budgetMs: number | null;
}

export type Answer =
  | { readonly kind: "ready" }
  | { readonly kind: "progress"; readonly id: number; readonly nowS: number }
  | { readonly kind: "outcome"; readonly id: number; readonly outcome: Outcome; readonly whole: boolean; readonly tookMs: number }
  | { readonly kind: "error"; readonly id: number | null; readonly message: string };
