"""`ping`: the real one, of iputils.

It prints a round trip of 100 ms and more in whole milliseconds, one of 10 ms and more in tenths, but its
summary gives the smallest, mean and largest to the microsecond (iputils 20221126, ping_common.c). So each
reply's time is known as an interval: what the line can have been rounded from, within the summary's bounds.
The smallest and the largest are taken from the summary; the others are the middles of their intervals,
moved together so that the mean is the summary's. For a path without jitter that is right to microseconds.

When a request without an answer was sent, ping does not say, and it is often late on its own interval. Such
a request is placed evenly between its answered neighbours.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from bentpipe.engines.base import WorkloadResult
from bentpipe.engines.bench import Bench, End, Program
from bentpipe.lab.spec import PingSpec
from bentpipe.runs.figures.times import percentile

_REPLY = re.compile(
    r"^\[(?P<at>\d+\.\d+)\] \d+ bytes from .*? icmp_seq=(?P<sequence>\d+) "
    r".*?time=(?P<rtt>[\d.]+) ms(?P<twice>.*DUP!)?",
    re.MULTILINE,
)
_COUNTS = re.compile(r"^(?P<sent>\d+) packets transmitted, (?P<received>\d+) received", re.MULTILINE)
_SUMMARY = re.compile(
    r"^rtt min/avg/max/mdev = (?P<min>[\d.]+)/(?P<mean>[\d.]+)/(?P<max>[\d.]+)/", re.MULTILINE
)
_SEQUENCES = 1 << 16


@dataclass(frozen=True)
class Reply:
    sequence: int
    sent_wall_s: float
    rtt_ms: float


@dataclass(frozen=True)
class Pinged:
    sent: int
    replies: list[Reply]
    mean_ms: float | None


def parse(output: str) -> Pinged | None:
    """What `ping -D` said; None if it is not what ping says."""
    found: dict[int, tuple[float, str]] = {}
    turn, before = 0, 0
    for match in _REPLY.finditer(output):
        if match["twice"]:
            continue
        number = int(match["sequence"])
        # The sequence number has 16 bits and begins at 1; a long run goes round.
        if number < before - _SEQUENCES // 2:
            turn += _SEQUENCES
        before = number
        found.setdefault(turn + number, (float(match["at"]), match["rtt"]))
    counts, summary = _COUNTS.search(output), _SUMMARY.search(output)
    if not counts and not found:
        return None
    times_ms = [float(rtt) for _, rtt in found.values()]
    bounds = tuple(float(summary[name]) for name in ("min", "mean", "max")) if summary else None
    if bounds and found:
        times_ms = _unrounded([rtt for _, rtt in found.values()], *bounds)
    replies = [
        Reply(sequence, at - rtt_ms / 1e3, rtt_ms)
        for (sequence, (at, _)), rtt_ms in zip(found.items(), times_ms, strict=True)
    ]
    replies.sort(key=lambda reply: reply.sequence)
    return Pinged(int(counts["sent"]) if counts else max(found), replies, bounds[1] if bounds else None)


def _unrounded(printed: list[str], least_ms: float, mean_ms: float, most_ms: float) -> list[float]:
    """What the printed times may have been before they were rounded."""
    intervals = []
    for text in printed:
        half = 0.5 * 10.0 ** -len(text.partition(".")[2])
        low, high = max(float(text) - half, least_ms), min(float(text) + half, most_ms)
        intervals.append((low, high) if low <= high else (float(text), float(text)))
    times = [(low + high) / 2 for low, high in intervals]
    times[min(range(len(times)), key=times.__getitem__)] = least_ms
    times[max(range(len(times)), key=times.__getitem__)] = most_ms
    between = [n for n, time in enumerate(times) if time not in (least_ms, most_ms)]
    if between:
        shift = (mean_ms * len(times) - sum(times)) / len(between)
        for n in between:
            times[n] = min(max(times[n] + shift, intervals[n][0]), intervals[n][1])
    return times


def programs(_spec: PingSpec) -> tuple[str, ...]:
    return ("ping",)


async def run(spec: PingSpec, bench: Bench) -> WorkloadResult:
    start_s, interval_s = spec.start_ns / 1e9, spec.interval_ns / 1e9
    ip = bench.spec.client.ip
    argv = [
        "ping",
        f"-{ip}",
        "-n",
        "-D",
        "-c",
        f"{spec.count}",
        "-i",
        f"{interval_s:g}",
        "-s",
        f"{spec.size_bytes}",
    ]
    # How long ping waits for the last answers where none at all has come; else it waits two round trips.
    argv += ["-W", f"{max(2.0, 3 * bench.full_round_trip_s):g}"]
    await bench.sleep_until(start_s)
    running = bench.start("client", [*argv, bench.address("server", ip)])
    program = await running.over(start_s + spec.count * interval_s + bench.patience_s)
    return result(
        spec, program, wall_minus_run_s=bench.wall_minus_run_s, round_trip_s=bench.full_round_trip_s
    )


def result(
    spec: PingSpec, program: Program, *, wall_minus_run_s: float, round_trip_s: float
) -> WorkloadResult:
    """`round_trip_s`: a round trip with full queues. Requests without an answer are left out if their answer
    may have come later: those that the run's end cut off sooner than this, and those after the last answer if
    ping ended sooner than this. It waits for the last answers for two of its longest round trips only.
    """
    pinged = parse(program.stdout)
    tools = [
        {"workload": spec.name, "tool": "ping", "role": "client", "output": program.stdout + program.stderr}
    ]
    entry: dict[str, Any] = {
        "kind": "ping",
        "sent": 0,
        "lost": 0,
        "min_ms": None,
        "median_ms": None,
        "p95_ms": None,
        "p99_ms": None,
        "max_ms": None,
    }
    # ping's status 1 says that answers are missing, which is a measurement and no fault.
    lost_only = program.end is End.EXITED and program.exit.status == 1 and not program.exit.error
    fault = None if lost_only and pinged else program.fault
    if pinged is None:
        fault = fault or f"could not parse ping's output: {program.stdout.strip()[:500]!r}"
    if fault:
        entry["why"] = fault
    if pinged is None:
        return WorkloadResult(entry, tools=tools)
    answered = {reply.sequence: reply for reply in pinged.replies}
    times = [reply.rtt_ms for reply in pinged.replies]
    undecided_from_s = program.exit.at_s - round_trip_s
    undecided_after = 0 if program.end is End.CUT else max(answered, default=pinged.sent)
    sent_s = _sent_s(spec, program, {r.sequence: r.sent_wall_s - wall_minus_run_s for r in pinged.replies})
    rows: list[dict[str, Any]] = [
        {
            "time_s": sent_s(n),
            "workload": spec.name,
            "sequence": n,
            "rtt_s": answered[n].rtt_ms / 1e3 if n in answered else None,
        }
        for n in range(1, pinged.sent + 1)
    ]
    rows = [
        row
        for row in rows
        if row["rtt_s"] is not None or row["time_s"] < undecided_from_s or row["sequence"] <= undecided_after
    ]
    entry |= {"sent": len(rows), "lost": sum(row["rtt_s"] is None for row in rows)}
    if times:
        entry |= {
            "min_ms": min(times),
            "median_ms": median(times),
            "p95_ms": percentile(times, 95),
            "p99_ms": percentile(times, 99),
            "max_ms": max(times),
            "mean_ms": pinged.mean_ms,
        }
    return WorkloadResult(entry, pings=rows, tools=tools)


def _sent_s(spec: PingSpec, program: Program, known: Mapping[int, float]) -> Callable[[int], float]:
    """When the request of a sequence number was sent, from the times that are known."""
    interval_s = spec.interval_ns / 1e9
    sequences = sorted(known)

    def sent_s(sequence: int) -> float:
        place = bisect_left(sequences, sequence)
        if place == len(sequences):
            last = sequences[-1] if sequences else 1
            return known.get(last, program.started_s) + (sequence - last) * interval_s
        after = sequences[place]
        if place == 0:
            return known[after] - (after - sequence) * interval_s
        before = sequences[place - 1]
        return known[before] + (known[after] - known[before]) * (sequence - before) / (after - before)

    return sent_s
