// Lessons on loss, reordering, and what repairs them.

import { cell, type Lesson } from "./lesson.ts";

const FILE = { rateDown: 1e9, rateUp: 1e9, rtt: 100e6, queue: 50e6, jitter: 5e6, reorder: "on", delayLine: 1000, loss: 1e-5, duration: 60e9, size: 100e6 } as const;
const LEO = { rateDown: 100e6, rateUp: 10e6, rtt: 40e6, queue: 500e3, duration: 40e9 };
const LOSSY = { ...cell(16, 100, 1), loss: 0.03 };

export const LOSSES: readonly Lesson[] = [
  {
    page: "high-latency-lab",
    title: "What does TCP do without SACK when many packets are lost at once?",
    question: "A file of 100 MB crosses a path of 100 ms with jitter. A router's delay line holds 1000 packets. Why does the file take so long, and much longer without SACK?",
    controls: ["sack", "delayLine", "reorder", "jitter", "size"],
    charts: ["throughput", "windows", "drops"],
    tries: {
      "with SACK": FILE,
      "without SACK": { ...FILE, sack: "off" },
      "with SACK, no limit on the line": { ...FILE, delayLine: 0 },
      "with SACK, order kept": { ...FILE, reorder: "off" },
    },
    figures: ["downloadS", "goodputMbitS", "lostPackets", "retransmitted"],
    overSeeds: ["with SACK"],
    look: (it) => [
      `The drops come in a burst a second after the start, when slow start has more than 1000 packets in one direction. The delay line drops ${it.text("with SACK", "lostPackets")}, `
      + `and ${it.text("with SACK", "retransmitted")} are sent again: because of reordering, some late packets look lost.`,
      `With SACK the file takes ${it.text("with SACK", "downloadS")}. The number of drops is random: over five seeds it takes ${it.range("with SACK", "downloadS")}. `
      + `Without SACK it is not complete after 60 s: the line carries ${it.text("without SACK", "goodputMbitS")}.`,
      `Without the line's limit the file takes ${it.text("with SACK, no limit on the line", "downloadS")}; with the limit and packets in order ${it.text("with SACK, order kept", "downloadS")}. `
      + "So the limit is the cause, with and without reordering.",
    ],
    why: () => "Without SACK the sender learns of one lost packet per round trip. Hundreds of lost packets then take hundreds of round trips. With SACK it learns of all at once.",
    claims: (it) => ({
      "the limit of the line costs time": it.value("with SACK", "downloadS") > 1.5 * it.value("with SACK, no limit on the line", "downloadS"),
      "without SACK it is not complete": Number.isNaN(it.value("without SACK", "downloadS")),
      "more are sent again than are lost": it.value("with SACK", "retransmitted") > it.value("with SACK", "lostPackets"),
      "without SACK it carries less than half": it.value("without SACK", "goodputMbitS") < 0.5 * it.value("with SACK", "goodputMbitS"),
      "it does with packets in order, too": it.value("with SACK, order kept", "downloadS") > 1.5 * it.value("with SACK, no limit on the line", "downloadS"),
    }),
    published: { key: "high-latency-lab", says: "a fetch of 104857601 bytes took 25.087 to 38.561 s, and 73.612 to 133.774 s without SACK." },
    kernel: [
      { page: "labs/high-latency-lab.md", quote: "| as is | 9.69 (8.06 – 10.3) | 9.22 (7.89 – 14.2) |", says: "In the lab of that experiment Linux 6.18 took 9.22 s in the median (7.89 to 14.2)." },
      {
        page: "labs/high-latency-lab.md", quote: "| SACK and DSACK off | 85.5 (70.1 – 116) | [155 (100 – 231)] |",
        says: "Without SACK it took 155 s (100 to 231), in a run that was marked unreliable.",
      },
    ],
  },
  {
    page: "one-percent-loss",
    title: "What does 1 % loss cost?",
    question: "A radio link of 50 Mbit/s loses one packet in a hundred. How much of the rate can one download use?",
    controls: ["loss", "rtt", "congestionControl", "streams", "between"],
    charts: ["throughput", "windows", "drops"],
    tries: {
      "1 %, 50 ms": cell(50, 50, 1, { loss: 0.01 }),
      "1 %, 300 ms": cell(50, 300, 1, { loss: 0.01 }),
      "1 %, 50 ms, BBR": cell(50, 50, 1, { loss: 0.01, congestionControl: "bbr" }),
      "0.01 %, 50 ms": cell(50, 50, 1, { loss: 0.0001 }),
    },
    figures: ["goodputMbitS", "retransmitted"],
    look: (it) => [
      `The goodput is ${it.text("1 %, 50 ms", "goodputMbitS")} over 50 ms, and ${it.text("1 %, 300 ms", "goodputMbitS")} over 300 ms. With a hundredth of the loss it is ${it.text("0.01 %, 50 ms", "goodputMbitS")}.`,
      "With 1 % of loss cwnd never grows beyond some tens of kB: each loss reduces it, and it needs many round trips to grow back.",
      `BBR does not slow down for this loss: ${it.text("1 %, 50 ms, BBR", "goodputMbitS")}.`,
    ],
    why: () => "Reno and CUBIC treat each loss as a full queue. Their rate is about MSS / (round trip × √loss) (Mathis 1997), so loss costs more on a longer path. "
      + "`bentpipe doctor` calls it `random-loss`.",
    claims: (it) => ({
      "less than a tenth of the line is used": it.value("1 %, 50 ms", "goodputMbitS") < 5,
      "a longer path is slower": it.value("1 %, 300 ms", "goodputMbitS") < 0.5 * it.value("1 %, 50 ms", "goodputMbitS"),
      "BBR uses most of it": it.value("1 %, 50 ms, BBR", "goodputMbitS") > 40,
    }),
    kernel: [
      { cell: "cubic_50M_50ms_1bdp_loss0.01", is: "1 %, 50 ms" }, { cell: "cubic_50M_300ms_1bdp_loss0.01", is: "1 %, 300 ms" },
      { cell: "bbr_50M_50ms_1bdp_loss0.01", is: "1 %, 50 ms, BBR" },
    ],
  },
  {
    page: "reordering",
    title: "When does TCP treat a late packet as lost?",
    question: "A path delivers packets out of order but loses none. Does a download notice?",
    controls: ["jitter", "reorder", "sack", "congestionControl", "rtt"],
    charts: ["throughput", "windows", "drops"],
    tries: {
      "jitter of 5 ms that reorders": cell(10, 100, 1, { jitter: 5e6, reorder: "on" }),
      "the same jitter, in order": cell(10, 100, 1, { jitter: 5e6 }),
      "jitter of 30 ms that reorders": cell(10, 100, 1, { jitter: 30e6, reorder: "on" }),
    },
    figures: ["goodputMbitS", "retransmitted", "droppedPackets", "lostPackets"],
    look: (it) => [
      `With 5 ms of reordering the goodput is ${it.text("jitter of 5 ms that reorders", "goodputMbitS")}, in order ${it.text("the same jitter, in order", "goodputMbitS")}.`,
      `With 30 ms it is ${it.text("jitter of 30 ms that reorders", "goodputMbitS")}, and ${it.text("jitter of 30 ms that reorders", "retransmitted")} are sent again, `
      + "although nothing is dropped or lost.",
    ],
    why: () => "A receiver reports a gap at once. Linux waits for a quarter of the round trip before it calls the gap a loss (RACK, RFC 8985). A packet that is later than that is sent again, and the window is reduced without "
      + "need. `bentpipe doctor` calls it `reordering`.",
    claims: (it) => ({
      "strong reordering costs throughput": it.value("jitter of 30 ms that reorders", "goodputMbitS") < 0.9 * it.value("the same jitter, in order", "goodputMbitS"),
      "nothing is dropped or lost": it.value("jitter of 30 ms that reorders", "lostPackets") + it.value("jitter of 30 ms that reorders", "droppedPackets") === 0,
      "packets are sent again that were not dropped": it.value("jitter of 30 ms that reorders", "retransmitted") > it.value("jitter of 30 ms that reorders", "droppedPackets"),
    }),
    kernel: [{ cell: "cubic_10M_100ms_1bdp_reorder5ms", is: "jitter of 5 ms that reorders" }],
  },
  {
    page: "handover",
    title: "What does a change of satellite do to a download?",
    question: "A LEO terminal moves to another satellite every 15 s. For a moment no packet passes, and afterwards the delay is different. What does this cost TCP?",
    controls: ["handover", "handoverOutage", "handoverStep", "congestionControl", "between"],
    charts: ["throughput", "windows", "rtt", "drops"],
    tries: {
      "140 ms of outage": { ...LEO, handover: 15e9, handoverOutage: 140e6, handoverStep: 5e6 },
      "no handover": LEO,
      "1 s of outage": { ...LEO, handover: 15e9, handoverOutage: 1e9, handoverStep: 5e6 },
      "140 ms of outage, BBR": { ...LEO, handover: 15e9, handoverOutage: 140e6, handoverStep: 5e6, congestionControl: "bbr" },
    },
    figures: ["goodputMbitS", "lostPackets", "retransmitted", "pingMs"],
    look: (it) => [
      `Every 15 s the packets in flight are lost, ${it.text("140 ms of outage", "lostPackets")} in all. But a short outage costs little: the goodput is `
      + `${it.text("140 ms of outage", "goodputMbitS")}, without handovers ${it.text("no handover", "goodputMbitS")}.`,
      `With 1 s of outage it is ${it.text("1 s of outage", "goodputMbitS")}. Watch cwnd: the retransmission timer expires while nothing passes, and cwnd falls to one segment.`,
      `BBR gets ${it.text("140 ms of outage, BBR", "goodputMbitS")} with the short outage.`,
    ],
    why: () => "In an outage the packets in flight are lost. If all of them are lost, no ACK comes back. Then only the retransmission timer restarts the flow, with one segment. Slow start then grows the window to about 70 % of its earlier size. "
      + "`bentpipe doctor` calls it `outage`.",
    claims: (it) => ({
      "handovers cost throughput": it.value("140 ms of outage", "goodputMbitS") < it.value("no handover", "goodputMbitS"),
      "longer outages cost more": it.value("1 s of outage", "goodputMbitS") < it.value("140 ms of outage", "goodputMbitS"),
    }),
    kernel: [],
  },
  {
    page: "what-a-code-buys",
    title: "What does an erasure code gain?",
    question: "A path of 16 Mbit/s loses 3 %. A tunnel around it adds one repair packet to every ten packets. What does the download gain, and what does it cost?",
    controls: ["between", "redundancy", "titration", "loss", "rtt", "congestionControl"],
    charts: ["throughput", "windows", "drops"],
    tries: {
      "no code": LOSSY,
      "a coded tunnel, 10 %": { ...LOSSY, between: "coded tunnel", redundancy: "10 %" },
      "a coded tunnel without loss": { ...LOSSY, loss: 0, between: "coded tunnel", redundancy: "10 %" },
      "gateways": { ...LOSSY, between: "gateway" },
    },
    figures: ["goodputMbitS", "lostPackets", "droppedPackets", "retransmitted"],
    look: (it) => [
      `Without a code the goodput is ${it.text("no code", "goodputMbitS")}. In the tunnel it is ${it.text("a coded tunnel, 10 %", "goodputMbitS")}: repairs replace what the path loses (${it.text("a coded tunnel, 10 %", "lostPackets")}).`,
      `TCP still sends ${it.text("a coded tunnel, 10 %", "retransmitted")} again. The queue dropped most of them, because TCP fills it until it overflows. Without loss there are ${it.text("a coded tunnel without loss", "retransmitted")}.`,
      `The repairs use the line. Without loss the tunnel carries ${it.text("a coded tunnel without loss", "goodputMbitS")} of 16 Mbit/s.`,
      `Gateways end TCP at both ends of the path and repair between them: ${it.text("gateways", "goodputMbitS")}.`,
    ],
    why: () => "TCP treats each loss as congestion. A code hides losses from it: any repair packet replaces any lost packet that it covers, without a round trip. "
      + "It helps against random loss, not against a full queue.",
    claims: (it) => ({
      "the code makes it many times as fast": it.value("a coded tunnel, 10 %", "goodputMbitS") > 5 * it.value("no code", "goodputMbitS"),
      "most of what is sent again the queue dropped": it.value("a coded tunnel, 10 %", "droppedPackets") > 0.5 * it.value("a coded tunnel, 10 %", "retransmitted"),
      "TCP sees few of the losses": it.value("a coded tunnel, 10 %", "retransmitted") < 0.5 * it.value("a coded tunnel, 10 %", "lostPackets"),
      "the repairs cost less than a fifth of the line": it.value("a coded tunnel without loss", "goodputMbitS") > 12.8,
      "gateways are at least as fast as without": it.value("gateways", "goodputMbitS") > 5 * it.value("no code", "goodputMbitS"),
    }),
    kernel: [{ cell: "cubic_16M_100ms_1bdp_loss0.03_coded", is: "a coded tunnel, 10 %" }],
  },
];
