"""`interactive`: keystrokes over one connection, by a client and a server of bentpipe's own (echoing.py).

1. Both are started before the workload's start, so that Python's own start is not measured.
2. The client takes the time just before each write, and when it has read the last byte of each answer. So a
   delay includes how long the programs at both ends take to wake up.
3. Gaps are the draws that `sim` makes.
4. A message without an answer that was written less than a round trip with full queues before the run's end
   is left out, as in `sim`.
"""

import json
import sys
from pathlib import Path
from typing import Any

from bentpipe import _core
from bentpipe.engines.base import WorkloadResult
from bentpipe.engines.bench import Bench, End, Program
from bentpipe.engines.workloads import echoing, listening
from bentpipe.lab.spec import InteractiveSpec
from bentpipe.runs.figures.answers import answers

_SERVER_LEAD_S = 5.0
_CLIENT_LEAD_S = 0.5
_CONNECTING_S = 131.0
"""When connect(2) gives up on Linux 6.18."""
_MOST = 10**9


def programs(_spec: InteractiveSpec) -> tuple[str, ...]:
    """None but Python."""
    return ()


async def run(spec: InteractiveSpec, bench: Bench) -> WorkloadResult:
    start_s, ip, port = spec.start_ns / 1e9, bench.spec.client.ip, bench.port(spec.name)
    times_ns = planned_ns(spec, bench)
    times = bench.folder(f"messages-{bench.spec.workloads.index(spec)}") / "times.json"
    times.write_text(json.dumps(times_ns), encoding="utf-8")
    peer = [bench.address("server", ip), str(port), str(spec.size_bytes)]
    await bench.sleep_until(start_s - _SERVER_LEAD_S)
    serving = bench.start("server", _argv("server", *peer))
    if await listening.ended_before(bench, "server", port, [ip], serving):
        server = await serving.over(bench.now_s, cut=False)
        why = server.fault or "the server of the messages did not begin to listen"
        return WorkloadResult({"kind": "interactive", **answers([], 0), "why": why})
    await bench.sleep_until(start_s - _CLIENT_LEAD_S)
    asking = bench.start("client", _argv("client", *peer, str(bench.monotonic_ns(start_s)), str(times)))
    last_s = times_ns[-1] / 1e9 if times_ns else 0.0
    client = await asking.over(start_s + last_s + _CONNECTING_S + bench.patience_s)
    await serving.over(bench.now_s, cut=False)
    return result(spec, client, bench, port)


def planned_ns(spec: InteractiveSpec, bench: Bench) -> list[int]:
    """When each message is to be written, from the first. Without a count and a time: to the run's end."""
    before_ns = spec.time_ns
    if before_ns is None and spec.count is None and bench.spec.duration_ns is not None:
        before_ns = bench.spec.duration_ns - spec.start_ns
    return _core.message_times(
        bench.seed,
        spec.name,
        spec.interval_ns,
        spec.gaps,
        spec.count if spec.count is not None else _MOST,
        before_ns if before_ns is not None else sys.maxsize,
    )


def result(spec: InteractiveSpec, client: Program, bench: Bench, port: int) -> WorkloadResult:
    why = client.fault
    said: dict[str, Any] = {"error": None, "written_ns": [], "answered_ns": []}
    try:
        said = json.loads(client.stdout)
    except ValueError:
        why = why or f"could not parse what the client of the messages said: {client.stdout[:500]!r}"
    if said["error"]:
        why = why or f"the connection failed: {said['error']}"
    end_s = client.exit.at_s
    if client.end is End.CUT and bench.spec.duration_s is not None:
        end_s = min(end_s, bench.spec.duration_s)
    left_out_from_s = end_s if why else end_s - bench.full_round_trip_s
    rows: list[dict[str, Any]] = []
    for place, written_ns in enumerate(said["written_ns"]):
        is_answered = place < len(said["answered_ns"])
        time_s = bench.run_s(written_ns)
        if is_answered or time_s <= left_out_from_s:
            delay_s = (said["answered_ns"][place] - written_ns) / 1e9 if is_answered else None
            rows.append({"time_s": time_s, "workload": spec.name, "sequence": place + 1, "rtt_s": delay_s})
    delays_ms = [row["rtt_s"] * 1e3 for row in rows if row["rtt_s"] is not None]
    entry = {"kind": "interactive", **answers(delays_ms, len(rows) - len(delays_ms))}
    return WorkloadResult(entry | {"why": why} if why else entry, pings=rows, ports={port: "data"})


def _argv(*told: str) -> list[str]:
    return [sys.executable, "-I", "-S", str(Path(echoing.__file__)), *told]
