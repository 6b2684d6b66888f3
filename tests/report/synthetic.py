"""Made-up results in the shape of real ones, the same at every call. FIXTURE: nothing here was measured."""

import functools
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from bentpipe.runs.folder import RunFolder
from bentpipe.runs.schema import FLOWS, LINK, PINGS, SOCKETS, TOOLS, Table
from bentpipe.runs.summary import pipes_summary

RTTS_MS = (0.6, 11, 30, 150, 550)
VARIANTS = {
    "as is": ("4096\t131072\t6291456", "4096\t16384\t4194304"),
    "2015 buffers": ("4096\t87380\t174760", "4096\t16384\t131072"),
}
_LAST_S = 31.0
_MSS = 1448


def sweep(out: Path, repeat: int = 1, rtts_ms: tuple[float, ...] = RTTS_MS) -> Path:
    """An effects-of-latency of 2 variants, two directions and `repeat` seeds, one run of them unreliable."""
    number = 0
    for variant in VARIANTS:
        for rtt_ms in rtts_ms:
            for direction in ("up", "down"):
                for seed in range(1, repeat + 1):
                    number += 1
                    run(out, f"{number:03d}", variant=variant, rtt_ms=rtt_ms, direction=direction, seed=seed)
    return out


def run(
    out: Path,
    name: str = "001",
    *,
    variant: str = "as is",
    rtt_ms: float = 150,
    direction: str = "down",
    seed: int = 1,
    rate_bit_s: int | None = None,
    changes: Mapping[str, Any] | None = None,
) -> Path:
    rmem, wmem = VARIANTS[variant]
    window = min(0.62 * int(rmem.split()[2]), 0.67 * int(wmem.split()[2]))
    capacity = rate_bit_s or 9.6e9
    goodput = min(capacity * 0.965, window * 8e3 / rtt_ms) * (1 + 0.03 * math.sin(seed * 1.7 + rtt_ms))
    folder = RunFolder.create(out, name)
    samples, link, sockets = _tables(goodput, rtt_ms / 1000, window, rate_bit_s, direction)
    folder.write_table("link", link)
    folder.write_table("sockets", sockets)
    pings = [
        {
            "time_s": -3 + 0.2 * i,
            "workload": "rtt",
            "sequence": i + 1,
            "rtt_s": rtt_ms / 1000 + 4e-5 + 1e-5 * (i % 3),
        }
        for i in range(10)
    ]
    folder.write_table("pings", _frame(PINGS, pings))
    total = int(sum(s["bytes"] for s in samples))
    flow = {"flow": 1, "workload": "transfer", "client": "client", "server": "server", "direction": direction}
    flow |= {"ip": 4, "local_port": 40000, "remote_port": 5201, "start_s": 0.0, "end_s": 31.0, "bytes": total}
    folder.write_table("flows", _frame(FLOWS, [flow | {"goodput_bit_s": goodput, "outcome": "finished"}]))
    tools = [{"workload": "transfer", "tool": "iperf3", "role": "client", "output": '{"title": "<made up>"}'}]
    folder.write_table("tools", _frame(TOOLS, tools))
    per_second = [
        round(sum(s["bytes"] for s in samples if second <= s["time_s"] < second + 1) * 8e-6, 2)
        for second in range(1, 31)
    ]
    late_us = 60 if rtt_ms > 1 else 2400
    reliable = late_us < 1000
    pipe = {"queue": {"limit": {"unit": "bytes", "bytes": 100_000}}, "shaper": {"kind": "unlimited"}}
    if rate_bit_s:
        pipe["shaper"] = {"kind": "fixed", "rate_bit_s": rate_bit_s}
    record = {
        "lab": "effects-of-latency",
        "title": "The effects of latency on throughput",
        "published": "effects-of-latency",
        "engine": "live",
        "seed": seed,
        "variant": variant,
        "point": {"path.rtt": f"{rtt_ms:g} ms", "workload.transfer.direction": direction},
        "status": "done",
        "reliable": reliable,
        "why": [] if reliable else ["One packet in a hundred left 2.4 ms or more after the model's time."],
        "folder": str(out / name),
        "wall_s": 35.2,
        "started": "2026-01-01T12:00:00+00:00",
        "workloads": {
            "rtt": {
                "kind": "ping",
                "sent": 10,
                "lost": 0,
                "min_ms": rtt_ms,
                "median_ms": rtt_ms + 0.05,
                "max_ms": rtt_ms + 1,
            },
            "transfer": {
                "kind": "bulk",
                "goodput_mbit_s": sum(per_second) / len(per_second),
                "bytes": total,
                "duration_s": 30.0,
                "completion_s": None,
                "retransmits": int(400 / rtt_ms) + seed,
                "per_second_mbit_s": per_second,
            },
        },
        "pipes": pipes_summary(link, _LAST_S),
        "engine_error": {
            "lateness_us_p50": 8,
            "lateness_us_p99": late_us,
            "lateness_us_max": 4 * late_us,
            "lateness_count": 120_000,
            "lateness_histogram": [[2**k, int(60_000 * math.exp(-((k - 3) ** 2) / 3))] for k in range(12)],
            "rate_error": 0.001 if rate_bit_s else None,
            "unintended_loss": 0,
            "unintended_loss_by": {"device": 0, "socket_buffer": 0, "write_error": 0},
            "cpu_headroom": 0.61,
        },
        "spec": {
            "path": {"base_rtt_ns": int(rtt_ms * 1e6), "down": pipe, "up": pipe, "mtu": 1500},
            "workloads": [
                {"name": "rtt", "kind": "ping", "count": 10},
                {"name": "transfer", "kind": "bulk", "direction": direction, "start_ns": 0, "omit_ns": 10**9},
            ],
            "limits": {"lateness_p99_s": 0.001, "unintended_loss": 0},
        },
        "machine": {"kernel": "6.18.0", "cpu": "A made-up processor", "cores": 2},
        "versions": {"bentpipe": "0.1.0", "iperf3": "3.12", "ping": "20221126", "python": "3.11.2"},
        "sysctl": {
            host: {"net.ipv4.tcp_rmem": rmem, "net.ipv4.tcp_wmem": wmem, "net.ipv4.tcp_sack": "1"}
            for host in ("client", "server")
        },
    }
    return folder.finish(record | dict(changes or {}))


@functools.cache
def _tables(
    goodput: float, rtt_s: float, window: float, rate_bit_s: int | None, direction: str
) -> tuple[list[dict[str, float]], pl.DataFrame, pl.DataFrame]:
    """A transfer's samples, and the tables `link` and `sockets` of its run."""
    samples = _transfer(goodput, rtt_s, window, rate_bit_s)
    link = _frame(LINK, _link_rows(samples, direction, rate_bit_s))
    return samples, link, _frame(SOCKETS, _socket_rows(samples, direction, rtt_s))


def _transfer(goodput: float, rtt_s: float, window: float, rate_bit_s: int | None) -> list[dict[str, float]]:
    """Slow start to what bounds it; with a rate, a sawtooth that fills the queue and drops."""
    samples = []
    for i in range(int(_LAST_S * 10)):
        time = i / 10
        rounds = time / max(rtt_s, 0.004)
        cwnd = min(10 * _MSS * 2 ** min(rounds, 40), 1.15 * window)
        now = min(goodput, cwnd * 8 / rtt_s)
        queue, drops = 0.0, 0
        if rate_bit_s and now >= goodput:
            phase = (time % 7) / 7
            cwnd = rate_bit_s * rtt_s / 8 * (0.8 + 0.5 * phase)
            queue = max(0.0, 100_000 * (phase - 0.3) / 0.7)
            drops = 3 if phase > 0.98 else 0
        samples.append(
            {
                "time_s": time,
                "bytes": now / 80,
                "cwnd": cwnd,
                "queue": queue,
                "drops": drops,
                "window": window,
            }
        )
    return samples


def _link_rows(
    samples: list[dict[str, float]], direction: str, rate_bit_s: int | None
) -> list[dict[str, Any]]:
    rows = []
    for s in samples:
        for pipe in ("down", "up"):
            payload = int(s["bytes"]) if pipe == direction else 0
            packets = payload // _MSS + (0 if pipe == direction else int(s["bytes"]) // (2 * _MSS))
            whole = payload + packets * 52
            held = int(s["queue"]) if pipe == direction else 0
            row = dict.fromkeys(LINK.names, 0) | {"time_s": s["time_s"], "pipe": pipe}
            row |= {"offered_bytes": whole, "throughput_bytes": whole, "goodput_bytes": payload}
            row |= {"offered_packets": packets, "throughput_packets": packets}
            row |= {"queue_bytes_mean": held * 0.9, "queue_bytes_max": held, "queue_bytes_end": held}
            delay = held * 8 / rate_bit_s if rate_bit_s else 0.0
            row |= {"queue_delay_s_mean": delay * 0.9, "queue_delay_s_max": delay}
            rows.append(row | {"drops_tail": int(s["drops"]) if pipe == direction else 0})
    return rows


def _socket_rows(samples: list[dict[str, float]], direction: str, rtt_s: float) -> list[dict[str, Any]]:
    sender, receiver = ("server", "client") if direction == "down" else ("client", "server")
    rows, sent, lost = [], 0, 0
    for s in samples:
        sent += int(s["bytes"])
        lost += int(s["drops"])
        common = {
            "time_s": s["time_s"] + 0.003,
            "ip": 4,
            "state": "established",
            "congestion_control": "cubic",
        }
        ports = {"server": (5201, 40000), "client": (40000, 5201)}
        local, remote = ports[sender]
        flight = int(min(s["cwnd"], s["window"] * 0.99))
        rows.append(
            common
            | {
                "host": sender,
                "local_port": local,
                "remote_port": remote,
                "mss_bytes": _MSS,
                "bytes_sent": sent,
            }
            | {"cwnd_segments": int(s["cwnd"] / _MSS), "ssthresh_segments": 900 if lost else None}
            | {"srtt_s": rtt_s + s["queue"] * 8 / 16e6, "min_rtt_s": rtt_s, "in_flight_bytes": flight}
            | {"snd_wnd_bytes": int(s["window"]), "retransmits": lost, "busy_s": s["time_s"]}
            | {"rwnd_limited_s": 0.7 * s["time_s"]}
        )
        local, remote = ports[receiver]
        rows.append(common | {"host": receiver, "local_port": local, "remote_port": remote, "bytes_sent": 37})
    return rows


def _frame(table: Table, rows: list[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame([dict.fromkeys(table.names) | row for row in rows], schema=table.schema)
