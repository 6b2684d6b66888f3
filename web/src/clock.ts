// The time that the picture and the charts show: played, scrubbed with a slider, or hovered in a chart.

import { element, say } from "./elements.ts";

/** A whole run plays in so many seconds. */
const PLAYS_S = 20;
/** Without motion it goes on in steps of so many seconds of the reader's. */
const STEP_S = 1;

export class Clock {
  readonly #onTime: (timeS: number) => void;
  readonly #button = element("button", { type: "button", id: "play" }, "Play");
  readonly #slider = element("input", { type: "range", id: "time", min: "0", step: "0.1", value: "0", "aria-label": "Time in the run" });
  readonly #output = element("output", { for: "time", "aria-live": "off" });
  #lengthS = 1;
  #timeS: number | null = null;
  #playing = false;

  constructor(into: HTMLElement, onTime: (timeS: number) => void) {
    this.#onTime = onTime;
    into.append(this.#button, this.#slider, this.#output);
    this.#button.addEventListener("click", () => (this.#playing ? this.stop() : this.#play()));
    this.#slider.addEventListener("input", () => {
      this.stop();
      this.set(Number(this.#slider.value));
    });
  }

  get timeS(): number {
    return this.#timeS ?? 0;
  }

  /** Of the run that is shown. The first is shown in its middle. */
  length(seconds: number): void {
    this.#lengthS = seconds;
    this.#slider.max = String(seconds);
    this.set(this.#timeS ?? seconds / 2);
  }

  set(timeS: number): void {
    const within = Math.min(Math.max(0, timeS), this.#lengthS), words = `${within.toFixed(1)} s`;
    this.#timeS = within;
    this.#slider.value = String(within);
    this.#slider.setAttribute("aria-valuetext", words);
    say(this.#output, words);
    this.#onTime(within);
  }

  stop(): void {
    this.#playing = false;
    this.#button.textContent = "Play";
  }

  #play(): void {
    this.#playing = true;
    this.#button.textContent = "Pause";
    if (this.timeS >= this.#lengthS) this.set(0);
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    let before = performance.now();
    const step = (now: number) => {
      if (!this.#playing) return;
      const elapsedS = (now - before) / 1000;
      if (!still || elapsedS >= STEP_S) {
        before = now;
        this.set(this.timeS + (elapsedS * this.#lengthS) / PLAYS_S);
      }
      if (this.timeS >= this.#lengthS) this.stop();
      else requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }
}
