"""`bulk`: one transfer by the real iperf3, by size or by time, over one or several streams.

1. Each workload has an iperf3 server of its own (`--one-off`, a port of its own), started before time zero
   and seen to listen before the client is started. Both print JSON, and both are kept whole.
2. By time, the client runs at the host `client`; `--reverse` makes the server send (`down`).
3. By size, the client runs at the *receiving* host and asks for `--reverse`. An iperf3 client that sends
   stops when it has written the size into its send buffer, and its server then closes the connection upon
   what is still on the way: over a long path megabytes are missing and the time is wrong. A client that
   receives stops at the last byte. So an upload by size is opened from the server's side; data flow as
   asked.
4. iperf3 ends two round trips after the last byte (`TEST_END`, then results both ways). They are taken off
   to say when the last byte came, as the JSON has only whole seconds of wall clock.
5. A congestion control of the workload's own comes with the address that is connected to: the routes between
   the two hosts' addresses of that network carry it, so that it is the sender's, whichever end that is.
6. iperf3 does not tell its server of `--fq-rate` (3.12, src/iperf_api.c), so with it the client runs at the
   sending host. It sets `SO_MAX_PACING_RATE` on data connections only (src/iperf_tcp.c).
7. Deadlines allow twenty round trips with the queues full beyond the transfer's own time: control messages
   wait in the same queue as data.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

from bentpipe.engines.base import WorkloadResult
from bentpipe.engines.bench import Bench, End, Program
from bentpipe.engines.workloads import iperf3, listening
from bentpipe.engines.workloads.across_split import retransmits_on_the_path
from bentpipe.lab.spec import BulkSpec
from bentpipe.runs.figures.times import seconds_goodput
from bentpipe.words.direction import Direction

_OPPOSITE = {"client": "server", "server": "client"}
_SERVER_LEAD_S = 5.0
_FOLLOWS_S = 5.0
_RESULT_ROUND_TRIPS = 2


@dataclass(frozen=True)
class Plan:
    """The hosts of iperf3's two ends, and its options."""

    client_at: str
    server_at: str
    argv: list[str]

    @property
    def receiver_is_client(self) -> bool:
        return "--reverse" in self.argv


def plan(spec: BulkSpec, *, server_address: str, port: int, ip: int) -> Plan:
    client_at = _client_at(spec)
    argv = ["iperf3", f"-{ip}", "-c", server_address, "-p", str(port)]
    argv += ["-J", "-i", "1", "--connect-timeout", "60000"]
    if client_at != spec.direction.sender:
        argv.append("--reverse")
    if spec.streams > 1:
        argv += ["-P", str(spec.streams)]
    if spec.max_pacing_rate_bit_s is not None:
        argv += ["--fq-rate", str(spec.max_pacing_rate_bit_s)]
    if spec.size_bytes is not None:
        argv += ["-n", str(spec.size_bytes)]
    elif spec.time_ns is not None:
        # iperf3 takes whole seconds only; a run that ends before is cut there.
        argv += ["-t", str(math.ceil(spec.time_ns / 1e9))]
        if spec.omit_ns:
            argv += ["-O", str(math.ceil(spec.omit_ns / 1e9))]
    return Plan(client_at, _OPPOSITE[client_at], argv)


def _client_at(spec: BulkSpec) -> str:
    if spec.max_pacing_rate_bit_s is not None:
        return str(spec.direction.sender)
    return "server" if spec.size_bytes is not None and spec.direction is Direction.UP else "client"


def programs(_spec: BulkSpec) -> tuple[str, ...]:
    return ("iperf3",)


def refusal(spec: BulkSpec) -> str | None:
    """What of it cannot be done here; None: nothing."""
    seconds = 0 if spec.time_ns is None or spec.size_bytes is not None else math.ceil(spec.time_ns / 1e9)
    if seconds > iperf3.MOST_S:
        return f"iperf3 runs for {iperf3.MOST_S} s at most, and {seconds} s are asked for; set `time`"
    return None


async def run(spec: BulkSpec, bench: Bench) -> WorkloadResult:
    name, start_s, ip, port = spec.name, spec.start_ns / 1e9, bench.spec.client.ip, bench.port(spec.name)
    at = _OPPOSITE[_client_at(spec)]
    way = plan(spec, server_address=bench.address(at, ip, spec.congestion_control), port=port, ip=ip)
    # A transfer by size is bounded by the run's end and by iperf3's own idle timeout.
    deadline_s = None
    if spec.time_ns is not None:
        deadline_s = start_s + (spec.omit_ns + spec.time_ns) / 1e9 + bench.patience_s
    await bench.sleep_until(start_s - _SERVER_LEAD_S)
    serving = bench.start(way.server_at, ["iperf3", "-s", f"-{ip}", "-1", "-J", "-i", "1", "-p", str(port)])
    if await listening.ended_before(bench, way.server_at, port, [ip], serving):
        server = await serving.over(bench.now_s, cut=False)
        said = f": {server.stdout.strip()[:500]!r}" if server.stdout.strip() else ""
        why = server.fault or _error(server) or f"iperf3's server did not begin to listen{said}"
        return WorkloadResult(_entry(spec) | {"why": why}, tools=_tools(name, [("server", server)]))
    await bench.sleep_until(start_s)
    client = await bench.start(way.client_at, way.argv).over(deadline_s)
    # Its server follows within a round trip, or is told to.
    server = await serving.over(bench.now_s + min(0.5 + 2 * bench.full_round_trip_s, _FOLLOWS_S), cut=False)
    found = result(spec, way, client, server, round_trip_s=bench.spec.base_rtt_ns / 1e9)
    # Where iperf3 names its streams, the connection that it does not name is for its own messages.
    found = replace(found, ports={port: "control" if found.flows else None})
    return await retransmits_on_the_path(found, bench)


def result(
    spec: BulkSpec, way: Plan, client: Program, server: Program, *, round_trip_s: float
) -> WorkloadResult:
    """What both ends' JSON says of the transfer, from the receiver's side."""
    name = spec.name
    tools = _tools(name, [("client", client), ("server", server)])
    entry = _entry(spec)
    said = {"client": iperf3.parse(client.stdout), "server": iperf3.parse(server.stdout)}
    why = _why(client, said["client"])
    receives, sends = ("client", "server") if way.receiver_is_client else ("server", "client")
    receiver = said[receives] or said["client"] or said["server"]
    if receiver is None:
        return WorkloadResult(entry | {"why": why or "neither end of iperf3 said anything"}, tools=tools)
    sender = said[sends] or receiver
    whole = why is None and client.end is End.EXITED
    omit_here_s = spec.omit_ns / 1e9 if spec.size_bytes is not None else 0.0
    measured = iperf3.goodput(receiver, omit_here_s=omit_here_s, whole=whole)
    last_byte_s = client.exit.at_s - _RESULT_ROUND_TRIPS * round_trip_s if whole else None
    completes = last_byte_s is not None and spec.size_bytes is not None
    entry |= {
        "goodput_mbit_s": measured.mbit_s,
        "bytes": measured.bytes,
        "duration_s": measured.seconds,
        "completion_s": last_byte_s - spec.start_ns / 1e9 if last_byte_s is not None and completes else None,
        "retransmits": sender.retransmits,
        "per_second": seconds_goodput(measured.per_second_mbit_s),
        "per_second_mbit_s": measured.per_second_mbit_s,
    }
    if why:
        entry["why"] = why
    flows = [
        {
            "workload": name,
            "client": way.client_at,
            "server": way.server_at,
            "direction": spec.direction.value,
            "ip": 6 if "-6" in way.argv else 4,
            "local_port": local if receiver is said["client"] else remote,
            "remote_port": remote if receiver is said["client"] else local,
            "size_bytes": spec.size_bytes,
            "start_s": client.started_s,
            "first_byte_s": None,
            "end_s": last_byte_s,
            "bytes": _nth(receiver.streams, n, "bytes") or 0,
            "goodput_bit_s": _rate(_nth(receiver.streams, n, "bytes"), receiver.received_s),
            "retransmits": _nth(sender.streams, n, "retransmits"),
            "outcome": "failed" if why else "finished" if whole else "unfinished",
            "why": why,
        }
        for n, (local, remote) in enumerate(receiver.connected)
    ]
    return WorkloadResult(entry, flows=flows, tools=tools)


def _entry(spec: BulkSpec) -> dict[str, Any]:
    return {
        "kind": "bulk",
        "direction": spec.direction.value,
        "streams": spec.streams,
        "goodput_mbit_s": None,
        "bytes": 0,
        "duration_s": None,
        "completion_s": None,
        "retransmits": None,
        "per_second": seconds_goodput([]),
        "per_second_mbit_s": [],
    }


def _why(client: Program, said: iperf3.Said | None) -> str | None:
    """What went wrong. A client that the run's end interrupted says so as an error, and is not at fault."""
    if client.end is End.CUT:
        return None
    if said and said.error and client.end is End.EXITED:
        return f"iperf3: {said.error}"
    if client.fault:
        return client.fault
    return None if said else f"could not parse iperf3's output: {client.stdout.strip()[:500]!r}"


def _error(program: Program) -> str | None:
    said = iperf3.parse(program.stdout)
    return f"iperf3's server: {said.error}" if said and said.error else None


def _tools(name: str, programs: list[tuple[str, Program]]) -> list[dict[str, Any]]:
    return [
        {"workload": name, "tool": "iperf3", "role": role, "output": program.stdout or program.stderr}
        for role, program in programs
    ]


def _nth(streams: list[iperf3.Stream], n: int, column: str) -> int | None:
    value: int | None = getattr(streams[n], column) if n < len(streams) else None
    return value


def _rate(carried: int | None, seconds: float) -> float | None:
    return carried * 8 / seconds if carried is not None and seconds > 0 else None
