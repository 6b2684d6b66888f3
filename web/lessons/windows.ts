// Lessons on windows and buffers.

import { cell, type Lesson } from "./lesson.ts";

/** As the published figures of one lab are written. */
const kib = (mbitS: number) => `${Math.round((mbitS * 1e6) / 8 / 1024)} KiB/s`;

const SMALL = { receiveBuffer: 655_360, sendBuffer: 655_360 };
const GEO = { rateDown: 16e6, rateUp: 16e6, rtt: 550e6, queue: 1.1e6 };
const OCEANS = { rateDown: 20e6, rateUp: 20e6, rtt: 411e6, queue: 1_027_500, duration: 60e9 };
const LAN = { rateDown: 1e9, rateUp: 1e9, queue: 50e6, duration: 30e9 };

export const WINDOWS: readonly Lesson[] = [
  {
    page: "effects-of-latency",
    title: "Why is the same line slower when the server is far away?",
    question: "Two hosts, a line of 1 Gbit/s, one TCP connection. The line does not change; only the round trip does. Why does the throughput fall?",
    controls: ["rtt", "sendBuffer", "receiveBuffer", "congestionControl"],
    charts: ["throughput", "windows"],
    tries: {
      "550 ms": { ...LAN, rtt: 550e6 },
      "150 ms": { ...LAN, rtt: 150e6 },
      "30 ms": { ...LAN, rtt: 30e6, duration: 4e9 },
      "550 ms, four times the send buffer": { ...LAN, rtt: 550e6, sendBuffer: 16_777_216 },
    },
    figures: ["goodputMbitS", "retransmitted"],
    look: (it) => [
      `In the window chart the data in flight grow, and then stay flat although nothing is lost. From then on the sender waits once per round trip.`,
      `The goodput is ${it.text("30 ms", "goodputMbitS")} at 30 ms, ${it.text("150 ms", "goodputMbitS")} at 150 ms and ${it.text("550 ms", "goodputMbitS")} at 550 ms.`,
      `With four times the send buffer at 550 ms it is ${it.text("550 ms, four times the send buffer", "goodputMbitS")}. The line was never the limit.`,
    ],
    why: () => "A sender may have one window in flight per round trip, so its rate is window / round trip. Linux's send buffer grows to 4 MB by default, "
      + "including overhead, and data stay in it until they are acknowledged. At 550 ms slow start also takes seconds, because the window doubles only once per round trip.",
    claims: (it) => ({
      "throughput falls as the round trip grows": it.value("30 ms", "goodputMbitS") > it.value("150 ms", "goodputMbitS")
        && it.value("150 ms", "goodputMbitS") > 2 * it.value("550 ms", "goodputMbitS"),
      "a larger send buffer helps": it.value("550 ms, four times the send buffer", "goodputMbitS") > 1.5 * it.value("550 ms", "goodputMbitS"),
      "nothing is lost at 550 ms": it.value("550 ms", "retransmitted") === 0,
    }),
    published: {
      key: "effects-of-latency",
      says: "two virtual machines had 34.7 Mbit/s at 550.2 ms, 136 at 150.1 ms and 323 at 30.0 ms, sent from the client by iperf3.",
    },
    kernel: [
      { page: "labs/effects-of-latency.md", quote: "| 550 ms | 34.0 | 34.7 | 33.5 | 11 |", says: "At 550 ms Linux 6.18 carried 34.0 Mbit/s up and 33.5 down, in that lab with a faster line and a shorter queue, which lost packets." },
      { page: "labs/effects-of-latency.md", quote: "| 150 ms | 153 | 136 | 141 | 32.2 |", says: "At 150 ms it carried 153 Mbit/s up and 141 down, less than the simulator gives." },
    ],
  },
  {
    page: "intercontinental-tuning",
    title: "What made a transfer across two oceans five times as fast?",
    question: "A server in Hungary can send 20 Mbit/s. A client in Singapore, 411 ms away, gets less than a tenth of that. Is the line bad?",
    controls: ["windowScaling", "receiveBuffer", "sendBuffer", "streams", "rtt"],
    charts: ["throughput", "windows"],
    tries: {
      "a window of 64 KiB": { ...OCEANS, windowScaling: "off" },
      "buffers of 640 KiB": { ...OCEANS, receiveBuffer: 655_360, sendBuffer: 655_360 },
      "today's buffers": OCEANS,
      "a window of 64 KiB, eight streams": { ...OCEANS, windowScaling: "off", streams: 8 },
    },
    figures: ["goodputMbitS", "queueKb"],
    look: (it) => [
      `The receive window is a flat line, and the data in flight reach it. With 64 KiB the goodput is ${it.text("a window of 64 KiB", "goodputMbitS")}, that is ${kib(it.value("a window of 64 KiB", "goodputMbitS"))}.`,
      `With buffers of 640 KiB it is ${it.text("buffers of 640 KiB", "goodputMbitS")} (${kib(it.value("buffers of 640 KiB", "goodputMbitS"))}), with the buffers of today's Linux ${it.text("today's buffers", "goodputMbitS")}.`,
      `Eight connections with small windows carry ${it.text("a window of 64 KiB, eight streams", "goodputMbitS")}: each adds a window.`,
    ],
    why: () => "The windows were the only limit. One window crosses per round trip, at any line rate. The cure is a buffer of twice the BDP at both ends, "
      + "or several connections at once. Today's Linux grows its buffers by itself, unless the program sets their size.",
    claims: (it) => ({
      "64 KiB give less than a tenth of the line": it.value("a window of 64 KiB", "goodputMbitS") < 2,
      "640 KiB give more than five times that": it.value("buffers of 640 KiB", "goodputMbitS") > 5 * it.value("a window of 64 KiB", "goodputMbitS"),
      "eight streams carry about eight windows": Math.abs(it.value("a window of 64 KiB, eight streams", "goodputMbitS") / it.value("a window of 64 KiB", "goodputMbitS") - 8) < 1,
    }),
    published: { key: "intercontinental-tuning", says: "175 KiB/s with the defaults, 512 KiB/s with larger windows, and 960 to 1011 KiB/s after tuning, over 411 ms." },
    kernel: [
      { page: "labs/intercontinental-tuning.md", quote: "| windows of 64 KiB | 153 | 155 | 175 | 0 / 0 |", says: "With windows of 64 KiB Linux 6.18 carried 155 KiB/s." },
      { page: "labs/intercontinental-tuning.md", quote: "| windows of 640 KiB | 912 (904 – 922) | 904 | 960 – 1011 | 0 / 0 |", says: "With windows of 640 KiB it carried 904 KiB/s." },
      { page: "labs/intercontinental-tuning.md", quote: "| as is | 2336 (2335 – 2336) | 2337 |", says: "With its own buffers it carried 2337 KiB/s." },
    ],
  },
  {
    page: "window-64-kib",
    title: "Why is 64 KiB slow?",
    question: "An old device, or a firewall that removes an option, leaves TCP without window scaling. What does that cost on a line of 50 Mbit/s?",
    controls: ["windowScaling", "rtt", "rateDown", "streams"],
    charts: ["throughput", "windows"],
    tries: {
      "without window scaling": { windowScaling: "off", rtt: 100e6, queue: 625e3, duration: 20e9 },
      "with window scaling": { rtt: 100e6, queue: 625e3, duration: 20e9 },
      "without, 10 ms": { windowScaling: "off", rtt: 10e6, queue: 625e3, duration: 20e9 },
    },
    figures: ["goodputMbitS", "pingMs"],
    look: (it) => [
      `The receive window never rises above 64 KiB. The goodput is ${it.text("without window scaling", "goodputMbitS")}; with scaling it is ${it.text("with window scaling", "goodputMbitS")}.`,
      `The line is fine: pings take as long as on an idle line. Over 10 ms the same window carries ${it.text("without, 10 ms", "goodputMbitS")}.`,
    ],
    why: () => "The window field of TCP has 16 bits. Without window scaling (RFC 7323) at most 65 535 bytes may be in flight: 5.2 Mbit/s over 100 ms, on any line. "
      + "`bentpipe doctor` calls it `receiver-window`.",
    claims: (it) => ({
      "without scaling it stays below 65 535 bytes per round trip": it.value("without window scaling", "goodputMbitS") < 5.25,
      "scaling makes it several times as fast": it.value("with window scaling", "goodputMbitS") > 5 * it.value("without window scaling", "goodputMbitS"),
      "a tenth of the round trip makes it several times as fast": it.value("without, 10 ms", "goodputMbitS") > 5 * it.value("without window scaling", "goodputMbitS"),
      "pings do not wait": it.value("without window scaling", "pingMs") < 115,
    }),
    published: { key: "intercontinental-tuning", says: "175 KiB/s over 411 ms, with the default window of a receiver." },
    kernel: [
      { page: "labs/intercontinental-tuning.md", quote: "| windows of 64 KiB | 153 | 155 | 175 | 0 / 0 |", says: "Over the round trip of that lab Linux 6.18 carried 155 KiB/s with windows of 64 KiB." },
    ],
  },
  {
    page: "send-buffer",
    title: "When is the sender's own buffer the limit?",
    question: "A server's send buffer may grow to 640 KiB. The line has 100 Mbit/s. What does a client 600 ms away get?",
    controls: ["sendBuffer", "receiveBuffer", "rtt", "congestionControl"],
    charts: ["throughput", "windows"],
    tries: {
      "both buffers 640 KiB": cell(100, 600, 1, SMALL),
      "a send buffer of 640 KiB": cell(100, 600, 1, { sendBuffer: 655_360 }),
      "both 64 MiB": cell(100, 600, 1, { receiveBuffer: 67_108_864, sendBuffer: 67_108_864 }),
    },
    figures: ["goodputMbitS", "retransmitted"],
    look: (it) => [
      `The goodput is ${it.text("both buffers 640 KiB", "goodputMbitS")}. If only the send buffer is small it is ${it.text("a send buffer of 640 KiB", "goodputMbitS")}: `
      + "the receive window is then far above the data in flight.",
      "The data in flight sometimes exceed 640 KiB, in Linux and in the simulator: while bursts are small, waiting data are added to the last buffer without a check of the memory.",
      `With 64 MiB at both ends it is ${it.text("both 64 MiB", "goodputMbitS")}.`,
    ],
    why: () => "Data stay in the send buffer until they are acknowledged, a round trip later. So the buffer limits the data in flight, though not exactly. A program that sets SO_SNDBUF "
      + "switches Linux's autotuning off. `bentpipe doctor` calls it `send-buffer`. In contrast to `receiver-window`, there is free room in the receive window.",
    claims: (it) => ({
      "a small send buffer limits on its own": it.value("a send buffer of 640 KiB", "goodputMbitS") < 0.2 * it.value("both 64 MiB", "goodputMbitS"),
      "nothing is lost while buffers limit": it.value("both buffers 640 KiB", "retransmitted") === 0 && it.value("a send buffer of 640 KiB", "retransmitted") === 0,
    }),
    kernel: [{ cell: "cubic_100M_600ms_1bdp_small-buffers", is: "both buffers 640 KiB" }, { cell: "cubic_100M_600ms_1bdp_large-buffers", is: "both 64 MiB" }],
  },
  {
    page: "slow-start-geo",
    title: "Why are short downloads slow over a satellite?",
    question: "At the link's rate, a file of 1 MB over a GEO link of 16 Mbit/s would need half a second and a round trip. How long does it take?",
    controls: ["size", "rtt", "rateDown", "congestionControl", "between"],
    charts: ["throughput", "windows"],
    tries: {
      "1 MB over GEO": { ...GEO, size: 1e6, duration: 15e9 },
      "1 MB over LEO": { ...GEO, rtt: 40e6, size: 1e6, duration: 15e9 },
      "1 MB over GEO, ten times the rate": { ...GEO, rateDown: 160e6, queue: 11e6, size: 1e6, duration: 15e9 },
      "1 MB over GEO, gateways": { ...GEO, size: 1e6, duration: 15e9, between: "gateway" },
    },
    figures: ["downloadS"],
    look: (it) => [
      `It is complete after ${it.text("1 MB over GEO", "downloadS")}. cwnd begins with ten segments and doubles once per round trip: watch the steps of 550 ms.`,
      `Ten times the rate hardly helps: ${it.text("1 MB over GEO, ten times the rate", "downloadS")}. A shorter path helps: ${it.text("1 MB over LEO", "downloadS")} over LEO.`,
      "The first three round trips are the handshake and iperf3's own messages before the data. At the end the server continues to send until it learns that the client has all data.",
      `Gateways that know the link's rate need no slow start across it: ${it.text("1 MB over GEO, gateways", "downloadS")}.`,
    ],
    why: () => "TCP begins with ten segments and waits for their ACKs. Each doubling takes one round trip, so a short file ends before the window has grown to the BDP. "
      + "`bentpipe doctor` calls it `slow-start`.",
    claims: (it) => ({
      "ten times the rate saves less than a quarter": it.value("1 MB over GEO, ten times the rate", "downloadS") > 0.75 * it.value("1 MB over GEO", "downloadS"),
      "LEO is at least three times as fast": 3 * it.value("1 MB over LEO", "downloadS") < it.value("1 MB over GEO", "downloadS"),
      "gateways are faster": it.value("1 MB over GEO, gateways", "downloadS") < it.value("1 MB over GEO", "downloadS"),
    }),
    kernel: [],
  },
];
