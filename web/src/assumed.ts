// What the settings mean beside what is set: the users, the pings, the first sizes of buffers, and the rates of the gateways.

import { hasGateway, type Settings } from "./settings.ts";

/** The users of the lab satellite-baselines: its assumptions about sizes and servers. */
export const USERS = { servers: 23, shape: 0.7, leastBytes: 500, mostBytes: 50_000_000, medianNs: 60_000_000, sigma: 0.8, jitterNs: 5_000_000 };
export const PING_INTERVAL_NS = 200_000_000;
const FIRST_RECEIVE_BYTES = 131_072;
const FIRST_SEND_BYTES = 16_384;
const LEAST_BUFFER_BYTES = 4096;

const buffers = (first: number, most: number) => [LEAST_BUFFER_BYTES, Math.min(first, most), most];
export const receiveBuffers = ({ receiveBuffer }: Settings) => buffers(FIRST_RECEIVE_BYTES, receiveBuffer);
export const sendBuffers = ({ sendBuffer }: Settings) => buffers(FIRST_SEND_BYTES, sendBuffer);
export const pings = ({ duration }: Settings) => Math.max(1, Math.floor(duration / PING_INTERVAL_NS));

/** Repair packets per packet. */
export function ratio(redundancy: Settings["redundancy"]): "adaptive" | number {
  if (redundancy === "adaptive") return redundancy;
  return redundancy === "none" ? 0 : Number.parseInt(redundancy, 10) / 100;
}

/** The rates of the gateways, down and up; null where they have none. */
export function gatewayRates(settings: Settings): { readonly down: number; readonly up: number } | null {
  if (!hasGateway(settings) || settings.law === "fair") return null;
  return { down: settings.gatewayRate > 0 ? settings.gatewayRate : settings.rateDown, up: settings.rateUp };
}
