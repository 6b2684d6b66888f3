// Draws as a canvas does, and makes a path of each line and each area.

import type { Pen } from "./packet_drawing.ts";

type Style = Pen["strokeStyle"];

export class SvgPen implements Pen {
  strokeStyle: Style = "none";
  fillStyle: Style = "none";
  lineWidth = 1;
  lineJoin: CanvasLineJoin = "miter";
  readonly #write: (path: Readonly<Record<string, string | number>>) => void;
  #steps = "";

  constructor(write: (path: Readonly<Record<string, string | number>>) => void) {
    this.#write = write;
  }

  beginPath(): void {
    this.#steps = "";
  }

  moveTo(x: number, y: number): void {
    this.#steps += `M${x.toFixed(2)} ${y.toFixed(2)}`;
  }

  lineTo(x: number, y: number): void {
    this.#steps += `L${x.toFixed(2)} ${y.toFixed(2)}`;
  }

  closePath(): void {
    this.#steps += "Z";
  }

  stroke(): void {
    this.#drawn({ fill: "none", stroke: String(this.strokeStyle), "stroke-width": this.lineWidth, "stroke-linejoin": this.lineJoin });
  }

  fill(): void {
    this.#drawn({ fill: String(this.fillStyle) });
  }

  /** Nothing is drawn of a path without a line. */
  #drawn(style: Readonly<Record<string, string | number>>): void {
    if (this.#steps.includes("L")) this.#write({ ...style, d: this.#steps });
  }
}
