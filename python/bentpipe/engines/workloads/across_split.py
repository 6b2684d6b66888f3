"""What was sent again across the path of a split. The programs and their kernels know only what was sent
again as far as the proxy beside them.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from bentpipe.engines.base import WorkloadResult
from bentpipe.engines.bench import Bench
from bentpipe.engines.closings import Connection

_CLOSING_S = 5.0
"""No connection is waited for longer."""


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
    connection = _connection(flow)
    upload = (flow["direction"] == "up") == (connection.client == "client")
    end = bench.closings.sender_end(connection, upload=upload)
    return end.retransmits if end else None
