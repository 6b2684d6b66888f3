// Lessons on queues, policers and what stands beside them.

import { cell, type Lesson } from "./lesson.ts";

const ISLAND = { rateDown: 16e6, rateUp: 16e6, rtt: 550e6, size: 40e6, duration: 180e9 };
const HOME = { rateDown: 20e6, rateUp: 5e6, rtt: 30e6, duration: 20e9 };

export const QUEUES: readonly Lesson[] = [
  {
    page: "satellite-baselines",
    title: "Why is a download slow on a satellite link that is mostly idle?",
    question: "An island shares a GEO link of 16 Mbit/s. Its queue holds 100 kB, a tenth of the BDP. Twenty clients fetch small files. How long does a download of 40 MB take?",
    controls: ["queue", "users", "size", "between", "discipline"],
    charts: ["throughput", "queue", "windows"],
    tries: {
      "20 users, 100 kB": { ...ISLAND, queue: 100e3, users: 20 },
      "20 users, 200 kB": { ...ISLAND, queue: 200e3, users: 20 },
      "no users, 100 kB": { ...ISLAND, queue: 100e3 },
      "20 users, gateways": { ...ISLAND, queue: 100e3, users: 20, between: "gateway" },
    },
    figures: ["downloadS", "goodputMbitS", "fileS", "droppedPackets"],
    overSeeds: ["20 users, 100 kB", "20 users, 200 kB"],
    look: (it) => [
      `The download takes ${it.text("20 users, 100 kB", "downloadS")}, and ${it.text("no users, 100 kB", "downloadS")} when it is alone. `
      + `Yet the link carries only ${it.text("20 users, 100 kB", "goodputMbitS")} of its 16 Mbit/s.`,
      `With twice the queue it takes ${it.text("20 users, 200 kB", "downloadS")}. Each seed draws other files for the users: `
      + `over five seeds it takes ${it.range("20 users, 100 kB", "downloadS")}, and ${it.range("20 users, 200 kB", "downloadS")} with twice the queue.`,
      `With gateways it takes ${it.text("20 users, gateways", "downloadS")}.`,
    ],
    why: () => "The queue overflows when initial windows of other flows arrive while a burst of the download is in it. The download loses packets too, cuts its window, and grows back over many "
      + "round trips of half a second. Small files hardly notice.",
    claims: (it) => ({
      "beside users it takes longer than alone": it.value("20 users, 100 kB", "downloadS") > it.value("no users, 100 kB", "downloadS"),
      "the link is less than half used": it.value("20 users, 100 kB", "goodputMbitS") < 8,
      "gateways are faster": it.value("20 users, gateways", "downloadS") < it.value("20 users, 100 kB", "downloadS"),
    }),
    published: {
      key: "satellite-baselines",
      says: "a download of 40 MB took 120 s beside 20 clients with a queue of 100 kB, and 44 s with 200 kB; the link carried not more than 4.5 and 4.3 Mbit/s.",
    },
    kernel: [{
      page: "labs/satellite-baselines.md", quote: "| | `live` | 4.5 (3.34 - 5.58) | | 4.32 (3.2 - 5.36) | | 70.5 (51.9 - 113) | | 1.33, 2.32 |",
      says: "For the published download beside 20 clients Linux 6.18 took 70.5 s (51.9 to 113 over five seeds), and the link carried 4.5 Mbit/s.",
    }],
  },
  {
    page: "short-queue",
    title: "What does a queue of a tenth of a BDP cost?",
    question: "A router before a long line has a small buffer. One download should fill 20 Mbit/s over 100 ms. Does it?",
    controls: ["queue", "congestionControl", "rtt", "streams"],
    charts: ["throughput", "queue", "windows", "drops"],
    tries: {
      "a tenth of a BDP": cell(20, 100, 0.1),
      "a quarter of a BDP": cell(20, 100, 0.25),
      "one BDP": cell(20, 100, 1),
      "a tenth of a BDP, BBR": cell(20, 100, 0.1, { congestionControl: "bbr" }),
    },
    figures: ["goodputMbitS", "queueKb", "droppedPackets"],
    look: (it) => [
      `With a tenth of a BDP the goodput is ${it.text("a tenth of a BDP", "goodputMbitS")}, with a quarter ${it.text("a quarter of a BDP", "goodputMbitS")}, with one BDP ${it.text("one BDP", "goodputMbitS")}.`,
      "Watch the windows: each time the queue overflows, cwnd falls. While cwnd is below the BDP, the line is not full.",
      `BBR does not treat each loss as congestion. It gets ${it.text("a tenth of a BDP, BBR", "goodputMbitS")} through the short queue.`,
    ],
    why: () => "After a loss CUBIC keeps 70 % of its window. The line stays busy only if at least a BDP is left. That needs a queue of about 0.4 BDP. "
      + "`bentpipe doctor` calls it `short-queue`.",
    claims: (it) => ({
      "a tenth of a BDP carries less than one BDP": it.value("a tenth of a BDP", "goodputMbitS") < 0.95 * it.value("one BDP", "goodputMbitS"),
      "BBR gets more through it": it.value("a tenth of a BDP, BBR", "goodputMbitS") > it.value("a tenth of a BDP", "goodputMbitS"),
    }),
    kernel: [{ cell: "cubic_20M_100ms_0.25bdp", is: "a quarter of a BDP" }, { cell: "cubic_20M_100ms_1bdp", is: "one BDP" }],
    apart: "At a tenth of a BDP the simulator carries less than the kernel. Both agree until the queue overflows for the second time. The receive window is then smaller in the simulator than in the kernel: it was set in the "
      + "first second, where two segments more or less in a round trip decide. It fills while TCP waits for what was lost. What waited is sent at once, and overflows the queue again. "
      + "`bentpipe query FOLDER \"select time_s, snd_wnd_bytes, retransmits from sockets where host = 'server'\"` shows it for both engines.",
  },
  {
    page: "bufferbloat",
    title: "Why does the whole house lag when one person downloads?",
    question: "A line of 20 Mbit/s with a round trip of 30 ms. Its router can hold 1 MB. What happens to pings and calls during a download?",
    controls: ["queue", "discipline", "congestionControl", "streams"],
    charts: ["rtt", "queue", "throughput"],
    tries: {
      "1 MB, fifo": { ...HOME, queue: 1e6 },
      "100 kB, fifo": { ...HOME, queue: 100e3 },
      "1 MB, fq_codel": { ...HOME, queue: 1e6, discipline: "fq_codel" },
      "1 MB, BBR": { ...HOME, queue: 1e6, congestionControl: "bbr" },
    },
    figures: ["pingMs", "queueKb", "goodputMbitS"],
    look: (it) => [
      `95 % of pings take up to ${it.text("1 MB, fifo", "pingMs")}, although the path has 30 ms. The rest is queueing delay.`,
      `With 100 kB they take up to ${it.text("100 kB, fifo", "pingMs")}, with fq_codel ${it.text("1 MB, fq_codel", "pingMs")}. The download loses little: `
      + `${it.text("1 MB, fifo", "goodputMbitS")}, ${it.text("100 kB, fifo", "goodputMbitS")} and ${it.text("1 MB, fq_codel", "goodputMbitS")}.`,
      `BBR keeps the queue short by itself: ${it.text("1 MB, BBR", "pingMs")}.`,
    ],
    why: () => "CUBIC grows its window until a packet is lost. A queue of 1 MB at 20 Mbit/s holds 400 ms of packets before it drops one. Everyone's packets wait in it. "
      + "`bentpipe doctor` calls it `bufferbloat`.",
    claims: (it) => ({
      "pings take more than five times the path's round trip": it.value("1 MB, fifo", "pingMs") > 150,
      "fq_codel keeps them below twice that round trip": it.value("1 MB, fq_codel", "pingMs") < 60,
      "it costs the download less than a tenth": it.value("1 MB, fq_codel", "goodputMbitS") > 0.9 * it.value("1 MB, fifo", "goodputMbitS"),
      "BBR keeps the queue shorter": it.value("1 MB, BBR", "queueKb") < 0.5 * it.value("1 MB, fifo", "queueKb"),
    }),
    kernel: [],
  },
  {
    page: "policer",
    title: "How does a policer differ from a slow line?",
    question: "A provider sells 20 Mbit/s on a line of 100 Mbit/s. It drops packets above this rate instead of delaying them. What does a download get?",
    controls: ["policer", "policerBurst", "congestionControl", "rtt"],
    charts: ["throughput", "windows", "rtt", "drops"],
    tries: {
      "a policer with 50 kB of burst": { rateDown: 100e6, rateUp: 100e6, rtt: 50e6, queue: 625e3, policer: 20e6, policerBurst: 50e3, duration: 20e9 },
      "with 500 kB of burst": { rateDown: 100e6, rateUp: 100e6, rtt: 50e6, queue: 625e3, policer: 20e6, policerBurst: 500e3, duration: 20e9 },
      "a line of 20 Mbit/s": { rateDown: 20e6, rateUp: 20e6, rtt: 50e6, queue: 125e3, duration: 20e9 },
    },
    figures: ["goodputMbitS", "pingMs", "lostPackets", "retransmitted"],
    look: (it) => [
      `The goodput is ${it.text("a policer with 50 kB of burst", "goodputMbitS")}; a line of that rate with a queue gives ${it.text("a line of 20 Mbit/s", "goodputMbitS")}.`,
      `The policer drops ${it.text("a policer with 50 kB of burst", "lostPackets")}, but no round trip gets longer: ${it.text("a policer with 50 kB of burst", "pingMs")} for 95 % of pings. This distinguishes a policer from a full queue.`,
      `A larger burst helps TCP: ${it.text("with 500 kB of burst", "goodputMbitS")}.`,
    ],
    why: () => "A policer has a bucket of tokens and no queue. A window that leaves in a burst finds the bucket empty and loses many packets at once. "
      + "`bentpipe doctor` calls it `policer`.",
    claims: (it) => ({
      "a policer carries less than a line of its rate": it.value("a policer with 50 kB of burst", "goodputMbitS") < it.value("a line of 20 Mbit/s", "goodputMbitS"),
      "pings do not wait": it.value("a policer with 50 kB of burst", "pingMs") < 60,
      "a larger burst helps": it.value("with 500 kB of burst", "goodputMbitS") > it.value("a policer with 50 kB of burst", "goodputMbitS"),
    }),
    kernel: [],
  },
  {
    page: "streams-and-neighbour",
    title: "Who pays for parallel streams?",
    question: "A download accelerator opens eight connections. A neighbour on the same line has one. How do they share 20 Mbit/s?",
    controls: ["streams", "neighbours", "discipline", "congestionControl", "between"],
    charts: ["throughput", "queue", "rtt"],
    tries: {
      "one stream each": { ...HOME, rtt: 50e6, queue: 125e3, neighbours: 1, duration: 30e9 },
      "eight streams": { ...HOME, rtt: 50e6, queue: 125e3, neighbours: 1, streams: 8, duration: 30e9 },
      "eight streams, fq_codel": { ...HOME, rtt: 50e6, queue: 125e3, neighbours: 1, streams: 8, discipline: "fq_codel", duration: 30e9 },
    },
    figures: ["downloadMbitS", "neighbourMbitS", "goodputMbitS"],
    overSeeds: ["one stream each", "eight streams"],
    look: (it) => [
      `With one stream each the download gets ${it.text("one stream each", "downloadMbitS")} and the neighbour ${it.text("one stream each", "neighbourMbitS")}. In so short a time the result depends on chance: `
      + `over five seeds the neighbour gets ${it.range("one stream each", "neighbourMbitS")}.`,
      `With eight streams the download gets ${it.text("eight streams", "downloadMbitS")}, and the neighbour ${it.text("eight streams", "neighbourMbitS")} (${it.range("eight streams", "neighbourMbitS")} over five seeds). The line carries no more than before.`,
      `fq_codel shares between connections, not between people: the neighbour still gets only ${it.text("eight streams, fq_codel", "neighbourMbitS")}.`,
    ],
    why: () => "In a shared queue each connection gets about the same share in the long run. Whoever opens eight gets about eight shares. If windows are the limit, more streams add windows. On a full line they take rate from others.",
    claims: (it) => ({
      "the neighbour loses more than a third": it.value("eight streams", "neighbourMbitS") < 0.67 * it.value("one stream each", "neighbourMbitS"),
      "the line carries about as much": Math.abs(it.value("eight streams", "goodputMbitS") / it.value("one stream each", "goodputMbitS") - 1) < 0.05,
      "fq_codel gives the neighbour less than a quarter": it.value("eight streams, fq_codel", "neighbourMbitS") < 5,
    }),
    kernel: [],
  },
];
