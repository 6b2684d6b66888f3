"""The question as the simulator's specification, without a lab, whose models take longer to load than `calc`
may take in all.

What it leaves out is the simulator's own default, which is also a lab's. A test compares the two.
"""

from __future__ import annotations

from typing import Any, Literal

from bentpipe.calculator.question import Question
from bentpipe.engines.linux import DEFAULT_RMEM, DEFAULT_WMEM
from bentpipe.engines.sim_core import computed

Work = dict[str, Any]
Pipe = Literal["down", "up"]
LEAST_QUEUE_PACKETS = 10
"""Of a queue of one BDP, as a lab's default."""


def bulk(streams: int, time_s: int, omit_s: int) -> Work:
    """iperf3's download; what it carries is counted for `time_s` after `omit_s`."""
    return {
        "kind": "iperf3",
        "start_ns": 0,
        "direction": "down",
        "streams": streams,
        "size_bytes": None,
        "time_ns": time_s * 10**9,
        "omit_ns": omit_s * 10**9,
        "congestion_control": None,
    }


def fetch(pipe: Pipe, size_bytes: int, connections: int = 1) -> Work:
    """One file over HTTP; over several connections in ranges."""
    return {
        "kind": "http",
        "start_ns": 0,
        "direction": pipe,
        "size_bytes": size_bytes,
        "objects_bytes": None,
        "popularity": None,
        "fetches": 1,
        "connections": connections,
        "keep_alive": False,
        "think_ns": 0,
    }


def data_pipe(asked: Question) -> Pipe:
    """The pipe that carries the payload: a `short` writer is curl, which uploads."""
    return "up" if asked.program == "short" else "down"


def simulate(
    asked: Question, works: list[Work], seed: int, duration_s: float | None = None
) -> list[dict[str, Any]]:
    """What each of the workloads did (`Work` in crates/sim/src/record/results.rs)."""
    spec, names = specification(asked, works, seed, duration_s)
    nothing_of_queues = {"down": None, "up": None, "small_bytes": 0}
    outcome, _ = computed(f"calc with seed {seed}", spec, names, nothing_of_queues)
    found: list[dict[str, Any]] = outcome["workloads"]
    return found


def specification(
    asked: Question, works: list[Work], seed: int, duration_s: float | None = None
) -> tuple[dict[str, Any], list[str]]:
    """`SimSpec` (crates/sim/src/simulation.rs), and the workloads' names."""
    names = [f"transfer-{number}" for number in range(1, len(works) + 1)]
    named = [
        work | {"name": name} if work["kind"] == "http" else work
        for name, work in zip(names, works, strict=True)
    ]
    host = {
        "tcp": {
            "congestion_control": asked.congestion_control,
            "tcp_rmem": _triple(DEFAULT_RMEM, asked.rcvbuf_bytes),
            "tcp_wmem": _triple(DEFAULT_WMEM, asked.sndbuf_bytes),
        }
    }
    rtt_ns = round(asked.rtt_s * 1e9)
    data = _pipe(asked.rate_bit_s, rtt_ns, asked.mtu_bytes, asked.queue_bytes, asked.loss)
    acks = _pipe(asked.rate_up_bit_s or asked.rate_bit_s, rtt_ns, asked.mtu_bytes)
    down, up = (acks, data) if data_pipe(asked) == "up" else (data, acks)
    spec = {
        "client": host,
        "server": host,
        # An odd nanosecond goes to the down pipe, as in a lab.
        "down": down | {"propagation": {"delay_ns": rtt_ns - rtt_ns // 2}},
        "up": up | {"propagation": {"delay_ns": rtt_ns // 2}},
        "mtu": asked.mtu_bytes,
        "seed": seed,
        "workloads": named,
        "duration_ns": None if duration_s is None else round(duration_s * 1e9),
        "until_done": duration_s is None,
        "bin_ns": 10**9,
        "sample_interval_ns": None,
    }
    return spec, names


def _pipe(
    rate_bit_s: int, rtt_ns: int, mtu_bytes: int, queue_bytes: int | None = None, loss: float = 0.0
) -> dict[str, Any]:
    least_bytes = LEAST_QUEUE_PACKETS * mtu_bytes
    if queue_bytes is not None:
        limit: dict[str, Any] = {"unit": "bytes", "bytes": queue_bytes}
    elif rate_bit_s * rtt_ns < least_bytes * 8 * 10**9:
        limit = {"unit": "bytes", "bytes": least_bytes}
    else:
        limit = {"unit": "bdp", "multiple": 1.0, "base_rtt_ns": rtt_ns}
    return {
        "queue": {"limit": limit},
        "shaper": {"kind": "fixed", "rate_bit_s": rate_bit_s},
        "channel": {"loss": {"model": "bernoulli", "p": loss} if loss else {"model": "none"}},
    }


def _triple(default: tuple[int, int, int], most: int) -> list[int]:
    least, first, _ = default
    return [least, min(first, most), most]
