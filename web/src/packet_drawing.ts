// Packets as tcptrace draws them: a segment is a tick from its first byte to its last with an arrowhead at both ends, below are the
// stairs of the acknowledgements, above those of the receiver's window, between them what is selectively acknowledged.

import type { Acknowledgement, Packet, Packets, Segment } from "./packets.ts";

/** Where a time and a byte lie on the picture, and how many of its pixels one of the page is. */
export interface Places {
  x(timeS: number): number;
  y(byte: number): number;
  readonly right: number;
  readonly left: number;
  readonly scale: number;
}

export type Colour = (name: string) => string;

/** What draws: a canvas, or what makes an SVG file. */
export type Pen = Pick<
  CanvasRenderingContext2D, "beginPath" | "moveTo" | "lineTo" | "closePath" | "stroke" | "fill" | "strokeStyle" | "fillStyle" | "lineWidth" | "lineJoin"
>;

const HEAD = 3;
/** A shorter segment has no arrowheads. */
const LEAST_HEADS = 4.5;
const DIAMOND = 4.5;
const LEAST_TICK = 2.5;
const SHORT_TICK = 2.5;

export function drawPackets(to: Pen, { all, before }: Packets, places: Places, colour: Colour): void {
  const acknowledgements = all.filter((it) => it.kind === "acknowledgement"), segments = all.filter((it) => it.kind === "segment");
  to.lineJoin = "miter";
  stairs(to, acknowledgements, before?.window ?? null, (it) => it.window, colour("--window"), 1, places);
  to.strokeStyle = colour("--ping");
  to.lineWidth = 2 * places.scale;
  for (const { timeS, blocks } of acknowledgements) for (const [start, end] of blocks) block(to, places.x(timeS), places.y(start), places.y(end), places.scale);
  stairs(to, acknowledgements, before?.upTo ?? null, (it) => it.upTo, colour("--cwnd"), 1.5, places);
  acknowledgementTicks(to, acknowledgements, colour("--cwnd"), places);
  to.strokeStyle = to.fillStyle = colour("--goodput");
  for (const it of segments) if (!it.again) segment(to, it, places, 1);
  to.strokeStyle = to.fillStyle = colour("--drops");
  for (const it of segments) if (it.again) retransmission(to, it, places, colour("--ground"));
}

/** With arrowheads; where there is no room for them, a dot. */
function segment(to: Pen, it: Segment, { x, y, scale }: Places, width: number): void {
  const at = x(it.timeS), bottom = y(it.start), top = Math.min(y(it.end), bottom - LEAST_TICK * scale), head = Math.min(HEAD * scale, (bottom - top) / 2);
  const isDot = bottom - top < LEAST_HEADS * scale;
  to.lineWidth = (isDot ? LEAST_TICK : width) * scale;
  to.beginPath();
  to.moveTo(at, bottom);
  to.lineTo(at, top);
  to.stroke();
  if (isDot) return;
  to.beginPath();
  for (const [tip, back] of [[bottom, bottom - head], [top, top + head]] as const) {
    to.moveTo(at, tip);
    to.lineTo(at - head * 0.8, back);
    to.lineTo(at + head * 0.8, back);
    to.closePath();
  }
  to.fill();
}

/** Another shape than a segment's, for those who do not tell the colours apart. */
function retransmission(to: Pen, it: Segment, places: Places, ground: string): void {
  segment(to, it, places, 2);
  const at = places.x(it.timeS), middle = (places.y(it.start) + places.y(it.end)) / 2, size = DIAMOND * places.scale;
  to.beginPath();
  to.moveTo(at, middle - size);
  to.lineTo(at + size, middle);
  to.lineTo(at, middle + size);
  to.lineTo(at - size, middle);
  to.closePath();
  const filled = to.fillStyle;
  to.fillStyle = ground;
  to.fill();
  to.fillStyle = filled;
  to.lineWidth = 1.5 * places.scale;
  to.stroke();
}

function block(to: Pen, at: number, bottom: number, top: number, scale: number): void {
  const cap = SHORT_TICK * scale;
  to.beginPath();
  to.moveTo(at, bottom);
  to.lineTo(at, Math.min(top, bottom - LEAST_TICK * scale));
  to.moveTo(at - cap, top);
  to.lineTo(at + cap, top);
  to.stroke();
}

/** From the level before, if it is known, to the end of what is shown. */
function stairs(
  to: Pen, all: readonly Acknowledgement[], before: number | null, value: (it: Acknowledgement) => number, stroke: string, width: number, { x, y, left, right, scale }: Places,
): void {
  let level = before;
  to.strokeStyle = stroke;
  to.lineWidth = width * scale;
  to.beginPath();
  if (level !== null) to.moveTo(left, y(level));
  for (const it of all) {
    const at = x(it.timeS);
    if (level === null) to.moveTo(at, y(value(it)));
    else to.lineTo(at, y(level));
    level = value(it);
    to.lineTo(at, y(level));
  }
  if (level !== null) to.lineTo(right, y(level));
  to.stroke();
}

/** One for each, so that those that acknowledge nothing new are seen. */
function acknowledgementTicks(to: Pen, all: readonly Acknowledgement[], stroke: string, { x, y, scale }: Places): void {
  to.strokeStyle = stroke;
  to.lineWidth = scale;
  to.beginPath();
  for (const it of all) {
    to.moveTo(x(it.timeS), y(it.upTo));
    to.lineTo(x(it.timeS), y(it.upTo) + 2 * SHORT_TICK * scale);
  }
  to.stroke();
}

/** The place of the packet that is drawn nearest to a point; -1 of none. */
export function nearest(all: readonly Packet[], atX: number, atY: number, { x, y }: Pick<Places, "x" | "y">): number {
  let found = -1, least = Number.POSITIVE_INFINITY;
  all.forEach((it, place) => {
    const [bottom, top] = it.kind === "segment" ? [y(it.start), y(it.end)] : [y(it.upTo), y(it.upTo)];
    const distance = (x(it.timeS) - atX) ** 2 + Math.max(0, atY - bottom, top - atY) ** 2;
    if (distance < least) [found, least] = [place, distance];
  });
  return found;
}
