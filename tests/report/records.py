"""Records of runs, made up: what a report reads of run.json. FIXTURE: nothing here was measured."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any

Record = dict[str, Any]


def http(times_s: Sequence[float], **more: Any) -> Record:
    """The entry of a workload that fetched that often."""
    fetches = [
        {"start_s": 0.0, "connect_s": 0.1, "first_byte_s": 0.2, "total_s": time_s, "bytes": 104857601}
        for time_s in times_s
    ]
    entry = {"kind": "http", "direction": "down", "connections": 1, "goodput_mbit_s": 30.0, "retransmits": 5}
    return entry | {"median_fetch_s": sorted(times_s)[len(times_s) // 2], "per_fetch": fetches} | more


def bulk(goodput_mbit_s: float, **more: Any) -> Record:
    return {"kind": "bulk", "direction": "down", "goodput_mbit_s": goodput_mbit_s, "retransmits": 7} | more


def run(workloads: Mapping[str, Record], variant: str = "as is", seed: int = 1, **more: Any) -> Record:
    record = {"run": f"{variant}-{seed}", "variant": variant, "seed": seed, "point": {}, "status": "done"}
    return record | {"reliable": True, "engine": "sim", "workloads": dict(workloads)} | more


_ORIGINAL_PIPE = {
    "shaper": {"kind": "unlimited"},
    "propagation": {
        "delay_ns": 50_000_000,
        "jitter": {"spread_ns": 5_000_000, "distribution": "uniform", "correlation": 0.25, "reorder": True},
        "limit": {"unit": "packets", "packets": 1000},
    },
    "channel": {"loss": {"model": "bernoulli", "p": 1e-6}},
}


def high_latency_lab(changes: Mapping[str, Any] | None = None, **more: Any) -> Record:
    """A run as the original's over IPv4; `changes` go over its hosts (`ip`, `sack`) or pipes (`jitter`)."""
    client: dict[str, Any] = {"ip": 4, "sack": None, "dsack": None, "congestion_control": "cubic"}
    down: dict[str, Any] = copy.deepcopy(_ORIGINAL_PIPE)
    for key, value in (changes or {}).items():
        if key in client:
            client[key] = value
        else:
            down["propagation"][key] = value
    fetch = {"name": "fetch", "kind": "http", "size_bytes": 104857601, "direction": "down", "connections": 1}
    spec = {
        "path": {"base_rtt_ns": 100_000_000, "down": down, "up": _ORIGINAL_PIPE},
        "client": client,
        "server": client,
        "workloads": [fetch],
    }
    return run({"fetch": http([30.0, 20.0, 40.0])}, published="high-latency-lab", spec=spec, **more)


def intercontinental(rmem: int | None, streams: int = 1, congestion_control: str = "cubic") -> Record:
    """411 ms and 20 Mbit/s; 8 Mbit/s were carried."""
    host = {
        "ip": 4,
        "tcp_rmem": None if rmem is None else [4096, 87380, rmem],
        "congestion_control": congestion_control,
    }
    pipe = {"shaper": {"kind": "fixed", "rate_bit_s": 20_000_000}}
    work = {"name": "transfer", "kind": "bulk", "direction": "down", "streams": streams}
    spec = {
        "path": {"base_rtt_ns": 411_000_000, "down": pipe, "up": pipe},
        "client": host,
        "server": host,
        "workloads": [work],
    }
    return run({"transfer": bulk(8.192)}, published="intercontinental-tuning", spec=spec)


def satellite(clients: int, queue_bytes: int) -> Record:
    pipe = {
        "shaper": {"kind": "token_bucket", "rate_bit_s": 16_000_000},
        "queue": {"limit": {"unit": "bytes", "bytes": queue_bytes}},
    }
    works = [
        {"name": "clients", "kind": "channels", "channels": clients},
        {"name": "download", "kind": "bulk", "direction": "down", "size_bytes": 40_000_000},
    ]
    spec = {"path": {"base_rtt_ns": 550_000_000, "down": pipe, "up": pipe}, "workloads": works}
    workloads = {
        "clients": {"kind": "channels", "goodput_mbit_s": 3.0, "flows": 900, "failed": 0, "retransmits": 4},
        "download": bulk(4.0, completion_s=80.0),
    }
    pipes = {"down": {"throughput_mbit_s": 5.0, "goodput_mbit_s": 4.8, "queue_bytes_mean": 20_000}}
    return run(workloads, published="satellite-baselines", spec=spec, pipes=pipes)
