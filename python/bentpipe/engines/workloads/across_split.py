"""What was sent again across the path of a split. The programs and their kernels know only what was sent
again as far as the proxy beside them.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from bentpipe.engines.base import WorkloadResult
from bentpipe.engines.bench import Bench
from bentpipe.engines.closings import Connection, proxy_end
from bentpipe.lab.spec import BulkSpec

_CLOSING_S = 5.0
"""No connection is waited for longer."""
_START_ROUND_TRIPS = 5
"""From iperf3's start to that of its clocks: two handshakes, and its own messages."""
SAMPLED = ("time_s", "host", "local_port", "remote_port", "retransmits")
"""Of the table `sockets`."""


async def retransmits_on_the_path(found: WorkloadResult, bench: Bench) -> WorkloadResult:
    """The result of a workload whose flows have a connection each, with the retransmissions of the path's
    senders in place of the programs'. A connection that the run's end left open is not in the sum."""
    if bench.spec.split is None or not len(found.flows):
        return found
    flows = found.flows.to_dicts() if isinstance(found.flows, pl.DataFrame) else found.flows
    patience_s = min(0.5 + 3 * bench.full_round_trip_s, _CLOSING_S)
    await bench.closings.wait((_connection(each) for each in flows if each["local_port"]), patience_s)
    counts = [_retransmits(each, bench) for each in flows]
    known = [count for count in counts if count is not None]
    is_missed = any(
        count is None and flow["outcome"] == "finished" for flow, count in zip(flows, counts, strict=True)
    )
    total = None if is_missed or not known else sum(known)
    return replace(found, entry=found.entry | {"retransmits": total}, flows=_with_counts(found, counts))


def while_measured(
    found: WorkloadResult, work: BulkSpec, sampled: pl.DataFrame, round_trip_s: float
) -> WorkloadResult:
    """The result of a transfer by time with what was sent again in its measured time, without `omit`, as
    iperf3 counts where nothing is split. A closed connection tells of all its time, and an open one of none.

    `sampled`: the proxies' sockets over time; between two samples nothing is known.
    """
    flows = found.flows.to_dicts() if isinstance(found.flows, pl.DataFrame) else found.flows
    length_s = found.entry["duration_s"]
    if work.time_ns is None or work.size_bytes is not None or not flows or length_s is None:
        return found
    counts: list[int | None] = []
    for flow in flows:
        begin_s = flow["start_s"] + _START_ROUND_TRIPS * round_trip_s + work.omit_ns / 1e9
        host, own, other = proxy_end(_connection(flow), upload=_is_upload(flow))
        rows = sampled.filter(
            (pl.col("host") == host) & (pl.col("local_port") == own) & (pl.col("remote_port") == other)
        ).drop_nulls("retransmits")
        until_end, until_begin = (
            rows.filter(pl.col("time_s").is_between(flow["start_s"], at_s))["retransmits"].max()
            for at_s in (begin_s + length_s, begin_s)
        )
        before = until_begin if work.omit_ns and isinstance(until_begin, int) else 0
        counts.append(until_end - before if isinstance(until_end, int) else flow["retransmits"])
    known = [count for count in counts if count is not None]
    total = sum(known) if len(known) == len(counts) else None
    return replace(found, entry=found.entry | {"retransmits": total}, flows=_with_counts(found, counts))


def _with_counts(found: WorkloadResult, counts: Sequence[int | None]) -> list[dict[str, Any]] | pl.DataFrame:
    if isinstance(found.flows, pl.DataFrame):
        return found.flows.with_columns(retransmits=pl.Series(counts, dtype=pl.Int64))
    return [flow | {"retransmits": count} for flow, count in zip(found.flows, counts, strict=True)]


def _connection(flow: dict[str, Any]) -> Connection:
    # An address of its own or a server beyond the far end: the host's name comes first.
    client, server = (flow[end].partition("-")[0] for end in ("client", "server"))
    return Connection(client, flow["local_port"], server, flow["remote_port"], flow["start_s"])


def _retransmits(flow: dict[str, Any], bench: Bench) -> int | None:
    if not flow["local_port"]:
        return None
    end = bench.closings.sender_end(_connection(flow), upload=_is_upload(flow))
    return end.retransmits if end else None


def _is_upload(flow: dict[str, Any]) -> bool:
    """The connection's client sends the data."""
    is_up: bool = flow["direction"] == "up"
    return is_up == (_connection(flow).client == "client")
