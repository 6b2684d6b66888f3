"""`call`: a voice call over UDP, by a program of bentpipe's own at each host (calling.py).

1. Both are started before the workload's start, so that Python's own start is not measured.
2. A delay is from just before a datagram is sent to when the other program has read it, by the clock that
   both hosts share. So it includes how long that program takes to wake up.
3. A datagram that has not come within a round trip with full queues before the end is left out, as in
   `sim`.
4. Behind gateways of others the server sends to where the client's datagrams come from, and from then on, as
   symmetric RTP does (RFC 4961).
5. A program that this machine started too late to hear the first datagram makes the run unreliable.
"""

import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bentpipe.engines import gateways
from bentpipe.engines.base import WorkloadResult
from bentpipe.engines.bench import Bench, Program
from bentpipe.engines.workloads import calling
from bentpipe.lab.spec import CallSpec
from bentpipe.runs.figures.calls import Packet, call_figures

RTP_BYTES = 12
_LEAD_S = 1.0
_MOST = 10**9


def programs(_spec: CallSpec) -> tuple[str, ...]:
    """None but Python."""
    return ()


async def run(spec: CallSpec, bench: Bench) -> WorkloadResult:
    start_s, ip, port = spec.start_ns / 1e9, bench.spec.client.ip, bench.port(spec.name)
    end_s = _end_s(spec, bench)
    sends_s = end_s - start_s if spec.time_ns is None else spec.time_ns / 1e9
    count = min(max(0, -int(-sends_s * 1e9 // spec.interval_ns)), _MOST)
    numbers = [
        port,
        RTP_BYTES + spec.size_bytes,
        bench.monotonic_ns(start_s),
        spec.interval_ns,
        count,
        bench.monotonic_ns(end_s),
    ]
    hosts = ("client", "server")
    addresses = [bench.address(host, ip) for host in hosts]
    peers = [addresses[1], calling.WHO_CALLS if gateways.readdresses(bench.spec, spec) else addresses[0]]
    await bench.sleep_until(start_s - _LEAD_S)
    callers = [
        bench.start(host, _argv(own, peer, *map(str, numbers)))
        for host, own, peer in zip(hosts, addresses, peers, strict=True)
    ]
    client, server = await asyncio.gather(*(each.over(end_s + bench.patience_s) for each in callers))
    return result(spec, client, server, bench, end_s)


def _end_s(spec: CallSpec, bench: Bench) -> float:
    """When the programs stop listening."""
    ends_s = [] if bench.spec.duration_s is None else [bench.spec.duration_s]
    if spec.time_ns is not None:
        ends_s.append((spec.start_ns + spec.time_ns) / 1e9 + bench.full_round_trip_s)
    return min(ends_s)


def result(spec: CallSpec, client: Program, server: Program, bench: Bench, end_s: float) -> WorkloadResult:
    why: str | None = None
    said = []
    doubts = []
    for name, program in (("client", client), ("server", server)):
        why = why or program.fault
        try:
            one = json.loads(program.stdout)
        except ValueError:
            one = {"error": None, "listens_ns": None, "sent_ns": [], "came": []}
            why = why or f"could not parse what the caller at the {name} said: {program.stdout[:500]!r}"
        if one["error"]:
            why = why or f"the socket at the {name} failed: {one['error']}"
        said.append(one)
        if (
            one["listens_ns"] is not None
            and (late_s := bench.run_s(one["listens_ns"]) - spec.start_ns / 1e9) > 0
        ):
            doubts.append(
                f"the caller at the {name} began to listen {late_s:.2g} s after the call began, since "
                "this machine was busy. What came before counts as lost"
            )
    ended_s = min(end_s, client.exit.at_s, server.exit.at_s)
    left_out_from_s = ended_s if why else ended_s - bench.full_round_trip_s
    at_client, at_server = said
    figures = call_figures(
        _packets(at_server["sent_ns"], at_client["came"], bench, left_out_from_s),
        _packets(at_client["sent_ns"], at_server["came"], bench, left_out_from_s),
        playout_s=spec.playout_ns / 1e9,
        interval_s=spec.interval_ns / 1e9,
        concealed=spec.concealment,
    )
    entry: dict[str, Any] = {"kind": "call", **figures}
    return WorkloadResult(entry | {"why": why} if why else entry, doubts=doubts)


def _packets(
    sent_ns: Sequence[int], came: Sequence[Sequence[int]], bench: Bench, left_out_from_s: float
) -> list[Packet]:
    """Of one direction, in the order in which they were sent. Of duplicates the first counts."""
    first: dict[int, int] = {}
    for place, at_ns in came:
        first[place] = min(at_ns, first.get(place, at_ns))
    found: list[Packet] = []
    for place, at_ns in enumerate(sent_ns):
        time_s = bench.run_s(at_ns)
        if place in first:
            found.append((time_s, (first[place] - at_ns) / 1e9))
        elif time_s <= left_out_from_s:
            found.append((time_s, None))
    return found


def _argv(*told: str) -> list[str]:
    return [sys.executable, "-I", "-S", str(Path(calling.__file__)), *told]
